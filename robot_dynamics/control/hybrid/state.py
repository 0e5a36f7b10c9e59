# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms and object at the instant of a measurement, and when the torque acts, traceable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.control.hybrid.law_inputs import LawInputs
from robot_dynamics.control.hybrid.servo import OwnCoordinates
from robot_dynamics.dynamics.inertia_matrix import composite_inertia_matrix
from robot_dynamics.dynamics.inverse import (
    joint_forces,
    net_forces,
    velocities_and_accelerations,
)
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms
from robot_dynamics.dynamics.passive import passive_forces
from robot_dynamics.manipulation.hybrid.decoupling_law import ObjectTerms
from robot_dynamics.manipulation.hybrid.environment import derivatives
from robot_dynamics.manipulation.hybrid.grasp_kinematics import (
    BlockedMotion,
    ContactPoint,
    Matrix,
    Place,
    blocked_motion,
)
from robot_dynamics.manipulation.hybrid.object_observer import Seen, observe, place_of
from robot_dynamics.manipulation.hybrid.system import HybridSystem
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
class Instant:
    """Arms, object and surfaces at an instant.

    Attributes:
        arms: The arms.
        seen: The object.
        held: Its inertia and bias.
        E_F: Gradients of the surfaces (C, 6), in the object's axes.
        bent: Accelerations along them that keep touched surfaces touched (C,).
        leaving: Motions that leave one surface and change no coordinate of the user's own (C, 6),
            in the object's axes; None without such coordinates.
    """

    arms: ArmState
    seen: Seen
    held: ObjectTerms
    E_F: Matrix
    bent: list[Scalar]
    leaving: Matrix | None = None

    @classmethod
    def of(cls, system: HybridSystem, given: LawInputs, arms: ArmState, seen: Seen) -> Instant:
        """Return the instant of arms and an object."""
        fixed, place = given.fixed, seen.place
        spin, velocity = seen.twist.angular, seen.twist.linear
        gravity = place.E * given.parameters.gravity
        held = ObjectTerms(
            fixed.mass, fixed.inertia, fixed.inverse, spin, velocity, gravity
        )  # fmt: skip
        environment, twist = system.environment, in_world(place.E, [*spin, *velocity])
        _, E_F, E_F_dot_v = derivatives(
            environment.surfaces, list(place.x), place.E.transpose().rows, twist
        )
        own = [in_axes(place.E, gradient) for gradient in E_F]
        leaving = None
        if environment.own_coordinates:
            all_six = OwnCoordinates.of(environment, place.x, place.E, twist)
            leaving = [in_axes(place.E, motion) for motion in all_six.leaving(len(E_F))]
        return cls(arms, seen, held, own, [-value for value in E_F_dot_v], leaving)

    @classmethod
    def ahead(cls, system: HybridSystem, given: LawInputs, arms: ArmState, seen: Seen) -> Instant:
        """Return the middle of the time in which the torque acts, from where all is now."""
        gain, last = given.gain, given.last
        of_joints, of_object = (
            [
                a + gain.trend * change
                for a, change in zip(last[name], last[f"{name}_change"], strict=True)
            ]
            for name in ("joint_acceleration", "acceleration")
        )
        q, qd, then = ahead_of(gain.lead, given.q, given.qd, of_joints, seen, of_object)
        near = [arms.q[i] + gain.lead * arms.qd[i] for i in system.passive_joints.indices]
        later = ArmState.of(system.passive_joints, q, qd, given.parameters, near)
        return cls.of(system, given, later, then)


def seen_by_arms(given: LawInputs, arms: ArmState) -> Seen:
    """Return the object as the contacts see it."""
    fixed, last = given.fixed, given.last
    return observe(
        fixed.points, arms.X0, arms.v, last["place"], last["twist"], given.gain.period,
        fixed.velocity, fixed.position, fixed.open_part,
    )  # fmt: skip


def seen_from_outside(
    given: Sequence[Scalar],
    center: Vector3,
    points: Sequence[ContactPoint],
    X0: Sequence[Transform],
) -> Seen:
    """Return the object of a pose of its origin and a twist in world axes (13,)."""
    quaternion = list(given[3:7])
    E = Rotation.from_quaternion(*quaternion)
    spin = E * Vector3.of(given[7:10])
    moving = E * Vector3.of(given[10:13]) + spin.cross(center)
    place = Place(E, Vector3.of(given[:3]) + E.inverse_times(center))
    residual = [value for point in points for value in point.residual(place, X0)]
    return Seen(place, quaternion, Motion(spin, moving), residual)


def in_axes(E: Rotation, six: Sequence[Scalar]) -> list[Scalar]:
    """Return a six-vector of world axes in the axes of E."""
    return [*(E * Vector3.of(six[:3])), *(E * Vector3.of(six[3:]))]


def in_world(E: Rotation, six: Sequence[Scalar]) -> list[Scalar]:
    """Return a six-vector of the axes of E in world axes."""
    return [*E.inverse_times(Vector3.of(six[:3])), *E.inverse_times(Vector3.of(six[3:]))]
