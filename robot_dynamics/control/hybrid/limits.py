# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The stated compromise where torques have limits, traceable.

Support is never scaled, then comes the internal force, then the force on surfaces, then motion,
at last the arms' posture: each is scaled as a whole, so that its direction stays, to the largest
part that fits. What comes last gives way first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.joint_friction import friction_torque
from robot_dynamics.control.torque_limits import largest_scale
from robot_dynamics.manipulation.hybrid.decoupling_law import HybridTorqueParts
from robot_dynamics.model import Joint
from robot_dynamics.scalar.functions import absolute, maximum, minimum
from robot_dynamics.spatial import Scalar

# Guards divisions whose denominator may vanish; far below any torque [N m] that matters.
_TINY = 1e-12


@dataclass(frozen=True)
class LimitedTorque:
    """A torque within its limits, and what they let through.

    Attributes:
        torque: The command (n,).
        squeeze: Part of the internal force that is let through.
        contact: Part of the force on surfaces.
        motion: Part of the motion.
        posture: Part of the arms' self-motion, which the task does without.
        rate: Part of the torque's change.
        load: The largest support over its limit.
        gate: 1 while nothing of the task is scaled down or still ramping in, else 0.
        least: The least that support comes to with the internal force, then with the force on
            surfaces, then with the motion, all as they were asked for (n,).
        most: The most of these (n,).
    """

    torque: list[Scalar]
    squeeze: Scalar
    contact: Scalar
    motion: Scalar
    posture: Scalar
    rate: Scalar
    load: Scalar
    gate: Scalar
    least: list[Scalar]
    most: list[Scalar]


def within_limits(
    joints: Sequence[Joint],
    law: HybridTorqueParts,
    previous: Sequence[Scalar],
    gain: HybridGains,
    ramp: Scalar,
) -> LimitedTorque:
    """Return the torque that is sent.

    Args:
        joints: Those that have drives (n,); their friction is compensated for the motion wanted.
        law: The parts of the torque.
        previous: The last torque (n,).
        gain: Limits.
        ramp: Part of the task that is let through at the start.
    """
    friction = friction_torque(joints, law.velocity, gain.friction_share, gain.friction_velocity)
    moving = [a + b for a, b in zip(law.motion, friction, strict=True)]
    squeeze, contact, motion, posture = (
        [ramp * value for value in part]
        for part in (law.internal, law.contact, moving, law.posture)
    )
    of_squeeze = largest_scale(law.support, squeeze, gain.effort)
    gripped = _added(law.support, of_squeeze, squeeze)
    of_contact = largest_scale(gripped, contact, gain.effort)
    pressed = _added(gripped, of_contact, contact)
    of_motion = largest_scale(pressed, motion, gain.effort)
    moved = _added(pressed, of_motion, motion)
    of_posture = largest_scale(moved, posture, gain.effort)
    wanted = _added(moved, of_posture, posture)
    change = [t - p for t, p in zip(wanted, previous, strict=True)]
    rate: Scalar = 1.0
    for value in change:
        rate = minimum(rate, gain.torque_rate * gain.period / maximum(absolute(value), _TINY))
    load: Scalar = 0.0
    for value, most in zip(law.support, gain.effort, strict=True):
        load = maximum(load, absolute(value) / most)
    part = minimum(minimum(of_squeeze, of_contact), minimum(minimum(of_motion, rate), ramp))
    gate = maximum(0.0, 1.0 - (1.0 - part) * 1e9)
    torque = _added(previous, rate, change)
    inside = _added(law.support, 1.0, squeeze)
    pushing = _added(inside, 1.0, contact)
    sums = list(zip(inside, pushing, _added(pushing, 1.0, motion), strict=True))
    return LimitedTorque(
        torque, of_squeeze, of_contact, of_motion, of_posture, rate, load, gate,
        [minimum(a, minimum(b, c)) for a, b, c in sums],
        [maximum(a, maximum(b, c)) for a, b, c in sums],
    )  # fmt: skip


def _added(a: Sequence[Scalar], scale: Scalar, b: Sequence[Scalar]) -> list[Scalar]:
    return [x + scale * y for x, y in zip(a, b, strict=True)]
