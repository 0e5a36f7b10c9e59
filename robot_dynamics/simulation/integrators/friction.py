# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Integration from event to event with Coulomb friction, which the book's Table 11.1 leaves out.

Of the contacts that stay closed those that slide resist with mu lambda_n against their slip, which
changes smoothly; those that stick have the forces of a complementarity of cones between
accelerations and forces. Both are one problem of `contact.accelerations` at each stage of a step.
Events besides gaps that close, at which the sets are found anew, are

- a slip that reaches zero and would reverse: the contact sticks, or slips the other way. One that
  comes to zero and does not is none: at that moment friction that would hold it is the one that
  slides, and less than what the contact bears neither before nor after;
- a contact that opens, or slips from rest, since the forces that would keep it meet their bounds:
  then its acceleration is no longer zero.

Impacts are those of time steps: velocities after them meet the laws of contact at once, with
Newton's restitution, reduced where it would give energy. Where accelerations that meet the laws do
not exist (Painleve's paradox: a rod that slides on its leading tip) integration ends and says so.
Of contacts that share a load forces are those nearest to the ones before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.contact.accelerations import ContactAccelerations, ContactState
from robot_dynamics.contact.equations import NoContactForces
from robot_dynamics.contact.points import ContactTerms
from robot_dynamics.simulation.integrators.events import (
    STILL,
    Cubic,
    EventSteps,
    Step,
    crossing,
)
from robot_dynamics.simulation.integrators.trajectory import ContactEvent, Trouble

Array = NDArray[np.float64]

# A slip that comes down to this part of itself, where it would reverse, has stopped.
_STRAIGHT = 1e-8
# A step is no longer than this part of what a slip would take to stop: turns of slips, which those
# of bodies make faster, are stiffer than that by what explicit schemes bear ...
_STOPS = 0.25
# ... unless that is less than this part of the longest step: then its direction is stiff. It is
# that of the acceleration from rest, which slips turn into at once, or it stays.
_STIFF = 1.0 / 128.0
# A slip turns by no more in a step than has this cosine.
_TURN = 0.8
# What opens or slips from rest is known, and whereto, where it does so this often faster than
# rounding; when it began is where the straight line back is zero.
_CLEARLY = 100.0


class FrictionSteps(EventSteps):
    """Goes on from event to event, with Coulomb friction; see `EventSteps`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._mu = self._contacts.friction
        self._accelerations = ContactAccelerations(self._contacts)
        #: Directions of slip at the start of a step; zero of what sticks or has no friction.
        self._direction = self._accelerations.direction
        self._frozen = self._accelerations.frozen  # whose direction stays over a step
        self._straight = np.zeros_like(self._frozen)  # of these whose slip nothing turns
        self._asked: Step | None = None
        self._known: dict[float, tuple[Array, Array]] = {}
        self._reached = 0.0  # time of the end of the last step
        self._stopped: set[int] = set()  # whose slip is zero where the last step ended
        #: What opens there, None, or slips from rest, in which direction (2,).
        self._loose: dict[int, Array | None] = {}

    def _within(self, step: Step, part: float) -> tuple[Array, Array]:
        """Return the state within a step; several contacts ask for the same ones."""
        if self._asked is not step:
            self._asked, self._known = step, {}
        if part not in self._known:
            self._known[part] = super()._within(step, part)
        return self._known[part]

    def _rates(self, time: float, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the derivative with the forces of closed contacts."""
        return self._solved(time, q, qd, self._current), np.zeros(0)

    def _solved(self, time: float, q: Array, qd: Array, which: list[int]) -> Array:
        """Return the derivative with forces of contacts that slide or stick as they do."""
        try:
            return self._accelerations(q, qd, self._tau(time, q, qd), which)
        except NoContactForces as error:
            raise Trouble(
                time,
                f"{error}: what slides jams (Painleve's paradox)",
                "less friction, or rd.Simulation, whose impulses may stop it at once",
            ) from error

    def _state(self, time: float, q: Array, qd: Array, which: list[int]) -> ContactState:
        """Return forces, accelerations and slips of all contacts."""
        self._solved(time, q, qd, which)
        return self._accelerations.state(which)

    def _at(self, step: Step, part: float) -> ContactState:
        """Return the same within a step."""
        return self._state(step.time + part * step.h, *self._within(step, part), self._current)

    def _sticking(self, terms: ContactTerms) -> Array:
        """Return rows of the velocities (k, nv) that friction keeps zero."""
        stick = [i for i in self._current if self._mu[i] > 0.0 and not self._direction[i].any()]
        return np.asarray(terms.along[stick].reshape(-1, terms.T.shape[0]))

    def _projected(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the state with closed contacts closed, and take up forces and directions."""
        self._direction[list(self._stopped)] = 0.0  # nothing across is left of their slip either
        q, qd = super()._projected(q, qd)
        if self._current:
            found = self._state(self._reached, q, qd, self._current)
            self._accelerations.keep()
            self._turn(q, qd, found)
        return q, qd

    def _turn(self, q: Array, qd: Array, found: ContactState) -> None:
        """Take up the directions of slips, and which of them are stiff."""
        size = np.hypot(*found.slip.T)
        slides = self._direction.any(axis=1)
        stiff = slides & (size <= _STIFF * self._h * found.effect)
        free = slides & ~stiff
        self._direction[free] = found.slip[free] / size[free, None]
        # What nothing turns goes straight on, however stiff turns would be.
        a, b = found.acceleration[:, 1:].T
        across = np.abs(a * self._direction[:, 1] - b * self._direction[:, 0])
        self._straight[:] = free & (across <= found.zero)
        self._frozen[:] = stiff | self._straight
        before, turning = self._direction.copy(), set(np.flatnonzero(stiff).tolist())
        while turning:
            self._direction[list(turning)] = 0.0
            state = self._state(self._reached, q, qd, self._current)
            rest = state.acceleration[:, 1:]
            staying = {
                i
                for i in turning
                if not (np.hypot(*rest[i]) > state.zero and rest[i] @ before[i] > 0.0)
            }
            self._direction[list(staying)] = before[list(staying)]
            if not staying:
                for i in turning:
                    self._direction[i] = rest[i] / np.hypot(*rest[i])
                break
            turning -= staying

    # --- events ----------------------------------------------------------------------------

    def _first_event(self, step: Step) -> tuple[Step, float, set[int], set[int]]:
        """Return the step that is taken, its part until its first event, and who changes there.

        It is taken anew where what slides does not go straight on, or asks for a shorter one.
        """
        limit = 1.0
        start = self._at(step, 0.0) if self._current else None
        if start is not None:
            limit = self._limit(step, start)
            if self._straight.any() and self._bends(self._at(step, 1.0)):
                # It is no straight slip in all of the step.
                self._frozen &= ~self._straight
                self._straight[:] = False
                limit = min(limit, self._limit(step, start))
                step = self._stepped(step.time, step.q, step.qd, step.h)
        if limit < 1.0:
            step = self._stepped(step.time, step.q, step.qd, limit * step.h)
        self._reached = step.time + step.h
        found = [(part, i, True) for part, i in self._closings(step)]
        stopping: list[tuple[float, int]] = []
        loose: dict[int, Array | None] = {}
        if start is not None:
            end = self._at(step, 1.0)
            if self._letting(end):
                part, loose = self._change(step, start, end)
                found += [(part, i, False) for i in loose]
            for i in self._current:
                turn = self._turning(step, i, start, end) if self._direction[i].any() else None
                if turn is not None:
                    part, stops = turn
                    stopping += [(part, i)] if stops else []
                    found.append((part, i if stops else -1, False))
        part = min(found)[0] if found else 1.0
        self._reached = step.time + part * step.h
        self._stopped = {i for p, i in stopping if p <= part + 1e-12}
        same = [(i, closes) for p, i, closes in found if p <= part + 1e-12]
        changing = {i for i, closes in same if not closes and i >= 0}
        self._loose = {i: way for i, way in loose.items() if i in changing - self._stopped}
        return step, part, {i for i, closes in same if closes}, changing

    def _bends(self, end: ContactState) -> bool:
        """Return whether a slip that was straight at a step's start is not so at its end."""
        way, slip = self._direction[self._straight], end.slip[self._straight]
        rate = end.acceleration[self._straight, 1:]
        sizes = (end.zero, _STRAIGHT * np.hypot(*slip.T) + STILL)
        return any(
            bool((np.abs(each[:, 0] * way[:, 1] - each[:, 1] * way[:, 0]) > zero).any())
            for each, zero in zip((rate, slip), sizes, strict=True)
        )

    def _limit(self, step: Step, start: ContactState) -> float:
        """Return the part of a step that the directions of slips allow."""
        slides = self._direction.any(axis=1) & ~self._frozen
        if not slides.any():
            return 1.0
        times = np.hypot(*start.slip[slides].T) / np.maximum(start.effect[slides], 1e-300)
        return min(1.0, _STOPS * float(times.min()) / step.h)

    def _letting(self, found: ContactState) -> dict[int, Array]:
        """Return accelerations (3,) of closed contacts that open or slip from rest.

        Of the first along the normal alone, of the others along the tangents.
        """
        letting: dict[int, Array] = {}
        for i in self._current:
            rate = found.acceleration[i]
            if rate[0] > found.zero:
                letting[i] = rate * [1.0, 0.0, 0.0]
                continue
            rests = self._mu[i] > 0.0 and not self._direction[i].any()
            if rests and np.hypot(*rate[1:]) > found.zero:
                letting[i] = rate * [0.0, 1.0, 1.0]
        return letting

    def _change(
        self, step: Step, start: ContactState, end: ContactState
    ) -> tuple[float, dict[int, Array | None]]:
        """Return the part of a step at which something opens or slips from rest, and what."""
        low, high, width, found = 0.0, 1.0, 2.0, self._letting(end)
        size = before = max(float(np.linalg.norm(rate)) for rate in found.values())
        slope = 0.0
        if self._letting(start):
            high, found = 0.0, self._letting(start)
        while high - low > 1e-13:
            # Accelerations begin at zero and grow: the straight line through the last two.
            began = high - size / slope if slope > 0.0 else -1.0
            if size <= _CLEARLY * end.zero and began >= low - (high - low):
                high = min(max(began, low), high)
                break
            last, width = width, high - low
            if low < began < high and width <= 0.5 * last:  # what jumps has no such line
                near = max(0.25 * width * width, 1e-14)
                tried = [p for p in (began + near, began - near) if low < p < high]
            else:
                tried = [0.5 * (low + high)]
            for part in tried:
                state = self._at(step, part)
                if letting := self._letting(state):
                    before, size = size, max(float(np.linalg.norm(r)) for r in letting.values())
                    slope, high, found = (before - size) / (high - part), part, letting
                else:
                    low = part
                    break
        loose = {
            i: None if rate[0] > 0.0 else rate[1:] / np.hypot(*rate[1:])
            for i, rate in found.items()
        }
        return high, loose

    def _turning(
        self, step: Step, i: int, start: ContactState, end: ContactState
    ) -> tuple[float, bool] | None:
        """Return the part of a step at which a slip is zero, or turns too far; None if it is not.

        And whether it is zero.
        """
        before = self._direction[i]

        def slip(part: float) -> Array:
            return self._at(step, part).slip[i]

        def along(part: float) -> float:
            return float(slip(part) @ before)

        def along_and_rate(part: float) -> tuple[float, float]:
            found = self._at(step, part)
            return float(found.slip[i] @ before), step.h * float(
                found.acceleration[i, 1:] @ before
            )

        def turned(slip: Array) -> bool:
            if self._frozen[i]:
                return float(slip @ before) <= 0.0
            return float(slip @ before) < _TURN * float(np.hypot(*slip))

        high = 1.0
        if not turned(end.slip[i]):
            # It may have been zero between: the cubic of slips and accelerations tells where.
            cubic = Cubic.through(*along_and_rate(0.0), *along_and_rate(1.0))
            least = cubic.turns()[-1:]
            if not (least and cubic(least[0]) < cubic.d and along(least[0]) < -STILL):
                return None
            high = least[0]
        low = 0.0
        if not along(0.0) > 0.0:
            # It has just begun.
            low = next((p for p in 0.5 ** np.arange(1, 40) if along(p) > 0.0), 0.0)
            if not 0.0 < low < high:
                return 0.0, True
        if along(high) <= 0.0:
            high = crossing(along_and_rate, low, high)
            rest, first = float(np.hypot(*slip(high))), float(np.hypot(*start.slip[i]))
            stiff = self._frozen[i] and not self._straight[i]
            if stiff or rest <= max(STILL, _STRAIGHT * first):
                return high, True
        # It turns within the plane: no event, but a shorter step.
        while turned(slip(high)):
            high *= 0.5
            if high < 1e-12:
                return 0.0, True
        return high, False

    def _blow(
        self, time: float, q: Array, qd: Array, terms: ContactTerms, hit: list[int], e: Array
    ) -> tuple[Array, Array]:
        """Return impulses along the normals (k,) of what is hit, and what velocities change by."""
        try:
            impulse, change = self._accelerations.impact(q, qd, hit, e)
        except NoContactForces as error:
            raise Trouble(time, str(error)) from error
        return impulse[hit, 0], change

    def _choose(
        self, time: float, q: Array, qd: Array, closed: list[int], letting_go: set[int]
    ) -> None:
        """Find what stays closed, and what of that slides whereto."""
        old, before = set(self._current), self._direction.copy()
        loose = self._loose if letting_go else {}
        if loose:  # what has begun to slip just now goes on with it
            began = old - self._stopped
            loose = {i: before[i] for i in began if before[i].any()} | loose
        self._current, self._active = [], []
        self._direction[:] = 0.0
        told: list[tuple[str, int]] = []
        if closed:
            slip = self._contacts(q, qd).along @ qd
            slides = (np.hypot(*slip.T) > STILL) & (self._mu > 0.0)
            slides[list(self._stopped)] = False
            for i in closed:
                if slides[i]:
                    self._direction[i] = slip[i] / np.hypot(*slip[i])
                    if self._frozen[i] and before[i].any():
                        self._direction[i] = before[i]
            self._frozen[:] = False
            found = self._state(time, q, qd, closed)
            self._current, self._reached = list(closed), time
            self._turn(q, qd, found)
            if self._frozen.any():  # what sticks may slip now
                found = self._state(time, q, qd, closed)
            self._current = []
            self._accelerations.keep()
            for i in closed:
                rate = found.acceleration[i]
                begins = loose.get(i, rate[1:])
                if rate[0] > found.zero or begins is None:
                    self._direction[i] = 0.0
                    continue
                self._current.append(i)
                size = float(np.hypot(*begins))
                begun = not slides[i] and self._mu[i] > 0.0 and size > found.zero
                if begun:
                    self._direction[i] = begins / size
                slid = i in old and (before[i].any() or i in self._stopped)
                if (begun or slides[i]) and not (slid and (slides[i] or i in loose)):
                    told.append(("slip", i))
                elif not (begun or slides[i]) and self._mu[i] > 0.0 and (i not in old or slid):
                    told.append(("stick", i))
            self._active = list(self._current)
            self._turn(q, qd, found)
        self._stopped = set()
        now = set(self._current)
        told = [("closed", i) for i in sorted(now - old)] + told
        told += [("open", i) for i in sorted(old - now)]
        self.events += [
            ContactEvent(time, kind, self._contacts.names[i], 0.0, 0.0, 0.0) for kind, i in told
        ]
