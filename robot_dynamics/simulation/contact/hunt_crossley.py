# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The elastic contact f = k d (1 + D d') of Hunt and Crossley, and its D for a restitution.

Force begins and ends at zero with the penetration d. A mass that comes at speed v leaves at e v,
whatever mass and stiffness are: m v dv = -k d (1 + D v) dd integrates to

    a (1 + e) = log((1 + a) / (1 - e a)),   a = D v.

The usual 1.5 (1 - e) for a is its limit for e near 1; at e = 0.3 that would leave 0.58.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from robot_dynamics.errors import ArgumentError

_LEAST = 0.01  # restitution: below it the damping grows without bound


def dissipation(restitution: float, speed: float) -> float:
    """Return D [s/m] with which impacts at a speed [m/s] keep a part `restitution` of it.

    Raises:
        ArgumentError: If the restitution is not from 0.01 to 1.
    """
    e = restitution
    if not _LEAST <= e <= 1.0:
        raise ArgumentError(
            f"an elastic contact has a restitution of {e:g}, expected {_LEAST:g} to 1: with less "
            "its damping has no bound."
        )
    if e == 1.0:
        return 0.0

    def rest(a: float) -> float:
        return a * (1.0 + e) - float(np.log1p(a) - np.log1p(-e * a))

    # Zero at a = 0 as well, positive between, and minus infinity at 1 / e.
    return float(brentq(rest, min(1e-4, 1.0 - e), (1.0 - 1e-15) / e, xtol=1e-14)) / speed


def restitution_at(speed: float, dissipation: float) -> float:
    """Return which part of an impact's speed [m/s] is left, for D [s/m]."""
    a = dissipation * speed
    if a == 0.0:
        return 1.0

    def rest(e: float) -> float:
        return a * (1.0 + e) - float(np.log1p(a) - np.log1p(-e * a))

    return float(brentq(rest, 0.0, min(1.0, (1.0 - 1e-15) / a), xtol=1e-14))
