# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Accuracy of a solution that assumes independent constraints, as one number.

Traced code never branches on values, so it solves as if K had full rank and returns a measure of
the rank. The pivots of K H^-1 K^T show rows that depend on one another. They do not show a row
that is almost zero, for example because the frames of a planar loop were rounded: as a constraint
it would lock the loop. Therefore rows are also compared with the distances of the mechanism, and
both with the closure error, as in `rank`. A loop through a free body has no such row and needs no
such test.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.dynamics.loops import LoopTerms
from robot_dynamics.dynamics.rank import LARGEST_TOLERANCE, MARGIN
from robot_dynamics.dynamics.scaling import constraint_scales, coordinate_scales, tree_length
from robot_dynamics.model import LoopJoint, Model
from robot_dynamics.model.joints import motions
from robot_dynamics.scalar.functions import maximum, minimum
from robot_dynamics.scalar.linear_algebra import dot, is_zero
from robot_dynamics.spatial import Motion, Scalar, Vector3

#: Relative error of accelerations, for well-conditioned inertia, up to which the full-rank
#: solution is used.
ACCURACY = 1e-9
#: Below this the full-rank solution is not used: K H^-1 K^T is known to the precision of numbers,
#: so that a pivot p leaves a relative error of about precision / p.
SMALLEST_PIVOT = float(np.finfo(float).eps) / ACCURACY
# For a mechanism at rest without forces, residual and accelerations are zero: 0 / 0 must be 1.
_TINY = 1e-60
# Largest violation of omitted rows, as a share of the accelerations, for any closure error: beyond
# it the choice of rows would matter.
_LARGEST_RESIDUAL = 1e-4


def full_rank_pivot(
    model: Model, terms: LoopTerms, pivot: Scalar, rows: Sequence[int] | None = None
) -> Scalar:
    """Return a measure of full rank: 1 at best, below `SMALLEST_PIVOT` if it is in doubt.

    It is the smallest of the relative pivots and of the squared sizes of the rows as ratios of
    distances. A closure error lowers it so that it reaches `SMALLEST_PIVOT` when it would
    otherwise reach the square of the tolerance of `rank` for that error.

    Args:
        model: The mechanism.
        terms: Its constraints.
        pivot: The smallest relative pivot of K H^-1 K^T.
        rows: The constraints that the solution uses; all by default.
    """
    length = tree_length(model)
    scales = constraint_scales(model, length).tolist()
    columns = coordinate_scales(model, length).tolist()
    strong = strong_rows(model)
    for at in range(len(scales)) if rows is None else rows:
        if at in strong:
            continue
        pairs = zip(terms.K[at], columns, strict=True)
        ratios = [x * (scales[at] / c) for x, c in pairs if not is_zero(x)]
        # Rows that are zero by structure are not part of the solution; rows with an entry of one
        # have full strength.
        if ratios and not any(isinstance(x, float) and abs(x) >= 1.0 for x in ratios):
            pivot = minimum(pivot, dot(ratios, ratios))
    return pivot / (1.0 + _squared_opening(model, terms) * (1.0 / SMALLEST_PIVOT))


def inertia_pivot(model: Model, pivot: Scalar) -> Scalar:
    """Return the smallest relative pivot of H, or 1.0 if every body has inertia.

    If every body has inertia in all directions, every motion has inertia: H is then not checked,
    and programs are not longer.

    Args:
        model: The mechanism.
        pivot: The smallest relative pivot of H.
    """
    length = tree_length(model)
    mass = sum(float(body.inertia.components()[0]) for body in model.bodies)
    scale = np.sqrt(mass * np.array([length**2] * 3 + [1.0] * 3))
    for body in model.bodies:
        columns = [(body.inertia * Motion.of(unit)).components() for unit in np.eye(6).tolist()]
        own = np.array(columns, dtype=float)
        # Relative to the largest load of a joint: a pivot cannot fall below its own inertia.
        if mass <= 0.0 or np.linalg.eigvalsh(own / np.outer(scale, scale))[0] <= SMALLEST_PIVOT:
            return pivot
    return 1.0


