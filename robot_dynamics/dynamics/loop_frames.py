# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of a loop joint, and the joints that move them relative to each other.

Everything is in the joint's frame on the successor. Transforms are computed from the loop's root,
so that no precision is lost when a loop is far from the base.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from robot_dynamics.dynamics.jacobian import columns_in_frame
from robot_dynamics.model import WORLD, LoopJoint, Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Force, Motion, Scalar, Transform


@dataclass(frozen=True)
class LoopFrame:
    """A loop joint at one configuration.

    Attributes:
        joint: The loop joint.
        of_predecessor: From the predecessor body's coordinates to the frame on the successor.
        of_successor: X_S, from the successor body's coordinates to that frame.
        placement: sXp, from the joint's predecessor frame to its successor frame (8.24).
        columns: The columns of J_L: the motion of the successor's frame relative to the
            predecessor's that each velocity in the loop causes, by its index.
    """

    joint: LoopJoint
    of_predecessor: Transform
    of_successor: Transform
    placement: Transform
    columns: dict[int, Motion]

    def ends(self, motions: Sequence[Motion], base: Motion) -> tuple[Motion, Motion]:
        """Return the motions of predecessor and successor, from the motions of all bodies.

        Args:
            motions: Motion of each body, in its own coordinates.
            base: Motion of the fixed base.
        """
        p, s = self.joint.predecessor, self.joint.successor
        return (
            self.of_predecessor * (base if p == WORLD else motions[p]),
            self.of_successor * (base if s == WORLD else motions[s]),
        )

    def joint_forces(self, force: Force) -> dict[int, Scalar]:
        """Return J_L^T f: joint forces of a force on the successor and its reaction (8.28)."""
        return {index: column.dot(force) for index, column in self.columns.items()}


def loop_frames(
    model: Model,
    Xup: Sequence[Transform],
    parameters: Parameters,
    q: Sequence[Scalar] | None = None,
) -> Iterator[LoopFrame]:
    """Yield the frames of all loop joints, one by one.

    The operations of one loop are then adjacent in compiled code.

    Args:
        model: The mechanism.
        Xup: Transforms from each body's parent to the body.
        parameters: The placements of the loop joints.
        q: Positions (nq,); needed only where a motion subspace depends on them.
    """
    for loop, (X_P, X_S) in zip(model.loops, parameters.loops, strict=True):
        p, s = loop.predecessor, loop.successor
        root = loop_root(model, p, s)
        X = X_S.compose(_from_root(model, root, s, Xup)).compose(
            _from_root(model, root, p, Xup).inverse()
        )
        columns = columns_in_frame(model, s, Xup, X_S, root, q)
        for index, column in columns_in_frame(model, p, Xup, X, root, q).items():
            columns[index] = -column  # Eq 8.20
        yield LoopFrame(loop, X, X_S, X.compose(X_P.inverse()), columns)


def loop_root(model: Model, predecessor: int, successor: int) -> int:
    """Return the last body that carries both ends of a loop joint; `WORLD` for the base."""
    return model.tree.loop_root(predecessor, successor)


def _from_root(model: Model, root: int, body: int, Xup: Sequence[Transform]) -> Transform:
    """Return the transform from the coordinates of a body's ancestor `root` to its own."""
    X = Transform.identity()
    for i in model.support(body)[len(model.support(root)) :]:
        X = Xup[i].compose(X)
    return X
