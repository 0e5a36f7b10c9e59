# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The servo (41) in the user's own coordinates s_j along the surfaces, traceable.

Together with the surfaces' functions p_i they are six that determine the object's motion. Of a
surface that is not touched p_i is a coordinate like the others; of one that is, its force is
controlled, and s_j go on as they are wanted (35).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.hybrid.motion_servo import MotionServo
from robot_dynamics.manipulation.hybrid.environment import Environment, derivatives, difference
from robot_dynamics.manipulation.hybrid.grasp_kinematics import Matrix
from robot_dynamics.manipulation.hybrid.object_observer import Seen
from robot_dynamics.scalar.linear_algebra import dot, factor, times, transposed_times
from robot_dynamics.spatial import Rotation, Scalar, Vector3


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
