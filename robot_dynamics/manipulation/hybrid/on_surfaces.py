# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What surfaces leave of a motion, and the force on them, over any scalars.

The coordinates along the surfaces are complemented automatically: motion is left as it is wanted,
but for the least change, in the metric of the object's inertia, that keeps touched surfaces
touched. A surface that is not touched leaves everything.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.manipulation.hybrid.decoupling_law import ObjectTerms
from robot_dynamics.manipulation.hybrid.grasp_kinematics import Matrix
from robot_dynamics.scalar.linear_algebra import dot, factor, times, transposed_times
from robot_dynamics.spatial import Scalar


class Surfaces:
    """Surfaces at one state.

    Args:
        E_F: Their gradients over the object's twist (C, 6), in the object's axes.
        touched: For each 1 if it is touched, 0 if not (C,).
        held: The object.
    """

    def __init__(self, E_F: Matrix, touched: Sequence[Scalar], held: ObjectTerms) -> None:
        self.touched, self._held = touched, held
        self._E = [[c * value for value in row] for c, row in zip(touched, E_F, strict=True)]
        self._moved = [held.solve(row) for row in self._E]  # I_B^-1 E^T, by its columns
        G = [[dot(self._E[i], self._moved[j]) for j in range(i + 1)] for i in range(len(E_F))]
        for i, c in enumerate(touched):
            G[i][i] = G[i][i] + (1.0 - c)
        self._G = factor(G)

    def along(self, motion: Sequence[Scalar], rate: Sequence[Scalar]) -> list[Scalar]:
        """Return the motion (6,) nearest to one with E_F motion = rate (C,) where touched."""
        if not self._E:
            return list(motion)
        missing = [
            c * r - dot(row, motion) for c, r, row in zip(self.touched, rate, self._E, strict=True)
        ]
        back = transposed_times(self._moved, self._G.solve(missing), 6)
        return [a + b for a, b in zip(motion, back, strict=True)]

    def wrench(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """Return the wrench (6,) by the object on touched surfaces that forces (C,) make."""
        return transposed_times(self._E, forces, 6) if self._E else [0.0] * 6

    def forces(self, wrench: Sequence[Scalar], acceleration: Sequence[Scalar]) -> list[Scalar]:
        """Return the forces (C,) on touched surfaces that a motion under a wrench (6,) tells.

        I_B a + Q_B = F - E_F^T f, taken along E_F I_B^-1, so that only the acceleration normal to
        the surfaces matters. There is none on the others, which may depend on them.

        Args:
            wrench: F, by the arms on the object.
            acceleration: a (6,) of the object.
        """
        if not self._E:
            return []
        held = self._held
        unheld = held.solve([f - b for f, b in zip(wrench, held.bias, strict=True)])
        rest = [a - b for a, b in zip(unheld, acceleration, strict=True)]
        return self._G.solve(times(self._E, rest))
