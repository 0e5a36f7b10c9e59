# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What plants of any engine share: control periods, drives, command delay, sensors, the hash."""

from __future__ import annotations

import copy
import hashlib
import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.manipulation.wrist_sensors import ToolWeights
from robot_dynamics.model import WORLD, Model
from robot_dynamics.simulation.faults import JUMP, Faults
from robot_dynamics.simulation.scene import Scene
from robot_dynamics.simulation.settings import PlantSettings, SensorSettings
from robot_dynamics.simulation.step import DriveParameters

if TYPE_CHECKING:
    from robot_dynamics.simulation.contact.report import ContactReport

Array = NDArray[np.float64]


class Measurement(NamedTuple):
    """What the sensors of the arms say at one control instant.

    Attributes:
        tick: Number of control periods since the start.
        time: Simulation time [s]: tick times the period, never accumulated.
        q: Positions of the arm joints (na,) [rad or m].
        qd: Velocities of the arm joints (na,).
        wrenches: Grasp wrenches by the arms on the object (k, 6), angular first, each in the
            frame of the arm's tool [N m, N].
    """

    tick: int
    time: float
    q: Array
    qd: Array
    wrenches: Array


class Truth(NamedTuple):
    """The plant's own knowledge at the same instant; it never reaches a controller.

    Attributes:
        values: The properties below in one row: `closure_position`, `closure_rotation`,
            `correction`, `object_pose`, `object_twist`, pose and twist of a second part,
            `internal_force`.
        torque: Torque applied over the last period (na,) [N m].
        parts: Number of parts of the object: two if it has a joint.
    """

    values: Array
    torque: Array
    parts: int = 1

    @classmethod
    def of(
        cls,
        object_pose: Array,
        object_twist: Array,
        internal_force: Array,
        gaps: Sequence[float],
        torque: Array,
        second_part: Sequence[Array] = (),
    ) -> Truth:
        """Return it from what is in it; `gaps` are the first three values."""
        parts = [np.array(gaps), object_pose, object_twist, *second_part, internal_force]
        return cls(np.concatenate(parts), torque, 2 if second_part else 1)

    @property
    def closure_position(self) -> float:
        """Largest distance [m] between the two sides of a grasp."""
        return float(self.values[0])

    @property
    def closure_rotation(self) -> float:
        """Largest angle [rad] between the two sides of a grasp."""
        return float(self.values[1])

    @property
    def correction(self) -> float:
        """Size of the last step's projection of the positions [m or rad]."""
        return float(self.values[CORRECTION])

    @property
    def object_pose(self) -> Array:
        """Pose x y z qx qy qz qw of the object's body frame in the world (7,)."""
        return self.values[3:10]

    @property
    def object_twist(self) -> Array:
        """Angular and linear velocity of the object's origin, world axes (6,)."""
        return self.values[10:16]

    @property
    def second_part(self) -> tuple[Array, ...]:
        """Pose (7,) and twist (6,) of the second part of an object with a joint."""
        return (self.values[16:23], self.values[23:29]) if self.parts == 2 else ()

    @property
    def internal_force(self) -> Array:
        """Internal force (6(k-1),) with the plant's own grasps.

        Or the force in the object's joint on its second part (c,).
        """
        return self.values[3 + 13 * self.parts :]


_TARING_SAMPLES = 500
CORRECTION = 2  # where it stands in `Truth.values`


@dataclass(frozen=True)
class PlantState:
    """Everything that changes while a plant runs, at one control instant; see `Plant.state`.

    Attributes:
        tick: Number of control periods since the start.
        plant: Which plants can take it: engine and joints.
        parts: Variables of the plant, its faults, its sensors and its engine.
        history: SHA-256 over the states before.
    """

    tick: int
    plant: tuple[str, ...]
    parts: tuple[Mapping[str, Any], ...]
    history: bytes


