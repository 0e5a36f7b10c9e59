# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The factors of the inertia matrix by articulated bodies, without the matrix.

The articulated-body algorithm is an elimination: H = L^T D L with D_i = S_i^T I^A_i S_i. Its
passes multiply by L^-T, D^-1 and L^-1 in a time proportional to the number of bodies; the entries
of H of a deep tree grow with its square. Loops at the ends of long chains are solved in this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.forward import ArticulatedBody, articulated_bodies
from robot_dynamics.dynamics.full_rank import inertia_pivot
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    joint_transforms,
    motion_subspaces,
)
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.joints import combined
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.functions import minimum
from robot_dynamics.scalar.linear_algebra import is_zero
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
        """Return L^-T b (nv,): forces b as seen by each joint with the joints beyond it free."""
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
        """Return L^-1 b (nv,): motions of joints that are carried along by those before them."""
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


def columns_in_base(factors: ArticulatedFactors, X0: Sequence[Transform]) -> list[list[Scalar]]:
    """Return S_i, (U D^-1)_i and row i of D^-1 (nv, 18) of each freedom, in base coordinates.

    In base coordinates no transformation from body to body is needed, so that many right-hand
    sides can be solved with them. A row of D^-1 has zeros after the freedoms of the joint.

    Args:
        factors: Factors of the inertia matrix.
        X0: Transforms from the base to each body.
    """
    rows: list[list[Scalar]] = []
    for X, S, body in zip(X0, factors.S, factors.bodies, strict=True):
        for k, s in enumerate(S):
            inverse = body.D.solve([float(k == i) for i in range(len(S))])
            gain = Force.zero()
            for column, value in zip(body.U, inverse, strict=True):
                gain = gain + column * value
            vectors = X.inverse_times(s).components(), X.inverse_times(gain).components()
            rows.append([*vectors[0], *vectors[1], *inverse, *[0.0] * (6 - len(S))])
    return rows


def factor_columns(
    model: Model, q: Sequence[Scalar], parameters: Parameters
) -> tuple[list[list[Scalar]], Scalar]:
    """Return the factors of H (nv, 18), see `columns_in_base`, and the pivot of H."""
    Xup, S = joint_transforms(model, q), motion_subspaces(model, q)
    factors = articulated_factors(model, Xup, S, parameters)
    columns = columns_in_base(factors, body_transforms(model, Xup))
    return columns, inertia_pivot(model, factors.smallest_pivot)


def inverse_columns(
    model: Model, q: Sequence[Scalar], parameters: Parameters
) -> list[list[Scalar]]:
    """Return the factors of H (nv, 18) alone."""
    return factor_columns(model, q, parameters)[0]


INVERSE_COLUMNS = Algorithm("inverse_columns", inverse_columns, "q -> columns (nv, 18)")
FACTOR_COLUMNS = Algorithm("factor_columns", factor_columns, "q -> columns (nv, 18), pivot ()")
