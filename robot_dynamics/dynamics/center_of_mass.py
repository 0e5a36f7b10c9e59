# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Position, velocity and Jacobian of the centre of mass of all moving bodies."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    joint_transforms,
    motion_subspaces,
)
from robot_dynamics.dynamics.momentum import inverse_mass, momentum
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Scalar, Vector3


def center_of_mass(model: Model, q: Sequence[Scalar], parameters: Parameters) -> Vector3:
    """Return the centre of mass of all moving bodies in the world [m].

    Args:
        model: The mechanism.
        q: Positions (nq,).
        parameters: Inertias.
    """
    total = Vector3.zero()
    X0 = body_transforms(model, joint_transforms(model, q))
    for X, inertia in zip(X0, parameters.inertias, strict=True):
        total = total + X.inverse_times(inertia).h
    return total * _inverse_mass(model, parameters)


def center_of_mass_velocity(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Parameters
) -> Vector3:
    """Return the velocity of the centre of mass in the world [m/s]: momentum over mass."""
    return momentum(model, q, qd, parameters).linear * _inverse_mass(model, parameters)


def center_of_mass_jacobian(
    model: Model, q: Sequence[Scalar], parameters: Parameters
) -> list[list[Scalar]]:
    """Return the Jacobian (3, nv) of the centre of mass in the world.

    A joint gives the bodies that it carries the momentum Ic S: composite inertias, as in Table
    6.2.
    """
    Xup = joint_transforms(model, q)
    X0, S = body_transforms(model, Xup), motion_subspaces(model, q)
    share = _inverse_mass(model, parameters)
    rows: list[list[Scalar]] = [[0.0] * model.nv for _ in range(3)]
    Ic = list(parameters.inertias)
    for i in reversed(range(len(model.bodies))):
        body, at = model.bodies[i], model.v_slices[i]
        if body.parent != WORLD:
            Ic[body.parent] = Ic[body.parent] + Xup[i].inverse_times(Ic[i])
        for index, s in zip(range(at.start, at.stop), S[i], strict=True):
            moved = X0[i].E.inverse_times((Ic[i] * s).linear) * share
            for row, value in zip(rows, moved, strict=True):
                row[index] = value
    return rows


def _inverse_mass(model: Model, parameters: Parameters) -> Scalar:
    mass: Scalar = 0.0
    for inertia in parameters.inertias:
        mass = mass + inertia.mass
    return inverse_mass(model, mass)


CENTER_OF_MASS = Algorithm("center_of_mass", center_of_mass, "q -> c (3)")
CENTER_OF_MASS_VELOCITY = Algorithm(
    "center_of_mass_velocity", center_of_mass_velocity, "q, qd -> v (3)"
)
CENTER_OF_MASS_JACOBIAN = Algorithm(
    "center_of_mass_jacobian", center_of_mass_jacobian, "q -> J (3, nv)"
)
