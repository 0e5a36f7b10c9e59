# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of frames by damped least squares within limits.

Levenberg-Marquardt steps, solved within the joint limits by SciPy's bounded least squares, are
tangential to loops, which are closed again after each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.arguments import (
    finite_vector,
    pose_matrix,
    positive_number,
    whole_number,
)
from robot_dynamics.dynamics.assembly import generic
from robot_dynamics.dynamics.closure_search import Closure, ClosureSearch
from robot_dynamics.dynamics.scaling import (
    CLOSED,
    closing_tolerance,
    constraint_scales,
    coordinate_names,
    coordinates_of,
    model_length,
)
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import Model
from robot_dynamics.wording import counted, distance

_LARGEST_STEP = 0.5  # rad, or typical lengths: linearisation is good for about so much
_CLOSURE_WEIGHT = 1e3  # of loops beside targets, in a step; they are closed after it
_LEAST_DAMPING, _MOST_DAMPING = 1e-12, 1e8
_STALLED = 1e-3  # relative decrease of the squared error that counts as none ...
_CREPT = 1e-6  # likewise where nothing follows them ...
_PATIENCE = 12  # ... in so many steps, which leave few of damping that has yet to be found
_FINER = 1e-3  # of the tolerance: convergence is quadratic, the last digits cost a step
_RESTARTS = 20
_AT_LIMIT = 1e-9


@dataclass(frozen=True)
class InverseKinematics:
    """Positions, and the remaining errors of the frames.

    Attributes:
        q: Positions (nq,), within the limits, with the loops closed.
        converged: Whether all errors are within the tolerance.
        position_errors: Distance of each frame from its target [m], by name.
        rotation_errors: Angle of each frame from its target [rad]; 0.0 for position targets.
        at_limits: Names of the coordinates that are at a limit, of loop joints last.
        iterations: Number of steps, over all starts.
        starts: Number of starts.
    """

    q: Array
    converged: bool
    position_errors: dict[str, float]
    rotation_errors: dict[str, float]
    at_limits: tuple[str, ...]
    iterations: int
    starts: int

    @property
    def position_error(self) -> float:
        """The largest distance of a frame from its target [m]."""
        return max(self.position_errors.values(), default=0.0)

    @property
    def rotation_error(self) -> float:
        """The largest angle of a frame from its target [rad]."""
        return max(self.rotation_errors.values(), default=0.0)

    def __str__(self) -> str:
        words = "converged" if self.converged else "not reached"
        limits = f", at limits: {', '.join(self.at_limits)}" if self.at_limits else ""
        return (
            f"{words} after {counted(self.iterations, 'step')} from "
            f"{counted(self.starts, 'start')}: {distance(self.position_error)} and "
            f"{np.degrees(self.rotation_error):.3g} degrees remain{limits}"
        )


@dataclass(frozen=True)
class _Place:
    """Positions with the data of the search there."""

    q: Array
    positions: dict[str, float]
    rotations: dict[str, float]
    residual: Array  # [m], rotations at the length
    J: Array

    @property
    def cost(self) -> float:
        return float(self.residual @ self.residual)

    def within(self, tolerance: float) -> bool:
        return max(*self.positions.values(), *self.rotations.values()) <= tolerance


