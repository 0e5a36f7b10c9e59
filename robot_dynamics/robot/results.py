# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Results of several arrays, which unpack like tuples."""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.arrays import Array


class ConstraintTerms(NamedTuple):
    """The terms of the closed-loop equation of motion (Eq 8.6).

    Attributes:
        H: Joint-space inertia matrix (..., nv, nv).
        C: Bias forces (..., nv), springs and dampers of loop joints included: C - tau_a.
        K: Constraint Jacobian (..., n^c, nv).
        k: Right-hand side (..., n^c) of K qdd = k.
        position_error: Gaps of the loops (..., n^c) [rad or m].
        velocity_error: K qd (..., n^c) [rad/s or m/s].
    """

    H: Array
    C: Array
    K: Array
    k: Array
    position_error: Array
    velocity_error: Array


class ClosedLoopMotion(NamedTuple):
    """Accelerations and constraint forces at full rank.

    Attributes:
        qdd: Accelerations (..., nv).
        multipliers: Constraint forces lambda (..., n^c).
        pivot: The smallest pivot (...); below `SMALLEST_PIVOT` the other two are worthless.
    """

    qdd: Array
    multipliers: Array
    pivot: Array


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of joint forces (..., nv, nv).

    Column j of `tau_q` belongs to a motion of the positions along velocity j: quaternions are no
    vectors. `tau_qdd` is the inertia matrix.
    """

    tau_q: Array
    tau_qd: Array
    tau_qdd: Array


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of accelerations (..., nv, nv) and of constraint forces (..., n^c, nv).

    Columns belong to velocities, as in `InverseDynamicsDerivatives`.
    """

    qdd_q: Array
    qdd_qd: Array
    qdd_tau: Array
    lambda_q: Array
    lambda_qd: Array
    lambda_tau: Array


class InverseDynamicsGradient(NamedTuple):
    """Gradients (..., nv) of a function of joint forces: by q along velocities, qd and qdd."""

    q: Array
    qd: Array
    qdd: Array


class ForwardDynamicsGradient(NamedTuple):
    """Gradients (..., nv) of a function of accelerations: by q along velocities, qd and tau."""

    q: Array
    qd: Array
    tau: Array
