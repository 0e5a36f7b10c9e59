# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The torque that the known friction of joints takes."""

from __future__ import annotations

from collections.abc import Iterable

from robot_dynamics.model.joint_data import Joint
from robot_dynamics.scalar.functions import sqrt
from robot_dynamics.spatial import Scalar


def friction_torque(
    joints: Iterable[Joint], rates: Iterable[Scalar], share: Scalar, velocity: Scalar
) -> list[Scalar]:
    """Return damping and Coulomb friction of joints that move, smooth through rest.

    Laws give it the velocities that their servos want. Fed back from the measured ones the sign of
    Coulomb friction would chatter; fed forward from the reference's alone, friction would slow the
    servos' corrections down.

    Args:
        joints: The joints, with damping [N m s/rad] and friction [N m].
        rates: Their velocities [rad/s or m/s].
        share: Part of the friction that is wanted.
        velocity: Speed at which Coulomb friction is at 71 % of its value [rad/s].
    """
    return [
        share * (joint.damping * v + joint.friction * v / sqrt(v * v + velocity * velocity))
        for joint, v in zip(joints, rates, strict=True)
    ]
