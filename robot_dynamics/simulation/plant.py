# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated plants: an engine with a clock and, for arms, with drives, sensors and faults.

The settings and the scene select the engine of arms. With rigid grasps and nothing to touch,
`RigidEngine` integrates the closed-loop equations; contacts that slip or open, surfaces and
environment joints need the impulses of `ContactEngine`; `MujocoEngine` moves any of these scenes.
When a payload is added or removed, an engine of another scene continues.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array, Mask
from robot_dynamics.dynamics.arguments import finite_vector, pose_vector
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.manipulation.wrist_sensors import ToolWeights
from robot_dynamics.model import Model
from robot_dynamics.simulation.arguments import checked_wrenches
from robot_dynamics.simulation.contact.contact_engine import ContactEngine
from robot_dynamics.simulation.contact.report import ContactReport
from robot_dynamics.simulation.drives import drives_of
from robot_dynamics.simulation.engine import (
    Engine,
    Grips,
    PlacesObject,
    SceneEngine,
    SticksJoints,
    Truth,
    copied,
    restore,
)
from robot_dynamics.simulation.faults import Faults, interval_of
from robot_dynamics.simulation.payloads import payload_schedule, with_payloads
from robot_dynamics.simulation.rigid_engine import RigidEngine
from robot_dynamics.simulation.scene import Scene
from robot_dynamics.simulation.sensors import Measurement, Sensors
from robot_dynamics.simulation.settings import PayloadSettings, PlantSettings

EngineMaker = Callable[[Scene, Array, float, PlantSettings], SceneEngine]


class PlantIdentity(NamedTuple):
    """Common properties of plants that can take each other's states.

    Attributes:
        structure: Key of the model; for a scene the engine and the names of the joints.
        period: The control period [s].
        contacts: Names and kinds of all contacts of a robot; None without contacts.
    """

    structure: bytes
    period: float
    contacts: tuple[str, ...] | None = None

    def require(self, state: object, name: str) -> None:
        """Refuse the state of another plant.

        Args:
            state: The state.
            name: Name of the model, for the message.

        Raises:
            ArgumentError: If structure, contacts or period differ.
        """
        of = getattr(state, "identity", None)
        if not isinstance(of, PlantIdentity) or of.structure != self.structure:
            raise ArgumentError(f"the state is of another simulation, expected one of {name!r}.")
        if of.contacts != self.contacts:
            given, own = ("none" if c is None else f"{[*c]!r:.200}" for c in (of[2], self[2]))
            raise ArgumentError(
                f"the state is of a simulation of {name!r} with other contacts, {given}, "
                f"expected {own}."
            )
        if of.period != self.period:
            raise ArgumentError(
                f"the state is of a simulation of {name!r} with a period of {of.period:g} s, "
                f"expected {self.period:g} s."
            )


@dataclass(frozen=True)
class PlantState:
    """All variables of a plant at one control instant; see `Plant.state`.

    Attributes:
        tick: Number of control periods since the start.
        identity: The plants that can take it.
        parts: Variables of the engine; for arms, after those of drives, faults and sensors.
        history: SHA-256 over the states before, of arms.
    """

    tick: int
    identity: PlantIdentity
    parts: tuple[Any, ...]
    history: bytes


