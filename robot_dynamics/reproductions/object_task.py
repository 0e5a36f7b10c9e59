# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint motion for a desired motion of the object, with a secondary task in the null space.

The object's motion has priority: both parts' velocities, in the free directions of the object's
joint. The self-motion of redundant arms serves a secondary task as closely as possible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.reproductions.reduced_order import ReducedOrderTerms

# Singular values of the task, as a share of the largest, below which its inverse is damped.
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
        """Return z (n - c,) with the desired motion of the object and the nearest joint motion.

        With qd = Sigma z - bias, the parts' velocities G qd are the desired ones, and qd is as
        near to `joints` as possible. The same holds for accelerations, with the drift as `bias`,
        and for velocities and small steps, with zero bias. Near singularities of an arm the
        inverse is damped, and the object lags.

        Args:
            parts: Desired motion of the centres of mass (2, 6), less the rates of G.
            joints: Desired motion of the joints (n,).
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
