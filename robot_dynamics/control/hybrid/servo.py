# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The servos (41) to (43) with their integrals, and the motion of hands and arms besides.

All are traceable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.torque_limits import integrated
from robot_dynamics.manipulation.hybrid.environment import Environment, derivatives, difference
from robot_dynamics.manipulation.hybrid.grasp_kinematics import Matrix
from robot_dynamics.manipulation.hybrid.object_observer import Seen
from robot_dynamics.scalar.functions import maximum, minimum
from robot_dynamics.scalar.linear_algebra import dot, factor, times, transposed_times
from robot_dynamics.spatial import Rotation, Scalar, Vector3, rotation_vector


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

    def leaving(self, surfaces: int) -> Matrix:
        """Return for each surface the motion (6,) that leaves it, and changes nothing else."""
        units = [[1.0 if i == j else 0.0 for j in range(6)] for i in range(surfaces)]
        return [self.motion(unit) for unit in units]


def servo_along_coordinates(
    environment: Environment,
    plain: MotionServo,
    integral: Sequence[Scalar],
    seen: Seen,
    gain: HybridGains,
) -> tuple[MotionServo, list[Scalar]]:
    """Return the servo of surfaces' functions and coordinates, and their errors (6,).

    Args:
        environment: Surfaces and coordinates.
        plain: The servo of the pose.
        integral: Of the errors (6,).
        seen: The object.
        gain: Gains.
    """
    target, place = plain.target, seen.place
    wish = OwnCoordinates.of(environment, target.x, target.E, target.twist)
    here = OwnCoordinates.of(environment, place.x, place.E, plain.twist)
    functions = (*environment.surfaces, *environment.coordinates)
    error = [
        difference(function, a, b)
        for function, a, b in zip(functions, wish.values, here.values, strict=True)
    ]
    rate_d, rate = times(wish.E, target.twist), times(here.E, plain.twist)
    bent = [a + b for a, b in zip(times(wish.E, target.acceleration), wish.rates, strict=True)]
    correction = [
        gain.proportional * e + gain.integral * i for e, i in zip(error, integral, strict=True)
    ]
    u = [
        a + gain.derivative * (v - w) + c
        for a, v, w, c in zip(bent, rate_d, rate, correction, strict=True)
    ]
    acceleration = here.motion([a - b for a, b in zip(u, here.rates, strict=True)])
    velocity = [v + c / gain.derivative for v, c in zip(rate_d, correction, strict=True)]
    servo = replace(plain, acceleration=acceleration, velocity=here.motion(velocity))
    return servo, error


_TINY = 1e-12


def learned_pose(
    before: Sequence[Scalar], error: Sequence[Scalar], gain: HybridGains, gate: Scalar
) -> list[Scalar]:
    """Return the integral of the pose error (6,), of what of it is controlled."""
    bound = gain.motion_bound / maximum(gain.integral, _TINY)
    return [
        integrated(i, gain.period * e, gate, bound) for i, e in zip(before, error, strict=True)
    ]


def learned_contact(
    before: Sequence[Scalar],
    wanted: Sequence[Scalar],
    forces: Sequence[Scalar],
    touched: Sequence[Scalar],
    pressed: Sequence[Scalar],
    gain: HybridGains,
    gate: Scalar,
    known: Scalar,
) -> list[Scalar]:
    """Return what is added to the forces on surfaces (C,).

    Args:
        before: What was added.
        wanted: The forces that the measured ones answer.
        forces: Measured.
        touched: 1 for surfaces that are touched: others have nothing to learn.
        pressed: 1 where there is a force: in the air the gated law does not integrate.
        gain: Gain and bounds.
        gate: 0 while limits rule; the literal law does not mind.
        known: 1 if forces are measured or estimated.
    """
    gate = maximum(gate, 1.0 - gain.gated)
    result = []
    for i, wish, f, c, there in zip(before, wanted, forces, touched, pressed, strict=True):
        off = minimum(maximum(wish - f, -gain.contact_error), gain.contact_error)
        let = known * (1.0 - gain.gated * (1.0 - there))
        step = gain.contact_integral * gain.period * off * let
        result.append(c * integrated(i, step, gate, gain.contact_bound))
    return result


def learned_internal(
    before: Sequence[Scalar],
    wanted: Sequence[Scalar],
    forces: Sequence[Scalar],
    gain: HybridGains,
    gate: Scalar,
    known: Scalar,
) -> list[Scalar]:
    """Return what is added to the internal forces (m,); as before where nothing is known."""
    part = gain.internal_integral * gain.period * known
    return [
        integrated(i, part * (wish - f), gate * known, gain.internal_bound)
        for i, wish, f in zip(before, wanted, forces, strict=True)
    ]


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
