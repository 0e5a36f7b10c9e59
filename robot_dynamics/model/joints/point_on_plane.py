# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A point that stays on a plane, without friction."""

from __future__ import annotations

from robot_dynamics.model.joints.base import ConstraintRow, LoopOnly
from robot_dynamics.model.joints.displacement import predecessor_axis
from robot_dynamics.spatial import Force, Motion, Scalar, Transform, Vector3


class PointOnPlane(LoopOnly):
    """The successor's origin stays on the plane z = 0 of the predecessor: one constraint."""

    name = "point_on_plane"

    def constraints(self, X: Transform) -> tuple[Force, ...]:
        """Return a force along the plane's normal."""
        return (Force(Vector3.zero(), predecessor_axis(X, 2)),)

    def constraint_rates(self, X: Transform, vJ: Motion) -> tuple[Force, ...]:
        """Return the rate: the normal is fixed in the predecessor."""
        return (Force(Vector3.zero(), predecessor_axis(X, 2).cross(vJ.angular)),)

    @property
    def rows(self) -> tuple[ConstraintRow, ...]:
        """Return the normal direction."""
        return (ConstraintRow("z"),)

    def residual(self, X: Transform) -> list[Scalar]:
        """Return the height over the plane, exact."""
        return [X.r.z]
