# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The closed chain in joint space as arrays: forward and inverse dynamics (20) to (33)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from robot_dynamics.arrays import Array
from robot_dynamics.compile import Program, load_kernel, trace
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.jointed_object import PART_PARAMETERS, JointedObjectSystem
from robot_dynamics.manipulation.jointed_object.joint_space import joint_space_terms
from robot_dynamics.model.parameters import block_size, pack, unpack


@dataclass(frozen=True)
class JointSpaceTerms:
    """The terms of `joint_space_terms`, as arrays: six-vectors angular first, in world axes."""

    D: Array
    C: Array
    H_A: Array
    H_B_qd: Array
    A: Array
    A_dot_qd: Array
    gap: Array
    G: Array
    G_dot_qd: Array
    velocity: Array
    inertia: Array
    bias: Array
    L_m: Array
    L_s: Array
    tool_pose: Array
    point: Array
    directions: Array
    centers: Array

    @cached_property
    def _factors(self) -> Any:
        return cho_factor(self.D)

    @cached_property
    def D_inverse_A(self) -> Array:
        """D^-1 A^T (n, c)."""
        return np.asarray(cho_solve(self._factors, self.A.T))

    @cached_property
    def _reaction(self) -> Any:
        """The factors of A D^-1 A^T.

        Raises:
            RobotDynamicsError: If the arms cannot make all velocities of the object's joint.
        """
        S = self.A @ self.D_inverse_A
        pivots = np.linalg.eigvalsh(S / np.sqrt(np.outer(np.diag(S), np.diag(S))))
        if not pivots[0] > 1e-12:
            raise RobotDynamicsError(
                "the constraints of the object's joint are dependent, because both arms are at a "
                "singularity; expected positions at which its force is determined."
            )
        return cho_factor(S)

    @cached_property
    def joint_motions(self) -> Array:
        """Motions (6, f) that the object's joint allows the second part, about `point`.

        They are relative to the first part, in world axes, with columns of unit length; the forces
        of the joint do no work on them. The three rotations of a spherical joint are about the
        axes.
        """
        blocked = np.linalg.qr(self.directions)[0]
        allowed = np.eye(6) - blocked @ blocked.T
        # Columns that span it, by pivoting: a Cholesky factorisation without the factor.
        left, chosen = allowed.copy(), []
        for _ in range(6 - len(self.A)):
            k = int(left.diagonal().argmax())
            chosen.append(k)
            left -= np.outer(left[k], left[k]) / left[k, k]
        columns = allowed[:, sorted(chosen)]
        return np.asarray(columns / np.sqrt(np.sum(columns * columns, axis=0)))

    def residual_torque(self, tau: Array) -> Array:
        """Return tau - C - H_A - H_B qd (n,)."""
        return np.asarray(tau, dtype=float) - self.C - self.H_A - self.H_B_qd

    def forward(self, tau: Array) -> tuple[Array, Array]:
        """Return accelerations (n,) and the force on the second part (c,) (31), (23)."""
        rest = self.residual_torque(tau)
        unconstrained = cho_solve(self._factors, rest)
        f = cho_solve(self._reaction, self.A_dot_qd + self.A @ unconstrained)
        return unconstrained - self.D_inverse_A @ f, f

    def inverse(self, qdd: Array, f: Array) -> Array:
        """Return the torques (n,) of accelerations that keep the object whole (23).

        They are a family over the forces in the object's joint: each `f` (c,) is transmitted
        exactly, without an effect on the motion.
        """
        return self.D @ qdd + self.C + self.H_A + self.H_B_qd + self.A.T @ f

    def least_torque(self, qdd: Array, weights: Array | None = None) -> tuple[Array, Array]:
        """Return the least torques (n,) of accelerations, and the transmitted force (c,).

        Args:
            qdd: Accelerations (n,) that satisfy (30).
            weights: Weights of the squared torques (n,); one by default.
        """
        needed = self.inverse(qdd, np.zeros(len(self.A)))
        root = np.ones(len(needed)) if weights is None else np.sqrt(weights)
        found = np.linalg.lstsq(root[:, None] * self.A.T, -root * needed, rcond=None)[0]
        f = np.asarray(found, dtype=float)
        return needed + self.A.T @ f, f

    def grasp_wrenches(self, qdd: Array, f: Array) -> Array:
        """Return the wrenches (2, 6) by the tools on the parts, at the tools, in world axes (8).

        Args:
            qdd: Accelerations (n,).
            f: Force in the object's joint, on the second part (c,).
        """
        wrenches = []
        for i, sign in ((0, -1.0), (1, 1.0)):
            needed = self.inertia[i] @ (self.G[i] @ qdd + self.G_dot_qd[i]) + self.bias[i]
            wrenches.append(np.linalg.solve(self.L_m[i], needed - sign * self.L_s[i] @ f))
        return np.array(wrenches)


class JointSpaceModel:
    """The closed chain's terms, compiled.

    Attributes:
        system: Arms and object.
    """

    def __init__(self, system: JointedObjectSystem) -> None:
        self.system = system
        key = b"jointed_object\0" + repr([part.body for part in system.parts]).encode()
        parts = [value for part in system.parts for value in part.parameters()]
        block = np.concatenate([pack(system.arms), np.array(parts, dtype=float)])
        self._kernel = load_kernel(
            key + system.arms.structure_key, lambda: joint_space_program(system), lanes=1
        ).bind(block)

    def terms(self, q: Array, qd: Array) -> JointSpaceTerms:
        """Return the terms at positions (n,) and velocities (n,)."""
        return JointSpaceTerms(*self._kernel(q, qd))


def joint_space_program(system: JointedObjectSystem) -> Program:
    """Return the program of the terms; its parameter block ends with the parts' own."""
    model = system.arms
    size = block_size(model)

    def run(q: Any, qd: Any, block: Any) -> dict[str, Any]:
        parts = [
            part.with_parameters(block[size + i * PART_PARAMETERS :][:PART_PARAMETERS])
            for i, part in enumerate(system.parts)
        ]
        return joint_space_terms(system, q, qd, unpack(model, block[:size]), parts)

    inputs = {"q": model.nq, "qd": model.nv}
    return trace(run, "jointed_object", inputs, size + 2 * PART_PARAMETERS)
