# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The law (32) to (37), traceable, in the parts that torque limits treat differently.

Nothing is decided here: near a singularity the arms' equation is damped, and what that costs is
returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.manipulation.hybrid.grasp_kinematics import BlockedMotion, Matrix
from robot_dynamics.scalar.functions import maximum
from robot_dynamics.scalar.linear_algebra import (
    Factors,
    dot,
    factor,
    times,
    transposed_times,
)
from robot_dynamics.spatial import Scalar, Symmetric3, Vector3

# Keeps the first factors finite at a singularity itself; far below any pivot that matters.
_FINITE = 1e-14


@dataclass(frozen=True)
class ObjectTerms:
    """The object about its centre of mass, in its own axes.

    Attributes:
        mass: Its mass.
        inertia: Its rotational inertia.
        inverse: The inverse of that.
        turning: Its angular velocity.
        velocity: The velocity of its centre of mass.
        gravity: The acceleration of gravity.
    """

    mass: Scalar
    inertia: Symmetric3
    inverse: Symmetric3
    turning: Vector3
    velocity: Vector3
    gravity: Vector3

    @property
    def bias(self) -> list[Scalar]:
        """Q_B (6,): [omega x I omega; -m g] (5)."""
        gyroscopic = self.turning.cross(self.inertia * self.turning)
        return [*gyroscopic, *(self.gravity * -self.mass)]

    def times(self, motion: Sequence[Scalar]) -> list[Scalar]:
        """Return I_B times an acceleration (6,)."""
        turned = self.inertia * Vector3.of(motion[:3])
        return [*turned, *(Vector3.of(motion[3:]) * self.mass)]

    def solve(self, wrench: Sequence[Scalar]) -> list[Scalar]:
        """Return I_B^-1 times a wrench (6,)."""
        turned = self.inverse * Vector3.of(wrench[:3])
        return [*turned, *(Vector3.of(wrench[3:]) * (1.0 / self.mass))]


@dataclass(frozen=True)
class DesiredMotion:
    """What the law is asked for, at the level of accelerations or of velocities.

    Attributes:
        object: Of the object (6,), in its axes, of its centre of mass.
        posture: Of the arm joints (n,), followed where arms have freedom left.
    """

    object: Sequence[Scalar]
    posture: Sequence[Scalar]


@dataclass(frozen=True)
class HybridTorqueParts:
    """Torques (n,) over the arm joints; their sum is that of the law.

    Attributes:
        support: Bias of the arms, their share of the object's, and the internal force that holds
            it: what holds everything up.
        internal: What makes the internal force.
        contact: What makes the force on the surfaces.
        motion: What accelerates the object, and the arms with it.
        posture: What moves arms with freedom to spare besides, without moving the object.
        acceleration: qdd (n,) (34).
        velocity: Velocities (n,) that go with the wanted velocity of the object.
        pivot: Smallest relative pivot of J_S H^-1 J_S^T: zero at a singularity.
        lost: What damping takes from the velocities in the contacts' directions (d,) [per s].
    """

    support: list[Scalar]
    internal: list[Scalar]
    contact: list[Scalar]
    motion: list[Scalar]
    posture: list[Scalar]
    acceleration: list[Scalar]
    velocity: list[Scalar]
    pivot: Scalar
    lost: list[Scalar]


