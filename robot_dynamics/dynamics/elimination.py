# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop forward dynamics, independent accelerations first (section 8.5, method 3), traced.

Pivots are chosen before tracing, in NumPy; traced code never branches on values. Coordinates that
are determined together, such as those of a loop or of a leg of a platform, are a block. Up to six
are solved by reflections, which have no zero divisor at a regular state. A larger block is
eliminated along the pivots, in an order that keeps zeros: it can have a small pivot at a regular
state, which is then refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.closed_loop import ClosedLoopTerms, closed_loop_terms
from robot_dynamics.dynamics.full_rank import margin_of_others
from robot_dynamics.dynamics.independent import independent_coordinates
from robot_dynamics.dynamics.rank import ConstraintRank, constraint_rank
from robot_dynamics.dynamics.scaling import coordinate_scales, tree_length
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import Parameters, block_size
from robot_dynamics.scalar.functions import maximum, minimum, sqrt
from robot_dynamics.scalar.linear_algebra import dot, factor, is_zero, times
from robot_dynamics.scalar.square_systems import SMALL, InOrder, Reflected, sign
from robot_dynamics.spatial import Scalar

# Factor by which pivots may be smaller than the largest of their row, and of the remaining matrix,
# if they keep zeros.
_OF_ROW, _OF_ALL = 0.1, 0.01
_AS_LARGE = 1.0 - 1e-6
# Entries of J below this are zero: entries are ratios of distances, with fifteen digits.
_ZERO = 1e-12


class Pivot(NamedTuple):
    """A coordinate that a constraint determines.

    Attributes:
        row: The constraint.
        column: The coordinate.
        size: Size of the row, coordinates as turns, at the state where the order of elimination
            was chosen, with the sign of the pivot there.
    """

    row: int
    column: int
    size: float


Pivots = tuple[Pivot, ...]


def order_of(pivots: Pivots) -> tuple[tuple[int, int], ...]:
    """Return row and column of each pivot, on which traced code depends."""
    return tuple((row, column) for row, column, _ in pivots)


def squares_of(pivots: Pivots) -> tuple[float, ...]:
    """Return squares of their sizes, which traced code may take as parameters."""
    return tuple(size * size for *_, size in pivots)


@dataclass(frozen=True)
class Eliminated:
    """G and g as scalars.

    Attributes:
        independent: Indices of the independent coordinates, ascending.
        columns: The columns of G (nv - r of length nv).
        g: Accelerations (nv,) at zero independent ones.
        pivot: Smallest pivot, from 0 to 1: component of a row perpendicular to earlier rows of its
            block, over the size of the row, or over its size when the order was chosen if that was
            larger. It therefore also detects a row that vanishes as a whole, as at the dead point
            of a parallelogram.
        signed: The same, with the sign of each block's determinant relative to the state where the
            order was made: negative beyond a dead point.
    """

    independent: tuple[int, ...]
    columns: list[list[Scalar]]
    g: list[Scalar]
    pivot: Scalar
    signed: Scalar


def elimination_order(
    model: Model, K: Array, error: Array, q: Array, coordinates: Sequence[str] | None = None
) -> Pivots:
    """Return the pivots of the dependent coordinates at a configuration, in order.

    Args:
        model: The mechanism.
        K: Constraint Jacobian (n^c, nv).
        error: Position error (n^c,) [rad, m].
        q: Positions (nq,) with all loops closed.
        coordinates: Joints or coordinates to take as independent; chosen by default.

    Raises:
        UnknownNameError: If there is neither a joint nor a coordinate of a name.
        RobotDynamicsError: If the coordinates do not determine the motion.
    """
    ranked = constraint_rank(model, K, error, q)
    signs = _sparse_pivots(model, ranked, independent_coordinates(model, ranked, coordinates))
    sizes = np.linalg.norm(K * _turns(model), axis=1)
    return tuple(
        Pivot(row, column, math.copysign(float(sizes[row]), sign))
        for (row, column), sign in signs.items()
    )


