# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of a description: rotations to an axis, link poses at zero, rigidly connected links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.model.elements import JointElement


def rotation_with(axis: ArrayLike, index: int = 2) -> Array:
    """Return a rotation (3, 3) whose column `index` is a direction, a permutation where it can be.

    Args:
        axis: The direction (3,), of any length but zero.
        index: 0 to turn x into it, 1 for y, 2 for z.
    """
    main = np.asarray(axis, dtype=float)
    main = main / np.linalg.norm(main)
    # The most different coordinate axis, and of equal ones the last, so that z is rotated about x
    # and y.
    smallest = 2 - int(np.argmin(np.abs(main[::-1])))
    second = np.zeros(3)
    second[smallest] = 1.0
    second -= main * (second @ main)
    second /= np.linalg.norm(second)
    columns = {
        index: main,
        (index + 1) % 3: second,
        (index + 2) % 3: np.cross(main, second),
    }
    return np.column_stack([columns[i] for i in range(3)])


def shortest_rotation(start: ArrayLike, end: ArrayLike) -> Array:
    """Return the rotation (3, 3) by the smallest angle that turns one direction into another."""
    a, b = (np.asarray(vector, dtype=float) for vector in (start, end))
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    cross, cosine = np.cross(a, b), float(a @ b)
    if cosine < -1.0 + 1e-12:  # opposite: half a turn about any axis that is normal to both
        normal = rotation_with(a)[:, 0]
        return 2.0 * np.outer(normal, normal) - np.eye(3)
    x, y, z = cross
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + skew + skew @ skew / (1.0 + cosine)


def link_poses_at_zero(links: Iterable[str], joints: Iterable[JointElement]) -> dict[str, Array]:
    """Return the poses (4, 4) of links with every joint at its zero, in the root's frame.

    Links that are not connected to a root, because they form a circle, are left out.
    """
    carrier = {joint.child: joint for joint in joints}
    children: dict[str, list[JointElement]] = {}
    for joint in carrier.values():
        children.setdefault(joint.parent, []).append(joint)
    poses = {link: np.eye(4) for link in links if link not in carrier}
    pending = list(poses)
    while pending:
        parent = pending.pop()
        for joint in children.get(parent, ()):
            poses[joint.child] = poses[parent] @ joint.placement
            pending.append(joint.child)
    return poses


def path_to_root(link: str, carrier: Mapping[str, JointElement]) -> list[JointElement]:
    """Return the joints from a link inwards to the root.

    Args:
        link: Name of the link.
        carrier: For each link the joint that carries it.
    """
    path: list[JointElement] = []
    seen = set()
    while link in carrier and link not in seen:
        seen.add(link)
        path.append(carrier[link])
        link = carrier[link].parent
    return path


def rigid_piece(link: str, carrier: Mapping[str, JointElement]) -> str:
    """Return the link nearest the root that fixed joints connect with `link`."""
    for joint in path_to_root(link, carrier):
        if joint.type != "fixed":
            break
        link = joint.parent
    return link
