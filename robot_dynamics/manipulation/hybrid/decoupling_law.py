# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The law (32) to (37), traceable, in the parts that torque limits treat differently.

Nothing is decided here: near a singularity the arms' equation is damped, and what that costs is
returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from robot_dynamics.manipulation.hybrid.grasp_kinematics import BlockedMotion, Matrix
from robot_dynamics.scalar.functions import maximum, minimum
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
# How many times the safe pivot free directions are damped from; the part of that which keeps trial
# factors finite where arms cannot move in them; and their least size, as a part of the contact's
# largest.
FREE_CAUTION, _TRIAL, _TINY_PART = 100.0, 1e-3, 1e-6

GeneralisedInverse = Literal["inertia", "plain"]


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
        posture: Of the arm joints (n,), d_q: followed where arms have freedom left.
        hands: Of the hands relative to the contacts' frames, in the directions that contacts leave
            free (f,): what d_ah asks for besides following the object.
    """

    object: Sequence[Scalar]
    posture: Sequence[Scalar]
    hands: Sequence[Scalar] = ()


@dataclass(frozen=True)
class FreeDirections:
    """Directions in which contacts leave the hands free, as far as arms can move in them.

    Attributes:
        motion: U^T J and its rate times qd, with U the free directions of all contacts.
        W: Their wrench map (6, f), in the object's axes: W_U^T v is the object's motion along
            them.
        sizes: How many of them each contact has.
    """

    motion: BlockedMotion
    W: Matrix
    sizes: Sequence[int] = ()


_NONE_FREE = FreeDirections(BlockedMotion([], []), [[] for _ in range(6)])


@dataclass(frozen=True)
class HybridTorqueParts:
    """Torques (n,) over the arm joints; their sum is that of the law.

    Attributes:
        support: Bias of the arms, their share of the object's, and the internal force that holds
            it: what holds everything up.
        internal: What makes the internal force.
        contact: What makes the force on the surfaces.
        motion: What accelerates the object, and the arms with it.
        posture: What moves hands and arms with freedom to spare besides, without moving the
            object.
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

    Solves G qdd = task for the qdd nearest to a given one, with the rows of G = [U^T J; S^T J].
    What contacts block, S^T J, is met exactly away from singularities. What they leave free, U^T
    J, is met as far as the arms can besides: its equations are damped for themselves, which leaves
    those of S^T J exact. "Nearest" is by the generalised inverse:

        "inertia": G^# = H^-1 G^T (G H^-1 G^T)^-1, the least kinetic energy of the difference.
        "plain": G^+ = G^T (G G^T)^-1, the least sum of squares, over whatever units joints have.

    Args:
        H: Inertia of the arms (n, n).
        J: S^T J (d, n).
        safe_pivot: Smallest relative pivot of J H^-1 J^T (or J J^T) that is not damped; the
            damping grows to this part of the diagonal at a singularity. Free directions are damped
            from 100 times that on.
        free: U^T J (f, n), and how many rows each contact has; none by default.
        inverse: Which generalised inverse.
    """

    def __init__(
        self,
        H: Matrix,
        J: Matrix,
        safe_pivot: Scalar,
        free: FreeDirections = _NONE_FREE,
        inverse: GeneralisedInverse = "inertia",
    ) -> None:
        self.H, self.J = H, J
        self._plain, self._H_factors = inverse == "plain", factor(H)
        self._G = [*free.motion.J, *J]
        A, f = self._normal_matrix(), len(free.motion.J)
        blocked = [row[f:] for row in A[f:]]
        self.pivot = _damped(blocked, _FINITE).smallest_pivot
        near = maximum(0.0, 1.0 - self.pivot / safe_pivot)
        damping = safe_pivot * near * near
        self._damping = [damping * row[-1] for row in blocked]
        for row in A[f:]:
            row[-1] = row[-1] + damping * row[-1]
        self._A = factor(_damped_free(A, free.sizes, FREE_CAUTION * safe_pivot))

    def _normal_matrix(self) -> Matrix:
        """Return the lower triangle of G H^-1 G^T, or of G G^T."""
        half = scaled = self._G
        if not self._plain:
            half = [self._H_factors.half_solve(row) for row in self._G]
            scaled = [self._H_factors.scale(row) for row in half]
        return [[dot(half[i], scaled[j]) for j in range(i + 1)] for i in range(len(half))]

    def push(
        self, wanted: Sequence[Scalar], posture: Sequence[Scalar]
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return the joint force (n,) that turns a posture's motion into one with G qdd wanted.

        Also what is missing from that in the blocked directions because of damping (d,).

        Args:
            wanted: Along the rows of G (f + d,).
            posture: Joint accelerations (n,) that are to change as little as can be.
        """
        rest = [a - b for a, b in zip(wanted, times(self._G, posture), strict=True)]
        multipliers = self._A.solve(rest)
        blocked = multipliers[len(multipliers) - len(self.J) :]
        missing = [d * y for d, y in zip(self._damping, blocked, strict=True)]
        force = transposed_times(self._G, multipliers, len(posture))
        return (times(self.H, force) if self._plain else force), missing

    def moved(self, free: Sequence[Scalar], push: Sequence[Scalar]) -> list[Scalar]:
        """Return free + H^-1 push (n,)."""
        return _sum(free, self._H_factors.solve(push))

    def joint_torques(self, contact_forces: Sequence[Scalar]) -> list[Scalar]:
        """Return the joint torques (n,) that make contact forces on the object (d,)."""
        return transposed_times(self.J, contact_forces, len(self.H))


