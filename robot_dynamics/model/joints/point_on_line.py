# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A point that stays on a line: a sphere in a cylinder."""

from __future__ import annotations

from robot_dynamics.model.joints.base import ConstraintRow, LoopOnly
from robot_dynamics.model.joints.displacement import predecessor_axis
from robot_dynamics.spatial import Force, Motion, Scalar, Transform, Vector3


class PointOnLine(LoopOnly):
    """The successor's origin stays on the z axis of the predecessor: two constraints (8.10)."""

    name = "point_on_line"

    def constraints(self, X: Transform) -> tuple[Force, ...]:
        """Return forces along x and y of the predecessor."""
        x, y, _ = X.E.columns()
        return Force(Vector3.zero(), x), Force(Vector3.zero(), y)

    def constraint_rates(self, X: Transform, vJ: Motion) -> tuple[Force, ...]:
        """Return the rates: the directions are fixed in the predecessor."""
        return tuple(
            Force(Vector3.zero(), predecessor_axis(X, axis).cross(vJ.angular)) for axis in (0, 1)
        )

    @property
    def rows(self) -> tuple[ConstraintRow, ...]:
        """Return the two directions normal to the line."""
        return ConstraintRow("x"), ConstraintRow("y")

    def residual(self, X: Transform) -> list[Scalar]:
        """Return the distance from the line, exact."""
        return [X.r.x, X.r.y]
