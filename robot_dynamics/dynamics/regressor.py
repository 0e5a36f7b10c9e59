# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The dynamics as linear functions of inertial parameters: regressors (Atkeson, An, Hollerbach).

The ten standard parameters of a body are mass, first moment and rotational inertia about the
origin, `m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz`, in the frame of the body's link: the
child of its joint. Frames are as in URDF, the order as in Pinocchio.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.inverse import velocities_and_accelerations
from robot_dynamics.dynamics.kinematics import (
    body_links,
    body_transforms,
    body_velocities,
    joint_transforms,
    motion_subspaces,
)
from robot_dynamics.model import WORLD, Link, Model
from robot_dynamics.scalar.linear_algebra import is_zero
from robot_dynamics.spatial import Force, Inertia, Scalar, Vector3

#: Number of standard parameters of a body.
PER_BODY = 10

_UNITS = [Inertia.of([float(i == j) for j in range(PER_BODY)]) for i in range(PER_BODY)]


def inverse_dynamics_regressor(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    gravity: Vector3,
    links: Sequence[Link] | None = None,
) -> list[list[Scalar]]:
    """Return the regressor Y (nv, 10 N) of `tau = Y pi`.

    It does not include springs, dampers, friction and rotors.

    Args:
        model: The mechanism; loops are left open.
        q: Positions (nq,).
        qd: Velocities (nv,).
        qdd: Accelerations (nv,).
        gravity: Acceleration of gravity.
        links: Links in whose frames the N inertias are; by default the links of the bodies.
    """
    Xup, S = joint_transforms(model, q), motion_subspaces(model, q)
    v, a = velocities_and_accelerations(model, Xup, qd, qdd, gravity, q)
    columns: list[list[Scalar]] = []
    for link in body_links(model) if links is None else links:
        if link.body == WORLD:
            columns += [[0.0] * model.nv] * PER_BODY
            continue
        X = link.placement
        v_l, a_l = X * v[link.body], X * a[link.body]
        for unit in _UNITS:
            # Table 5.1 with one parameter alone: f = I a + v x* I v, propagated to the base.
            f = X.inverse_times(unit * a_l + v_l.cross_force(unit * v_l))
            tau: list[Scalar] = [0.0] * model.nv
            at = link.body
            while at != WORLD and not _vanishes(f):
                tau[model.v_slices[at]] = [s.dot(f) for s in S[at]]
                f, at = Xup[at].inverse_times(f), model.bodies[at].parent
            columns.append(tau)
    return [[column[i] for column in columns] for i in range(model.nv)]


def regressor_columns(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    gravity: Vector3,
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Return S (nv, 6) and forces (10 N, 6) in base coordinates, the factors of Y.

    The entry of a joint and a parameter of a body that the joint moves is the product of S and the
    force on the body with this parameter alone; other entries are zero. Arguments are as for
    `inverse_dynamics_regressor`.
    """
    Xup, S = joint_transforms(model, q), motion_subspaces(model, q)
    X0 = body_transforms(model, Xup)
    v, a = velocities_and_accelerations(model, Xup, qd, qdd, gravity, q)
    forces: list[list[Scalar]] = []
    for link in body_links(model):
        X = link.placement
        v_l, a_l, back = X * v[link.body], X * a[link.body], X.compose(X0[link.body])
        for unit in _UNITS:
            f = back.inverse_times(unit * a_l + v_l.cross_force(unit * v_l))
            forces.append(f.components())
    axes = [X.inverse_times(s) for X, columns in zip(X0, S, strict=True) for s in columns]
    return [axis.components() for axis in axes], forces


def energy_regressor(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], gravity: Vector3
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the contribution of each parameter to kinetic and potential energy (10 N each).

    Args:
        model: The mechanism.
        q: Positions (nq,).
        qd: Velocities (nv,).
        gravity: Acceleration of gravity.
    """
    Xup = joint_transforms(model, q)
    v, X0 = body_velocities(model, Xup, qd, q), body_transforms(model, Xup)
    kinetic: list[Scalar] = []
    potential: list[Scalar] = []
    for link in body_links(model):
        v_l, X = link.placement * v[link.body], link.placement.compose(X0[link.body])
        for unit in _UNITS:
            kinetic.append(v_l.dot(unit * v_l) * 0.5)  # Eq 2.67
            potential.append(-X.inverse_times(unit).h.dot(gravity))
    return kinetic, potential


def _vanishes(f: Force) -> bool:
    return all(is_zero(x) for x in f.components())


INVERSE_DYNAMICS_REGRESSOR = Algorithm(
    "inverse_dynamics_regressor",
    lambda model, q, qd, qdd, parameters: inverse_dynamics_regressor(
        model, q, qd, qdd, parameters.gravity
    ),
    "q, qd, qdd -> Y (nv, inertial parameters)",
    frames=body_links,
)
#: Option: the link that carries the payload.
PAYLOAD_REGRESSOR = Algorithm(
    "payload_regressor",
    lambda model, q, qd, qdd, parameters, link: inverse_dynamics_regressor(
        model, q, qd, qdd, parameters.gravity, [link]
    ),
    "q, qd, qdd -> Y (nv, 10)",
)
ENERGY_REGRESSOR = Algorithm(
    "energy_regressor",
    lambda model, q, qd, parameters: energy_regressor(model, q, qd, parameters.gravity),
    "q, qd -> kinetic (inertial parameters), potential (inertial parameters)",
    frames=body_links,
)
REGRESSOR_COLUMNS = Algorithm(
    "regressor_columns",
    lambda model, q, qd, qdd, parameters: regressor_columns(model, q, qd, qdd, parameters.gravity),
    "q, qd, qdd -> S (nv, 6), forces (inertial parameters, 6)",
    frames=body_links,
)
