# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The Coriolis matrix C(q, qd) with Hdot - 2 C skew-symmetric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix, inertia_times
from robot_dynamics.dynamics.inverse import (
    joint_forces,
    net_forces,
    velocities_and_accelerations,
)
from robot_dynamics.dynamics.inverse_derivatives import (
    base_columns,
    by_components,
    has_constant_subspaces,
    tree_derivatives,
)
from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.model import Model
from robot_dynamics.model.joints import JointType
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.derivatives import directional_derivative, jacobian
from robot_dynamics.scalar.linear_algebra import add, is_zero
from robot_dynamics.spatial import Force, Motion, Scalar, Vector3


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
    if has_constant_subspaces(model):
        slopes = tree_derivatives(model, q, qd, [0.0] * model.nv, parameters)[1]
    else:
        slopes = jacobian(lambda qd: velocity_forces(model, q, qd, parameters), qd)
    C = [[0.5 * x for x in row] for row in slopes]
    H: list[list[Scalar]] | None = None
    for at, k, j, i, value in _commutators(model):
        H = _inertia_of_bodies(model, q, parameters) if H is None else H
        rate = qd[at + k] * (0.5 * value)
        for row, of_row in zip(C, H, strict=True):
            row[at + j] = row[at + j] + of_row[at + i] * rate
    return C


def _commutators(model: Model) -> Iterator[tuple[int, int, int, int, float]]:
    """Yield the first velocity of a joint, k, j, i and c[k, j, i] of `velocity_commutators`."""
    for body, at in zip(model.bodies, model.v_slices, strict=True):
        for (k, j, i), value in np.ndenumerate(velocity_commutators(body.joint.type)):
            if value:
                yield at.start, k, j, i, float(value)


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
    """Return Coriolis and centrifugal forces (nv,)."""
    Xup = joint_transforms(model, q)
    v, a = velocities_and_accelerations(model, Xup, qd, None, Vector3.zero(), q)
    return joint_forces(model, Xup, net_forces(v, a, parameters), q)


def velocity_commutators(kind: JointType) -> NDArray[np.float64]:
    """Return c (nv, nv, nv): motions along velocities k, then j, less the other way round.

    They are motions along velocities i by c[k, j, i], equal at all positions; zero if velocities
    are rates of positions.
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


def coriolis_product(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    x: Sequence[Scalar],
    parameters: Parameters,
) -> list[Scalar]:
    """Return C x (nv,) of a vector over the joints."""
    _, rates = directional_derivative(lambda qd: velocity_forces(model, q, qd, parameters), qd, x)
    product = [0.5 * rate for rate in rates]
    turned: list[Scalar] = [0.0] * model.nv
    for at, k, j, i, value in _commutators(model):
        turned[at + i] = turned[at + i] + qd[at + k] * (0.5 * value) * x[at + j]
    if all(is_zero(each) for each in turned):
        return product
    pushed = inertia_times(model, q, turned, parameters)
    for i, armature in enumerate(model.armature.tolist()):  # see `_inertia_of_bodies`
        if armature:
            pushed[i] = pushed[i] - turned[i] * armature
    return add(product, pushed)


def coriolis_columns(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Parameters
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Return motions and forces (21, nv each) with C instead of the derivative by qd.

    See `derivative_columns`; parts that C does not need are zero.
    """
    columns = base_columns(model, q, qd, [0.0] * model.nv, parameters)
    rates = [r * 0.5 for (_, _, _, r), _ in columns]
    felt = [h * 0.5 for _, (_, _, _, h) in columns]
    for at, k, j, i, value in _commutators(model):
        (_, _, s, _), (_, w, _, _) = columns[at + i]
        rate = qd[at + k] * (0.5 * value)
        rates[at + j], felt[at + j] = rates[at + j] + s * rate, felt[at + j] + w * rate
    none, no_force = Motion.zero(), Force.zero()
    return by_components(
        [
            ((none, none, s, r), (u * 0.5, w, no_force, h))
            for ((_, _, s, _), (u, w, _, _)), r, h in zip(columns, rates, felt, strict=True)
        ]
    )


CORIOLIS_MATRIX = Algorithm("coriolis_matrix", coriolis_matrix, "q, qd -> C (nv, nv)")
CORIOLIS_PRODUCT = Algorithm("coriolis_product", coriolis_product, "q, qd, x -> product (nv)")
CORIOLIS_COLUMNS = Algorithm(
    "coriolis_columns", coriolis_columns, "q, qd -> motions (21, nv), forces (21, nv)"
)
