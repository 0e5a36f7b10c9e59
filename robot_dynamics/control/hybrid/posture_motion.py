# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion of arms and hands that does not move the object: d_q and d_ah of (34), traceable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.scalar.functions import maximum
from robot_dynamics.scalar.linear_algebra import times
from robot_dynamics.spatial import Scalar


@dataclass(frozen=True)
class PostureMotion:
    """d_q: what arms do with freedom to spare.

    Attributes:
        acceleration: Of the joints (n,), followed where they can.
        velocity: That goes with it (n,).
        avoidance: Of the acceleration what leads away from joint limits and singularities (n,).
    """

    acceleration: list[Scalar]
    velocity: list[Scalar]
    avoidance: list[Scalar]

    @classmethod
    def of(
        cls, gain: HybridGains, q: Sequence[Scalar], qd: Sequence[Scalar], away: Sequence[Scalar]
    ) -> PostureMotion:
        """Return what keeps arms near their posture, and off joint limits and singularities.

        Args:
            gain: Gains, posture and limits.
            q: Positions (n,).
            qd: Velocities (n,).
            away: Direction away from singularities (n,).
        """
        pulls, avoidance = [], []
        for j, position in enumerate(q):
            low = maximum(0.0, gain.lower[j] + gain.limit_margin - position)
            high = maximum(0.0, position - gain.upper[j] + gain.limit_margin)
            off_limit = gain.limit_proportional * (low - high)
            off_singularity = gain.avoidance * away[j]
            pull = gain.posture_proportional * (gain.posture[j] - position)
            pulls.append(pull + off_limit + off_singularity)
            avoidance.append(off_limit + off_singularity)
        damping = gain.posture_derivative
        acceleration = [pull - damping * rate for pull, rate in zip(pulls, qd, strict=True)]
        return cls(acceleration, [pull / damping for pull in pulls], avoidance)


def hand_motion(
    gain: HybridGains,
    offset: Sequence[Scalar],
    rate: Sequence[Scalar],
    J: Sequence[Sequence[Scalar]],
    avoidance: Sequence[Scalar],
) -> tuple[list[Scalar], list[Scalar]]:
    """Return d_ah (f,): accelerations of hands relative to the object; and their velocities.

    The offset e of a hand from its grasp decays as e'' + K_D e' + K_P e = 0. What leads joints
    away from their limits and from singularities moves the hands as well: U^T J of it is added.

    Args:
        gain: Gains.
        offset: e (f,), along the directions that contacts leave free.
        rate: e' (f,).
        J: U^T J (f, n).
        avoidance: Accelerations of the joints away from limits and singularities (n,).
    """
    off = times(J, avoidance)
    acceleration = [
        a - gain.hand_derivative * v - gain.hand_proportional * e
        for a, v, e in zip(off, rate, offset, strict=True)
    ]
    velocity = [
        a / gain.posture_derivative - gain.hand_proportional / gain.hand_derivative * e
        for a, e in zip(off, offset, strict=True)
    ]
    return acceleration, velocity
