# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics by the articulated-body algorithm (Table 7.1)."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.inverse import base_acceleration
from robot_dynamics.dynamics.kinematics import (
    joint_transforms,
    motion_subspaces,
    velocity_products,
)
from robot_dynamics.dynamics.passive import passive_forces
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.joints import combined
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.linear_algebra import Factors, factor, is_zero
from robot_dynamics.spatial import ArticulatedInertia, Force, Motion, Scalar


def forward_dynamics(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    parameters: Parameters,
    external: Sequence[Force] | None = None,
) -> list[Scalar]:
    """Return the accelerations of the tree under joint forces, loops left open.

    Args:
        model: The mechanism; constraints of its loop joints are not looked at.
        q: Positions (nq,).
        qd: Velocities (nv,).
        tau: Joint forces (nv,) [N m or N], friction already taken off.
        parameters: Gravity and inertias.
        external: Forces on the bodies from outside, each in its body's coordinates.

    Returns:
        The accelerations qdd (nv,).
    """
    Xup = joint_transforms(model, q)
    S = motion_subspaces(model, q)
    cJ = velocity_products(model, q, qd)
    v: list[Motion] = []
    c: list[Motion] = []
    IA: list[ArticulatedInertia] = []
    pA: list[Force] = []
    for i, body in enumerate(model.bodies):  # pass 1
        vJ = combined(S[i], qd[model.v_slices[i]])
        v_i = vJ if body.parent == WORLD else Xup[i] * v[body.parent] + vJ
        v.append(v_i)
        c.append(cJ[i] if body.parent == WORLD else cJ[i] + v_i.cross(vJ))
        inertia = parameters.inertias[i]
        IA.append(inertia.articulated())
        p = v_i.cross_force(inertia * v_i)
        pA.append(p if external is None else p - external[i])

    passive = passive_forces(model, Xup, v, qd, parameters, q)
    tau = [t + p for t, p in zip(tau, passive, strict=True)]
    U: list[list[Force]] = [[] for _ in model.bodies]
    D: list[Factors] = [factor([])] * len(model.bodies)
    u: list[list[Scalar]] = [[] for _ in model.bodies]
    for i in reversed(range(len(model.bodies))):  # pass 2
        body = model.bodies[i]
        U[i] = [IA[i] * s for s in S[i]]
        rotors = body.joint.of_each_freedom(body.joint.armature)
        matrix = [
            [s.dot(column) + (rotors[row] if row == k else 0.0) for k, column in enumerate(U[i])]
            for row, s in enumerate(S[i])
        ]
        D[i] = factor(matrix)
        if is_zero(D[i].smallest_pivot):  # a constant: no value of q would change that
            raise RobotDynamicsError(
                f"nothing that joint {body.joint.name!r} moves has inertia, expected mass on link "
                f"{body.name!r} or beyond it."
            )
        u[i] = [t - s.dot(pA[i]) for t, s in zip(tau[model.v_slices[i]], S[i], strict=True)]
        if body.parent == WORLD:
            continue
        Ia = IA[i]
        for column, scaled in zip(U[i], _times_inverse(U[i], D[i]), strict=True):
            Ia = Ia.minus_dyad(column, scaled)
        pa = pA[i] + Ia * c[i]
        for column, factor_ in zip(U[i], D[i].solve(u[i]), strict=True):
            pa = pa + column * factor_
        X = Xup[i]
        IA[body.parent] = IA[body.parent] + X.inverse_times(Ia)
        pA[body.parent] = pA[body.parent] + X.inverse_times(pa)

    a: list[Motion] = []
    qdd: list[Scalar] = []
    base = base_acceleration(parameters.gravity)
    for i, body in enumerate(model.bodies):  # pass 3
        a_i = Xup[i] * (base if body.parent == WORLD else a[body.parent]) + c[i]
        rest = [u_k - a_i.dot(column) for u_k, column in zip(u[i], U[i], strict=True)]
        rates = D[i].solve(rest)
        a.append(a_i + combined(S[i], rates))
        qdd += rates
    return qdd


def _times_inverse(U: Sequence[Force], D: Factors) -> list[Force]:
    """Return the columns of U D^-1."""
    rows = zip(*(column.components() for column in U), strict=True)
    solved = [D.solve(list(row)) for row in rows]
    return [Force.of([row[k] for row in solved]) for k in range(len(U))]
