# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The linear complementarity problem of frictionless contact (11.42), by Lemke's method.

    w = M z + d,   w >= 0,   z >= 0,   w . z = 0.

For a positive semidefinite M, such as T^T H^-1 T, the method ends with a solution or proves that
there is none. The solution is basic: the columns of M with z > 0 are independent. Ties are broken
lexicographically, which excludes cycles where contacts are redundant. `force_qp` solves the same
problem as a quadratic program (11.43).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.quadratic_program import minimum_within
from robot_dynamics.errors import RobotDynamicsError

# Problems are scaled to a unit diagonal of M and a largest |d| of one.
_ZERO = 1e-11  # pivots below this are rounding errors
# Rounding error of d outside the range of a singular M, which does not count as a contradiction.
_CONTRADICTION = 1e-10
_ASTRAY = 1e-7  # largest error of a solution
_PIVOTS = 50  # most pivots per unknown; about one is usual


def linear_complementarity(M: Array, d: Array) -> Array | None:
    """Return z (m,), or None if there is no solution.

    It uses Lemke's method, and DAQP if rounding errors make its solution wrong, which can happen
    with many redundant contacts.

    Args:
        M: Symmetric, positive semidefinite (m, m), its diagonal positive.
        d: (m,).

    Raises:
        RobotDynamicsError: If Lemke's method does not end, or DAQP gives up.
    """
    scale = 1.0 / np.sqrt(np.diagonal(M))
    A, b = scale[:, None] * M * scale, scale * d
    size = float(np.abs(b).max(initial=0.0))
    if size == 0.0 or b.min() >= 0.0:
        return np.zeros(len(d))
    for shift in (0.0, _CONTRADICTION):
        # Opposed normals can contradict each other by rounding errors; the second shift allows for
        # them.
        z = _lemke(A, b / size + shift)
        if z is None:
            continue
        found = force_qp(M, d) if _astray(A @ z + b / size, z) else scale * z * size
        if found is not None:
            return found
    return None


def force_qp(M: Array, d: Array) -> Array | None:
    """Return the minimum z (m,) of z . M z / 2 + z . d for z >= 0 (11.43), by DAQP.

    It solves the complementarity problem of M and d.

    Args:
        M: Symmetric, positive semidefinite (m, m), its diagonal positive.
        d: (m,).

    Returns:
        z, or None if the problem has no solution.

    Raises:
        RobotDynamicsError: If there is no solver, or it gave up.
    """
    scale = 1.0 / np.sqrt(np.diagonal(M))
    size = float(np.abs(scale * d).max(initial=0.0)) or 1.0
    found = minimum_within(
        scale[:, None] * M * scale, scale * d / size, np.eye(len(d)), np.zeros(len(d)),
        np.full(len(d), np.inf),
    )  # fmt: skip
    return None if found is None else scale * np.maximum(found.x, 0.0) * size


def copositive_complementarity(M: Array, d: Array) -> Array | None:
    """Return z (m,) for any copositive M (m, m), such as that of friction pyramids.

    Returns:
        z, or None if Lemke's method ends on a ray.

    Raises:
        RobotDynamicsError: If the method does not end, or rounding errors make its solution wrong,
            as they may with many redundant contacts.
    """
    size = float(np.abs(M).max(initial=0.0)) or 1.0
    large = float(np.abs(d).max(initial=0.0)) or 1.0
    z = _lemke(M / size, d / large)
    if z is None:
        return None
    if _astray(M / size @ z + d / large, z):
        raise RobotDynamicsError(
            f"Lemke's method for {len(d)} unknowns has an error above {_ASTRAY:g}; expected fewer "
            "redundant contacts."
        )
    return z * (large / size)


def _astray(w: Array, z: Array) -> bool:
    """Return whether w and z fail to solve a scaled problem."""
    least = np.minimum(w, z)
    return bool(least.min() < -_ASTRAY or least.max() > _ASTRAY * max(1.0, z.max()))


def _lemke(M: Array, q: Array) -> Array | None:
    """Return the solution z (m,) of w = M z + q, or None if the method ends on a ray."""
    m = len(q)
    if q.min() >= 0.0:
        return np.zeros(m)
    # Columns: w, z, the artificial z0, and the right-hand side; one row for each basic variable.
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
    raise RobotDynamicsError(
        f"Lemke's method for {m} unknowns did not end in {_PIVOTS * m + 1} pivots; expected fewer "
        "redundant contacts."
    )


def _first(
    table: Array, rows: NDArray[np.intp], column: Array, basis: NDArray[np.intp], artificial: int
) -> int:
    """Return the row whose basic variable reaches zero first; ties are broken lexicographically.

    If the artificial variable ties, it is chosen.
    """
    m = table.shape[0]
    ratios = table[rows, -1] / column[rows]
    tied = rows[ratios <= ratios.min() + _ZERO]
    for i in tied:
        if basis[i] == artificial:
            return int(i)
    keys = table[tied, :m] / column[tied, None]
    return int(tied[np.lexsort(keys.T[::-1])[0]])
