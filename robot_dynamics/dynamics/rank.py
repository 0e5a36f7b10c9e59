# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rank of the loop constraints, the independent constraints, and their accuracy.

With rows and columns of rotations scaled by a length of the mechanism (see `scaling`), K becomes a
matrix J of ratios of distances. The closure error limits the accuracy of its entries: if loops are
open by a part e of that length, the directions of the constraints are off by a few times e. A
singular value below that uncertainty is zero. This is the only definition of rank in the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.scaling import (
    closing_tolerance,
    constraint_names,
    constraint_scales,
    coordinate_scales,
    model_length,
    model_reach,
)
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import Model

#: For linkages whose weakest constraint is above 0.02, a gap of e lengths turns singular values
#: that should be zero into 4 e at most. A gap displaces coordinates by the gap over the weakest
#: constraint, so that weaker ones may need more.
MARGIN = 100.0
#: Constraints with more than a hundredth of the others' strength never count as redundant, for any
#: closure error.
LARGEST_TOLERANCE = 1e-2
#: Results at a closure error above this share of the length do not apply to the closed mechanism:
#: it can simulate constraints of nearly the largest tolerance.
LARGEST_OPENING = 1e-3


@dataclass(frozen=True)
class ConstraintRank:
    """The constraint Jacobian as ratios of distances, and its rank.

    J = diag(row_scales) K diag(1 / column_scales) = U diag(s) V^T to within the tolerance.

    Attributes:
        rank: Number of independent constraints, r.
        names: A name for each constraint, as "loop.direction" (n^c,).
        row_scales: Scales that convert rows to displacements (n^c,) [m/rad, 1].
        column_scales: Scales that convert coordinates to displacements (nv,) [m/rad, 1].
        U: Orthonormal columns (n^c, r): independent combinations of the constraints.
        s: Their strengths (r,), descending.
        V: Orthonormal columns (nv, r): scaled velocities that they block.
        motions: Orthonormal columns (nv, nv - r): free scaled velocities.
        idle: Orthonormal columns (n^c, n^c - r): combinations of multipliers without effect.
        closure_error: Largest closure error of the loops [m], rotations at `length`.
        tolerance: The singular value that counts as zero, from closure error, rounding and length.
        length: The length [m] that makes rotations and displacements comparable.
    """

    rank: int
    names: tuple[str, ...]
    row_scales: Array
    column_scales: Array
    U: Array
    s: Array
    V: Array
    motions: Array
    idle: Array
    closure_error: float
    tolerance: float
    length: float

    @property
    def smallest(self) -> float | None:
        """Smallest singular value that does not count as zero; None without constraints."""
        return float(self.s[-1]) if self.rank else None

    @property
    def doubt(self) -> float:
        """Error bound of `motions` and `idle`.

        They are less accurate than constraints if the weakest constraint is weak.
        """
        return self.tolerance / min(self.smallest or 1.0, 1.0)

    @property
    def rows(self) -> Array:
        """The coordinates in V of each row of J (n^c, r): J without its noise."""
        return self.U * self.s

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Mask of constraints whose multipliers the motion determines (n^c,)."""
        result: NDArray[np.bool_] = np.linalg.norm(self.idle, axis=1) <= min(self.doubt, 0.5)
        return result

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Names of the constraints whose multipliers can be traded against one another."""
        known = self.determined
        return tuple(name for i, name in enumerate(self.names) if not known[i])

    @property
    def redundant(self) -> tuple[str, ...]:
        """Names of constraints that the others imply; if there is a choice, later ones."""
        kept = self.independent_rows()
        return tuple(name for i, name in enumerate(self.names) if i not in kept)

    def independent_rows(self) -> frozenset[int]:
        """Return as many rows as the rank that imply the others; earlier rows first."""
        if self.rank == 0:
            return frozenset()
        rows = self.rows
        least = max(self.tolerance, 1e-3 * float(self.s[-1]))
        basis: list[Array] = []
        chosen: list[int] = []
        for i, row in enumerate(rows):
            rest = without(row, basis)
            size = float(np.linalg.norm(rest))
            if size > least and len(chosen) < self.rank:
                basis.append(rest / size)
                chosen.append(i)
        while len(chosen) < self.rank:  # rows that are weak one by one and strong together
            sizes = [float(np.linalg.norm(without(row, basis))) for row in rows]
            best = int(np.argmax(sizes))
            rest = without(rows[best], basis)
            basis.append(rest / np.linalg.norm(rest))
            chosen.append(best)
        return frozenset(chosen)