class ArmSide:
    """The arms' side of the contacts: (34), damped near singularities.

    Args:
        H: Inertia of the arms (n, n).
        J: S^T J (d, n).
        safe_pivot: Smallest relative pivot of J H^-1 J^T that is not damped; the damping grows to
            this part of the diagonal at a singularity.
    """

    def __init__(self, H: Matrix, J: Matrix, safe_pivot: Scalar) -> None:
        self.H, self.J = H, J
        self._H_factors = of_H = factor(H)
        half = [of_H.half_solve(row) for row in J]
        scaled = [of_H.scale(row) for row in half]
        A = [[dot(half[i], scaled[j]) for j in range(i + 1)] for i in range(len(J))]
        self.pivot = _damped(A, _FINITE).smallest_pivot
        near = maximum(0.0, 1.0 - self.pivot / safe_pivot)
        damping = safe_pivot * near * near
        self._damping = [damping * A[i][i] for i in range(len(A))]
        self._A = _damped(A, damping)

    def push(
        self, wanted: Sequence[Scalar], free: Sequence[Scalar]
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return the joint force (n,) that turns a free motion into one with J qdd wanted (d,).

        Also what is missing from that because of damping (d,).
        """
        rest = [a - b for a, b in zip(wanted, times(self.J, free), strict=True)]
        multipliers = self._A.solve(rest)
        missing = [d * y for d, y in zip(self._damping, multipliers, strict=True)]
        return transposed_times(self.J, multipliers, len(free)), missing

    def moved(self, free: Sequence[Scalar], push: Sequence[Scalar]) -> list[Scalar]:
        """Return free + H^-1 push (n,)."""
        return _sum(free, self._H_factors.solve(push))

    def joint_torques(self, contact_forces: Sequence[Scalar]) -> list[Scalar]:
        """Return the joint torques (n,) that make contact forces on the object (d,)."""
        return transposed_times(self.J, contact_forces, len(self.H))


def _damped(A: Matrix, part: Scalar) -> Factors:
    """Return the factors of a matrix with a part of its diagonal added."""
    return factor([[*row[:i], row[i] + part * row[i]] for i, row in enumerate(A)])


def decoupling_torque(
    arms: ArmSide,
    C: Sequence[Scalar],
    contacts: BlockedMotion,
    held: ObjectTerms,
    W: Matrix,
    share: Matrix,
    internal: Matrix,
    acceleration: DesiredMotion,
    velocity: DesiredMotion,
    push: Sequence[Scalar],
    squeeze: Sequence[Scalar],
    holding: Sequence[Scalar] = (),
) -> HybridTorqueParts:
    """Return the joint torques of the law.

    Args:
        arms: The arms' inertia and Jacobian.
        C: Their bias forces (n,).
        contacts: What the contacts block.
        held: The object.
        W: W_S (6, d), in the object's axes.
        share: W^# (d, 6), likewise.
        internal: A (d, m).
        acceleration: Desired accelerations, on the surfaces (35).
        velocity: Velocities wanted, for what depends on them; they do not enter the torques.
        push: Wrench on the object that makes the force on the surfaces (6,), E_F^T u2.
        squeeze: Internal force u3 (m,), less that which holds the object.
        holding: Internal force (m,) without which contacts that only push let the object fall; it
            belongs to the support. None by default.
    """
    n, d = len(C), len(contacts.bias)
    # (29): S^T J qdd = W_S^T a + rate(W_S^T) v - rate(S^T J) qd; W_S turns with the object
    spun = [0.0, 0.0, 0.0, *held.turning.cross(held.velocity)]
    of_object = [a - b for a, b in zip(acceleration.object, spun, strict=True)]
    wanted = [a - b for a, b in zip(transposed_times(W, of_object, d), contacts.bias, strict=True)]
    drive, lost = arms.push(wanted, acceleration.posture)
    kept, _ = arms.push([0.0] * d, acceleration.posture)  # of it, what keeps the object unmoved
    towards, _ = arms.push(transposed_times(W, velocity.object, d), velocity.posture)
    inertial = times(share, held.times(acceleration.object))
    carrying = times(share, held.bias)
    if holding:
        carrying = _sum(carrying, times(internal, holding))
    return HybridTorqueParts(
        support=_sum(C, arms.joint_torques(carrying)),
        internal=arms.joint_torques(times(internal, squeeze)) if squeeze else [0.0] * n,
        contact=arms.joint_torques(times(share, push)),
        # H qdd = H free + drive, without a second product with H
        motion=_sum(
            [a - b for a, b in zip(drive, kept, strict=True)], arms.joint_torques(inertial)
        ),
        posture=_sum(times(arms.H, acceleration.posture), kept),
        acceleration=arms.moved(acceleration.posture, drive),
        velocity=arms.moved(velocity.posture, towards),
        pivot=arms.pivot,
        lost=lost,
    )


def _sum(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    return [x + y for x, y in zip(a, b, strict=True)]
