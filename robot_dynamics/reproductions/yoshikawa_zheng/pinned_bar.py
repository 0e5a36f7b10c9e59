# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equations of motion of a bar with three freedoms, held at pins by two planar arms.

They are written by hand in r = [x, y, phi], with the arms following by inverse kinematics. They
share no dynamics with the model of the controller, and are therefore a test of it. The inverse
kinematics is shared: `joint_state` also gives the controller's joint angles, and the study
compares them with the poses of the controller's own model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.scalar.functions import acos, atan2, cos, exp, maximum, sin, sqrt
from robot_dynamics.scalar.linear_algebra import dot, factor, times, transposed_times
from robot_dynamics.spatial import Scalar

Vector = Sequence[Scalar]


@dataclass(frozen=True)
class PlanarArm:
    """Two links with their angles in the plane as coordinates, as a parallelogram's drives have.

    tau1 = M11 qdd1 - R cos(q1 - q2) qdd2 - R sin(q1 - q2) qd2^2, and tau2 in the same way with
    M22.

    Attributes:
        M11: Inertia about the first axis [kg m^2].
        M22: Inertia about the second [kg m^2].
        R: Their coupling [kg m^2].
        upper: Length of the upper arm [m].
        fore: Length of the forearm [m].
        base: Position of the first axis (x, y) [m].
        elbow: 1 if the upper arm lies to the left of the line to the tip, else -1.
    """

    M11: float
    M22: float
    R: float
    upper: float
    fore: float
    base: tuple[float, float]
    elbow: float


@dataclass(frozen=True)
class Bar:
    """The bar: pins at (-pin, 0) and (pin, 0), a tip at (0, tip) that may touch.

    Attributes:
        mass: [kg].
        moment: Moment of inertia about its middle [kg m^2].
        pin: Distance of the pins from the middle [m].
        tip: Distance of the tip from the middle [m].
    """

    mass: float
    moment: float
    pin: float
    tip: float


@dataclass(frozen=True)
class BarMotion:
    """Accelerations and forces at one instant.

    Attributes:
        rdd: Accelerations of x, y and phi (3,).
        press: Force of the tip on the wall [N].
        pins: Forces by the arms on the bar (4,) [N], world axes.
        squeeze: Half of the inward force of both pins along the bar [N].
    """

    rdd: list[Scalar]
    press: Scalar
    pins: list[Scalar]
    squeeze: Scalar


#: Force of the tip on a wall as a function of its depth [m] and the rate of the depth [m/s].
Press = Callable[[Scalar, Scalar], Scalar]


@dataclass(frozen=True)
class _Arm:
    """An arm at one state: qdd = Y rdd + b, and its force on the bar from its torque."""

    q: list[Scalar]
    qd: list[Scalar]
    M: list[list[Scalar]]
    Y: list[list[Scalar]]
    b: list[Scalar]
    inverse: list[list[Scalar]]
    load: list[Scalar]

    def force(self, rdd: Vector) -> list[Scalar]:
        """Return J^-T (tau - h - M qdd) (2,)."""
        qdd = [x + y for x, y in zip(times(self.Y, rdd), self.b, strict=True)]
        rest = [t - m for t, m in zip(self.load, times(self.M, qdd), strict=True)]
        return transposed_times(self.inverse, rest, 2)


def bar_motion(
    arms: Sequence[PlanarArm],
    bar: Bar,
    r: Vector,
    rd: Vector,
    torque: Vector,
    wall: Scalar,
    slip: Scalar,
    press: Press | None,
) -> BarMotion:
    """Return the motion of the bar under the arms' torques.

    Args:
        arms: Both arms.
        bar: The bar.
        r: x, y [m] and phi [rad].
        rd: Their rates.
        torque: Torques (4,) on the arms' axes, less friction.
        wall: Position of the wall, y [m].
        slip: Friction over the force on the wall: from -mu to mu, with the sign of v_t.
        press: Force of the wall; None for a rigid wall that holds the tip.
    """
    inertia: list[list[Scalar]] = [[bar.mass, 0.0, 0.0], [0.0, bar.mass, 0.0], [0.0, 0.0, 0.0]]
    inertia[2][2] = bar.moment
    push: list[Scalar] = [0.0, 0.0, 0.0]
    states = [
        _arm(arm, bar, side, r, rd, torque[2 * i : 2 * i + 2])
        for i, (arm, side) in enumerate(zip(arms, (-1.0, 1.0), strict=True))
    ]
    for state in states:
        moved = [[dot(row, [y[j] for y in state.Y]) for j in range(3)] for row in state.M]
        drift = [t - m for t, m in zip(state.load, times(state.M, state.b), strict=True)]
        for i in range(3):
            column = [y[i] for y in state.Y]
            push[i] = push[i] + dot(column, drift)
            for j in range(3):
                inertia[i][j] = inertia[i][j] + dot(column, [row[j] for row in moved])
    solve = factor(inertia).solve
    E, D = _tip_rows(bar, r)  # of the depth in the wall, and along it
    free = solve(push)
    per_newton = solve([-(e + slip * d) for e, d in zip(E, D, strict=True)])
    if press is None:
        bend = bar.tip * cos(r[2]) * rd[2] * rd[2]  # -E_dot rd
        force = (bend - dot(E, free)) / dot(E, per_newton)
    else:
        force = press(r[1] + bar.tip * cos(r[2]) - wall, dot(E, rd))
    rdd = [a + force * b for a, b in zip(free, per_newton, strict=True)]
    pins = [component for state in states for component in state.force(rdd)]
    e = [cos(r[2]), sin(r[2])]
    return BarMotion(rdd, force, pins, 0.5 * (dot(e, pins[:2]) - dot(e, pins[2:])))


