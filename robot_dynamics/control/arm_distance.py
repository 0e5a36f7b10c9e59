# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How close different arms come to each other, with a capsule around each link."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms
from robot_dynamics.manipulation.system import Arm, GraspSystem

Array = NDArray[np.float64]


class Closest(NamedTuple):
    """The closest links of different arms at some times.

    Attributes:
        distance: Between the axes of the links (N,) [m]; infinite for a single arm.
        first: Index among the arm joints of the joint that carries the one link (N,).
        second: The same for the other link (N,).
    """

    distance: Array
    first: NDArray[np.intp]
    second: NDArray[np.intp]


def closest_links(system: GraspSystem, q: Array) -> Closest:
    """Return how close the arms come to each other.

    A link's axis goes from the origin of its joint to that of the next, the last one's to the
    tool's grasp. The last links of two arms hold the same object: their distance never changes,
    and they are left out.

    Args:
        system: The arms.
        q: Positions of the arm joints (N, na).
    """
    count = len(q)
    best = Closest(
        np.full(count, np.inf), np.zeros(count, dtype=np.intp), np.zeros(count, dtype=np.intp)
    )
    points = link_points(system, q)
    for i, one in enumerate(points):
        for j in range(i + 1, len(points)):
            other = points[j]
            n, m = len(one) - 1, len(other) - 1
            a, b = np.divmod(np.arange(n * m - 1), m)  # all pairs but the last, that of the tools
            distance = segment_distance(one[a], one[a + 1], other[b], other[b + 1])
            pair = np.argmin(distance, axis=0)
            found = Closest(
                np.min(distance, axis=0),
                a[pair] + system.arm_slices[i].start,
                b[pair] + system.arm_slices[j].start,
            )
            closer = found.distance < best.distance
            best = Closest(*(np.where(closer, f, b) for f, b in zip(found, best, strict=True)))
    return best


def link_points(system: GraspSystem, q: Array) -> list[Array]:
    """Return for each arm the origins of its joints and of its grasp in the world (n+1, N, 3)."""
    model = system.model
    columns: list[Array] = [np.full(len(q), value) for value in model.neutral()]
    for j, at in enumerate(system.q_index):
        columns[at] = q[:, j]
    X0 = body_transforms(model, joint_transforms(model, columns))
    return [_points_of(system, arm, X0, len(q)) for arm in system.arms]


def _points_of(system: GraspSystem, arm: Arm, X0: list, count: int) -> Array:  # type: ignore[type-arg]
    model, loop = system.model, system.model.loops[arm.loop]
    origins = [X0[model.joint_index(name)].r for name in arm.joints]
    origins.append(loop.predecessor_placement.compose(X0[loop.predecessor]).r)
    return np.array(
        [np.stack([np.broadcast_to(x, count) for x in origin], axis=-1) for origin in origins]
    )


def segment_distance(p: Array, p_end: Array, q: Array, q_end: Array) -> Array:
    """Return the distance (...) of segments p to p_end and q to q_end (..., 3); points allowed.

    The closest points of the lines, clamped to the segments one after the other (Ericson,
    Real-Time Collision Detection, 5.1.9).
    """
    tiny = 1e-12
    u, v, w = p_end - p, q_end - q, p - q
    a, e = np.sum(u * u, axis=-1), np.sum(v * v, axis=-1)
    b, c, f = np.sum(u * v, axis=-1), np.sum(u * w, axis=-1), np.sum(v * w, axis=-1)
    determinant = a * e - b * b
    crossing = determinant > tiny * np.maximum(a * e, tiny)
    s = np.where(crossing, (b * f - c * e) / np.where(crossing, determinant, 1.0), 0.0)
    s = np.clip(s, 0.0, 1.0)
    t = np.clip((b * s + f) / np.maximum(e, tiny), 0.0, 1.0)
    s = np.clip((b * t - c) / np.maximum(a, tiny), 0.0, 1.0)
    gap = w + s[..., None] * u - t[..., None] * v
    return np.asarray(np.linalg.norm(gap, axis=-1))
