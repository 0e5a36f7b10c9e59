# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverses of the joint-space and the operational-space inertia matrix (section 7.2)."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.articulated_factors import ArticulatedFactors, articulated_factors
from robot_dynamics.dynamics.inertia_matrix import composite_inertia_matrix, is_deep
from robot_dynamics.dynamics.jacobian import Axes, link_jacobian
from robot_dynamics.dynamics.kinematics import joint_transforms, motion_subspaces
from robot_dynamics.model import Link, Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.linear_algebra import Factors, dot, factor
from robot_dynamics.spatial import Scalar


def inverse_inertia_matrix(
    model: Model, q: Sequence[Scalar], parameters: Parameters
) -> list[list[Scalar]]:
    """Return H^-1 (nv, nv), by the factors of H.

    Args:
        model: The mechanism; loops are left open.
        q: Positions (nq,).
        parameters: Inertias.
    """
    H = composite_inertia_matrix(model, joint_transforms(model, q), parameters, q)
    return factor(H).inverse()


def inverse_operational_inertia(
    model: Model, q: Sequence[Scalar], parameters: Parameters, links: Sequence[Link], axes: Axes
) -> list[list[Scalar]]:
    """Return J H^-1 J^T (6 m, 6 m): accelerations of m frames under unit wrenches (7.9).

    Its inverse, if it exists, is the operational-space inertia.

    Args:
        model: The mechanism; loops are left open.
        q: Positions (nq,).
        parameters: Inertias.
        links: The frames.
        axes: Coordinates of their accelerations and wrenches (see `jacobian.AXES`).
    """
    Xup = joint_transforms(model, q)
    rows = [row for link in links for row in link_jacobian(model, link, Xup, q, axes)]
    if is_deep(model):
        S = motion_subspaces(model, q)
        factors: Factors | ArticulatedFactors = articulated_factors(model, Xup, S, parameters)
    else:
        factors = factor(composite_inertia_matrix(model, Xup, parameters, q))
    halves = [factors.half_solve(row) for row in rows]  # Y = L^-T J^T, as in section 8.5
    scaled = [factors.scale(half) for half in halves]
    result: list[list[Scalar]] = [[0.0] * len(rows) for _ in rows]
    for i, half in enumerate(halves):
        for j in range(i + 1):
            result[i][j] = result[j][i] = dot(half, scaled[j])
    return result


INVERSE_INERTIA_MATRIX = Algorithm(
    "inverse_inertia_matrix",
    inverse_inertia_matrix,
    "q -> H_inverse (nv, nv)",
    needs_inertia="always",
)
#: Options: the links, and the axes; the output is (6 m, 6 m) of m links.
INVERSE_OPERATIONAL_INERTIA = Algorithm(
    "inverse_operational_inertia",
    inverse_operational_inertia,
    "q -> W (6 m, 6 m)",
    needs_inertia="always",
)
