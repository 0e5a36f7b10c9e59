# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of loop constraints and of their forces, for trees with constant S.

A loop is an open chain from the predecessor to the successor, with the columns of J_L, and motions
relative to the predecessor. Its derivatives are those of any chain (Carpentier and Mansard,
"Analytical derivatives of rigid body dynamics algorithms", 2018; Singh, Russell and Wensing, as in
`inverse_derivatives`), here in the frame on the successor: all joints move that frame, so that a
joint j turns the columns of those nearer to the predecessor against it, dJ_i/dq_j = -J_j x J_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.dynamics.loop_frames import LoopFrame, loop_frames, loop_root
from robot_dynamics.model import Model
from robot_dynamics.model.joints import JointType, combined
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.derivatives import directional_derivative
from robot_dynamics.spatial import Force, Motion, Scalar, Transform

Matrix = list[list[Scalar]]


@dataclass(frozen=True)
class LoopDerivatives:
    """Derivatives by positions, along velocities, and by velocities; couplings included.

    Attributes:
        forces_q: Of -K^T lambda (nv, nv).
        rates_q: Of K qdd - k (n^c, nv).
        rates_qd: Of the same by qd.
        drift_q: Of K qd (n^c, nv).
    """

    forces_q: Matrix
    rates_q: Matrix
    rates_qd: Matrix
    drift_q: Matrix


@dataclass(frozen=True)
class _Column:
    """A column of J_L in the chain from the predecessor, relative to which all motions are.

    Attributes:
        index: Of its velocity variable.
        J: The column.
        v: Velocity of the parent of the joint's body, with whose motion the joint's axes turn.
        a: Acceleration of the parent.
        v_body: Velocity of the body.
        turned: Columns that the joint turns against the successor, by their indices.
    """

    index: int
    J: Motion
    v: Motion
    a: Motion
    v_body: Motion
    turned: dict[int, Motion]


def loop_derivatives(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    multipliers: Sequence[Scalar],
    parameters: Parameters,
) -> LoopDerivatives:
    """Return the derivatives of all constraints at a state.

    Args:
        model: The mechanism, whose tree `has_constant_subspaces`.
        q: Positions (nq,).
        qd: Velocities (nv,).
        qdd: Accelerations (nv,).
        multipliers: lambda (n^c,).
        parameters: Placements of the loop joints.
    """
    n, m = model.nv, model.constraint_count
    # Rows of couplings stay zero: their K is constant, and their k is zero.
    forces_q, rates_q, rates_qd, drift_q = (
        [[0.0] * n for _ in range(rows)] for rows in (n, m, m, m)
    )
    start = 0
    for frame in loop_frames(model, joint_transforms(model, q), parameters):
        kind, X = frame.joint.type, frame.placement
        chain, vJ, aJ = _chain(model, frame, qd, qdd)
        T, T_rate = kind.constraints(X), kind.constraint_rates(X, vJ)
        rows = range(start, start + len(T))
        values = [multipliers[row] for row in rows]
        f = _sum(T, values)
        for at in chain:
            j, J = at.index, at.J
            T_q, T_rate_q = kind.constraint_rates(X, J), _change_of_rates(kind, X, vJ, at)
            # What the rest of the chain does, as the joint moves and as its rate changes.
            v_q = at.v.cross(J)
            a_q = at.a.cross(J) + (at.v - vJ).cross(v_q)
            a_qd = (at.v + at.v_body - vJ).cross(J)
            for row, t, rate, t_q, rate_q in zip(rows, T, T_rate, T_q, T_rate_q, strict=True):
                # K qd = T^T vJ, and K qdd - k = T^T aJ + Tdot^T vJ (8.47)
                drift_q[row][j] = v_q.dot(t) + vJ.dot(t_q)
                rates_q[row][j] = a_q.dot(t) + aJ.dot(t_q) + v_q.dot(rate) + vJ.dot(rate_q)
                rates_qd[row][j] = a_qd.dot(t) + J.dot(rate) + vJ.dot(t_q)
            # -K^T lambda = -J^T f: f turns with the successor, and T may turn in its frame.
            moment = J.cross_force(f)
            for i, other in at.turned.items():
                forces_q[i][j] = forces_q[i][j] - other.dot(moment)
            f_q = _sum(T_q, values)
            for i, other in frame.columns.items():
                forces_q[i][j] = forces_q[i][j] - other.dot(f_q)
        start = rows.stop
    return LoopDerivatives(forces_q, rates_q, rates_qd, drift_q)


def _chain(
    model: Model, frame: LoopFrame, qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> tuple[list[_Column], Motion, Motion]:
    """Return the columns of a loop, from the predecessor on, and what the successor does."""
    p, s = frame.joint.predecessor, frame.joint.successor
    common = len(model.support(loop_root(model, p, s)))
    of_predecessor, of_successor = model.support(p)[common:], model.support(s)[common:]
    chain: list[_Column] = []
    passed: dict[int, Motion] = {}
    v = a = Motion.zero()
    for body in (*reversed(of_predecessor), *of_successor):
        at = model.v_slices[body]
        columns = {i: frame.columns[i] for i in range(at.start, at.stop)}
        J = list(columns.values())
        own = combined(J, qd[at])
        next_v = v + own
        next_a = a + combined(J, qdd[at]) + next_v.cross(own)
        including = {**passed, **columns}
        # S is constant in the joint's body, which on the predecessor's side comes first.
        motions = (
            (v, a, next_v, passed) if body in of_successor else (next_v, next_a, v, including)
        )
        chain += [_Column(i, column, *motions) for i, column in columns.items()]
        passed, v, a = including, next_v, next_a
    return chain, v, a


def _change_of_rates(kind: JointType, X: Transform, vJ: Motion, at: _Column) -> list[Force]:
    """Return the derivative by a position of the rates of T."""

    def rates(values: list[Scalar]) -> list[list[Scalar]]:
        moved = kind.constraint_rates(Transform.of(values[:12]), Motion.of(values[12:]))
        return [rate.components() for rate in moved]

    moving = [*X.component_rates(at.J), *at.v.cross(at.J).components()]
    point = [*X.components(), *vJ.components()]
    changes = directional_derivative(rates, point, moving)[1]
    return [Force.of(change) for change in changes]


def _sum(directions: Sequence[Force], values: Sequence[Scalar]) -> Force:
    """Return a linear combination of forces."""
    total = Force.zero()
    for direction, value in zip(directions, values, strict=True):
        total = total + direction * value
    return total
