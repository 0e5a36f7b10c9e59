# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A straight edge that stays on a plane, without friction."""

from __future__ import annotations

from robot_dynamics.model.joints.base import ConstraintRow, LoopOnly
from robot_dynamics.model.joints.displacement import predecessor_axis
from robot_dynamics.spatial import Force, Motion, Scalar, Transform, Vector3

_EDGE = Vector3(1.0, 0.0, 0.0)


class EdgeOnPlane(LoopOnly):
    """The successor's x axis stays in the plane z = 0 of the predecessor: two constraints.

    The edge may slide, spin about the plane's normal and roll about itself.
    """

    name = "edge_on_plane"

    def constraints(self, X: Transform) -> tuple[Force, ...]:
        """Return a moment normal to edge and plane normal, and a force along the normal."""
        normal = predecessor_axis(X, 2)
        return Force(normal.cross(_EDGE), Vector3.zero()), Force(Vector3.zero(), normal)

    def constraint_rates(self, X: Transform, vJ: Motion) -> tuple[Force, ...]:
        """Return the rates: the normal is fixed in the predecessor."""
        rate = predecessor_axis(X, 2).cross(vJ.angular)
        return Force(rate.cross(_EDGE), Vector3.zero()), Force(Vector3.zero(), rate)

    @property
    def rows(self) -> tuple[ConstraintRow, ...]:
        """Return the rotation that lifts one end of the edge, and the normal direction."""
        return ConstraintRow("ry"), ConstraintRow("z")

    def residual(self, X: Transform) -> list[Scalar]:
        """Return the sine of the edge's slope and the height of its origin, both exact."""
        return [-X.E.rows[0][2], X.r.z]
