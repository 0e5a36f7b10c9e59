# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recursions from the base outwards, for all bodies at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

from robot_dynamics.arrays import Array
from robot_dynamics.model import WORLD


def solve_outwards(parent: NDArray[np.intp], steps: Array, own: Array) -> Array:
    """Return x with `x_i = steps_i x_parent(i) + own_i`; x is zero on the base.

    It is the solution of a sparse triangular system. Elimination from the base outwards has no
    fill-in, so that its cost is proportional to the number of bodies, in compiled code.

    Args:
        parent: Index of each body's parent (N,), smaller than its own; WORLD for none.
        steps: Matrices from each parent to the body (N, n, n); ignored without a parent.
        own: Contribution of each body (N, n, m).
    """
    bodies, n, m = own.shape
    if bodies == 0:
        return own
    carried = np.flatnonzero(parent != WORLD)
    within = np.arange(n)
    shape = (len(carried), n, n)
    rows = np.broadcast_to((n * carried[:, None] + within)[:, :, None], shape).ravel()
    columns = np.broadcast_to((n * parent[carried][:, None] + within)[:, None, :], shape).ravel()
    diagonal = np.arange(bodies * n)
    matrix = csc_matrix(
        (
            np.concatenate([np.ones(bodies * n), -steps[carried].ravel()]),
            (np.concatenate([diagonal, rows]), np.concatenate([diagonal, columns])),
        ),
        shape=(bodies * n, bodies * n),
    )
    factors = splu(matrix, permc_spec="NATURAL", diag_pivot_thresh=0.0)
    solved: Array = factors.solve(own.reshape(bodies * n, m))
    return solved.reshape(bodies, n, m)
