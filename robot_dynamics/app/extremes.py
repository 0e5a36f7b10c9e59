# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The largest and the smallest of values that may be missing, or no numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def largest(values: Array) -> float | None:
    """Return the largest value, or None if there is none or one is not finite."""
    if values.size == 0 or not np.isfinite(values).all():
        return None
    return float(values.max())


def smallest(values: Array) -> float | None:
    """Return the smallest value, or None if there is none or one is not finite."""
    lowest = largest(-values)
    return None if lowest is None else -lowest
