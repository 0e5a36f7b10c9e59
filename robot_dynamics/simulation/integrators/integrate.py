# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Time integration of a mechanism with closed loops: one function, four methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.contact.points import (
    Contacts,
    Inequality,
    PointContact,
    UndefinedContact,
    named_contacts,
    push_only_loops,
    require_rigid,
)
from robot_dynamics.dynamics.arguments import (
    finite_vector,
    positive_number,
    require_orientations,
)
from robot_dynamics.dynamics.coulomb import holds_joints
from robot_dynamics.dynamics.scaling import closing_tolerance, constraint_scales, model_length
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.model.model import COULOMB
from robot_dynamics.model.moved_inertia import require_inertia
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators.adaptive import AdaptiveSteps
from robot_dynamics.simulation.integrators.batch import BatchSteps
from robot_dynamics.simulation.integrators.events import REST_SPEED, EventSteps
from robot_dynamics.simulation.integrators.fixed_steps import FixedSteps
from robot_dynamics.simulation.integrators.method import Force, Method
from robot_dynamics.simulation.integrators.trajectory import (
    Effort,
    IntegrationError,
    IntegrationInterrupted,
    Trajectory,
    Trouble,
)
from robot_dynamics.simulation.runge_kutta import EVENT_ORDERS, ORDERS, scheme_of_order

#: Joint forces (nv,), of many states (N, nv): constant, or a function of time, positions and
#: velocities; None for none.
Torque = Callable[[float, Array, Array], ArrayLike] | ArrayLike | None

METHODS = ("projection", "adaptive", "stabilised", "independent")

# Largest opening of a closed loop, in parts of the mechanism's length; more if the description has
# rounded numbers (`closing_tolerance`).
_OPEN = 1e-6
# The same for Baumgarte's method, which leaves loops slightly open.
_OPEN_STABILISED = 1e-2


