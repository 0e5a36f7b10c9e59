# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Smooth transition of the torque when control changes from force to motion.

On a surface a part of the torque comes from the integral of the force and from its damping, which
have no meaning off the surface. When the surface is left, this part stays in the torque and fades
smoothly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.control.streamed.curve import FADE

_FADE_S = 0.1


class TorqueFade:
    """Takes an offset of the torque away, period by period.

    Args:
        period: Of control [s].
    """

    def __init__(self, period: float) -> None:
        count = max(1, round(_FADE_S / period))
        self._parts = FADE(np.arange(count) / count)
        self.forget()

    def forget(self) -> None:
        """Stop adding torque."""
        self._offset: Array | None = None
        self._next = 0

    def begin(self, offset: Array) -> None:
        """Add an offset (na,) from now on, which fades."""
        self._offset, self._next = offset, 0

    def apply(self, step: HybridStep, effort: Array, at: NDArray[np.int_]) -> None:
        """Add the remainder to a step's torque (na,), within efforts (na,).

        Args:
            step: Changed in place, with its memory of the torque.
            effort: Largest torques.
            at: Index of each torque in the memory (na,).
        """
        if self._offset is None:
            return
        if self._next == len(self._parts):
            self.forget()
            return
        torque = step.torque
        wanted = torque + self._parts[self._next] * self._offset
        self._next += 1
        # Support may exceed its limits: the torque to send then stays.
        step.torque = np.clip(wanted, np.minimum(-effort, torque), np.maximum(effort, torque))
        step.memory[at] = step.torque
