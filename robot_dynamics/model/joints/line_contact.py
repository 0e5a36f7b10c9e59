# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A straight edge in contact that does not slip."""

from __future__ import annotations

from robot_dynamics.model.joints.base import LoopOnly, forces
from robot_dynamics.model.joints.displacement import origin
from robot_dynamics.spatial import Scalar, Transform


class LineContact(LoopOnly):
    """The x axes of both frames coincide; the only freedom is rolling about them.

    The contact's normal is z of the successor, which matters for contacts that only push.
    """

    name = "line"
    constraint_subspace = forces(2, 3, 4, 5, 6)

    def residual(self, X: Transform) -> list[Scalar]:
        """Return d2, d3 of a joint that may turn about x, and d4, d5, d6."""
        _, b, c = X.E.rows
        return [c[0], -b[0], *origin(X)]  # X31, -X21
