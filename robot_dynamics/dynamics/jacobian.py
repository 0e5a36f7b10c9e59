# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Jacobians of bodies and links (Example 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from robot_dynamics.dynamics.kinematics import body_transforms, link_transform, motion_subspaces
from robot_dynamics.model import WORLD, Link, Model
from robot_dynamics.spatial import Motion, Scalar, Transform, Vector3

#: Coordinates of a frame's motion: "local" are its own, "world" those of the world, with linear
#: parts at the world's origin, "aligned" have the directions of the world at the frame's origin.
Axes = Literal["local", "world", "aligned"]
LOCAL: Axes = "local"
WORLD_AXES: Axes = "world"
AXES: tuple[Axes, ...] = (LOCAL, WORLD_AXES, "aligned")


def columns_in_frame(
    model: Model,
    body: int,
    Xup: Sequence[Transform],
    frame: Transform,
    root: int = WORLD,
    q: Sequence[Scalar] | None = None,
) -> dict[int, Motion]:
    """Return the columns of a body's Jacobian in the coordinates of a frame.

    Args:
        model: The mechanism.
        body: The body whose velocity the columns make up; WORLD has none.
        Xup: Transforms from each body's parent to the body.
        frame: Transform from the body's coordinates to the frame's.
        root: Body on the path from the base to `body` that the velocity is relative to.
        q: Positions (nq,); needed only where a motion subspace depends on them.

    Returns:
        For each velocity variable that moves the body, by its index, the motion it causes.
    """
    S = motion_subspaces(model, q)
    columns: dict[int, Motion] = {}
    while body != root:
        at = model.v_slices[body]
        for index, s in zip(range(at.start, at.stop), S[body], strict=True):
            columns[index] = frame * s
        frame = frame.compose(Xup[body])
        body = model.bodies[body].parent
    return columns


def columns_in_axes(
    model: Model,
    link: Link,
    Xup: Sequence[Transform],
    axes: Axes,
    q: Sequence[Scalar] | None = None,
) -> dict[int, Motion]:
    """Return the columns of a link's Jacobian, as `columns_in_frame`, in `axes`."""
    if axes == LOCAL:
        return columns_in_frame(model, link.body, Xup, link.placement, q=q)
    if link.body == WORLD:
        return {}
    X0, S = body_transforms(model, Xup), motion_subspaces(model, q)
    origin = Vector3.zero() if axes == WORLD_AXES else link_transform(link, X0).r
    columns: dict[int, Motion] = {}
    for body in model.support(link.body):
        at, X = model.v_slices[body], Transform(X0[body].E, X0[body].r - origin)
        for index, s in zip(range(at.start, at.stop), S[body], strict=True):
            columns[index] = X.inverse_times(s)
    return columns


def link_jacobian(
    model: Model,
    link: Link,
    Xup: Sequence[Transform],
    q: Sequence[Scalar] | None = None,
    axes: Axes = LOCAL,
) -> list[list[Scalar]]:
    """Return the Jacobian (6, nv) of a link: its spatial velocity in `axes`, over qd.

    The positions `q` are needed only where a motion subspace depends on them.
    """
    return _rows(model, columns_in_axes(model, link, Xup, axes, q))


def jacobian_in_frame(
    model: Model,
    body: int,
    Xup: Sequence[Transform],
    frame: Transform,
    q: Sequence[Scalar] | None = None,
) -> list[list[Scalar]]:
    """Return the Jacobian (6, nv) of a body in the coordinates of a frame.

    Args:
        model: The mechanism.
        body: The body.
        Xup: Transforms from each body's parent to the body.
        frame: Transform from the body's coordinates to the frame's.
        q: Positions (nq,); needed only where a motion subspace depends on them.
    """
    return _rows(model, columns_in_frame(model, body, Xup, frame, q=q))


def _rows(model: Model, columns: dict[int, Motion]) -> list[list[Scalar]]:
    rows: list[list[Scalar]] = [[0.0] * model.nv for _ in range(6)]
    for index, column in columns.items():
        for row, value in zip(rows, column.components(), strict=True):
            row[index] = value
    return rows


def classical_acceleration(
    acceleration: Motion, velocity: Motion, gravity: Vector3
) -> list[Scalar]:
    """Return the rate (6,) of [omega; velocity of a point] in world axes (2.50).

    Args:
        acceleration: Spatial, of the body, in world axes at the point; with the base's fictitious
            acceleration for gravity, -a_g, in it, as `velocities_and_accelerations` returns it.
        velocity: Velocity of the body, in world axes at the point.
        gravity: Acceleration of gravity, which is removed.
    """
    linear = acceleration.linear + velocity.angular.cross(velocity.linear) + gravity
    return [*acceleration.angular, *linear]
