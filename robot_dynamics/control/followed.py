# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The rows that a control law follows, by ticks: of a plan, a halt, and plans that take over.

Only later rows are kept, and the few with which measured forces are compared, so that plans can
follow one another for any time. A plan that takes over is looked up in parts, so that a long one
does not delay a control period.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.control.halt import Halt
from robot_dynamics.control.reference import FORCE, POSE, TWIST, Plan, looked_up
from robot_dynamics.control.rotation_path import conjugate, product, rotation_vector, turn
from robot_dynamics.control.streamed.curve import FADE, Points, hermite, points_of, powers, rows_of
from robot_dynamics.errors import ArgumentError

_AT_ONCE_S = 0.25  # length of such a part


class FollowedRows:
    """Rows of the reference, by ticks.

    A row of an object of several bodies has the columns of the first body, with forces, and then
    the motion (19,) of each other body.

    Args:
        bodies: First plan of each body, the first with the forces.
        columns: Columns of the first body; see `row_columns`.
        period: Control period [s].
        begin: Tick of the plan's time 0; until then its first row is followed.
        delay: Control periods between a measurement and the command's action on it.
        ahead: Time from a measurement to the middle of the action of its command [s].
        blend_s: Time over which one plan takes over from another [s].

    Raises:
        ArgumentError: If the plan's rows have another width than the columns.
    """

    def __init__(
        self,
        bodies: Sequence[Plan],
        columns: Mapping[str, slice],
        period: float,
        *,
        begin: int,
        delay: int,
        ahead: float,
        blend_s: float,
    ) -> None:
        self._at, self._period = columns, period
        self._begin, self._blend_s = begin, blend_s
        self._late, self._ahead = 1 + delay, ahead
        self._check(bodies[0])
        count = self._count_of(_duration(bodies))
        self._original = tuple(bodies), self._first_rows(bodies, count), count
        self.restart()

    @property
    def last(self) -> int:
        """The tick of the last row."""
        return self._begin + self._first + self._count - 1

    @property
    def beginning(self) -> Array:
        """The first row of the first plan."""
        return np.asarray(self._original[1][0])

    def restart(self) -> None:
        """Follow the first plan from its beginning."""
        self._bodies, rows, self._count = self._original
        # Rows are changed where surfaces are left. `_first` is the number of the first row that
        # is kept, `_base` that at which the plan began.
        self._rows, self._first, self._base = rows.copy(), 0, 0
        self._sources: Sequence[Plan] = self._bodies
        self._source_begin = 0.0

    def begin_with(self, bodies: Sequence[Plan]) -> None:
        """Follow another first plan from its beginning; it is looked up in parts.

        Args:
            bodies: Plan of each body, the first with the forces.

        Raises:
            ArgumentError: If its rows have another width than the columns.
        """
        self._check(bodies[0])
        count = self._count_of(_duration(bodies))
        first = self._first_rows(bodies, min(count, self._count_of(_AT_ONCE_S)))
        self._original = tuple(bodies), first, count
        self.restart()

    def row(self, tick: int) -> Array:
        """Return the row of a tick; the last one after all of them."""
        index = tick - self._begin - self._first
        if not 0 <= index < len(self._rows):
            index = self._index(tick)
        return self._rows[index]  # type: ignore[no-any-return]

    def hold(self, tick: int) -> None:
        """Come to rest on the path from a tick on; forces stay as they are then."""
        index = self._index(tick)
        begin = (self._first + index - self._base) * self._period
        self._continue_with([Halt(body, begin) for body in self._bodies], begin, tick)

    def follow(self, bodies: Sequence[Plan], tick: int, *, leave: bool = False) -> None:
        """Follow another plan from a tick on, without a jump.

        Its time 0 is at the tick. Differences from the old plan in pose, velocity, acceleration
        and forces fade over the time of blending, so that the torque does not jump. Surfaces of
        the new plan can be touched at once; others are left when their force has faded.

        Args:
            bodies: Plan of each body, the first with the forces.
            tick: Control periods since the start.
            leave: Whether surfaces that the new plan does not touch are left at once.

        Raises:
            ArgumentError: If its rows have another width than the columns.
        """
        self._check(bodies[0])
        self._continue_with(bodies, 0.0, tick, leave=leave)
        self._bodies, self._base = tuple(bodies), self._first

    def depart(
        self, tick: int, seen: Array, error: Array, rate: Array, *, behind: bool = True
    ) -> Array:
        """Return the row at the object's pose, from which later rows lead smoothly to the path.

        If the path has ended behind the surface, the object comes to rest near its present pose.

        Args:
            tick: Tick at which a surface is left.
            seen: Pose of the object (7,).
            error: Part of its distance to the path that remains an error (6,).
            rate: Velocity relative to the path that is no error (6,).
            behind: Whether the path is behind the surface there.
        """
        index, width = self._index(tick), self._at["internal"].stop
        last = self._rows[index].copy()
        planned = last[POSE].copy()
        turned = rotation_vector(product(planned[3:], conjugate(seen[3:])))
        off = np.concatenate([turned, planned[:3] - seen[:3]]) - error
        angle = float(np.linalg.norm(off[:3]))
        axis = off[:3] / angle if angle > 0.0 else np.array([0.0, 0.0, 1.0])
        last[:3] -= off[3:]
        last[3:7] = product(turn(axis, np.array(-angle)), planned[3:])
        last[TWIST] += rate
        count = self._count_of(self._blend_s)
        self._look_up_to(index + count)
        if index == self._count - 1:
            rest = self._rows[index].copy()
            if behind:
                rest[:3] = last[:3] + 0.5 * self._blend_s * rate[3:]
                rest[3:7] = last[3:7]
            self._rows = np.vstack([self._rows[:index], np.tile(rest, (count + 1, 1))])
            self._count = len(self._rows)
        part = self._rows[index : index + count, :width]
        moved = blended(part, last[:width], self._period, self._blend_s, slice(0, 0))
        self._rows[index : index + count, :width] = moved[: len(part)]
        return np.asarray(self._rows[index])

    def _index(self, tick: int) -> int:
        index = min(max(tick - self._begin - self._first, 0), self._count - 1)
        self._look_up_to(index + 1)
        return index

    def _count_of(self, duration: float) -> int:
        return int(np.ceil(duration / self._period)) + 1

    def _looked_up(self, sources: Sequence[Plan], begin: float, count: int) -> list[Array]:
        """Return rows of each body."""
        times = begin + np.arange(count) * self._period
        return [looked_up(source, times, self._ahead) for source in sources]

    def _first_rows(self, bodies: Sequence[Plan], count: int) -> Array:
        rows = self._looked_up(bodies, 0.0, count)
        return self._completed(rows, rows[0][:0])

    def _completed(self, rows: Sequence[Array], past: Array) -> Array:
        """Return the rows of all bodies, with the forces that measured ones are compared with."""
        return np.hstack([with_compared(rows[0], past, self._at, self._late), *rows[1:]])

    def _look_up_to(self, count: int) -> None:
        """Look up the plan as far as that many rows, or to its end."""
        known = len(self._rows)
        if known >= min(count, self._count):
            return
        more = min(max(count - known, self._count_of(_AT_ONCE_S)), self._count - known)
        begin = self._source_begin + known * self._period
        rows = self._looked_up(self._sources, begin, more)
        past = self._rows[max(0, known - self._late) :]
        self._rows = np.vstack([self._rows, self._completed(rows, past)])

    def _continue_with(
        self, sources: Sequence[Plan], begin: float, tick: int, *, leave: bool = False
    ) -> None:
        """Follow sources from a tick on, smoothly, and forget earlier rows."""
        index = self._index(tick)
        forces = np.r_[self._at["contact"], self._at["internal"]]
        blend = self._count_of(self._blend_s)
        count = max(self._count_of(_duration(sources)), blend + 1)
        first = max(blend + 1, self._count_of(_AT_ONCE_S))
        now, wanted = self._rows[index], self._at["touch"]
        others = now[self._at["compared_internal"].stop :].reshape(-1, FORCE.start)
        rows = [
            blended(new, last, self._period, self._blend_s, forces if last is now else slice(0, 0))
            for new, last in zip(
                self._looked_up(sources, begin, min(count, first)), (now, *others), strict=True
            )
        ]
        if not leave:
            rows[0][:blend, wanted] = np.maximum(rows[0][:blend, wanted], now[wanted])
        past = self._rows[max(0, index - self._late) : index]
        self._rows = self._completed(rows, past)
        self._first = max(tick - self._begin, self._first)  # the last row may have stayed a while
        self._count, self._sources, self._source_begin = count, sources, begin

    def _check(self, plan: Plan) -> None:
        at = self._at
        expected, found = at["internal"].stop, plan.rows(np.zeros(1)).shape[1]
        if found != expected:
            surfaces, internal = (at[n].stop - at[n].start for n in ("contact", "internal"))
            raise ArgumentError(
                f"the reference has rows of {found}, expected {expected}: 19 of motion, 2 for "
                f"each of {surfaces} surface forces, and {internal} internal forces."
            )


