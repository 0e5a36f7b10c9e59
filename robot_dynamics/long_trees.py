# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Matrices over all pairs of joints of long trees, without code for each pair.

A traced program has an operation for every operation, and a matrix of derivatives has an entry for
every pair of joints: from some 32 joints in a row on, it takes longer to compile than anybody
waits. Here compiled recursions over the bodies, of order n, leave a few vectors for each joint in
base coordinates; entries are scalar products of these for a joint and those that it carries, and
equations with the inertia matrix are solved by its articulated-body factors, both by routines with
loops over states, joints and columns. Functions take and return what the traced ones of short
trees do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from robot_dynamics import algorithms, derivatives
from robot_dynamics.compile.plain_function import PlainFunction
from robot_dynamics.compile.ports import Ports, Shape
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.routine import Matrix, Table, Tensor, Vector, routine, zeros
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.dynamics.consistency import require_closed_state
from robot_dynamics.dynamics.coriolis import velocity_commutators
from robot_dynamics.dynamics.inverse_derivatives import has_constant_subspaces
from robot_dynamics.dynamics.loop_derivatives import turned_columns
from robot_dynamics.dynamics.passive import has_passive_forces
from robot_dynamics.dynamics.regressor import PER_BODY, body_links
from robot_dynamics.model import WORLD, Model

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Pairs of a joint's velocity and one of those before it, from which on traced derivatives take
# more than some ten seconds to compile: a chain or a ring of 32.
_LONG = 500
_NONE = np.empty((0, 0, 0))  # in the place of matrices that are not wanted


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
        self._branches = _Branches.of(model)
        # Springs, friction and joints with a moving S have no recursion of their own.
        self._has_columns = has_constant_subspaces(model)
        self._by_columns = self._has_columns and not has_passive_forces(model)

    @cached_property
    def inverse_dynamics_derivatives(self) -> PlainFunction:
        """`(q, qd, qdd) -> (tau_q, tau_qd, tau_qdd)`."""
        n, free = self.model.nv, np.zeros(self.model.constraint_count)

        def evaluate(inputs: list[Array], outputs: list[Array]) -> None:
            matrices = [out.reshape(-1, n, n) for out in outputs]
            if self._by_columns:
                self._fill(*inputs, *matrices)
            else:
                self._fill_by_directions(*inputs, free, *matrices[:2])
                matrices[2][...] = self._inertia_matrix(inputs[0])

        shapes = dict.fromkeys(("tau_q", "tau_qd", "tau_qdd"), (n, n))
        return self._function("inverse_dynamics_derivatives", evaluate, ("qd", "qdd"), shapes)

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
            (q, qd), C = inputs, outputs[0].reshape(-1, n, n)
            if self._has_columns:
                motions, forces = self._columns(q, qd, np.zeros(n))
                pairs = motions, 0.5 * forces, *self._branches[:2], np.zeros(n)
                fill_pairs(*pairs, _NONE, C, _NONE)
            else:
                rates = self._velocity_forces_jvp(q[:, None], qd[:, None], np.eye(n))
                C[...] = 0.5 * rates.transpose(0, 2, 1)
            if commutators:
                H = self._inertia_matrix(q)
                H[:, range(n), range(n)] -= model.armature  # bodies alone, see `coriolis`
                for k, j, i, value in commutators:
                    C[:, :, j] += H[:, :, i] * (qd[:, k, None] * value)

        return self._function("coriolis_matrix", evaluate, ("qd",), {"C": (n, n)})

    @cached_property
    def inverse_dynamics_regressor(self) -> PlainFunction:
        """`(q, qd, qdd) -> Y`."""
        n, size = self.model.nv, PER_BODY * len(self.model.bodies)

        def evaluate(inputs: list[Array], outputs: list[Array]) -> None:
            S, forces = self._regressor_columns(*inputs)
            fill_regressor(S, forces, self._branches.joints, outputs[0].reshape(-1, n, size))

        shape = {"Y": (n, size)}
        return self._function("inverse_dynamics_regressor", evaluate, ("qd", "qdd"), shape)

    @cached_property
    def inverse_inertia_matrix(self) -> PlainFunction:
        """`(q) -> H^-1`."""
        n = self.model.nv

        def evaluate(inputs: list[Array], outputs: list[Array]) -> None:
            factors, _ = self._factor_columns(*inputs)
            solve(factors, *self._branches[1:], True, outputs[0].reshape(-1, n, n))

        return self._function("inverse_inertia_matrix", evaluate, (), {"H_inverse": (n, n)})

    @cached_property
    def residual_derivatives(self) -> PlainFunction:
        """`(q, qd, qdd, multipliers) -> (motion_q, motion_qd, rates_q, rates_qd)`."""
        n, m = self.model.nv, self.model.constraint_count

        def evaluate(inputs: list[Array], outputs: list[Array]) -> None:
            q, qd, qdd, multipliers = inputs
            matrices = [each.reshape(len(each), -1, n) for each in outputs]
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
            pivot, *out = outputs
            matrices = [each.reshape(len(each), -1, n) for each in out]
            q, qd, tau = inputs
            pivot[:, 0] = self._fill_forward(q, qd, tau, matrices)

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
            parts = [
                self._inertia_matrix(q),
                bias(q, qd),
                *(self._loop_terms(q, qd)[:4] if m else ()),
            ]
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

    def _fill_forward(self, q: Array, qd: Array, tau: Array, out: list[Array]) -> Array:
        """Write the derivatives of accelerations and multipliers, and return the pivots."""
        count, n, m = len(q), self.model.nv, self.model.constraint_count
        factors, pivots = self._factor_columns(q)
        qdd = self._free_accelerations(q, qd, tau)
        multipliers = np.zeros((count, m))
        inverse = out[2]
        solve(factors, *self._branches[1:], True, inverse)
        if m:
            K, k, _, _, checks = self._loop_terms(q, qd)
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
        self._fill(q, qd, qdd, motion_q, motion_qd)
        if not self.model.loops:  # rows of couplings are constant
            rates_q[...] = rates_qd[...] = 0.0
            return
        rates_q[...], rates_qd[...], columns = self._loop_columns(q, qd, qdd, multipliers)
        start = 0
        for at, turned in self._loops:
            J, moments, turning = np.split(columns[:, start : start + len(turned)], 3, axis=2)
            start += len(turned)
            moved = (J @ moments.transpose(0, 2, 1)) * turned + J @ turning.transpose(0, 2, 1)
            where = (slice(None), *at)
            motion_q[where] -= moved

    def _fill(
        self, q: Array, qd: Array, qdd: Array, tau_q: Array, tau_qd: Array, H: Array = _NONE
    ) -> None:
        """Write derivatives of inverse dynamics that are wanted, from the columns of joints."""
        motions, forces = self._columns(q, qd, qdd)
        armature = self.model.armature
        fill_pairs(motions, forces, *self._branches[:2], armature, tau_q, tau_qd, H)

    def _fill_by_directions(
        self, q: Array, qd: Array, qdd: Array, multipliers: Array, *out: Array
    ) -> None:
        """Write the same by products with all directions: of forces by q and qd, then of rates."""
        n = self.model.nv
        units, still = np.eye(n), np.zeros((1, n))
        state = [x[..., None, :] for x in (q, qd, qdd, multipliers)]
        for at, directions in enumerate(((units, still), (still, units))):
            columns = self._residual_jvp(*state, *directions).transpose(0, 2, 1)
            for matrix, part in zip(out[at::2], np.split(columns, [n], axis=1), strict=False):
                matrix[...] = part

    def _inertia_matrix(self, q: Array) -> Array:
        """Return H (N, nv, nv)."""
        n = self.model.nv
        if not self._has_columns:
            return np.asarray(self._bound("inertia_matrix", algorithms.inertia_matrix_program)(q))
        H = np.empty((len(q), n, n))
        self._fill(q, np.zeros(n), np.zeros(n), _NONE, _NONE, H)
        return H

    @cached_property
    def _loops(self) -> list[tuple[Any, Mask]]:
        """For each loop where its velocities are in a matrix, and which turn which columns."""
        found: list[tuple[Any, Mask]] = []
        for loop in self.model.loops:
            turned = turned_columns(self.model, loop)
            indices = sorted(turned)
            mask = np.array([[i in turned[j] for j in indices] for i in indices], dtype=bool)
            all_between = slice(indices[0], indices[-1] + 1) if indices else slice(0, 0)
            whole = len(indices) == all_between.stop - all_between.start
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


