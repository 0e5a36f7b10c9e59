# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint limits as bounds on positions, for joints of any number of freedoms.

A limit belongs to a freedom, which is a coordinate of the velocity. The position it bounds is the
joint variable of the same place where the two correspond: an angle, a slide, the x of a planar
joint. Joints with a quaternion have their origin's position in predecessor coordinates, and the
components of the rotation vector from the joint's zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.model import Model

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
        pairs = [*zip(model.q_slices, model.v_slices, strict=True)]
        plain = [(q, v) for q, v in pairs if q.stop - q.start == v.stop - v.start]
        self._turned = [(q, v) for q, v in pairs if q.stop - q.start != v.stop - v.start]
        # A quaternion is converted to a rotation vector only if that has bounds, because it takes
        # time.
        self._limited = [(q, v) for q, v in self._turned if self._bounded[v].any()]
        self._plain_q, self._plain_v = (
            np.array([i for at in each for i in range(at.start, at.stop)], dtype=np.intp)
            for each in (zip(*plain, strict=True) if plain else ((), ()))
        )

    def values(self, q: Array) -> Array:
        """Return the coordinates (nv,) that may be bounded, of positions (nq,)."""
        return self._values(q, self._turned)

    def _values(self, q: Array, turned: Sequence[tuple[slice, slice]]) -> Array:
        """Return the coordinates (nv,), zero for other joints with a quaternion."""
        result = np.zeros(self.model.nv)
        result[self._plain_v] = q[self._plain_q]
        for at_q, at_v in turned:
            part = q[at_q]
            turn = Rotation.from_quat(part[-4:]).as_rotvec()
            result[at_v] = np.concatenate([turn, part[:-4]])
        return result

    def clipped(self, q: Array, free: NDArray[np.bool_]) -> Array:
        """Return positions with the coordinates that are free moved to their nearest bounds."""
        result = q.copy()
        if not np.any(self._bounded & free):
            return result
        values = self._values(q, self._limited)
        inside = np.where(free, np.clip(values, self.lower, self.upper), values)
        result[self._plain_q] = inside[self._plain_v]
        for at_q, at_v in self._limited:
            if np.array_equal(inside[at_v], values[at_v]):
                continue  # a quaternion would only lose digits
            part = inside[at_v]
            result[at_q] = np.concatenate([part[3:], Rotation.from_rotvec(part[:3]).as_quat()])
        return result

    def barriers(self, q: Array, step: Array) -> Array:
        """Return rows (m, nv), one for each bound reached that a step (nv,) would cross.

        A row is the rate of the coordinate; steps orthogonal to it run along the bound.
        """
        values = self._values(q, self._limited)
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