class Plant:
    """An engine with a clock: torques in, measurements out, one control period at a time.

    Without the additions of `ScenePlant` torques act at once and sensors are ideal, as of a robot
    that moves by itself.

    Attributes:
        engine: Moves the mechanism.
        model: The mechanism on whose links external wrenches act.
        period: Control period [s].

    Args:
        engine: Moves the mechanism.
        model: The mechanism on whose links external wrenches act.
        period: Control period [s].
        structure: Equal for plants that can take each other's states.
    """

    def __init__(self, engine: Engine, model: Model, period: float, structure: bytes) -> None:
        self.engine, self.model, self.period = engine, model, period
        self._identity = PlantIdentity(structure, period, engine.contact_names)
        self._torques = model.nv
        self._tick, self._hash = 0, b""

    @property
    def substeps(self) -> int:
        """Integration steps in a control period."""
        return self.engine.substeps

    def reset(self, seed: int | None = None) -> Measurement:
        """Return to the start, and measure there.

        Args:
            seed: New seed of the sensors' noise; by default the seed of the settings.
        """
        self._tick, self._hash = 0, b""
        self.engine.begin()
        return self._measurement()

    def step(
        self, torque: ArrayLike, wrenches: Mapping[str, ArrayLike] | None = None
    ) -> Measurement:
        """Advance by one control period under a new torque command, and measure.

        Args:
            torque: The command (na,) [N m]; of a robot by itself joint forces (nv,).
            wrenches: External wrenches (6,) [N m, N] by the name of the link on which they act,
                about its origin, angular first, in world axes. They act as their equivalent joint
                forces at the start of the period.

        Raises:
            ArgumentError: If a torque or wrench has the wrong shape or is not finite, or there is
                no such link.
            SimulationError: If the motion grows without bound.
        """
        pushes = None if wrenches is None else checked_wrenches(self.model, wrenches)
        self._advance(finite_vector("torque", torque, self._torques).copy(), pushes)
        self._tick += 1
        return self._measurement()

    def contacts(self) -> tuple[ContactReport, ...]:
        """Return a report of each contact: arms, points, environment joints; empty if all hold."""
        return self.engine.contacts()

    @property
    def state(self) -> PlantState:
        """Current state; a plant of the same identity that is set to it continues bit for bit.

        Raises:
            ArgumentError: If it is set to the state of another plant.
        """
        return PlantState(self._tick, self._identity, self._save(), self._hash)

    @state.setter
    def state(self, state: PlantState) -> None:
        self._identity.require(state, self.model.name)
        self._tick, self._hash = state.tick, state.history
        self._restore(state.parts)

    def _advance(self, torque: Array, wrenches: Mapping[str, Array] | None) -> None:
        self.engine.run(self._tick * self.period, torque, wrenches)

    def _measurement(self) -> Measurement:
        return Measurement(self._tick, self._tick * self.period, *self.engine.sensed())

    def _save(self) -> tuple[Any, ...]:
        return (self.engine.save(),)

    def _restore(self, parts: tuple[Any, ...]) -> None:
        self.engine.restore(parts[-1])


