# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Dynamics of a mechanism whose base floats, without a joint to the world (sections 9.3 to 9.5).

The base, body 0 of the book, is the only body on a floating joint to the world and carries all
others. Its velocity and acceleration are spatial, in its own coordinates, like those of the joint.
`Robot` treats that joint like any other: use this module for single terms (the floating Jacobian,
the reduced matrices of space robots) and as a check. Springs and friction are not included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.dynamics.forward import (
    articulated_biases,
    articulated_bodies,
    velocity_terms,
)
from robot_dynamics.dynamics.inverse import net_forces, velocities_and_accelerations
from robot_dynamics.dynamics.jacobian import columns_in_frame
from robot_dynamics.dynamics.kinematics import joint_transforms, motion_subspaces
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import WORLD, Link, Model
from robot_dynamics.model.joints import Floating, combined
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.linear_algebra import dot, factor
from robot_dynamics.spatial import Motion, Scalar, Vector3

Matrix = list[list[Scalar]]


@dataclass(frozen=True)
class FloatingTerms:
    """The terms of [[I0, F], [F^T, H]] [a0; qdd] + [p0; C] = [0; tau] (9.13).

    Attributes:
        I0: Composite inertia of everything, in base coordinates (6, 6).
        F: Momentum of everything over the velocities of the joints (6, n).
        H: Inertia matrix of the joints with the base at rest (n, n).
        p0: Force (6,) that the base needs for no accelerations.
        C: The same of the joints (n,).
    """

    I0: Matrix
    F: Matrix
    H: Matrix
    p0: list[Scalar]
    C: list[Scalar]

    def reduced(self) -> tuple[Matrix, list[Scalar]]:
        """Return H^fl (n, n) and C^fl (n,), the base eliminated (9.15, 9.16); H^fl is dense."""
        columns = self.momentum_shares()
        n = range(len(self.H))
        H = [[self.H[i][j] - dot(self._column(i), columns[j]) for j in n] for i in n]
        recoil = factor(self.I0).solve(self.p0)
        return H, [self.C[i] - dot(self._column(i), recoil) for i in n]

    def momentum_shares(self) -> Matrix:
        """Return the columns (n, 6) of I0^-1 F: minus the recoil of the base from each joint."""
        factors = factor(self.I0)
        return [factors.solve(self._column(j)) for j in range(len(self.H))]

    def forward_dynamics(self, tau: Sequence[Scalar]) -> list[Scalar]:
        """Return [a0; qdd] (6 + n,) under joint forces (n,), without fill-in (section 6.5)."""
        upper = [[*i, *f] for i, f in zip(self.I0, self.F, strict=True)]
        lower = [[*self._column(i), *row] for i, row in enumerate(self.H)]
        bias = [*self.p0, *self.C]
        pushes = [*[0.0] * 6, *tau]
        return factor(upper + lower).solve([t - c for t, c in zip(pushes, bias, strict=True)])

    def _column(self, joint: int) -> list[Scalar]:
        return [row[joint] for row in self.F]


def floating_terms(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Parameters
) -> FloatingTerms:
    """Return the terms of the equation of motion, by RNEA and CRBA (Table 9.5).

    Args:
        model: The mechanism, on one floating joint.
        q: Positions (nq,), those of the base first.
        qd: Velocities (nv,), in the same order.
        parameters: Gravity and inertias.

    Raises:
        RobotDynamicsError: If the mechanism has no floating base.
    """
    _require_floating(model)
    Xup, S = joint_transforms(model, q), motion_subspaces(model, q)
    # The base accelerates by minus gravity: a_0^vp = -0a_g
    v, a = velocities_and_accelerations(model, Xup, qd, None, parameters.gravity, q)
    f = net_forces(v, a, parameters)
    Ic = list(parameters.inertias)
    n = model.nv - 6
    H: Matrix = [[0.0] * n for _ in range(n)]
    F: Matrix = [[0.0] * n for _ in range(6)]
    C: list[Scalar] = [0.0] * n
    for i in reversed(range(1, len(model.bodies))):
        parent, first = model.bodies[i].parent, model.v_slices[i].start - 6
        Ic[parent] = Ic[parent] + Xup[i].inverse_times(Ic[i])
        for k, s in enumerate(S[i]):
            C[first + k] = s.dot(f[i])
        f[parent] = f[parent] + Xup[i].inverse_times(f[i])
        for k, s in enumerate(S[i]):
            push, j, row = Ic[i] * s, i, first + k
            while True:
                for m, s_j in enumerate(S[j], model.v_slices[j].start - 6):
                    H[row][m] = H[m][row] = s_j.dot(push)
                push, j = Xup[j].inverse_times(push), model.bodies[j].parent
                if j == 0:
                    break
            for entry, value in zip(F, push.components(), strict=True):
                entry[row] = value
    for i, armature in enumerate(model.armature.tolist()[6:]):
        if armature:
            H[i][i] = H[i][i] + armature
    return FloatingTerms(Ic[0].articulated().matrix(), F, H, f[0].components(), C)