def inverse_kinematics(
    model: Model,
    targets: Mapping[str, object],
    q0: object,
    pose: Callable[[str, Array], Array],
    jacobian: Callable[[str, Array], Array],
    closure: Closure,
    close: Callable[[Array], Array],
    *,
    limits: bool = True,
    held: Iterable[str] = (),
    length: float | None = None,
    tolerance: float = 1e-6,
    iterations: int = 100,
    restarts: int | None = None,
    seed: int = 0,
) -> InverseKinematics:
    """Return positions at which frames are at their targets, or the nearest ones found.

    Args:
        model: The mechanism.
        targets: By the name of the frame: a pose (4, 4) in the world, or a position (3,) [m].
        q0: Positions (nq,) to start from; positions near the joints' zeros if None.
        pose: `(frame, q)` -> pose (4, 4).
        jacobian: `(frame, q)` -> Jacobian (6, nv) in "aligned" axes.
        closure: `(q)` -> K and the position error.
        close: `(q)` -> positions near `q` that close the loops, for the first start.
        limits: Whether positions must be within the joint limits.
        held: Joints or coordinates that keep their value of the start.
        length: Length [m] at which an angle counts like a distance if targets are out of reach.
        tolerance: Errors up to which targets count as reached [m and rad].
        iterations: Steps of one start.
        restarts: Random starts if the first does not converge.
        seed: Seed of the random starts.

    Raises:
        ArgumentError: If a target is neither a pose nor a position, or an argument has the wrong
            size or value.
        UnknownNameError: If there is no frame or joint of a name.
        AssemblyError: If the loops cannot be closed near the first start.
    """
    wanted = {name: _target(name, value) for name, value in targets.items()}
    if not wanted:
        raise ArgumentError("there is no target; expected a frame and its pose.")
    if isinstance(held, str):
        raise ArgumentError(f"held is the text {held!r}, expected several names.")
    length = model_length(model) if length is None else positive_number("length", length)
    tolerance = positive_number("tolerance", tolerance)
    iterations = whole_number("iterations", iterations, 1)
    fixed = np.zeros(model.nv, dtype=bool)
    for name in held:
        fixed[coordinates_of(model, name)] = True
    closed = closing_tolerance(model)
    box = ClosureSearch(
        model, closure, fixed, limits, None, length, closed * length, iterations,
        weakest=max(CLOSED, closed),
    )  # fmt: skip
    start = box.within_limits(generic(model) if q0 is None else finite_vector("q0", q0, model.nq))
    if restarts is None:
        restarts = _RESTARTS if q0 is None else 0
    restarts = whole_number("restarts", restarts, 0)
    seed = whole_number("seed", seed, 0)

    def look(q: Array) -> _Place:
        return _look(wanted, q, pose, jacobian, length)

    rng = np.random.default_rng(seed)
    best, tried = _descend(box, look, look(close(start)), tolerance, iterations)
    number = 0
    while number < restarts and not best.within(tolerance):
        number += 1
        there = _closed(box, box.scattered(start, 1.0, rng))
        if there is None or not box.is_genuine(*there, rng):
            continue
        place, steps = _descend(box, look, look(there[0]), tolerance, iterations)
        tried += steps
        best = place if place.cost < best.cost else best
    return InverseKinematics(
        best.q, best.within(tolerance), best.positions, best.rotations,
        _limits_reached(box, best.q), tried, number + 1,
    )  # fmt: skip


