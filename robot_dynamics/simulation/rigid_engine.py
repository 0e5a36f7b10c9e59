# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The engine of scenes with rigid grasps: one kernel call an integration step.

Grasps, the joint between an object's parts and internal closed chains of the arms are loop joints;
wrenches are their multipliers. The kernel integrates one step and evaluates `Truth` at its end.

Where a stop, a brake or friction holds a joint, the engine takes time steps with impulses instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array, Mask
from robot_dynamics.compile import Program, call, load_kernel, trace
from robot_dynamics.compile.own_parameters import OwnParameters
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.dynamics.inverse import BIAS_FORCES
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.grasp_map import transmitted_force_map
from robot_dynamics.manipulation.jointed_object.joint_space import world_triples
from robot_dynamics.manipulation.system import Arm, GraspSystem
from robot_dynamics.model import Model, pose_of
from robot_dynamics.robot import Robot
from robot_dynamics.scalar.functions import absolute, maximum
from robot_dynamics.scalar.linear_algebra import dot, norm, times
from robot_dynamics.simulation.closed_loop_step import (
    StepDerivatives,
    singular_step,
    step_derivative_program,
    step_derivatives,
    step_parameters,
    step_program,
)
from robot_dynamics.simulation.contact.rigid_steps import RigidSteps
from robot_dynamics.simulation.drives import DriveParameters, drives_of
from robot_dynamics.simulation.engine import (
    CORRECTION,
    SceneEngine,
    SimulationError,
    Truth,
    copied,
    grew_without_bound,
    joint_forces_of,
    restore,
)
from robot_dynamics.simulation.runge_kutta import CLASSICAL
from robot_dynamics.simulation.scene import Scene
from robot_dynamics.simulation.settings import PlantSettings
from robot_dynamics.simulation.stability import decay_rates, largest_step
from robot_dynamics.simulation.stops import Stops
from robot_dynamics.spatial import Motion, Rotation, Scalar