class _Branches(NamedTuple):
    """Which joints are before which; those that a body carries follow its own, see `Model`.

    Attributes:
        runs: The first of some velocities one after the other, and one after the last.
        joints: For each body, and behind them: the first velocity of its joint; one after the
            last of what it carries; the first of the runs that are its joint and all before it;
            where `solve` keeps its vectors; where those of what carries it.
        slots: The number of places for vectors.
    """

    runs: Table
    joints: Table
    slots: int

    @classmethod
    def of(cls, model: Model) -> _Branches:
        """Return those of a model."""
        starts = [*(at.start for at in model.v_slices), model.nv]
        runs: list[tuple[int, int]] = []
        ends, firsts, last = starts[1:], [0], {}
        for i, body in enumerate(model.bodies):
            support = model.support(i)
            froms = [starts[b] for b in support if b - 1 not in support]
            tos = [starts[b + 1] for b in support if b + 1 not in support]
            runs += zip(froms, tos, strict=True)
            firsts.append(len(runs))
            for b in support:
                ends[b] = starts[i + 1]
            last[body.parent] = i
        slots, carriers = {WORLD: 0}, []
        for i, body in enumerate(model.bodies):  # the last that a body carries takes its place
            carriers.append(slots[body.parent])
            slots[i] = carriers[i] + (last[body.parent] != i)
        joints = np.zeros((len(starts), 5), dtype=np.int64)
        joints[:, 0], joints[:-1, 1], joints[:, 2] = starts, ends, firsts
        joints[:-1, 3], joints[:-1, 4] = [slots[i] for i in range(len(carriers))], carriers
        return cls(np.array(runs, dtype=np.int64), joints, max(slots.values()) + 1)


