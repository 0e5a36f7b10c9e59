# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The linear complementarity problem of frictionless contact (11.42), by Lemke's method.

    w = M z + d,   w >= 0,   z >= 0,   w . z = 0.

For a positive semidefinite M, as T^T H^-1 T is, the method ends with a solution or proves that
there is none. The solution is basic: the columns of M that it uses are independent. Ties are
broken lexicographically, so that it ends whatever contacts depend on one another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.dynamics.quadratic_program import minimum_within
from robot_dynamics.errors import RobotDynamicsError

Array = NDArray[np.float64]

# Of numbers that are scaled to about one: what is less is rounding.
_ZERO = 1e-11
# Columns that depend on one another leave a d that no column reaches, of this size at most.
_CONTRADICTION = 1e-10
_ASTRAY = 1e-7  # error of a solution whose numbers are about one
_PIVOTS = 50  # for each unknown; a handful of them is usual


def linear_complementarity(M: Array, d: Array) -> Array | None:
    """Return z (m,), or None if there is no solution.

    Args:
        M: Symmetric, positive semidefinite (m, m), its diagonal positive.
        d: (m,).

    Raises:
        RobotDynamicsError: If it does not end, or rounding led it and DAQP astray.
    """
    scale = 1.0 / np.sqrt(np.diagonal(M))
    A, b = scale[:, None] * M * scale, scale * d
    size = float(np.abs(b).max(initial=0.0))
    if size == 0.0 or b.min() >= 0.0:
        return np.zeros(len(d))
    for shift in (0.0, _CONTRADICTION):
        # Opposed normals contradict each other by rounding: a second try allows for so much.
        z = _lemke(A, b / size + shift)
        if z is not None and _astray(A @ z + b / size, z):
            # Rounding, where many contacts depend on one another: the quadratic program (11.43).
            found = minimum_within(
                A, b / size, np.eye(len(d)), np.zeros(len(d)), np.full(len(d), np.inf)
            )
            z = None if found is None else np.maximum(found.x, 0.0)
        if z is not None:
            return scale * z * size
    return None


def copositive_complementarity(M: Array, d: Array) -> Array | None:
    """Return z (m,) of any copositive M (m, m), as friction with pyramids has; None on a ray.

    Raises:
        RobotDynamicsError: If it does not end, or rounding led it astray, as it may where many
            contacts depend on one another.
    """
    size = float(np.abs(M).max(initial=0.0)) or 1.0
    large = float(np.abs(d).max(initial=0.0)) or 1.0
    z = _lemke(M / size, d / large)
    if z is None:
        return None
    if _astray(M / size @ z + d / large, z):
        raise RobotDynamicsError(
            f"the complementarity problem of {len(d)} unknowns lost its digits; expected contacts "
            "that depend less on one another."
        )
    return z * (large / size)


def _astray(w: Array, z: Array) -> bool:
    """Return whether numbers of about one are no solution."""
    least = np.minimum(w, z)
    return bool(least.min() < -_ASTRAY or least.max() > _ASTRAY * max(1.0, z.max()))


def _lemke(M: Array, q: Array) -> Array | None:
    """Return the solution, or None on a ray."""
    m = len(q)
    if q.min() >= 0.0:
        return np.zeros(m)
    # Columns: w, z, the artificial z0, and the right-hand side; rows are solved for the basis.
    table = np.hstack([np.eye(m), -M, -np.ones((m, 1)), q[:, None]])
    basis = np.arange(m)
    row, entering = int(np.argmin(q)), 2 * m
    for _ in range(_PIVOTS * m + 1):
        table[row] /= table[row, entering]
        for i in range(m):
            if i != row:
                table[i] -= table[i, entering] * table[row]
        leaving, basis[row] = int(basis[row]), entering
        if leaving == 2 * m:
            z = np.zeros(3 * m + 1)
            z[basis] = table[:, -1]
            return np.maximum(z[m : 2 * m], 0.0)
        entering = leaving + m if leaving < m else leaving - m
        column = table[:, entering]
        rows = np.flatnonzero(column > _ZERO)
        if not len(rows):
            return None
        row = _first(table, rows, column, basis, 2 * m)
    raise RobotDynamicsError(f"the complementarity problem of {m} contacts did not end.")


def _first(
    table: Array, rows: NDArray[np.intp], column: Array, basis: NDArray[np.intp], artificial: int
) -> int:
    """Return the row that reaches zero first, of those that tie the lexicographically least."""
    m = table.shape[0]
    ratios = table[rows, -1] / column[rows]
    tied = rows[ratios <= ratios.min() + _ZERO]
    for i in tied:
        if basis[i] == artificial:
            return int(i)
    keys = table[tied, :m] / column[tied, None]
    return int(tied[np.lexsort(keys.T[::-1])[0]])