def integrate(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    duration: float,
    *,
    tau: Torque = None,
    prescribed: Mapping[str, Callable[[float], ArrayLike]] | None = None,
    method: str = "projection",
    order: int = 8,
    step: float = 1e-3,
    tolerance: float = 1e-10,
    stabilisation_time: float = 0.1,
    outputs: int = 100,
    contacts: Iterable[PointContact | Inequality] | None = None,
    rest_speed: float = REST_SPEED,
    progress: Callable[[float, float], None] | None = None,
) -> Trajectory:
    """Integrate the motion of a mechanism from a state; docs/integration.md compares the methods.

    "projection" and "stabilised" integrate N states at once, (N, nq) and (N, nv), with one call
    for each step. A state near a singular configuration is integrated separately. The results
    equal those of single states up to rounding errors.

    Friction and damping of tree joints act only as part of `tau`, or in a robot with
    `joint_friction`. With "coulomb" joints stop, hold and begin to move at events, as contacts do.

    Args:
        robot: The mechanism, with or without loops.
        q: Positions (nq,) or (N, nq) at the start, loops closed (`Robot.assemble`).
        qd: Velocities (nv,) or (N, nv) at the start, with K qd = 0.
        duration: Duration of the motion [s].
        tau: Joint forces (nv,) [N m, N], or a function of time [s], positions (nq,) and velocities
            (nv,) that returns them and is called at every stage of every step. Default: zero.
            With N states the forces may be (N, nv), and the function is called with all states,
            (N, nq) and (N, nv); row i of its result must depend on row i alone.
        prescribed: Accelerations [rad/s^2, m/s^2] of joints as functions of time [s], by the name
            of the joint; `tau` acts on the other joints. Only for mechanisms without loops,
            couplings and contacts.
        method: "projection": fixed steps, each followed by a projection of positions and
            velocities in the metric of H. "adaptive": the same with error control. "stabilised":
            fixed steps with Baumgarte's terms and no projection; loops may be open at the start.
            "independent": fixed steps in independent coordinates, chosen again near singular ones.
        order: Order of the Runge-Kutta scheme: 4, 5 or 8; "adaptive": 5 or 8; with contacts also
            1 or 2.
        step: Longest step [s]; outputs are a whole number of equal steps apart. Not used by
            "adaptive".
        tolerance: Largest error of a step of "adaptive", relative and absolute.
        stabilisation_time: T_stab of Baumgarte's method [s] (section 8.3).
        outputs: Number of equal intervals between outputs.
        contacts: All possible contacts, rigid, with Coulomb friction (round cone) or without
            (docs/contact.md). Steps end at contact events, which are in `Trajectory.events`.
            Unilateral loop joints are contacts as well. Only for "projection" of one state.
        rest_speed: Impacts slower than this [m/s] have no restitution and leave contacts closed;
            1e-6 or more.
        progress: Called after every output with the time reached and the duration [s].

    Returns:
        The states at `outputs + 1` times, with the start; see `Trajectory` for the shapes.

    Raises:
        ArgumentError: If an argument has the wrong shape or is out of range, or loops are open at
            the start.
        RobotDynamicsError: If a joint moves no inertia; it names the link without inertia.
        IntegrationError: If the motion is unbounded, loops open, no contact forces satisfy the
            laws, or a gap or a normal is not finite. It has the time and the outputs before.
        IntegrationInterrupted: On Ctrl-C: a KeyboardInterrupt with the outputs until then.
    """
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    duration = positive_number("duration", duration)
    step, tolerance = positive_number("step", step), positive_number("tolerance", tolerance)
    stabilisation_time = positive_number("stabilisation_time", stabilisation_time)
    if not float(positive_number("outputs", outputs)).is_integer():
        raise ArgumentError(f"outputs is {outputs!r}, expected a whole number.")
    outputs = int(outputs)
    robot, pushing = push_only_loops(robot)
    model = robot.model
    require_inertia(model)
    state, limit = closed_start(robot, q, qd, method)
    batch = state[0].shape[:-1]
    if batch and method in ("adaptive", "independent"):
        raise ArgumentError(
            f"{method!r} chooses steps or coordinates of each state, expected 'projection' or "
            f"'stabilised' for {len(state[0])} states at once."
        )
    if prescribed is not None:
        tau = _driven(robot, tau, prescribed, batch)
    force = _force(tau, (*batch, model.nv))
    length = model_length(model)
    items = (*pushing, *(() if contacts is None else named_contacts(contacts)))
    eventful = bool(items) or holds_joints(model)
    events = "contacts" if items else f"joints with joint_friction={COULOMB!r}"
    if eventful and (batch or method != "projection"):
        raise ArgumentError(f"{events} need the method 'projection' and one state.")
    if eventful and prescribed:
        raise ArgumentError(
            f"{events} and a prescribed motion of {next(iter(prescribed))!r} contradict each "
            "other; expected one of them."
        )
    orders = EVENT_ORDERS if eventful else ORDERS
    how = Method(method, scheme_of_order(order, orders), stabilisation_time)
    times = np.linspace(0.0, duration, outputs + 1)
    substeps = max(1, int(np.ceil(duration / outputs / step * (1.0 - 1e-12))))
    run: AdaptiveSteps | FixedSteps | BatchSteps | EventSteps
    h = duration / outputs / substeps
    if eventful:
        touching = Contacts(robot, items)
        for item in touching.items:
            require_rigid(item, "from event to event")
        run = EventSteps(robot, how.scheme, force, h, touching, state, rest_speed)
    elif batch:
        run = BatchSteps(robot, how, force, h, state[0], limit, length)
    elif method == "adaptive":
        run = AdaptiveSteps(robot, how, force, tolerance, duration, state[0], float(limit), length)
    else:
        run = FixedSteps(robot, how, force, h, state[0], float(limit), length)

    states = [state]
    title = f"{method}, order {order}"
    damped = any(np.any(loop.damping) for loop in model.loops)
    damped = damped or bool(model.joint_friction)
    conservative = not callable(force) and not np.any(force) and not damped
    conservative = conservative and not items

    def so_far() -> Trajectory:
        found = _trajectory(
            robot, title, times[: len(states)], states, run.effort, length, conservative
        )
        return replace(found, events=tuple(run.events)) if isinstance(run, EventSteps) else found

    try:
        for reached in run.run(times.tolist(), *state):
            states.append(reached)
            if progress is not None:
                progress(float(times[len(states) - 1]), duration)
    except Trouble as trouble:
        finer = "a larger tolerance" if method == "adaptive" else "a shorter step"
        expected = trouble.expected or f"forces that keep the motion bounded, or {finer}"
        raise IntegrationError(
            f"{model.name}: integration ended at {trouble.time:.6g} s: {trouble.reason}; "
            f"expected {expected}.",
            trouble.time,
            so_far(),
        ) from trouble
    except UndefinedContact as error:
        raise IntegrationError(
            f"{model.name}: integration ended at {run.time:.6g} s: {error}", run.time, so_far()
        ) from error
    except KeyboardInterrupt as interrupt:
        until = max(run.time, float(times[len(states) - 1]))
        raise IntegrationInterrupted(until, so_far()) from interrupt
    return so_far()


def closed_start(
    robot: Robot, q: ArrayLike, qd: ArrayLike, method: str = "projection"
) -> tuple[tuple[Array, Array], Any]:
    """Return the start (nq,), (nv,) or (N, nq), (N, nv), and the largest opening of loops [m].

    Args:
        robot: The mechanism.
        q: Positions (nq,) or (N, nq).
        qd: Velocities (nv,) or (N, nv).
        method: As of `integrate`; with "stabilised" loops may be open at the start.

    Raises:
        ArgumentError: If a shape is wrong, a number is not finite, a quaternion is zero, or loops
            are open.
    """
    model = robot.model
    state = _start_of("q", q, model.nq), _start_of("qd", qd, model.nv)
    require_orientations(model, state[0])
    if any(part.ndim > 1 for part in state):
        state = _as_many(*state)
    length, closed = model_length(model), max(_OPEN, closing_tolerance(model))
    gap, slip = _errors(robot, *state, length)
    if method == "stabilised":
        return state, np.fmax(_OPEN_STABILISED * length, 10.0 * gap)
    speed = np.max(np.abs(state[1]), axis=-1, initial=0.0) * max(
        1.0, length
    )  # rotations at length
    bad = (gap > closed * length) | (slip > closed * (length + speed))
    if np.any(bad):
        i = int(np.argmax(bad))
        of_which = f" of state {i}" if np.ndim(bad) else ""
        gap, slip = (float(np.ravel(part)[i]) for part in (gap, slip))
        raise ArgumentError(
            f"{model.name}: at the start{of_which} loops are open by {gap:.1e} m and open further "
            f"at {slip:.1e} m/s; expected a closed start, as Robot.assemble returns it."
        )
    return state, closed * length