class Plant(ABC):
    """Simulated arms and object that advance one control period at a time.

    The arms are held by their brakes until the first `step`; command delay, torque limits and
    sensors are part of the plant. An engine says how it returns to the start, how it moves under a
    torque, and what its state is; it calls `reset` at the end of its own constructor.

    Attributes:
        scene: What is there.
        period: Control period [s].
        drives: Limits and friction of the joints.
        faults: What goes wrong at present.

    Args:
        scene: Arms, object and what they touch, as they truly are.
        start: Positions (nq,) of the start, grasps closed.
        period: Control period [s].
        settings: Step, delay, friction, sensors.
    """

    def __init__(self, scene: Scene, start: Array, period: float, settings: PlantSettings) -> None:
        system = scene.system
        self.scene, self.system, self.period = scene, system, period
        self.drives = drives_of(system, settings)
        self._start = np.array(start, dtype=float)
        na = len(system.joint_names)
        self._largest_torque = self.drives.effort[:na]
        self._smallest_torque = -self._largest_torque
        self._passive_torque = np.zeros(len(self.drives.effort) - na)
        self._delay_periods = settings.command_delay_periods
        self._arms = dict(zip([arm.name for arm in system.arms], system.arm_slices, strict=True))
        self.faults = Faults(tuple(self._arms), settings.faults, period)
        self._sensors = Sensors(settings.sensors, settings.seed, self._arms, self.faults)
        self._tools = ToolWeights(system)
        held = system.model.bodies[system.object_body].name
        self._planned = []
        for i, push in enumerate(settings.pushes):
            wrench = [*push.moment, *push.force]
            try:
                wrenches = checked_wrenches(system.model, {push.link or held: wrench})
            except UnknownNameError as error:
                raise ArgumentError(f"plant.pushes[{i}].link: {error}") from None
            end = (push.time_s + push.duration_s) / period - 0.5
            self._planned.append((round(push.time_s / period), end, wrenches))

    def reset(self, seed: int | None = None) -> Measurement:
        """Return to the start at rest, brakes on, and measure there.

        Args:
            seed: Of the noise from here on; that of the settings by default.
        """
        self._tick = 0
        self._torque = np.zeros(len(self.system.joint_names))
        self._begin()
        self._hash = b""
        # From a measurement to the action of the torque computed from it; none at first.
        self._delayed: deque[Array | None] = deque([None] * self._delay_periods)
        self.faults.reset()
        self._sensors.reset(seed)
        return self._measurement()

    @property
    def state(self) -> PlantState:
        """The present state; a plant of the same scenario that is set to it goes on bit for bit.

        Raises:
            ArgumentError: If it is set to the state of another plant.
        """
        parts = (
            copied(self, ("_tick", "_torque", "_delayed")),
            copied(self.faults, Faults.STATE),
            copied(self._sensors, Sensors.STATE),
            *self._engine_state(),
        )
        return PlantState(self._tick, self._identity, parts, self._hash)

    @state.setter
    def state(self, state: PlantState) -> None:
        if getattr(state, "plant", None) != self._identity:
            raise ArgumentError("the state is of another plant, expected one of this scenario.")
        own, faults, sensors, *engine = state.parts
        for part, of in ((own, self), (faults, self.faults), (sensors, self._sensors)):
            restore(of, part)
        self._hash = state.history
        self._restore_engine(engine)

    @property
    def _identity(self) -> tuple[str, ...]:
        return (type(self).__name__, *self.system.model.joint_names)

    def step(
        self, torque: ArrayLike, wrenches: Mapping[str, ArrayLike] | None = None
    ) -> Measurement:
        """Advance by one control period under a new torque command (na,) [N m].

        Args:
            torque: The command; it acts after the command delay.
            wrenches: External wrenches (6,) [N m, N] by the name of the link on which they act,
                about its origin, angular first, in world axes as the period begins; what they
                make of joints is constant over it. The object is a link as well. While the brakes
                hold they move nothing.

        Raises:
            ArgumentError: If a torque or wrench has the wrong shape or is not finite, or there is
                no such link.
        """
        pushes = checked_wrenches(self.system.model, wrenches) if wrenches is not None else None
        if self._planned:
            pushes = self._with_planned(pushes or {})
        self._delayed.append(checked_array("torque", torque, self._torque.shape))
        applied = self._delayed.popleft()
        if applied is not None:  # else the brakes still hold
            limited = np.minimum(np.maximum(applied, self._smallest_torque), self._largest_torque)
            if self.faults.active:
                for arm, own in self._arms.items():
                    if self.faults.is_on("torque_dropout", arm):
                        limited[own] = 0.0
            self._torque = limited
            if self._passive_torque.size:
                limited = np.concatenate([limited, self._passive_torque])
            self._run(limited, pushes)
        self._tick += 1
        self.faults.move(self._tick)
        # Of the hash before and the state: so what it goes on from can be copied and pickled.
        hashed = hashlib.sha256(self._hash)
        for part in self._state():
            hashed.update(part.data)
        self._hash = hashed.digest()
        return self._measurement()

    def _with_planned(self, wrenches: Mapping[str, Array]) -> dict[str, Array]:
        """Return external wrenches with those that the scenario has planned for this period."""
        acting = dict(wrenches)
        for first, end, planned in self._planned:
            if first <= self._tick < end:
                for name, wrench in planned.items():
                    acting[name] = acting[name] + wrench if name in acting else wrench
        return acting

    @abstractmethod
    def truth(self) -> Truth:
        """Return the present true state."""

    @abstractmethod
    def passive_joints(self) -> tuple[Array, Array]:
        """Return true positions and velocities of the joints without drives.

        In the order of the system's `passive_joint_names`; empty where all joints have drives.
        """

    def contacts(self) -> tuple[ContactReport, ...]:
        """Return a report of each contact; none where all grasps are rigid."""
        return ()

    def state_hash(self) -> str:
        """Return a SHA-256 over the states of all control instants since `reset`, as a chain."""
        return self._hash.hex()

    @abstractmethod
    def _begin(self) -> None:
        """Take the engine to the start."""

    @abstractmethod
    def _run(self, torque: Array, wrenches: Mapping[str, Array] | None = None) -> None:
        """Move the engine by one control period.

        Args:
            torque: Limited torques, ordered as `drives`.
            wrenches: External ones, as of `step`; checked.
        """

    @abstractmethod
    def _engine_state(self) -> tuple[Mapping[str, Any], ...]:
        """Return copies of what changes in the engine."""

    @abstractmethod
    def _restore_engine(self, state: Sequence[Mapping[str, Any]]) -> None:
        """Take up what `_engine_state` returned."""

    @abstractmethod
    def _state(self) -> tuple[Array, Array]:
        """Return the engine's positions and velocities."""

    @abstractmethod
    def _sensed(self) -> tuple[Array, Array, Array]:
        """Return true positions and velocities of the arm joints, and grasp wrenches (k, 6)."""

    def unloaded_wrenches(self) -> Array:
        """Return what wrist sensors measure at the start before the grasp (k, 6), a mean."""
        q = self._start[self.system.q_index]
        return self._sensors.mean_of(self._tools.wrenches(q))

    def _measurement(self) -> Measurement:
        true = Measurement(self._tick, self._tick * self.period, *self._sensed())
        if self._tools.any:
            true = true._replace(wrenches=true.wrenches + self._tools.wrenches(true.q))
        return self._sensors.measure(true)


