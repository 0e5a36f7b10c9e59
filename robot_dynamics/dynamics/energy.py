# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kinetic and potential energy of a mechanism; conservative motion preserves their sum."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    body_velocities,
    joint_transforms,
)
from robot_dynamics.dynamics.passive import spring_energies
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Scalar


def energies(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Parameters
) -> tuple[Scalar, Scalar]:
    """Return the kinetic energy, rotors included, and the potential energy [J].

    The potential energy is that of gravity, zero with all centres of mass at the height of the
    world's origin, and of the springs in joints, zero at their rest positions.

    Args:
        model: The mechanism.
        q: Positions (nq,).
        qd: Velocities (nv,).
        parameters: Gravity and inertias.
    """
    kinetic, potential = body_energies(model, q, qd, parameters)
    return sum(kinetic, start=0.0), sum(potential, start=0.0)


def body_energies(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Parameters
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the kinetic and potential energy of each body [J]; see `energies`.

    A body's energy includes the rotor and the spring of the joint that carries it, and the springs
    of loop joints with the body as successor, or as predecessor if the successor is the world.
    """
    Xup = joint_transforms(model, q)
    kinetic: list[Scalar] = []
    for v, inertia, at in zip(
        body_velocities(model, Xup, qd, q), parameters.inertias, model.v_slices, strict=True
    ):
        own = v.dot(inertia * v) * 0.5  # Eq 2.67
        for rate, armature in zip(qd[at], model.armature[at].tolist(), strict=True):
            if armature:
                own = own + rate * rate * (0.5 * armature)
        kinetic.append(own)
    potential = spring_energies(model, Xup, parameters, q)
    for i, (X, inertia) in enumerate(
        zip(body_transforms(model, Xup), parameters.inertias, strict=True)
    ):
        moment = X.inverse_times(inertia).h  # mass times centre of mass, in the world
        potential[i] = potential[i] - moment.dot(parameters.gravity)
    return kinetic, potential


ENERGIES = Algorithm("energies", energies, "q, qd -> kinetic (), potential ()")
