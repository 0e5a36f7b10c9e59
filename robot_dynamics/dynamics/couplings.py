# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The constraints of couplings: one row of K each, after those of the loop joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.loops import LoopTerms
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import Model
from robot_dynamics.scalar.linear_algebra import dot
from robot_dynamics.spatial import Scalar


def with_couplings(
    terms: LoopTerms, model: Model, q: Sequence[Scalar] | None, qd: Sequence[Scalar]
) -> LoopTerms:
    """Return the constraints followed by those of the couplings.

    A coupling is sum of c_i q_i = offset. It is linear in positions, so its row of K is c, and k =
    0. Its multiplier is a joint force: c_i lambda acts on joint i.

    Args:
        terms: The constraints of the loop joints.
        model: The mechanism.
        q: Positions (nq,); can be None without couplings.
        qd: Velocities (nv,).

    Raises:
        RobotDynamicsError: If there are couplings but no positions.
    """
    if not model.couplings:
        return terms
    if q is None:
        raise RobotDynamicsError(
            f"{model.name}: coupling {model.couplings[0].name!r} needs the positions of joints; "
            "lock its joints."
        )
    K, k = list(terms.K), list(terms.k)
    position, velocity = list(terms.position_error), list(terms.velocity_error)
    for coupling in model.couplings:
        row: list[Scalar] = [0.0] * model.nv
        factors = [factor for _, factor in coupling.terms]
        for body, factor in coupling.terms:
            row[model.v_slices[body].start] = factor
        K.append(row)
        k.append(0.0)
        positions = [q[model.q_slices[body].start] for body, _ in coupling.terms]
        rates = [qd[model.v_slices[body].start] for body, _ in coupling.terms]
        position.append(dot(factors, positions) - coupling.offset)
        velocity.append(dot(factors, rates))
    return LoopTerms(K, k, position, velocity)


def closure_with_couplings(
    model: Model, of_loops: Callable[[Array], tuple[Array, Array]] | None
) -> Callable[[Array], tuple[Array, Array]]:
    """Return `(q) -> (K, position error)` of loop joints and couplings (..., n^c, nv), (..., n^c).

    The rows of couplings are numbers, which need not be compiled.

    Args:
        model: The mechanism.
        of_loops: The same function of the loop joints; None without any.
    """
    count = len(model.couplings)
    rows, factors = np.zeros((count, model.nv)), np.zeros((count, model.nq))
    for row, coupling in enumerate(model.couplings):
        for body, factor in coupling.terms:
            rows[row, model.v_slices[body].start] = factor
            factors[row, model.q_slices[body].start] = factor
    offsets = np.array([coupling.offset for coupling in model.couplings])

    def closure(q: Array) -> tuple[Array, Array]:
        at = np.asarray(q, dtype=float)
        error = at @ factors.T - offsets
        K = np.broadcast_to(rows, (*at.shape[:-1], count, model.nv))
        if of_loops is None:
            return K.copy(), error
        loop_K, loop_error = of_loops(at)
        return np.concatenate([loop_K, K], axis=-2), np.concatenate([loop_error, error], axis=-1)

    return closure