def margin_of_others(
    model: Model,
    terms: LoopTerms,
    rows: Sequence[int],
    qdd: Sequence[Scalar],
    pivot: Scalar = 1.0,
) -> Scalar:
    """Return `SMALLEST_PIVOT` times the squared margin of the omitted rows.

    The acceleration that satisfies all constraints, with forces by some of them, is the solution.
    The violation of omitted rows, as a share of the accelerations as displacements, may be
    rounding, as the used rows show it, or the tolerance of `rank` at this closure error. It may
    not be more: a row that is almost zero is hardly violated, and still blocks a motion.

    Args:
        model: The mechanism.
        terms: Its constraints.
        rows: Rows that the solution uses.
        qdd: Accelerations (nv,).
        pivot: Smallest relative pivot of these rows; its root divides rounding.
    """
    length = tree_length(model)
    scales = constraint_scales(model, length).tolist()
    columns = coordinate_scales(model, length).tolist()
    largest: Scalar = 0.0
    noise: Scalar = 0.0
    for i, (row, k) in enumerate(zip(terms.K, terms.k, strict=True)):
        if is_zero(k) and all(is_zero(x) for x in row):
            continue
        residual = scales[i] * (dot(row, qdd) - k)
        if i in rows:
            noise = maximum(noise, residual * residual)
        else:
            largest = maximum(largest, residual * residual)
    if is_zero(largest):
        return 1.0
    moved = [scale * x for scale, x in zip(columns, qdd, strict=True)]
    drifts = [scale * k for scale, k in zip(scales, terms.k, strict=True)]
    size = dot(moved, moved) + dot(drifts, drifts)
    doubt = minimum(_squared_opening(model, terms), _LARGEST_RESIDUAL**2)
    rounding = MARGIN * float(np.finfo(float).eps) * model.nv
    allowed = (rounding**2 * size + MARGIN**2 * noise) / pivot + doubt * size
    return (allowed + 2.0 * _TINY) / (largest + _TINY) * SMALLEST_PIVOT


def strong_rows(model: Model) -> frozenset[int]:
    """Return rows of size one or more at every configuration, as one joint of their loop shows.

    A unit force meets the translations of a joint that moves along all three axes with the size
    of one, however the joint is turned, and so does a unit moment with the rotations of a joint
    that turns about all three.
    """
    found: list[int] = []
    start = 0
    for loop in model.loops:
        turns, moves = _free_directions(model, loop)
        forces = getattr(loop.type, "constraint_subspace", (None,) * len(loop.type.rows))
        for at, (row, force) in enumerate(zip(loop.type.rows, forces, strict=True), start):
            if force is None:  # it depends on the placement
                continue
            if row.rotational:
                free, part = turns and force.linear == Vector3.zero(), force.angular
            else:
                free, part = moves, force.linear
            if free and part.dot(part) >= 1.0:
                found.append(at)
        start += len(loop.type.rows)
    return frozenset(found)


def _free_directions(model: Model, loop: LoopJoint) -> tuple[bool, bool]:
    """Return whether one joint in a loop turns about all axes, and whether one moves along all."""
    in_loop = set(model.support(loop.predecessor)) ^ set(model.support(loop.successor))
    kinds = [model.bodies[body].joint.type for body in in_loop]
    plain = [set(kind.subspace(kind.neutral())) for kind in kinds if not kind.varying]
    turns, moves = set(motions(1, 2, 3)), set(motions(4, 5, 6))
    return any(turns <= S for S in plain), any(moves <= S for S in plain)


def _squared_opening(model: Model, terms: LoopTerms) -> Scalar:
    """Return the square of the tolerance of `rank` for the closure error."""
    length = tree_length(model)
    gaps = [
        x * (scale / length)
        for x, scale, on_positions in zip(
            terms.position_error,
            constraint_scales(model, length).tolist(),
            model.holonomic.tolist(),
            strict=True,
        )
        if on_positions
    ]
    return minimum(dot(gaps, gaps) * MARGIN**2, LARGEST_TOLERANCE**2)
