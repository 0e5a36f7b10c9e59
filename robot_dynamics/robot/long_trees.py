# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Matrices over all pairs of joints of long trees, without code for each pair.

A traced program is straight-line code, and a matrix of derivatives has an entry for every pair of
velocities: the compilation of a chain of 32 joints takes ten seconds, and of 20 spherical ones a
minute. Here compiled recursions over the bodies, of order n, give a few vectors for each velocity,
and the routines of `joint_pairs` make the matrices. The functions take and return the same as the
traced ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from robot_dynamics.arrays import Array, Batch
from robot_dynamics.compile.composition import composed
from robot_dynamics.compile.plain_function import Evaluate, PlainFunction
from robot_dynamics.compile.ports import Ports
from robot_dynamics.compile.routine import Routine
from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.dynamics.articulated_factors import FACTOR_COLUMNS, INVERSE_COLUMNS
from robot_dynamics.dynamics.closed_loop import CONSTRAINT_TERMS
from robot_dynamics.dynamics.consistency import LOOP_TERMS, require_closed_state
from robot_dynamics.dynamics.coriolis import (
    CORIOLIS_COLUMNS,
    CORIOLIS_MATRIX,
    CORIOLIS_PRODUCT,
)
from robot_dynamics.dynamics.forward import TREE_FORWARD_DYNAMICS
from robot_dynamics.dynamics.forward_derivatives import (
    FORWARD_COLUMNS,
    FORWARD_DYNAMICS_DERIVATIVES,
    PLACEMENT_DERIVATIVES,
    PLACEMENT_RATE,
)
from robot_dynamics.dynamics.inertia_matrix import INERTIA_MATRIX
from robot_dynamics.dynamics.inverse import BIAS_FORCES
from robot_dynamics.dynamics.inverse_derivatives import (
    DERIVATIVE_COLUMNS,
    INERTIA_COLUMNS,
    INVERSE_DYNAMICS_DERIVATIVES,
    has_constant_subspaces,
)
from robot_dynamics.dynamics.inverse_inertia import INVERSE_INERTIA_MATRIX
from robot_dynamics.dynamics.loop_derivatives import LOOP_COLUMNS
from robot_dynamics.dynamics.passive import has_passive_forces
from robot_dynamics.dynamics.regressor import INVERSE_DYNAMICS_REGRESSOR, REGRESSOR_COLUMNS
from robot_dynamics.dynamics.residual import RESIDUAL_DERIVATIVES, RESIDUAL_JVP
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import pack
from robot_dynamics.robot.joint_pairs import (
    Branches,
    LoopColumns,
    close,
    fill_accelerations,
    fill_by_velocity,
    fill_derivatives,
    fill_inertia,
    fill_regressor,
    fill_slopes,
    fill_tree_accelerations,
    invert,
    solve,
    subtract_loop_forces,
    subtract_products,
)

Function = Callable[..., Any]

# Pairs of a velocity and one between it and the base, from which on loops are faster than code for
# each pair, and compiled as quickly: a chain of 15 revolute joints or of 5 spherical ones.
_LONG = 110
# Pivot, qdd, factors, multipliers, K, W and triangle among the outputs of `forward_columns`.
_SOLUTION = (0, 1, 4, 5, 6, 7, 8)
# Where derivatives are products with all directions: from there on their code takes more than ten
# seconds to compile.
_LONG_BY_DIRECTIONS = 500


def is_long(model: Model) -> bool:
    """Return whether matrices over all pairs of velocities are computed in loops."""
    return velocity_pairs(model) > (_LONG if _by_columns(model) else _LONG_BY_DIRECTIONS)


def velocity_pairs(model: Model) -> int:
    """Return the number of pairs of a velocity and another up to it on its branch."""
    counts = [at.stop - at.start for at in model.v_slices]
    return sum(
        own * sum(counts[body] for body in model.support(at)) for at, own in enumerate(counts)
    )


def _by_columns(model: Model) -> bool:
    """Return whether derivatives have a recursion: without springs, friction and moving S."""
    return has_constant_subspaces(model) and not has_passive_forces(model)


