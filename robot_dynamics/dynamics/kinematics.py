# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Positions and velocities of the bodies of a tree (Examples 4.1, 4.3 and 4.4)."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import WORLD, Link, Model
from robot_dynamics.model.joints import combined
from robot_dynamics.model.parameters import Parameters
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


def motion_subspaces(model: Model, q: Sequence[Scalar] | None = None) -> list[tuple[Motion, ...]]:
    """Return S_i of every body's joint, in body coordinates.

    Args:
        model: The mechanism.
        q: Positions (nq,); needed only where a joint's subspace depends on them.

    Raises:
        ArgumentError: If positions are needed and not given.
    """
    if q is None:
        for body in model.bodies:
            if body.joint.type.varying:
                raise ArgumentError(
                    f"joint {body.joint.name!r}: the motion subspace of a {body.joint.type.name} "
                    "joint depends on the positions, expected them as well."
                )
    return [
        body.joint.type.subspace(() if q is None else q[at])
        for body, at in zip(model.bodies, model.q_slices, strict=True)
    ]


def velocity_products(
    model: Model, q: Sequence[Scalar] | None, qd: Sequence[Scalar]
) -> list[Motion]:
    """Return c_J of every body's joint, in body coordinates; without `q` only for constant S."""
    return [
        body.joint.type.velocity_product(() if q is None else q[at_q], qd[at_v])
        for body, at_q, at_v in zip(model.bodies, model.q_slices, model.v_slices, strict=True)
    ]


def body_transforms(model: Model, Xup: Sequence[Transform]) -> list[Transform]:
    """Return iX_0 for every body: from world coordinates to its own (Example 4.3)."""
    X0: list[Transform] = []
    for body, X in zip(model.bodies, Xup, strict=True):
        X0.append(X if body.parent == WORLD else X.compose(X0[body.parent]))
    return X0


def body_velocities(
    model: Model,
    Xup: Sequence[Transform],
    qd: Sequence[Scalar],
    q: Sequence[Scalar] | None = None,
) -> list[Motion]:
    """Return the velocity of every body in its own coordinates (Example 4.4).

    Args:
        model: The mechanism.
        Xup: Transforms from each body's parent to the body.
        qd: Velocities (nv,).
        q: Positions (nq,); needed only where a motion subspace depends on them.
    """
    S = motion_subspaces(model, q)
    v: list[Motion] = []
    for i, (body, X, at) in enumerate(zip(model.bodies, Xup, model.v_slices, strict=True)):
        vJ = combined(S[i], qd[at])
        v.append(vJ if body.parent == WORLD else X * v[body.parent] + vJ)
    return v


def body_links(model: Model) -> tuple[Link, ...]:
    """Return the link of every body: the child of its joint, in the order of `model.bodies`."""
    return tuple(model.link(body.name) for body in model.bodies)


def link_transform(link: Link, X0: Sequence[Transform]) -> Transform:
    """Return the transform from world to link coordinates."""
    return link.placement if link.body == WORLD else link.placement.compose(X0[link.body])


def link_pose(link: Link, X0: Sequence[Transform]) -> list[list[Scalar]]:
    """Return the pose of a link in the world as a homogeneous matrix (4, 4)."""
    return pose_matrix(link_transform(link, X0))


def pose_matrix(X: Transform) -> list[list[Scalar]]:
    """Return the homogeneous matrix (4, 4) of the frame that a transform leads to."""
    a, b, c = X.E.transpose().rows
    return [[*a, X.r.x], [*b, X.r.y], [*c, X.r.z], [0.0, 0.0, 0.0, 1.0]]


def pose_of_link(
    model: Model, q: Sequence[Scalar], parameters: Parameters, link: Link
) -> list[list[Scalar]]:
    """Return the pose (4, 4) of a link in the world."""
    return link_pose(link, body_transforms(model, joint_transforms(model, q)))


def poses_of_links(
    model: Model, q: Sequence[Scalar], parameters: Parameters
) -> list[list[list[Scalar]]]:
    """Return the poses (links, 4, 4) of all links in the world."""
    X0 = body_transforms(model, joint_transforms(model, q))
    return [link_pose(link, X0) for link in model.links]


#: Option: the link.
POSE = Algorithm("pose", pose_of_link, "q -> pose (4, 4)")
LINK_POSES = Algorithm(
    "link_poses", poses_of_links, "q -> poses (links, 4, 4)", frames=lambda model: model.links
)
