# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Hybrid dynamics: forces drive some joints, others follow given accelerations (9.1, 9.2).

Two algorithms, which must agree: articulated bodies (Table 9.3), which `Robot` compiles, and the
inertia matrix of the joints driven by forces (Table 9.1), as a check.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.forward import (
    articulated_biases,
    articulated_bodies,
    velocity_terms,
)
from robot_dynamics.dynamics.inertia_matrix import composite_inertia_matrix, inertia_times
from robot_dynamics.dynamics.inverse import base_acceleration, inverse_dynamics
from robot_dynamics.dynamics.kinematics import joint_transforms, motion_subspaces
from robot_dynamics.dynamics.passive import passive_forces
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.joints import combined
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.linear_algebra import factor
from robot_dynamics.spatial import Motion, Scalar


def hybrid_dynamics(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    qdd: Sequence[Scalar],
    parameters: Parameters,
    prescribed: Collection[int],
) -> tuple[list[Scalar], list[Scalar]]:
    """Return accelerations and forces of all joints of the tree, by articulated bodies.

    With no joint prescribed it is forward dynamics, with all of them inverse dynamics. With all
    but a floating base prescribed it is the inverse dynamics of a floating base (Table 9.6).

    Args:
        model: The mechanism; loops are left open.
        q: Positions (nq,).
        qd: Velocities (nv,).
        tau: Joint forces (nv,); those of prescribed joints are ignored.
        qdd: Accelerations (nv,); only those of prescribed joints are used.
        parameters: Gravity and inertias.
        prescribed: The joints whose accelerations are given.

    Returns:
        The accelerations (nv,), and the joint forces (nv,).
    """
    Xup, S = joint_transforms(model, q), motion_subspaces(model, q)
    v, c, p = velocity_terms(model, Xup, S, q, qd, parameters)  # pass 1
    passive = passive_forces(model, Xup, v, qd, parameters, q)
    free: list[tuple[Motion, ...]] = list(S)
    given: list[list[Scalar]] = []
    for i, at in enumerate(model.v_slices):
        given.append([t + f for t, f in zip(tau[at], passive[at], strict=True)])
        if i in prescribed:
            c[i] = c[i] + combined(S[i], qdd[at])
            # A joint with a known motion transmits like a rigid one: I^a = I^A, p^a = p^A + I^a c.
            free[i], given[i] = (), []
    bodies = articulated_bodies(model, Xup, free, parameters)  # pass 2
    pA, u = articulated_biases(model, Xup, free, bodies, c, p, given)
    base = base_acceleration(parameters.gravity)
    a: list[Motion] = []
    accelerations, forces = list(qdd), list(tau)
    for i, (body, at) in enumerate(zip(model.bodies, model.v_slices, strict=True)):  # pass 3
        a_i = Xup[i] * (base if body.parent == WORLD else a[body.parent]) + c[i]
        if i in prescribed:
            f = bodies[i].IA * a_i + pA[i]
            rotors = body.joint.of_each_freedom(body.joint.armature)
            forces[at] = [
                s.dot(f) + x * rotor - own
                for s, x, rotor, own in zip(S[i], qdd[at], rotors, passive[at], strict=True)
            ]
        else:
            rest = [u_k - a_i.dot(column) for u_k, column in zip(u[i], bodies[i].U, strict=True)]
            accelerations[at] = bodies[i].D.solve(rest)
            a_i = a_i + combined(S[i], accelerations[at])
        a.append(a_i)
    return accelerations, forces


def hybrid_dynamics_by_inertia_matrix(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    qdd: Sequence[Scalar],
    parameters: Parameters,
    prescribed: Collection[int],
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the same by the inertia matrix of the joints that are not prescribed (9.2, 9.3).

    It takes fewer operations for few joints driven by forces among many prescribed ones.
    """
    free = [i for i in range(len(model.bodies)) if i not in prescribed]
    at = [k for i in free for k in range(model.v_slices[i].start, model.v_slices[i].stop)]
    known = list(qdd)
    for k in at:
        known[k] = 0.0
    C = inverse_dynamics(model, q, qd, known, parameters)  # C' = ID(q, qd, Q^T [0; qdd2])
    H = composite_inertia_matrix(model, joint_transforms(model, q), parameters, q, free)
    H11 = [[H[i][j] for j in at] for i in at]
    solved = factor(H11).solve([tau[k] - C[k] for k in at])  # H11 qdd1 = tau1 - C1'
    accelerations, found = known, [0.0] * model.nv
    for k, value in zip(at, solved, strict=True):
        accelerations[k] = found[k] = value
    moved = inertia_times(model, q, found, parameters)
    forces = [c + m for c, m in zip(C, moved, strict=True)]  # tau = C' + ID_delta(Q^T [qdd1; 0])
    for k in at:
        forces[k] = tau[k]
    return accelerations, forces


#: Option: the prescribed joints.
HYBRID_DYNAMICS = Algorithm(
    "hybrid_dynamics", hybrid_dynamics, "q, qd, tau, qdd -> qdd (nv), tau (nv)"
)
