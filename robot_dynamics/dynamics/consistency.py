# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that positions, velocities and accelerations keep the loops closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.assembly import (
    AssemblyError,
    gaps_in_words,
    loop_gaps,
    require_closed,
)
from robot_dynamics.dynamics.closed_loop import terms_to_solve
from robot_dynamics.dynamics.full_rank import full_rank_pivot
from robot_dynamics.dynamics.loops import LoopTerms
from robot_dynamics.dynamics.rank import ConstraintRank
from robot_dynamics.dynamics.scaling import (
    constraint_scales,
    coordinate_scales,
    model_length,
    tree_length,
)
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.functions import maximum
from robot_dynamics.scalar.linear_algebra import dot, is_zero
from robot_dynamics.spatial import Scalar

#: Largest closure error, as a share of the length, and rate of it, as a share of the speed, at
#: which the equations of the closed mechanism hold. Measured frames and stabilised integration
#: stay below.
LARGEST_INCONSISTENCY = 1e-2


def inconsistency(model: Model, terms: LoopTerms, qd: Sequence[Scalar]) -> Scalar:
    """Return the inconsistency of a state with closed loops; above 1 it is refused. Traceable.

    It is the square of the larger of two ratios over `LARGEST_INCONSISTENCY`: closure error over
    length, and its rate over the speed. A length per second is added to the speed, because at rest
    any velocity is rounding.

    Args:
        model: The mechanism.
        terms: Its constraints.
        qd: Velocities (nv,).
    """
    length = tree_length(model)
    rows = constraint_scales(model, length).tolist()
    columns = coordinate_scales(model, length).tolist()
    on_positions = model.holonomic.tolist()
    gaps = [
        e * (scale / length)
        for e, scale, counts in zip(terms.position_error, rows, on_positions, strict=True)
        if counts and not is_zero(e)
    ]
    rates = [e * scale for e, scale in zip(terms.velocity_error, rows, strict=True)]
    moving = [v * scale for v, scale in zip(qd, columns, strict=True)]
    slip = dot(rates, rates) / (length**2 + dot(moving, moving))
    return maximum(dot(gaps, gaps), slip) * LARGEST_INCONSISTENCY**-2


def require_closed_state(model: Model, q: Array, qd: Array, error: Array, rate: Array) -> None:
    """Refuse positions at which loops are open, and velocities that open them.

    Args:
        model: The mechanism.
        q: Positions (nq,).
        qd: Velocities (nv,).
        error: Position error (n^c,) there.
        rate: Its rate K qd (n^c,).

    Raises:
        AssemblyError: If loops are open or opening; it names them and their errors or rates.
    """
    length = model_length(model)
    require_closed(model, q, error, LARGEST_INCONSISTENCY, length)
    speed = float(np.linalg.norm(coordinate_scales(model, length) * qd))
    least = LARGEST_INCONSISTENCY * (speed + length)
    worst = float(np.max(np.abs(constraint_scales(model, length) * rate), initial=0.0))
    if worst <= least:
        return
    gaps = loop_gaps(model, rate)
    raise AssemblyError(
        f"{model.name}: these velocities contradict the loops: "
        + gaps_in_words(gaps, least, "opens", " per second")
        + "; expected velocities that keep them closed, as those of `assemble`.",
        gaps,
        worst,
        q,
    )


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
        tolerance: Largest K qdd - k, as a share of the largest acceleration in it.

    Raises:
        AssemblyError: If they do; it names the loops and the errors.
    """
    speed = ranked.row_scales * (np.abs(K) @ np.abs(qd))
    # Velocity products and gravity may cancel in k; their rounding remains.
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


def checked_loop_terms(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Parameters
) -> tuple[Any, ...]:
    """Return K, k, the constraint errors (n^c,) and three checks.

    The checks are `inconsistency`, and `full_rank_pivot` of a pivot of 1 with and without the
    sizes of the rows.
    """
    loops = terms_to_solve(model, q, qd, parameters).loops
    pivots = [full_rank_pivot(model, loops, 1.0), full_rank_pivot(model, loops, 1.0, [])]
    checks = [inconsistency(model, loops, qd), *pivots]
    return loops.K, loops.k, loops.position_error, loops.velocity_error, checks


LOOP_TERMS = Algorithm(
    "loop_terms",
    checked_loop_terms,
    "q, qd -> K (constraints, nv), k (constraints), position_error (constraints), "
    "velocity_error (constraints), checks (3)",
)
