# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loops over states, joints and columns of long trees, compiled as routines.

Entries of a matrix over pairs of joints are scalar products of a few vectors of each joint in base
coordinates; equations with the inertia matrix are solved by its articulated-body factors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.compile.routine import Matrix, Table, Tensor, Vector, routine, zeros
from robot_dynamics.dynamics.loop_derivatives import turned_columns
from robot_dynamics.dynamics.regressor import PER_BODY
from robot_dynamics.model import WORLD, Model


class Branches(NamedTuple):
    """Order of joints: the joints that a body carries follow its own, see `Model`.

    Attributes:
        runs: The first of some velocities one after the other, and one after the last.
        joints: For each body, and behind them: the first velocity of its joint; the end of the
            velocities that it carries; the first run of its joint and its ancestors; the slot of
            its vectors in `solve`; the slot of its parent's vectors.
        slots: The number of places for vectors.
    """

    runs: Table
    joints: Table
    slots: int

    @classmethod
    def of(cls, model: Model) -> Branches:
        """Return the branches of a model's tree."""
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
def fill_derivatives(
    motions: Tensor, forces: Tensor, runs: Table, joints: Table, armature: Vector,
    tau_q: Tensor, tau_qd: Tensor, H: Tensor,
) -> None:  # fmt: skip
    """Write the matrices of `derivative_columns`.

    Args:
        motions: (N, 21, nv).
        forces: (N, 21, nv).
        runs: See `Branches`.
        joints: See `Branches`.
        armature: Inertia of rotors (nv,).
        tau_q: Derivatives by q (N, nv, nv).
        tau_qd: Derivatives by qd (N, nv, nv).
        H: The inertia matrix (N, nv, nv).
    """
    fill_slopes(motions, forces, runs, joints, tau_q, tau_qd)
    fill_inertia(motions, forces, runs, joints, armature, H)


@routine
def fill_slopes(
    motions: Tensor, forces: Tensor, runs: Table, joints: Table, tau_q: Tensor, tau_qd: Tensor
) -> None:
    """Write the derivatives by q and by qd."""
    fill_pairs(motions, forces, runs, joints, 0, 3, 9, tau_q)
    fill_by_velocity(motions, forces, runs, joints, tau_qd)


@routine
def fill_by_velocity(
    motions: Tensor, forces: Tensor, runs: Table, joints: Table, tau_qd: Tensor
) -> None:
    """Write the derivatives by qd alone."""
    fill_pairs(motions, forces, runs, joints, 9, 15, 15, tau_qd)


@routine
def fill_inertia(
    motions: Tensor, forces: Tensor, runs: Table, joints: Table, armature: Vector, H: Tensor
) -> None:
    """Write the inertia matrix alone."""
    fill_pairs(motions, forces, runs, joints, -1, 9, 3, H)
    for state in range(len(H)):
        for i in range(len(armature)):
            H[state, i, i] += armature[i]


@routine
def fill_pairs(
    motions: Tensor, forces: Tensor, runs: Table, joints: Table, turn: int, move: int, feel: int,
    out: Tensor,
) -> None:  # fmt: skip
    """Write one of these matrices.

    Args:
        motions: (N, 21, nv).
        forces: (N, 21, nv).
        runs: See `Branches`.
        joints: See `Branches`.
        turn: First row of the motions that are multiplied by u; -1 for none.
        move: First row of the motions that are multiplied by w.
        feel: First row of the forces that are multiplied by S.
        out: (N, nv, nv).
    """
    n = motions.shape[2]
    for state in range(len(motions)):
        for body in range(len(joints) - 1):
            after, end = joints[body + 1, 0], joints[body, 1]
            for i in range(joints[body, 0], after):
                at = 0
                for run in range(joints[body, 2], joints[body + 1, 2]):
                    start, to = runs[run, 0], runs[run, 1]
                    clear(out, state, i, at, start)
                    if turn < 0:
                        fill_six(motions, move, forces, 3, state, i, start, to, out)
                    else:
                        fill_nine(motions, turn, move, forces, state, i, start, to, out)
                    at = to
                fill_six(forces, feel, motions, 9, state, i, after, end, out)
                clear(out, state, i, end, n)


@routine
def clear(out: Tensor, state: int, i: int, start: int, end: int) -> None:
    """Write zeros into row i."""
    for j in range(start, end):
        out[state, i, j] = 0.0


