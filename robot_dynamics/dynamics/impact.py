# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Velocities that jump when constraints begin: plastic impact (section 11.7 of the book).

Only constraint forces are impulsive, so that H (qd+ - qd) = K^T iota and K qd+ = 0. The result is
the nearest velocity that the constraints allow, in the metric of H: energy is lost, and quantities
that the constraints do not affect, such as the momentum of a free mechanism, are conserved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.dynamics.redundant import rank_revealing_solution
from robot_dynamics.model import Model


@dataclass(frozen=True)
class Impact:
    """Result of an impact.

    Attributes:
        qd: Velocities after it (nv,).
        impulse: Of each constraint (n^c,) [N m s, N s], on the successor as multipliers are.
        energy_lost: Kinetic energy that it takes [J].
    """

    qd: Array
    impulse: Array
    energy_lost: float


def plastic_impact(
    model: Model, H: Array, K: Array, position_error: Array, q: Array, qd: Array
) -> Impact:
    """Return the impact when all constraints of a mechanism begin to act at once.

    Args:
        model: The mechanism with its loops.
        H: Inertia matrix (nv, nv).
        K: Constraint Jacobian (n^c, nv).
        position_error: Position error of the loops (n^c,).
        q: Positions (nq,) of the impact, loops closed.
        qd: Velocities before it (nv,).
    """
    ranked = constraint_rank(model, K, position_error, q)
    # Equations of motion with impulses instead of forces.
    jump = rank_revealing_solution(model, H, np.zeros(model.nv), K, -(K @ qd), ranked=ranked)
    after = qd + jump.qdd
    lost = 0.5 * float(qd @ H @ qd - after @ H @ after)
    return Impact(after, jump.multipliers, lost)