def _target(name: str, value: object) -> tuple[Array, Array | None]:
    """Return the desired position (3,), and the desired rotation matrix, if there is one."""
    try:
        shape = np.shape(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        shape = ()
    if shape == (3,):
        return finite_vector(f"the position of {name!r}", value, 3), None
    matrix = pose_matrix(f"the pose of {name!r}", value)
    return matrix[:3, 3], matrix[:3, :3]


def _look(
    wanted: Mapping[str, tuple[Array, Array | None]],
    q: Array,
    pose: Callable[[str, Array], Array],
    jacobian: Callable[[str, Array], Array],
    length: float,
) -> _Place:
    """Return the errors and their derivative at positions `q` (nq,)."""
    positions, rotations, residual, rows = {}, {}, [], []
    for name, (p, R) in wanted.items():
        at, J = pose(name, q), jacobian(name, q)
        off, turned = p - at[:3, 3], np.zeros(3)
        residual.append(off)
        rows.append(J[3:])
        if R is not None:
            turned = Rotation.from_matrix(R @ at[:3, :3].T).as_rotvec()
            residual.append(length * turned)
            rows.append(length * J[:3])
        positions[name] = float(np.linalg.norm(off))
        rotations[name] = float(np.linalg.norm(turned))
    return _Place(q, positions, rotations, np.concatenate(residual), np.vstack(rows))


def _descend(
    box: ClosureSearch,
    look: Callable[[Array], _Place],
    place: _Place,
    tolerance: float,
    iterations: int,
) -> tuple[_Place, int]:
    """Return the end of damped steps from a place, and their number."""
    least = _STALLED if _is_plain(box) else _CREPT
    damping, costs = 1e-3, [place.cost]
    for steps in range(iterations):
        stalled = steps >= _PATIENCE and costs[-1 - _PATIENCE] - place.cost < least * place.cost
        if place.within(_FINER * tolerance) or damping > _MOST_DAMPING:
            return place, steps
        if stalled:
            return _settled(box, look, place, iterations - steps, steps)
        step = _step(box, place, damping)
        if not np.any(step):
            return place, steps
        there = _closed(box, box.within_limits(box.moved(place.q, step)))
        moved = None if there is None else look(there[0])
        if moved is not None and moved.cost < place.cost:
            place, damping = moved, max(_LEAST_DAMPING, 0.2 * damping)
        else:
            damping *= 4.0
        costs.append(place.cost)
    return place, iterations


def _is_plain(box: ClosureSearch) -> bool:
    """Return whether there are no loops, and rates of all joints are derivatives."""
    model = box.model
    return model.nq == model.nv and not (model.constraint_count or box.limits.of_loops)


def _settled(
    box: ClosureSearch,
    look: Callable[[Array], _Place],
    place: _Place,
    iterations: int,
    steps: int,
) -> tuple[_Place, int]:
    """Return the positions of least error near a target out of reach, and the total steps.

    Gauss-Newton steps ignore the curvature of the residual, which matters here, and converge
    slowly. They are used only with loops, and joints whose velocities are not rates of positions.
    """
    if not _is_plain(box):
        return place, steps
    free = np.flatnonzero(box.free)
    scale = box.columns[free]  # in displacements: joints of all kinds alike

    def at(x: Array) -> Array:
        q = place.q.copy()
        q[free] = x / scale
        return box.within_limits(q)

    def error(x: Array) -> tuple[float, Array]:
        there = look(at(x))
        slope: Array = -2.0 * (there.J[:, free] / scale).T @ there.residual
        return there.cost, slope

    bounds = np.stack([box.limits.lower[free] * scale, box.limits.upper[free] * scale], axis=1)
    options = {"maxiter": iterations, "ftol": 1e-15, "gtol": 1e-12}
    from scipy.optimize import minimize

    found = minimize(
        error, place.q[free] * scale, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    there = look(at(found.x))
    return there if there.cost < place.cost else place, steps + int(found.nit)


def _closed(box: ClosureSearch, q: Array) -> tuple[Array, float] | None:
    """Return positions near `q` that close the loops, and the remaining gap [m]; else None."""
    if not (box.model.constraint_count or box.limits.of_loops):
        return q, 0.0
    found, gap = box.run(q)
    return (found, gap) if gap <= box.goal else None


def _step(box: ClosureSearch, place: _Place, damping: float) -> Array:
    """Return the damped step (nv,) within limits that reduces the residual, loops kept closed."""
    model, columns, length = box.model, box.columns, box.length
    lower = np.full(model.nv, -_LARGEST_STEP * length)
    upper = -lower
    at = [  # where a coordinate's rate is its derivative; positions of others are clipped after
        i
        for at_q, at_v in zip(model.q_slices, model.v_slices, strict=True)
        if at_q.stop - at_q.start == at_v.stop - at_v.start
        for i in range(at_v.start, at_v.stop)
    ]
    values = box.limits.values(place.q)
    lower[at] = np.maximum(lower[at], (columns * (box.limits.lower - values))[at])
    upper[at] = np.minimum(upper[at], (columns * (box.limits.upper - values))[at])
    lower, upper = np.minimum(lower, 0.0), np.maximum(upper, 0.0)
    free = np.flatnonzero(box.free & (upper - lower > 1e-12 * length))
    step = np.zeros(model.nv)
    if not len(free):
        return step
    J = (place.J / columns)[:, free]
    size = max(float(np.linalg.norm(J, 2)), 1e-12)
    blocks = [J, np.sqrt(damping) * size * np.eye(len(free))]
    goals = [place.residual, np.zeros(len(free))]
    if model.constraint_count:
        K, error = box.closure(place.q)
        weights = _CLOSURE_WEIGHT * constraint_scales(model, length)
        blocks.append((weights[:, None] * K / columns)[:, free])
        goals.append(-weights * error * model.holonomic)
    from scipy.optimize import lsq_linear

    for _ in range(2):  # the second time along limits of loop joints that the first would cross
        solved = lsq_linear(
            np.vstack(blocks), np.concatenate(goals), (lower[free], upper[free]), method="bvls"
        )
        step[free] = solved.x / columns[free]
        bars = box.limits.loop_barriers(place.q, step)
        if not len(bars):
            break
        blocks.append(_CLOSURE_WEIGHT * length * (bars / columns)[:, free])
        goals.append(np.zeros(len(bars)))
    return step


def _limits_reached(box: ClosureSearch, q: Array) -> tuple[str, ...]:
    values = box.limits.values(q)
    close = np.minimum(values - box.limits.lower, box.limits.upper - values) < _AT_LIMIT
    names = zip(coordinate_names(box.model), (close & box.free).tolist(), strict=True)
    loops = zip(box.limits.of_loops, box.limits.loop_values(q).tolist(), strict=True)
    return (
        *(name for name, at in names if at),
        *(one.name for one, x in loops if min(x - one.lower, one.upper - x) < _AT_LIMIT),
    )
