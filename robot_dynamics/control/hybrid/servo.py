# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The servos (41) to (43) with their integrals, and the motion in the null space of (34).

All functions are traceable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.hybrid.surface_forces import SurfaceForces
from robot_dynamics.control.torque_limits import integrated
from robot_dynamics.manipulation.hybrid.environment import Environment, derivatives, difference
from robot_dynamics.manipulation.hybrid.grasp_kinematics import Matrix
from robot_dynamics.manipulation.hybrid.object_observer import ObjectEstimate
from robot_dynamics.scalar.functions import maximum, minimum
from robot_dynamics.scalar.linear_algebra import dot, factor, times, transposed_times
from robot_dynamics.spatial import Rotation, Scalar, Vector3, rotation_vector


@dataclass(frozen=True)
class ObjectTarget:
    """Desired motion of the object's centre of mass, in world axes.

    Attributes:
        E: From world to the desired axes.
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


@dataclass(frozen=True)
class MotionServo:
    """The servo of the object's motion (41); six-vectors in world axes, angular first.

    With e the error, K_P and K_V the gains of (41), and w the rate of the integral, the gains
    `proportional`, `derivative` and `integral` are K_P + w K_V, K_V + w and w K_P.

    Attributes:
        target: Desired motion.
        error: Rotation vector and displacement from the estimated to the desired pose (6,).
        twist: Estimated (6,).
        acceleration: Servo output u1: a_d + (K_V + w) e' + (K_P + w K_V) e + w K_P int(e) (6,).
        velocity: v_d + ((K_P + w K_V) e + w K_P int(e)) / (K_V + w), at which u1 is a_d (6,).
    """

    target: ObjectTarget
    error: list[Scalar]
    twist: list[Scalar]
    acceleration: list[Scalar]
    velocity: list[Scalar]

    @classmethod
    def of(
        cls,
        reference: Mapping[str, Sequence[Scalar]],
        integral: Sequence[Scalar],
        estimate: ObjectEstimate,
        center: Vector3,
        gains: HybridGains,
    ) -> MotionServo:
        """Return the servo for a pose and a twist.

        Args:
            reference: Parts of a row of the reference.
            integral: Of the error (6,).
            estimate: The object.
            center: Its centre of mass from its origin, in its axes.
            gains: Gains.
        """
        target = ObjectTarget.of(
            reference["pose"], reference["twist"], reference["acceleration"], center
        )
        E = estimate.pose.E
        rotation = rotation_vector(target.E.transpose().compose(E))  # R_d R^T = E_d^T E
        error = [*rotation, *(target.x - estimate.pose.r)]
        twist = [*E.inverse_times(estimate.twist.angular), *E.inverse_times(estimate.twist.linear)]
        correction = [
            gains.proportional * e + gains.integral * i
            for e, i in zip(error, integral, strict=True)
        ]
        acceleration = [
            a + gains.derivative * (v - w) + c
            for a, v, w, c in zip(
                target.acceleration, target.twist, twist, correction, strict=True
            )
        ]
        velocity = [
            v + c / gains.derivative for v, c in zip(target.twist, correction, strict=True)
        ]
        return cls(target, error, twist, acceleration, velocity)


@dataclass(frozen=True)
class OwnCoordinates:
    """Surfaces' functions and coordinates, in this order, at one state; in world axes.

    Attributes:
        values: p and s (6,).
        E: Their gradients over the object's twist (6, 6).
        rates: Of the gradients, times the twist (6,).
    """

    values: list[Scalar]
    E: Matrix
    rates: list[Scalar]

    @classmethod
    def of(
        cls, environment: Environment, x: Vector3, E: Rotation, twist: Sequence[Scalar]
    ) -> OwnCoordinates:
        """Return them for a centre of mass, the object's axes, and its twist, world axes (6,)."""
        functions = (*environment.surfaces, *environment.coordinates)
        return cls(*derivatives(functions, list(x), E.transpose().rows, twist))

    def motion(self, values: Sequence[Scalar]) -> list[Scalar]:
        """Return the motion (6,) under which the functions change by values (6,): E^-1 values."""
        # E need not be symmetric: E^-1 = E^T (E E^T)^-1
        A = [[dot(self.E[i], self.E[j]) for j in range(i + 1)] for i in range(6)]
        return transposed_times(self.E, factor(A).solve(values), 6)

    def separating_motions(self, surfaces: int) -> Matrix:
        """Return for each surface the motion (6,) that leaves it and changes no other function."""
        units = [[1.0 if i == j else 0.0 for j in range(6)] for i in range(surfaces)]
        return [self.motion(unit) for unit in units]


def servo_along_coordinates(
    environment: Environment,
    servo: MotionServo,
    integral: Sequence[Scalar],
    estimate: ObjectEstimate,
    gains: HybridGains,
) -> tuple[MotionServo, list[Scalar]]:
    """Return the servo (41) in surface functions and coordinates, and their errors (6,).

    Args:
        environment: Surfaces and coordinates.
        servo: Servo of the pose.
        integral: Integral of the errors (6,).
        estimate: Estimate of the object.
        gains: Gains.
    """
    target, pose = servo.target, estimate.pose
    desired = OwnCoordinates.of(environment, target.x, target.E, target.twist)
    actual = OwnCoordinates.of(environment, pose.r, pose.E, servo.twist)
    functions = (*environment.surfaces, *environment.coordinates)
    error = [
        difference(function, a, b)
        for function, a, b in zip(functions, desired.values, actual.values, strict=True)
    ]
    rate_d, rate = times(desired.E, target.twist), times(actual.E, servo.twist)
    acceleration_d = [
        a + b for a, b in zip(times(desired.E, target.acceleration), desired.rates, strict=True)
    ]
    correction = [
        gains.proportional * e + gains.integral * i for e, i in zip(error, integral, strict=True)
    ]
    u1 = [
        a + gains.derivative * (v - w) + c
        for a, v, w, c in zip(acceleration_d, rate_d, rate, correction, strict=True)
    ]
    velocity = [v + c / gains.derivative for v, c in zip(rate_d, correction, strict=True)]
    own = replace(
        servo,
        acceleration=actual.motion([a - b for a, b in zip(u1, actual.rates, strict=True)]),
        velocity=actual.motion(velocity),
    )
    return own, error


