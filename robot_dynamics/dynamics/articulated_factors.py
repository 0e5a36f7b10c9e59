# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The factors of the inertia matrix by articulated bodies, without the matrix.

The articulated-body algorithm is an elimination: H = L^T D L with D_i = S_i^T I^A_i S_i. Its
passes multiply by L^-T, D^-1 and L^-1 in a time proportional to the number of bodies; the entries
of H of a deep tree grow with its square. Loops at the ends of long chains are solved so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.dynamics.forward import ArticulatedBody, articulated_bodies
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.joints import combined
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.functions import minimum
from robot_dynamics.scalar.linear_algebra import is_zero, times
from robot_dynamics.spatial import Force, Motion, Scalar, Transform


@dataclass(frozen=True)
class ArticulatedFactors:
    """The factors of H = L^T D L, used as `Factors` are; D has a block for each joint.

    Attributes:
        model: The mechanism; its loops are left open.
        Xup: Transforms from each body's parent to the body.
        S: The columns of each joint's motion subspace.
        bodies: The articulated bodies.
        inverse_diagonal: The inverse pivots (nv,).
        smallest_pivot: The smallest pivot over its diagonal entry of H.
    """

    model: Model
    Xup: Sequence[Transform]
    S: Sequence[Sequence[Motion]]
    bodies: Sequence[ArticulatedBody]
    inverse_diagonal: list[Scalar]
    smallest_pivot: Scalar

    def half_solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return L^-T b (nv,): what forces b leave in each joint once those beyond it gave way."""
        u = list(b)
        pA: list[Force | None] = [None] * len(self.bodies)
        for i in reversed(range(len(self.bodies))):
            parent, at, p = self.model.bodies[i].parent, self.model.v_slices[i], pA[i]
            if p is not None:
                u[at] = [x - s.dot(p) for x, s in zip(u[at], self.S[i], strict=True)]
            if parent == WORLD or (p is None and all(is_zero(x) for x in u[at])):
                continue
            pa = Force.zero() if p is None else p
            for column, rate in zip(self.bodies[i].U, self.bodies[i].D.solve(u[at]), strict=True):
                pa = pa + column * rate
            felt, before = self.Xup[i].inverse_times(pa), pA[parent]
            pA[parent] = felt if before is None else before + felt
        return u

    def scale(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return D^-1 b (nv,)."""
        slices = zip(self.bodies, self.model.v_slices, strict=True)
        return [x for body, at in slices for x in body.D.solve(list(b[at]))]

    def back_solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return L^-1 b (nv,): what joints do if those before them carry them along."""
        x = list(b)
        a: list[Motion | None] = []
        for i, body in enumerate(self.bodies):
            parent, at = self.model.bodies[i].parent, self.model.v_slices[i]
            carried = None if parent == WORLD else a[parent]
            a_i = Motion.zero() if carried is None else self.Xup[i] * carried
            if carried is not None:
                lag = body.D.solve([a_i.dot(column) for column in body.U])
                x[at] = [value - part for value, part in zip(x[at], lag, strict=True)]
            a.append(a_i + combined(self.S[i], x[at]))
        return x

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return H^-1 b (nv,)."""
        return self.back_solve(self.scale(self.half_solve(b)))


def articulated_factors(
    model: Model,
    Xup: Sequence[Transform],
    S: Sequence[Sequence[Motion]],
    parameters: Parameters,
) -> ArticulatedFactors:
    """Return the factors of the inertia matrix.

    Args:
        model: The mechanism.
        Xup: Transforms from each body's parent to the body.
        S: The columns of each joint's motion subspace.
        parameters: Inertias.
    """
    bodies = articulated_bodies(model, Xup, S, parameters)
    Ic = list(parameters.inertias)
    inverse: list[Scalar] = []
    smallest: Scalar = 1.0
    for i in reversed(range(len(bodies))):
        joint, parent = model.bodies[i].joint, model.bodies[i].parent
        if parent != WORLD:
            Ic[parent] = Ic[parent] + Xup[i].inverse_times(Ic[i])
        pivots = bodies[i].D.inverse_diagonal
        inverse = [*pivots, *inverse]
        rotors = joint.of_each_freedom(joint.armature)
        for s, rotor, pivot in zip(S[i], rotors, pivots, strict=True):
            smallest = minimum(smallest, 1.0 / (pivot * (s.dot(Ic[i] * s) + rotor)))
    return ArticulatedFactors(model, Xup, S, bodies, inverse, smallest)


def columns_in_base(factors: ArticulatedFactors, X0: Sequence[Transform]) -> list[Scalar]:
    """Return what `solve_with_columns` reads: for each body S_i, U_i and D_i^-1, by columns.

    Args:
        factors: Of the inertia matrix.
        X0: Transforms from the base to each body.
    """
    block: list[Scalar] = []
    for X, S, body in zip(X0, factors.S, factors.bodies, strict=True):
        for columns in (S, body.U):
            block += [x for column in columns for x in X.inverse_times(column).components()]
        for k in range(len(S)):
            block += body.D.solve([float(k == i) for i in range(len(S))])
    return block


def solve_with_columns(model: Model, block: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    """Return H^-1 b (nv,) in base coordinates, where nothing is transformed from body to body.

    Many vectors b share one block, which has a place for every 13 numbers a joint of one freedom.

    Args:
        model: The mechanism; its loops are left open.
        block: As `columns_in_base` returns it.
        b: Joint forces (nv,).
    """
    S: list[list[Motion]] = []
    U: list[list[Force]] = []
    inverses: list[list[Sequence[Scalar]]] = []
    start = 0
    for at in model.v_slices:
        n = at.stop - at.start
        rows = [block[k : k + 6] for k in range(start, start + 12 * n, 6)]
        S.append([Motion.of(row) for row in rows[:n]])
        U.append([Force.of(row) for row in rows[n:]])
        start += 12 * n
        inverses.append([block[k : k + n] for k in range(start, start + n * n, n)])
        start += n * n
    rates: list[list[Scalar]] = [[] for _ in S]
    f: list[Force | None] = [None] * len(S)
    for i in reversed(range(len(S))):
        parent, u, felt = model.bodies[i].parent, list(b[model.v_slices[i]]), f[i]
        if felt is not None:
            u = [x - s.dot(felt) for x, s in zip(u, S[i], strict=True)]
        rates[i] = times(inverses[i], u)
        if parent != WORLD:
            for column, rate in zip(U[i], rates[i], strict=True):
                felt = column * rate if felt is None else felt + column * rate
            others = f[parent]
            f[parent] = felt if others is None or felt is None else others + felt
    x: list[Scalar] = []
    a: list[Motion] = []
    for i, body in enumerate(model.bodies):
        own = rates[i]
        if body.parent != WORLD:
            lag = times(inverses[i], [a[body.parent].dot(column) for column in U[i]])
            own = [rate - part for rate, part in zip(own, lag, strict=True)]
        x += own
        moved = combined(S[i], own)
        a.append(moved if body.parent == WORLD else a[body.parent] + moved)
    return x
