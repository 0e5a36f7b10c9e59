# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equations of arms and base, partitioned into driven and following motion.

The paper partitions them into arms and base, (16) to (28), and its appendix A into active and
passive joints; both are the same blocks of one inertia matrix, which the paper doubts. The
following velocities "p" are the base's velocity and the rates of joints without a drive; the
driven ones are "a".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robot_dynamics.arrays import Array


@dataclass(frozen=True)
class Partition:
    """M_p V_dot_p + M_ap qdd + C_p = f_p - J_p^T f_e, and the same of the driven joints.

    Forces f_e are by the end-effectors *on the object*, stacked, each in its end-effector's frame,
    angular first.

    Attributes:
        M_p: Inertia of the following motion (p, p).
        M_ap: Its coupling with the driven joints (p, a).
        M_a: Inertia of the driven joints (a, a).
        C_p: Bias of the following motion (p,), including gravity and springs.
        C_a: Bias of the driven joints (a,).
        J_p: Jacobian of the end-effectors over the following velocities (6m, p): the paper's J_b.
        J_a: The same over the driven joints (6m, a): J_q.
        J_dot_v: Rates of both times the velocities (6m,).
    """

    M_p: Array
    M_ap: Array
    M_a: Array
    C_p: Array
    C_a: Array
    J_p: Array
    J_a: Array
    J_dot_v: Array

    @cached_property
    def disturbance_jacobian(self) -> Array:
        """J_D = M_p^-1 M_ap (p, a) (38): without momentum, V_p = -J_D qd.

        Its product with accelerations enters the base's acceleration with a minus; (37) has a
        plus.
        """
        return np.asarray(np.linalg.solve(self.M_p, self.M_ap))

    @cached_property
    def generalized_jacobian(self) -> Array:
        """J = J_q - J_b J_D (6m, a) (41): without momentum, V_e = J qd."""
        return self.J_a - self.J_p @ self.disturbance_jacobian

    @cached_property
    def M(self) -> Array:
        """Generalised inertia M_a - M_ap^T M_p^-1 M_ap (a, a) (28)."""
        return self.M_a - self.M_ap.T @ self.disturbance_jacobian

    @cached_property
    def C(self) -> Array:
        """Bias C_a - M_ap^T M_p^-1 C_p (a,) (28).

        The printed C_a and C_p contain the inverse of X_b, which is not square.
        """
        return self.C_a - self.disturbance_jacobian.T @ self.C_p

    @cached_property
    def H(self) -> Array:
        """J M^-1 J^T + J_b M_p^-1 J_b^T (6m, 6m) (48): inverse inertia that the object feels."""
        J = self.generalized_jacobian
        return np.asarray(
            J @ np.linalg.solve(self.M, J.T) + self.J_p @ np.linalg.solve(self.M_p, self.J_p.T)
        )

    def reduced_torque(self, torque: Array, force: Array) -> Array:
        """Return T_hat = T - M_ap^T M_p^-1 f_p (a,) (28).

        Args:
            torque: Torques of the drives, T (a,).
            force: Forces on base and passive joints, f_p (p,), for example of thrusters.
        """
        return np.asarray(torque - self.disturbance_jacobian.T @ force)

    def joint_accelerations(self, torque: Array, force: Array, f_e: Array) -> Array:
        """Return qdd (a,) from (28); other arguments as for `reduced_torque`."""
        rest = self.reduced_torque(torque, force) - self.generalized_jacobian.T @ f_e - self.C
        return np.asarray(np.linalg.solve(self.M, rest))

    def following_accelerations(self, force: Array, f_e: Array, qdd: Array) -> Array:
        """Return V_dot_p (p,): base and passive joints under qdd (a,)."""
        rest = force - self.C_p - self.J_p.T @ f_e - self.M_ap @ qdd
        return np.asarray(np.linalg.solve(self.M_p, rest))

    def open_acceleration(self, torque: Array, force: Array) -> Array:
        """Return V_dot_e (6m,) of the end-effectors without an object (44).

        Printed with T instead of T_hat; they differ if a force acts on the base.
        """
        none = np.zeros(len(self.J_a))
        qdd = self.joint_accelerations(torque, force, none)
        following = np.linalg.solve(self.M_p, force - self.C_p)
        return np.asarray(self.J_p @ following + self.generalized_jacobian @ qdd + self.J_dot_v)

    def inverse_dynamics(self, qdd: Array, force: Array, f_e: Array) -> Array:
        """Return the drives' torques T (a,) that give qdd (a,) (28); the base follows."""
        reduced = self.M @ qdd + self.C + self.generalized_jacobian.T @ f_e
        return np.asarray(reduced + self.disturbance_jacobian.T @ force)
