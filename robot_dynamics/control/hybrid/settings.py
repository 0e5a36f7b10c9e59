# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a user states about hybrid control besides what every control has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from robot_dynamics.control.touch_settings import LONGEST_S
from robot_dynamics.manipulation.numbers import number


@dataclass(frozen=True)
class HybridSettings:
    """How the hybrid controller sees the object, moves its arms, and changes its task.

    Attributes:
        object_pose: Where the object is: "arms": as its contacts tell. "sensor": as it is given
            before each step.
        ahead: Whether the model is evaluated in the middle of the time in which the torque acts,
            not at the measurement.
        touching: Distance within which a surface that is to be touched at the start is taken to
            be touched [m, rad].
        limit_margin: Distance from a joint's limits within which an arm with freedom to spare is
            driven back [rad, m].
        limit_bandwidth: How fast [rad/s]; 0 for not at all.
        avoidance: Gain of such an arm's way out of singularities [rad^2/s^2]; 0 for none.
        safe_pivot: Smallest relative pivot of J H^-1 J^T at which arms are moved exactly; nearer
            to singularities the solution is damped, and what that costs is reported.
        blend_s: Time over which a new reference takes over from the one that is followed [s].
    """

    object_pose: Literal["arms", "sensor"] = "arms"
    ahead: bool = True
    touching: float = number(1e-3, "m or rad", minimum=0.0)
    limit_margin: float = number(0.1, "rad or m", minimum=0.0)
    limit_bandwidth: float = number(20.0, "rad/s", minimum=0.0)
    avoidance: float = number(0.0, "rad^2/s^2", minimum=0.0)
    safe_pivot: float = number(1e-5, "", above=0.0, below=1.0)
    blend_s: float = number(0.3, "s", above=0.0, maximum=LONGEST_S)
