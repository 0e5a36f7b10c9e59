# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Servo that brings joints to rest under an unknown load."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array


class JointHold:
    """A servo that brings joints to rest where they were, under a load unknown to the model.

    `qdd = -3 w qd - 3 w^2 (q - q_0) - w^3 / 2 integral(q - q_0)`. By Routh's criterion it is
    stable for loads of up to 18 times the inertia by which it is multiplied, and in a sampled loop
    with a bandwidth times delay of 0.05 down to a tenth of it.

    Args:
        count: Number of joints of all arms.
        bandwidth: w [rad/s].
    """

    def __init__(self, count: int, bandwidth: float) -> None:
        self._w, self._integral = np.full(count, bandwidth), np.zeros(count)

    def acceleration(self, own: slice, error: Array, qd: Array) -> Array:
        """Return the acceleration of an arm (n,).

        Args:
            own: Slice of the arm in vectors over the arm joints.
            error: Displacement of its joints from the held positions (n,).
            qd: Their velocities (n,).
        """
        w = self._w[own]
        return np.asarray(-3.0 * w * (qd + w * error) + self.load(own))

    def load(self, own: slice) -> Array:
        """Return the part of the acceleration of an arm (n,) that carries its unknown load."""
        return np.asarray(-0.5 * self._w[own] ** 3 * self._integral[own])

    def soften(self, own: slice, bandwidth: float) -> None:
        """Limit the bandwidth of an arm; its load stays."""
        w = np.minimum(self._w[own], bandwidth)
        self._integral[own] *= (self._w[own] / w) ** 3
        self._w[own] = w

    def integrate(self, own: slice, error: Array, free: NDArray[np.bool_], period: float) -> None:
        """Integrate over a period the joints of an arm whose torque was not limited."""
        self._integral[own] += period * error * free
