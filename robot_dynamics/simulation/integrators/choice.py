# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Choice of independent constraints, and of dependent coordinates, for compiled steps.

The factorization of K H^-1 K^T needs independent rows of K; a planar loop closed by a revolute
joint has two among five. The choice is made at one configuration. Steps check that constraints
that are left out stay closed, and that pivots do not become small.

Each choice is compiled, so it is kept as long as the checks hold. `dynamics/coordinate_choice.py`
chooses state by state, for G and g, by accuracy alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.assembly import AssemblyError
from robot_dynamics.dynamics.independent import pivots
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.dynamics.scaling import coordinate_scales
from robot_dynamics.model.joints.base import JointType
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators.trajectory import Trouble

# Distance [rad, or lengths] of configurations where rows are chosen if the start is singular.
_NEARBY = 0.05
_LOOKS = 4  # such configurations
#: Smallest singular value of constraints that determine the motion, as a part of the largest.
WEAK = 1e-5
# Joints with quaternions are independent as a whole if the smallest singular value of the rest is
# at least this part of that of all columns.
_STILL_ACTING = 1e-2


@dataclass(frozen=True)
class Choice:
    """Independent constraints, and coordinates that they determine.

    Attributes:
        rows: Indices of independent rows of K, ascending.
        dependent: Indices of as many velocities that follow from the others, ascending.
    """

    rows: tuple[int, ...]
    dependent: tuple[int, ...]


def choose(robot: Robot, q: Array, length: float) -> Choice:
    """Return the choice of complete pivoting at positions `q` (nq,) with closed loops (8.51).

    A quaternion cannot be split into independent and dependent coordinates: joints with one are
    independent as a whole wherever that is possible. `length` [m] scales rotations.
    """
    model = robot.model
    K, error = robot.closure(q)
    ranked = constraint_rank(model, K, error, q, length=length)
    kept: list[int] = []
    for body, at in zip(model.bodies, model.v_slices, strict=True):
        if type(body.joint.type).integrate is not JointType.integrate:
            wanted = [*kept, *range(at.start, at.stop)]
            left = np.delete(ranked.rows @ ranked.V.T, wanted, axis=1)
            acting = np.linalg.svd(left, compute_uv=False)[: ranked.rank]
            least = _STILL_ACTING * (ranked.smallest or 0.0)
            kept = wanted if len(acting) == ranked.rank and np.all(acting > least) else kept
    chosen = pivots(model, ranked, kept)
    rows, columns = (tuple(sorted(int(pair[i]) for pair in chosen)) for i in (0, 1))
    return Choice(rows, columns)


def require_regular_start(robot: Robot, method: str, time: float, q: Array, length: float) -> None:
    """Check that a start at positions q (nq,) is not singular.

    Raises:
        Trouble: If the rank of K is smaller there than nearby.
    """
    if len(choose(robot, q, length).rows) < len(first_choice(robot, q, length)[0].rows):
        raise Trouble(
            time,
            f"the start is a singular configuration, from which {method!r} cannot start",
            'a start beside it, or "projection"',
        )


def first_choice(robot: Robot, q: Array, length: float) -> tuple[Choice, Array]:
    """Return the first choice, and the positions (nq,) at which it was made.

    These are `q`, or positions nearby if `q` is singular: there the margin, to which later ones
    are compared, would be a rounding error.
    """
    found, place = choose(robot, q, length), q
    best = (len(found.rows), _weakest(robot, q, length))
    rng, model = np.random.default_rng(0), robot.model
    scales = length / coordinate_scales(model, length)
    doubtful = model.constraint_count > len(found.rows) or best[1] < WEAK
    for _ in range(_LOOKS if doubtful else 0):
        step = _NEARBY * scales * rng.normal(size=model.nv)
        moved = np.array(model.integrate(q.tolist(), step.tolist()), dtype=float)
        try:
            near = robot.assemble(moved, limits=False, restarts=0, length=length).q
        except AssemblyError:
            continue
        other = choose(robot, near, length)
        acting = (len(other.rows), _weakest(robot, near, length))
        if acting[0] > best[0] or (acting[0] == best[0] and best[1] < WEAK < acting[1]):
            found, place, best = other, near, acting
    return found, place


def _weakest(robot: Robot, q: Array, length: float) -> float:
    """Return the smallest singular value of the independent constraints over the largest."""
    K, error = robot.closure(q)
    ranked = constraint_rank(robot.model, K, error, q, length=length)
    return float(ranked.s[-1] / ranked.s[0]) if ranked.rank else 1.0
