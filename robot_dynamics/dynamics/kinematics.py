# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Positions and velocities of the bodies of a tree (Examples 4.1, 4.3 and 4.4)."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.model import WORLD, Link, Model
from robot_dynamics.spatial import Motion, Scalar, Transform


def joint_transforms(model: Model, q: Sequence[Scalar]) -> list[Transform]:
    """Return iX_lambda(i) = X_J X_T for every body: from its parent's coordinates to its own.

    Args:
        model: The mechanism.
        q: Positions (nq,).
    """
    return [
        body.joint.type.transform(q[at]).compose(body.placement)
        for body, at in zip(model.bodies, model.q_slices, strict=True)
    ]


def body_transforms(model: Model, Xup: Sequence[Transform]) -> list[Transform]:
    """Return iX_0 for every body: from world coordinates to its own (Example 4.3)."""
    X0: list[Transform] = []
    for body, X in zip(model.bodies, Xup, strict=True):
        X0.append(X if body.parent == WORLD else X.compose(X0[body.parent]))
    return X0


def body_velocities(model: Model, Xup: Sequence[Transform], qd: Sequence[Scalar]) -> list[Motion]:
    """Return the velocity of every body in its own coordinates (Example 4.4)."""
    v: list[Motion] = []
    for body, X, at in zip(model.bodies, Xup, model.v_slices, strict=True):
        vJ = body.joint.type.velocity(qd[at])
        v.append(vJ if body.parent == WORLD else X * v[body.parent] + vJ)
    return v


def link_transform(link: Link, X0: Sequence[Transform]) -> Transform:
    """Return the transform from world to link coordinates."""
    return link.placement if link.body == WORLD else link.placement.compose(X0[link.body])


def link_pose(link: Link, X0: Sequence[Transform]) -> list[list[Scalar]]:
    """Return the pose of a link in the world as a homogeneous matrix (4, 4)."""
    X = link_transform(link, X0)
    a, b, c = X.E.transpose().rows
    return [[*a, X.r.x], [*b, X.r.y], [*c, X.r.z], [0.0, 0.0, 0.0, 1.0]]
