# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of inverse dynamics by an analytical recursion, for joints with constant S.

After Singh, Russell and Wensing, "Efficient analytical derivatives of rigid-body dynamics using
spatial vector algebra" (2022), and Carpentier and Mansard (2018). Programs are a third as long as
with dual numbers, which work for all joints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from robot_dynamics.compile.differentiation import jacobian_times_vector, vector_times_jacobian
from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.inverse import (
    INVERSE_DYNAMICS,
    base_acceleration,
    inverse_dynamics,
    net_forces,
    velocities_and_accelerations,
)
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    body_velocities,
    joint_transforms,
    motion_subspaces,
)
from robot_dynamics.dynamics.passive import has_passive_forces, passive_forces
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.joints import combined
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.derivatives import directional_derivative, jacobian
from robot_dynamics.scalar.linear_algebra import dot, subtract, transposed
from robot_dynamics.spatial import Force, Inertia, Motion, Scalar, Transform, Vector3

Matrix = list[list[Scalar]]

# Motion of S with its predecessor, its rate, S, and the sum of the rate of S and the first.
_Motions = tuple[Motion, Motion, Motion, Motion]
# Factors of S for a body and all bodies that it carries.
_Forces = tuple[Force, Force, Force, Force]


@dataclass(frozen=True)
class _VelocityMatrix:
    """Twice the matrix B of a body, or of several: [[D, 0], [-2 p x, 0]].

    B = (v x* I - I v x + (I v) x-bar*) / 2, with the linear momentum p. It acts on rotations only.

    Attributes:
        D: Its upper left block, by rows.
        p: Twice the linear momentum.
    """

    D: tuple[Vector3, Vector3, Vector3]
    p: Vector3

    @classmethod
    def of(cls, inertia: Inertia, v: Motion) -> _VelocityMatrix:
        """Return the terms of a body."""
        w, u, h = v.angular, v.linear, inertia.h
        momentum = inertia * v
        n = momentum.angular
        # w x I - I w x is the symmetric part of 2 w x I, and u x h x + h x u x is symmetric.
        turned = [w.cross(Vector3(*row)) for row in inertia.I.rows()]  # row j: column j of w x I
        columns = [list(column) for column in turned]
        hs, us = list(h), list(u)
        both = u.dot(h) * 2.0
        skew = [[0.0, n.z, -n.y], [-n.z, 0.0, n.x], [n.y, -n.x, 0.0]]  # -n x
        rows = [
            Vector3(
                *(
                    columns[j][i]
                    + columns[i][j]
                    - hs[i] * us[j]
                    - us[i] * hs[j]
                    + (both if i == j else 0.0)
                    + skew[i][j]
                    for j in range(3)
                )
            )
            for i in range(3)
        ]
        return cls((rows[0], rows[1], rows[2]), momentum.linear * 2.0)

    def __add__(self, other: _VelocityMatrix) -> _VelocityMatrix:
        a, b, c = (mine + theirs for mine, theirs in zip(self.D, other.D, strict=True))
        return _VelocityMatrix((a, b, c), self.p + other.p)

    def __mul__(self, m: Motion) -> Force:
        a, b, c = (row.dot(m.angular) for row in self.D)
        return Force(Vector3(a, b, c), m.angular.cross(self.p))

    def transposed_times(self, m: Motion) -> Force:
        """Return 2 B^T m."""
        a, b, c = self.D
        w = m.angular
        return Force(a * w.x + b * w.y + c * w.z + self.p.cross(m.linear), Vector3.zero())

    def to_parent(self, X: Transform) -> _VelocityMatrix:
        """Return X^T B X, the same in the coordinates from which X leads."""
        p, r = X.E.inverse_times(self.p), X.r
        turned = X.E.transpose().congruence_general(self.D)
        # r x p x = p r^T - (r . p) 1
        along = r.dot(p)
        rows = [
            Vector3(
                *(
                    turned_row - p_i * r_j + (along if i == j else 0.0)
                    for j, (turned_row, r_j) in enumerate(zip(row, r, strict=True))
                )
            )
            for i, (row, p_i) in enumerate(zip(turned, p, strict=True))
        ]
        return _VelocityMatrix((rows[0], rows[1], rows[2]), p)


def has_constant_subspaces(model: Model) -> bool:
    """Tell whether the recursion applies: S of all tree joints is constant in body coordinates."""
    return not any(body.joint.type.varying for body in model.bodies)


