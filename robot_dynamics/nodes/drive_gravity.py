# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drives that hold their arm up on their own: commands to them leave that torque out.

Everything inside the package, limits and recordings included, means the whole torque of a joint;
what the drives add is taken off at the edge, and put back where commands are heard.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.arm_model import ArmModel
from robot_dynamics.manipulation.system import GraspSystem

Array = NDArray[np.float64]


class DriveGravity:
    """The torque that the drives add to commands.

    Args:
        system: The arms; what they hold is none of the drives' business.
        compensated: Names of the arms whose drives add it.
        positions: Returns the arms' last good positions (na,).
    """

    def __init__(
        self, system: GraspSystem, compensated: Collection[str], positions: Callable[[], Array]
    ) -> None:
        self._slices = {
            arm.name: own for arm, own in zip(system.arms, system.arm_slices, strict=True)
        }
        self._arms = ArmModel(system) if compensated else None
        self._share = np.zeros(len(system.joint_names))  # 1 where a drive adds something, else 0
        for name in compensated:
            self._share[self._slices[name]] = 1.0
        self._positions = positions

    def added(self, q: Array) -> Array:
        """Return what the drives add at positions `q` (na,)."""
        if self._arms is None:
            return np.zeros(len(q))
        return np.asarray(self._share * self._arms.support(q))

    def commanded(self, torque: Array) -> Array:
        """Return the commands (na,) that make joint torques (na,)."""
        return torque if self._arms is None else torque - self.added(self._positions())

    def made(self, command: Array) -> Array:
        """Return the joint torques (na,) that commands (na,) make."""
        return command if self._arms is None else command + self.added(self._positions())

    def made_of(self, arm: str, command: Array) -> Array:
        """Return the joint torques of one arm; a command of another size is left as it is."""
        own = self._slices[arm]
        if self._arms is None or len(command) != own.stop - own.start:
            return command
        return command + self.added(self._positions())[own]
