# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Plan of a jointed object: motion of both parts, and the force in the joint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.control.jointed.object_path import ObjectPath
from robot_dynamics.control.reference import POSE, HasRows, plan_reference
from robot_dynamics.control.settings import ReferenceSettings
from robot_dynamics.control.settled import common, settled_until
from robot_dynamics.manipulation.jointed_object import JointedObjectSystem


class FoldPlan:
    """A plan of the first part's motion, the fold, and the force in the joint.

    Args:
        system: Arms and object.
        poses: Of the parts' links at the start (2, 4, 4).
        settings: Motion, fold and force.

    Raises:
        ArgumentError: If the object's joint does not allow the fold, or the force has another
            number of components.

    Attributes:
        path: The motion of both parts.
        duration: Time at which everything has come to rest [s].
        second: The motion of the second part's link.
        start: Poses x y z qx qy qz qw of both links at the start (2, 7).
    """

    def __init__(
        self, system: JointedObjectSystem, poses: Array, settings: ReferenceSettings
    ) -> None:
        moves = replace(settings, force=(), fold=())
        self.path = ObjectPath(system, poses, moves, replace(moves, segments=settings.fold))
        first, self._fold = self.path.references
        # The same motion, with the force behind it.
        self._first = plan_reference(settings, first.start, squeeze=np.zeros(system.constraints))
        self.second = SecondPart(self.path, self)
        self.duration = max(self._first.duration, self._fold.duration)
        self.start = np.stack([one.rows([0.0])[0, POSE] for one in (self, self.second)])

    def rows(self, times: ArrayLike) -> Array:
        """Return the first part's rows with the force (N, 19 + c); see `Reference.rows`."""
        return self._first.rows(times)

    def settled_intervals(self, settle_s: float) -> list[tuple[float, float]]:
        """Return from when to when parts and force have been at rest for `settle_s` [s]."""
        parts = [settled_until(one, settle_s, self.duration) for one in (self._first, self._fold)]
        return common(*parts)


class SecondPart:
    """The motion of the second part's link: the first part's, and the fold as planned.

    Attributes:
        duration: Time at which the fold has come to rest [s].

    Args:
        path: The motion of both parts.
        first: Motion of the first part's link.
        begin: The fold's time when that begins [s].
        fold: Rows of the fold; as planned by default.
        end: When these have come to rest [s].
    """

    def __init__(
        self,
        path: ObjectPath,
        first: HasRows,
        begin: float = 0.0,
        fold: HasRows | None = None,
        end: float | None = None,
    ) -> None:
        self._path, self._first, self._begin = path, first, begin
        self._fold = path.references[1] if fold is None else fold
        self.duration = max((path.references[1].duration if end is None else end) - begin, 0.0)

    def rows(self, times: ArrayLike) -> Array:
        """Return rows (N, 19) at times (N,)."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        fold = self._fold.rows(t + self._begin)
        return self._path.second_rows(self._first.rows(t), fold)