class RigidEngine(SceneEngine):
    """Arms, object and grasps, integrated with a fixed step; loops closed by projection.

    With Coulomb friction that holds it always takes time steps with impulses.

    Attributes:
        scene: Arms and object.
        model: Arms and object, or the arms alone if they hold nothing.
        robot: Its algorithms.
        drives: Limits and friction of its joints.
        q: Positions (nq,).
        qd: Velocities (nv,).

    Args:
        scene: Arms and object, with rigid grasps and without surfaces.
        start: Positions (nq,) of the whole system at the start, grasps closed.
        period: Control period [s].
        settings: Step and friction.

    Raises:
        ArgumentError: If the control period is not a whole number of steps, the placement of a
            joint's frames does not determine whether it is within its limits, or a stated step is
            too long for the friction, springs and dampers of the joints; the default step is
            shortened instead.
    """

    def __init__(self, scene: Scene, start: Array, period: float, settings: PlantSettings) -> None:
        self.scene, self._system = scene, scene.system
        system = scene.system
        self.model = system.model if scene.holds_object else system.arms_alone
        self.drives = drives_of(system, settings, self.model)
        self.robot = Robot(self.model)
        self._bias_forces: Callable[..., Any] | None = None  # compiled at the first start
        # The true state without a held object: no grasp is open, and the object does not move.
        pose, force = start[system.object_q], np.zeros(len(system.internal_axes))
        self._at_rest = Truth.of(pose, np.zeros(6), force, (0.0, 0.0, 0.0), np.zeros(0))
        self._parts = len(system.object_bodies)
        self._start = self._own_positions(start)
        self._stops, self._settings = Stops(self.model, self._start), settings
        self._friction_holds, self._in_steps = settings.joint_friction == "coulomb", False
        self._period = period
        if self._friction_holds:
            self.substeps = settings.contact_steps(period)
        else:
            self.substeps = settings.steps("step_s", period)
            self.substeps = self._checked_substeps(period, fixed=settings.step_s is not None)
        self._length = period / self.substeps
        self._q_at, self._v_at = joint_places(self.model, system.joint_names)
        self._passive_q, self._passive_v = joint_places(self.model, system.passive_joint_names)
        self._wrench_rows = slice(0, 6 * len(system.arms) if scene.holds_object else 0)
        self._figures_program = figures = figures_program(scene, self.model)
        parameters = scene.grasp_map.recovery.ravel() if figures.ports.parameters else np.zeros(0)
        self._recovery = parameters
        if not self._friction_holds:
            self._step = self._compiled_step(self.drives)
        key = b"figures\0" + figures.fingerprint
        self._figures_kernel = load_kernel(key, lambda: figures, lanes=1)
        self._figures = self._figures_kernel.bind(parameters)
        self.begin()

    def variant(self, scene: Scene, start: Array, settings: PlantSettings) -> RigidEngine:
        """Return a copy for a cell with other parameters, at its start.

        Only its `block` and `at_start` are used; it cannot run.

        Args:
            scene: A scene of the same structure.
            start: Positions (nq,) of the whole system at the start, grasps closed.
            settings: Friction and torque limits; the step stays the same.

        Raises:
            ArgumentError: If the step is too long for it.
        """
        other = copy(self)
        other.scene, other._system = scene, scene.system
        other.model = scene.system.model if scene.holds_object else scene.system.arms_alone
        other.drives, other.robot = (
            drives_of(scene.system, settings, other.model),
            Robot(other.model),
        )
        other._bias_forces = None
        other._start = other._own_positions(start)
        other._checked_substeps(self._period, fixed=True)
        if self._recovery.size:
            other._recovery = scene.grasp_map.recovery.ravel()
            other._figures = self._figures_kernel.bind(other._recovery)
        other.begin()
        return other

    @property
    def joints_at(self) -> tuple[Any, Any]:
        """Indices of the arm joints in positions and in velocities."""
        return self._q_at, self._v_at

    @property
    def at_start(self) -> tuple[Array, Array]:
        """Multipliers (n^c,) and `Truth.values` at the start."""
        return self._wrenches, self._told

    @property
    def block(self) -> Array:
        """The parameter block of a step."""
        return self._block(self.drives)

    def batch_step(self, blocks: Array) -> OwnParameters:
        """Return the step `(q, qd, torque) -> ...` of cells that differ in their blocks alone.

        Args:
            blocks: The `block` of each cell (N, parameters).
        """
        return OwnParameters(*self._program(self.drives), blocks)

    def _block(self, drives: DriveParameters) -> Array:
        own = step_parameters(self.model, drives, self._length)
        return np.concatenate([own, self._recovery])

    def _program(self, drives: DriveParameters) -> tuple[bytes, Callable[[], Program]]:
        """Return cache key and maker of `step_and_figures` for the joints of drives."""
        actuated = drives.v_index.tolist()
        key = (
            b"rigid step\0" + repr(actuated).encode() + self._figures_program.fingerprint
            + self.model.structure_key
        )  # fmt: skip
        return key, lambda: step_and_figures(self.scene, self.model, actuated)

    def _compiled_step(self, drives: DriveParameters) -> Any:
        """Return the compiled `step_and_figures` with drives."""
        return load_kernel(*self._program(drives), lanes=1).bind(self._block(drives))

    @cached_property
    def _pushed_step(self) -> tuple[Any, DriveParameters]:
        """The step under forces of all joints (nv,), compiled at its first use.

        Torques of the drives are limited before.
        """
        nv, own = self.model.nv, self.drives
        damping, friction = np.zeros(nv), np.zeros(nv)
        damping[own.v_index], friction[own.v_index] = own.damping, own.friction
        drives = DriveParameters(
            np.arange(nv), np.full(nv, np.inf), damping, friction, own.friction_velocity
        )
        return self._compiled_step(drives), drives

    @cached_property
    def _step_derivative(self) -> Any:
        actuated = self.drives.v_index.tolist()
        return load_kernel(
            b"step derivative\0" + repr(actuated).encode() + self.model.structure_key,
            lambda: step_derivative_program(self.model, actuated),
        ).bind(step_parameters(self.model, self.drives, self._length))

    def linearize(self, torque: Array) -> tuple[Array, Array]:
        """Return A (2 nv, 2 nv) and B (2 nv, na) of a control period from the present state.

        Changes of positions, along velocities, and of velocities at its end are A times those at
        its start plus B times the change of the torque.

        Args:
            torque: Torques of the arm joints (na,), without delay.

        Raises:
            ArgumentError: If the torque has another shape or is not finite.
            RobotDynamicsError: If constraints depend on one another.
        """
        if not self._in_steps:
            state, split = self.period_derivatives(torque).state, 2 * self.model.nv
            return state[:, :split], state[:, split:]
        driven = self.drives.v_index[: len(self._system.joint_names)]
        force = np.zeros(self.model.nv)
        force[driven] = finite_vector("torque", torque, len(driven))
        A, B = self.steps.linearize(force)
        return A, B[:, driven]

    def period_derivatives(self, torque: Array) -> StepDerivatives:
        """Return the derivatives of a control period; arguments and errors as of `linearize`.

        The derivatives of `multipliers` are those of the grasp wrenches (6 k, 2 nv + na).
        """
        if self._in_steps:
            raise RobotDynamicsError(
                f"{self.model.name}: something holds a joint in this period, which has no "
                "derivatives of wrenches then; expected smooth friction, and no joint at a stop."
            )
        n, q, qd = self.model.nv, self.q, self.qd
        na = len(self._system.joint_names)
        passive = np.zeros(len(self.drives.effort) - na)
        torque = np.concatenate([finite_vector("torque", torque, na), passive])
        held = np.eye(2 * n + len(torque))  # of a state and the torque, by those at the start
        for _ in range(self.substeps):
            one = step_derivatives(self.model, self._step_derivative, q, qd, torque)
            multipliers = one.multipliers @ held
            held[: 2 * n] = one.state @ held
            q, qd, *_ = self._step(q, qd, torque)
        driven = 2 * n + na
        return StepDerivatives(held[: 2 * n, :driven], multipliers[self._wrench_rows, :driven])

    def state(self) -> tuple[Array, Array]:
        """Return positions and velocities."""
        return self.q, self.qd

    def save(self) -> tuple[Any, ...]:
        """Return copies of the variables."""
        own = copied(self, ("q", "qd", "_wrenches", "_told"))
        return own, self.steps.saved() if self._in_steps else None

    def restore(self, saved: Sequence[Any]) -> None:
        """Set the variables that `save` returned."""
        own, steps = saved
        restore(self, own)
        self._in_steps = steps is not None
        if steps is not None:
            self.steps.restore(steps)

    def begin(self) -> None:
        """Return to the start, at rest."""
        self.q, self.qd = self._start.copy(), np.zeros(self.model.nv)
        self._wrenches = self._resting_multipliers()
        closed = np.zeros(self.model.constraint_count)
        self._told = self._figures(self.q, self.qd, self._wrenches, closed, closed)
        self._in_steps = False
        if self._friction_holds:
            self._begin_steps()
        elif self._stops.near(self.q) or any(
            fault.kind == "joint_stuck" for fault in self._settings.faults
        ):
            self.steps.start(self.q, self.qd)  # compiled now and not in the middle of a run

    def run(self, time: float, torque: Array, wrenches: Mapping[str, Array] | None = None) -> None:
        """Advance by one control period; see `Engine.run`."""
        end = time + self._period
        try:
            self._run(end, torque, wrenches)
        except (RobotDynamicsError, np.linalg.LinAlgError, ValueError) as error:
            if isinstance(error, SimulationError):
                raise
            raise grew_without_bound(end, error) from error

    def _run(self, end: float, torque: Array, wrenches: Mapping[str, Array] | None) -> None:
        if not self._in_steps:
            before = self.q, self.qd, self._wrenches, self._told
            self._integrate(torque, wrenches)
            if not self._stops.room(self.q) < 0.0:
                return
            self.q, self.qd, self._wrenches, self._told = before
            self._begin_steps()
        force = joint_forces_of(self.robot, self.q, wrenches or {})
        force[self.drives.v_index] += torque
        self._wrenches = self.steps.run(end, force)
        stepping, drift = self.steps.stepping, np.zeros(self.model.constraint_count)
        self.q, self.qd = stepping.q.copy(), stepping.v.copy()
        self._told = self._figures(self.q, self.qd, self._wrenches, self.steps.closure(), drift)
        self._told[CORRECTION] = stepping.correction
        self._in_steps = self._friction_holds or self.steps.holds

    @cached_property
    def steps(self) -> RigidSteps:
        """The time steps with impulses, compiled at their first use."""
        period, settings = self._period, self._settings
        return RigidSteps(self.model, self._stops, self.drives, period, settings)

    def _begin_steps(self) -> None:
        self.steps.start(self.q, self.qd)
        self._in_steps = True

    def stick(self, joints: Mask) -> None:
        """Have these arm joints (na,) stuck; see `SticksJoints`."""
        if joints.any() or self._in_steps:
            self.steps.brake(joints)
        if joints.any() and not self._in_steps:
            self._begin_steps()

    def _integrate(self, torque: Array, wrenches: Mapping[str, Array] | None) -> None:
        step, drives = self._step, self.drives
        if wrenches:
            step, drives = self._pushed_step
            force = joint_forces_of(self.robot, self.q, wrenches)
            force[self.drives.v_index] += torque
            torque = force
        largest = 0.0
        for _ in range(self.substeps):
            q, qd, multipliers, told, pivot = step(self.q, self.qd, torque)
            if pivot >= SMALLEST_PIVOT:
                self.q, self.qd, self._wrenches, self._told = q, qd, multipliers, told
            else:
                self._singular_step(drives, torque)
            if self.substeps > 1:
                self._told[CORRECTION] = largest = max(largest, self._told[CORRECTION])

    def sensed(self) -> tuple[Array, Array, Array]:
        """Return positions and velocities of the arm joints, and grasp wrenches (k, 6)."""
        if not self.scene.holds_object:
            wrenches = np.zeros((len(self._system.arms), 6))
        else:
            wrenches = self._wrenches[self._wrench_rows].reshape(-1, 6)
        return self.q[self._q_at], self.qd[self._v_at], wrenches

    def passive_joints(self) -> tuple[Array, Array]:
        """Return positions and velocities of the joints without drives."""
        return self.q[self._passive_q], self.qd[self._passive_v]

    def truth(self, torque: Array) -> Truth:
        """Return the true state, given the torque (na,) that was applied."""
        if not self.scene.holds_object:
            return self._at_rest._replace(torque=torque)
        return Truth(self._told, torque, self._parts)

    def _own_positions(self, start: Array) -> Array:
        """Return positions of `model` from positions of the whole system."""
        whole = self._system.model
        if self.model is whole:
            return np.array(start, dtype=float)
        at = [whole.q_slices[whole.joint_index(name)] for name in self.model.joint_names]
        return np.concatenate([np.zeros(0), *(start[own] for own in at)])

    def _checked_substeps(self, period: float, *, fixed: bool) -> int:
        """Return a number of steps at which friction, springs and dampers are stable.

        Raises:
            ArgumentError: If it is larger than the present one, which is `fixed`.
        """
        drives, friction = self.drives, np.zeros(self.model.nv)
        friction[drives.v_index] = drives.damping + drives.friction / drives.friction_velocity
        rates = decay_rates(self.robot, self._start, friction)
        step = period / self.substeps
        longest = largest_step(CLASSICAL, rates, step)
        count = max(self.substeps, math.ceil(period / longest * (1.0 - 1e-9)))
        if fixed and count > self.substeps:
            raise ArgumentError(
                f"plant.step_s {step:g} s is too long for the friction, springs and dampers of "
                f"the joints, whose fastest motion has a rate of {np.max(np.abs(rates)):.0f} 1/s; "
                f"expected at most {period / count:.6g} s."
            )
        return count

    def _singular_step(self, drives: DriveParameters, torque: Array) -> None:
        """Make one step at a state where constraints depend on one another."""
        q, qd, multipliers, closure, drift = singular_step(
            self.robot, drives, self._length, self.q, self.qd, torque
        )
        self.q, self.qd, self._wrenches = q, qd, multipliers
        self._told = self._figures(q, qd, multipliers, closure, drift)

    def _resting_multipliers(self) -> Array:
        """Return the multipliers of arms on brakes: the load shared as declared.

        Statics does not determine them. Each arm carries its own part of a jointed object, without
        force in the joint.
        """
        system, result = self._system, np.zeros(self.model.constraint_count)
        if not self.scene.holds_object:
            return result
        if self._bias_forces is None:
            self._bias_forces = BIAS_FORCES.bind(self.model, lanes=1, quick=True)
        bias = self._bias_forces(self.q, self.qd)
        own = result[self._wrench_rows]
        if system.object_loop_joint is None:
            own[:] = self.scene.grasp_map.distribution @ bias[system.object_v]
        else:
            parts = zip(system.arms, system.object_bodies, strict=True)
            own[:] = np.concatenate(
                [carrying_map(system, arm) @ bias[self.model.v_slices[b]] for arm, b in parts]
            )
        return result


