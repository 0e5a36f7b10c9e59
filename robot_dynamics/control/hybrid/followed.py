# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The rows that a hybrid controller follows, by ticks: of a plan, a halt, or one after another.

Only what is still to come is kept, and the little that measured forces are compared with: plans
may follow one another for as long as the controller runs. Of a plan that takes over a part is
looked up at a time, so that no control period waits for a long one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.halt import Halt, HasRows
from robot_dynamics.control.hybrid.law_inputs import Layout
from robot_dynamics.control.hybrid.rows import HybridPlan, blended, with_compared
from robot_dynamics.control.reference import POSE, TWIST, looked_up
from robot_dynamics.control.rotation_path import conjugate, product, rotation_vector, turn
from robot_dynamics.errors import ArgumentError

Array = NDArray[np.float64]

_AT_ONCE_S = 0.25  # of a plan that takes over, looked up at once


class FollowedRows:
    """Rows of the reference, by ticks.

    Args:
        plan: What is followed from the beginning on.
        layout: Where everything stands in a row.
        period: Of control [s].
        begin: The tick of the plan's time 0; its first row serves before.
        delay: Control periods between a measurement and the command's action on it.
        blend_s: Time over which one plan takes over from another [s].

    Raises:
        ArgumentError: If the plan's rows have another width than the layout's.
    """

    def __init__(
        self,
        plan: HybridPlan,
        layout: Layout,
        period: float,
        *,
        begin: int,
        delay: int,
        blend_s: float,
    ) -> None:
        self._layout, self._at = layout, layout.reference
        self._period, self._begin, self._blend_s = period, begin, blend_s
        self._late, self._ahead = 1 + delay, (delay + 0.5) * period
        self._check(plan)
        self._count = self._count_of(plan.duration)
        rows = self._looked_up(plan, 0.0, self._count)
        self._original = plan, with_compared(rows, rows[:0], self._at, self._late)
        self.restart()

    @property
    def last(self) -> int:
        """The tick of the last row."""
        return self._begin + self._first + self._count - 1

    @property
    def beginning(self) -> Array:
        """The first row of the first plan, whatever is followed at present."""
        return np.asarray(self._original[1][0])

    def restart(self) -> None:
        """Follow the first plan from its beginning."""
        self._plan, rows = self._original
        # Rows are changed where surfaces are left. `_first` is the number of the first row that
        # is kept, `_base` that at which the plan began.
        self._rows, self._first, self._base = rows.copy(), 0, 0
        self._count = len(rows)
        self._source: HasRows = self._plan
        self._source_begin = 0.0

    def row(self, tick: int) -> Array:
        """Return the row of a tick; the last one after all of them."""
        index = tick - self._begin - self._first
        if not 0 <= index < len(self._rows):
            index = self._index(tick)
        return self._rows[index]  # type: ignore[no-any-return]

    def hold(self, tick: int) -> None:
        """Come to rest on the path from a tick on; forces stay what they are then."""
        index = self._index(tick)
        begin = (self._first + index - self._base) * self._period
        halt = Halt(self._plan, begin)
        self._continue_with(halt, begin, halt.duration, tick)

    def follow(self, plan: HybridPlan, tick: int) -> None:
        """Follow another plan from a tick on, without a jump.

        Its time 0 is there. What it differs by from the old one, in pose, velocity, acceleration
        and forces, fades over the time of blending, so that the torque has no jump. Surfaces that
        are to be touched can be touched at once; those that are to be left are left when their
        force has faded.

        Raises:
            ArgumentError: If its rows have another width than the layout's.
        """
        self._check(plan)
        self._continue_with(plan, 0.0, plan.duration, tick)
        self._plan, self._base = plan, self._first

    def depart(
        self, tick: int, seen: Array, error: Array, rate: Array, *, behind: bool = True
    ) -> Array:
        """Take the path up from where the object is, come back to it smoothly; return the row.

        A path that has ended behind the surface is not come back to: the object comes to rest
        where it is.

        Args:
            tick: When a surface is left.
            seen: Pose of the object (7,).
            error: What counts as its error (6,): that remains one.
            rate: What its velocity is off the path's without being an error (6,).
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

    def _looked_up(self, source: HasRows, begin: float, count: int) -> Array:
        return looked_up(source, begin + np.arange(count) * self._period, self._ahead)

    def _look_up_to(self, count: int) -> None:
        """Look up what is followed as far as that many rows, or to its end."""
        known = len(self._rows)
        if known >= min(count, self._count):
            return
        more = min(max(count - known, self._count_of(_AT_ONCE_S)), self._count - known)
        begin = self._source_begin + known * self._period
        rows = self._looked_up(self._source, begin, more)
        past = self._rows[max(0, known - self._late) :]
        self._rows = np.vstack([self._rows, with_compared(rows, past, self._at, self._late)])

    def _continue_with(self, source: HasRows, begin: float, duration: float, tick: int) -> None:
        """Follow a source from a tick on, smoothly; what is over is forgotten."""
        index = self._index(tick)
        forces = np.r_[self._at["contact"], self._at["internal"]]
        blend = self._count_of(self._blend_s)
        count = max(self._count_of(duration), blend + 1)
        first = max(blend + 1, self._count_of(_AT_ONCE_S))
        rows = self._looked_up(source, begin, min(count, first))
        now, wanted = self._rows[index, : rows.shape[1]], self._at["wanted"]
        rows = blended(rows, now, self._period, self._blend_s, forces)
        rows[:blend, wanted] = np.maximum(rows[:blend, wanted], now[wanted])
        past = self._rows[max(0, index - self._late) : index]
        self._rows = with_compared(rows, past, self._at, self._late)
        self._first = max(tick - self._begin, self._first)  # the last row may have stayed a while
        self._count, self._source, self._source_begin = count, source, begin

    def _check(self, plan: HybridPlan) -> None:
        expected, found = self._at["internal"].stop, plan.rows(np.zeros(1)).shape[1]
        if found != expected:
            layout = self._layout
            raise ArgumentError(
                f"the reference has rows of {found}, expected {expected}: 19 of motion, 2 for "
                f"each of {layout.surfaces} surface forces, and {layout.internal} internal forces."
            )
