# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pseudovelocities nu = B qd: what the designer lets the reduced model speak of (34).

Any B will do that makes [A; B] regular. Appendix C of the report gives two for arms with six
joints; `CompletedVelocities` adds what they lack when arms are redundant, which the report leaves
open.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.jointed_object.joint_space import JointSpaceTerms
from robot_dynamics.manipulation.jointed_object.system import JointedObjectSystem

Array = NDArray[np.float64]

# Relative size of a pivot under which a direction counts as lost.
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
                f"{type(self).__name__}: these pseudovelocities do not determine the motion here."
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
        """Return the joint velocities that determine the motion best here, by pivoting of A.

        What is left over once the columns of A with the largest pivots are taken; the choice
        holds until [A; B] turns badly conditioned.
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
class FirstExample(PseudoVelocities):
    """nu = [omega_2; omega_1; v_1]: the parts' turning, and the first centre of mass (C.2).

    For a spherical joint and two arms with six joints.
    """

    system: JointedObjectSystem

    def __post_init__(self) -> None:
        _require_example(self.system)

    def rows(self, terms: JointSpaceTerms) -> Array:
        """Return B (C.2)."""
        return np.vstack([terms.G[1][:3], terms.G[0]])

    def rate(self, terms: JointSpaceTerms) -> Array:
        """Return B_dot qd."""
        return np.concatenate([terms.G_dot_qd[1][:3], terms.G_dot_qd[0]])

    def inverse(self, terms: JointSpaceTerms) -> tuple[Array, Array]:
        """Return Pi (C.9) and Sigma (C.10), from the inverses of the arms' Jacobians."""
        return _analytic_inverse(self.system, terms, np.eye(6))


@dataclass(frozen=True)
class SecondExample(PseudoVelocities):
    """nu = [omega_2; omega_1; v_cs]: the parts' turning, and the joint's velocity (C.11).

    For a spherical joint and two arms with six joints.
    """

    system: JointedObjectSystem

    def __post_init__(self) -> None:
        _require_example(self.system)

    def rows(self, terms: JointSpaceTerms) -> Array:
        """Return B (C.11)."""
        return np.vstack([terms.G[1][:3], _to_joint(terms, 0) @ terms.G[0]])

    def rate(self, terms: JointSpaceTerms) -> Array:
        """Return B_dot qd."""
        to_joint = _to_joint(terms, 0)
        swept = to_joint @ terms.G_dot_qd[0]
        omega = terms.velocity[0, :3]
        # v_cs = v_1 + omega x r: the turning of r adds omega x (omega x r).
        swept[3:] += np.cross(omega, to_joint[3:] @ [*omega, 0.0, 0.0, 0.0])
        return np.concatenate([terms.G_dot_qd[1][:3], swept])

    def inverse(self, terms: JointSpaceTerms) -> tuple[Array, Array]:
        """Return Pi (C.17) and Sigma (C.18), from the inverses of the arms' Jacobians."""
        return _analytic_inverse(self.system, terms, _to_joint(terms, 0))


@dataclass(frozen=True)
class CompletedVelocities(PseudoVelocities):
    """The first part's velocity, what the second adds to it, and joint velocities for the rest.

    nu = [omega_1; v_1; components of omega_2, v_2; joint velocities]. For arms with any number of
    joints, and any object: the joint velocities are what the report leaves open, the motion that
    redundant arms have left.

    Attributes:
        second: Which components of the second part's velocity (f, 6), one for each freedom of the
            object's joint, in world axes: omega_2 if it is spherical. They stay as they are while
            the object turns, so that the choice wears out in time.
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
                "the arms cannot move the object freely here; choose ConstantVelocities."
            )
        free = basis[:, len(fixed) :]  # joint velocities that do not move the object
        _, _, order = qr(free.T, mode="economic", pivoting=True)
        return cls(second, tuple(sorted(int(j) for j in order[:left])))

    def rows(self, terms: JointSpaceTerms) -> Array:
        """Return B."""
        selection = np.eye(terms.A.shape[1])[list(self.joints)]
        return np.vstack([terms.G[0], self.second @ terms.G[1], selection])

    def rate(self, terms: JointSpaceTerms) -> Array:
        """Return B_dot qd; joint velocities have none."""
        second = self.second @ terms.G_dot_qd[1]
        return np.concatenate([terms.G_dot_qd[0], second, np.zeros(len(self.joints))])


def _to_joint(terms: JointSpaceTerms, part: int) -> Array:
    """Return what takes a part's [omega; v] to [omega; v_cs] (6, 6): L_s^T below the identity."""
    return np.vstack([np.eye(3, 6), terms.L_s[part].T])


def _analytic_inverse(
    system: JointedObjectSystem, terms: JointSpaceTerms, first: Array
) -> tuple[Array, Array]:
    """Return Pi and Sigma of nu = [omega_2; first V_1], by way of each arm's own Jacobian.

    V_1 = first^-1 (first V_1) and v_cs,2 = v_cs,1 - A qd give both parts' velocities, the
    inverse Jacobians the joints' (C.3 to C.18).
    """
    n = terms.A.shape[1]
    one, two = (part.v_index for part in system.parts)
    try:
        J_1 = np.linalg.inv(first @ terms.G[0][:, one])
        J_2 = np.linalg.inv(_to_joint(terms, 1) @ terms.G[1][:, two])
    except np.linalg.LinAlgError:
        raise RobotDynamicsError(
            "an arm is at a singularity, where the report's pseudovelocities do not determine its "
            "joints' motion; choose ConstantVelocities."
        ) from None
    to_cs = terms.L_s[0].T @ np.linalg.inv(first)  # v_cs of the first part, from first V_1
    Pi, Sigma = np.zeros((n, 3)), np.zeros((n, 9))
    Pi[two] = -J_2[:, 3:]
    Sigma[one, 3:] = J_1
    Sigma[two, :3] = J_2[:, :3]
    Sigma[two, 3:] = J_2[:, 3:] @ to_cs
    return Pi, Sigma


def _require_example(system: JointedObjectSystem) -> None:
    joints = [len(part.v_index) for part in system.parts]
    kind = system.joint.type.name
    if kind != "spherical" or joints != [6, 6]:
        raise ArgumentError(
            f"the report's examples are for a spherical joint and six joints an arm, not for a "
            f"{kind} joint and {joints[0]} and {joints[1]} joints; choose CompletedVelocities."
        )
