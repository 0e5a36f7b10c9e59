# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loop constraints: K, k, position and velocity errors (Tables 8.1 and 8.4).

The constraints are written in the successor frame of each loop joint, at its origin, and not in
base coordinates as in Table 8.4: nothing is lost when a loop is far from the base, and the
constraint forces come out in the frame in which T is constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.dynamics.inverse import base_acceleration
from robot_dynamics.dynamics.jacobian import columns_in_frame
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Motion, Scalar, Transform


@dataclass(frozen=True)
class LoopTerms:
    """The loop constraints at one state; rows are in the order of the loop joints.

    Attributes:
        K: Constraint Jacobian (n^c, nv), with 0.0 where a joint is in no path of the loop.
        k: Right-hand side (n^c,) of K qdd = k, without stabilisation (8.15).
        position_error: delta (n^c,): small displacement of each successor from where it should
            be, in the directions of T [rad or m] (Table 8.1).
        velocity_error: T^T v_J = K qd (n^c,) [rad/s or m/s].
    """

    K: list[list[Scalar]]
    k: list[Scalar]
    position_error: list[Scalar]
    velocity_error: list[Scalar]

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
    X0: Sequence[Transform],
    v: Sequence[Motion],
    avp: Sequence[Motion],
    parameters: Parameters,
) -> LoopTerms:
    """Return the constraints of all loop joints.

    Args:
        model: The mechanism.
        X0: Transforms from world to body coordinates.
        v: Velocities of the bodies, in body coordinates.
        avp: Their velocity-product accelerations, -a_g included, in body coordinates.
        parameters: Gravity and the placements of the loop joints.
    """
    terms = LoopTerms([], [], [], [])
    for loop, (X_P, X_S) in zip(model.loops, parameters.loops, strict=True):
        p, s = loop.predecessor, loop.successor
        base_to_p = X_P if p == WORLD else X_P.compose(X0[p])
        base_to_s = X_S if s == WORLD else X_S.compose(X0[s])
        X = base_to_s.compose(base_to_p.inverse())  # sX_p, Eq 8.24

        def motion_of(
            body: int, of: Sequence[Motion], fixed: Motion, to_frame: Transform
        ) -> Motion:
            return to_frame * (fixed if body == WORLD else of[body])

        # The base, if a loop joint sits on it, has velocity zero and acceleration -a_g.
        at_base = base_acceleration(parameters.gravity)
        v_s = motion_of(s, v, Motion.zero(), X_S)
        v_p = X * motion_of(p, v, Motion.zero(), X_P)
        a_s = motion_of(s, avp, at_base, X_S)
        a_p = X * motion_of(p, avp, at_base, X_P)
        vJ = v_s - v_p
        aJ = a_s - a_p + v_s.cross(v_p)

        columns: dict[int, Motion] = {}
        for index, column in _successor_columns(model, s, X0, X_S).items():
            columns[index] = column
        for index, column in columns_in_frame(model, p, X0, base_to_s).items():
            columns[index] = columns[index] - column if index in columns else -column

        T = loop.type.constraint_subspace
        for direction in T:
            row: list[Scalar] = [0.0] * model.nv
            for index, column in columns.items():
                row[index] = column.dot(direction)
            terms.K.append(row)
            terms.k.append(-aJ.dot(direction))  # Eq 8.47: dT/dt = v_s x* T
            terms.velocity_error.append(vJ.dot(direction))
        terms.position_error.extend(loop.type.residual(X))
    return terms


def _successor_columns(
    model: Model, body: int, X0: Sequence[Transform], X_S: Transform
) -> dict[int, Motion]:
    """Return the columns of the successor's Jacobian; those of its own joint need no X0."""
    if body == WORLD:
        return {}
    columns = columns_in_frame(model, model.bodies[body].parent, X0, X_S.compose(X0[body]))
    at = model.v_slices[body]
    own = model.bodies[body].joint.type.motion_subspace
    columns |= {
        index: X_S * s for index, s in zip(range(at.start, at.stop), own, strict=True)
    }
    return columns
