# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Jacobians of bodies and links (Example 4.2)."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.kinematics import link_transform
from robot_dynamics.model import Link, Model
from robot_dynamics.spatial import Motion, Scalar, Transform


def columns_in_frame(
    model: Model, body: int, X0: Sequence[Transform], frame: Transform
) -> dict[int, Motion]:
    """Return the columns of a body's Jacobian in the coordinates of a frame.

    Args:
        model: The mechanism.
        body: The body whose velocity the columns make up; WORLD has none.
        X0: Transforms from world to body coordinates.
        frame: Transform from world coordinates to the frame's.

    Returns:
        For each velocity variable that moves the body, by its index, the motion it causes.
    """
    columns: dict[int, Motion] = {}
    for j in model.support(body):
        to_frame = frame.compose(X0[j].inverse())
        at = model.v_slices[j]
        for index, s in zip(
            range(at.start, at.stop), model.bodies[j].joint.type.motion_subspace, strict=True
        ):
            columns[index] = to_frame * s
    return columns


def link_jacobian(model: Model, link: Link, X0: Sequence[Transform]) -> list[list[Scalar]]:
    """Return the Jacobian (6, nv) of a link: its spatial velocity in link coordinates, over qd."""
    columns = columns_in_frame(model, link.body, X0, link_transform(link, X0))
    rows: list[list[Scalar]] = [[0.0] * model.nv for _ in range(6)]
    for index, column in columns.items():
        for row, value in zip(rows, column.components(), strict=True):
            row[index] = value
    return rows