@routine
def fill_six(
    a: Tensor, of: int, b: Tensor, at: int, state: int, i: int, start: int, end: int, out: Tensor
) -> None:
    """Write into row i products of six rows of a, from `of` on, and six of b, from `at` on."""
    for j in range(start, end):
        s = 0.0
        for k in range(6):
            s += a[state, of + k, j] * b[state, at + k, i]
        out[state, i, j] = s


@routine
def fill_nine(
    a: Tensor, turn: int, move: int, b: Tensor, state: int, i: int, start: int, end: int,
    out: Tensor,
) -> None:  # fmt: skip
    """Write the same of three rows from `turn` on and six from `move` on, and the first of b."""
    for j in range(start, end):
        s = 0.0
        for k in range(3):
            s += a[state, turn + k, j] * b[state, k, i]
        for k in range(6):
            s += a[state, move + k, j] * b[state, 3 + k, i]
        out[state, i, j] = s


@routine
def fill_regressor(S: Tensor, forces: Tensor, joints: Table, out: Tensor) -> None:
    """Write products of each joint's S and the forces of the bodies that it moves.

    Args:
        S: (N, nv, 6).
        forces: (N, 10 bodies, 6).
        joints: See `Branches`.
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
def invert(factors: Tensor, joints: Table, slots: int, H_inverse: Tensor) -> None:
    """Write H^-1 (N, nv, nv), see `solve`."""
    solve(factors, joints, slots, True, H_inverse)


@routine
def solve(factors: Tensor, joints: Table, slots: int, inverse: bool, X: Tensor) -> None:
    """Replace X by H^-1 X: the steps `half_solve` to `back_solve`, in base coordinates.

    Args:
        factors: (N, nv, 18), see `columns_in_base`.
        joints: See `Branches`.
        slots: See `Branches`.
        inverse: Whether to write H^-1 without reading X.
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


class LoopColumns(NamedTuple):
    """Columns of loops that turn other columns, see `turned_columns`.

    Attributes:
        spans: The first velocity of each loop, and one after the last (loops, 2).
        order: Place of each velocity in the loop (loops, nv); nv for velocities outside it.
        turned: Number of places that each velocity turns, from the first on (loops, nv).
    """

    spans: Table
    order: Table
    turned: Table

    @classmethod
    def of(cls, model: Model) -> LoopColumns:
        """Return the loops of a model."""
        count = max(len(model.loops), 1)
        spans = np.zeros((count, 2), dtype=np.int64)
        order = np.full((count, model.nv), model.nv, dtype=np.int64)
        turned = np.zeros((count, model.nv), dtype=np.int64)
        for at, loop in enumerate(model.loops):
            of_loop = turned_columns(model, loop)
            for place, i in enumerate(of_loop):
                order[at, i], turned[at, i] = place, len(of_loop[i])
            if of_loop:
                spans[at] = min(of_loop), max(of_loop) + 1
        return cls(spans, order, turned)


@routine
def fill_tree_accelerations(
    qdd: Matrix, motions: Tensor, forces: Tensor, factors: Tensor,
    runs: Table, joints: Table, slots: int,
    qdd_q: Tensor, qdd_qd: Tensor, qdd_tau: Tensor,
) -> None:  # fmt: skip
    """Write the derivatives of accelerations without constraints, from `forward_columns`.

    Args:
        qdd: Accelerations (N, nv), which are not read.
        motions: (N, 21, nv).
        forces: (N, 21, nv).
        factors: (N, nv, 18).
        runs: See `Branches`.
        joints: See `Branches`.
        slots: See `Branches`.
        qdd_q: Derivatives by q (N, nv, nv).
        qdd_qd: Derivatives by qd (N, nv, nv).
        qdd_tau: H^-1 (N, nv, nv).
    """
    solve(factors, joints, slots, True, qdd_tau)
    fill_slopes(motions, forces, runs, joints, qdd_q, qdd_qd)
    negate(qdd_q)
    negate(qdd_qd)
    solve(factors, joints, slots, False, qdd_q)
    solve(factors, joints, slots, False, qdd_qd)


