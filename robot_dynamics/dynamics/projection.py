# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Projection of positions and velocities onto closed loops, in the metric of H.

Velocity-only constraints have no position error. They are omitted when positions are projected:
holding them would exclude the smallest correction, and in combination with position constraints
possibly every correction.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.closed_loop import (
    ClosedLoopTerms,
    ConstraintFactors,
    constraint_factors,
)
from robot_dynamics.spatial import Scalar


def position_correction(
    terms: ClosedLoopTerms, factors: ConstraintFactors, holonomic: Sequence[bool]
) -> list[Scalar]:
    """Return the step (nv,) that removes the position errors, -H^-1 K^T (K H^-1 K^T)^-1 delta.

    Args:
        terms: H, K and the errors at the state.
        factors: Factors of all constraints; used if all are on positions.
        holonomic: Mask of constraints on positions.
    """
    if all(holonomic):
        return factors.correction(terms.loops.position_error)
    rows = [i for i, on_positions in enumerate(holonomic) if on_positions]
    narrow = constraint_factors(terms.H, [terms.loops.K[i] for i in rows])
    return narrow.correction([terms.loops.position_error[i] for i in rows])


def velocity_correction(terms: ClosedLoopTerms, factors: ConstraintFactors) -> list[Scalar]:
    """Return the change of velocities (nv,) after which all constraints hold, K qd = 0."""
    return factors.correction(terms.loops.velocity_error)
