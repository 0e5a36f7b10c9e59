# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether arms can follow a path that comes while control runs, looked at a little at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.closed_path import ClosedPath
from robot_dynamics.control.joint_ranges import JointRanges
from robot_dynamics.control.link_distance import Proximity
from robot_dynamics.control.reference import POSE, Plan
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.control.streamed.trajectory import TrajectoryError
from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.wording import outside

_SPACING_S = 0.05  # between points that are looked at, or more on a long path
_FEWEST, _MOST = 8, 200


class ReachCheck:
    """Moves arms along a plan, and checks reach, limits of joints, and distances of links.

    Torques are not checked: the law scales the task to their limits, and control ends if the scale
    is too small for too long.

    Args:
        system: Arms and object.
        settings: The limits.
        terms: `Robot.constraint_terms` of the system's model.
        proximity: Distances of the links, begun at the start of the run.
        plans: Plan of each body of the object.
        q: Current positions of the arm joints (na,).
        contacts: How each arm holds the object; rigidly by default.
    """

    def __init__(
        self,
        system: GraspSystem,
        settings: SafetySettings,
        terms: Any,
        proximity: Proximity,
        plans: Sequence[Plan],
        q: Array,
        contacts: Sequence[Contact] | None = None,
    ) -> None:
        self._system, self._proximity = system, proximity
        self._times = np.unique(np.concatenate([_times(plan.duration) for plan in plans]))
        self._rows = [plan.rows(self._times) for plan in plans]
        self._path = ClosedPath(system, terms, contacts)
        self._path.at = system.positions(q)
        self._next = 0
        self._ranges = JointRanges(system, settings.position_margin)
        self._speed = system.limits["velocity"] * settings.velocity_fraction

    @property
    def done(self) -> bool:
        """Whether all points have been looked at."""
        return self._next >= len(self._times)

    def advance(self, points: int) -> None:
        """Look at some more points.

        Raises:
            TrajectoryError: If the arms cannot follow, with the time and the joint.
        """
        for _ in range(min(points, len(self._times) - self._next)):
            self._look(self._next)
            self._next += 1

    def _look(self, i: int) -> None:
        path, system = self._path, self._system
        rows = [body[i] for body in self._rows]
        when = f"after {self._times[i]:.2f} s "
        if i and path.nonholonomic:
            path.advance(float(self._times[i] - self._times[i - 1]))
        if not path.close(*rows):
            worst = int(np.argmax(path.gaps().sum(axis=1)))
            raise TrajectoryError(
                f"{when}arm {system.arms[worst].name!r} does not reach the object."
            )
        q, qd = path.at[system.q_index], path.rate[system.v_index]
        ranges, every = self._ranges, self._ranges.values(path.at)
        beyond = ~((every >= ranges.lower) & (every <= ranges.upper))
        if beyond.any():
            j = int(np.argmax(beyond))
            would = outside(every[j], ranges.lower[j], ranges.upper[j], ranges.units[j])
            raise TrajectoryError(f"{when}joint {ranges.names[j]!r} would be at {would}.")
        fast = ~(np.abs(qd) <= self._speed)
        if fast.any():
            j = int(np.argmax(fast))
            unit = system.joint_units[j]
            raise TrajectoryError(
                f"{when}joint {system.joint_names[j]!r} would move at {abs(qd[j]):.4g} {unit}/s, "
                f"expected at most {self._speed[j]:.4g} {unit}/s."
            )
        found = self._proximity.finding(q, rows[0][POSE])
        if found is not None:
            raise TrajectoryError(f"{when}{found.sentence}")


def _times(duration: float) -> Array:
    """Return the times (N,) [s] at which a plan of some duration is looked at."""
    fewest = _FEWEST if duration > 0.0 else 1
    return np.linspace(
        0.0, duration, min(_MOST, max(fewest, int(np.ceil(duration / _SPACING_S)) + 1))
    )
