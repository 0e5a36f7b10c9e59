# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Hinges and lines, which hold the object in both directions, as loop joints.

A hinge leaves the rotation about the z axis of its frame, a line keeps a point of the object on
that axis. Neither has play or springs. Friction and damping can resist their freedoms: the
rotation about a hinge, the motion of the point along a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.arguments import pose_matrix
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import WORLD, LoopJoint, transform_of
from robot_dynamics.model.joints import JointType, PointOnLine, Revolute, reverse

# For each kind the joint from the world to the object, and for each of its multipliers the
# component of the wrench on the object, in the frame's axes, angular first, and the sign. The
# forces of a reversed joint act on its carrier.
_JOINTS: dict[str, tuple[JointType, tuple[int, ...], float]] = {
    "hinge": (reverse(Revolute()), (0, 1, 3, 4, 5), -1.0),
    "line": (PointOnLine(), (3, 4), 1.0),
}

_FREE = {"hinge": 2, "line": 5}  # what is resisted: a component of a twist in the frame's axes
# Least independent part of a joint's blocked motion, as a share of the largest (1 m as 1 rad): the
# plant, which shifts squares by 1e-10, does not distinguish less from zero.
_OWN = 1e-5


@dataclass(frozen=True)
class EnvironmentJoint:
    """A hinge or a line that constrains the object.

    Attributes:
        name: Its name.
        kind: "hinge" or "line".
        frame: Its pose in the world (4, 4), the axis along z.
        part: For a hinge, pose of the same frame in the object's body (4, 4) at any angle; for a
            line, only the origin counts: the point that stays on it.
        friction: Coulomb friction, independent of the load [N m about a hinge, N along a line].
        damping: [N m s/rad, N s/m].
    """

    name: str
    kind: str
    frame: Array
    part: Array
    friction: float = 0.0
    damping: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in _JOINTS:
            raise ArgumentError(
                f"{self.name!r} holds the object as a {self.kind!r}, expected "
                f"{' or '.join(map(repr, _JOINTS))}."
            )
        for key in ("frame", "part"):
            value = pose_matrix(f"{key} of {self.kind} {self.name!r}", getattr(self, key))
            object.__setattr__(self, key, value)
        for key in ("friction", "damping"):
            value = getattr(self, key)
            if not (value >= 0.0 and np.isfinite(value)):
                raise ArgumentError(
                    f"{self.kind} {self.name!r} with a {key} of {value:g}, expected 0 or more."
                )

    @property
    def resists(self) -> bool:
        """Whether it resists the motion that it leaves free."""
        return self.friction > 0.0 or self.damping > 0.0

    @property
    def free(self) -> int:
        """The motion that it may resist: component of a twist in the frame's axes at the part."""
        return _FREE[self.kind]

    @property
    def components(self) -> tuple[int, ...]:
        """Components of its wrench on the object in the frame's axes, angular first (r,)."""
        return _JOINTS[self.kind][1]

    @property
    def rows(self) -> int:
        """Number of blocked motions."""
        return len(self.components)

    def loop(self, body: int) -> LoopJoint:
        """Return it as a loop joint from the world to a body."""
        kind = _JOINTS[self.kind][0]
        ends = transform_of(self.frame), transform_of(self.part)
        return LoopJoint(self.name, kind, WORLD, body, *ends)

    def wrench(self, multipliers: Array) -> Array:
        """Return its wrench on the object (6,), about the part's origin, in the frame's axes.

        Args:
            multipliers: Multipliers of its loop joint (r,) [N m, N].
        """
        wrench = np.zeros(6)
        wrench[list(self.components)] = _JOINTS[self.kind][2] * multipliers
        return wrench


def require_independent(environment_joints: Sequence[EnvironmentJoint], held: Array) -> None:
    """Refuse environment joints that block the same motion: their forces would be undetermined.

    Args:
        environment_joints: Hinges and lines that hold the object.
        held: Pose of the object (4, 4).

    Raises:
        ArgumentError: If one blocks a motion that is blocked already; it names both.
    """
    if not environment_joints:
        return
    places = [(held @ one.part)[:3, 3] for one in environment_joints]
    middle, rows = np.mean(places, axis=0), np.zeros((0, 6))
    for i, (one, place) in enumerate(zip(environment_joints, places, strict=True)):
        axes = one.frame[:3, :3].T
        turns, shifts = np.zeros((3, 6)), np.zeros((3, 6))
        turns[:, :3], shifts[:, :3], shifts[:, 3:] = axes, np.cross(place - middle, axes), axes
        rows = np.vstack([rows, np.vstack([turns, shifts])[list(one.components)]])
        if np.linalg.matrix_rank(rows, tol=_OWN * np.linalg.norm(rows, 2)) < len(rows):
            others = " and ".join(
                f"{other.kind} {other.name!r}" for other in environment_joints[:i]
            )
            raise ArgumentError(
                f"{one.kind} {one.name!r} blocks motions that {others} blocked already, so that "
                "nothing says which of them bears a force; expected environment joints that block "
                "different ones."
            )