def copied(of: object, names: Sequence[str]) -> dict[str, Any]:
    """Return copies of some attributes."""
    return {name: copy.deepcopy(getattr(of, name)) for name in names}


def restore(of: object, state: Mapping[str, Any]) -> None:
    """Give attributes the values that `copied` returned."""
    for name, value in state.items():
        setattr(of, name, copy.deepcopy(value))


def drives_of(
    system: GraspSystem, settings: PlantSettings, model: Model | None = None
) -> DriveParameters:
    """Return the drives of a system's arm joints with the friction of their descriptions.

    After them stand the passive joints of arms with internal closed chains: friction, no torque.

    Args:
        system: The arms.
        settings: Scales of friction, and whether torques are limited.
        model: In whose velocities the joints are looked for; that of the system by default.
    """
    model, names = model or system.model, (*system.joint_names, *system.passive_joint_names)
    at = [model.joint_index(name) for name in names]
    joints = [model.bodies[i].joint for i in at]
    effort = np.zeros(len(names))
    driven = len(system.joint_names)
    effort[:driven] = system.limits["effort"] if settings.torque_limit else np.inf
    return DriveParameters(
        v_index=np.array([model.v_slices[i].start for i in at], dtype=np.intp),
        effort=effort,
        damping=settings.damping_scale * np.array([joint.damping for joint in joints]),
        friction=settings.friction_scale * np.array([joint.friction for joint in joints]),
        friction_velocity=settings.friction_velocity,
    )


