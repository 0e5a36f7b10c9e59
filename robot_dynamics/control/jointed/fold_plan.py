# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a jointed object is to do, and the force in its joint, as a plan that a law can follow."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.halt import Halt
from robot_dynamics.control.jointed.object_path import ObjectPath
from robot_dynamics.control.reference import POSE, looked_up, plan_reference
from robot_dynamics.control.settings import ReferenceSettings
from robot_dynamics.control.settled import common, settled_until
from robot_dynamics.manipulation.jointed_object import JointedObjectSystem, JointSpaceTerms

Array = NDArray[np.float64]


class FoldRows(NamedTuple):
    """Reference rows of both parts' links, one for every control period.

    Attributes:
        first: Of the first part, with the force in the joint (N, 19 + c).
        second: Of the second part (N, 19).
    """

    first: Array
    second: Array


class FoldPlan:
    """A plan of the first part's motion, the fold, and the force in the joint.

    Args:
        system: Arms and object.
        terms: At the start.
        settings: Motion, fold and force.

    Raises:
        ArgumentError: If the object's joint does not allow the fold, or the force has another
            number of components.

    Attributes:
        path: The motion of both parts.
        duration: When everything has come to rest [s].
        start: Poses x y z qx qy qz qw of both links at the start (2, 7).
    """

    def __init__(
        self, system: JointedObjectSystem, terms: JointSpaceTerms, settings: ReferenceSettings
    ) -> None:
        moves = replace(settings, force=(), fold=())
        self.path = ObjectPath(system, terms, moves, replace(moves, segments=settings.fold))
        first, self._fold = self.path.references
        # The same motion, with the force behind it.
        self._first = plan_reference(settings, first.start, squeeze=np.zeros(system.constraints))
        self._second = SecondPart(self.path)
        self.duration = max(self._first.duration, self._fold.duration)
        self.start = np.stack([one.rows([0.0])[0, POSE] for one in (self._first, self._second)])

    def rows(self, times: ArrayLike) -> Array:
        """Return the first part's rows with the force (N, 19 + c); see `Reference.rows`."""
        return self._first.rows(times)

    def second_rows(self, times: ArrayLike) -> Array:
        """Return the second part's rows (N, 19)."""
        return self._second.rows(times)

    def settled_intervals(self, settle_s: float) -> list[tuple[float, float]]:
        """Return from when to when parts and force have been at rest for `settle_s` [s]."""
        parts = [settled_until(one, settle_s, self.duration) for one in (self._first, self._fold)]
        return common(*parts)

    def at(self, times: NDArray[np.floating], ahead: float) -> FoldRows:
        """Return where to be at times (N,), and what to do `ahead` later [s]."""
        return FoldRows(*(looked_up(one, times, ahead) for one in (self._first, self._second)))

    def halted(self, time: float, period: float, ahead: float) -> FoldRows:
        """Return rows from a time on that come to rest on the path, one a period [s]."""
        halts = [Halt(one, time) for one in (self._first, self._second)]
        count = int(np.ceil(halts[0].duration / period)) + 1
        times = time + np.arange(count) * period
        return FoldRows(*(looked_up(halt, times, ahead) for halt in halts))


class SecondPart:
    """The motion of the second part's link.

    Args:
        path: The motion of both parts.
    """

    def __init__(self, path: ObjectPath) -> None:
        self._path = path

    def rows(self, times: ArrayLike) -> Array:
        """Return rows (N, 19) at times (N,)."""
        return self._path.second_rows(times)
