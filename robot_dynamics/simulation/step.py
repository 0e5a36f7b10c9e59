# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One integration step of a closed-loop system, loops kept closed by projection: one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import Program
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import pack
from robot_dynamics.scalar.functions import maximum, minimum, sqrt
from robot_dynamics.simulation.closed_motion import ClosedMotion
from robot_dynamics.simulation.runge_kutta import step_of
from robot_dynamics.simulation.schemes import CLASSICAL
from robot_dynamics.spatial import Scalar

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Drives:
    """What stands between a torque command and the mechanism, over the actuated joints (na,).

    Attributes:
        v_index: Where the actuated joints stand in the model's velocities.
        effort: Largest torque that a drive gives [N m].
        damping: Viscous friction [N m s/rad].
        friction: Coulomb friction [N m].
        friction_velocity: Speed [rad/s] at which Coulomb friction reaches 71 % of its value; it is
            smoothed as `friction qd / sqrt(qd^2 + friction_velocity^2)`.
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


def step_parameters(model: Model, drives: Drives, step: float) -> Array:
    """Return the parameter block of `step_program`: model, drives, length of the step [s]."""
    return np.concatenate([pack(model), drives.pack(), [step]])


def step_program(model: Model, actuated: Sequence[int]) -> Program:
    """Return the program of one Runge-Kutta step of fourth order, followed by projection.

    Inputs: q (nq,), qd (nv,), torque (na,), held over the step. Outputs: q, qd after the step, the
    loop multipliers there (n^c,), the position error at the start of the step (n^c,) and the one
    that the projection took away (n^c,), and the smallest pivot that tells full rank ().

    Positions and velocities are projected in the metric of H, so that the kinetic energy never
    grows by it.

    Args:
        model: The mechanism.
        actuated: Indices of the actuated joints in the velocities.
    """
    motion = ClosedMotion(model, DriveForces(model.nv, tuple(actuated)))
    outputs = ("q", "qd", "multipliers", "closure", "drift", "pivot")
    return step_of(model, CLASSICAL, motion.rate(), motion.projection(), outputs)


@dataclass(frozen=True)
class DriveForces:
    """The joint forces of torque commands to drives, as `ClosedMotion` wants them.

    Attributes:
        nv: Number of velocities.
        actuated: Indices of the actuated joints in the velocities.
    """

    nv: int
    actuated: tuple[int, ...]

    @property
    def inputs(self) -> int:
        """One torque for each drive."""
        return len(self.actuated)

    @property
    def parameters(self) -> int:
        """The length of `Drives.pack`."""
        return 3 * len(self.actuated) + 1

    def __call__(
        self, qd: Sequence[Scalar], command: Sequence[Scalar], block: Sequence[Scalar]
    ) -> Sequence[Scalar]:
        """Return the joint forces (nv,) of limited torques less friction."""
        return drive_forces(self.nv, self.actuated, qd, command, block)


def drive_forces(
    nv: int,
    actuated: Sequence[int],
    qd: Sequence[Scalar],
    torque: Sequence[Scalar],
    drives: Sequence[Scalar],
) -> list[Scalar]:
    """Return the joint forces (nv,) of limited torques less friction; `drives` is packed."""
    na = len(actuated)
    effort, damping, friction = (drives[i * na : (i + 1) * na] for i in range(3))
    v0 = drives[3 * na]
    tau: list[Scalar] = [0.0] * nv
    for j, at in enumerate(actuated):
        limited = minimum(maximum(torque[j], -effort[j]), effort[j])
        rate = qd[at]
        tau[at] = limited - damping[j] * rate - friction[j] * rate / sqrt(rate * rate + v0 * v0)
    return tau
