# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's stacked operators, (7) to (24), and their blocks.

An independent derivation of the blocks of `Partition`, with the stacked six-vectors of all bodies,
as in the paper; the composite-rigid-body algorithm is faster. The base is the first of the bodies
here, so that X_b is the first column of X.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.inverse import base_acceleration
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    body_velocities,
    joint_transforms,
    motion_subspaces,
    velocity_products,
)
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.reproductions.unified.partition import Partition
from robot_dynamics.reproductions.unified.system import UnifiedSystem
from robot_dynamics.spatial import Motion

_UNITS = [Motion.of(row) for row in np.eye(6).tolist()]


@dataclass(frozen=True)
class Operators:
    """Velocities of all bodies as products of matrices, V = X Phi qd (11).

    Attributes:
        X: Velocity transforms (6N, 6N) from each body to those that it carries.
        X_dot: Their rates: -V_rel x X for consecutive bodies, printed with a plus; rates of
            products follow the product rule, which is printed without sums.
        Phi: Free modes (6N, n).
        Phi_dot_qd: Accelerations by varying free modes (6N,).
        M_q: Inertias (6N, 6N).
        b: Gyroscopic forces (6N,) (16), less gravity.
        B: Velocity transforms (6m, 6N) from the last bodies to the end-effectors (14).
        qd: Velocities (n,).
    """

    X: Array
    X_dot: Array
    Phi: Array
    Phi_dot_qd: Array
    M_q: Array
    b: Array
    B: Array
    qd: Array

    @classmethod
    def of(cls, system: UnifiedSystem, q: Array, qd: Array) -> Operators:
        """Return the operators at positions (nq,) and velocities (nv,) of `system.model`."""
        model = system.model
        parameters = parameters_of(model)
        positions, rates = q.tolist(), qd.tolist()
        Xup = joint_transforms(model, positions)
        v = body_velocities(model, Xup, rates, positions)
        X0 = body_transforms(model, Xup)
        # The object is a body of the model but not of the robot.
        bodies = [i for i in range(len(model.bodies)) if i != system.object_body]
        n, size = model.nv, 6 * len(bodies)
        X, X_dot, M_q = (np.zeros((size, size)) for _ in range(3))
        Phi, Phi_dot_qd, b = np.zeros((size, n)), np.zeros(size), np.zeros(size)
        S, c = motion_subspaces(model, positions), velocity_products(model, positions, rates)
        falling = base_acceleration(parameters.gravity)
        for row, i in enumerate(bodies):
            at = slice(6 * row, 6 * row + 6)
            for j in model.support(i):
                column = bodies.index(j)
                to = slice(6 * column, 6 * column + 6)
                iXj = X0[i].compose(X0[j].inverse())
                X[at, to] = _matrix(iXj.__mul__)
                relative = v[i] - iXj * v[j]
                X_dot[at, to] = -_matrix(relative.cross) @ X[at, to]
            inertia = parameters.inertias[i]
            M_q[at, at] = _matrix(inertia.__mul__)
            weight = inertia * (X0[i] * falling)
            b[at] = (v[i].cross_force(inertia * v[i]) + weight).components()
            for index, s in zip(range(n)[model.v_slices[i]], S[i], strict=True):
                Phi[at, index] = s.components()
            Phi_dot_qd[at] = c[i].components()
        return cls(X, X_dot, Phi, Phi_dot_qd, M_q, b, _to_tools(system, model, bodies), qd)

    def partition(self, system: UnifiedSystem) -> Partition:
        """Return the blocks of (17) to (28), corrected: C has no inverse of X_b."""
        J = self.X @ self.Phi
        swept = self.X_dot @ (self.Phi @ self.qd) + self.X @ self.Phi_dot_qd
        M = J.T @ self.M_q @ J
        C = J.T @ (self.b + self.M_q @ swept)
        J_e = self.B @ J  # V_e = B V
        a, p = system.driven, system.following
        return Partition(
            M[np.ix_(p, p)], M[np.ix_(p, a)], M[np.ix_(a, a)], C[p], C[a], J_e[:, p], J_e[:, a],
            self.B @ swept,
        )  # fmt: skip


def _to_tools(system: UnifiedSystem, model: Model, bodies: list[int]) -> Array:
    """Return B (6m, 6N)."""
    B = np.zeros((6 * len(system.tools), 6 * len(bodies)))
    for row, tool in enumerate(system.tools):
        link = model.link(tool)
        column = 6 * bodies.index(link.body)
        B[6 * row : 6 * row + 6, column : column + 6] = _matrix(link.placement.__mul__)
    return B


def _matrix(linear: Callable[[Motion], object]) -> Array:
    """Return the matrix (6, 6) of a linear map of motions."""
    columns = [linear(unit).components() for unit in _UNITS]  # type: ignore[attr-defined]
    return np.array(columns, dtype=float).T
