# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The reduced-order model in pseudovelocities (34) to (41), and the decoupled law (42) to (48)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.reproductions.joint_space import JointSpaceTerms
from robot_dynamics.reproductions.pseudovelocities import PseudoVelocities


@dataclass(frozen=True)
class ReducedOrderTerms:
    """The reduced model at one state.

    Attributes:
        joint_space: The terms in joint space.
        B: (n - c, n) (34).
        Pi: (n, c), the first columns of [A; B]^-1 (35).
        Sigma: (n, n - c), the others: qd = Sigma nu (37).
        drift: [Pi A_dot + Sigma B_dot] qd (n,): qdd = Sigma nu_dot - drift (38).
        B_dot_qd: (n - c,).
        conditioning: Condition number of [A; B], its rows made equal in size.
    """

    joint_space: JointSpaceTerms
    B: Array
    Pi: Array
    Sigma: Array
    drift: Array
    B_dot_qd: Array
    conditioning: float

    @classmethod
    def of(cls, joint_space: JointSpaceTerms, choice: PseudoVelocities) -> ReducedOrderTerms:
        """Return the reduced model of a choice of pseudovelocities.

        Raises:
            RobotDynamicsError: If the choice does not determine the motion at this state.
        """
        B, B_dot_qd = choice.rows(joint_space), choice.rate(joint_space)
        Pi, Sigma = choice.inverse(joint_space)
        whole = np.vstack([joint_space.A, B])
        sizes = np.linalg.norm(whole, axis=1, keepdims=True)
        return cls(
            joint_space,
            B,
            Pi,
            Sigma,
            Pi @ joint_space.A_dot_qd + Sigma @ B_dot_qd,
            B_dot_qd,
            float(np.linalg.cond(whole / np.where(sizes > 0.0, sizes, 1.0))),
        )

    def joint_acceleration(self, nu_dot: Array) -> Array:
        """Return qdd (n,) (38)."""
        return self.Sigma @ nu_dot - self.drift

    def forward(self, tau: Array) -> tuple[Array, Array]:
        """Return nu_dot (n - c,) (40) and the force on the second part (c,) (41)."""
        terms = self.joint_space
        D, Sigma = terms.D, self.Sigma
        rest = terms.residual_torque(tau) + D @ self.drift
        solved = np.linalg.solve(Sigma.T @ D @ Sigma, Sigma.T @ rest)
        nu_dot = np.asarray(solved, dtype=float)
        # (41) with the accelerations known: the text after it, f = Pi^T (... - D qdd)
        f = self.Pi.T @ (terms.residual_torque(tau) - D @ self.joint_acceleration(nu_dot))
        return nu_dot, f

    def inverse(self, nu_dot: Array, f: Array) -> Array:
        """Return the torques (n,) that give nu_dot (n - c,) and transmit f (c,)."""
        return self.joint_space.inverse(self.joint_acceleration(nu_dot), f)


@dataclass(frozen=True)
class DecoupledLaw:
    """The torques of the law, in its two parts.

    Attributes:
        primary: tau^p (n,), which linearises the model (42).
        secondary: tau^s (n,), the part of the servos (46).
    """

    primary: Array
    secondary: Array

    @property
    def torque(self) -> Array:
        """tau = tau^p + tau^s (n,)."""
        return self.primary + self.secondary


def decoupled_law(estimate: ReducedOrderTerms, motion: Array, force: Array) -> DecoupledLaw:
    """Return the torques for which nu_dot = motion (47) and f = force (48), model permitting.

    Args:
        estimate: The controller's model at the measured, or the desired, state: feedback or
            feed-forward estimates.
        motion: Output of the motion servo, tau_2 (n - c,).
        force: Output of the force servo, tau_1 (c,).
    """
    terms = estimate.joint_space
    primary = terms.C + terms.H_A + terms.H_B_qd - terms.D @ estimate.drift  # (42)
    secondary = terms.A.T @ force + terms.D @ (estimate.Sigma @ motion)  # (46)
    return DecoupledLaw(primary, secondary)
