# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Integration from event to event with Coulomb friction, which the book's Table 11.1 leaves out.

Of the contacts that stay closed those that slide resist with mu lambda_n against their slip, which
changes smoothly; those that stick have the forces of a complementarity of cones between
accelerations and forces. Both are one problem of `contact.solver` at each stage of a step. Events
besides gaps that close, at which the sets are found anew, are

- a slip that reaches zero: the contact sticks, or slips the other way;
- a contact that opens, or slips from rest, since the forces that would keep it meet their bounds:
  then its acceleration is no longer zero.

Impacts are those of time steps: velocities after them meet the laws of contact at once, with
Newton's restitution, reduced where it would give energy. Where accelerations that meet the laws do
not exist (Painleve's paradox: a rod that slides on its leading tip) integration ends and says so.
Of contacts that share a load forces are those nearest to the ones before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from robot_dynamics.contact.equations import Metric
from robot_dynamics.contact.points import ContactTerms
from robot_dynamics.contact.solver import ContactSolver
from robot_dynamics.simulation.contact.motion import without_gain
from robot_dynamics.simulation.integrators.events import _STILL, EventSteps, _Rates, _Step
from robot_dynamics.simulation.integrators.trajectory import ContactEvent, Trouble

Array = NDArray[np.float64]

# Accelerations below this part of what they would be without contact forces are zero.
_NOTHING = 1e-9
# Forces, in parts of the largest, may miss the laws by so much: beyond it there are none.
_MISSED = 1e-8
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


class _Solved(NamedTuple):
    """Forces and accelerations of all contacts along n, t1, t2 (m, 3), and their slip (m, 2).

    `effect` is how much of the acceleration along the tangents forces make (m,), `zero` what of
    accelerations is rounding.
    """

    qdd: Array
    force: Array
    acceleration: Array
    slip: Array
    effect: Array
    zero: float


class FrictionSteps(EventSteps):
    """Goes on from event to event, with Coulomb friction; see `EventSteps`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        m, nv = len(self._contacts.names), self._robot.model.nv
        self._mu = self._contacts.friction
        self._solver = ContactSolver(0, self._mu, 3, nv)
        self._solver.H[:] = np.eye(nv)  # in coordinates of the metric
        self._forces = np.zeros(3 * m)
        #: Directions of slip at the start of a step; zero of what sticks or has no friction.
        self._direction = np.zeros((m, 2))
        self._frozen = np.zeros(m, dtype=bool)  # whose direction stays over a step
        self._asked: _Step | None = None
        self._known: dict[float, tuple[Array, Array]] = {}
        self._reached = 0.0  # time of the end of the last step
        self._stopped: set[int] = set()  # whose slip is zero where the last step ended

    def _within(self, step: _Step, part: float) -> tuple[Array, Array]:
        """Return the state within a step; several contacts ask for the same ones."""
        if self._asked is not step:
            self._asked, self._known = step, {}
        if part not in self._known:
            self._known[part] = super()._within(step, part)
        return self._known[part]

    def _rates(self, time: float, q: Array, qd: Array) -> _Rates:
        """Return the derivative with the forces of closed contacts."""
        if not self._current:
            return super()._rates(time, q, qd)
        q_rate = np.array(self._robot.model.position_rate(q.tolist(), qd.tolist()), dtype=float)
        found = self._solved(time, q, qd, self._current)
        return _Rates(q_rate, found.qdd, found.force[:, 0])

    def _rows(self, terms: ContactTerms) -> Array:
        """Return rows of relative velocities along n, t1, t2 (3 m, nv)."""
        rows = np.concatenate([terms.T.T[:, None], terms.along], axis=1)
        return np.asarray(rows.reshape(-1, rows.shape[2]))

    def _solved(self, time: float, q: Array, qd: Array, which: list[int]) -> _Solved:
        """Return forces and accelerations of closed contacts that slide or stick as they do."""
        terms, metric, solver = self._contacts(q, qd), Metric(self._robot, q, qd), self._solver
        tau = self._force(time, q, qd) if callable(self._force) else self._force
        rows, free = self._rows(terms), metric.free(tau)
        across = metric.of_force(rows.T).T
        drift = np.concatenate([terms.drift[:, None], terms.along_drift], axis=1).ravel()
        solver.c[:] = rows @ metric.motion(free) + drift
        slip = terms.along @ qd
        slide = np.zeros((len(slip), 3))
        for i in which:
            if self._direction[i].any():
                slide[i, 1:] = self._towards(i, slip[i])
        solver.slide[:] = slide.ravel()
        self._solve(across, which, self._forces)
        if not solver.residual <= _MISSED:
            names = ", ".join(repr(self._contacts.names[i]) for i in which)
            raise Trouble(
                time,
                f"no forces keep apart what touches at {names} with its friction: what slides "
                "jams (Painleve's paradox)",
                "less friction, or rd.Simulation, whose impulses may stop it at once",
            )
        P = solver.P.copy()
        x = across.T @ P
        u = (solver.c + across @ x).reshape(-1, 3)
        zero = _NOTHING * max(float(np.abs(solver.c.reshape(-1, 3)[which]).max()), 1e-300)
        effect = np.linalg.norm(u[:, 1:] - solver.c.reshape(-1, 3)[:, 1:], axis=1)
        return _Solved(metric.motion(free + x), P.reshape(-1, 3), u, slip, effect, zero)

    def _solve(self, across: Array, which: list[int], start: Array) -> None:
        """Solve the problem that c and `slide` of the solver state, among some contacts."""
        solver = self._solver
        solver.J[:], solver.HJ[:], solver.P[:] = across, across, start
        solver.touching[:] = False
        solver.touching[which] = True
        solver.run()
        solver.run()  # once more for the last digits, which would turn what slides

    def _towards(self, i: int, slip: Array) -> Array:
        """Return the direction of a contact's slip (2,), gone on with where it would reverse."""
        before, size = self._direction[i], float(np.hypot(*slip))
        along = float(slip @ before)
        if self._frozen[i] or size == 0.0 or along == 0.0:
            return before
        return np.asarray(np.sign(along) / size * slip)

    def _sticking(self, terms: ContactTerms) -> Array:
        """Return rows of the velocities (k, nv) that friction keeps zero."""
        stick = [i for i in self._current if self._mu[i] > 0.0 and not self._direction[i].any()]
        return np.asarray(terms.along[stick].reshape(-1, terms.T.shape[0]))

    def _projected(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the state with closed contacts closed, and take up forces and directions."""
        q, qd = super()._projected(q, qd)
        if self._current:
            found = self._solved(self._reached, q, qd, self._current)
            self._forces = found.force.ravel().copy()
            self._turn(q, qd, found)
        return q, qd

    def _turn(self, q: Array, qd: Array, found: _Solved) -> None:
        """Take up the directions of slips, and which of them are stiff."""
        size = np.hypot(*found.slip.T)
        slides = self._direction.any(axis=1)
        self._frozen = slides & (size <= _STIFF * self._h * found.effect)
        free = slides & ~self._frozen
        self._direction[free] = found.slip[free] / size[free, None]
        if self._frozen.any():
            before = self._direction.copy()
            self._direction[self._frozen] = 0.0
            rest = self._solved(self._reached, q, qd, self._current)
            for i in np.flatnonzero(self._frozen):
                rate = rest.acceleration[i, 1:]
                faster = float(np.hypot(*rate)) > rest.zero and float(rate @ before[i]) > 0.0
                self._direction[i] = rate / np.hypot(*rate) if faster else before[i]

    # --- events ----------------------------------------------------------------------------

    def _first_event(self, step: _Step) -> tuple[float, set[int], set[int]]:
        """Return the part of a step until its first event, and who closes or changes there."""
        whole, limit = step.h, self._limit(step)
        if limit < 1.0:
            step = self._stepped(step.time, step.q, step.qd, limit * step.h)
        self._reached = step.time + step.h
        found = [(part, i, True) for part, i in self._closings(step)]
        stopping: list[tuple[float, int, bool]] = []
        self._stopped = set()
        if self._current:
            end = self._at(step, 1.0)
            if self._changes(end):
                found.append((self._change(step), self._current[0], False))
            for i in self._current:
                if self._direction[i].any() and (turn := self._turning(step, i, end)) is not None:
                    part, stops = turn
                    stopping.append((part, i, stops))
                    found.append((part, i if stops else -1, False))
        if not found:
            return limit, set(), set()
        part = min(found)[0]
        self._reached = step.time + part * step.h
        self._stopped = {i for p, i, stops in stopping if stops and p <= part + 1e-12}
        same = [(i, closes) for p, i, closes in found if p <= part + 1e-12]
        closing = {i for i, closes in same if closes}
        changing = {i for i, closes in same if not closes and i >= 0}
        return part * step.h / whole, closing, changing

    def _limit(self, step: _Step) -> float:
        """Return the part of a step that the directions of slips allow."""
        slides = self._direction.any(axis=1) & ~self._frozen
        if not slides.any():
            return 1.0
        found = self._at(step, 0.0)
        times = np.hypot(*found.slip[slides].T) / np.maximum(found.effect[slides], 1e-300)
        return min(1.0, _STOPS * float(times.min()) / step.h)

    def _at(self, step: _Step, part: float) -> _Solved:
        """Return what is solved within a step."""
        return self._solved(step.time + part * step.h, *self._within(step, part), self._current)

    def _changes(self, found: _Solved) -> bool:
        """Return whether a closed contact opens, or one that sticks slips."""
        of, zero = found.acceleration, found.zero
        return any(
            of[i, 0] > zero
            or (self._mu[i] > 0.0 and not self._direction[i].any() and np.hypot(*of[i, 1:]) > zero)
            for i in self._current
        )

    def _change(self, step: _Step) -> float:
        """Return the part of a step at which something opens or slips from rest."""
        low, high = 0.0, 1.0
        if self._changes(self._at(step, 0.0)):
            return 0.0
        while high - low > 1e-13:
            middle = 0.5 * (low + high)
            if self._changes(self._at(step, middle)):
                high = middle
            else:
                low = middle
        return high

    def _turning(self, step: _Step, i: int, end: _Solved) -> tuple[float, bool] | None:
        """Return the part of a step at which a slip is zero, or turns too far; None if it is not.

        And whether it is zero.
        """
        before = self._direction[i]

        def slip(part: float) -> Array:
            q, qd = self._within(step, part)
            return np.asarray(self._contacts(q, qd).along[i] @ qd)

        def along(part: float) -> float:
            return float(slip(part) @ before)

        def turned(slip: Array) -> bool:
            if self._frozen[i]:
                return float(slip @ before) <= 0.0
            return float(slip @ before) < _TURN * float(np.hypot(*slip))

        if not turned(end.slip[i]):
            return None
        low, high = 0.0, 1.0
        if not along(0.0) > 0.0:
            # It has just begun.
            low = next((p for p in 0.5 ** np.arange(1, 40) if along(p) > 0.0), 0.0)
            if low == 0.0:
                return 0.0, True
        if end.slip[i] @ before <= 0.0:
            high = float(brentq(along, low, 1.0, xtol=1e-15, rtol=1e-15))
            rest, start = float(np.hypot(*slip(high))), float(np.hypot(*slip(0.0)))
            if self._frozen[i] or rest <= max(_STILL, _STRAIGHT * start):
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
        metric, solver, rows = Metric(self._robot, q, qd), self._solver, self._rows(terms)
        across, before = metric.of_force(rows.T).T, rows @ qd
        solver.slide[:] = 0.0
        bounce = np.zeros(len(rows))
        bounce[3 * np.array(hit)] = -e * np.minimum(terms.rate[hit], 0.0)

        def impulses(c: Array) -> Array:
            solver.c[:] = c
            self._solve(across, hit, np.zeros(len(c)))
            if not solver.residual <= _MISSED:
                names = ", ".join(repr(self._contacts.names[i]) for i in hit)
                raise Trouble(time, f"no impulses keep apart what touches at {names}")
            return solver.P.copy()

        P = impulses(before - bounce)
        after = before + across @ (across.T @ P)
        if bounce.any() and P @ (before + after) > 0.0:
            # With friction Newton's restitution may give energy.
            plain, change = impulses(before), np.zeros(len(qd))
            without_gain(
                across, across, before, before, P, plain, np.zeros(len(P)), change,
                np.zeros(len(P)),
            )  # fmt: skip
            P = plain
        return P[3 * np.array(hit)], metric.motion(across.T @ P)

    def _choose(
        self, time: float, q: Array, qd: Array, closed: list[int], letting_go: set[int]
    ) -> None:
        """Find what stays closed, and what of that slides whereto."""
        old, before = set(self._current), self._direction.copy()
        self._current, self._active = [], []
        self._direction[:] = 0.0
        told: list[tuple[str, int]] = []
        if closed:
            slip = self._contacts(q, qd).along @ qd
            slides = (np.hypot(*slip.T) > _STILL) & (self._mu > 0.0)
            slides[list(self._stopped)] = False
            for i in closed:
                if slides[i]:
                    self._direction[i] = slip[i] / np.hypot(*slip[i])
                    if self._frozen[i] and before[i].any():
                        self._direction[i] = before[i]
            self._frozen[:] = False
            found = self._solved(time, q, qd, closed)
            self._current, self._reached = list(closed), time
            self._turn(q, qd, found)
            if self._frozen.any():  # what sticks may slip now
                found = self._solved(time, q, qd, closed)
            self._current = []
            self._forces = found.force.ravel().copy()
            for i in closed:
                rate = found.acceleration[i]
                if rate[0] > found.zero:
                    self._direction[i] = 0.0
                    continue
                self._current.append(i)
                begins = not slides[i] and float(np.hypot(*rate[1:])) > found.zero
                if begins and self._mu[i] > 0.0:
                    self._direction[i] = rate[1:] / np.hypot(*rate[1:])
                    told.append(("slip", i))
                elif slides[i] and (i not in old or not before[i].any()):
                    told.append(("slip", i))
                elif not slides[i] and self._mu[i] > 0.0 and (i not in old or before[i].any()):
                    told.append(("stick", i))
            self._active = list(self._current)
            self._turn(q, qd, found)
        now = set(self._current)
        told = [("closed", i) for i in sorted(now - old)] + told
        told += [("open", i) for i in sorted(old - now)]
        self.events += [
            ContactEvent(time, kind, self._contacts.names[i], 0.0, 0.0, 0.0) for kind, i in told
        ]
