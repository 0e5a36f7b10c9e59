# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kinetic and potential energy of a mechanism; conservative motion preserves their sum."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    body_velocities,
    joint_transforms,
)
from robot_dynamics.dynamics.passive import spring_energy
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Scalar


def energies(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Parameters
) -> tuple[Scalar, Scalar]:
    """Return the kinetic energy, rotors included, and the potential energy [J].

    The potential is that of gravity, zero where all centres of mass are at the height of the
    world's origin, and of the springs in joints, zero where they are at rest.

    Args:
        model: The mechanism.
        q: Positions (nq,).
        qd: Velocities (nv,).
        parameters: Gravity and inertias.
    """
    Xup = joint_transforms(model, q)
    kinetic: Scalar = 0.0
    for v, inertia in zip(body_velocities(model, Xup, qd, q), parameters.inertias, strict=True):
        kinetic = kinetic + v.dot(inertia * v) * 0.5  # Eq 2.67
    for rate, armature in zip(qd, model.armature.tolist(), strict=True):
        if armature:
            kinetic = kinetic + rate * rate * (0.5 * armature)
    potential: Scalar = 0.0
    for X, inertia in zip(body_transforms(model, Xup), parameters.inertias, strict=True):
        moment = X.inverse_times(inertia).h  # mass times centre of mass, in the world
        potential = potential - moment.dot(parameters.gravity)
    return kinetic, potential + spring_energy(model, Xup, parameters, q)