def constraint_rank(
    model: Model,
    K: Array,
    error: Array | None = None,
    q: Array | None = None,
    *,
    length: float | None = None,
    rank: int | None = None,
) -> ConstraintRank:
    """Return the rank of the constraints, with its bases.

    Args:
        model: The mechanism.
        K: Constraint Jacobian (n^c, nv).
        error: Position error (n^c,) of the loops [rad, m]; zero by default.
        q: Positions (nq,), which affect rounding if joints slide far.
        length: Length [m] at which a rotation counts like a displacement; that of a typical link
            by default.
        rank: Rank at a nearby state with a smaller closure error, if known; an upper bound.

    Raises:
        RobotDynamicsError: If a number is not finite.
    """
    K = np.asarray(K, dtype=float)
    if not np.all(np.isfinite(K)):
        raise RobotDynamicsError("K has entries that are not finite; expected numbers.")
    K = K.reshape(model.constraint_count, model.nv)  # without constraints as well
    length = model_length(model) if length is None else length
    rows, columns = constraint_scales(model, length), coordinate_scales(model, length)
    J = rows[:, None] * K / columns
    gap = opening(model, error, length) if error is not None else 0.0
    if J.size:
        U, s, Vt = np.linalg.svd(J)
    else:
        U, s, Vt = np.eye(len(K)), np.zeros(0), np.eye(model.nv)
    tolerance = rank_tolerance(model, gap, float(np.max(s, initial=0.0)), length, q)
    found = int(np.sum(s > tolerance))
    r = found if rank is None else min(rank, found)
    return ConstraintRank(
        r, constraint_names(model), rows, columns, U[:, :r], s[:r], Vt[:r].T, Vt[r:].T, U[:, r:],
        gap, tolerance, length,
    )  # fmt: skip


def rank_tolerance(
    model: Model, gap: float, strongest: float, length: float, q: Array | None = None
) -> float:
    """Return the singular value of J at which a constraint counts as implied by the others.

    Args:
        model: The mechanism.
        gap: Closure error of the loops [m], rotations at `length`.
        strongest: The largest singular value of J.
        length: Length [m] at which a rotation counts like a displacement.
        q: Positions (nq,) of joints that may slide far.
    """
    far = 0.0 if q is None else _slid(model, q, length)
    # Entries of J are sums of distances up to the reach, even if they cancel.
    rounding = np.finfo(float).eps * model.nv * max((model_reach(model) + far) / length, strongest)
    # Rounded frames tilt axes by as much at every closed configuration.
    tilt = closing_tolerance(model) if model.precision else 0.0
    open_by = min(max(MARGIN * gap / length, tilt), LARGEST_TOLERANCE)
    return float(open_by + MARGIN * rounding)


def _slid(model: Model, q: Array, length: float) -> float:
    """Return the largest displacement by a joint [m], rotations at `length`."""
    columns, largest = coordinate_scales(model, length), 0.0
    for at_q, at_v in zip(model.q_slices, model.v_slices, strict=True):
        # Quaternions are of unit length: larger entries beside them are translations.
        scale = columns[at_v] if at_q.stop - at_q.start == len(columns[at_v]) else 1.0
        largest = max(largest, float(np.max(np.abs(q[at_q] * scale), initial=0.0)))
    return largest


def opening(model: Model, error: Array, length: float) -> float:
    """Return the largest closure error [m], rotations at `length`; rows on velocities aside."""
    scaled = constraint_scales(model, length) * error * model.holonomic
    return float(np.max(np.abs(scaled), initial=0.0))


def without(row: Array, basis: Sequence[Array]) -> Array:
    """Return a row without its parts along an orthonormal basis."""
    rest = row.copy()
    for b in (*basis, *basis):  # twice: rounding of the first pass is taken out as well
        rest -= b * (b @ rest)
    return rest
