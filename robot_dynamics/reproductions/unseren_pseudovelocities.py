# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The two choices of pseudovelocities in Appendix C of Unseren's report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.jointed_object import JointedObjectSystem
from robot_dynamics.reproductions.joint_space import JointSpaceTerms
from robot_dynamics.reproductions.pseudovelocities import PseudoVelocities


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
        # v_cs = v_1 + omega x r: the rotation of r adds omega x (omega x r).
        swept[3:] += np.cross(omega, to_joint[3:] @ [*omega, 0.0, 0.0, 0.0])
        return np.concatenate([terms.G_dot_qd[1][:3], swept])

    def inverse(self, terms: JointSpaceTerms) -> tuple[Array, Array]:
        """Return Pi (C.17) and Sigma (C.18), from the inverses of the arms' Jacobians."""
        return _analytic_inverse(self.system, terms, _to_joint(terms, 0))


def _to_joint(terms: JointSpaceTerms, part: int) -> Array:
    """Return the matrix from a part's [omega; v] to [omega; v_cs] (6, 6)."""
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
            "an arm is at a singularity, where the report's pseudovelocities do not determine the "
            "motion of its joints; expected other positions: or choose ConstantVelocities."
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
            f"the object has a {kind} joint and the arms {joints[0]} and {joints[1]} joints; the "
            "report's examples expected a spherical joint and six joints each: choose "
            "CompletedVelocities."
        )
