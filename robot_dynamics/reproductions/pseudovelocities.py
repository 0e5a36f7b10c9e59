# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pseudovelocities nu = B qd: the velocities in which the reduced model is written (34).

B is any matrix that makes [A; B] regular. Appendix C of the report gives two for arms with six
joints (`reproductions.unseren_pseudovelocities`). `CompletedVelocities` extends them for redundant
arms, which the report does not treat.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from robot_dynamics.arrays import Array
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.reproductions.joint_space import JointSpaceTerms

# Relative size of a pivot below which a direction counts as lost.
_SINGULAR = 1e-9


class PseudoVelocities(ABC):
    """A choice of B; six-vectors are angular first, in world axes."""

    @abstractmethod
    def rows(self, terms: JointSpaceTerms) -> Array:
        """Return B (n - c, n)."""

    @abstractmethod
    def rate(self, terms: JointSpaceTerms) -> Array:
        """Return B_dot qd (n - c,)."""

    def inverse(self, terms: JointSpaceTerms) -> tuple[Array, Array]:
        """Return Pi (n, c) and Sigma (n, n - c), the blocks of [A; B]^-1 (35).

        Raises:
            RobotDynamicsError: If [A; B] is singular.
        """
        whole = np.vstack([terms.A, self.rows(terms)])
        if whole.shape[0] != whole.shape[1]:
            raise ArgumentError(
                f"B has {whole.shape[0] - len(terms.A)} rows, expected "
                f"{whole.shape[1] - len(terms.A)}: one for each degree of freedom."
            )
        try:
            inverse = np.linalg.inv(whole)
        except np.linalg.LinAlgError:
            raise RobotDynamicsError(
                f"{type(self).__name__}: [A; B] is singular at these positions; expected "
                "pseudovelocities that determine the motion: choose others."
            ) from None
        return inverse[:, : len(terms.A)], inverse[:, len(terms.A) :]


@dataclass(frozen=True)
class ConstantVelocities(PseudoVelocities):
    """Fixed combinations of joint velocities, such as some of them.

    Attributes:
        matrix: B (n - c, n).
    """

    matrix: Array

    @classmethod
    def chosen(cls, terms: JointSpaceTerms) -> ConstantVelocities:
        """Return the joint velocities that determine the motion best, by pivoting of A.

        They are the remaining columns of A after those with the largest pivots; the choice is
        valid until [A; B] becomes badly conditioned.
        """
        c, n = terms.A.shape
        _, _, order = qr(terms.A, mode="economic", pivoting=True)
        return cls(np.eye(n)[np.sort(order[c:])])

    def rows(self, terms: JointSpaceTerms) -> Array:
        """Return B."""
        return np.asarray(self.matrix, dtype=float)

    def rate(self, terms: JointSpaceTerms) -> Array:
        """Return zeros."""
        return np.zeros(len(self.matrix))


@dataclass(frozen=True)
class CompletedVelocities(PseudoVelocities):
    """Velocity of the first part, free components of the second part's, and joint velocities.

    nu = [omega_1; v_1; components of omega_2, v_2; joint velocities]. For arms with any number of
    joints, and any object: the joint velocities describe the self-motion of redundant arms, which
    the report leaves open.

    Attributes:
        second: Components of the second part's velocity (f, 6), one for each freedom of the
            object's joint, in world axes: omega_2 if it is spherical. They are constant while the
            object turns, so that their conditioning degrades with time.
        joints: Indices of the joint velocities that complete them.
    """

    second: Array
    joints: tuple[int, ...]

    @classmethod
    def chosen(cls, terms: JointSpaceTerms) -> CompletedVelocities:
        """Return the choice that is conditioned best here, by pivoting.

        Raises:
            RobotDynamicsError: If the arms cannot move the object freely here, because one has too
                few joints or is at a singularity.
        """
        second = terms.joint_motions.T
        fixed = np.vstack([terms.A, cls(second, ()).rows(terms)])
        left = terms.A.shape[1] - len(fixed)
        basis, R, _ = qr(fixed.T, mode="full", pivoting=True)
        sizes = np.abs(np.diag(R))
        if left < 0 or not sizes[-1] > _SINGULAR * sizes[0]:
            raise RobotDynamicsError(
                "the arms cannot move the object in all directions at these positions; expected "
                "six: choose ConstantVelocities."
            )
        free = basis[:, len(fixed) :]  # joint velocities that do not move the object
        _, _, order = qr(free.T, mode="economic", pivoting=True)
        return cls(second, tuple(sorted(int(j) for j in order[:left])))

    def rows(self, terms: JointSpaceTerms) -> Array:
        """Return B."""
        selection = np.eye(terms.A.shape[1])[list(self.joints)]
        return np.vstack([terms.G[0], self.second @ terms.G[1], selection])

    def rate(self, terms: JointSpaceTerms) -> Array:
        """Return B_dot qd; zero for joint velocities."""
        second = self.second @ terms.G_dot_qd[1]
        return np.concatenate([terms.G_dot_qd[0], second, np.zeros(len(self.joints))])
