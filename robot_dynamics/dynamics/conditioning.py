# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Condition of the inertia matrix: magnification of force errors in accelerations (10.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.scaling import coordinate_names, coordinate_scales, model_length
from robot_dynamics.model import Model


@dataclass(frozen=True)
class Conditioning:
    """The condition of the inertia matrix of a tree at a configuration.

    Attributes:
        number: Condition number of H: largest magnification of a relative error of the joint
            forces in the accelerations. `length` makes rotations and displacements comparable.
        lightest: Motion with the least inertia, which errors affect most: velocities (nv,) by the
            name of the coordinate [rad/s or m/s], scaled to a largest one of 1.
        depth: Number of joints on the longest path to the base. The condition number of a chain of
            equal links is up to about 4 depth^4; a spanning tree of minimum depth reduces it.
        length: Length [m] at which a rotation counts like a displacement.
    """

    number: float
    lightest: dict[str, float]
    depth: int
    length: float

    def __str__(self) -> str:
        moves = sorted(self.lightest.items(), key=lambda item: -abs(item[1]))[:3]
        listed = ", ".join(f"{name} {value:.2g}" for name, value in moves)
        return (
            f"condition number {self.number:.3g} at depth {self.depth} (worst about "
            f"{4 * self.depth**4}); errors show most in {listed}"
        )


def conditioning(model: Model, H: Array, length: float | None = None) -> Conditioning:
    """Return the condition of an inertia matrix.

    Args:
        model: The mechanism.
        H: Its inertia matrix (nv, nv).
        length: See `Conditioning`; by default the length of a typical link.
    """
    length = model_length(model) if length is None else length
    scales = coordinate_scales(model, length)
    values, vectors = np.linalg.eigh(H / np.outer(scales, scales))
    motion = vectors[:, 0] / scales
    motion = motion / motion[np.argmax(np.abs(motion))]
    depth = max((model.tree.depth(i) for i in range(len(model.bodies))), default=0)
    number = float(values[-1] / values[0]) if values[0] > 0.0 else np.inf
    names = coordinate_names(model)
    return Conditioning(number, dict(zip(names, motion.tolist(), strict=True)), depth, length)
