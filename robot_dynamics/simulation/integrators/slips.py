# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Slip of closed contacts between events: its direction, and its stop, reversal or beginning.

A sliding contact has friction mu P_n against its slip direction, which changes smoothly. Events of
slip within a step are

- a slip that reaches zero and would reverse: the contact sticks, or slides the other way. A slip
  that only touches zero is not an event, because friction is the same before and after it;
- a sticking contact whose friction reaches its bound: its tangential acceleration is no longer
  zero. A contact opens when its normal acceleration is no longer zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.contact.accelerations import ContactAccelerations, ContactState
from robot_dynamics.simulation.integrators.roots import Cubic, falling_root

#: Normal and tangential speeds below this [m/s] count as zero.
STILL = 1e-9
# A reversing slip has passed through zero if its smallest value is below this part of the slip at
# the start of the step; otherwise it has turned in the plane.
_STRAIGHT = 1e-8
# Longest step, in parts of the time in which friction alone would stop the slip: explicit schemes
# are not stable with longer ones, since the direction of a slow slip is stiff ...
_STOPS = 0.25
# ... unless that is less than this part of the longest step. Then the direction is fixed in the
# step: that of the acceleration from rest, to which slow slips turn at once, or the present one.
_STIFF = 1.0 / 128.0
# Cosine of the largest turn of a slip direction in a step.
_TURN = 0.8
# Accelerations this many times the rounding error show for certain that a contact opens or begins
# to slip. When it began follows by linear extrapolation to zero.
_CLEARLY = 100.0