def carrying_map(system: GraspSystem, arm: Arm) -> Array:
    """Return the map (6, 6) from a wrench on the part in an arm's hand to the grasp's wrench."""
    grasp = pose_of(system.model.loops[arm.loop].successor_placement)
    return transmitted_force_map([grasp], [1.0]).distribution


def figures_program(scene: Scene, model: Model) -> Program:
    """Return the program of `_figures`."""
    count = model.constraint_count
    inputs = {"q": model.nq, "qd": model.nv}
    inputs |= dict.fromkeys(("multipliers", "closure", "drift"), count)
    return trace(_figures(scene, model), "figures", inputs, _recovery_size(scene))


def _recovery_size(scene: Scene) -> int:
    """Return the number of parameters of `_figures`."""
    if not scene.holds_object or scene.system.object_loop_joint is not None:
        return 0
    return int(scene.grasp_map.recovery.size)


def _figures(scene: Scene, model: Model) -> Callable[..., dict[str, Any]]:
    """Return a traceable function that evaluates `Truth.values`.

    Inputs: q (nq,), qd (nv,), multipliers (n^c,), and position errors of the loops before and
    after the last projection (n^c,). Output: `told`, which is `Truth.values`, or the first three
    of them if no object is held. The parameters are the map that recovers the internal force.

    Args:
        scene: Arms and object.
        model: Their model.
    """
    system, holds = scene.system, scene.holds_object
    jointed = holds and system.object_loop_joint is not None
    shape = scene.grasp_map.recovery.shape if _recovery_size(scene) else (0, 0)
    turns, moves = _rows_of_loops(model)

    def run(
        q: Any, qd: Any, multipliers: Any, closure: Any, drift: Any, block: Any
    ) -> dict[str, Any]:
        told = [
            _largest([norm([closure[i] for i in rows]) for rows in moves]),
            _largest([norm([closure[i] for i in rows]) for rows in turns]),
            _largest([absolute(value) for value in drift]),
        ]
        if not holds:
            return {"told": told}
        for at in system.object_bodies:
            pose, moving = q[model.q_slices[at]], Motion.of(qd[model.v_slices[at]])
            E = Rotation.from_quaternion(*pose[3:])
            turned = E.inverse_times(moving.angular), E.inverse_times(moving.linear)
            told += [*pose, *turned[0], *turned[1]]
        if jointed:
            told += _force_in_joint(system, q, multipliers)
        elif shape[0]:
            rows, columns = shape
            recovery = [block[i * columns : (i + 1) * columns] for i in range(rows)]
            told += times(recovery, multipliers[:columns])
        return {"told": told}

    return run


