# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The Coriolis matrix C(q, qd) with Hdot - 2 C skew-symmetric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.inverse import (
    joint_forces,
    net_forces,
    velocities_and_accelerations,
)
from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.model import Model
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.derivatives import directional_derivative, jacobian
from robot_dynamics.spatial import Scalar, Vector3


def coriolis_matrix(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Parameters
) -> list[list[Scalar]]:
    """Return C (nv, nv): Coriolis and centrifugal forces are C qd, and Hdot - 2 C is skew.

    For velocities that are rates of positions it is the matrix of Christoffel symbols: half the
    derivative of these forces, which are quadratic in qd. Other velocities, such as those of a
    floating joint, do not commute, and the commutators are added: it is the unique torsion-free
    connection that preserves H.

    Args:
        model: The mechanism; gravity, springs and dampers are not part of C.
        q: Positions (nq,).
        qd: Velocities (nv,).
        parameters: Inertias.
    """
    slopes = jacobian(lambda qd: velocity_forces(model, q, qd, parameters), qd)
    C = [[0.5 * x for x in row] for row in slopes]
    H: list[list[Scalar]] | None = None
    for body, at in zip(model.bodies, model.v_slices, strict=True):
        commutators = velocity_commutators(body.joint.type)
        for (k, j, i), value in np.ndenumerate(commutators):
            if value:
                H = _inertia_of_bodies(model, q, parameters) if H is None else H
                rate = qd[at.start + k] * (0.5 * value)
                for row, of_row in zip(C, H, strict=True):
                    row[at.start + j] = row[at.start + j] + of_row[at.start + i] * rate
    return C


def _inertia_of_bodies(
    model: Model, q: Sequence[Scalar], parameters: Parameters
) -> list[list[Scalar]]:
    """Return H (nv, nv) without rotors, which are constant in H and have no velocity forces."""
    H = inertia_matrix(model, q, parameters)
    for i, armature in enumerate(model.armature.tolist()):
        if armature:
            H[i][i] = H[i][i] - armature
    return H


def velocity_forces(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Parameters
) -> list[Scalar]:
    """Return Coriolis and centrifugal forces (nv,): inverse dynamics without all else."""
    Xup = joint_transforms(model, q)
    v, a = velocities_and_accelerations(model, Xup, qd, None, Vector3.zero(), q)
    return joint_forces(model, Xup, net_forces(v, a, parameters), q)


def velocity_commutators(kind: JointType) -> NDArray[np.float64]:
    """Return c (nv, nv, nv): motions along velocities k, then j, less the other way round.

    They are motions along velocities i by c[k, j, i], at all positions alike; zero where
    velocities are rates of positions.
    """
    n, q = kind.nv, list(kind.neutral())
    units = np.eye(n).tolist()
    rates = [kind.position_rate(q, unit) for unit in units]
    result = np.zeros((n, n, n))
    N = np.array(rates, dtype=float).T

    def rate_along(motion: list[Scalar], other: list[float]) -> NDArray[np.float64]:
        """Return the rate of one velocity field on the positions along another."""
        rate = directional_derivative(lambda q: kind.position_rate(q, other), q, motion)[1]
        return np.array(rate, dtype=float)

    for k in range(n):
        for j in range(k):
            bracket = rate_along(rates[k], units[j]) - rate_along(rates[j], units[k])
            found = np.linalg.lstsq(N, bracket, rcond=None)[0]
            result[k, j] = np.where(np.abs(found) > 1e-12, found, 0.0)
            result[j, k] = -result[k, j]
    return result


def velocity_forces_jvp(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    dqd: Sequence[Scalar],
    parameters: Parameters,
) -> list[Scalar]:
    """Return the rate (nv,) of the velocity forces as qd changes by dqd."""
    return directional_derivative(lambda qd: velocity_forces(model, q, qd, parameters), qd, dqd)[1]


CORIOLIS_MATRIX = Algorithm("coriolis_matrix", coriolis_matrix, "q, qd -> C (nv, nv)")
VELOCITY_FORCES_JVP = Algorithm(
    "velocity_forces_jvp", velocity_forces_jvp, "q, qd, dqd -> rate (nv)"
)
