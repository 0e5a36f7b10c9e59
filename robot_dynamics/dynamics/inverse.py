# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics by the recursive Newton-Euler algorithm (Table 5.1)."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.kinematics import (
    body_links,
    joint_transforms,
    motion_subspaces,
    velocity_products,
)
from robot_dynamics.dynamics.passive import passive_forces
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.joints import combined
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Force, Motion, Scalar, Transform, Vector3


def inverse_dynamics(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    parameters: Parameters,
    external: Sequence[Force] | None = None,
) -> list[Scalar]:
    """Return the joint forces of accelerations `qdd` of the tree, with loops left open.

    They are H qdd + C - tau_a: the forces of drives and constraints in addition to springs in all
    joints and dampers in loop joints (section 8.12).

    Args:
        model: The mechanism; constraints of its loop joints are ignored.
        q: Positions (nq,).
        qd: Velocities (nv,).
        qdd: Accelerations (nv,).
        parameters: Gravity and inertias.
        external: External forces on the bodies, each in its body's coordinates.

    Returns:
        The joint forces tau (nv,) [N m or N], friction of tree joints not included.
    """
    Xup = joint_transforms(model, q)
    v, a = velocities_and_accelerations(model, Xup, qd, qdd, parameters.gravity, q)
    f = net_forces(v, a, parameters, external)
    passive = passive_forces(model, Xup, v, qd, parameters, q)
    tau = [t - p for t, p in zip(joint_forces(model, Xup, f, q), passive, strict=True)]
    for i, armature in enumerate(model.armature.tolist()):
        if armature:
            tau[i] = tau[i] + qdd[i] * armature
    return tau


def velocities_and_accelerations(
    model: Model,
    Xup: Sequence[Transform],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar] | None,
    gravity: Vector3,
    q: Sequence[Scalar] | None = None,
) -> tuple[list[Motion], list[Motion]]:
    """Return v_i and a_i of all bodies, in body coordinates, the outward pass of Table 5.1.

    The base accelerates by minus gravity, so every a_i contains -a_g. Without `qdd` the
    accelerations are the velocity-product accelerations a^vp of section 8.2. The positions `q`
    are needed only where a motion subspace depends on them.
    """
    S = motion_subspaces(model, q)
    c = velocity_products(model, q, qd)
    base = base_acceleration(gravity)
    v: list[Motion] = []
    a: list[Motion] = []
    for i, body in enumerate(model.bodies):
        at = model.v_slices[i]
        vJ = combined(S[i], qd[at])
        if body.parent == WORLD:
            v_i, a_i = vJ, Xup[i] * base + c[i]  # v_i x v_J = v_J x v_J = 0
        else:
            v_i = Xup[i] * v[body.parent] + vJ
            a_i = Xup[i] * a[body.parent] + c[i] + v_i.cross(vJ)
        if qdd is not None:
            a_i = a_i + combined(S[i], qdd[at])
        v.append(v_i)
        a.append(a_i)
    return v, a


def base_acceleration(gravity: Vector3) -> Motion:
    """Return a_0 = -a_g: the acceleration of the base that represents gravity."""
    return Motion(Vector3.zero(), -gravity)


def net_forces(
    v: Sequence[Motion],
    a: Sequence[Motion],
    parameters: Parameters,
    external: Sequence[Force] | None = None,
) -> list[Force]:
    """Return f_i = I_i a_i + v_i x* I_i v_i - f^x_i for every body."""
    forces = [
        inertia * a_i + v_i.cross_force(inertia * v_i)
        for v_i, a_i, inertia in zip(v, a, parameters.inertias, strict=True)
    ]
    if external is not None:
        forces = [f - fx for f, fx in zip(forces, external, strict=True)]
    return forces


def joint_forces(
    model: Model,
    Xup: Sequence[Transform],
    forces: Sequence[Force],
    q: Sequence[Scalar] | None = None,
) -> list[Scalar]:
    """Return tau_i = S_i^T f_i with f_lambda += iX_lambda^T f_i, the inward pass of Table 5.1.

    The positions `q` are needed only where a motion subspace depends on them.
    """
    S = motion_subspaces(model, q)
    tau: list[Scalar] = []
    for columns, f in zip(S, transmitted_forces(model, Xup, forces), strict=True):
        tau += [s.dot(f) for s in columns]
    return tau


