# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the joints have to do for the object to move as asked, and with the freedom left.

The object's motion comes first: both parts' velocities, as far as the object's joint leaves them
free. What redundant arms have left is spent on a second wish, as nearly as it can be met.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.reproductions.reduced_order import ReducedOrderTerms

# Singular values of the task, part of the largest, below which its inverse is damped.
_DAMPED = 0.02


@dataclass(frozen=True)
class ObjectTask:
    """The object's motion at one state.

    Attributes:
        reduced: The reduced model.
        second: The components (f, 6) of the second part's motion that its joint leaves free.
    """

    reduced: ReducedOrderTerms
    second: Array

    @classmethod
    def of(cls, reduced: ReducedOrderTerms) -> ObjectTask:
        """Return the task at a state."""
        return cls(reduced, reduced.joint_space.joint_motions.T)

    def pseudo(self, parts: Array, joints: Array, bias: Array) -> Array:
        """Return z (n - c,) for which the object does as asked and the joints nearly so.

        With qd = Sigma z - bias, the parts' (G qd) are as asked, and qd is as near to `joints` as
        that allows. So it is for accelerations, where `bias` is the drift, and for velocities and
        small steps, where it is nothing. Near singularities of an arm the inverse is damped: the
        object then lags.

        Args:
            parts: What the centres of mass are to do (2, 6), rates of G already taken away.
            joints: What the joints would rather do (n,).
            bias: (n,).
        """
        reduced = self.reduced
        terms = reduced.joint_space
        rows = np.vstack([terms.G[0], self.second @ terms.G[1]])
        wanted = np.concatenate([parts[0], self.second @ parts[1]]) + rows @ bias
        J = rows @ reduced.Sigma
        U, s, Vh = np.linalg.svd(J, full_matrices=True)
        weak = s < _DAMPED * s[0]
        floor = _DAMPED * s[0]
        inverse = np.where(weak, s / floor**2, 1.0 / np.where(weak, 1.0, s))
        z = Vh[: len(s)].T @ (inverse * (U.T @ wanted))
        left = Vh[len(s) :]  # pseudovelocities that do not move the object
        if len(left):
            own = reduced.Sigma @ left.T
            rest = joints + bias - reduced.Sigma @ z
            z = z + left.T @ np.linalg.lstsq(own, rest, rcond=None)[0]
        return np.asarray(z)