class LongTree:
    """The functions of a long tree that replace traced ones.

    Args:
        model: The mechanism; its tree `is_long`, and there may be loops.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._has_columns, self._by_columns = has_constant_subspaces(model), _by_columns(model)
        self._compiled: Callable[[Algorithm], Any] = cache(lambda each: each.bind(model))

    def function(self, algorithm: Algorithm) -> Function | None:
        """Return the function that replaces a traced one; None if there is none."""
        outputs = algorithm.output_lengths(self.model)
        if algorithm in self.replacements:
            if not self.model.constraint_count:  # NumPy's ufuncs admit no length of 0
                outputs = {name: shape for name, shape in outputs.items() if all(shape)}
            return self._composed(*self.replacements[algorithm], outputs=outputs)
        if algorithm in self._evaluations:
            inputs = algorithm.input_lengths(self.model)
            ports = Ports(algorithm.name, tuple(inputs.items()), tuple(outputs.items()), 0)
            return PlainFunction(ports, self._evaluations[algorithm])
        return None

    @cached_property
    def replacements(self) -> dict[Algorithm, tuple[Any, ...]]:
        """Algorithm of the columns, routine and its constants by the algorithm they replace."""
        runs, joints, slots = self._branches
        pairs = runs, joints, self.model.armature
        found: dict[Algorithm, tuple[Any, ...]] = {
            INVERSE_DYNAMICS_REGRESSOR: (REGRESSOR_COLUMNS, fill_regressor, joints),
            INVERSE_INERTIA_MATRIX: (INVERSE_COLUMNS, invert, joints, slots),
        }
        if self._has_columns:
            found[INERTIA_MATRIX] = INERTIA_COLUMNS, fill_inertia, *pairs
            found[CORIOLIS_MATRIX] = CORIOLIS_COLUMNS, fill_by_velocity, runs, joints
        if self._by_columns:
            found[INVERSE_DYNAMICS_DERIVATIVES] = DERIVATIVE_COLUMNS, fill_derivatives, *pairs
            solved: tuple[Any, ...] = fill_tree_accelerations, *self._branches
            if self.model.constraint_count:
                solved = fill_accelerations, *self._branches, *LoopColumns.of(self.model)
            found[FORWARD_DYNAMICS_DERIVATIVES] = FORWARD_COLUMNS, *solved
        return found

    @cached_property
    def _evaluations(self) -> dict[Algorithm, Evaluate]:
        return {
            INVERSE_DYNAMICS_DERIVATIVES: self._inverse_dynamics_derivatives,
            CORIOLIS_MATRIX: self._coriolis_matrix,
            RESIDUAL_DERIVATIVES: self._residual_derivatives,
            FORWARD_DYNAMICS_DERIVATIVES: self._forward_dynamics_derivatives,
            CONSTRAINT_TERMS: self._constraint_terms,
            **({PLACEMENT_DERIVATIVES: self._placement_derivatives} if self._by_columns else {}),
        }

    def _composed(
        self,
        columns: Algorithm,
        routine: Routine,
        *constants: Any,
        outputs: Mapping[str, tuple[int, ...]],
    ) -> Function:
        kernel, parameters = columns.kernel(self.model), pack(self.model)
        return composed(columns.name, kernel, parameters, routine, constants, [*outputs.items()])

    @cached_property
    def _branches(self) -> Branches:
        return Branches.of(self.model)

    def _inverse_dynamics_derivatives(self, inputs: list[Array], outputs: list[Array]) -> None:
        n, free = self.model.nv, np.zeros(self.model.constraint_count)
        matrices = [out.reshape(-1, n, n) for out in outputs]
        self._fill_by_directions(*inputs, free, *matrices[:2])
        self._inertia_matrix(inputs[0], out=matrices[2])

    def _coriolis_matrix(self, inputs: list[Array], outputs: list[Array]) -> None:
        n = self.model.nv
        (q, qd), C = inputs, outputs[0].reshape(-1, n, n)
        columns = self._compiled(CORIOLIS_PRODUCT)(q[:, None], qd[:, None], np.eye(n))
        C[...] = columns.transpose(0, 2, 1)

    def _residual_derivatives(self, inputs: list[Array], outputs: list[Array]) -> None:
        q, qd, qdd, multipliers = inputs
        matrices = [each.reshape(len(each), -1, self.model.nv) for each in outputs]
        self._fill_residual(q, qd, qdd, multipliers, matrices)

    def _forward_dynamics_derivatives(self, inputs: list[Array], outputs: list[Array]) -> None:
        pivot, *out = outputs
        matrices = [each.reshape(len(each), -1, self.model.nv) for each in out]
        q, qd, tau = inputs
        pivot[:, 0] = self._fill_forward(q, qd, tau, matrices)

    def _constraint_terms(self, inputs: list[Array], outputs: list[Array]) -> None:
        q, qd = inputs
        parts = [self._inertia_matrix(q), self._compiled(BIAS_FORCES)(q, qd)]
        if self.model.constraint_count:
            parts += self._compiled(LOOP_TERMS)(q, qd)[:4]
        for out, part in zip(outputs, parts, strict=False):
            out[...] = part.reshape(out.shape)

    def accelerations(self, q: Batch, qd: Batch, tau: Batch) -> Array | None:
        """Return qdd (..., nv) by the program of its derivatives; None if there is none."""
        if not self._by_columns:
            return None
        return np.asarray(self._compiled(FORWARD_COLUMNS)(q, qd, tau)[1])

    def _placement_derivatives(self, inputs: list[Array], outputs: list[Array]) -> None:
        q, qd, tau = inputs
        n, m, count = self.model.nv, self.model.constraint_count, 12 * len(self.model.loops)
        found = self._compiled(FORWARD_COLUMNS)(q, qd, tau)
        outputs[0][:, 0], qdd, factors, multipliers, K, W, triangle = (found[i] for i in _SOLUTION)
        at = [x[:, None] for x in (q, qd, qdd, multipliers)]
        rates = -self._compiled(PLACEMENT_RATE)(*at, np.eye(count)).transpose(0, 2, 1)
        moved, of_multipliers = (np.ascontiguousarray(x) for x in np.split(rates, [n], axis=1))
        solve(factors, *self._branches[1:], False, moved)
        subtract_products(K, moved, of_multipliers)
        close(W, triangle, of_multipliers, moved)
        outputs[1][...] = moved.reshape(-1, n * count)
        outputs[2][...] = of_multipliers.reshape(-1, m * count)

    def require_closed(self, q: Batch, qd: Batch) -> None:
        """Raise an error if loops are open at a state, or do not stay closed.

        Raises:
            AssemblyError: It names the loops.
        """
        _, _, position_error, velocity_error, checks = self._compiled(LOOP_TERMS)(q, qd)
        if not checks[0] <= 1.0:  # a sentence about it takes some milliseconds
            at = finite_vector("q", q, self.model.nq), finite_vector("qd", qd, self.model.nv)
            require_closed_state(self.model, *at, position_error, velocity_error)

    def _fill_forward(self, q: Array, qd: Array, tau: Array, out: list[Array]) -> Array:
        """Write the derivatives of accelerations and multipliers, and return the pivots."""
        count, n, m = len(q), self.model.nv, self.model.constraint_count
        factors, pivots = self._compiled(FACTOR_COLUMNS)(q)
        qdd = self._compiled(TREE_FORWARD_DYNAMICS)(q, qd, tau)
        multipliers = np.zeros((count, m))
        inverse = out[2]
        solve(factors, *self._branches[1:], True, inverse)
        if m:
            K, k, _, _, checks = self._compiled(LOOP_TERMS)(q, qd)
            gives = np.ascontiguousarray(K.transpose(0, 2, 1))
            solve(factors, *self._branches[1:], False, gives)  # H^-1 K^T
            of_states = [_solver_of_constraints(*both) for both in zip(K, K @ gives, strict=True)]
            solvers = [one for one, _ in of_states]
            pivots = np.minimum(pivots, checks[:, 1])
            pivots = np.minimum(pivots, checks[:, 2] * [pivot for _, pivot in of_states])
            open_rates = k - np.einsum("sij,sj->si", K, qdd)
            for state, multipliers_of in enumerate(solvers):
                multipliers[state] = multipliers_of(open_rates[state])
            qdd = qdd + np.einsum("sij,sj->si", gives, multipliers)
        rates = np.empty((2, count, m, n))
        self._fill_residual(q, qd, qdd, multipliers, [*out[:2], *rates])
        for moved in out[:2]:
            solve(factors, *self._branches[1:], False, moved)
            np.negative(moved, out=moved)
        for state in range(count if m else 0):
            multipliers_of, W = solvers[state], gives[state]
            for moved, rate, of_multipliers in zip(out[:2], rates, out[3:], strict=False):
                of_multipliers[state] = multipliers_of(-rate[state] - K[state] @ moved[state])
                moved[state] += W @ of_multipliers[state]
            out[5][state] = -multipliers_of(W.T)
            inverse[state] += W @ out[5][state]
        return np.where(np.isfinite(qdd).all(axis=1), pivots, np.nan)

    def _fill_residual(
        self, q: Array, qd: Array, qdd: Array, multipliers: Array, out: list[Array]
    ) -> None:
        """Write the derivatives of forces and rates at fixed accelerations and multipliers."""
        motion_q, motion_qd, rates_q, rates_qd = out
        if not self._by_columns:
            self._fill_by_directions(q, qd, qdd, multipliers, motion_q, motion_qd, *out[2:])
            return
        self._slopes(q, qd, qdd, out=(motion_q, motion_qd))
        if not self.model.loops:  # rows of couplings are constant
            rates_q[...] = rates_qd[...] = 0.0
            return
        rates_q[...], rates_qd[...], columns = self._compiled(LOOP_COLUMNS)(
            q, qd, qdd, multipliers
        )
        subtract_loop_forces(np.ascontiguousarray(columns), *LoopColumns.of(self.model), motion_q)

    @cached_property
    def _slopes(self) -> Function:
        """Derivatives of inverse dynamics by q and qd, of joints with constant S."""
        outputs = dict.fromkeys(("tau_q", "tau_qd"), (self.model.nv, self.model.nv))
        runs, joints, _ = self._branches
        return self._composed(DERIVATIVE_COLUMNS, fill_slopes, runs, joints, outputs=outputs)

    @cached_property
    def _inertia_matrix(self) -> Function:
        return self.function(INERTIA_MATRIX) or self._compiled(INERTIA_MATRIX)

    def _fill_by_directions(
        self, q: Array, qd: Array, qdd: Array, multipliers: Array, *out: Array
    ) -> None:
        """Write the same by products with all directions: of forces by q and qd, then of rates."""
        n = self.model.nv
        units, still = np.eye(n), np.zeros((1, n))
        state = [x[..., None, :] for x in (q, qd, qdd, multipliers)]
        for at, directions in enumerate(((units, still), (still, units))):
            columns = self._compiled(RESIDUAL_JVP)(*state, *directions).transpose(0, 2, 1)
            for matrix, part in zip(out[at::2], np.split(columns, [n], axis=1), strict=False):
                matrix[...] = part


def _solver_of_constraints(K: Array, A: Array) -> tuple[Callable[[Array], Array], float]:
    """Return a solver with A = K H^-1 K^T, and its smallest pivot over its diagonal entry.

    As in `constraint_factors`: multipliers of constraints that no joint affects are zero.
    """
    idle = np.logical_not(K.any(axis=1))
    A = np.where(np.logical_or.outer(idle, idle), np.diag(idle * 1.0), A)
    try:  # the elimination runs from the last row to the first
        factor = np.linalg.cholesky(A[::-1, ::-1])
    except np.linalg.LinAlgError:
        return lambda b: np.full(b.shape, np.nan), 0.0

    def solve(b: Array) -> Array:
        b = (b.T * ~idle).T[::-1]
        x: Array = cho_solve((factor, True), b, check_finite=False)[::-1]
        return x

    return solve, float((np.diag(factor) ** 2 / np.diag(A)[::-1]).min())
