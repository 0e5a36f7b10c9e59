# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The servo of the motion (41), on the centre of mass, in world axes, traceable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.hybrid.state import ObjectTarget
from robot_dynamics.manipulation.hybrid.object_observer import Seen
from robot_dynamics.spatial import Scalar, Vector3, rotation_vector


@dataclass(frozen=True)
class MotionServo:
    """What it finds and asks for; six-vectors, angular first.

    Attributes:
        target: What the object is to do.
        error: Rotation vector and displacement from where it is to where it is to be (6,).
        twist: Of the object (6,).
        acceleration: Asked for (6,).
        velocity: That goes with it (6,).
    """

    target: ObjectTarget
    error: list[Scalar]
    twist: list[Scalar]
    acceleration: list[Scalar]
    velocity: list[Scalar]

    @classmethod
    def of(
        cls,
        wanted: Mapping[str, Sequence[Scalar]],
        pose_integral: Sequence[Scalar],
        seen: Seen,
        center: Vector3,
        gain: HybridGains,
    ) -> MotionServo:
        """Return the servo for an object that is seen.

        Args:
            wanted: Parts of a row of the reference.
            pose_integral: Integral of the error (6,).
            seen: The object.
            center: Its centre of mass from its origin, in its axes.
            gain: Gains.
        """
        target = ObjectTarget.of(wanted["pose"], wanted["twist"], wanted["acceleration"], center)
        E = seen.place.E
        turned = rotation_vector(target.E.transpose().compose(E))  # R_d R^T = E_d^T E
        error = [*turned, *(target.x - seen.place.x)]
        twist = [*E.inverse_times(seen.twist.angular), *E.inverse_times(seen.twist.linear)]
        correction = [
            gain.proportional * e + gain.integral * i
            for e, i in zip(error, pose_integral, strict=True)
        ]
        acceleration = [
            a + gain.derivative * (v - w) + c
            for a, v, w, c in zip(
                target.acceleration, target.twist, twist, correction, strict=True
            )
        ]
        velocity = [v + c / gain.derivative for v, c in zip(target.twist, correction, strict=True)]
        return cls(target, error, twist, acceleration, velocity)