def _turns(model: Model) -> Array:
    """Return factors (nv,) that convert columns of K to turns, at the model's length."""
    length = tree_length(model)
    return np.asarray(length / coordinate_scales(model, length))


def _sparse_pivots(
    model: Model, ranked: ConstraintRank, independent: Sequence[int]
) -> dict[tuple[int, int], float]:
    """Return rows and columns of K in an order of elimination that keeps zeros, and the pivots.

    Each pivot has the least possible fill-in among the pivots that are not small (Markowitz).

    Args:
        model: The mechanism.
        ranked: The rank of K at a typical state.
        independent: Coordinates without pivots, n - r of them.
    """
    J = ranked.rows @ ranked.V.T
    filled = np.abs(J) > _ZERO
    rows = list(range(len(J)))
    columns = [i for i in range(model.nv) if i not in independent]
    result = {}
    for _ in range(ranked.rank):
        part = np.ix_(rows, columns)
        size = np.abs(J[part])
        along, across = filled[rows].sum(axis=1) - 1, filled[part].sum(axis=0) - 1
        cost = np.outer(along, across).astype(float)
        cost[size < _OF_ROW * size.max(axis=1, keepdims=True)] = np.inf
        cost[(size < _OF_ALL * size.max()) | ~filled[part]] = np.inf
        least = np.where(cost == cost.min(), size, 0.0)
        # The first of equally large ones, so that rounding does not change the order.
        i, j = np.unravel_index(np.argmax(least >= _AS_LARGE * least.max()), least.shape)
        row, column = rows.pop(i), columns.pop(j)
        result[row, column] = float(J[row, column])
        for other in rows:
            if filled[other, column]:
                J[other] = J[other] - J[other, column] / J[row, column] * J[row]
                filled[other] |= filled[row]
                J[other, column], filled[other, column] = 0.0, False
    return result


def eliminate(
    model: Model,
    K: Sequence[Sequence[Scalar]],
    k: Sequence[Scalar],
    pivots: Pivots,
    squares: Sequence[Scalar] | None = None,
) -> Eliminated:
    """Return G and g by elimination along given pivots (8.51).

    Blocks of coordinates are solved one after the other: small ones by reflections, which need no
    order, large ones along the pivots.

    Args:
        model: The mechanism.
        K: Constraint Jacobian (n^c, nv).
        k: Right-hand side (n^c,).
        pivots: From `elimination_order`; other rows are not used.
        squares: Squares of their sizes, if they must not be part of traced code; signs are.
    """
    units = _turns(model).tolist()
    if squares is None:
        squares = squares_of(pivots)
    dependent = [column for _, column, _ in pivots]
    independent = tuple(j for j in range(model.nv) if j not in dependent)
    columns = [[1.0 if i == j else 0.0 for i in range(model.nv)] for j in independent]
    g: list[Scalar] = [0.0] * model.nv
    squared: Scalar = 1.0
    signed: Scalar = 1.0
    for block in _blocks([[K[row][column] for column in dependent] for row, *_ in pivots]):
        rows, at = [pivots[i].row for i in block], [dependent[i] for i in block]
        turns = [[_times(x, u) for x, u in zip(K[row], units, strict=True)] for row in rows]
        A = [[row[j] for j in at] for row in turns]
        factors = Reflected(A) if len(block) <= SMALL else InOrder(A)
        solved = factors.solve_all(
            [
                *([-dot(K[row], motion) for row in rows] for motion in columns),
                [k[row] - dot(K[row], g) for row in rows],
            ]
        )
        for motion, values in zip([*columns, g], solved, strict=True):
            for j, value in zip(at, values, strict=True):
                motion[j] = _times(value, units[j])
        least = _least(turns, [squares[i] for i in block], factors)
        squared = minimum(squared, least)
        side = math.prod(math.copysign(1.0, pivots[i].size) for i in block)
        for pivot in factors.diagonal:
            side = side * sign(pivot)
        signed = minimum(signed, (-side if factors.turned else side) * sqrt(least))
    return Eliminated(independent, columns, g, sqrt(squared), signed)