def tree_derivatives(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    parameters: Parameters,
) -> tuple[Matrix, Matrix]:
    """Return derivatives (nv, nv) of joint forces along velocities and by qd.

    Springs, dampers and friction are left out.

    Args:
        model: The mechanism, `has_constant_subspaces`.
        q: Positions (nq,).
        qd: Velocities (nv,).
        qdd: Accelerations (nv,).
        parameters: Gravity and inertias.
    """
    Xup = joint_transforms(model, q)
    motions, all_forces = _columns(model, Xup, q, qd, qdd, parameters)
    n = model.nv
    by_q: Matrix = [[0.0] * n for _ in range(n)]
    by_qd: Matrix = [[0.0] * n for _ in range(n)]
    for i, forces in all_forces:
        start = model.v_slices[i].start
        for row, (u, w, g, g_d) in enumerate(forces, start):
            at = i
            while True:
                for column, (moved, accelerated, s, rate) in enumerate(
                    motions[at], model.v_slices[at].start
                ):
                    by_q[row][column] = moved.dot(u) + accelerated.dot(w)
                    by_qd[row][column] = s.dot(u) + rate.dot(w)
                    if at != i:
                        by_q[column][row], by_qd[column][row] = s.dot(g), s.dot(g_d)
                if model.bodies[at].parent == WORLD:
                    break
                u, w, g, g_d = (Xup[at].inverse_times(x) for x in (u, w, g, g_d))
                at = model.bodies[at].parent
    return by_q, by_qd


def derivative_columns(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    parameters: Parameters,
) -> tuple[Matrix, Matrix]:
    """Return motions and forces (21, nv each) in base coordinates for all pairs of joints.

    For a joint i and a joint j between it and the base, or the same one, with the parts m (3), a,
    S, r (6 each) of motions and u (3), w, g, h (6 each) of forces:

        d tau_i / dq_j = m_j . u_i + a_j . w_i        d tau_j / dq_i  = S_j . g_i
        d tau_i / dqd_j = S_j . u_i + r_j . w_i       d tau_j / dqd_i = S_j . h_i

    where u_i is a moment, and H_ij = S_j . w_i, without rotors. Arguments are as for
    `tree_derivatives`.
    """
    return by_components(base_columns(model, q, qd, qdd, parameters))


def inertia_columns(
    model: Model, q: Sequence[Scalar], parameters: Parameters
) -> tuple[Matrix, Matrix]:
    """Return the same with only the parts S and w, which H needs; the others are zero."""
    still, no_motion, no_force = [0.0] * model.nv, Motion.zero(), Force.zero()
    return by_components(
        [
            ((no_motion, no_motion, s, no_motion), (no_force, w, no_force, no_force))
            for (_, _, s, _), (_, w, _, _) in base_columns(model, q, still, still, parameters)
        ]
    )


def by_components(columns: Sequence[tuple[_Motions, _Forces]]) -> tuple[Matrix, Matrix]:
    """Return motions and forces (21, nv each): a row for each of their numbers."""
    motions = [
        [*m.angular, *a.components(), *s.components(), *r.components()]
        for (m, a, s, r), _ in columns
    ]
    forces = [
        [*u.angular, *w.components(), *g.components(), *h.components()]
        for _, (u, w, g, h) in columns
    ]
    return transposed(motions, 21), transposed(forces, 21)