def transmitted_forces(
    model: Model, Xup: Sequence[Transform], forces: Sequence[Force]
) -> list[Force]:
    """Return the spatial force that each joint transmits to its body, in body coordinates (5.10).

    It is the load of the bearings: unlike tau it includes the components that do no work.

    Args:
        model: The mechanism.
        Xup: Transforms from each body's parent to the body.
        forces: Net force of each body, from `net_forces`.
    """
    f = list(forces)
    for i in reversed(range(len(f))):
        body = model.bodies[i]
        if body.parent != WORLD:
            f[body.parent] = f[body.parent] + Xup[i].inverse_times(f[i])
    return f


def bias_forces(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    parameters: Parameters,
    external: Sequence[Force] | None = None,
) -> list[Scalar]:
    """Return C (nv,): the joint forces of zero acceleration.

    Gravity, Coriolis forces, `external` ones, springs, and dampers of loop joints.
    """
    Xup = joint_transforms(model, q)
    v, a = velocities_and_accelerations(model, Xup, qd, None, parameters.gravity, q)
    passive = passive_forces(model, Xup, v, qd, parameters, q)
    C = joint_forces(model, Xup, net_forces(v, a, parameters, external), q)
    return [c - p for c, p in zip(C, passive, strict=True)]


def gravity_forces(model: Model, q: Sequence[Scalar], parameters: Parameters) -> list[Scalar]:
    """Return the gravity part (nv,) of C: the forces that hold the tree up at rest.

    It contains no springs, unlike `bias_forces`.
    """
    Xup = joint_transforms(model, q)
    base = base_acceleration(parameters.gravity)
    a: list[Motion] = []
    for body, X in zip(model.bodies, Xup, strict=True):
        a.append(X * (base if body.parent == WORLD else a[body.parent]))
    forces = [inertia * a_i for inertia, a_i in zip(parameters.inertias, a, strict=True)]
    return joint_forces(model, Xup, forces, q)


def joint_wrenches(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    parameters: Parameters,
    external: Sequence[Force] | None = None,
) -> list[Force]:
    """Return the whole force that each joint transmits to its body: the load of its bearings.

    Each is in body coordinates, about the joint's origin, and includes drive and springs of the
    joint. Its components along the freedoms are the joint forces without the forces of rotors,
    which have no body.

    Args:
        model: The mechanism; loops are left open.
        q: Positions (nq,).
        qd: Velocities (nv,).
        qdd: Accelerations (nv,).
        parameters: Gravity and inertias.
        external: External forces on the bodies, each in its body's coordinates.
    """
    Xup = joint_transforms(model, q)
    v, a = velocities_and_accelerations(model, Xup, qd, qdd, parameters.gravity, q)
    return transmitted_forces(model, Xup, net_forces(v, a, parameters, external))


def link_wrenches(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    external: Sequence[Sequence[Scalar]],
    parameters: Parameters,
) -> list[list[Scalar]]:
    """Return `joint_wrenches` in the frames of the bodies' links, as `external` is (bodies, 6)."""
    frames = [link.placement for link in body_links(model)]
    outside = [X.inverse() * Force.of(f) for X, f in zip(frames, external, strict=True)]
    forces = joint_wrenches(model, q, qd, qdd, parameters, outside)
    return [(X * f).components() for X, f in zip(frames, forces, strict=True)]


INVERSE_DYNAMICS = Algorithm("inverse_dynamics", inverse_dynamics, "q, qd, qdd -> tau (nv)")
BIAS_FORCES = Algorithm("bias_forces", bias_forces, "q, qd -> C (nv)")
GRAVITY = Algorithm("gravity", gravity_forces, "q -> g (nv)")
JOINT_WRENCHES = Algorithm(
    "joint_wrenches", link_wrenches, "q, qd, qdd, external -> f (bodies, 6)", frames=body_links
)
