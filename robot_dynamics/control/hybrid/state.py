# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""State of arms and object: as measured, and predicted for the time when the torque acts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.control.hybrid.law_inputs import LawInputs
from robot_dynamics.control.hybrid.payload_estimate import AdaptedPayload
from robot_dynamics.control.hybrid.servo import OwnCoordinates
from robot_dynamics.dynamics.inertia_matrix import composite_inertia_matrix
from robot_dynamics.dynamics.inverse import (
    joint_forces,
    net_forces,
    velocities_and_accelerations,
)
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms
from robot_dynamics.dynamics.passive import passive_forces
from robot_dynamics.manipulation.hybrid.decoupling_law import ObjectTerms, OffCenterTerms
from robot_dynamics.manipulation.hybrid.environment import derivatives
from robot_dynamics.manipulation.hybrid.grasp_kinematics import (
    ContactMotion,
    ContactPoint,
    Matrix,
    contact_motion,
)
from robot_dynamics.manipulation.hybrid.object_observer import ObjectEstimate, pose_transform
from robot_dynamics.manipulation.hybrid.system import HybridSystem
from robot_dynamics.manipulation.passive_joints import DrivenMotion, PassiveJoints
from robot_dynamics.model import Model
from robot_dynamics.model.joints import turn
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.linear_algebra import add, subtract, times
from robot_dynamics.spatial import Motion, Rotation, Scalar, Transform, Vector3


@dataclass(frozen=True)
class ArmState:
    """Transforms, velocities and velocity-product accelerations of the arms' bodies.

    Attributes:
        q: Positions of all joints (nq,).
        qd: Their velocities (nv,).
        Xup: Transforms from each body's parent to the body.
        X0: Transforms from the world to the body.
        v: Velocities, in body coordinates.
        avp: Accelerations at qdd = 0, with minus gravity in them.
        driven: Motion of all joints as a function of the drives'; None for arms without loops.
    """

    q: list[Scalar]
    qd: list[Scalar]
    Xup: list[Transform]
    X0: list[Transform]
    v: list[Motion]
    avp: list[Motion]
    driven: DrivenMotion | None

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
            near: Positions of the joints without drives, near which these are sought.
        """
        model = arms.model
        q = arms.closed(y, near, parameters)
        Xup = joint_transforms(model, q)
        qd = arms.velocities(Xup, yd, parameters)
        v, avp = velocities_and_accelerations(model, Xup, qd, None, parameters.gravity)
        driven = arms.driven_motion(Xup, v, avp, parameters, q, near)
        return cls(q, qd, Xup, body_transforms(model, Xup), v, avp, driven)

    def equation(
        self, model: Model, parameters: Parameters
    ) -> tuple[list[list[Scalar]], list[Scalar]]:
        """Return H (n, n) and C (n,) over the drives, springs included."""
        H = composite_inertia_matrix(model, self.Xup, parameters)
        forces = joint_forces(model, self.Xup, net_forces(self.v, self.avp, parameters))
        springs = passive_forces(model, self.Xup, self.v, self.qd, parameters, self.q)
        C = subtract(forces, springs)
        return (H, C) if self.driven is None else self.driven.equation(H, C)

    def contact_motion(
        self,
        model: Model,
        points: Sequence[ContactPoint],
        estimate: ObjectEstimate,
        gravity: Vector3,
    ) -> ContactMotion:
        """Return S^T J over the drives' velocities and its rate times these; see there."""
        motion = contact_motion(
            model, points, estimate.pose, estimate.twist.angular, self.Xup, self.X0, self.v,
            self.avp, gravity,
        )  # fmt: skip
        if self.driven is None:
            return motion
        bias = add(motion.bias, times(motion.J, self.driven.g))
        return ContactMotion(self.driven.jacobian(motion.J), bias)