def _damped(A: Matrix, part: Scalar) -> Factors:
    """Return the factors of a matrix with a part of its diagonal added."""
    return factor([[*row[:i], row[i] + part * row[i]] for i, row in enumerate(A)])


def _damped_free(A: Matrix, sizes: Sequence[int], safe_pivot: Scalar) -> Matrix:
    """Return a matrix whose first rows, of the free directions, are damped where they must be.

    The pivots of the first rows are those of their Schur complement: what arms can do in the free
    directions without moving in the blocked ones. Each contact's rows are damped by its smallest.

    Args:
        A: Lower triangle; the rows of each contact's free directions, then the blocked ones.
        sizes: How many free directions each contact has.
        safe_pivot: Smallest relative pivot that is not damped.
    """
    if not sizes:
        return A
    scales: list[Scalar] = []
    for size in sizes:  # a direction in which an arm cannot move at all has no size of its own
        own = [A[i][i] for i in range(len(scales), len(scales) + size)]
        floor = _TINY_PART * reduce(maximum, own)
        scales += [value + floor for value in own]
    trial = factor(_added_to_diagonal(A, [_TRIAL * safe_pivot * scale for scale in scales]))
    damping: list[Scalar] = []
    for size in sizes:
        rows = range(len(damping), len(damping) + size)
        pivots = [1.0 / (trial.inverse_diagonal[i] * scales[i]) for i in rows]
        near = maximum(0.0, 1.0 - reduce(minimum, pivots) / safe_pivot)
        damping += [safe_pivot * near * near * scales[i] for i in rows]
    return _added_to_diagonal(A, damping)


def _added_to_diagonal(A: Matrix, values: Sequence[Scalar]) -> Matrix:
    """Return a lower triangle with values added to the first of its diagonal."""
    first = [[*row[:-1], row[-1] + value] for row, value in zip(A, values, strict=False)]
    return [*first, *A[len(values) :]]


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
    free: FreeDirections = _NONE_FREE,
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
        free: What the contacts leave free of the hands; nothing by default.
    """
    n, d, f = len(C), len(contacts.bias), len(free.motion.bias)
    # (29): S^T J qdd = W_S^T a + rate(W_S^T) v - rate(S^T J) qd; W_S turns with the object. Along
    # the free directions hands go with the object in the same way, and move by d_ah besides.
    spun = [0.0, 0.0, 0.0, *held.turning.cross(held.velocity)]
    of_object = [a - b for a, b in zip(acceleration.object, spun, strict=True)]
    following = [
        *_differences(transposed_times(free.W, of_object, f), free.motion.bias),
        *_differences(transposed_times(W, of_object, d), contacts.bias),
    ]
    hands = [*acceleration.hands, *[0.0] * d]  # of the self-motion: the object stays unmoved
    drive, lost = arms.push(
        [*_sum(following[:f], acceleration.hands), *following[f:]], acceleration.posture
    )
    kept, _ = arms.push(hands, acceleration.posture)
    going = [
        *transposed_times(free.W, velocity.object, f),
        *transposed_times(W, velocity.object, d),
    ]
    towards, _ = arms.push([*_sum(going[:f], velocity.hands), *going[f:]], velocity.posture)
    inertial = times(share, held.times(acceleration.object))
    carrying = times(share, held.bias)
    if holding:
        carrying = _sum(carrying, times(internal, holding))
    return HybridTorqueParts(
        support=_sum(C, arms.joint_torques(carrying)),
        internal=arms.joint_torques(times(internal, squeeze)) if squeeze else [0.0] * n,
        contact=arms.joint_torques(times(share, push)),
        # H qdd = H free + drive, without a second product with H
        motion=_sum(_differences(drive, kept), arms.joint_torques(inertial)),
        posture=_sum(times(arms.H, acceleration.posture), kept),
        acceleration=arms.moved(acceleration.posture, drive),
        velocity=arms.moved(velocity.posture, towards),
        pivot=arms.pivot,
        lost=lost,
    )


def _sum(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _differences(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    return [x - y for x, y in zip(a, b, strict=True)]
