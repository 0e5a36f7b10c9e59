# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Matrices over all pairs of joints of long trees, without code for each pair.

A traced program has an operation for every operation, and a matrix of derivatives has an entry for
every pair of joints: from some 32 joints in a row on, it takes longer to compile than anybody
waits. Here compiled recursions over the bodies, of order n, leave a few vectors for each joint in
base coordinates; entries are scalar products of these, which are products of matrices for NumPy,
and equations with the inertia matrix are solved by its articulated-body factors, eight columns at
a time. Functions take and return what the traced ones of short trees do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from robot_dynamics import algorithms, derivatives
from robot_dynamics.compile.kernel import Kernel, load_kernel
from robot_dynamics.compile.plain_function import PlainFunction
from robot_dynamics.compile.ports import Ports, Shape
from robot_dynamics.compile.program import Program
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.dynamics.consistency import require_closed_state
from robot_dynamics.dynamics.coriolis import velocity_commutators
from robot_dynamics.dynamics.inverse_derivatives import has_constant_subspaces
from robot_dynamics.dynamics.loop_derivatives import turned_columns
from robot_dynamics.dynamics.passive import has_passive_forces
from robot_dynamics.dynamics.regressor import PER_BODY, body_links
from robot_dynamics.model import Model

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Pairs of a joint's velocity and one of those before it, from which on traced derivatives take
# more than some ten seconds to compile: a chain or a ring of 32.
_LONG = 500
# Rows of matrices that are computed together: half of the pairs of a chain are no pairs of others.
_BLOCK = 100


def is_long(model: Model) -> bool:
    """Return whether code for all pairs of joints would take too long to compile."""
    return sum(len(model.support(body)) for body in range(len(model.bodies))) > _LONG


