# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of loop constraints and of their forces, for trees with constant S.

A loop is an open chain from the predecessor to the successor, with the columns of J_L, and motions
relative to the predecessor. Its derivatives are as for any chain (Carpentier and Mansard,
"Analytical derivatives of rigid body dynamics algorithms", 2018; Singh, Russell and Wensing, as in
`inverse_derivatives`), here in the frame on the successor: all joints move that frame, so that a
joint j turns the columns of those nearer to the predecessor against it, dJ_i/dq_j = -J_j x J_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.dynamics.loop_frames import LoopFrame, loop_frames, loop_root
from robot_dynamics.model import LoopJoint, Model
from robot_dynamics.model.joints import JointType, combined
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.derivatives import directional_derivative
from robot_dynamics.spatial import Force, Motion, Scalar, Transform

Matrix = list[list[Scalar]]


@dataclass(frozen=True)
class LoopDerivatives:
    """Derivatives by positions, along velocities, and by velocities; couplings included.

    Attributes:
        velocities: nv.
        rates_q: Derivatives of K qdd - k by q (n^c, nv).
        rates_qd: Derivatives of the same by qd.
        drift_q: Derivatives of K qd by q (n^c, nv).
        forces: Columns of `forces_q`, for each loop.
    """

    velocities: int
    rates_q: Matrix
    rates_qd: Matrix
    drift_q: Matrix
    forces: list[LoopForceColumns]

    @property
    def forces_q(self) -> Matrix:
        """Derivatives of -K^T lambda by q (nv, nv)."""
        forces_q: Matrix = [[0.0] * self.velocities for _ in range(self.velocities)]
        for loop in self.forces:
            columns = dict(zip(loop.indices, loop.J, strict=True))
            for j, m, f in zip(loop.indices, loop.moments, loop.turning, strict=True):
                for i in loop.turned[j]:
                    forces_q[i][j] = forces_q[i][j] - columns[i].dot(m)
                for i, J in columns.items():
                    forces_q[i][j] = forces_q[i][j] - J.dot(f)
        return forces_q


@dataclass(frozen=True)
class LoopForceColumns:
    """Terms of the derivative of -K^T lambda: -J_i . (m_j if j turns i, + f_j).

    -K^T lambda = -J^T f: f turns with the successor, and T may turn in its frame.

    Attributes:
        indices: Indices of the velocities in the loop, ascending.
        turned: See `turned_columns`.
        J: Column of J_L of each.
        moments: m of each.
        turning: f of each.
    """

    indices: list[int]
    turned: dict[int, list[int]]
    J: list[Motion]
    moments: list[Force]
    turning: list[Force]


@dataclass(frozen=True)
class _Column:
    """A column of J_L in the chain from the predecessor, relative to which all motions are.

    Attributes:
        index: Of its velocity variable.
        J: The column.
        v: Velocity of the parent of the joint's body, with whose motion the joint's axes turn.
        a: Acceleration of the parent.
        v_body: Velocity of the body.
    """

    index: int
    J: Motion
    v: Motion
    a: Motion
    v_body: Motion


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
    rates_q, rates_qd, drift_q = ([[0.0] * n for _ in range(m)] for _ in range(3))
    forces: list[LoopForceColumns] = []
    start = 0
    for frame in loop_frames(model, joint_transforms(model, q), parameters):
        kind, X = frame.joint.type, frame.placement
        chain, vJ, aJ = _chain(model, frame, qd, qdd)
        T, T_rate = kind.constraints(X), kind.constraint_rates(X, vJ)
        rows = range(start, start + len(T))
        values = [multipliers[row] for row in rows]
        f = _sum(T, values)
        moments: dict[int, Force] = {}
        turning: dict[int, Force] = {}
        for at in chain:
            j, J = at.index, at.J
            T_q, T_rate_q = kind.constraint_rates(X, J), _change_of_rates(kind, X, vJ, at)
            # Motion of the rest of the chain, as the joint moves and as its rate changes.
            v_q = at.v.cross(J)
            a_q = at.a.cross(J) + (at.v - vJ).cross(v_q)
            a_qd = (at.v + at.v_body - vJ).cross(J)
            for row, t, rate, t_q, rate_q in zip(rows, T, T_rate, T_q, T_rate_q, strict=True):
                # K qd = T^T vJ, and K qdd - k = T^T aJ + Tdot^T vJ (8.47)
                drift_q[row][j] = v_q.dot(t) + vJ.dot(t_q)
                rates_q[row][j] = a_q.dot(t) + aJ.dot(t_q) + v_q.dot(rate) + vJ.dot(rate_q)
                rates_qd[row][j] = a_qd.dot(t) + J.dot(rate) + vJ.dot(t_q)
            moments[j], turning[j] = J.cross_force(f), _sum(T_q, values)
        indices = sorted(frame.columns)
        forces.append(
            LoopForceColumns(
                indices,
                turned_columns(model, frame.joint),
                [frame.columns[i] for i in indices],
                [moments[i] for i in indices],
                [turning[i] for i in indices],
            )
        )
        start = rows.stop
    return LoopDerivatives(n, rates_q, rates_qd, drift_q, forces)


