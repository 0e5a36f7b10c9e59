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
from robot_dynamics.dynamics.regressor import PER_BODY
from robot_dynamics.model import WORLD, Model


class Branches(NamedTuple):
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
    def of(cls, model: Model) -> Branches:
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
        runs: See `Branches`.
        joints: See `Branches`.
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
def solve(factors: Tensor, joints: Table, slots: int, inverse: bool, X: Tensor) -> None:
    """Write H^-1 X in the place of X: what `half_solve` to `back_solve` do, in base coordinates.

    Args:
        factors: (N, nv, 18), see `columns_in_base`.
        joints: See `Branches`.
        slots: See `Branches`.
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
