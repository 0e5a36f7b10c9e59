# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joint without freedom."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.model.joints.base import JointType, forces
from robot_dynamics.model.joints.displacement import origin, turning
from robot_dynamics.spatial import Scalar, Transform


class Fixed(JointType):
    """No freedom. As a tree joint it is merged away; as a loop joint it is a weld, or a grasp."""

    name, nq, nv = "fixed", 0, 0
    motion_subspace = ()
    constraint_subspace = forces(1, 2, 3, 4, 5, 6)

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return the identity."""
        return Transform.identity()

    def residual(self, X: Transform) -> list[Scalar]:
        """Return the displacement of the successor from its place."""
        return [*turning(X), *origin(X)]