def turned_columns(model: Model, loop: LoopJoint) -> dict[int, list[int]]:
    """Return the columns of J_L that each velocity in a loop turns relative to the successor.

    They belong to joints nearer to the predecessor, and are given by their indices.
    """
    inwards, outwards = _ways(model, loop)
    turned: dict[int, list[int]] = {}
    passed: list[int] = []
    for place, body in enumerate((*inwards, *outwards)):
        own = range(model.v_slices[body].start, model.v_slices[body].stop)
        including = [*passed, *own]
        # S is constant in the joint's body, which on the predecessor's side comes first.
        turned |= dict.fromkeys(own, including if place < len(inwards) else passed)
        passed = including
    return turned


def _ways(model: Model, loop: LoopJoint) -> tuple[list[int], list[int]]:
    """Return the bodies from the predecessor to the root of a loop, and on to the successor."""
    p, s = loop.predecessor, loop.successor
    common = len(model.support(loop_root(model, p, s)))
    return list(reversed(model.support(p)[common:])), list(model.support(s)[common:])


def _chain(
    model: Model, frame: LoopFrame, qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> tuple[list[_Column], Motion, Motion]:
    """Return the columns of a loop, from the predecessor on, and the motion of the successor."""
    inwards, outwards = _ways(model, frame.joint)
    chain: list[_Column] = []
    v = a = Motion.zero()
    for place, body in enumerate((*inwards, *outwards)):
        at = model.v_slices[body]
        J = [frame.columns[i] for i in range(at.start, at.stop)]
        own = combined(J, qd[at])
        next_v = v + own
        next_a = a + combined(J, qdd[at]) + next_v.cross(own)
        # S is constant in the joint's body, which on the predecessor's side comes first.
        motions = (next_v, next_a, v) if place < len(inwards) else (v, a, next_v)
        chain += [_Column(i, column, *motions) for i, column in enumerate(J, at.start)]
        v, a = next_v, next_a
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


def loop_columns(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    multipliers: Sequence[Scalar],
    parameters: Parameters,
) -> tuple[Matrix, Matrix, Matrix]:
    """Return rates by q and qd (n^c, nv), and for each loop 18 rows over all velocities.

    The rows are the components of J, m and f of `LoopForceColumns`; zero outside the loop. Without
    loops there are 18 rows of zeros.
    """
    loops = loop_derivatives(model, q, qd, qdd, multipliers, parameters)
    rows: Matrix = [[0.0] * model.nv for _ in range(18 * max(len(loops.forces), 1))]
    for at, of in enumerate(loops.forces):
        for i, *vectors in zip(of.indices, of.J, of.moments, of.turning, strict=True):
            for k, x in enumerate(x for vector in vectors for x in vector.components()):
                rows[18 * at + k][i] = x
    return loops.rates_q, loops.rates_qd, rows


LOOP_COLUMNS = Algorithm(
    "loop_columns",
    loop_columns,
    "q, qd, qdd, multipliers -> rates_q (constraints, nv), rates_qd (constraints, nv), "
    "columns (loop vectors, nv)",
)
