# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Check whether the links of a loop are long enough to close it, before any search.

The origins of the joints around a loop are the corners of a polygon. Its sides, one in each link,
have constant lengths, except at joints that translate. No side of a polygon is longer than all the
others together; if one is, the loop stays open at least by the difference.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.position_limits import PositionLimits
from robot_dynamics.model import LoopJoint, Model
from robot_dynamics.model.joints import JointType, Prismatic
from robot_dynamics.spatial import Transform

_ROUNDING = 1e-12  # m, at positions of size one


def missing_lengths(
    model: Model, limits: PositionLimits, q: Array, free: NDArray[np.bool_]
) -> dict[str, float]:
    """Return lower bounds of the gaps of loops whose links are too short [m], by loop joint.

    Loops with a joint that translates without bounds, and loops that may close, are left out.

    Args:
        model: The mechanism.
        limits: The bounds of its coordinates.
        q: Positions (nq,) of the joints that are held.
        free: Coordinates (nv,) that may change.
    """
    slack = [_slack(model, body, limits, q, free) for body in range(len(model.bodies))]
    found = {}
    for loop in model.loops:
        if not _origins_meet(loop.type):
            continue
        ends = (loop.predecessor, loop.successor)
        turned = sum(slack[body] for body in model.tree.loop_bodies(*ends))
        if not np.isfinite(turned):
            continue
        sides = _sides(model, loop)
        missing = 2.0 * max(sides) - sum(sides) - turned
        if missing > 0.0:
            found[loop.name] = float(missing)
    return found


def _sides(model: Model, loop: LoopJoint) -> list[float]:
    """Return the distances [m] between consecutive joints around a loop, each within a link."""
    root = model.tree.loop_root(loop.predecessor, loop.successor)
    sides, corners = [], []
    for body, end in (
        (loop.predecessor, loop.predecessor_placement),
        (loop.successor, loop.successor_placement),
    ):
        corner = _origin(end)
        while body != root:  # a body's own joint is at its origin
            sides.append(float(np.linalg.norm(corner)))
            corner = _origin(model.bodies[body].placement)
            body = model.bodies[body].parent
        corners.append(corner)
    return [*sides, float(np.linalg.norm(corners[0] - corners[1]))]


def _origin(X: Transform) -> Array:
    return np.array([float(value) for value in X.r])


def _slack(
    model: Model, body: int, limits: PositionLimits, q: Array, free: NDArray[np.bool_]
) -> float:
    """Return the largest distance between the origins of a tree joint's frames [m]."""
    joint, at = model.bodies[body].joint, model.v_slices[body]
    if _origins_meet(joint.type):
        return 0.0
    if joint.type.nv > 0 and not np.any(free[at]):
        held = q[model.q_slices[body]].tolist()
        return float(np.linalg.norm(_origin(joint.type.transform(held))))
    if joint.type.name in (Prismatic.name, f"reversed {Prismatic.name}"):
        return float(np.max(np.abs([limits.lower[at], limits.upper[at]])))
    return np.inf


@lru_cache(maxsize=256)
def _origins_meet(kind: JointType) -> bool:
    """Return whether a joint's frames have one origin at all its positions."""
    if not kind.carries:
        return False
    random = np.random.default_rng(0)  # two positions without luck
    for _ in range(2):
        q = kind.integrate(kind.neutral(), random.uniform(0.3, 0.9, kind.nv).tolist())
        if np.linalg.norm(_origin(kind.transform(q))) > _ROUNDING:
            return False
    return True
