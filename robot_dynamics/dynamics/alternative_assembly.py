# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics by the two alternative assembly formulas (section 7.4, Table 7.2).

Both assemble joints by their constraint directions T, where Table 7.1 uses their motion subspaces
S. Variant 1 uses inverse inertias, and therefore also handles bodies that are not free to move in
all directions; variant 2 uses inertias. `forward` is faster: use these to check it, and to build
algorithms that start from constrained bodies. All arrays are dense NumPy arrays in world
coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.dynamics.forward import velocity_terms
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    joint_transforms,
    motion_subspaces,
)
from robot_dynamics.dynamics.passive import passive_forces
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Force

Array = NDArray[np.floating]


@dataclass(frozen=True)
class BodyAndJoint:
    """A body of a tree and the joint that carries it, as matrices in world coordinates.

    Attributes:
        parent: The body that carries it; WORLD for the base.
        I: Its inertia (6, 6).
        p: Its bias force (6,).
        S: Motion subspace of the joint (6, n).
        T: Its constraint forces (6, 6 - n): T^T S = 0.
        active: T_a (6, n) with T_a^T S = 1.
        f: The active force T_a tau (6,).
        c: Velocity-product acceleration of the joint (6,).
    """

    parent: int
    I: Array
    p: Array
    S: Array
    T: Array
    active: Array
    f: Array
    c: Array


def bodies_in_world(
    model: Model,
    q: Sequence[float],
    qd: Sequence[float],
    tau: Sequence[float],
    parameters: Parameters,
    external: Sequence[Force] | None = None,
) -> list[BodyAndJoint]:
    """Return all bodies and joints of a tree at a state.

    Args:
        model: The mechanism, without rotors.
        q: Positions (nq,).
        qd: Velocities (nv,).
        tau: Joint forces (nv,).
        parameters: Inertias.
        external: External forces on the bodies, each in its body's coordinates.

    Raises:
        RobotDynamicsError: If a joint has the armature of a rotor, which is no body.
    """
    for body in model.bodies:
        if np.any(body.joint.armature):
            raise RobotDynamicsError(
                f"joint {body.joint.name!r} has a rotor, expected armature 0, or a body for it."
            )
    Xup, subspaces = joint_transforms(model, q), motion_subspaces(model, q)
    v, c, p = velocity_terms(model, Xup, subspaces, q, qd, parameters, external)
    passive = passive_forces(model, Xup, v, qd, parameters, q)
    found = []
    for i, (body, X) in enumerate(zip(model.bodies, body_transforms(model, Xup), strict=True)):
        columns = [X.inverse_times(s).components() for s in subspaces[i]]
        S = np.array(columns, dtype=float).reshape(-1, 6).T
        force = np.array([tau[k] + passive[k] for k in _indices(model, i)], dtype=float)
        active = np.linalg.pinv(S).T  # any T_a will do: the choice does not change the motion
        matrix = X.inverse_times(parameters.inertias[i].articulated()).matrix()
        found.append(
            BodyAndJoint(
                body.parent,
                np.array(matrix, dtype=float),
                np.array(X.inverse_times(p[i]).components(), dtype=float),
                S,
                np.linalg.svd(S)[0][:, S.shape[1] :],
                active,
                active @ force,
                np.array(X.inverse_times(c[i]).components(), dtype=float),
            )
        )
    return found


def assembled_inverse(
    body1: tuple[Array, Array], body2: tuple[Array, Array], joint: BodyAndJoint
) -> tuple[Array, Array]:
    """Return Phi^A and b^A of body 1 with body 2 on a joint, by variant 1 of Table 7.2.

    Args:
        body1: Inverse inertia and bias acceleration: a1 = Phi1 f1 + b1.
        body2: The same of the body, or assembly, that the joint carries.
        joint: The joint.
    """
    (Phi1, b1), (Phi2, b2), T = body1, body2, joint.T
    Y = T.T @ (Phi1 + Phi2) @ T
    z = T.T @ (joint.c + b1 - b2 - (Phi1 + Phi2) @ joint.f)
    PhiA = Phi1 - Phi1 @ T @ np.linalg.solve(Y, T.T @ Phi1)
    return PhiA, b1 - Phi1 @ joint.f - Phi1 @ T @ np.linalg.solve(Y, z)


def assembled(
    body1: tuple[Array, Array], body2: tuple[Array, Array], joint: BodyAndJoint
) -> tuple[Array, Array]:
    """Return I^A and p^A of body 1 with body 2 on a joint, by variant 2 of Table 7.2.

    Args:
        body1: Inertia and bias force: f1 = I1 a1 + p1.
        body2: The same of the body, or assembly, that the joint carries; it must float.
        joint: The joint.
    """
    (I1, p1), (I2, p2), T = body1, body2, joint.T
    Y = T.T @ np.linalg.solve(I2, T)
    z = T.T @ (joint.c - np.linalg.solve(I2, joint.f - p2))
    IA = I1 + T @ np.linalg.solve(Y, T.T)
    return IA, p1 + joint.f + T @ np.linalg.solve(Y, z)


def forward_dynamics_by_assembly(
    model: Model, bodies: Sequence[BodyAndJoint], parameters: Parameters, variant: int
) -> Array:
    """Return the accelerations (nv,) of a tree by one of the two variants.

    Args:
        model: The mechanism; loops are left open.
        bodies: Result of `bodies_in_world`.
        parameters: Gravity.
        variant: 1, by inverse inertias, or 2, by inertias.
    """
    terms = [(body.I, body.p) for body in bodies]
    if variant == 1:
        terms = [(np.linalg.inv(I), -np.linalg.solve(I, p)) for I, p in terms]
    put_together = assembled_inverse if variant == 1 else assembled
    for i in reversed(range(len(bodies))):
        parent = bodies[i].parent
        if parent != WORLD:
            terms[parent] = put_together(terms[parent], terms[i], bodies[i])
    base = np.array([0.0, 0.0, 0.0, *-parameters.gravity], dtype=float)
    a: list[Array] = []
    qdd = np.zeros(model.nv)
    for i, joint in enumerate(bodies):
        a1 = base if joint.parent == WORLD else a[joint.parent]
        first, second = terms[i]
        if variant == 1:
            Phi, b = first, second
        else:
            Phi = np.linalg.inv(first)
            b = -Phi @ second
        # T^T (a2 - a1 - c) = 0 with a2 = Phi (T_a tau + T lambda) + b
        blocked = joint.T.T @ (a1 + joint.c - b - Phi @ joint.f)
        multipliers = np.linalg.solve(joint.T.T @ Phi @ joint.T, blocked)
        a.append(Phi @ (joint.f + joint.T @ multipliers) + b)
        qdd[model.v_slices[i]] = joint.active.T @ (a[i] - a1 - joint.c)
    return qdd


def _indices(model: Model, body: int) -> range:
    at = model.v_slices[body]
    return range(at.start, at.stop)
