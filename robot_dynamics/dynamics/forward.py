# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics by the articulated-body algorithm (Table 7.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.inverse import base_acceleration
from robot_dynamics.dynamics.kinematics import (
    body_links,
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
from robot_dynamics.spatial import ArticulatedInertia, Force, Motion, Scalar, Transform


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
        model: The mechanism; constraints of its loop joints are ignored.
        q: Positions (nq,).
        qd: Velocities (nv,).
        tau: Joint forces (nv,) [N m or N], friction already subtracted.
        parameters: Gravity and inertias.
        external: External forces on the bodies, each in its body's coordinates.

    Returns:
        The accelerations qdd (nv,).
    """
    Xup = joint_transforms(model, q)
    S = motion_subspaces(model, q)
    v, c, p = velocity_terms(model, Xup, S, q, qd, parameters, external)  # pass 1
    passive = passive_forces(model, Xup, v, qd, parameters, q)
    tau = [t + f for t, f in zip(tau, passive, strict=True)]
    bodies = articulated_bodies(model, Xup, S, parameters)  # pass 2
    given = [tau[at] for at in model.v_slices]
    _, u = articulated_biases(model, Xup, S, bodies, c, p, given)
    a: list[Motion] = []
    qdd: list[Scalar] = []
    base = base_acceleration(parameters.gravity)
    for i, body in enumerate(model.bodies):  # pass 3
        a_i = Xup[i] * (base if body.parent == WORLD else a[body.parent]) + c[i]
        rest = [u_k - a_i.dot(column) for u_k, column in zip(u[i], bodies[i].U, strict=True)]
        rates = bodies[i].D.solve(rest)
        a.append(a_i + combined(S[i], rates))
        qdd += rates
    return qdd


@dataclass(frozen=True)
class ArticulatedBody:
    """A body with all bodies that it carries, free to move in their joints.

    Attributes:
        IA: The articulated-body inertia I^A: f = I^A a + p^A.
        U: The columns of I^A S (7.43).
        D: The factors of S^T U, rotors included (7.44).
        Ia: Inertia that the parent feels through the joint (7.20); I^a S = 0 without rotors.
    """

    IA: ArticulatedInertia
    U: list[Force]
    D: Factors
    Ia: ArticulatedInertia


def velocity_terms(
    model: Model,
    Xup: Sequence[Transform],
    S: Sequence[Sequence[Motion]],
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    parameters: Parameters,
    external: Sequence[Force] | None = None,
) -> tuple[list[Motion], list[Motion], list[Force]]:
    """Return v_i, c_i and p_i of all bodies, pass 1 of Table 7.1.

    Args:
        model: The mechanism.
        Xup: Transforms from each body's parent to the body.
        S: The columns of each joint's motion subspace.
        q: Positions (nq,).
        qd: Velocities (nv,).
        parameters: Inertias.
        external: External forces on the bodies, each in its body's coordinates.
    """
    cJ = velocity_products(model, q, qd)
    v: list[Motion] = []
    c: list[Motion] = []
    p: list[Force] = []
    for i, body in enumerate(model.bodies):
        vJ = combined(S[i], qd[model.v_slices[i]])
        v_i = vJ if body.parent == WORLD else Xup[i] * v[body.parent] + vJ
        v.append(v_i)
        c.append(cJ[i] if body.parent == WORLD else cJ[i] + v_i.cross(vJ))
        p_i = v_i.cross_force(parameters.inertias[i] * v_i)
        p.append(p_i if external is None else p_i - external[i])
    return v, c, p


def articulated_bodies(
    model: Model,
    Xup: Sequence[Transform],
    S: Sequence[Sequence[Motion]],
    parameters: Parameters,
) -> list[ArticulatedBody]:
    """Return the articulated-body inertias: the part of pass 2 that depends on positions alone.

    Args:
        model: The mechanism.
        Xup: Transforms from each body's parent to the body.
        S: The columns of each joint's motion subspace.
        parameters: Inertias.

    Raises:
        RobotDynamicsError: If a joint moves no inertia.
    """
    IA = [inertia.articulated() for inertia in parameters.inertias]
    found: list[ArticulatedBody] = []
    for i in reversed(range(len(model.bodies))):
        body = model.bodies[i]
        U = [IA[i] * s for s in S[i]]
        rotors = body.joint.of_each_freedom(body.joint.armature)
        matrix = [
            [s.dot(column) + (rotors[row] if row == k else 0.0) for k, column in enumerate(U)]
            for row, s in enumerate(S[i])
        ]
        D = factor(matrix)
        if is_zero(D.smallest_pivot):  # a constant: no value of q would change that
            raise RobotDynamicsError(
                f"joint {body.joint.name!r} moves no inertia, expected mass on link {body.name!r} "
                "or beyond it."
            )
        Ia = IA[i]
        for column, scaled in zip(U, _times_inverse(U, D), strict=True):
            Ia = Ia.minus_dyad(column, scaled)
        found.append(ArticulatedBody(IA[i], U, D, Ia))
        if body.parent != WORLD:
            IA[body.parent] = IA[body.parent] + Xup[i].inverse_times(Ia)
    return found[::-1]


def articulated_biases(
    model: Model,
    Xup: Sequence[Transform],
    S: Sequence[Sequence[Motion]],
    bodies: Sequence[ArticulatedBody],
    c: Sequence[Motion],
    p: Sequence[Force],
    tau: Sequence[Sequence[Scalar]],
) -> tuple[list[Force], list[list[Scalar]]]:
    """Return p^A_i and u_i = tau_i - S_i^T p^A_i of all bodies: the rest of pass 2.

    Args:
        model: The mechanism.
        Xup: Transforms from each body's parent to the body.
        S: The columns of each joint's motion subspace.
        bodies: The articulated-body inertias.
        c: Velocity-product accelerations.
        p: Bias forces of the single bodies.
        tau: Joint forces of each body's joint.
    """
    pA = list(p)
    u: list[list[Scalar]] = [[] for _ in model.bodies]
    for i in reversed(range(len(model.bodies))):
        body = model.bodies[i]
        u[i] = [t - s.dot(pA[i]) for t, s in zip(tau[i], S[i], strict=True)]
        if body.parent == WORLD:
            continue
        pa = pA[i] + bodies[i].Ia * c[i]
        for column, factor_ in zip(bodies[i].U, bodies[i].D.solve(u[i]), strict=True):
            pa = pa + column * factor_
        pA[body.parent] = pA[body.parent] + Xup[i].inverse_times(pa)
    return pA, u


def _times_inverse(U: Sequence[Force], D: Factors) -> list[Force]:
    """Return the columns of U D^-1."""
    rows = zip(*(column.components() for column in U), strict=True)
    solved = [D.solve(list(row)) for row in rows]
    return [Force.of([row[k] for row in solved]) for k in range(len(U))]


def articulated_links(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    parameters: Parameters,
) -> tuple[list[list[list[Scalar]]], list[list[Scalar]]]:
    """Return I^A (bodies, 6, 6) and p^A (bodies, 6) in the frames of the bodies' links."""
    Xup, S = joint_transforms(model, q), motion_subspaces(model, q)
    v, c, p = velocity_terms(model, Xup, S, q, qd, parameters)
    passive = passive_forces(model, Xup, v, qd, parameters, q)
    given = [[t + f for t, f in zip(tau[i], passive[i], strict=True)] for i in model.v_slices]
    bodies = articulated_bodies(model, Xup, S, parameters)
    biases, _ = articulated_biases(model, Xup, S, bodies, c, p, given)
    frames = [link.placement for link in body_links(model)]
    return (
        [
            X.inverse().inverse_times(body.IA).matrix()
            for X, body in zip(frames, bodies, strict=True)
        ],
        [(X * bias).components() for X, bias in zip(frames, biases, strict=True)],
    )


TREE_FORWARD_DYNAMICS = Algorithm(
    "tree_forward_dynamics", forward_dynamics, "q, qd, tau -> qdd (nv)", needs_inertia="always"
)
ARTICULATED_BODIES = Algorithm(
    "articulated_bodies",
    articulated_links,
    "q, qd, tau -> IA (bodies, 6, 6), pA (bodies, 6)",
    needs_inertia="always",
    frames=body_links,
)
