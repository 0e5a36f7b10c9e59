# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loop constraints: K, k, position and velocity errors (Tables 8.1 and 8.4).

The constraints are written in the successor frame of each loop joint, at its origin, and not in
base coordinates as in Table 8.4: the constraint forces come out in the frame in which most T are
constant. Positions are computed from the loop's root, so that no precision is lost when a loop is
far from the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.dynamics.inverse import base_acceleration
from robot_dynamics.dynamics.loop_frames import loop_frames
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Motion, Scalar, Transform


@dataclass(frozen=True)
class LoopTerms:
    """The loop constraints at one state; rows are in the order of the loop joints.

    Attributes:
        K: Constraint Jacobian (n^c, nv), with 0.0 for joints outside the loop.
        k: Right-hand side (n^c,) of K qdd = k, without stabilisation (8.15).
        position_error: delta (n^c,): small displacement of each successor from its closed
            position, in the directions of T [rad or m] (Table 8.1); 0.0 for velocity-only
            constraints.
        velocity_error: T^T v_J = K qd (n^c,) [rad/s or m/s].
    """

    K: list[list[Scalar]]
    k: list[Scalar]
    position_error: list[Scalar]
    velocity_error: list[Scalar]

    def of_rows(self, rows: Sequence[int]) -> LoopTerms:
        """Return the terms of some of the constraints."""
        every = (self.K, self.k, self.position_error, self.velocity_error)
        return LoopTerms(*([values[row] for row in rows] for values in every))

    def stabilised(self, time_constant: float) -> list[Scalar]:
        """Return k + k_stab of Baumgarte's method with alpha = beta = 1 / time constant (8.22)."""
        rate = 1.0 / time_constant
        return [
            k - 2.0 * rate * velocity - rate * rate * position
            for k, velocity, position in zip(
                self.k, self.velocity_error, self.position_error, strict=True
            )
        ]


def loop_terms(
    model: Model,
    Xup: Sequence[Transform],
    v: Sequence[Motion],
    avp: Sequence[Motion],
    parameters: Parameters,
    q: Sequence[Scalar] | None = None,
) -> LoopTerms:
    """Return the constraints of all loop joints.

    Args:
        model: The mechanism.
        Xup: Transforms from each body's parent to the body.
        v: Velocities of the bodies, in body coordinates.
        avp: Their velocity-product accelerations, -a_g included, in body coordinates.
        parameters: Gravity and the placements of the loop joints.
        q: Positions (nq,); needed only where a motion subspace depends on them.
    """
    # The base, if a loop joint sits on it, has velocity zero and acceleration -a_g.
    base = base_acceleration(parameters.gravity)
    terms = LoopTerms([], [], [], [])
    for frame in loop_frames(model, Xup, parameters, q):
        v_p, v_s = frame.ends(v, Motion.zero())
        a_p, a_s = frame.ends(avp, base)
        vJ = v_s - v_p
        aJ = a_s - a_p + v_s.cross(v_p)
        kind, sXp = frame.joint.type, frame.placement
        T, T_rate = kind.constraints(sXp), kind.constraint_rates(sXp, vJ)
        for direction, rate in zip(T, T_rate, strict=True):
            row: list[Scalar] = [0.0] * model.nv
            for index, column in frame.columns.items():
                row[index] = column.dot(direction)
            terms.K.append(row)
            # Eq 8.47, where dT/dt = v_s x* T, and the rate of T's components
            terms.k.append(-aJ.dot(direction) - vJ.dot(rate))
            terms.velocity_error.append(vJ.dot(direction))
        terms.position_error.extend(kind.residual(sXp))
    return terms
