# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments as arrays: refused in one sentence where they cannot be meant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import ArgumentError


def finite_vector(name: str, values: object, length: int) -> NDArray[np.float64]:
    """Return values as an array (length,) of finite numbers; one number is an array of one.

    Args:
        name: What they are, for the message.
        values: A sequence, or a number.
        length: How many are expected.

    Raises:
        ArgumentError: If there are others, or not finite ones.
    """
    array = np.atleast_1d(np.asarray(values, dtype=float))
    if array.shape != (length,):
        raise ArgumentError(f"{name} has shape {array.shape}, expected ({length},).")
    if not np.all(np.isfinite(array)):
        raise ArgumentError(f"{name} has entries that are not finite; expected numbers.")
    return array
