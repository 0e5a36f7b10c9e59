# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms and object at the instant of a measurement, and when the torque acts, traceable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.dynamics.inertia_matrix import composite_inertia_matrix
from robot_dynamics.dynamics.inverse import (
    joint_forces,
    net_forces,
    velocities_and_accelerations,
)
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms
from robot_dynamics.dynamics.passive import passive_forces
from robot_dynamics.manipulation.hybrid.grasp_kinematics import (
    BlockedMotion,
    ContactPoint,
    Place,
    blocked_motion,
)
from robot_dynamics.manipulation.hybrid.object_observer import Seen, place_of
from robot_dynamics.manipulation.passive_joints import DrivenMotion, PassiveJoints
from robot_dynamics.model import Model
from robot_dynamics.model.joints import turn
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.linear_algebra import times
from robot_dynamics.spatial import Motion, Rotation, Scalar, Transform, Vector3


@dataclass(frozen=True)
class ArmState:
    """Transforms, velocities and velocity-product accelerations of the arms' bodies.

    Attributes:
        q: Positions of all joints (nq,).
        qd: Their velocities (nv,).
        Xup: From each body's parent to the body.
        X0: From the world to the body.
        v: Velocities, in body coordinates.
        avp: Accelerations at qdd = 0, with minus gravity in them.
        followed: How joints without drives follow those with one; None of arms without loops.
    """

    q: list[Scalar]
    qd: list[Scalar]
    Xup: list[Transform]
    X0: list[Transform]
    v: list[Motion]
    avp: list[Motion]
    followed: DrivenMotion | None

    @classmethod
    def of(
        cls,
        arms: PassiveJoints,
        y: Sequence[Scalar],
        yd: Sequence[Scalar],
        parameters: Parameters,
        near: Sequence[Scalar] = (),
    ) -> ArmState:
        """Return the state of arms.

        Args:
            arms: The arms.
            y: Positions of their drives (n,).
            yd: Velocities of those.
            parameters: Of the arms' model.
            near: Positions near to which joints without drives are looked for.
        """
        model = arms.model
        q = arms.closed(y, near, parameters)
        Xup = joint_transforms(model, q)
        qd = arms.velocities(Xup, yd, parameters)
        v, avp = velocities_and_accelerations(model, Xup, qd, None, parameters.gravity)
        followed = arms.followed(Xup, v, avp, parameters, q, near)
        return cls(q, qd, Xup, body_transforms(model, Xup), v, avp, followed)

    def equation(
        self, model: Model, parameters: Parameters
    ) -> tuple[list[list[Scalar]], list[Scalar]]:
        """Return H (n, n) and C (n,) over the drives, springs included."""
        H = composite_inertia_matrix(model, self.Xup, parameters)
        forces = joint_forces(model, self.Xup, net_forces(self.v, self.avp, parameters))
        springs = passive_forces(model, self.Xup, self.v, parameters, self.q)
        C = [c - spring for c, spring in zip(forces, springs, strict=True)]
        return (H, C) if self.followed is None else self.followed.equation(H, C)

    def blocked(
        self,
        model: Model,
        points: Sequence[ContactPoint],
        place: Place,
        turning: Vector3,
        gravity: Vector3,
    ) -> BlockedMotion:
        """Return what contacts block over the drives' velocities; see `blocked_motion`."""
        blocked = blocked_motion(
            model, points, place, turning, self.Xup, self.X0, self.v, self.avp, gravity
        )
        if self.followed is None:
            return blocked
        drift = times(blocked.J, self.followed.g)
        bias = [a + b for a, b in zip(blocked.bias, drift, strict=True)]
        return BlockedMotion(self.followed.jacobian(blocked.J), bias)


def ahead_of(
    lead: Scalar,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    seen: Seen,
    acceleration: Sequence[Scalar],
) -> tuple[list[Scalar], list[Scalar], Seen]:
    """Return positions, velocities and the object as they will be in a moment.

    Args:
        lead: How much later [s].
        q: Positions (n,).
        qd: Velocities (n,).
        qdd: Accelerations (n,), as they are wanted.
        seen: The object.
        acceleration: Its acceleration (6,), of its centre of mass and in its own axes.
    """
    half = 0.5 * lead * lead
    q_then = [a + lead * b + half * c for a, b, c in zip(q, qd, qdd, strict=True)]
    qd_then = [b + lead * c for b, c in zip(qd, qdd, strict=True)]
    spin, velocity = seen.twist.angular, seen.twist.linear
    alpha, a = Vector3.of(acceleration[:3]), Vector3.of(acceleration[3:])
    shift = velocity * lead + a * half
    x = seen.place.x + seen.place.E.inverse_times(shift)
    quaternion = turn(seen.quaternion, list(spin * lead + alpha * half))
    # The velocity's components change with the axes as well.
    then = Motion(spin + alpha * lead, velocity + (a - spin.cross(velocity)) * lead)
    return q_then, qd_then, Seen(place_of(list(x), quaternion), quaternion, then, [])


@dataclass(frozen=True)
class ObjectTarget:
    """What the object's centre of mass is to do, in world axes.

    Attributes:
        E: From world to the axes wanted.
        x: Position of the centre of mass.
        twist: Angular velocity and its velocity (6,).
        acceleration: Angular acceleration and its acceleration (6,).
    """

    E: Rotation
    x: Vector3
    twist: list[Scalar]
    acceleration: list[Scalar]

    @classmethod
    def of(
        cls,
        pose: Sequence[Scalar],
        twist: Sequence[Scalar],
        acceleration: Sequence[Scalar],
        center: Vector3,
    ) -> ObjectTarget:
        """Return the target of a motion of the object's origin, in world axes.

        Args:
            pose: x y z qx qy qz qw (7,).
            twist: Angular velocity and velocity (6,).
            acceleration: Their rates (6,).
            center: The centre of mass from the origin, in object axes.
        """
        E = Rotation.from_quaternion(*pose[3:7])
        r = E.inverse_times(center)
        omega, alpha = Vector3.of(twist[:3]), Vector3.of(acceleration[:3])
        v = Vector3.of(twist[3:]) + omega.cross(r)
        a = Vector3.of(acceleration[3:]) + alpha.cross(r) + omega.cross(omega.cross(r))
        return cls(E, Vector3.of(pose[:3]) + r, [*omega, *v], [*alpha, *a])
