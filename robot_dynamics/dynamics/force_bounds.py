# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Linear bounds on the efforts of drives and on constraint forces, each with its name.

They are rows over x = [u; lambda]: efforts first, then the multipliers of all constraints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.actuation import Drives
from robot_dynamics.dynamics.rank import ConstraintRank
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.model import Model

#: A largest absolute value, or the lowest and the highest value.
Range = float | tuple[float, float]

# Sides of the pyramid within a friction cone: it holds 97 percent of the cone's directions.
_SIDES = 16


@dataclass(frozen=True)
class ForceBounds:
    """Bounds `lower <= rows x <= upper` on efforts and multipliers x = [u; lambda].

    Attributes:
        names: Bounded quantity of each row, in words (m,).
        rows: (m, p + n^c).
        lower: (m,), or -inf [N m or N].
        upper: (m,), or inf.
        scales: Scales that convert rows to forces [N] (m,): the length for torques and moments,
            else 1.
    """

    names: tuple[str, ...]
    rows: Array
    lower: Array
    upper: Array
    scales: Array

    def excess(self, x: Array) -> Array:
        """Return the excess of each row over its bounds (m,) [N m or N]; negative within."""
        values = self.rows @ x
        return np.asarray(np.maximum(self.lower - values, values - self.upper))

    def held(self, x: Array, margin: float) -> tuple[str, ...]:
        """Return the names of the bounds that x (p + n^c,) is at, to within a margin [N]."""
        at = self.excess(x) >= -margin * self.scales
        return tuple(
            dict.fromkeys(name for name, is_at in zip(self.names, at, strict=True) if is_at)
        )


class BoundsBuilder:
    """Collects bounds.

    Args:
        model: The mechanism.
        drives: Its drives.
        ranked: Its constraints.
    """

    def __init__(self, model: Model, drives: Drives, ranked: ConstraintRank) -> None:
        self._model, self._drives, self._constraints = model, drives, ranked
        self._rows: list[tuple[str, Array, float, float, float]] = []

    def done(self) -> ForceBounds:
        """Return all bounds."""
        size = len(self._drives.names) + len(self._constraints.names)
        names, rows, lower, upper, scales = (
            zip(*self._rows, strict=True) if self._rows else [()] * 5
        )
        return ForceBounds(
            tuple(names),
            np.array(rows, dtype=float).reshape(-1, size),
            np.array(lower, dtype=float),
            np.array(upper, dtype=float),
            np.array(scales, dtype=float),
        )

    def limit_efforts(self, limits: Mapping[str, Range]) -> None:
        """Bound efforts by the limits of the model, or by given ones instead.

        Raises:
            UnknownNameError: If a name is not a drive.
            ArgumentError: If a limit is not a range.
        """
        require_known("drive", limits, self._drives.names, self._model.name)
        for i, name in enumerate(self._drives.names):
            low, high = _range(
                f"limit of {name!r}", limits.get(name, float(self._drives.limits[i]))
            )
            self._add(f"the effort of {name!r}", {i: 1.0}, low, high, self._drives.scales[i])

    def push_only(self) -> None:
        """Bound unilateral loop joints to push: their normal multipliers are not negative."""
        for j in np.flatnonzero(self._model.unilateral):
            name = self._constraints.names[j]
            self._add_multipliers(f"the push of {name!r}", {int(j): 1.0}, 0.0, np.inf)

    def bound_forces(self, forces: Mapping[str, Range]) -> None:
        """Bound multipliers of constraints by their names, as "loop.direction".

        Raises:
            UnknownNameError: If a name is not a constraint.
            ArgumentError: If a bound is not a range.
        """
        require_known("constraint", forces, self._constraints.names, self._model.name)
        for name, values in forces.items():
            low, high = _range(f"bound of {name!r}", values)
            j = self._constraints.names.index(name)
            self._add_multipliers(f"the force of {name!r}", {j: 1.0}, low, high)

    def keep_in_friction_cones(self, friction: Mapping[str, float]) -> None:
        """Keep the forces of loop joints in a pyramid within the friction cone about their z axis.

        Args:
            friction: Coefficients of friction by loop joint; the joint must block x, y and z.

        Raises:
            UnknownNameError: If a name is not a loop joint.
            RobotDynamicsError: If a joint does not block x, y and z.
            ArgumentError: If a coefficient is negative.
        """
        require_known(
            "loop joint", friction, [lo.name for lo in self._model.loops], self._model.name
        )
        for name, coefficient in friction.items():
            if not 0.0 <= coefficient < np.inf:
                raise ArgumentError(
                    f"friction of {name!r} is {coefficient:g}, expected 0 or more."
                )
            known = self._constraints.names
            wanted = [f"{name}.{direction}" for direction in "xyz"]
            if not all(row in known for row in wanted):
                raise RobotDynamicsError(
                    f"{self._model.name}: loop joint {name!r} has no friction cone; expected one "
                    "that blocks x, y and z."
                )
            x, y, z = (known.index(row) for row in wanted)
            reach = coefficient * np.cos(np.pi / _SIDES)
            for angle in 2.0 * np.pi * np.arange(_SIDES) / _SIDES:
                row = {x: np.cos(angle), y: np.sin(angle), z: -reach}
                self._add_multipliers(f"the friction of {name!r}", row, -np.inf, 0.0)

    def _add_multipliers(
        self, name: str, entries: Mapping[int, float], lower: float, upper: float
    ) -> None:
        scale = max(self._constraints.row_scales[j] for j in entries)
        start = len(self._drives.names)
        self._add(name, {start + j: v for j, v in entries.items()}, lower, upper, scale)

    def _add(
        self, name: str, entries: Mapping[int, float], lower: float, upper: float, scale: float
    ) -> None:
        if lower == -np.inf and upper == np.inf:
            return
        row = np.zeros(len(self._drives.names) + len(self._constraints.names))
        row[list(entries)] = list(entries.values())
        self._rows.append((name, row, lower, upper, scale))


def _range(what: str, values: Range) -> tuple[float, float]:
    pair = (-abs(values), abs(values)) if np.ndim(values) == 0 else values  # type: ignore[arg-type]
    low_high = np.asarray(pair, dtype=float)
    if low_high.shape != (2,) or not low_high[0] <= low_high[1]:
        raise ArgumentError(
            f"{what} is {values}, expected a largest value, or the lowest and the highest."
        )
    return float(low_high[0]), float(low_high[1])


def require_known(kind: str, names: Iterable[str], valid: Iterable[str], place: str) -> None:
    """Raise `UnknownNameError` if one of the names is not among the valid ones."""
    known = tuple(valid)
    for name in names:
        if name not in known:
            raise UnknownNameError(kind, name, known, place)
