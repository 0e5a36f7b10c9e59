# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Momentum of a mechanism, which internal forces do not change (Example 9.3)."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    body_velocities,
    joint_transforms,
    motion_subspaces,
)
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.derivatives import directional_derivative
from robot_dynamics.scalar.linear_algebra import is_zero
from robot_dynamics.spatial import Force, Inertia, Rotation, Scalar, Transform


def momentum(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Parameters
) -> Force:
    """Return the momentum of all bodies in world coordinates, angular about the world's origin.

    [N m s], [N s] (2.61). It does not include the spin of geared rotors, which have no body.

    Args:
        model: The mechanism.
        q: Positions (nq,).
        qd: Velocities (nv,).
        parameters: Inertias.
    """
    Xup = joint_transforms(model, q)
    total = Force.zero()
    for v, inertia, X in zip(
        body_velocities(model, Xup, qd, q),
        parameters.inertias,
        body_transforms(model, Xup),
        strict=True,
    ):
        total = total + X.inverse_times(inertia * v)
    return total


def centroidal_momentum_matrix(
    model: Model, q: Sequence[Scalar], parameters: Parameters
) -> list[list[Scalar]]:
    """Return A (6, nv): the momentum about the centre of mass, in world axes, is A qd.

    A joint gives the bodies that it carries the momentum I^c S, as in Table 6.2. The linear part
    over the mass is the Jacobian of the centre of mass.

    Args:
        model: The mechanism.
        q: Positions (nq,).
        parameters: Inertias.
    """
    Xup, S = joint_transforms(model, q), motion_subspaces(model, q)
    X0, Ic = body_transforms(model, Xup), list(parameters.inertias)
    total = Inertia.zero()
    for i in reversed(range(len(model.bodies))):
        parent = model.bodies[i].parent
        if parent == WORLD:
            total = total + Xup[i].inverse_times(Ic[i])
        else:
            Ic[parent] = Ic[parent] + Xup[i].inverse_times(Ic[i])
    to_center = Transform(Rotation.identity(), total.h * inverse_mass(model, total.mass))
    columns = [
        (to_center * X.inverse_times(inertia * s)).components()
        for X, inertia, own in zip(X0, Ic, S, strict=True)
        for s in own
    ]
    return [[column[row] for column in columns] for row in range(6)]


def inverse_mass(model: Model, mass: Scalar) -> Scalar:
    """Return one over the mass of all moving bodies [1/kg].

    Raises:
        RobotDynamicsError: If it is zero, and there is no centre of mass.
    """
    if is_zero(mass):
        raise RobotDynamicsError(
            f"{model.name}: no moving body has mass, expected one for a centre of mass."
        )
    return 1.0 / mass


def centroidal_momentum_matrix_rate(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Parameters
) -> list[list[Scalar]]:
    """Return the time derivative (6, nv) of the centroidal momentum matrix."""
    rate = model.position_rate(q, qd)
    return directional_derivative(
        lambda q: centroidal_momentum_matrix(model, q, parameters), q, rate
    )[1]


MOMENTUM = Algorithm("momentum", momentum, "q, qd -> momentum (6)")
CENTROIDAL_MOMENTUM_MATRIX = Algorithm(
    "centroidal_momentum_matrix", centroidal_momentum_matrix, "q -> A (6, nv)"
)
CENTROIDAL_MOMENTUM_MATRIX_RATE = Algorithm(
    "centroidal_momentum_matrix_rate", centroidal_momentum_matrix_rate, "q, qd -> A_rate (6, nv)"
)
