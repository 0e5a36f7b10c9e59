# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reference of an object that touches surfaces: its path, forces on surfaces, internal forces.

The path is planned without surfaces; in the normal direction of a touched surface control follows
the force instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.control.reference import (
    FORCE,
    TIME_LAWS,
    Reference,
    plan_reference,
)
from robot_dynamics.control.settings import ReferenceSettings
from robot_dynamics.control.touch_settings import TouchSettings
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.wording import counted

# Time in which the force fades before a surface is left [s]. A remaining force would push the
# object on when the surface no longer supports it, also sideways, because the inertia of the arms
# differs between directions, and sideways motion in a hole is not controlled.
_UNLOAD_S = 0.1


class TouchPlan:
    """Touched surfaces and the forces on them, over time.

    Before a surface is left its normal and tangential forces fade.

    Args:
        touches: Planned touches.
        rows: Slice of each surface's forces in a vector of all (C,), by name. The stated force is
            the first of them; the others are zero.
        law: Time law of changes; see `TIME_LAWS`.

    Raises:
        UnknownNameError: If there is no surface of a name.
        ArgumentError: If a surface is touched again before it is left, or cannot exert a stated
            force.
    """

    def __init__(
        self,
        touches: Sequence[TouchSettings],
        rows: Mapping[str, slice],
        law: str = "quintic",
    ) -> None:
        for touch in touches:
            if touch.surface not in rows:
                raise UnknownNameError("surface", touch.surface, rows, "reference.touches")
        for name in rows:
            of_one = sorted((t for t in touches if t.surface == name), key=lambda t: t.from_s)
            for one, next_one in pairwise(of_one):
                if next_one.from_s < one.until_s:
                    raise ArgumentError(
                        f"surface {name!r} is touched from {next_one.from_s:g} s on, before it is "
                        f"left at {one.until_s:g} s; expected one after the other."
                    )
            forces = min(rows[name].stop - rows[name].start, 3)
            for change in (change for one in of_one for change in one.changes):
                if any(change.along_n[forces - 1 :]):
                    raise ArgumentError(
                        f"surface {name!r} is to be pushed with {list(change.along_n)} N along "
                        f"it, but bears {counted(forces, 'force')}; expected 0 for the others."
                    )
        self._touches, self._rows = tuple(touches), dict(rows)
        self._law = TIME_LAWS[law]
        self.size = max((at.stop for at in rows.values()), default=0)

    def at(self, times: ArrayLike) -> tuple[Array, Array]:
        """Return forces (N, C), and 1 for surfaces that must be touched, else 0 (N, C)."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        forces, wanted = np.zeros((len(t), self.size)), np.zeros((len(t), self.size))
        for touch in self._touches:
            inside = (t >= touch.from_s) & (t < touch.until_s)
            value = np.array([touch.force_n, 0.0, 0.0])
            force = np.tile(value, (len(t), 1))
            for change in touch.changes:
                u = np.clip((t - change.time_s) / change.duration_s, 0.0, 1.0)
                after = np.array([change.force_n, *change.along_n])
                force += np.outer(self._law(u), after - value)
                value = after
            leaving = np.clip((t - touch.until_s) / _unloading(touch) + 1.0, 0.0, 1.0)
            force *= 1.0 - self._law(leaving)[:, None]
            at = self._rows[touch.surface]
            stated = min(at.stop - at.start, 3)
            wanted[inside, at] = 1.0
            forces[inside, at.start : at.start + stated] = force[inside, :stated]
        return forces, wanted

    def changes(self, end: float) -> list[tuple[float, float]]:
        """Return from when to when forces change or surfaces are touched or left, up to an end."""
        found = []
        for touch in self._touches:
            found += [(touch.from_s, touch.from_s)]
            found += [(touch.until_s - _unloading(touch), touch.until_s)]
            found += [(c.time_s, c.time_s + c.duration_s) for c in touch.changes]
        return [(a, min(b, end)) for a, b in sorted(found) if a < end]


def _unloading(touch: TouchSettings) -> float:
    """Return the time in which the force fades before a surface is left [s]."""
    return min(_UNLOAD_S, touch.until_s - touch.from_s)


class HybridReference:
    """Pose, motion, forces on surfaces and internal force of the object over time.

    Args:
        motion: Pose, motion and internal force.
        touches: Forces on surfaces.

    Attributes:
        motion: Pose, motion and internal force.
        touches: Forces on surfaces.
        duration: Time at which everything has come to rest [s].
        start: Pose x y z qx qy qz qw at the beginning (7,).
    """

    def __init__(self, motion: Reference, touches: TouchPlan) -> None:
        self.motion, self.touches = motion, touches
        self.duration, self.start = motion.duration, motion.start

    def rows(self, times: ArrayLike) -> Array:
        """Return the reference at some times (N,) [s].

        Returns:
            Rows (N, 19 + 2 C + m): those of `Reference.rows` without its force | forces on the
                surfaces | 1 for surfaces that must be touched, else 0 | internal force.
        """
        t = np.atleast_1d(np.asarray(times, dtype=float))
        motion = self.motion.rows(t)
        forces, wanted = self.touches.at(t)
        return np.hstack([motion[:, : FORCE.start], forces, wanted, motion[:, FORCE]])

    def row(self, time: float) -> Array:
        """Return the reference at one time (19 + 2 C + m,)."""
        return np.asarray(self.rows([time])[0])

    def settled_intervals(self, settle_s: float) -> list[tuple[float, float]]:
        """Return when pose and forces have been at rest for at least `settle_s`.

        See `Reference.settled_intervals`.
        """
        intervals = []
        changes = self.touches.changes(self.duration)
        for begin, end in self.motion.settled_intervals(settle_s):
            for a, b in changes:
                if a <= begin < b + settle_s:
                    begin = b + settle_s
                elif begin < a < end:
                    intervals.append((begin, a))
                    begin = b + settle_s
            if begin <= end:
                intervals.append((begin, end))
        return intervals


def plan_hybrid_reference(
    settings: ReferenceSettings,
    start: ArrayLike,
    internal_forces: Sequence[str],
    surfaces: Mapping[str, slice],
    *,
    held_by_squeeze: bool = False,
) -> HybridReference:
    """Return the reference that settings describe.

    Args:
        settings: Path, internal force and touches. A squeeze sets every internal force whose name
            begins with "squeeze"; `wrench` gives all of them, in their order.
        start: Pose x y z qx qy qz qw of the object at the beginning (7,).
        internal_forces: Names of the internal forces (m,).
        surfaces: Slice of each surface's forces, by name.
        held_by_squeeze: Whether the object would fall without internal force: a stated force at
            time 0 then acts from the start.

    Raises:
        ArgumentError: If changes or touches are out of order, or have the wrong number of
            components.
        UnknownNameError: If there is no surface of a name.
    """
    squeezes = np.array([name.startswith("squeeze") for name in internal_forces], dtype=float)
    motion = plan_reference(settings, start, squeeze=squeezes, held_by_squeeze=held_by_squeeze)
    return HybridReference(motion, TouchPlan(settings.touches, surfaces, settings.time_law))