class ScenePlant(Plant):
    """Simulated arms and object with drives, command delay, sensors and faults.

    Brakes hold the arms until the first command acts: external wrenches move nothing before.

    Attributes:
        scene: Arms, object and their contacts.
        system: Arms and object.
        start: Positions (nq,) of the start.
        drives: Limits and friction of the joints.
        faults: The faults, of which some may be on.
        first: Measurement of the new plant, at the start.

    Args:
        scene: Arms, object and their contacts, with their true properties.
        start: Positions (nq,) of the start: grasps that hold are closed, pushing contacts can be
            apart.
        period: Control period [s].
        settings: Engine, step, delay, friction, sensors.
        engine: Constructor of another engine from these arguments; see `SceneEngine`.

    Raises:
        ArgumentError: If the settings do not fit the scene; see the engines.
        RobotDynamicsError: If MuJoCo is not installed, or does not have a part of the scene, or
            payloads leave the object without positive mass or inertia.
    """

    engine: SceneEngine

    def __init__(
        self,
        scene: Scene,
        start: Array,
        period: float,
        settings: PlantSettings,
        engine: EngineMaker | None = None,
    ) -> None:
        system, engine = scene.system, engine or _engine_of(scene, settings)
        self.start = np.array(start, dtype=float)
        na = len(system.joint_names)
        self._arms = dict(zip([arm.name for arm in system.arms], system.arm_slices, strict=True))
        self.faults = Faults(self._arms, settings.faults, period, system.joint_names)
        engines: dict[tuple[PayloadSettings, ...], SceneEngine] = {}
        schedule = payload_schedule(settings.payloads, period)
        for _, carried in schedule:
            if carried not in engines:
                own = replace(scene, system=with_payloads(system, carried)) if carried else scene
                engines[carried] = engine(own, self.start, period, settings)
        #: By the control period from which on each takes over the state of the one before.
        self._engines = {tick: engines[carried] for tick, carried in schedule}
        made, *others = engines.values()  # without payloads there is one
        for other in others:
            other.begin()  # it has all its parts from then on; `reset` begins with the first
        structure = repr((type(made).__name__, *system.model.joint_names)).encode()
        super().__init__(made, system.model, period, structure)
        self._torques = na
        self.scene, self.system = scene, system
        self.drives = drives_of(system, settings)
        self._largest_torque = self.drives.effort[:na]
        self._smallest_torque = -self._largest_torque
        self._passive_torque = np.zeros(len(self.drives.effort) - na)
        self._delay_periods = settings.command_delay_periods
        self._sticks = _stuck_joint(settings) is not None
        if self._sticks and not isinstance(made, SticksJoints):
            raise ArgumentError(
                f"a joint of {system.model.name} is stuck, which {type(made).__name__} does not "
                "simulate; expected an engine of the package."
            )
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
            acts = interval_of(push.time_s, push.duration_s, period)
            self._planned.append((*acts, wrenches))
        self.first = self.reset()

    def reset(self, seed: int | None = None) -> Measurement:
        """Return to the start at rest, brakes on, and measure there.

        Args:
            seed: New seed of the sensors' noise; by default the seed of the settings.
        """
        self.engine = self._engines[0]
        self._torque = np.zeros(self._torques)
        # One entry for each period from a measurement until its torque acts; None at first.
        self._delayed: deque[Array | None] = deque([None] * self._delay_periods)
        self.faults.reset()
        self._sensors.reset(seed)
        return super().reset()

    def grip(self, arm: str, *, closed: bool) -> bool:
        """Close or open the gripper of an arm; return whether it holds the object now.

        Grippers are the rigid grasps; they are open at the start where tools are away from their
        grasps. Closing takes hold within the `reach` of the arm's contact, where the object is.

        Args:
            arm: Its name.
            closed: Whether it closes.

        Raises:
            UnknownNameError: If there is no such arm.
            ArgumentError: If the arm has no rigid grasp, or the engine has no grasps that open.
        """
        if arm not in self._arms:
            raise UnknownNameError("arm", arm, [*self._arms])
        index = [*self._arms].index(arm)
        kind = self.scene.contacts[index].contact.kind
        if index not in self.scene.grippers:
            raise ArgumentError(f"arm {arm!r} has a contact of kind {kind!r}, expected 'rigid'.")
        if not isinstance(self.engine, Grips):
            raise ArgumentError(
                f"grasps of {type(self.engine).__name__} cannot open; expected an object on a "
                "surface, or the engine 'mujoco'."
            )
        return self.engine.grip(index, closed)

    def place(self, pose: ArrayLike, twist: ArrayLike) -> None:
        """Put the object elsewhere, while no rigid grasp holds it.

        Args:
            pose: x y z [m] and unit quaternion qx qy qz qw of its frame in the world (7,).
            twist: Angular velocity and velocity of its origin, world axes (6,).

        Raises:
            ArgumentError: If a number is wrong, a grasp holds the object, or it would be deep in
                something.
        """
        held = "an object that the arms hold, or with a joint, stays in its grasps"
        if not isinstance(self.engine, PlacesObject) or self.system.object_joint is not None:
            raise ArgumentError(f"{held}; expected one that stands on a surface.")
        self.engine.place(pose_vector("pose", pose), finite_vector("twist", twist, 6))

    def truth(self) -> Truth:
        """Return the present true state; the object's pose is the pose of its first part."""
        return self.engine.truth(self._torque)

    def passive_joints(self) -> tuple[Array, Array]:
        """Return true positions and velocities of the joints without drives.

        In the order of the system's `passive_joint_names`; empty if all joints have drives.
        """
        return self.engine.passive_joints()

    def state_hash(self) -> str:
        """Return a SHA-256 over the states of all control instants since `reset`, as a chain."""
        return self._hash.hex()

    def unloaded_wrenches(self) -> Array:
        """Return the mean readings (k, 6) of the wrist sensors at the start before the grasp."""
        q = self.start[self.system.q_index]
        return self._sensors.mean_of(self._tools.wrenches(q))

    def _advance(self, torque: Array, wrenches: Mapping[str, Array] | None) -> None:
        if self._planned:
            wrenches = self._with_planned(wrenches or {})
        self._delayed.append(torque)
        applied = self._delayed.popleft()
        if applied is not None:  # else the brakes still hold
            limited = self._limited(applied)
            if self.faults.active:
                for arm in self._arms:
                    for at, gain in self.faults.values("drive_gain", arm):
                        limited[at] *= gain
                limited = self._limited(limited)
            self._torque = limited
            if self._sticks and isinstance(self.engine, SticksJoints):
                self.engine.stick(self._stuck_joints())
            if self._passive_torque.size:
                limited = np.concatenate([limited, self._passive_torque])
            super()._advance(limited, wrenches)
        self.faults.move(self._tick + 1)
        after = self._engines.get(self._tick + 1, self.engine)
        if after is not self.engine:
            after.restore(self.engine.save())
            self.engine = after
        # Over the hash before and the state: such a chain can be copied and pickled.
        hashed = hashlib.sha256(self._hash)
        for part in self.engine.state():
            hashed.update(part.data)
        self._hash = hashed.digest()

    def _limited(self, torque: Array) -> Array:
        """Return torques (na,) within the limits of the drives."""
        return np.minimum(np.maximum(torque, self._smallest_torque), self._largest_torque)

    def _engine_at(self, tick: int) -> SceneEngine:
        """Return the engine that moves the scene in a control period."""
        return next(engine for begin, engine in reversed(self._engines.items()) if begin <= tick)

    def _stuck_joints(self) -> Mask:
        """Return which arm joints are stuck in this control period (na,)."""
        stuck = np.zeros(self._torques, dtype=bool)
        for arm in self._arms:
            for at, _ in self.faults.values("joint_stuck", arm):
                stuck[at] = True
        return stuck

    def _with_planned(self, wrenches: Mapping[str, Array]) -> dict[str, Array]:
        """Return external wrenches and those of the scenario's pushes in this period."""
        acting = dict(wrenches)
        for first, end, planned in self._planned:
            if first <= self._tick < end:
                for name, wrench in planned.items():
                    acting[name] = acting[name] + wrench if name in acting else wrench
        return acting

    def _measurement(self) -> Measurement:
        true = super()._measurement()
        if self._tools.any:
            true = true._replace(wrenches=true.wrenches + self._tools.wrenches(true.q))
        return self._sensors.measure(true)

    def _save(self) -> tuple[Any, ...]:
        return (
            copied(self, ("_torque", "_delayed")),
            copied(self.faults, Faults.STATE),
            copied(self._sensors, Sensors.STATE),
            *super()._save(),
        )

    def _restore(self, parts: tuple[Any, ...]) -> None:
        for of, part in zip((self, self.faults, self._sensors), parts, strict=False):
            restore(of, part)
        self.engine = self._engine_at(self._tick)
        super()._restore(parts)


def _engine_of(scene: Scene, settings: PlantSettings) -> EngineMaker:
    if settings.engine == "mujoco":
        from robot_dynamics.simulation.mujoco_engine import MujocoEngine

        return MujocoEngine
    return RigidEngine if scene.rigid else ContactEngine


def _stuck_joint(settings: PlantSettings) -> int | None:
    """Return the number of the first planned fault that makes a joint stick."""
    kinds = [fault.kind for fault in settings.faults]
    return kinds.index("joint_stuck") if "joint_stuck" in kinds else None
