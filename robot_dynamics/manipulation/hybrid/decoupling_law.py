# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Terms of the law (32) to (37), traceable: the object's inertia, and the generalised inverse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from robot_dynamics.manipulation.hybrid.grasp_kinematics import ContactMotion, Matrix
from robot_dynamics.scalar.functions import maximum, minimum
from robot_dynamics.scalar.linear_algebra import (
    Factors,
    dot,
    factor,
    times,
    transposed_times,
)
from robot_dynamics.spatial import Scalar, Symmetric3, Vector3

# Relative regularization that keeps the first factors finite at a singularity; far below any pivot
# that matters.
_FINITE = 1e-14
# Free directions are damped below FREE_CAUTION times the safe pivot. _TRIAL is the fraction of
# this limit that keeps trial factors finite if arms cannot move in a free direction, _TINY_PART
# the least size of a free direction relative to the contact's largest.
FREE_CAUTION, _TRIAL, _TINY_PART = 100.0, 1e-3, 1e-6

GeneralisedInverse = Literal["inertia", "plain"]


@dataclass(frozen=True)
class ObjectTerms:
    """The object's equation of motion about its centre of mass, in its own axes.

    Attributes:
        mass: Its mass.
        inertia: Its rotational inertia.
        inverse: The inverse of `inertia`.
        omega: Its angular velocity.
        velocity: The velocity of its centre of mass.
        gravity: The acceleration of gravity.
    """

    mass: Scalar
    inertia: Symmetric3
    inverse: Symmetric3
    omega: Vector3
    velocity: Vector3
    gravity: Vector3

    @property
    def bias(self) -> list[Scalar]:
        """Q_B (6,): [omega x I omega; -m g] (5)."""
        gyroscopic = self.omega.cross(self.inertia * self.omega)
        return [*gyroscopic, *(self.gravity * -self.mass)]

    def times(self, motion: Sequence[Scalar]) -> list[Scalar]:
        """Return I_B times an acceleration (6,)."""
        moment = self.inertia * Vector3.of(motion[:3])
        return [*moment, *(Vector3.of(motion[3:]) * self.mass)]

    def solve(self, wrench: Sequence[Scalar]) -> list[Scalar]:
        """Return I_B^-1 times a wrench (6,)."""
        rotation = self.inverse * Vector3.of(wrench[:3])
        return [*rotation, *(Vector3.of(wrench[3:]) * (1.0 / self.mass))]


@dataclass(frozen=True)
class OffCenterTerms(ObjectTerms):
    """The same about a point of the object from which its centre of mass is displaced.

    `inertia` is about the centre of mass, `velocity` and accelerations are of the point, and
    wrenches are about it. `solve` neglects the displacement: it is only used as a metric.

    Attributes:
        offset: Position of the centre of mass from the point.
    """

    offset: Vector3

    @property
    def bias(self) -> list[Scalar]:
        """Q_B (6,): with f = m (omega x (omega x d) - g), [omega x I omega + d x f; f]."""
        omega = self.omega
        force = (omega.cross(omega.cross(self.offset)) - self.gravity) * self.mass
        return [*(omega.cross(self.inertia * omega) + self.offset.cross(force)), *force]

    def times(self, motion: Sequence[Scalar]) -> list[Scalar]:
        """Return I_B times an acceleration (6,): [I alpha + d x f; f], f = m (a + alpha x d)."""
        alpha = Vector3.of(motion[:3])
        force = (Vector3.of(motion[3:]) + alpha.cross(self.offset)) * self.mass
        return [*(self.inertia * alpha + self.offset.cross(force)), *force]


@dataclass(frozen=True)
class FreeDirections:
    """Free directions of the hands along which the arms can move them.

    Attributes:
        motion: U^T J and its rate times qd, with U the free directions of all contacts.
        W: Wrench map W_U (6, f) of the free directions, in the object's axes.
        sizes: Number of free directions of each contact.
    """

    motion: ContactMotion
    W: Matrix
    sizes: Sequence[int] = ()


_NONE_FREE = FreeDirections(ContactMotion([], []), [[] for _ in range(6)])


class DampedInverse:
    """The generalised inverse of (34), damped near singularities.

    Solves G qdd = a for the qdd nearest to a given d_q, with the rows of G = [U^T J; S^T J]. The
    equations of the blocked directions, S^T J, hold exactly away from singularities. The equations
    of the free directions, U^T J, hold as far as the arms allow: they have separate damping, which
    leaves the equations of S^T J exact. The generalised inverse defines "nearest":

        "inertia": G^# = H^-1 G^T (G H^-1 G^T)^-1, the least kinetic energy of the difference.
        "plain": G^+ = G^T (G G^T)^-1, the least sum of squares, whatever the joints' units.

    Args:
        H: Inertia of the arms (n, n).
        J: S^T J (d, n).
        safe_pivot: Smallest relative pivot of J H^-1 J^T (or J J^T) that is not damped. At a
            singularity the damping reaches this fraction of the diagonal. Free directions are
            damped below 100 times this pivot.
        free: U^T J (f, n), and the number of its rows for each contact; none by default.
        inverse: The generalised inverse.
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

    def inertial_torque(
        self, a: Sequence[Scalar], d_q: Sequence[Scalar]
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return H (qdd - d_q) (n,) for the qdd nearest to d_q with G qdd = a.

        Args:
            a: Accelerations along the rows of G (f + d,).
            d_q: Joint accelerations (n,).

        Returns:
            The torque, and the accelerations (d,) lost to damping in the blocked directions.
        """
        rest = [x - y for x, y in zip(a, times(self._G, d_q), strict=True)]
        multipliers = self._A.solve(rest)
        blocked = multipliers[len(multipliers) - len(self.J) :]
        lost = [d * y for d, y in zip(self._damping, blocked, strict=True)]
        force = transposed_times(self._G, multipliers, len(d_q))
        return (times(self.H, force) if self._plain else force), lost

    def acceleration(
        self, d_q: Sequence[Scalar], inertial_torque: Sequence[Scalar]
    ) -> list[Scalar]:
        """Return d_q + H^-1 inertial_torque (n,)."""
        return [x + y for x, y in zip(d_q, self._H_factors.solve(inertial_torque), strict=True)]

    def joint_torques(self, contact_forces: Sequence[Scalar]) -> list[Scalar]:
        """Return the joint torques J^T F (n,) of contact forces on the object (d,) (36)."""
        return transposed_times(self.J, contact_forces, len(self.H))


def _damped(A: Matrix, part: Scalar) -> Factors:
    """Return the factors of a matrix with a fraction of its diagonal added to it."""
    return factor([[*row[:i], row[i] + part * row[i]] for i, row in enumerate(A)])


def _damped_free(A: Matrix, sizes: Sequence[int], safe_pivot: Scalar) -> Matrix:
    """Return a matrix whose first rows, of the free directions, are damped near singularities.

    The pivots of the first rows are the pivots of their Schur complement: the mobility of the arms
    in the free directions while the blocked directions are at rest. The smallest pivot of a
    contact determines the damping of its rows.

    Args:
        A: Lower triangle; the rows of each contact's free directions, then the blocked ones.
        sizes: Number of free directions of each contact.
        safe_pivot: Smallest relative pivot that is not damped.
    """
    if not sizes:
        return A
    scales: list[Scalar] = []
    for size in sizes:  # the size of a direction in which an arm cannot move is zero
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
    """Return a lower triangle with values added to its first diagonal entries."""
    first = [[*row[:-1], row[-1] + value] for row, value in zip(A, values, strict=False)]
    return [*first, *A[len(values) :]]