def _times(value: Scalar, unit: float) -> Scalar:
    return value if is_zero(value) or unit == 1.0 else value * unit


def _blocks(A: Sequence[Sequence[Scalar]]) -> list[list[int]]:
    """Return the blocks of rows and columns, each after the blocks that it needs."""
    n = len(A)
    entries = [[i == j or not is_zero(A[i][j]) for j in range(n)] for i in range(n)]
    needs = np.array(entries, dtype=bool).reshape(n, n)
    for i in range(n):
        needs |= np.outer(needs[:, i], needs[i])
    blocks = {tuple(np.flatnonzero(row).tolist()) for row in needs & needs.T}
    # A coordinate that needs another one also needs everything that one needs.
    return [list(x) for x in sorted(blocks, key=lambda x: (int(needs[x[0]].sum()), x))]


def _least(
    rows: Sequence[Sequence[Scalar]], squares: Sequence[Scalar], factors: Reflected | InOrder
) -> Scalar:
    """Return the square of a block's smallest pivot over its row's size.

    Args:
        rows: Rows of the block, coordinates as turns (m, nv).
        squares: Squares of their sizes when the order of elimination was made.
        factors: Factors of the block.
    """
    return reduce(
        minimum,
        [
            pivot / maximum(dot(row, row), before)
            for row, pivot, before in zip(rows, factors.squares, squares, strict=True)
        ],
    )


def independent_forward_dynamics(
    model: Model,
    terms: ClosedLoopTerms,
    tau: Sequence[Scalar],
    pivots: Pivots,
    squares: Sequence[Scalar] | None = None,
) -> tuple[list[Scalar], Scalar]:
    """Return accelerations (nv,) and the smallest pivot, loops closed (8.45, 8.46).

    The pivot is below `SMALLEST_PIVOT` if the coordinates do not determine the motion, or
    constraints without a pivot are violated by more than the closure error explains.

    Args:
        model: The mechanism.
        terms: Its equation of motion.
        tau: Joint forces (nv,), with friction already subtracted.
        pivots: Row and column of each pivot.
        squares: Squares of their sizes, if they must not be part of traced code.
    """
    n = model.nv
    form = eliminate(model, terms.loops.K, terms.loops.k, pivots, squares)
    H = [[terms.H[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    moved = [times(H, column) for column in form.columns]  # H G
    reduced = [
        [dot(column, moved[j]) for j in range(i + 1)] for i, column in enumerate(form.columns)
    ]
    force = [t - c - h for t, c, h in zip(tau, terms.C, times(H, form.g), strict=True)]
    factors = factor(reduced)
    ydd = factors.solve(times(form.columns, force))  # Eq 8.45
    qdd = [dot([column[i] for column in form.columns], ydd) + form.g[i] for i in range(n)]
    pivot = minimum(form.pivot, factors.smallest_pivot)
    rows = [row for row, *_ in pivots]
    others = margin_of_others(model, terms.loops, rows, qdd, form.pivot * form.pivot)
    pivot = minimum(pivot, others)
    # A pivot is 1 at most: this only propagates NaN.
    return qdd, minimum(pivot, 1.0 + dot(qdd, qdd))


def fixed_independent_dynamics(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    parameters: Parameters,
    pivots: Pivots,
) -> list[Scalar]:
    """Return `independent_forward_dynamics` at a state: qdd and the smallest pivot in one list."""
    terms = closed_loop_terms(model, q, qd, parameters)
    squares = parameters.block[block_size(model) :]
    qdd, pivot = independent_forward_dynamics(model, terms, tau, pivots, squares)
    return [*qdd, pivot]


#: Option: the pivots; squares of their sizes are further parameters.
INDEPENDENT_DYNAMICS = Algorithm(
    "independent_dynamics", fixed_independent_dynamics, "q, qd, tau -> qdd_and_pivot (nv + 1)"
)