def _start_of(name: str, values: ArrayLike, length: int) -> Array:
    """Return finite numbers (length,) or, of many states, (N, length)."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.ndim < 2:
        return finite_vector(name, values, length)
    if array.ndim > 2 or array.shape[1] != length or not len(array):
        raise ArgumentError(
            f"{name} has shape {array.shape}, expected ({length},), or (N, {length}) of N states."
        )
    if not np.isfinite(array).all():
        i = int(np.argmin(np.isfinite(array).all(axis=1)))
        raise ArgumentError(f"{name} of state {i} has entries that are not finite.")
    return array


def _as_many(q: Array, qd: Array) -> tuple[Array, Array]:
    """Return q (N, nq) and qd (N, nv) of which one may be of a single state."""
    counts = {len(part) for part in (q, qd) if part.ndim > 1}
    if len(counts) > 1:
        raise ArgumentError(
            f"q has {len(q)} states and qd has {len(qd)}, expected the same number."
        )
    count = counts.pop()
    return np.broadcast_to(q, (count, q.shape[-1])), np.broadcast_to(qd, (count, qd.shape[-1]))


def _force(tau: Torque, shape: tuple[int, ...]) -> Force | Array:
    """Return constant forces, or the function with its results checked.

    Args:
        tau: Forces, or a function that returns them.
        shape: Of the result: (nv,) or (N, nv). `tau` may be (nv,) in both cases.
    """
    if tau is None:
        return np.zeros(shape[-1])
    if not callable(tau):
        given = tau if len(shape) == 1 else _start_of("tau", tau, shape[-1])
        if np.ndim(given) < 2:
            return finite_vector("tau", given, shape[-1])
        if np.shape(given) != shape:
            raise ArgumentError(f"tau has shape {np.shape(given)}, expected {shape}.")
        return np.asarray(given)
    function = tau

    def force(time: float, q: Array, qd: Array) -> Array:
        values = np.asarray(function(time, q, qd), dtype=float)
        if values.shape not in (shape, shape[-1:]):
            raise ArgumentError(f"tau returned the shape {values.shape}, expected {shape}.")
        if not math.isfinite(values.ravel() @ values.ravel()):
            raise Trouble(time, f"tau returned {values}", "finite joint forces")
        return values

    return force


def _driven(
    robot: Robot,
    tau: Torque,
    prescribed: Mapping[str, Callable[[float], ArrayLike]],
    batch: tuple[int, ...],
) -> Callable[[float, Array, Array], Array]:
    """Return forces that cause prescribed accelerations; `tau` acts on the other joints."""
    model = robot.model
    if not (isinstance(prescribed, Mapping) and all(map(callable, prescribed.values()))):
        raise ArgumentError(
            f"prescribed is {prescribed!r:.60}, expected a mapping from joints to functions."
        )
    solve = robot.hybrid_dynamics(prescribed)
    slices = {name: model.v_slices[model.joint_index(name)] for name in prescribed}
    own = _force(tau, (*batch, model.nv))

    def driven(time: float, q: Array, qd: Array) -> Array:
        qdd = np.zeros(model.nv)
        for name, at in slices.items():
            value = prescribed[name](time)
            qdd[at] = finite_vector(f"prescribed[{name!r}]", value, at.stop - at.start)
        forces: Array = solve(q, qd, own(time, q, qd) if callable(own) else own, qdd)[1]
        return forces

    return driven


def _errors(robot: Robot, q: Array, qd: Array, length: float) -> tuple[Any, Any]:
    """Return the largest opening of loops (...) [m] and its largest rate (...) [m/s]."""
    if not robot.model.constraint_count:
        return (np.zeros(q.shape[:-1])[()],) * 2
    *_, gap, slip = robot.constraint_terms(q, qd)
    scales = constraint_scales(robot.model, length)
    opened = np.abs(scales * gap * robot.model.holonomic)
    return np.max(opened, axis=-1), np.max(np.abs(scales * slip), axis=-1)


def _trajectory(
    robot: Robot,
    method: str,
    times: Array,
    states: list[tuple[Array, Array]],
    effort: Effort,
    length: float,
    conservative: bool,
) -> Trajectory:
    # Of N states: (N, m, nq).
    q, qd = (np.stack(part, axis=-2) for part in zip(*states, strict=True))
    kinetic, potential = robot.energies(q, qd)
    errors = zip(*(_errors(robot, *state, length) for state in states), strict=True)
    closure, velocity = (np.stack(part, axis=-1) for part in errors)
    return Trajectory(
        method, times, q, qd, kinetic, potential, closure, velocity, effort, length, conservative
    )