def slipping(bar: Bar, r: Vector, rd: Vector) -> Scalar:
    """Return the velocity of the tip along the wall [m/s]."""
    return dot(_tip_rows(bar, r)[1], rd)


def hunt_crossley(stiffness: Scalar, dissipation: Scalar) -> Press:
    """Return the force of an elastic wall, k d (1 + a d_dot), never a pull.

    Args:
        stiffness: k [N/m].
        dissipation: a [s/m]: 1.5 (1 - e) / v for a restitution e at impacts of a speed v.
    """

    def press(depth: Scalar, rate: Scalar) -> Scalar:
        return stiffness * maximum(depth, 0.0) * maximum(1.0 + dissipation * rate, 0.0)

    return press


def smooth_sign(value: Scalar, width: float) -> Scalar:
    """Return tanh(value / width): the direction of Coulomb friction, smoothed."""
    return 1.0 - 2.0 / (exp((2.0 / width) * value) + 1.0)


def joint_state(arms: Sequence[PlanarArm], bar: Bar, r: Array, rd: Array) -> tuple[Array, Array]:
    """Return the arms' angles and their rates (4,) at a state of the bar."""
    found = [
        _arm(arm, bar, side, [float(x) for x in r], [float(x) for x in rd], [0.0, 0.0])
        for arm, side in zip(arms, (-1.0, 1.0), strict=True)
    ]
    q = np.array([value for state in found for value in state.q])
    return q, np.array([value for state in found for value in state.qd])


def arm_rates(arms: Sequence[PlanarArm], bar: Bar, r: Vector, rd: Vector) -> list[Scalar]:
    """Return the rates of the arms' angles (4,), traceable."""
    rates: list[Scalar] = []
    for arm, side in zip(arms, (-1.0, 1.0), strict=True):
        rates += _arm(arm, bar, side, r, rd, [0.0, 0.0]).qd
    return rates


def _tip_rows(bar: Bar, r: Vector) -> tuple[list[Scalar], list[Scalar]]:
    return [0.0, 1.0, -bar.tip * sin(r[2])], [1.0, 0.0, -bar.tip * cos(r[2])]


def _arm(arm: PlanarArm, bar: Bar, side: float, r: Vector, rd: Vector, torque: Vector) -> _Arm:
    l0, l4 = arm.upper, arm.fore
    across = [side * bar.pin * cos(r[2]), side * bar.pin * sin(r[2])]
    spread = [r[0] + across[0] - arm.base[0], r[1] + across[1] - arm.base[1]]
    squared = dot(spread, spread)
    inner = acos((squared + (l0**2 - l4**2)) / (2.0 * l0 * sqrt(squared)))
    q1 = atan2(spread[1], spread[0]) + arm.elbow * inner
    c1, s1 = cos(q1), sin(q1)
    q2 = atan2(spread[1] - l0 * s1, spread[0] - l0 * c1)
    c2, s2 = cos(q2), sin(q2)
    det = l0 * l4 * (c1 * s2 - s1 * c2)
    inverse = [[l4 * c2 / det, l4 * s2 / det], [-l0 * c1 / det, -l0 * s1 / det]]  # J^-1
    B = [[1.0, 0.0, -across[1]], [0.0, 1.0, across[0]]]
    a, b = times(inverse, times(B, rd))
    # Velocity-product acceleration of the tip: -phi_dot^2 rho - J_dot qd
    swept = [
        -rd[2] * rd[2] * across[0] + l0 * c1 * a * a + l4 * c2 * b * b,
        -rd[2] * rd[2] * across[1] + l0 * s1 * a * a + l4 * s2 * b * b,
    ]
    coupling, turning = arm.R * (c1 * c2 + s1 * s2), arm.R * (s1 * c2 - c1 * s2)
    load = [torque[0] + turning * b * b, torque[1] - turning * a * a]  # tau - h
    return _Arm(
        [q1, q2],
        [a, b],
        [[arm.M11, -coupling], [-coupling, arm.M22]],
        [[dot(row, [line[j] for line in B]) for j in range(3)] for row in inverse],
        times(inverse, swept),
        inverse,
        load,
    )
