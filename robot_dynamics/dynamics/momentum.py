# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Momentum of a mechanism: what forces between its bodies cannot change."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    body_velocities,
    joint_transforms,
)
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Force, Scalar


def momentum(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Parameters
) -> Force:
    """Return the momentum of all bodies in world coordinates, angular about the world's origin.

    [N m s], [N s] (2.61). The spin of geared rotors, which have no body, is not in it.

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