def floating_forward_dynamics(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    parameters: Parameters,
) -> list[Scalar]:
    """Return [a0; qdd] (nv,) under joint forces (nv - 6,) by articulated bodies (Table 9.4)."""
    _require_floating(model)
    Xup, S = joint_transforms(model, q), motion_subspaces(model, q)
    _, c, p = velocity_terms(model, Xup, S, q, qd, parameters)
    joints: list[tuple[Motion, ...]] = [(), *S[1:]]
    bodies = articulated_bodies(model, Xup, joints, parameters)
    given = [[], *([tau[k - 6] for k in range(at.start, at.stop)] for at in model.v_slices[1:])]
    pA, u = articulated_biases(model, Xup, joints, bodies, c, p, given)
    solved = factor(bodies[0].IA.matrix()).solve(pA[0].components())
    a = [-Motion.of(solved)]  # a_0 = -(I_0^A)^-1 p_0^A, gravity not in it
    rates: list[Scalar] = []
    for i in range(1, len(model.bodies)):
        a_i = Xup[i] * a[model.bodies[i].parent] + c[i]
        rest = [u_k - a_i.dot(column) for u_k, column in zip(u[i], bodies[i].U, strict=True)]
        found = bodies[i].D.solve(rest)
        a.append(a_i + combined(S[i], found))
        rates += found
    falling = Xup[0] * Motion(Vector3.zero(), parameters.gravity)
    return [*(a[0] + falling).components(), *rates]


def floating_inverse_dynamics(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    parameters: Parameters,
) -> tuple[list[Scalar], list[Scalar]]:
    """Return a0 (6,) and the joint forces (nv - 6,) of accelerations of the joints (Table 9.6).

    Args:
        model: The mechanism, on one floating joint.
        q: Positions (nq,), those of the base first.
        qd: Velocities (nv,), in the same order.
        qdd: Accelerations of the joints (nv - 6,).
        parameters: Gravity and inertias.
    """
    _require_floating(model)
    Xup, S = joint_transforms(model, q), motion_subspaces(model, q)
    given = [*[0.0] * 6, *qdd]
    v, a = velocities_and_accelerations(model, Xup, qd, given, parameters.gravity, q)
    Ic, pc = list(parameters.inertias), net_forces(v, a, parameters)
    for i in reversed(range(1, len(model.bodies))):
        parent = model.bodies[i].parent
        Ic[parent] = Ic[parent] + Xup[i].inverse_times(Ic[i])
        pc[parent] = pc[parent] + Xup[i].inverse_times(pc[i])
    solved = factor(Ic[0].articulated().matrix()).solve(pc[0].components())
    recoil = [-Motion.of(solved)]  # 0a_0 = -(I_0^c)^-1 p_0^c
    tau: list[Scalar] = []
    for i in range(1, len(model.bodies)):
        recoil.append(Xup[i] * recoil[model.bodies[i].parent])
        f = Ic[i] * recoil[i] + pc[i]
        tau += [s.dot(f) for s in S[i]]
    for i, armature in enumerate(model.armature.tolist()[6:]):
        if armature:
            tau[i] = tau[i] + qdd[i] * armature
    # Without its own acceleration the base has minus gravity: a_0 = 0a_0.
    return recoil[0].components(), tau


def floating_jacobian(
    model: Model, link: Link, q: Sequence[Scalar], parameters: Parameters
) -> Matrix:
    """Return J^fl (6, n) of a frame, in its own coordinates (Example 9.4).

    The velocity of the frame is J^fl qd, with qd of the joints, while momentum is zero and the
    base recoils. It is the generalised Jacobian of space robots.

    Args:
        model: The mechanism, on one floating joint.
        link: The frame.
        q: Positions (nq,), those of the base first.
        parameters: Inertias.
    """
    terms = floating_terms(model, q, [0.0] * model.nv, parameters)
    Xup = joint_transforms(model, q)
    columns = columns_in_frame(model, link.body, Xup, link.placement, q=q)
    base = [columns[k].components() for k in range(6)]
    found = []
    for k, share in enumerate(terms.momentum_shares(), 6):
        own = columns.get(k, Motion.zero()).components()
        recoil = [dot([column[row] for column in base], share) for row in range(6)]
        found.append([x - y for x, y in zip(own, recoil, strict=True)])
    return [[column[row] for column in found] for row in range(6)]


def _require_floating(model: Model) -> None:
    roots = [body for body in model.bodies if body.parent == WORLD]
    if len(roots) != 1 or not isinstance(roots[0].joint.type, Floating):
        raise RobotDynamicsError(
            f"{model.name} has no floating base, expected one floating joint that carries all."
        )
