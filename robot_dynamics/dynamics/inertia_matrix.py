# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joint-space inertia matrix by the composite-rigid-body algorithm (Table 6.2)."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.kinematics import joint_transforms, motion_subspaces
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Scalar, Transform


def inertia_matrix(
    model: Model, q: Sequence[Scalar], parameters: Parameters
) -> list[list[Scalar]]:
    """Return H (nv, nv) [kg m^2, kg m, kg], symmetric positive definite."""
    return composite_inertia_matrix(model, joint_transforms(model, q), parameters, q)


def composite_inertia_matrix(
    model: Model,
    Xup: Sequence[Transform],
    parameters: Parameters,
    q: Sequence[Scalar] | None = None,
) -> list[list[Scalar]]:
    """Return H from the joint transforms; entries of joints on different branches stay 0.0.

    The positions `q` are needed only where a motion subspace depends on them.
    """
    S = motion_subspaces(model, q)
    H: list[list[Scalar]] = [[0.0] * model.nv for _ in range(model.nv)]
    Ic = list(parameters.inertias)
    for i in reversed(range(len(model.bodies))):
        body, at = model.bodies[i], model.v_slices[i]
        if body.parent != WORLD:
            Ic[body.parent] = Ic[body.parent] + Xup[i].inverse_times(Ic[i])
        F = [Ic[i] * s for s in S[i]]
        rotors = body.joint.of_each_freedom(body.joint.armature)
        for row, s in enumerate(S[i]):
            for column in range(row + 1):
                entry = s.dot(F[column]) + (rotors[row] if column == row else 0.0)
                H[at.start + row][at.start + column] = entry
                H[at.start + column][at.start + row] = entry
        j = i
        while model.bodies[j].parent != WORLD:
            F = [Xup[j].inverse_times(f) for f in F]
            j = model.bodies[j].parent
            for column, s in enumerate(S[j]):
                for row, f in enumerate(F):
                    entry = s.dot(f)  # H_ij = F^T S_j
                    H[at.start + row][model.v_slices[j].start + column] = entry
                    H[model.v_slices[j].start + column][at.start + row] = entry
    return H
