# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drives of simulated joints: torque limits and friction between command and mechanism."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model import Model
from robot_dynamics.simulation.settings import PlantSettings


@dataclass(frozen=True)
class DriveParameters:
    """Torque limits and friction of the actuated joints (na,).

    Attributes:
        v_index: Indices of the actuated joints in the model's velocities.
        effort: Largest torque of a drive [N m or N].
        damping: Viscous friction [N m s/rad or N s/m].
        friction: Coulomb friction [N m or N].
        friction_velocity: Speed [rad/s or m/s] at which Coulomb friction reaches 71 % of its
            value; it is smoothed as `friction qd / sqrt(qd^2 + friction_velocity^2)`.
    """

    v_index: NDArray[np.intp]
    effort: Array
    damping: Array
    friction: Array
    friction_velocity: float

    def pack(self) -> Array:
        """Return the drives' part of the parameter block."""
        return np.concatenate(
            [np.minimum(self.effort, 1e9), self.damping, self.friction, [self.friction_velocity]]
        )


def drives_of(
    system: GraspSystem, settings: PlantSettings, model: Model | None = None
) -> DriveParameters:
    """Return the drives of a system's arm joints with the friction of their descriptions.

    The passive joints of arms with internal closed chains follow: friction, no torque.

    Args:
        system: The arms.
        settings: Scales of friction, and whether torques are limited.
        model: The model whose velocities `v_index` counts; the system's by default.
    """
    model, names = model or system.model, (*system.joint_names, *system.passive_joint_names)
    at = [model.joint_index(name) for name in names]
    joints = [model.bodies[i].joint for i in at]
    effort = np.zeros(len(names))
    driven = len(system.joint_names)
    effort[:driven] = system.limits["effort"] if settings.torque_limit else np.inf
    return DriveParameters(
        v_index=np.array([model.v_slices[i].start for i in at], dtype=np.intp),
        effort=effort,
        damping=settings.damping_scale * np.array([joint.damping for joint in joints]),
        friction=settings.friction_scale * np.array([joint.friction for joint in joints]),
        friction_velocity=settings.friction_velocity,
    )
