# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What arms with freedom to spare do with it: the paper's d_q, traceable."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.scalar.functions import maximum
from robot_dynamics.spatial import Scalar


def desired_posture_motion(
    gain: HybridGains, q: Sequence[Scalar], qd: Sequence[Scalar], away: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return accelerations (n,) that arms follow where they can, and velocities to go with them.

    They stay near their posture, damped; leave the margins of the joints' limits; and go towards
    where they can move the object in all directions.

    Args:
        gain: Gains, posture and limits.
        q: Positions (n,).
        qd: Velocities (n,).
        away: Direction away from singularities (n,).
    """
    pulls = []
    for j, position in enumerate(q):
        low = maximum(0.0, gain.lower[j] + gain.limit_margin - position)
        high = maximum(0.0, position - gain.upper[j] + gain.limit_margin)
        pull = gain.posture_proportional * (gain.posture[j] - position)
        pull = pull + gain.limit_proportional * (low - high) + gain.avoidance * away[j]
        pulls.append(pull)
    damping = gain.posture_derivative
    acceleration = [pull - damping * rate for pull, rate in zip(pulls, qd, strict=True)]
    return acceleration, [pull / damping for pull in pulls]
