# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pad of a soft finger: a flat elastic rectangle whose moment grows with its tilt.

A foundation of springs (Winkler's) that is pressed by a force f and tilted by an angle t about one
of its axes turns back with a moment. With the half length b across that axis and the stiffness k
of the whole pad, s = k b t / f is the tilt over the tilt at which an edge lifts off, and

    M = f b s / 3                        while the whole pad touches, s <= 1,
    M = f b (1 - 2 / (3 sqrt(s)))        beyond, a triangle of pressure at the other edge.

It never exceeds f b, with all of the force at the edge. Both axes are treated separately.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robot_dynamics.errors import ArgumentError
from robot_dynamics.scalar.functions import absolute, maximum, sqrt
from robot_dynamics.spatial import Scalar

# The material's damping over its stiffness [s]: springs and dampers side by side, so that the tilt
# counts with its rate.
RELAXATION_S = 0.002
_TINY = 1e-12  # force that is none [N]


@dataclass(frozen=True)
class Pad:
    """The pad of a soft finger, about the origin of its contact's frame.

    Attributes:
        size: Half lengths along x and y of the contact's frame [m].
        stiffness: Of the whole pad along its normal, for its moments alone [N/m].
    """

    size: tuple[float, float]
    stiffness: float = 1e5

    def __post_init__(self) -> None:
        if not (min(self.size) > 0.0 and self.stiffness > 0.0):
            raise ArgumentError(
                f"a pad of half lengths {self.size} m and stiffness {self.stiffness:g} N/m, "
                "expected positive numbers."
            )

    def moments(self, axis: Any, rate: Any, force: Scalar) -> list[Scalar]:
        """Return the moments (2,) about x and y of the contact's frame on the object [N m].

        Args:
            axis: The finger's z axis in the contact's frame (3,).
            rate: Angular velocity of the finger relative to the object, x and y there (2,)
                [rad/s].
            force: Normal force [N]; zero without contact.
        """
        tilts = (-axis[1], axis[0])  # sines of the tilt about x and y
        return [
            self._moment(tilt + RELAXATION_S * w, half, force)
            for tilt, w, half in zip(tilts, rate, reversed(self.size), strict=True)
        ]

    def _moment(self, tilt: Scalar, half: float, force: Scalar) -> Scalar:
        f = maximum(force, _TINY)
        s = maximum(self.stiffness * half * absolute(tilt) / f, 1.0)
        # Linear in the tilt while the whole pad touches, with a derivative at zero as well.
        return self.stiffness * half * half * tilt * (1.0 - 2.0 / (3.0 * sqrt(s))) / s
