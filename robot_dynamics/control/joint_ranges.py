# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Position limits of all joints of the arms: drives, passive joints and loop joints."""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.position_limits import PositionLimits
from robot_dynamics.dynamics.scaling import coordinate_names
from robot_dynamics.manipulation.system import GraspSystem


class JointRanges:
    """Ranges of the joints of arms, n tree joints and then the bounded coordinates of loop joints.

    Attributes:
        names: Their names (m,).
        units: Their units (m,), "rad" or "m".
        lower: Lowest positions (m,), a margin above the limits.
        upper: Highest positions (m,), a margin below the limits.

    Args:
        system: Arms and object.
        margin: The margin [rad or m].
    """

    def __init__(self, system: GraspSystem, margin: float) -> None:
        self._limits, self._q = PositionLimits(system.model), system.every_q
        own, loops = system.every_v, self._limits.of_loops
        names, turning = coordinate_names(system.model), system.model.turning_freedoms
        self.names = (*(names[i] for i in own), *(one.name for one in loops))
        self.units = (*("rad" if turning[i] else "m" for i in own), *(one.unit for one in loops))
        lower, upper = [one.lower for one in loops], [one.upper for one in loops]
        self.lower: Array = np.concatenate([self._limits.lower[own], lower]) + margin
        self.upper: Array = np.concatenate([self._limits.upper[own], upper]) - margin

    def values(self, at: Array) -> Array:
        """Return the positions (..., m) of the joints at positions (..., nq) of the model."""
        return np.concatenate([at[..., self._q], self._limits.loop_values(at)], axis=-1)