class Slips:
    """Slip directions of closed contacts over one step after another.

    Attributes:
        direction: Unit slip directions (m, 2); see `ContactAccelerations.direction`, whose array
            this is, as `fixed` is its `fixed`.
        fixed: Mask of contacts whose direction does not follow their slip within a step (m,).
        straight: Fixed contacts whose acceleration is along their slip, which therefore does not
            turn.

    Args:
        accelerations: Of the contacts.
        friction: mu of each contact (m,).
        step: Longest step [s].
    """

    def __init__(self, accelerations: ContactAccelerations, friction: Array, step: float) -> None:
        self.direction, self.fixed = accelerations.direction, accelerations.fixed
        self.straight = np.zeros_like(self.fixed)
        self._mu, self._h = friction, step

    def sliding(self, i: int) -> bool:
        """Return whether contact i slides."""
        return bool(self.direction[i].any())

    def sticking(self, closed: Iterable[int]) -> list[int]:
        """Return the closed contacts that stick."""
        return [i for i in closed if self._mu[i] > 0.0 and not self.sliding(i)]

    def update(self, state: ContactState, again: Callable[[], ContactState]) -> None:
        """Set the directions at the start of a step, and which stay fixed in it.

        Args:
            state: Of all contacts at the start of the step.
            again: Returns the state with the new directions.
        """
        size = np.hypot(*state.slip.T)
        slides = self.direction.any(axis=1)
        stiff = slides & (size <= _STIFF * self._h * state.friction_bound)
        free = slides & ~stiff
        self.direction[free] = state.slip[free] / size[free, None]
        # A slip that nothing turns needs no short steps, even if turns would be stiff.
        a, b = state.acceleration[:, 1:].T
        across = np.abs(a * self.direction[:, 1] - b * self.direction[:, 0])
        self.straight[:] = free & (across <= state.zero)
        self.fixed[:] = stiff | self.straight
        before, turning = self.direction.copy(), set(np.flatnonzero(stiff).tolist())
        while turning:
            self.direction[list(turning)] = 0.0
            state = again()
            rest = state.acceleration[:, 1:]
            staying = {
                i
                for i in turning
                if not (np.hypot(*rest[i]) > state.zero and rest[i] @ before[i] > 0.0)
            }
            self.direction[list(staying)] = before[list(staying)]
            if not staying:
                for i in turning:
                    self.direction[i] = rest[i] / np.hypot(*rest[i])
                break
            turning -= staying

    def release_straight(self) -> None:
        """Release directions that were fixed because their slip did not turn."""
        self.fixed &= ~self.straight
        self.straight[:] = False

    def bend(self, end: ContactState) -> bool:
        """Return whether a slip that was straight at the start of a step is not at its end."""
        way, slip = self.direction[self.straight], end.slip[self.straight]
        rate = end.acceleration[self.straight, 1:]
        sizes = (end.zero, _STRAIGHT * np.hypot(*slip.T) + STILL)
        return any(
            bool((np.abs(each[:, 0] * way[:, 1] - each[:, 1] * way[:, 0]) > zero).any())
            for each, zero in zip((rate, slip), sizes, strict=True)
        )

    def longest_step(self, start: ContactState) -> float:
        """Return the longest step [s] that the directions allow at a state; infinite for any."""
        slides = self.direction.any(axis=1) & ~self.fixed
        if not slides.any():
            return np.inf
        bound = np.maximum(start.friction_bound[slides], 1e-300)
        return _STOPS * float((np.hypot(*start.slip[slides].T) / bound).min())

    def releases(self, state: ContactState, closed: Iterable[int]) -> dict[int, Array]:
        """Return accelerations (3,) of closed contacts that open or begin to slip [m/s^2].

        For contacts that open only along the normal, for the others along the tangents.
        """
        found: dict[int, Array] = {}
        for i in closed:
            rate = state.acceleration[i]
            if rate[0] > state.zero:
                found[i] = rate * [1.0, 0.0, 0.0]
                continue
            sticks = self._mu[i] > 0.0 and not self.sliding(i)
            if sticks and np.hypot(*rate[1:]) > state.zero:
                found[i] = rate * [0.0, 1.0, 1.0]
        return found

    def first_release(
        self, at: Callable[[float], ContactState], closed: Iterable[int]
    ) -> tuple[float, dict[int, Array | None]]:
        """Return when contacts first open or begin to slip in a step, and which.

        Args:
            at: Returns the state at a part of the step, from 0 to 1; some contact has opened or
                slips at 1.
            closed: Contacts that are closed at the start of the step.

        Returns:
            The part of the step, and of each contact the direction (2,) in which it begins to
            slip, or None if it opens.
        """
        end = at(1.0)
        low, high, width, found = 0.0, 1.0, 2.0, self.releases(end, closed)
        size = before = max(float(np.linalg.norm(rate)) for rate in found.values())
        slope = 0.0
        if at_start := self.releases(at(0.0), closed):
            high, found = 0.0, at_start
        while high - low > 1e-13:
            # Accelerations grow from zero: the secant through the last two estimates when.
            began = high - size / slope if slope > 0.0 else -1.0
            if size <= _CLEARLY * end.zero and began >= low - (high - low):
                high = min(max(began, low), high)
                break
            last, width = width, high - low
            if low < began < high and width <= 0.5 * last:  # forces that jump have no secant
                near = max(0.25 * width * width, 1e-14)
                tried = [part for part in (began + near, began - near) if low < part < high]
            else:
                tried = [0.5 * (low + high)]
            for part in tried:
                if released := self.releases(at(part), closed):
                    before, size = size, max(float(np.linalg.norm(r)) for r in released.values())
                    slope, high, found = (before - size) / (high - part), part, released
                else:
                    low = part
                    break
        begins = {
            i: None if rate[0] > 0.0 else rate[1:] / np.hypot(*rate[1:])
            for i, rate in found.items()
        }
        return high, begins

    def stop(
        self, at: Callable[[float], ContactState], h: float, i: int
    ) -> tuple[float, bool] | None:
        """Return when the slip of contact i is zero in a step, or has turned too far.

        Args:
            at: Returns the state at a part of the step, from 0 to 1.
            h: Length of the step [s].
            i: The contact, which slides.

        Returns:
            The part of the step, and whether the slip is zero there; None if the slip continues.
        """
        before, first = self.direction[i], float(np.hypot(*at(0.0).slip[i]))

        def along(part: float) -> float:
            return float(at(part).slip[i] @ before)

        def along_and_rate(part: float) -> tuple[float, float]:
            state = at(part)
            return float(state.slip[i] @ before), h * float(state.acceleration[i, 1:] @ before)

        def turned(part: float) -> bool:
            slip = at(part).slip[i]
            if self.fixed[i]:
                return float(slip @ before) <= 0.0
            return float(slip @ before) < _TURN * float(np.hypot(*slip))

        high = 1.0
        if not turned(1.0):
            # It may have been zero between: the cubic through slips and accelerations says where.
            cubic = Cubic.through(*along_and_rate(0.0), *along_and_rate(1.0))
            least = cubic.stationary()[-1:]
            if not (least and cubic(least[0]) < cubic.d and along(least[0]) < -STILL):
                return None
            high = least[0]
        low = 0.0
        if not along(0.0) > 0.0:
            # It has just begun.
            low = next((part for part in 0.5 ** np.arange(1, 40) if along(part) > 0.0), 0.0)
            if not 0.0 < low < high:
                return 0.0, True
        if along(high) <= 0.0:
            high = falling_root(along_and_rate, low, high)
            stiff = self.fixed[i] and not self.straight[i]
            if stiff or float(np.hypot(*at(high).slip[i])) <= max(STILL, _STRAIGHT * first):
                return high, True
        # It turns in the plane, which needs a shorter step and is not an event.
        while turned(high):
            high *= 0.5
            if high < 1e-12:
                return 0.0, True
        return high, False