class LongTree:
    """The functions of a long tree, each compiled when it is first asked for.

    Args:
        model: The mechanism; its tree `is_long`, and there may be loops.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        n = model.nv
        bodies = np.repeat(np.arange(len(model.bodies)), [_length(at) for at in model.v_slices])
        carried = np.zeros((len(model.bodies), len(model.bodies)), dtype=bool)
        for body in range(len(model.bodies)):
            carried[body, list(model.support(body))] = True
        # Whether the joint of a column is that of the row or before it.
        before: Mask = carried[np.ix_(bodies, bodies)]
        # Rows of a matrix, and which columns among these numbers belong to a joint at or before
        # the row's; unless that holds for all columns before, these and, with the joints after
        # them, all columns of the rows transposed.
        self._blocks: list[tuple[slice, Mask, tuple[Array, Array] | None]] = []
        stop = 0
        for at in model.v_slices:  # a joint of several freedoms is in one block
            start, end = stop, at.stop
            if end < min(start + _BLOCK, n):
                continue
            stop = end
            rows, left = slice(start, stop), slice(0, start)
            lower = before[rows, rows]
            above = before[rows, : rows.stop].T.copy()
            above[rows] |= lower
            parts = before[rows, left].astype(float), above.astype(float)
            others = None if above.all() else parts
            self._blocks.append((rows, lower, others))
        self._carries = carried[:, bodies].T  # whether a joint moves a body
        # Springs, friction and joints with a moving S have no recursion of their own.
        self._has_columns = has_constant_subspaces(model)
        self._by_columns = self._has_columns and not has_passive_forces(model)

    @cached_property
    def inverse_dynamics_derivatives(self) -> PlainFunction:
        """`(q, qd, qdd) -> (tau_q, tau_qd, tau_qdd)`."""
        n, free = self.model.nv, np.zeros(self.model.constraint_count)

        def evaluate(inputs: list[Array], outputs: list[Array]) -> None:
            for state in zip(*inputs, *outputs, strict=True):
                of_state = [matrix.reshape(n, n) for matrix in state[3:]]
                if self._by_columns:
                    self._fill(*state[:3], *of_state)
                else:
                    self._fill_by_directions(*state[:3], free, *of_state[:2])
                    of_state[2][...] = self._inertia_matrix(state[0])

        matrices = dict.fromkeys(("tau_q", "tau_qd", "tau_qdd"), (n, n))
        return self._function("inverse_dynamics_derivatives", evaluate, ("qd", "qdd"), matrices)

    @cached_property
    def coriolis_matrix(self) -> PlainFunction:
        """`(q, qd) -> C`: see `dynamics.coriolis`."""
        model, n = self.model, self.model.nv
        commutators = [
            (at.start + k, at.start + j, at.start + i, 0.5 * value)
            for body, at in zip(model.bodies, model.v_slices, strict=True)
            for (k, j, i), value in np.ndenumerate(velocity_commutators(body.joint.type))
            if value
        ]

        def evaluate(inputs: list[Array], outputs: list[Array]) -> None:
            for q, qd, out in zip(*inputs, *outputs, strict=True):
                C = out.reshape(n, n)
                if self._has_columns:
                    motions, forces = self._columns(q, qd, np.zeros(n))
                    S, after = motions[:, 12:18], forces[:, 18:]
                    self._of_pairs(C, forces[:, :12], motions[:, 12:], after, S)
                else:
                    C[...] = self._velocity_forces_jvp(q, qd, np.eye(n)).T
                C *= 0.5
                if commutators:
                    H = self._inertia_matrix(q)
                    H[np.diag_indices(n)] -= model.armature  # bodies alone, see `coriolis`
                    for k, j, i, value in commutators:
                        C[:, j] += H[:, i] * (qd[k] * value)

        return self._function("coriolis_matrix", evaluate, ("qd",), {"C": (n, n)})

    @cached_property
    def inverse_dynamics_regressor(self) -> PlainFunction:
        """`(q, qd, qdd) -> Y`."""
        model = self.model
        count = len(model.bodies)

        def evaluate(inputs: list[Array], outputs: list[Array]) -> None:
            for *state, out in zip(*inputs, *outputs, strict=True):
                S, forces = self._regressor_columns(*state)
                Y = out.reshape(model.nv, count, PER_BODY)
                Y[...] = 0.0
                for first in range(0, count, _BLOCK):
                    bodies = slice(first, min(first + _BLOCK, count))
                    rows = slice(0, model.v_slices[bodies.stop - 1].stop)
                    of = forces[PER_BODY * bodies.start : PER_BODY * bodies.stop]
                    entries = (S[rows] @ of.T).reshape(rows.stop, -1, PER_BODY)
                    Y[rows, bodies] = entries * self._carries[rows, bodies, None]

        shape = {"Y": (model.nv, PER_BODY * count)}
        return self._function("inverse_dynamics_regressor", evaluate, ("qd", "qdd"), shape)

    @cached_property
    def inverse_inertia_matrix(self) -> PlainFunction:
        """`(q) -> H^-1`."""
        n = self.model.nv

        def evaluate(inputs: list[Array], outputs: list[Array]) -> None:
            for q, out in zip(*inputs, *outputs, strict=True):
                self._solver(q)[0](np.eye(n), out=out.reshape(n, n))

        return self._function("inverse_inertia_matrix", evaluate, (), {"H_inverse": (n, n)})

    @cached_property
    def residual_derivatives(self) -> PlainFunction:
        """`(q, qd, qdd, multipliers) -> (motion_q, motion_qd, rates_q, rates_qd)`."""
        n, m = self.model.nv, self.model.constraint_count

        def evaluate(inputs: list[Array], outputs: list[Array]) -> None:
            for q, qd, qdd, multipliers, *out in zip(*inputs, *outputs, strict=True):
                matrices = [each.reshape(-1, n) for each in out]
                self._fill_residual(q, qd, qdd, multipliers, matrices)

        sizes = {"motion_q": n, "motion_qd": n, "rates_q": m, "rates_qd": m}
        shapes = {name: (rows, n) for name, rows in sizes.items()}
        inputs = ("qd", "qdd", "multipliers")
        return self._function("residual_derivatives", evaluate, inputs, shapes)

    @cached_property
    def forward_dynamics_derivatives(self) -> PlainFunction:
        """`(q, qd, tau) -> (pivot, ...)`, as `forward_dynamics_derivatives_program` has them."""
        n, m = self.model.nv, self.model.constraint_count

        def evaluate(inputs: list[Array], outputs: list[Array]) -> None:
            for q, qd, tau, pivot, *out in zip(*inputs, *outputs, strict=True):
                pivot[0] = self._fill_forward(q, qd, tau, [each.reshape(-1, n) for each in out])

        kinds = [("qdd", n), ("lambda", m)] if m else [("qdd", n)]
        shapes: dict[str, Shape] = {"pivot": ()}
        for kind, rows in kinds:
            shapes |= {f"{kind}_{of}": (rows, n) for of in ("q", "qd", "tau")}
        return self._function("forward_dynamics_derivatives", evaluate, ("qd", "tau"), shapes)

    @cached_property
    def constraint_terms(self) -> PlainFunction:
        """`(q, qd) -> (H, C, K, k, position_error, velocity_error)`."""
        n, m = self.model.nv, self.model.constraint_count
        bias = self._bound("bias_forces", algorithms.bias_forces_program)

        def evaluate(inputs: list[Array], outputs: list[Array]) -> None:
            q, qd = inputs
            H = np.array([self._inertia_matrix(one) for one in q])
            parts = [H, bias(q, qd), *(self._loop_terms(q, qd)[:4] if m else ())]
            for out, part in zip(outputs, parts, strict=False):
                out[...] = part.reshape(out.shape)

        shapes: dict[str, Shape] = {"H": (n, n), "C": (n,), "K": (m, n), "k": (m,)}
        shapes |= {"position_error": (m,), "velocity_error": (m,)}
        return self._function("constraint_terms", evaluate, ("qd",), shapes)

    def require_closed(self, q: Any, qd: Any) -> None:
        """Refuse a state in which loops are open, or do not stay closed.

        Raises:
            AssemblyError: It names the loops.
        """
        _, _, position_error, velocity_error, checks = self._loop_terms(q, qd)
        if not checks[0] <= 1.0:  # a sentence about it takes some milliseconds
            at = finite_vector("q", q, self.model.nq), finite_vector("qd", qd, self.model.nv)
            require_closed_state(self.model, *at, position_error, velocity_error)

    def _fill_forward(self, q: Array, qd: Array, tau: Array, out: list[Array]) -> float:
        """Write the derivatives of accelerations and multipliers, and return the pivot."""
        n, m = self.model.nv, self.model.constraint_count
        solve, pivot = self._solver(q)
        qdd = self._free_accelerations(q, qd, tau)
        multipliers = np.zeros(m)
        inverse: Array = solve(np.eye(n))
        if m:
            K, k, _, _, (_, strength, opening) = self._loop_terms(q, qd)
            gives = inverse @ K.T  # H^-1 K^T
            multipliers_of, of_constraints = _solver_of_constraints(K, K @ gives)
            pivot = min(pivot, strength, of_constraints * opening)
            multipliers = multipliers_of(k - K @ qdd)
            qdd = qdd + gives @ multipliers
        change = np.empty((2, n, n))
        rates = np.zeros((2, m, n))
        self._fill_residual(q, qd, qdd, multipliers, [*change, *rates])
        moved = -solve(np.ascontiguousarray(change.transpose(0, 2, 1))).transpose(0, 2, 1)
        for at in range(2):
            if m:
                out[3 + at][...] = multipliers_of(-rates[at] - K @ moved[at])
                np.add(moved[at], gives @ out[3 + at], out=out[at])
            else:
                out[at][...] = moved[at]
        out[2][...] = inverse
        if m:
            out[5][...] = -multipliers_of(gives.T)
            out[2] += gives @ out[5]
        return float(pivot) if np.isfinite(qdd).all() else np.nan

    def _fill_residual(
        self, q: Array, qd: Array, qdd: Array, multipliers: Array, out: list[Array]
    ) -> None:
        """Write the derivatives of forces and rates at fixed accelerations and multipliers."""
        motion_q, motion_qd, rates_q, rates_qd = out
        if not self._by_columns:
            self._fill_by_directions(q, qd, qdd, multipliers, motion_q, motion_qd, *out[2:])
            return
        self._fill(q, qd, qdd, motion_q, motion_qd)
        if not self.model.loops:
            return  # rows of couplings are constant
        rates_q[...], rates_qd[...], columns = self._loop_columns(q, qd, qdd, multipliers)
        start = 0
        for at, turned in self._loops:
            J, moments, turning = np.split(columns[start : start + len(turned)], 3, axis=1)
            start += len(turned)
            motion_q[at] -= (J @ moments.T) * turned + J @ turning.T

    def _fill(
        self, q: Array, qd: Array, qdd: Array, tau_q: Array, tau_qd: Array, H: Array | None = None
    ) -> None:
        """Write derivatives of inverse dynamics, from the columns of joints."""
        motions, forces = self._columns(q, qd, qdd)
        S, lower = motions[:, 12:18], forces[:, :12]
        self._of_pairs(tau_q, lower, motions[:, :12], forces[:, 12:18], S)
        self._of_pairs(tau_qd, lower, motions[:, 12:], forces[:, 18:], S)
        if H is not None:
            self._of_pairs(H, forces[:, 6:12], S, forces[:, 6:12], S)
            H[np.diag_indices(len(H))] += self.model.armature

    def _fill_by_directions(
        self, q: Array, qd: Array, qdd: Array, multipliers: Array, *out: Array
    ) -> None:
        """Write the same by products with all directions: of forces by q and qd, then of rates."""
        n = self.model.nv
        units, still = np.eye(n), np.zeros((1, n))
        for at, directions in enumerate(((units, still), (still, units))):
            columns = self._residual_jvp(q, qd, qdd, multipliers, *directions)
            for matrix, part in zip(out[at::2], np.split(columns, [n], axis=1), strict=False):
                matrix[...] = part.T

    def _of_pairs(self, out: Array, F: Array, M: Array, G: Array, S: Array) -> None:
        """Write F_i . M_j at (i, j), for joints j at or before i, and S_j . G_i at (j, i)."""
        for rows, lower, others in self._blocks:
            left = slice(0, rows.start)
            np.matmul(F[rows], M[left].T, out=out[rows, left])
            np.matmul(S[: rows.stop], G[rows].T, out=out[: rows.stop, rows])
            np.copyto(out[rows, rows], F[rows] @ M[rows].T, where=lower)
            if others is not None:
                out[rows, left] *= others[0]
                out[: rows.stop, rows] *= others[1]

    def _inertia_matrix(self, q: Array) -> Array:
        """Return H (nv, nv)."""
        n = self.model.nv
        if not self._has_columns:
            return np.asarray(self._bound("inertia_matrix", algorithms.inertia_matrix_program)(q))
        motions, forces = self._columns(q, np.zeros(n), np.zeros(n))
        H, S, w = np.empty((n, n)), motions[:, 12:18], forces[:, 6:12]
        self._of_pairs(H, w, S, w, S)
        H[np.diag_indices(n)] += self.model.armature
        return H

    def _solver(self, q: Array) -> tuple[Callable[..., Array], float]:
        """Return the function b -> H^-1 b (..., nv), and the pivot of H."""
        columns, pivot = self._factor_columns(q)
        return self._factor_solve.bind(columns), float(pivot)

    @cached_property
    def _loops(self) -> list[tuple[Any, Mask]]:
        """For each loop where its velocities are in a matrix, and which turn which columns."""
        found: list[tuple[Any, Mask]] = []
        for loop in self.model.loops:
            turned = turned_columns(self.model, loop)
            indices = sorted(turned)
            mask = np.array([[i in turned[j] for j in indices] for i in indices], dtype=bool)
            all_between = slice(indices[0], indices[-1] + 1) if indices else slice(0, 0)
            whole = len(indices) == _length(all_between)
            at = (all_between, all_between) if whole else np.ix_(indices, indices)
            found.append((at, mask.reshape(len(indices), len(indices))))
        return found

    @cached_property
    def _columns(self) -> Any:
        return self._bound("derivative_columns", derivatives.derivative_columns_program)

    @cached_property
    def _regressor_columns(self) -> Any:
        frames = [link.placement for link in body_links(self.model)]
        name = f"regressor_columns\0{frames!r}"
        return self._bound(name, derivatives.regressor_columns_program)

    @cached_property
    def _factor_columns(self) -> Any:
        return self._bound("factor_columns", derivatives.factor_columns_program)

    @cached_property
    def _factor_solve(self) -> Kernel:
        key = b"factor_solve\0" + self.model.structure_key
        return load_kernel(key, lambda: derivatives.factor_solve_program(self.model))

    @cached_property
    def _free_accelerations(self) -> Any:
        return self._bound("forward_dynamics", algorithms.forward_dynamics_program)

    @cached_property
    def _loop_terms(self) -> Any:
        return self._bound("loop_terms", derivatives.loop_terms_program)

    @cached_property
    def _loop_columns(self) -> Any:
        return self._bound("loop_columns", derivatives.loop_columns_program)

    @cached_property
    def _residual_jvp(self) -> Any:
        return self._bound("residual_jvp", derivatives.residual_jvp_program)

    @cached_property
    def _velocity_forces_jvp(self) -> Any:
        return self._bound("velocity_forces_jvp", derivatives.velocity_forces_jvp_program)

    def _bound(self, name: str, program: Callable[[Model], Program]) -> Any:
        return algorithms.bound(self.model, name, lambda: program(self.model))

    def _function(
        self,
        name: str,
        evaluate: Callable[[list[Array], list[Array]], None],
        inputs: tuple[str, ...],
        outputs: Mapping[str, Shape],
    ) -> PlainFunction:
        """Return a function of q and other inputs with broadcasting and `out=`."""
        sizes = {"q": self.model.nq, "multipliers": self.model.constraint_count}
        shapes = [(each, (sizes.get(each, self.model.nv),)) for each in ("q", *inputs)]
        return PlainFunction(Ports(name, tuple(shapes), tuple(outputs.items()), 0), evaluate)


def _length(at: slice) -> int:
    return int(at.stop - at.start)


def _solver_of_constraints(K: Array, A: Array) -> tuple[Callable[[Array], Array], float]:
    """Return what solves with A = K H^-1 K^T, and its smallest pivot over its diagonal entry.

    As `constraint_factors` has them: multipliers of constraints that no joint affects are zero.
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