def checked_array(name: str, given: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return a copy of a torque command, or of other numbers.

    Raises:
        ArgumentError: If there are no numbers, the shape is wrong or an entry is not finite.
    """
    try:
        values = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{name} is {given!r:.60}, expected numbers {shape}.") from None
    if values.shape != shape:
        raise ArgumentError(f"{name} has shape {values.shape}, expected {shape}.")
    if not all(map(math.isfinite, values.tolist())):  # as quick as it gets for a few numbers
        raise ArgumentError(f"{name} has entries that are not finite.")
    return values


def _size(own: slice) -> int:
    return int(own.stop - own.start)


def checked_wrenches(model: Model, wrenches: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Return copies of external wrenches (6,) by the name of their link.

    Raises:
        ArgumentError: If there is no mapping, a wrench has the wrong shape or is not finite, or a
            link cannot move.
        UnknownNameError: If there is no such link.
    """
    if not isinstance(wrenches, Mapping):
        raise ArgumentError(
            f"wrenches are {wrenches!r:.60}, expected a mapping from links to wrenches (6,)."
        )
    found = {}
    for name, wrench in wrenches.items():
        if model.link(name).body == WORLD:
            raise ArgumentError(f"link {name!r} is part of the world: nothing can push it.")
        found[name] = checked_array(f"the wrench on {name!r}", wrench, (6,))
    return found


class Sensors:
    """Measurements as real sensors make them, the same again after a `reset`.

    Args:
        settings: What they are like.
        seed: Of the noise.
        arms: By name, where each arm stands in vectors over the arm joints.
        faults: What goes wrong, at the control period that is measured.
    """

    STATE = ("_random", "_wrenches", "_last", "_joints", "_tared")

    def __init__(
        self, settings: SensorSettings, seed: int, arms: Mapping[str, slice], faults: Faults
    ) -> None:
        self._settings, self._seed, self._faults = settings, seed, faults
        self._arms = tuple(arms.items())
        self._bias = np.array([*settings.moment_bias, *settings.force_bias])
        self._scale = np.array([[settings.wrench_scale.get(arm, 1.0)] for arm in arms])
        self._drift = np.array([0.0, 0.0, 0.0, *settings.force_drift])
        self._slow = [(arms[arm], p) for arm, p in settings.sample_periods.items() if p > 1]
        self._noisy = any((settings.position, settings.velocity, settings.force, settings.moment))
        self._ideal = settings == SensorSettings()
        self.reset()

    def reset(self, seed: int | None = None) -> None:
        """Begin the noise anew, with another seed if one is given."""
        self._random = np.random.default_rng(self._seed if seed is None else seed)
        self._wrenches: deque[Array] = deque(maxlen=self._settings.wrench_delay_periods + 1)
        self._last: Measurement | None = None
        self._joints: deque[tuple[Array, Array]] = deque(maxlen=self._faults.late_periods + 1)
        self._tared: dict[str, Array] = {}

    def measure(self, true: Measurement) -> Measurement:
        """Return what the sensors say of a true state, one control period after the other."""
        seen = true if self._ideal else self._imperfect(true)
        if self._faults.late_periods:
            self._joints.append((seen.q, seen.qd))
        if self._faults.active:
            seen = self._faulty(seen)
        elif self._tared:
            self._tared.clear()
        self._last = seen
        return seen

    def mean_of(self, wrenches: Array) -> Array:
        """Return the mean of many measurements of constant wrenches (k, 6), none of them late.

        The noise of later measurements stays what it is.
        """
        s = self._settings
        draw = np.random.default_rng(self._seed).standard_normal
        noise = draw((_TARING_SAMPLES, *wrenches.shape)).mean(axis=0)
        return wrenches * self._scale + self._bias + noise * ([s.moment] * 3 + [s.force] * 3)

    def _imperfect(self, true: Measurement) -> Measurement:
        s = self._settings
        self._wrenches.append(true.wrenches)
        error = self._bias + true.time * self._drift
        q, qd, wrenches = true.q, true.qd, self._wrenches[0] * self._scale + error
        if self._noisy:
            draw = self._random.standard_normal
            wrenches = wrenches + draw(wrenches.shape) * ([s.moment] * 3 + [s.force] * 3)
            q = q + s.position * draw(q.shape)
            qd = qd + s.velocity * draw(qd.shape)
        if s.encoder_step:
            q = s.encoder_step * np.round(q / s.encoder_step)
        if not s.velocities:
            qd = np.full(qd.shape, np.nan)
        for own, periods in self._slow:
            if self._last is not None and true.tick % periods:
                q, qd = q.copy(), qd.copy()
                q[own], qd[own] = self._last.q[own], self._last.qd[own]
        return true._replace(q=q, qd=qd, wrenches=wrenches)

    def _faulty(self, seen: Measurement) -> Measurement:
        """Return a measurement with what is wrong with it at present."""
        q, qd, wrenches = seen.q.copy(), seen.qd.copy(), seen.wrenches.copy()
        is_on, last = self._faults.is_on, self._last
        for i, (arm, own) in enumerate(self._arms):
            if last is not None and is_on("stuck_sensors", arm):
                q[own], qd[own], wrenches[i] = last.q[own], last.qd[own], last.wrenches[i]
            if is_on("late_joints", arm) and self._joints:
                q[own], qd[own] = (values[own] for values in self._joints[0])
            if is_on("swapped_joints", arm):
                same = [k for k, (_, a) in enumerate(self._arms) if _size(a) == _size(own)]
                their = self._arms[same[(same.index(i) + 1) % len(same)]][1]
                q[own], qd[own] = seen.q[their], seen.qd[their]
            if is_on("velocity_sign", arm):
                qd[own] *= -1.0
            if is_on("velocity_degrees", arm):
                qd[own] = np.degrees(qd[own])
            if is_on("velocity_zero", arm):
                qd[own] = 0.0
            if is_on("position_degrees", arm):
                q[own] = np.degrees(q[own])
            if is_on("position_jump", arm):
                q[own.start] += JUMP
            if is_on("position_nan", arm):
                q[own.start] = np.nan
            if is_on("velocity_inf", arm):
                qd[own.start] = np.inf
            if is_on("wrench_tared", arm):
                wrenches[i] -= self._tared.setdefault(arm, wrenches[i].copy())
            else:
                self._tared.pop(arm, None)
            if is_on("wrench_inverted", arm):
                wrenches[i] *= -1.0
            if is_on("wrench_nan", arm):
                wrenches[i, 5] = np.nan
        return seen._replace(q=q, qd=qd, wrenches=wrenches)