def base_columns(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    parameters: Parameters,
) -> list[tuple[_Motions, _Forces]]:
    """Return the vectors of `derivative_columns` for each velocity.

    Sums over bodies are in base coordinates, where they need no transformation.
    """
    back = [X.inverse() for X in body_transforms(model, joint_transforms(model, q))]
    I = [X.inverse().inverse_times(I_i) for X, I_i in zip(back, parameters.inertias, strict=True)]
    base, subspaces = base_acceleration(parameters.gravity), motion_subspaces(model, q)
    v: list[Motion] = []
    a: list[Motion] = []
    f: list[Force] = []
    B: list[_VelocityMatrix] = []
    motions: list[list[_Motions]] = []
    for i, (body, at) in enumerate(zip(model.bodies, model.v_slices, strict=True)):
        fixed = body.parent == WORLD
        v_p, a_p = (Motion.zero(), base) if fixed else (v[body.parent], a[body.parent])
        S = [back[i] * s for s in subspaces[i]]
        v_J = combined(S, qd[at])
        v.append(v_p + v_J)
        a.append(a_p + combined(S, qdd[at]) + v_p.cross(v_J))
        momentum = I[i] * v[i]
        f.append(I[i] * a[i] + v[i].cross_force(momentum))
        B.append(_VelocityMatrix.of(I[i], v[i]))
        moved = [v_p.cross(s) for s in S]
        motions.append(
            [
                (m, a_p.cross(s) + v_p.cross(m), s, m + v[i].cross(s))
                for s, m in zip(S, moved, strict=True)
            ]
        )
    columns: list[tuple[_Motions, _Forces]] = []
    for i in reversed(range(len(model.bodies))):
        own = []
        for moved_by, accelerated, s, rate in motions[i]:
            g = B[i] * moved_by + I[i] * accelerated + s.cross_force(f[i])
            forces = B[i].transposed_times(s), I[i] * s, g, B[i] * s + I[i] * rate
            own.append(((moved_by, accelerated, s, rate), forces))
        columns = [*own, *columns]
        parent = model.bodies[i].parent
        if parent != WORLD:
            I[parent], B[parent] = I[parent] + I[i], B[parent] + B[i]
            f[parent] = f[parent] + f[i]
    return columns


def _columns(
    model: Model,
    Xup: Sequence[Transform],
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    parameters: Parameters,
) -> tuple[list[list[_Motions]], Iterator[tuple[int, list[_Forces]]]]:
    """Return the vectors of `base_columns` in body coordinates; forces from the tips inwards."""
    S = motion_subspaces(model, q)
    v, a = velocities_and_accelerations(model, Xup, qd, qdd, parameters.gravity, q)
    f = net_forces(v, a, parameters)
    I = list(parameters.inertias)
    B = [_VelocityMatrix.of(inertia, v_i) for inertia, v_i in zip(I, v, strict=True)]
    base = base_acceleration(parameters.gravity)
    motions: list[list[_Motions]] = []
    for i, (body, X) in enumerate(zip(model.bodies, Xup, strict=True)):
        v_p = Motion.zero() if body.parent == WORLD else X * v[body.parent]
        a_p = X * (base if body.parent == WORLD else a[body.parent])
        moved = [v_p.cross(s) for s in S[i]]
        accelerated = [a_p.cross(s) + v_p.cross(m) for s, m in zip(S[i], moved, strict=True)]
        rates = [m + v[i].cross(s) for s, m in zip(S[i], moved, strict=True)]
        motions.append(list(zip(moved, accelerated, S[i], rates, strict=True)))

    def forces() -> Iterator[tuple[int, list[_Forces]]]:
        for i in reversed(range(len(model.bodies))):
            found = []
            for moved, accelerated, s, rate in motions[i]:
                u, w = B[i].transposed_times(s), I[i] * s
                g = B[i] * moved + I[i] * accelerated + s.cross_force(f[i])
                found.append((u, w, g, B[i] * s + I[i] * rate))
            yield i, found
            parent = model.bodies[i].parent
            if parent != WORLD:
                I[parent] = I[parent] + Xup[i].inverse_times(I[i])
                B[parent] = B[parent] + B[i].to_parent(Xup[i])
                f[parent] = f[parent] + Xup[i].inverse_times(f[i])

    return motions, forces()


def torque_derivatives(
    model: Model, q: Any, qd: Any, qdd: Any, parameters: Parameters
) -> tuple[Matrix, Matrix]:
    """Return derivatives (nv, nv) of inverse dynamics along velocities and by qd, of any tree."""
    if not has_constant_subspaces(model):
        return (
            along_motions(model, lambda q: inverse_dynamics(model, q, qd, qdd, parameters), q),
            jacobian(lambda qd: inverse_dynamics(model, q, qd, qdd, parameters), qd),
        )
    by_q, by_qd = tree_derivatives(model, q, qd, qdd, parameters)
    if not has_passive_forces(model):
        return by_q, by_qd

    def passive(q: Any, qd: Any) -> list[Any]:
        Xup = joint_transforms(model, q)
        return passive_forces(model, Xup, body_velocities(model, Xup, qd, q), qd, parameters, q)

    passive_q = along_motions(model, lambda q: passive(q, qd), q)
    passive_qd = jacobian(lambda qd: passive(q, qd), qd)
    return (
        [subtract(a, b) for a, b in zip(by_q, passive_q, strict=True)],
        [subtract(a, b) for a, b in zip(by_qd, passive_qd, strict=True)],
    )


