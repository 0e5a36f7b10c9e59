# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joint without freedom."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.model.joints.base import JointType, forces
from robot_dynamics.model.joints.displacement import turning
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
        """Return the small displacement from where the successor should be to where it is."""
        a, b, c = X.E.rows
        # ½ [X53 - X62, X61 - X43, X42 - X51] of the block -E r x is ½ (tr E - E^T) r.
        linear = (X.r * (a[0] + b[1] + c[2]) - X.E.inverse_times(X.r)) * 0.5
        return [*turning(X), *linear]