_TINY = 1e-12


def pose_integral(
    last: Sequence[Scalar], error: Sequence[Scalar], gains: HybridGains, gate: Scalar
) -> list[Scalar]:
    """Return the integral of the controlled part of the pose error (6,), bounded."""
    bound = gains.motion_bound / maximum(gains.integral, _TINY)
    return [integrated(i, gains.period * e, gate, bound) for i, e in zip(last, error, strict=True)]


def contact_integral(
    last: Sequence[Scalar],
    desired: Sequence[Scalar],
    contact: SurfaceForces,
    gains: HybridGains,
    gate: Scalar,
    known: Scalar,
) -> list[Scalar]:
    """Return the integral term of (42) (C,), zero on surfaces that are not touched.

    Args:
        last: Integral term of the last step.
        desired: Forces to compare with the measured ones.
        contact: Forces on the surfaces; the gated law integrates only where there is one.
        gains: Gain and bounds.
        gate: 0 while torques are limited; the literal law ignores it.
        known: 1 if forces are measured or estimated.
    """
    gate = maximum(gate, 1.0 - gains.gated)
    result = []
    for i, f_d, f, touched, loaded in zip(
        last, desired, contact.forces, contact.touched, contact.loaded, strict=True
    ):
        error = minimum(maximum(f_d - f, -gains.contact_error), gains.contact_error)
        active = known * (1.0 - gains.gated * (1.0 - loaded))
        step = gains.contact_integral * gains.period * error * active
        result.append(touched * integrated(i, step, gate, gains.contact_bound))
    return result


def internal_integral(
    last: Sequence[Scalar],
    desired: Sequence[Scalar],
    forces: Sequence[Scalar],
    gains: HybridGains,
    gate: Scalar,
    known: Scalar,
) -> list[Scalar]:
    """Return the integral term of (43) (m,); unchanged if no forces are measured."""
    part = gains.internal_integral * gains.period * known
    return [
        integrated(i, part * (f_d - f), gate * known, gains.internal_bound)
        for i, f_d, f in zip(last, desired, forces, strict=True)
    ]


@dataclass(frozen=True)
class PostureMotion:
    """d_q of (34): desired motion of the joints, followed in the null space of the task.

    Attributes:
        acceleration: Acceleration of the joints (n,).
        velocity: Corresponding velocity (n,).
        avoidance: Part of the acceleration away from limits and singularities (n,).
    """

    acceleration: list[Scalar]
    velocity: list[Scalar]
    avoidance: list[Scalar]

    @classmethod
    def of(
        cls,
        gains: HybridGains,
        q: Sequence[Scalar],
        qd: Sequence[Scalar],
        gradient: Sequence[Scalar],
    ) -> PostureMotion:
        """Return the motion towards the posture, and away from joint limits and singularities.

        Args:
            gains: Gains, posture and limits.
            q: Positions (n,).
            qd: Velocities (n,).
            gradient: Of the manipulability, near singularities (n,).
        """
        pulls, avoidance = [], []
        for j, position in enumerate(q):
            low = maximum(0.0, gains.lower[j] + gains.limit_margin - position)
            high = maximum(0.0, position - gains.upper[j] + gains.limit_margin)
            off_limit = gains.limit_proportional * (low - high)
            off_singularity = gains.avoidance * gradient[j]
            pull = gains.posture_proportional * (gains.posture[j] - position)
            pulls.append(pull + off_limit + off_singularity)
            avoidance.append(off_limit + off_singularity)
        damping = gains.posture_derivative
        acceleration = [pull - damping * rate for pull, rate in zip(pulls, qd, strict=True)]
        return cls(acceleration, [pull / damping for pull in pulls], avoidance)


def hand_motion(
    gains: HybridGains,
    offset: Sequence[Scalar],
    rate: Sequence[Scalar],
    J: Sequence[Sequence[Scalar]],
    avoidance: Sequence[Scalar],
) -> tuple[list[Scalar], list[Scalar]]:
    """Return d_ah (f,): accelerations of hands relative to the object; and their velocities.

    The offset e of a hand from its grasp decays as e'' + K_D e' + K_P e = 0. The avoidance of
    limits and singularities moves the hands as well: U^T J times it is added.

    Args:
        gains: Gains.
        offset: e (f,), along the directions that contacts leave free.
        rate: e' (f,).
        J: U^T J (f, n).
        avoidance: Accelerations of the joints away from limits and singularities (n,).
    """
    avoiding = times(J, avoidance)
    acceleration = [
        a - gains.hand_derivative * v - gains.hand_proportional * e
        for a, v, e in zip(avoiding, rate, offset, strict=True)
    ]
    velocity = [
        a / gains.posture_derivative - gains.hand_proportional / gains.hand_derivative * e
        for a, e in zip(avoiding, offset, strict=True)
    ]
    return acceleration, velocity
