# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether velocities and accelerations keep the loops closed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.dynamics.assembly import AssemblyError, gaps_in_words, loop_gaps
from robot_dynamics.dynamics.rank import ConstraintRank
from robot_dynamics.model import Model

Array = NDArray[np.float64]


def require_consistent_velocity(
    model: Model, ranked: ConstraintRank, K: Array, q: Array, qd: Array, tolerance: float
) -> None:
    """Refuse velocities that open the loops.

    Args:
        model: The mechanism.
        ranked: The rank of its constraints.
        K: Constraint Jacobian (n^c, nv).
        q: Positions (nq,).
        qd: Velocities (nv,).
        tolerance: Largest rate of opening, as a part of the largest velocity.

    Raises:
        AssemblyError: It names the loops and the rates at which they open.
    """
    rate = K @ qd
    speed = float(np.max(ranked.row_scales * (np.abs(K) @ np.abs(qd)), initial=0.0))
    _require_small(model, ranked, rate, speed, q, tolerance, ("velocities", " per second"))


def require_consistent_acceleration(
    model: Model,
    ranked: ConstraintRank,
    K: Array,
    k: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    tolerance: float,
) -> None:
    """Refuse accelerations that open the loops: K qdd = k does not hold (8.15).

    Args:
        model: The mechanism.
        ranked: The rank of its constraints.
        K: Constraint Jacobian (n^c, nv).
        k: Right-hand side (n^c,).
        q: Positions (nq,).
        qd: Velocities (nv,).
        qdd: Accelerations (nv,).
        tolerance: Largest K qdd - k, as a part of the largest acceleration in it.

    Raises:
        AssemblyError: It names the loops and by how much they would open.
    """
    speed = ranked.row_scales * (np.abs(K) @ np.abs(qd))
    # Velocity products and gravity may cancel in k, and leave their rounding.
    largest = ranked.row_scales * (np.abs(K) @ np.abs(qdd) + np.abs(k)) + speed**2 / ranked.length
    scale = float(np.max(largest, initial=0.0)) + float(np.linalg.norm(model.gravity))
    _require_small(
        model, ranked, K @ qdd - k, scale, q, tolerance, ("accelerations", " per second squared")
    )


def _require_small(
    model: Model,
    ranked: ConstraintRank,
    rest: Array,
    scale: float,
    q: Array,
    tolerance: float,
    words: tuple[str, str],
) -> None:
    least = max(tolerance, ranked.tolerance) * scale
    worst = float(np.max(np.abs(ranked.row_scales * rest), initial=0.0))
    if worst <= least:
        return
    gaps = loop_gaps(model, rest)
    what, unit = words
    raise AssemblyError(
        f"{model.name}: these {what} do not keep the loops closed: "
        + gaps_in_words(gaps, least, "would open by", unit)
        + f"; expected {what} with less than {least:.1e} m{unit}, rotations at "
        f"{ranked.length:.3g} m.",
        gaps,
        worst,
        q,
    )
