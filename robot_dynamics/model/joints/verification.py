# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Verification of joint types by finite differences of their transforms.

The author of a joint type writes its transform and derives the other functions by hand; here they
are compared with the transform.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.model.joints.base import JointType
from robot_dynamics.model.joints.quaternion import turn
from robot_dynamics.spatial import Force, Motion, Rotation, Transform, Vector3

# A central difference is off by step^2 times the third derivative and by rounding over the step:
# 1e-10 for numbers of size one, and a few decades more for steep but sound ones.
_STEP = 1e-5
_CLOSE = 1e-7
_EXACT = 1e-12


def verify(kind: JointType, *, samples: int = 3, seed: int = 0) -> list[str]:
    """Return the faults of a joint type; an empty list if its functions are consistent.

    As a tree joint: dX_J/dt = -v_J x X_J, c_J as the rate of S, the position rate, `integrate`
    and `difference`. As a loop joint: T^T S = 0, the rate of T, and the residual, which must
    vanish where the joint is closed and change by T^T d with a small displacement d. In both
    roles T_a^T S = 1, and freedoms and constraints make six.

    Args:
        kind: The type; its positions must be good anywhere between -1 and 1.
        samples: Number of random states.
        seed: Seed of the random states.
    """
    random = np.random.default_rng(seed)
    problems: list[str] = []
    if kind.carries and (problems := _wrong_sizes(kind)):
        return problems  # the other checks need these sizes
    for _ in range(samples):
        if kind.carries:
            problems += _as_tree_joint(kind, random)
        if kind.closes:
            problems += _as_loop_joint(kind, random)
    return list(dict.fromkeys(problems))


def _wrong_sizes(kind: JointType) -> list[str]:
    """Return the functions whose number of entries differs from `nq` or `nv`."""
    q, velocity = [0.1] * kind.nq, [0.1] * kind.nv
    parts: tuple[tuple[str, str, Callable[[], Sequence[object]]], ...] = (
        ("neutral", "nq", kind.neutral),
        ("integrate", "nq", lambda: kind.integrate(q, velocity)),
        ("normalized", "nq", lambda: kind.normalized(q)),
        ("position_rate", "nq", lambda: kind.position_rate(q, velocity)),
        ("difference", "nv", lambda: kind.difference(q, q)),
        ("subspace", "nv", lambda: kind.subspace(q)),
    )
    problems = []
    for name, of, part in parts:
        size = getattr(kind, of)
        try:
            found = len(part())
        except (ValueError, IndexError, TypeError) as error:
            problems.append(f"{kind.name}: {name} fails with nq = {kind.nq}: {error}")
            continue
        if found != size:
            problems.append(f"{kind.name}: {name} has {found} entries, expected {of} = {size}")
    return problems


def _as_tree_joint(kind: JointType, random: np.random.Generator) -> list[str]:
    start = kind.integrate(kind.neutral(), random.uniform(-1.0, 1.0, kind.nv).tolist())
    q, qd = kind.normalized(start), random.normal(size=kind.nv).tolist()
    rate = np.array(kind.position_rate(q, qd))
    step = (0.3 * random.uniform(-1.0, 1.0, kind.nv)).tolist()
    S = _matrix(kind.subspace(q))

    def at(t: float) -> list[float]:
        moved: list[float] = (np.array(q) + t * rate).tolist()
        return moved

    def stepped(t: float) -> Array:
        return np.array(kind.integrate(q, [t * v for v in qd]), dtype=float)

    vJ = kind.velocity(q, qd)
    moving = -_cross(vJ) @ _transform(kind.transform(q))
    product = np.array(kind.velocity_product(q, qd).components())
    there = kind.integrate(q, step)
    X, forces = kind.transform(q), random.normal(size=kind.nv).tolist()
    x, x_rate, work = np.zeros(0), np.zeros(0), 0.0
    found = x
    if kind.has_coordinates:
        x, found = np.array(kind.coordinates_of(q)), np.array(kind.coordinates(X))
        x_rate = _slope(lambda t: np.array(kind.coordinates_of(at(t)), dtype=float))
        work = float(np.dot(kind.coordinate_forces(X, forces), qd))
    checks = {
        "the neutral position does not make the frames coincide": _differ(
            _transform(kind.transform(kind.neutral())), np.eye(6), _EXACT
        ),
        "dX_J/dt is not -v_J x X_J": _differ(
            _slope(lambda t: _transform(kind.transform(at(t)))), moving
        ),
        "c_J is not the rate of S times qd": _differ(
            _slope(lambda t: _matrix(kind.subspace(at(t))) @ qd), product
        ),
        "v_J is not S qd": _differ(np.array(vJ.components()), S @ np.array(qd), _EXACT),
        "integrate does not follow position_rate": _differ(_slope(stepped), rate),
        "difference does not undo integrate": _differ(kind.difference(q, there), step, 1e-10),
        "coordinates does not undo transform": _differ(found, x, 1e-10),
        "coordinate_forces does other work than forces on the coordinates": kind.has_coordinates
        and _differ([work], [float(np.dot(x_rate, forces))]),
        "S has dependent columns": S.shape != (6, kind.nv)
        or int(np.linalg.matrix_rank(S)) != kind.nv,
        "T_a^T S is not the identity": _differ(
            _matrix(kind.active_forces(kind.transform(q))).T @ S, np.eye(kind.nv), _EXACT
        ),
    }
    return [f"{kind.name}: {message}" for message, wrong in checks.items() if wrong]