@routine
def fill_accelerations(
    qdd: Matrix, motions: Tensor, forces: Tensor, factors: Tensor,
    multipliers: Matrix, K: Tensor, W: Tensor, triangle: Tensor,
    rates_q: Tensor, rates_qd: Tensor, loops: Tensor,
    runs: Table, joints: Table, slots: int, spans: Table, order: Table, turned: Table,
    qdd_q: Tensor, qdd_qd: Tensor, qdd_tau: Tensor,
    lambda_q: Tensor, lambda_qd: Tensor, lambda_tau: Tensor,
) -> None:  # fmt: skip
    """Write the same with constraints, and the derivatives (N, n^c, nv) of their forces.

    Further arguments are as for `forward_columns` for N states, and `LoopColumns`.
    """
    solve(factors, joints, slots, True, qdd_tau)
    fill_slopes(motions, forces, runs, joints, qdd_q, qdd_qd)
    subtract_loop_forces(loops, spans, order, turned, qdd_q)
    negate(qdd_q)
    negate(qdd_qd)
    solve(factors, joints, slots, False, qdd_q)
    solve(factors, joints, slots, False, qdd_qd)
    copy_negative(rates_q, lambda_q)
    copy_negative(rates_qd, lambda_qd)
    copy_negative(W, lambda_tau)
    subtract_products(K, qdd_q, lambda_q)
    subtract_products(K, qdd_qd, lambda_qd)
    close(W, triangle, lambda_q, qdd_q)
    close(W, triangle, lambda_qd, qdd_qd)
    close(W, triangle, lambda_tau, qdd_tau)


@routine
def subtract_loop_forces(
    loops: Tensor, spans: Table, order: Table, turned: Table, out: Tensor
) -> None:
    """Add the derivatives of -K^T lambda to derivatives of joint forces.

    Args:
        loops: (N, 18 L, nv), see `loop_columns`.
        spans: See `LoopColumns`, as the next two.
        order: Places in the loop.
        turned: Places that are turned.
        out: (N, nv, nv).
    """
    for state in range(len(loops)):
        for loop in range(len(spans)):
            of, start, end = 18 * loop, spans[loop, 0], spans[loop, 1]
            for i in range(start, end):
                place = order[loop, i]
                for j in range(start, end):
                    m, f = 0.0, 0.0
                    for k in range(6):
                        m += loops[state, of + k, i] * loops[state, of + 6 + k, j]
                        f += loops[state, of + k, i] * loops[state, of + 12 + k, j]
                    out[state, i, j] -= f + (m if place < turned[loop, j] else 0.0)


@routine
def negate(X: Tensor) -> None:
    """Change the sign of all entries."""
    for state in range(len(X)):
        for i in range(X.shape[1]):
            for c in range(X.shape[2]):
                X[state, i, c] = -X[state, i, c]


@routine
def copy_negative(X: Tensor, out: Tensor) -> None:
    """Write -X."""
    for state in range(len(X)):
        for i in range(X.shape[1]):
            for c in range(X.shape[2]):
                out[state, i, c] = -X[state, i, c]


@routine
def subtract_products(K: Tensor, X: Tensor, out: Tensor) -> None:
    """Subtract K X."""
    for state in range(len(X)):
        for row in range(K.shape[1]):
            for i in range(K.shape[2]):
                x = K[state, row, i]
                if x != 0.0:
                    for c in range(X.shape[2]):
                        out[state, row, c] -= x * X[state, i, c]


@routine
def close(W: Tensor, triangle: Tensor, multipliers: Tensor, X: Tensor) -> None:
    """Solve with K H^-1 K^T for multipliers, and add their effect to accelerations.

    Args:
        W: K H^-1 (N, n^c, nv).
        triangle: Of K H^-1 K^T (N, n^c, n^c), see `forward_columns`.
        multipliers: Right-hand sides, which become multipliers (N, n^c, columns).
        X: Accelerations without them (N, nv, columns).
    """
    m, columns = triangle.shape[1], X.shape[2]
    for state in range(len(X)):
        for back in range(m):
            i = m - 1 - back
            for j in range(i):
                x = triangle[state, i, j]
                for c in range(columns):
                    multipliers[state, j, c] -= x * multipliers[state, i, c]
        for i in range(m):
            x = triangle[state, i, i]
            for c in range(columns):
                multipliers[state, i, c] = x * multipliers[state, i, c]
            for j in range(i):
                x = triangle[state, i, j]
                for c in range(columns):
                    multipliers[state, i, c] -= x * multipliers[state, j, c]
        for row in range(m):
            for i in range(W.shape[2]):
                x = W[state, row, i]
                if x != 0.0:
                    for c in range(columns):
                        X[state, i, c] += x * multipliers[state, row, c]


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
