# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint limits as bounds on positions, for joints of any number of freedoms.

A limit belongs to a freedom, which is a coordinate of the velocity. The position it bounds is the
joint variable of the same place where the two correspond: an angle, a slide, the x of a planar
joint. Joints with a quaternion have their origin's position in predecessor coordinates, and the
components of the rotation vector from the joint's zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics.model import Model

Array = NDArray[np.float64]

_STEP = 1e-7  # of finite differences: bounds have to be kept clear of, not met to the last digit


class PositionLimits:
    """The bounds of a model's coordinates.

    Attributes:
        lower: Lowest value of each coordinate (nv,) [rad or m].
        upper: Highest value of each coordinate (nv,).
    """

    def __init__(self, model: Model, enforced: bool = True) -> None:
        self.model = model
        bounds, none = model.limits(), np.full(model.nv, np.inf)
        self.lower = bounds["lower"] if enforced else -none
        self.upper = bounds["upper"] if enforced else none
        self._bounded = np.isfinite(self.lower) | np.isfinite(self.upper)

    def values(self, q: Array) -> Array:
        """Return the coordinates (nv,) that are bounded, of positions (nq,)."""
        result = np.empty(self.model.nv)
        for at_q, at_v in zip(self.model.q_slices, self.model.v_slices, strict=True):
            part = q[at_q]
            if len(part) == at_v.stop - at_v.start:
                result[at_v] = part
            else:
                turn = Rotation.from_quat(part[-4:]).as_rotvec()
                result[at_v] = np.concatenate([turn, part[:-4]])
        return result

    def clipped(self, q: Array, free: NDArray[np.bool_]) -> Array:
        """Return positions with the coordinates that are free moved to their nearest bounds."""
        result = q.copy()
        if not np.any(self._bounded & free):
            return result
        values = self.values(q)
        inside = np.where(free, np.clip(values, self.lower, self.upper), values)
        for at_q, at_v in zip(self.model.q_slices, self.model.v_slices, strict=True):
            if np.array_equal(inside[at_v], values[at_v]):
                continue  # a quaternion would only lose digits
            part = inside[at_v]
            if len(q[at_q]) != len(part):
                part = np.concatenate([part[3:], Rotation.from_rotvec(part[:3]).as_quat()])
            result[at_q] = part
        return result

    def barriers(self, q: Array, step: Array) -> Array:
        """Return rows (m, nv), one for each bound reached that a step (nv,) would cross.

        A row is the rate of the coordinate; steps orthogonal to it run along the bound.
        """
        values = self.values(q)
        reached = (values <= self.lower) | (values >= self.upper)
        rows = []
        for i in np.flatnonzero(reached & self._bounded):
            row = self._rate(q, values, int(i))
            outwards = -1.0 if values[i] <= self.lower[i] else 1.0
            if outwards * float(row @ step) > 0.0:
                rows.append(row)
        return np.array(rows).reshape(-1, self.model.nv)

    def _rate(self, q: Array, values: Array, index: int) -> Array:
        """Return the derivative (nv,) of a coordinate with respect to steps."""
        model, row = self.model, np.zeros(self.model.nv)
        body = next(i for i, at in enumerate(model.v_slices) if index < at.stop)
        kind, at_q, at_v = (
            model.bodies[body].joint.type,
            model.q_slices[body],
            model.v_slices[body],
        )
        at = index - at_v.start
        for j in range(kind.nv):
            unit = [float(i == j) for i in range(kind.nv)]
            if kind.nq != kind.nv and at < 3:  # of a rotation vector
                moved = q.copy()
                moved[at_q] = kind.integrate(q[at_q].tolist(), [_STEP * u for u in unit])
                row[at_v.start + j] = (self.values(moved)[index] - values[index]) / _STEP
            else:
                rates = kind.position_rate(q[at_q].tolist(), unit)
                row[at_v.start + j] = rates[at if kind.nq == kind.nv else at - 3]
        return row
