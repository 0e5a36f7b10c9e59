# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the object is to do along surfaces, how it is to press on them, and the force inside it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.hybrid.profile import Profile
from robot_dynamics.control.reference import FORCE, Reference
from robot_dynamics.errors import ArgumentError

Array = NDArray[np.float64]


class HybridPlan(Protocol):
    """What a hybrid controller follows."""

    @property
    def duration(self) -> float:
        """When everything has come to rest [s]."""

    @property
    def start(self) -> Array:
        """Pose of the object at the beginning, x y z qx qy qz qw (7,)."""

    def rows(self, times: ArrayLike) -> Array:
        """Return what is to be done at times (N,) [s]; see `HybridReference.rows`."""

    def row(self, time: float) -> Array:
        """Return one such row."""

    def settled_intervals(self, settle_s: float) -> list[tuple[float, float]]:
        """Return from when to when it has been at rest for `settle_s` [s]."""


class HybridReference:
    """A path of the object with forces on surfaces and an internal force.

    The path says where the object would go if nothing were in its way: along the normal of a
    surface that is touched it is not followed, and the force is controlled instead.

    Args:
        path: The motion of the object; its internal force is not looked at.
        internal: The internal force (m,), in the coordinates of the controller's distribution.
        contact: The forces on the surfaces (C,), positive where the object presses.
        wanted: 1 for surfaces that are to be touched, 0 for those that are to be left (C,); all
            surfaces all the time by default.

    Attributes:
        duration: When everything has come to rest [s].
        start: Pose x y z qx qy qz qw at the beginning (7,).

    Raises:
        ArgumentError: If forces and surfaces differ in number.
    """

    def __init__(
        self,
        path: Reference,
        internal: Profile,
        contact: Profile | None = None,
        wanted: Profile | None = None,
    ) -> None:
        contact = contact or Profile(0)
        wanted = wanted or Profile(contact.size, begin=np.ones(contact.size))
        if wanted.size != contact.size:
            raise ArgumentError(
                f"{contact.size} forces on surfaces and {wanted.size} surfaces to be touched, "
                "expected as many."
            )
        self._path, self._profiles = path, (contact, wanted, internal)
        self.start = path.start
        self.duration = max(path.duration, *(profile.duration for profile in self._profiles))

    @property
    def surfaces(self) -> int:
        """Number of surfaces C."""
        return self._profiles[0].size

    @property
    def internal_size(self) -> int:
        """Number of internal forces m."""
        return self._profiles[2].size

    def rows(self, times: ArrayLike) -> Array:
        """Return what is to be done at some times.

        Args:
            times: Times since the start of the reference (N,) [s].

        Returns:
            Rows (N, 19 + 2 C + m): pose x y z qx qy qz qw of the object's frame in the world,
            twist and acceleration of its origin in world axes, angular first; forces on the
            surfaces; 1 for those to be touched; internal force.
        """
        motion = self._path.rows(times)[:, : FORCE.start]
        contact, wanted, internal = (profile.at(times) for profile in self._profiles)
        return np.hstack([motion, contact, np.round(wanted), internal])

    def row(self, time: float) -> Array:
        """Return what is to be done at one time (19 + 2 C + m,)."""
        return np.asarray(self.rows([time])[0])

    def settled_intervals(self, settle_s: float) -> list[tuple[float, float]]:
        """Return when path and forces have been at rest for at least `settle_s` [s]."""
        busy = [pair for profile in self._profiles for pair in profile.changing()]
        intervals = [
            (begin - settle_s, end) for begin, end in self._path.settled_intervals(settle_s)
        ]
        for begin, end in sorted(busy):
            intervals = [
                rest
                for a, b in intervals
                for rest in ((a, min(b, begin)), (max(a, end), b))
                if rest[0] <= rest[1] and (rest != (a, b) or end <= a or b <= begin)
            ]
        return [(a + settle_s, b) for a, b in sorted(set(intervals)) if a + settle_s <= b]