def _force_in_joint(system: GraspSystem, q: Any, multipliers: Any) -> list[Scalar]:
    """Return the force in the object's joint on its second part, triples along world axes."""
    joint, second = system.object_loop_joint, system.object_bodies[1]
    assert joint is not None
    names = system.internal_axes
    first = 6 * len(system.arms)
    force = list(multipliers[first : first + len(names)])
    E = Rotation.from_quaternion(*q[system.model.q_slices[second]][3:])
    frame = Rotation.of(pose_of(joint.successor_placement)[:3, :3].tolist())
    to_world = E.transpose().compose(frame)
    for triple in world_triples(names):
        own = [force[i] for i in triple]
        for i, row in zip(triple, to_world.rows, strict=True):
            force[i] = dot(list(row), own)
    return force


def step_and_figures(scene: Scene, model: Model, actuated: Sequence[int]) -> Program:
    """Return the program of one step that also evaluates `Truth.values` at its end.

    It has the inputs of `step_program`, and its parameters followed by those of `_figures`.
    Outputs are q, qd, the multipliers, the output of `_figures` and the pivot of `step_program`.
    """
    step, figures = step_program(model, actuated), _figures(scene, model)
    own = step.ports.parameters

    def run(q: Any, qd: Any, torque: Any, block: Any) -> dict[str, Any]:
        end = call(step, q, qd, torque, parameters=block[:own])
        state = [end[name] for name in ("q", "qd", "multipliers", "closure", "drift")]
        kept = {name: end[name] for name in ("q", "qd", "multipliers")}
        return {**kept, **figures(*state, block[own:]), "pivot": end["pivot"]}

    return trace(run, "rigid_step", dict(step.ports.inputs), own + _recovery_size(scene))


