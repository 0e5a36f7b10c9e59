# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where the object is seen; arms, object and surfaces when the torque acts; traceable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.control.hybrid.law_inputs import LawInputs
from robot_dynamics.control.hybrid.own_coordinates import OwnCoordinates
from robot_dynamics.control.hybrid.state import ArmState, ahead_of
from robot_dynamics.manipulation.hybrid.decoupling_law import ObjectTerms
from robot_dynamics.manipulation.hybrid.environment import derivatives
from robot_dynamics.manipulation.hybrid.grasp_kinematics import ContactPoint, Matrix, Place
from robot_dynamics.manipulation.hybrid.object_observer import Seen, observe
from robot_dynamics.manipulation.hybrid.system import HybridSystem
from robot_dynamics.spatial import Motion, Rotation, Scalar, Transform, Vector3


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