def _as_loop_joint(kind: JointType, random: np.random.Generator) -> list[str]:
    problems = []
    X = _closed(kind, random)
    T, rows = _matrix(kind.constraints(X)), kind.rows
    holonomic = np.array([row.holonomic for row in rows], dtype=bool)
    twist = random.normal(size=6)

    def residual(t: float) -> Array:
        return np.array(kind.residual(_displaced(X, t * twist)), dtype=float)

    open_loop = _displaced(X, random.uniform(-0.5, 0.5, 6))
    rates = _matrix(kind.constraint_rates(open_loop, Motion.of(twist.tolist())))
    checks = {
        "the residual of the closed joint is not zero": _differ(
            residual(0.0), np.zeros(len(rows)), 1e-10
        ),
        "the residual does not change by T^T d": _differ(
            _slope(residual)[holonomic], (T.T @ twist)[holonomic]
        ),
        "a velocity-only row has a position error": bool(residual(0.1)[~holonomic].any()),
        "constraint_rates is not the rate of T": _differ(
            _slope(lambda t: _matrix(kind.constraints(_displaced(open_loop, t * twist)))), rates
        ),
        "T has dependent columns": T.shape != (6, len(rows))
        or int(np.linalg.matrix_rank(T)) != len(rows),
    }
    if kind.carries:
        q = kind.integrate(kind.neutral(), random.uniform(-1.0, 1.0, kind.nv).tolist())
        S, T = _matrix(kind.subspace(q)), _matrix(kind.constraints(kind.transform(q)))
        checks["T^T S is not zero"] = _differ(T.T @ S, np.zeros((len(rows), kind.nv)), _EXACT)
        checks["freedoms and constraints do not make six"] = len(rows) + kind.nv != 6
    problems += [f"{kind.name}: {message}" for message, wrong in checks.items() if wrong]
    return problems


def _closed(kind: JointType, random: np.random.Generator) -> Transform:
    """Return a placement that closes the joint: made of positions, or found by Newton's method."""
    if kind.carries:
        step = random.uniform(-1.0, 1.0, kind.nv).tolist()
        return kind.transform(kind.integrate(kind.neutral(), step))
    X = _displaced(Transform.identity(), random.uniform(-0.5, 0.5, 6))
    for _ in range(50):
        T = _matrix(kind.constraints(X))
        X = _displaced(X, -np.linalg.pinv(T.T) @ np.array(kind.residual(X)))
    return X


def _displaced(X: Transform, twist: Array) -> Transform:
    """Return X after its successor frame has turned and moved by a small twist of its own axes."""
    turned = Rotation.from_quaternion(*turn([0.0, 0.0, 0.0, 1.0], twist[:3].tolist()))
    return Transform(turned.compose(X.E), X.r + X.E.inverse_times(Vector3.of(twist[3:].tolist())))


def _slope(function: Callable[[float], Array]) -> Array:
    return (function(_STEP) - function(-_STEP)) / (2.0 * _STEP)


def _differ(
    one: Sequence[float] | Array, other: Sequence[float] | Array, by: float = _CLOSE
) -> bool:
    a, b = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    if a.shape != b.shape:
        return True
    scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
    # Not `> by`: nan differs from every number.
    return not np.max(np.abs(a - b), initial=0.0) <= by * scale


def _matrix(columns: Sequence[Motion] | Sequence[Force]) -> Array:
    return np.array([c.components() for c in columns], dtype=float).reshape(-1, 6).T


def _transform(X: Transform) -> Array:
    units = np.eye(6).tolist()
    return np.array([(X * Motion.of(unit)).components() for unit in units], dtype=float).T


def _cross(v: Motion) -> Array:
    units = np.eye(6).tolist()
    return np.array([v.cross(Motion.of(unit)).components() for unit in units], dtype=float).T
