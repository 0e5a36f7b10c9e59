# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A soft finger's contact."""

from __future__ import annotations

from robot_dynamics.model.joints.base import ConstraintRow, LoopOnly, forces
from robot_dynamics.model.joints.displacement import origin
from robot_dynamics.spatial import Scalar, Transform


class SoftFinger(LoopOnly):
    """A point that does not slip and does not spin about the successor's z, the normal.

    The torsion row constrains a velocity that is not the rate of a position: rolling about the
    other two axes turns the bodies against each other about the normal. It has no position error.
    """

    name = "soft_finger"
    constraint_subspace = forces(3, 4, 5, 6)

    @property
    def rows(self) -> tuple[ConstraintRow, ...]:
        """Return the torsion, of velocity only, and the translations."""
        torsion = ConstraintRow("rz", holonomic=False)
        return torsion, ConstraintRow("x"), ConstraintRow("y"), ConstraintRow("z")

    def residual(self, X: Transform) -> list[Scalar]:
        """Return 0.0 for the torsion, and d4, d5, d6."""
        return [0.0, *origin(X)]