def _duration(sources: Sequence[Plan]) -> float:
    return max(source.duration for source in sources)


def with_compared(rows: Array, before: Array, at: Mapping[str, slice], late: int) -> Array:
    """Return rows with the forces to compare with measured ones.

    A measured force is the effect of the desired one some samples before.

    Args:
        rows: Rows of a plan (N, 19 + 2 C + m).
        before: Rows that were followed before them (M, at least as wide); empty at the start.
        at: Columns of a row; see `row_columns`.
        late: Number of these samples.
    """
    width = rows.shape[1]
    past = np.vstack([before[:, :width], rows]) if len(before) else rows
    index = np.maximum(np.arange(len(rows)) + len(past) - len(rows) - late, 0)
    compared = past[index]
    return np.hstack([rows, compared[:, at["contact"]], compared[:, at["internal"]]])


def blended(
    rows: Array, last: Array, period: float, duration: float, forces: slice | NDArray[np.intp]
) -> Array:
    """Return rows of a new plan with a smooth transition from the last row of another one.

    The difference of the plans, as curves of position and quaternion (see
    `control.streamed.curve`), fades by a polynomial of fifth order: pose, velocity and
    acceleration are continuous, and each is the rate of the one before. Forces change by the same
    law.

    Args:
        rows: Rows of the new plan (N, any); if they are too few, the last one is held.
        last: Last followed row of the other plan.
        period: Time between rows [s].
        duration: Duration of the transition [s].
        forces: Columns of forces.
    """
    count = max(2, int(np.ceil(duration / period)))
    if len(rows) <= count:
        rows = np.vstack([rows, np.repeat(rows[-1:], count + 1 - len(rows), axis=0)])
    rows, u = rows.copy(), np.arange(count, dtype=float) / count
    first, part = rows[0].copy(), rows[:count]
    new = points_of(first[None])
    now = points_of(last[None]).nearer_to(new)
    value, rate, second = ((a - b)[0] for a, b in zip(now, new, strict=True))
    still = np.zeros_like(value)
    fading = hermite((value, rate, second), (still, still, still), count * period)
    t: Array = u * (count * period)
    mixed = (a + powers(t, len(c)) @ c for a, c in zip(points_of(part), fading, strict=True))
    part[:, : FORCE.start] = rows_of(Points(*mixed))
    part[:, forces] += np.outer(FADE(u), last[forces] - first[forces])
    return rows
