# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What sensors besides the arms' own say, looked at before it is believed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.errors import ArgumentError

Array = NDArray[np.float64]


def finite_array(name: str, values: ArrayLike, length: int) -> Array:
    """Return values as an array (length,).

    Raises:
        ArgumentError: If their shape is another one, or one is not finite.
    """
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} is {values!r}, expected {length} numbers.") from None
    if array.shape != (length,):
        raise ArgumentError(f"{name} has shape {array.shape}, expected ({length},).")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{name} is {array.tolist()}, expected finite numbers.")
    return array


def unit_pose(values: ArrayLike) -> Array:
    """Return a pose x y z qx qy qz qw (7,) with a quaternion of unit length.

    Raises:
        ArgumentError: As `finite_array`; or if the quaternion is zero.
    """
    pose = finite_array("pose", values, 7)
    largest = np.abs(pose[3:]).max()
    if largest == 0.0:
        raise ArgumentError("pose has a quaternion of zeros, expected one of unit length.")
    pose[3:] /= largest  # squares of what is left neither overflow nor vanish
    pose[3:] /= np.linalg.norm(pose[3:])
    return pose
