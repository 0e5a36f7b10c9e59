# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joint-space inertia matrix by the composite-rigid-body algorithm (Table 6.2)."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Scalar, Transform


def inertia_matrix(
    model: Model, q: Sequence[Scalar], parameters: Parameters
) -> list[list[Scalar]]:
    """Return H (nv, nv) [kg m^2, kg m, kg], symmetric positive definite."""
    return composite_inertia_matrix(model, joint_transforms(model, q), parameters)


def composite_inertia_matrix(
    model: Model, Xup: Sequence[Transform], parameters: Parameters
) -> list[list[Scalar]]:
    """Return H from the joint transforms; entries of joints on different branches stay 0.0."""
    H: list[list[Scalar]] = [[0.0] * model.nv for _ in range(model.nv)]
    Ic = list(parameters.inertias)
    for i in reversed(range(len(model.bodies))):
        body, at = model.bodies[i], model.v_slices[i]
        if body.parent != WORLD:
            Ic[body.parent] = Ic[body.parent] + Xup[i].inverse_times(Ic[i])
        S = body.joint.type.motion_subspace
        F = [Ic[i] * s for s in S]
        for row, s in enumerate(S):
            for column in range(row + 1):
                entry = s.dot(F[column]) + (body.joint.armature if column == row else 0.0)
                H[at.start + row][at.start + column] = entry
                H[at.start + column][at.start + row] = entry
        j = i
        while model.bodies[j].parent != WORLD:
            F = [Xup[j].inverse_times(f) for f in F]
            j = model.bodies[j].parent
            for column, s in enumerate(model.bodies[j].joint.type.motion_subspace):
                for row, f in enumerate(F):
                    entry = s.dot(f)  # H_ij = F^T S_j
                    H[at.start + row][model.v_slices[j].start + column] = entry
                    H[model.v_slices[j].start + column][at.start + row] = entry
    return H