def _rows_of_loops(model: Model) -> tuple[list[list[int]], list[list[int]]]:
    """Return the rows of rotations and the rows of translations of each loop joint."""
    turns, moves, at = [], [], 0
    for loop in model.loops:
        flags = [row.rotational for row in loop.type.rows]
        turns.append([at + i for i, flag in enumerate(flags) if flag])
        moves.append([at + i for i, flag in enumerate(flags) if not flag])
        at += len(flags)
    return [rows for rows in turns if rows], [rows for rows in moves if rows]


def joint_places(
    model: Model, names: Sequence[str]
) -> tuple[slice | NDArray[np.intp], slice | NDArray[np.intp]]:
    """Return indices of joints in positions and velocities: slices if they are consecutive."""
    at = [model.joint_index(name) for name in names]
    return (
        _slice_or_indices([model.q_slices[i].start for i in at]),
        _slice_or_indices([model.v_slices[i].start for i in at]),
    )


def _slice_or_indices(at: list[int]) -> slice | NDArray[np.intp]:
    if at and at == list(range(at[0], at[0] + len(at))):
        return slice(at[0], at[0] + len(at))
    return np.array(at, dtype=np.intp)


def _largest(values: Sequence[Scalar]) -> Scalar:
    return reduce(maximum, values, 0.0)
