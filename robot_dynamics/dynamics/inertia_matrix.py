# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joint-space inertia matrix by the composite-rigid-body algorithm (Table 6.2)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.inverse import joint_forces
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    joint_transforms,
    motion_subspaces,
)
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.joints import combined
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Motion, Scalar, Transform

# Average number of bodies from the base to a body from which base coordinates are faster.
_DEEP = 10


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
    joints: Collection[int] | None = None,
) -> list[list[Scalar]]:
    """Return H from the joint transforms; entries of joints on different branches stay 0.0.

    Args:
        model: The mechanism.
        Xup: Transforms from each body's parent to the body.
        parameters: Inertias.
        q: Positions (nq,); needed only where a motion subspace depends on them.
        joints: The joints whose rows and columns are computed (Table 9.1), all by default; the
            others stay 0.0.
    """
    S = motion_subspaces(model, q)
    H: list[list[Scalar]] = [[0.0] * model.nv for _ in range(model.nv)]
    wanted = range(len(model.bodies)) if joints is None else joints
    if is_deep(model):
        _fill_in_base_coordinates(H, model, Xup, S, parameters, wanted)
        return H
    Ic = list(parameters.inertias)
    for i in reversed(range(len(model.bodies))):
        body, at = model.bodies[i], model.v_slices[i]
        if body.parent != WORLD:
            Ic[body.parent] = Ic[body.parent] + Xup[i].inverse_times(Ic[i])
        if i not in wanted:
            continue
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
            if j not in wanted:
                continue
            for column, s in enumerate(S[j]):
                for row, f in enumerate(F):
                    entry = s.dot(f)  # H_ij = F^T S_j
                    H[at.start + row][model.v_slices[j].start + column] = entry
                    H[model.v_slices[j].start + column][at.start + row] = entry
    return H


def is_deep(model: Model) -> bool:
    """Return whether bodies are so far from the base that pairs of joints dominate the cost."""
    depths: list[int] = []
    for body in model.bodies:
        depths.append(1 if body.parent == WORLD else depths[body.parent] + 1)
    return sum(depths) > _DEEP * len(depths)


def _fill_in_base_coordinates(
    H: list[list[Scalar]],
    model: Model,
    Xup: Sequence[Transform],
    S: Sequence[Sequence[Motion]],
    parameters: Parameters,
    wanted: Collection[int],
) -> None:
    """Write H_ij = S_j^T I^c_i S_i with all three in base coordinates.

    A pair of joints then costs a product of two vectors instead of a transformation as well.
    Rounding is relative to the largest entry of H, and not to each one.
    """
    back = [X.inverse() for X in body_transforms(model, Xup)]
    S0 = [[X * s for s in columns] for X, columns in zip(back, S, strict=True)]
    Ic = [X.inverse().inverse_times(I) for X, I in zip(back, parameters.inertias, strict=True)]
    for i in reversed(range(len(model.bodies))):
        body, at = model.bodies[i], model.v_slices[i]
        if body.parent != WORLD:
            Ic[body.parent] = Ic[body.parent] + Ic[i]
        if i not in wanted:
            continue
        F = [Ic[i] * s for s in S0[i]]
        rotors = body.joint.of_each_freedom(body.joint.armature)
        for row in range(len(F)):
            for column in range(row + 1):
                entry = S0[i][column].dot(F[row]) + (rotors[row] if column == row else 0.0)
                H[at.start + row][at.start + column] = entry
                H[at.start + column][at.start + row] = entry
        j = body.parent
        while j != WORLD:
            if j in wanted:
                for column, s in enumerate(S0[j], model.v_slices[j].start):
                    for row, f in enumerate(F, at.start):
                        H[row][column] = H[column][row] = s.dot(f)
            j = model.bodies[j].parent


def inertia_times(
    model: Model, q: Sequence[Scalar], x: Sequence[Scalar], parameters: Parameters
) -> list[Scalar]:
    """Return H x (nv,) without H: differential inverse dynamics, ID_delta (Table 6.1).

    Of the order of nv operations, where H itself may take nv^2.

    Args:
        model: The mechanism.
        q: Positions (nq,).
        x: Accelerations, or any vector over the joints (nv,).
        parameters: Inertias.
    """
    Xup, S = joint_transforms(model, q), motion_subspaces(model, q)
    a: list[Motion] = []
    for i, body in enumerate(model.bodies):
        own = combined(S[i], x[model.v_slices[i]])
        a.append(own if body.parent == WORLD else Xup[i] * a[body.parent] + own)
    forces = [inertia * a_i for inertia, a_i in zip(parameters.inertias, a, strict=True)]
    tau = joint_forces(model, Xup, forces, q)
    for i, armature in enumerate(model.armature.tolist()):
        if armature:
            tau[i] = tau[i] + x[i] * armature
    return tau


INERTIA_MATRIX = Algorithm("inertia_matrix", inertia_matrix, "q -> H (nv, nv)")