def inverse_dynamics_derivatives(
    model: Model, q: Any, qd: Any, qdd: Any, parameters: Parameters
) -> tuple[Matrix, Matrix, Matrix]:
    """Return derivatives (nv, nv) of tau along velocities, by qd and by qdd."""
    by_q, by_qd = torque_derivatives(model, q, qd, qdd, parameters)
    return by_q, by_qd, inertia_matrix(model, q, parameters)


def inverse_dynamics_jvp(
    model: Model, q: Any, qd: Any, qdd: Any, dq: Any, dqd: Any, dqdd: Any, parameters: Parameters
) -> Any:
    """Return the rate of tau (nv,) along a direction; dq is along velocities."""
    rates = [model.position_rate(q, dq), dqd, dqdd]
    program = INVERSE_DYNAMICS.program(model)
    return jacobian_times_vector(program, [q, qd, qdd], rates, parameters.block)["tau"]


def inverse_dynamics_vjp(
    model: Model, q: Any, qd: Any, qdd: Any, weights: Any, parameters: Parameters
) -> tuple[Any, Any, Any]:
    """Return the gradient (nv,) of tau times weights by q, along velocities, by qd and by qdd."""
    program = INVERSE_DYNAMICS.program(model)
    found = vector_times_jacobian(program, [q, qd, qdd], [weights], parameters.block)
    return along_velocities(model, q, found["q"]), found["qd"], found["qdd"]


def inverse_dynamics_hvp(
    model: Model,
    q: Any,
    qd: Any,
    qdd: Any,
    weights: Any,
    dq: Any,
    dqd: Any,
    dqdd: Any,
    parameters: Parameters,
) -> tuple[Any, ...]:
    """Return the rate of that gradient (nv,) along a direction."""
    rates = [model.position_rate(q, dq), dqd, dqdd, [0.0] * model.nv]
    program = INVERSE_DYNAMICS_VJP.program(model)
    return tuple(
        jacobian_times_vector(program, [q, qd, qdd, weights], rates, parameters.block).values()
    )


def along_velocities(model: Model, q: Any, gradient: Any) -> list[Any]:
    """Return a gradient by positions (nq,) as one along velocities (nv,)."""
    return [dot(model.position_rate(q, unit), gradient) for unit in unit_vectors(model.nv)]


def along_motions(model: Model, function: Callable[[Any], Any], q: Any) -> Matrix:
    """Return the derivatives of a function of positions along each velocity (m, nv) (3.8)."""
    rates = [model.position_rate(q, unit) for unit in unit_vectors(model.nv)]
    columns = [directional_derivative(function, q, rate)[1] for rate in rates]
    return [list(row) for row in zip(*columns, strict=True)]


def unit_vectors(count: int) -> list[list[float]]:
    """Return the rows of a unit matrix."""
    return [[float(i == j) for i in range(count)] for j in range(count)]


INVERSE_DYNAMICS_DERIVATIVES = Algorithm(
    "inverse_dynamics_derivatives",
    inverse_dynamics_derivatives,
    "q, qd, qdd -> tau_q (nv, nv), tau_qd (nv, nv), tau_qdd (nv, nv)",
)
INVERSE_DYNAMICS_JVP = Algorithm(
    "inverse_dynamics_jvp",
    inverse_dynamics_jvp,
    "q, qd, qdd, dq, dqd, dqdd -> tau (nv)",
)
INVERSE_DYNAMICS_VJP = Algorithm(
    "inverse_dynamics_vjp",
    inverse_dynamics_vjp,
    "q, qd, qdd, weights -> q (nv), qd (nv), qdd (nv)",
)
INVERSE_DYNAMICS_HVP = Algorithm(
    "inverse_dynamics_hvp",
    inverse_dynamics_hvp,
    "q, qd, qdd, weights, dq, dqd, dqdd -> q (nv), qd (nv), qdd (nv)",
)
INERTIA_COLUMNS = Algorithm(
    "inertia_columns", inertia_columns, "q -> motions (21, nv), forces (21, nv)"
)
DERIVATIVE_COLUMNS = Algorithm(
    "derivative_columns", derivative_columns, "q, qd, qdd -> motions (21, nv), forces (21, nv)"
)
