# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Yoshikawa and Zheng's linearising law (32) to (37) for the object in free space (C = 0).

Written over the terms of the closed-loop engine: the paper's `S^T J` is minus the arms' part of
the constraint Jacobian K, `W_S^T T` its object part with the object's spatial velocity in the
place of `T rdot`, and F_hS are the multipliers lambda. The grasps are rigid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from robot_dynamics.dynamics.closed_loop import ClosedLoopTerms
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.scalar.functions import minimum
from robot_dynamics.scalar.linear_algebra import (
    Factors,
    dot,
    factor,
    times,
    transposed_times,
)
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
        velocity: The arms' velocities (na,) that go with the wanted velocity of the object.
        smallest_pivot: Smallest relative pivot of an arm's J H^-1 J^T: zero at a singularity.
    """

    support: list[Scalar]
    internal: list[Scalar]
    motion: list[Scalar]
    acceleration: list[Scalar]
    velocity: list[Scalar]
    smallest_pivot: Scalar


@dataclass(frozen=True)
class DesiredMotion:
    """What the law is asked for, at the level of accelerations or of velocities.

    Attributes:
        object: Of the object (6,): spatial, in its body frame.
        posture: Of the arm joints (na,), followed where an arm has freedom left.
    """

    object: Sequence[Scalar]
    posture: Sequence[Scalar]


def coordinated_torque(
    system: GraspSystem,
    terms: ClosedLoopTerms,
    acceleration: DesiredMotion,
    velocity: DesiredMotion,
    internal_force: Sequence[Scalar],
    distribution: Matrix,
    internal: Matrix,
) -> CoordinatedTorque:
    """Return the joint torques of the law.

    Args:
        system: Arms and object.
        terms: H, C, K and k of the closed loop at the present state.
        acceleration: Desired accelerations; the posture's is the paper's d_q.
        velocity: Velocities wanted, for what depends on them, as friction does; they do not enter
            the torques.
        internal_force: Desired internal force (6(k-1),), u_3.
        distribution: W^# (6k, 6) of the grasp map.
        internal: A (6k, 6(k-1)) of the grasp map.
    """
    at = system.object_v
    columns = range(at.start, at.stop)
    # (37): the wrench the object needs, beyond its bias, and the bias itself
    H_object = [[terms.H[i][j] for j in columns] for i in columns]
    support_wrench = times(distribution, [terms.C[i] for i in columns])
    motion_wrench = times(distribution, times(H_object, acceleration.object))
    internal_wrench = times(internal, internal_force)

    law = CoordinatedTorque([], [], [], [], [], 0.0)
    pivots: list[Scalar] = []
    for index, own in enumerate(system.arm_slices):
        arm = _ArmTerms.of(system, terms, index)
        k = terms.loops.k[arm.rows]
        free = list(acceleration.posture[own])
        push = arm.push(k, acceleration.object, free)
        law.acceleration.extend(arm.motion(free, push))
        free_velocity = list(velocity.posture[own])
        drive = arm.push([0.0] * 6, velocity.object, free_velocity)
        law.velocity.extend(arm.motion(free_velocity, drive))
        law.support.extend(_sum(arm.C, arm.joint_torques(support_wrench)))
        law.internal.extend(arm.joint_torques(internal_wrench))
        # H qdd = H free + push, without a second product with H
        law.motion.extend(_sum(_sum(times(arm.H, free), push), arm.joint_torques(motion_wrench)))
        pivots.append(arm.A.smallest_pivot)
    return replace(law, smallest_pivot=reduce(minimum, pivots))


@dataclass(frozen=True)
class _ArmTerms:
    """The part of the closed loop that belongs to one arm.

    Attributes:
        rows: Its rows of the constraints.
        J: Its columns of K there (6, n): minus the paper's S^T J.
        K_object: The object's columns of K there (6, 6).
        H: Its inertia matrix (n, n), and that matrix's factors.
        A: Factors of J H^-1 J^T.
        C: Its bias forces (n,).
    """

    rows: slice
    J: Matrix
    K_object: Matrix
    H: Matrix
    H_factors: Factors
    A: Factors
    C: list[Scalar]

    @classmethod
    def of(cls, system: GraspSystem, terms: ClosedLoopTerms, index: int) -> _ArmTerms:
        """Take an arm's terms out of those of the closed loop."""
        arm, at = system.arms[index], system.object_v
        rows = slice(6 * arm.loop, 6 * arm.loop + 6)
        columns = [int(i) for i in arm.v_index]
        J = [[row[j] for j in columns] for row in terms.loops.K[rows]]
        H = [[terms.H[i][j] for j in columns] for i in columns]
        of_H = factor(H)
        Y = [of_H.half_solve(row) for row in J]
        scaled = [of_H.scale(row) for row in Y]
        A = factor([[dot(Y[i], scaled[j]) for j in range(i + 1)] for i in range(6)])
        K_object = [list(row[at]) for row in terms.loops.K[rows]]
        return cls(rows, J, K_object, H, of_H, A, [terms.C[i] for i in columns])

    def push(
        self, k: Sequence[Scalar], of_object: Sequence[Scalar], free: Sequence[Scalar]
    ) -> list[Scalar]:
        """Return the joint force (n,) that turns an arm's free motion into the constrained one.

        J (free + H^-1 push) + K_object of_object = k, the push in the range of J^T: with the
        arm's inertia as the metric of its self-motion (34).
        """
        drift = _sum(times(self.K_object, of_object), times(self.J, free))
        rest = [value - other for value, other in zip(k, drift, strict=True)]
        return transposed_times(self.J, self.A.solve(rest), len(self.C))

    def motion(self, free: Sequence[Scalar], push: Sequence[Scalar]) -> list[Scalar]:
        """Return free + H^-1 push (n,)."""
        return _sum(free, self.H_factors.solve(push))

    def joint_torques(self, wrenches: Sequence[Scalar]) -> list[Scalar]:
        """Return the joint torques (n,) that make the arm's part of stacked grasp wrenches.

        The wrenches are those on the object, so that the arm feels -K^T lambda.
        """
        return [-value for value in transposed_times(self.J, wrenches[self.rows], len(self.C))]


def _sum(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    return [x + y for x, y in zip(a, b, strict=True)]
