# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How well arms can move in the directions that their contacts block, and where they can better.

The measure is Yoshikawa's manipulability in its logarithm, log sqrt(det(J J^T)) over the columns
of one arm, with J = S^T J. Its gradient is tr(J^+ dJ/dq_j), with the exact dJ/dq_j: in axes that
move with the tool a joint turns the columns of the joints before it, dJ_i/dq_j = J_i x J_j.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.jacobian import columns_in_frame
from robot_dynamics.manipulation.hybrid.grasp_kinematics import ContactPoint, Matrix, Place
from robot_dynamics.model import Model
from robot_dynamics.scalar.linear_algebra import dot, factor, times
from robot_dynamics.spatial import Scalar, Transform

# Keeps factors finite at a singularity itself.
_FINITE = 1e-9


def manipulability_gradient(
    model: Model,
    points: Sequence[ContactPoint],
    place: Place,
    Xup: Sequence[Transform],
    X0: Sequence[Transform],
) -> list[Scalar]:
    """Return the gradient (n,) of the sum over the arms of log sqrt(det(J J^T)) [1/rad].

    Directions of contacts are taken to turn with the tools.

    Args:
        model: The arms.
        points: Their contacts.
        place: Where the object is.
        Xup: Transforms from each body's parent to the body.
        X0: Transforms from world to body coordinates.
    """
    gradient: list[Scalar] = [0.0] * model.nv
    for point in points:
        columns = columns_in_frame(model, point.link.body, Xup, point.frame(place, X0))
        joints = sorted(columns)
        S = point.selection
        J: Matrix = [times(S, columns[j].components()) for j in joints]  # by columns
        rows = [list(row) for row in zip(*J, strict=True)]
        A = [[dot(rows[i], rows[l]) for l in range(i + 1)] for i in range(len(rows))]
        of_A = factor([[*row[:-1], row[-1] * (1.0 + _FINITE)] for row in A])
        Y = [of_A.solve(column) for column in J]
        for before, i in enumerate(joints):
            for j in joints[before + 1 :]:
                change = times(S, columns[i].cross(columns[j]).components())
                gradient[j] = gradient[j] + dot(Y[before], change)
    return gradient
