# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How fast torques may change, whoever wants them to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def within_rate(torque: Array, last: Array, largest: float) -> Array:
    """Return torques that no joint departs from the last ones by more than it may.

    All joints make the same part of their change, so that its direction stays.

    Args:
        torque: What is wanted (n,).
        last: What was sent last (n,).
        largest: The largest change of a joint.

    Returns:
        `torque` itself where it is within the limit.
    """
    change = torque - last
    size = float(np.abs(change).max(initial=0.0))
    return torque if size <= largest else last + change * (largest / size)