@routine
def fill_pairs(
    motions: Tensor, forces: Tensor, runs: Table, joints: Table, armature: Vector,
    tau_q: Tensor, tau_qd: Tensor, H: Tensor,
) -> None:  # fmt: skip
    """Write the matrices of `derivative_columns`; those of no states are left out.

    Args:
        motions: (N, nv, 24).
        forces: (N, nv, 24).
        runs: See `_Branches`.
        joints: See `_Branches`.
        armature: Inertia of rotors (nv,).
        tau_q: (N, nv, nv) or empty, as the next two.
        tau_qd: Derivatives by qd.
        H: The inertia matrix.
    """
    n = motions.shape[1]
    m = zeros(24, n)  # by components, each of all joints
    f = zeros(24, n)
    for state in range(len(motions)):
        for i in range(n):
            for k in range(24):
                m[k, i] = motions[state, i, k]
                f[k, i] = forces[state, i, k]
        for body in range(len(joints) - 1):
            after, end = joints[body + 1, 0], joints[body, 1]
            for i in range(joints[body, 0], after):
                at = 0
                for run in range(joints[body, 2], joints[body + 1, 2]):
                    start, to = runs[run, 0], runs[run, 1]
                    if len(tau_q) > 0:
                        clear(tau_q, state, i, at, start)
                        fill_twelve(forces, state, i, m, 0, start, to, tau_q)
                    if len(tau_qd) > 0:
                        clear(tau_qd, state, i, at, start)
                        fill_twelve(forces, state, i, m, 12, start, to, tau_qd)
                    if len(H) > 0:
                        clear(H, state, i, at, start)
                        fill_six(forces, state, i, 6, m, 12, start, to, H)
                    at = to
                if len(tau_q) > 0:
                    fill_six(motions, state, i, 12, f, 12, after, end, tau_q)
                    clear(tau_q, state, i, end, n)
                if len(tau_qd) > 0:
                    fill_six(motions, state, i, 12, f, 18, after, end, tau_qd)
                    clear(tau_qd, state, i, end, n)
                if len(H) > 0:
                    H[state, i, i] += armature[i]
                    fill_six(motions, state, i, 12, f, 6, after, end, H)
                    clear(H, state, i, end, n)


@routine
def clear(out: Tensor, state: int, i: int, start: int, end: int) -> None:
    """Write zeros into row i."""
    for j in range(start, end):
        out[state, i, j] = 0.0


@routine
def fill_six(
    a: Tensor, state: int, i: int, at: int, b: Matrix, of: int, start: int, end: int, out: Tensor
) -> None:
    """Write products of six numbers of a, from `at` on, and six of b, from `of` on, into row i."""
    for j in range(start, end):
        s = 0.0
        for k in range(6):
            s += a[state, i, at + k] * b[of + k, j]
        out[state, i, j] = s


@routine
def fill_twelve(
    a: Tensor, state: int, i: int, b: Matrix, of: int, start: int, end: int, out: Tensor
) -> None:
    """Write the same of the first twelve numbers of a."""
    for j in range(start, end):
        s = 0.0
        for k in range(12):
            s += a[state, i, k] * b[of + k, j]
        out[state, i, j] = s


