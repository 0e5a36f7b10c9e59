# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Yoshikawa and Zheng's linearising law (32) to (37) for the object in free space (C = 0).

Written over the terms of the closed-loop engine: the paper's `S^T J` is minus the arms' part of
the constraint Jacobian K, `W_S^T T` its object part with the object's spatial velocity in the
place of `T rdot`, and F_hS are the multipliers lambda. The grasps are rigid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.dynamics.closed_loop import ClosedLoopTerms
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.scalar.functions import minimum
from robot_dynamics.scalar.linear_algebra import dot, factor, times, transposed_times
from robot_dynamics.spatial import Scalar

Matrix = list[list[Scalar]]


@dataclass(frozen=True)
class CoordinatedTorque:
    """The torque of the law over the arm joints, in the parts that limits treat differently.

    The sum of the three gives exactly the desired acceleration and internal force.

    Attributes:
        support: Bias of the arms plus their share of the object's: what holds everything up.
        internal: What makes the internal force.
        motion: What accelerates arms and object.
        acceleration: The arms' desired accelerations (na,), (34).
        velocity: The arms' velocities (na,) of smallest kinetic energy at which the object moves
            as its reference does.
        smallest_pivot: Smallest relative pivot of an arm's J H^-1 J^T: zero at a singularity.
    """

    support: list[Scalar]
    internal: list[Scalar]
    motion: list[Scalar]
    acceleration: list[Scalar]
    velocity: list[Scalar]
    smallest_pivot: Scalar


def coordinated_torque(
    system: GraspSystem,
    terms: ClosedLoopTerms,
    object_acceleration: Sequence[Scalar],
    object_velocity: Sequence[Scalar],
    internal_force: Sequence[Scalar],
    posture_acceleration: Sequence[Scalar],
    distribution: Matrix,
    internal: Matrix,
) -> CoordinatedTorque:
    """Return the joint torques of the law.

    Args:
        system: Arms and object.
        terms: H, C, K and k of the closed loop at the present state.
        object_acceleration: Desired spatial acceleration of the object (6,), in its body frame.
        object_velocity: Reference velocity of the object (6,), in its body frame.
        internal_force: Desired internal force (6(k-1),), u_3.
        posture_acceleration: Acceleration (na,) wished for where an arm has freedom left, d_q.
        distribution: W^# (6k, 6) of the grasp map.
        internal: A (6k, 6(k-1)) of the grasp map.
    """
    at = system.object_v
    object_columns = range(at.start, at.stop)
    K, k = terms.loops.K, terms.loops.k
    K_object = [[row[j] for j in object_columns] for row in K]

    # (37): the wrench the object needs, beyond its bias, and the bias itself
    H_object = [[terms.H[i][j] for j in object_columns] for i in object_columns]
    bias = [terms.C[i] for i in object_columns]
    accelerating = times(H_object, object_acceleration)
    support_wrench = times(distribution, bias)
    motion_wrench = times(distribution, accelerating)
    internal_wrench = times(internal, internal_force)

    support: list[Scalar] = []
    squeeze: list[Scalar] = []
    motion: list[Scalar] = []
    acceleration: list[Scalar] = []
    velocity: list[Scalar] = []
    pivots: list[Scalar] = []
    for arm, own in zip(system.arms, system.arm_slices, strict=True):
        rows = slice(6 * arm.loop, 6 * arm.loop + 6)
        columns = [int(i) for i in arm.v_index]
        n = len(columns)
        # The multipliers are wrenches on the object, so that the arm feels -K^T lambda.
        J = [[row[j] for j in columns] for row in K[rows]]
        H = [[terms.H[i][j] for j in columns] for i in columns]
        # (34), with the arm's inertia as the metric of its self-motion
        wanted = [
            k_row - drift
            for k_row, drift in zip(
                k[rows], times(K_object[rows], object_acceleration), strict=True
            )
        ]
        free = list(posture_acceleration[own])
        rest = [w - f for w, f in zip(wanted, times(J, free), strict=True)]
        of_H = factor(H)
        Y = [of_H.half_solve(row) for row in J]
        scaled = [of_H.scale(row) for row in Y]
        A = factor([[dot(Y[i], scaled[j]) for j in range(i + 1)] for i in range(6)])
        push = transposed_times(J, A.solve(rest), n)
        qdd = [f + p for f, p in zip(free, of_H.solve(push), strict=True)]
        acceleration += qdd
        moving = [-value for value in times(K_object[rows], object_velocity)]
        velocity += of_H.solve(transposed_times(J, A.solve(moving), n))
        pivots.append(A.smallest_pivot)

        def on_arm(
            wrench: Sequence[Scalar], J: Matrix = J, rows: slice = rows, n: int = n
        ) -> list[Scalar]:
            return [-value for value in transposed_times(J, wrench[rows], n)]

        bias_torque = [terms.C[i] for i in columns]
        support += [c + w for c, w in zip(bias_torque, on_arm(support_wrench), strict=True)]
        squeeze += on_arm(internal_wrench)
        # H qdd = H free + push, without a second product with H
        inertial = [h + p for h, p in zip(times(H, free), push, strict=True)]
        motion += [i + w for i, w in zip(inertial, on_arm(motion_wrench), strict=True)]
    smallest = pivots[0]
    for pivot in pivots[1:]:
        smallest = minimum(smallest, pivot)
    return CoordinatedTorque(support, squeeze, motion, acceleration, velocity, smallest)