@dataclass(frozen=True)
class SystemState:
    """Arms, object and surfaces at one instant.

    Attributes:
        arms: The arms.
        object: Pose and twist of the object.
        terms: Inertia and bias of the object.
        E_F: Gradients of the surfaces (C, 6), in the object's axes.
        constraint_acceleration: -E_F_dot v (C,): E_F a of an object that stays on the surfaces.
        separating_motions: Motions that leave one surface and change no user-defined coordinate
            (C, 6), in the object's axes; None without such coordinates.
    """

    arms: ArmState
    object: ObjectEstimate
    terms: ObjectTerms
    E_F: Matrix
    constraint_acceleration: list[Scalar]
    separating_motions: Matrix | None = None

    @classmethod
    def of(
        cls, system: HybridSystem, inputs: LawInputs, arms: ArmState, estimate: ObjectEstimate
    ) -> SystemState:
        """Return the state with the surfaces at the estimated pose and twist."""
        pose, environment = estimate.pose, system.environment
        omega, velocity = estimate.twist.angular, estimate.twist.linear
        terms = object_terms(inputs, estimate)
        twist = to_world_axes(pose.E, [*omega, *velocity])
        _, gradients, E_F_dot_v = derivatives(
            environment.surfaces, list(pose.r), pose.E.transpose().rows, twist
        )
        E_F = [to_body_axes(pose.E, gradient) for gradient in gradients]
        separating = None
        if environment.own_coordinates:
            own = OwnCoordinates.of(environment, pose.r, pose.E, twist)
            motions = own.separating_motions(len(E_F))
            separating = [to_body_axes(pose.E, motion) for motion in motions]
        return cls(arms, estimate, terms, E_F, [-value for value in E_F_dot_v], separating)

    @classmethod
    def predicted(
        cls, system: HybridSystem, inputs: LawInputs, arms: ArmState, estimate: ObjectEstimate
    ) -> SystemState:
        """Return the state in the middle of the interval in which the torque will act.

        Joints and object move on with their last desired accelerations and the trend of these.
        """
        gains, memory = inputs.gains, inputs.memory
        qdd, acceleration = (
            [
                a + gains.trend * change
                for a, change in zip(memory[name], memory[f"{name}_change"], strict=True)
            ]
            for name in ("joint_acceleration", "acceleration")
        )
        h = gains.lead
        q = [a + h * b + 0.5 * h * h * c for a, b, c in zip(inputs.q, inputs.qd, qdd, strict=True)]
        qd = [b + h * c for b, c in zip(inputs.qd, qdd, strict=True)]
        passive = [arms.q[i] + h * arms.qd[i] for i in system.passive_joints.indices]
        later = ArmState.of(system.passive_joints, q, qd, inputs.parameters, passive)
        return cls.of(system, inputs, later, predicted_object(h, estimate, acceleration))


def object_terms(inputs: LawInputs, estimate: ObjectEstimate) -> ObjectTerms:
    """Return the terms of the stated object, or of the one that the law has estimated."""
    constants, twist = inputs.constants, estimate.twist
    gravity = estimate.pose.E * inputs.parameters.gravity
    motion = twist.angular, twist.linear, gravity
    if not inputs.memory["payload"]:
        return ObjectTerms(constants.mass, constants.inertia, constants.inverse_inertia, *motion)
    payload = AdaptedPayload.of(inputs.memory["payload"])
    ratio, inertia = payload.ratio, constants.inertia.scaled(payload.ratio)
    inverse = constants.inverse_inertia.scaled(1.0 / ratio)
    return OffCenterTerms(constants.mass * ratio, inertia, inverse, *motion, payload.offset)


def predicted_object(
    lead: Scalar, estimate: ObjectEstimate, acceleration: Sequence[Scalar]
) -> ObjectEstimate:
    """Return pose and twist of the object after a time, to second order.

    Args:
        lead: The time [s].
        estimate: The object.
        acceleration: Acceleration of its centre of mass, in its axes (6,).
    """
    half = 0.5 * lead * lead
    omega, velocity = estimate.twist.angular, estimate.twist.linear
    alpha, a = Vector3.of(acceleration[:3]), Vector3.of(acceleration[3:])
    x = estimate.pose.r + estimate.pose.E.inverse_times(velocity * lead + a * half)
    quaternion = turn(estimate.quaternion, list(omega * lead + alpha * half))
    # The velocity's components change with the axes as well.
    twist = Motion(omega + alpha * lead, velocity + (a - omega.cross(velocity)) * lead)
    return ObjectEstimate(pose_transform(list(x), quaternion), quaternion, twist, [])


def to_body_axes(E: Rotation, six: Sequence[Scalar]) -> list[Scalar]:
    """Return a six-vector of world axes in the axes of E."""
    return [*(E * Vector3.of(six[:3])), *(E * Vector3.of(six[3:]))]


def to_world_axes(E: Rotation, six: Sequence[Scalar]) -> list[Scalar]:
    """Return a six-vector of the axes of E in world axes."""
    return [*E.inverse_times(Vector3.of(six[:3])), *E.inverse_times(Vector3.of(six[3:]))]