@routine
def fill_regressor(S: Tensor, forces: Tensor, joints: Table, out: Tensor) -> None:
    """Write products of each joint's S and the forces of the bodies that it moves.

    Args:
        S: (N, nv, 6).
        forces: (N, 10 bodies, 6).
        joints: See `_Branches`.
        out: (N, nv, 10 bodies).
    """
    size = forces.shape[1]
    f = zeros(6, size)
    for state in range(len(S)):
        for i in range(size):
            for k in range(6):
                f[k, i] = forces[state, i, k]
        for body in range(len(joints) - 1):
            last = body + 1
            while joints[last, 0] < joints[body, 1]:
                last += 1
            for j in range(joints[body, 0], joints[body + 1, 0]):
                for i in range(PER_BODY * body):
                    out[state, j, i] = 0.0
                for i in range(PER_BODY * body, PER_BODY * last):
                    s = 0.0
                    for k in range(6):
                        s += S[state, j, k] * f[k, i]
                    out[state, j, i] = s
                for i in range(PER_BODY * last, size):
                    out[state, j, i] = 0.0


@routine
def solve(factors: Tensor, joints: Table, slots: int, inverse: bool, X: Tensor) -> None:
    """Write H^-1 X in the place of X: what `half_solve` to `back_solve` do, in base coordinates.

    Args:
        factors: (N, nv, 18), see `columns_in_base`.
        joints: See `_Branches`.
        slots: See `_Branches`.
        inverse: Whether X need not be read: H^-1 is what is wanted.
        X: (N, nv, columns).
    """
    m = X.shape[2]
    width = m + 7 - (m + 7) % 8  # rows begin at cache lines
    moved = zeros(6 * slots, width)  # forces, then accelerations of bodies
    rates = zeros(6, width)  # of one joint
    for state in range(len(X)):
        if inverse:
            for i in range(m):
                clear(X, state, i, 0, m)
                X[state, i, i] = 1.0
        fill_zeros(moved, 0, 6 * slots)
        for back in range(len(joints) - 1):
            body = len(joints) - 2 - back
            at, carrier = 6 * joints[body, 3], 6 * joints[body, 4]
            start, after = joints[body, 0], joints[body + 1, 0]
            # A force at a joint is felt by those before it alone.
            first = start - start % 8 if inverse else 0
            last = joints[body, 1] if inverse else m
            for i in range(start, after):
                for c in range(first, last):
                    x = X[state, i, c]
                    for k in range(6):
                        x -= factors[state, i, k] * moved[at + k, c]
                    X[state, i, c] = x
            for i in range(start, after):
                add_multiples(factors, state, i, 6, X, first, last, moved, at)
            if at != carrier:
                for k in range(6):
                    for c in range(first, last):
                        x = moved[carrier + k, c] + moved[at + k, c]
                        moved[carrier + k, c], moved[at + k, c] = x, 0.0
        fill_zeros(moved, 0, 6)
        for body in range(len(joints) - 1):
            at, carrier = 6 * joints[body, 3], 6 * joints[body, 4]
            start, after = joints[body, 0], joints[body + 1, 0]
            first = start - start % 8 if inverse else 0  # H^-1 is symmetric
            for i in range(start, after):
                for c in range(first, m):
                    x = 0.0
                    for k in range(6):
                        x -= factors[state, i, 6 + k] * moved[carrier + k, c]
                    rates[i - start, c] = x
                for j in range(start, after):
                    for c in range(first, m):
                        rates[i - start, c] += factors[state, i, 12 + j - start] * X[state, j, c]
            if at != carrier:
                for k in range(6):
                    for c in range(first, m):
                        moved[at + k, c] = moved[carrier + k, c]
            for i in range(start, after):
                for c in range(first, m):
                    X[state, i, c] = rates[i - start, c]
                add_multiples(factors, state, i, 0, X, first, m, moved, at)
        if inverse:
            for start in range(0, m, 8):  # what is near in memory together
                for c in range(min(start + 8, m)):
                    for i in range(max(start, c + 1), min(start + 8, m)):
                        X[state, i, c] = X[state, c, i]


@routine
def fill_zeros(rows: Matrix, start: int, end: int) -> None:
    """Make some rows zero."""
    for i in range(start, end):
        for c in range(rows.shape[1]):
            rows[i, c] = 0.0


@routine
def add_multiples(
    factors: Tensor, state: int, i: int, of: int, X: Tensor, first: int, last: int,
    rows: Matrix, at: int,
) -> None:  # fmt: skip
    """Add multiples of row i of X to six others, by the numbers of factors from `of` on."""
    for k in range(0, 6, 3):  # so many are seen to be different ones
        a, b = factors[state, i, of + k], factors[state, i, of + k + 1]
        c = factors[state, i, of + k + 2]
        for j in range(first, last):
            x = X[state, i, j]
            rows[at + k, j] += a * x
            rows[at + k + 1, j] += b * x
            rows[at + k + 2, j] += c * x


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
