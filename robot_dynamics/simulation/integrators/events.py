# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Integration with contacts from event to event (Table 11.1), without friction.

Active contacts are equality constraints, all others are not looked at. After each step

- a contact whose gap became negative has closed: the step is shortened to that moment, and the
  blow takes all contacts that are closed by then (contact gain);
- an active contact whose force became negative lets go: the step is shortened likewise, and the
  complementarity problem says what goes on (dynamic contact loss).

*Current* contacts are those that stay closed, *active* ones a part of them whose normals are
independent and that has all that push. Impacts slower than `rest_speed` end bouncing and rocking
(Zeno): what touches then, and leaves no faster, stays closed. That takes energy, at most
m rest_speed^2 / 2 each time, and never gives any. Events that accumulate all the same, more than
100 steps in a millionth of the longest one, end the integration: the contradiction between
contacts is told.

The moment of an event is that of the scheme's own interpolation for Euler's and Heun's scheme
(11.49, 11.51). Schemes of higher order take the step anew with another length, which is as
accurate as the step itself.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from scipy.optimize import brentq

from robot_dynamics.contact.equations import (
    ContactEquations,
    Metric,
    NoContactForces,
    contact_forces,
    equations_of,
)
from robot_dynamics.contact.impact import newton_impulses
from robot_dynamics.contact.points import Contacts, ContactTerms, Inequality
from robot_dynamics.dynamics.arguments import positive_number
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators.method import Force
from robot_dynamics.simulation.integrators.trajectory import ContactEvent, Effort, Trouble
from robot_dynamics.simulation.runge_kutta import Scheme, interpolation_weights

Array = NDArray[np.float64]

#: Blows slower than this [m/s] leave a contact closed, where none is given.
REST_SPEED = 1e-3
_LEAST_REST_SPEED = 1e-6
#: A contact this near [m, or the unit of an inequality] is closed.
CLOSED = 1e-9
#: One that opens or closes slower than this [m/s] stays closed.
STILL = 1e-9
# Forces below this part of the largest one are rounding.
_NO_FORCE = 1e-9
# Normals of which less than this is left by others depend on them.
_DEPENDENT = 1e-6
# So many steps that go no further than this part of the longest one are a contradiction between
# contacts.
_MOST_AT_ONCE = 100
_AT_ONCE = 1e-6


class Step(NamedTuple):
    """A step: where it went from, its length, and its end.

    Attributes:
        time: At its start [s].
        q: Positions there (nq,).
        qd: Velocities there (nv,).
        h: Its length [s].
        rates: Derivatives of the state in the stages of the scheme (s, nq + nv).
        force: Forces of active contacts in the first of them.
        end: Positions and velocities at the end.
    """

    time: float
    q: Array
    qd: Array
    h: float
    rates: Array
    force: Array
    end: tuple[Array, Array]


class EventSteps:
    """Goes on from event to event.

    Attributes:
        effort: What was done so far.
        time: Until when [s].
        events: What happened so far.

    Args:
        robot: The mechanism.
        scheme: The Runge-Kutta scheme.
        force: Joint forces (nv,), or a function that returns them.
        step: Longest step [s].
        contacts: What may touch.
        start: Positions (nq,) and velocities (nv,).
        rest_speed: Blows slower than this leave a contact closed [m/s].

    Raises:
        ArgumentError: If something is within something else at the start.
    """

    def __init__(
        self,
        robot: Robot,
        scheme: Scheme,
        force: Force | Array,
        step: float,
        contacts: Contacts,
        start: tuple[Array, Array],
        rest_speed: float,
    ) -> None:
        self._robot, self._scheme, self._force, self._h = robot, scheme, force, step
        self._contacts = contacts
        self._rest_speed = positive_number("rest_speed", rest_speed)
        if self._rest_speed < _LEAST_REST_SPEED:
            raise ArgumentError(
                f"rest_speed is {self._rest_speed:g} m/s, expected {_LEAST_REST_SPEED:g} or more: "
                "slower bounces are rounding, and never end."
            )
        self._current: list[int] = []
        self._active: list[int] = []
        self.events: list[ContactEvent] = []
        self.effort, self.time = Effort(), 0.0
        gap = contacts(*start).gap
        deepest = int(np.argmin(gap))
        if gap[deepest] < -CLOSED:
            what, depth = contacts.names[deepest], -float(gap[deepest])
            place = f"{robot.model.name}: at the start"
            if isinstance(contacts.items[deepest], Inequality):
                raise ArgumentError(
                    f"{place} phi of {what!r} is {-depth:.3g}, expected zero or more."
                )
            raise ArgumentError(
                f"{place} {what!r} is {1e3 * depth:.3g} mm deep in what it touches, expected "
                f"{1e3 * CLOSED:g} mm at most."
            )

    def run(self, times: Sequence[float], q: Array, qd: Array) -> Iterator[tuple[Array, Array]]:
        """Yield the states at the times after the first."""
        self.time = times[0]
        last: deque[tuple[float, set[int]]] = deque(maxlen=_MOST_AT_ONCE)
        q, qd = self._struck(self.time, q, qd, set())
        for target in times[1:]:
            while target - self.time > 1e-12 * self._h:
                left = target - self.time
                h = left if left < self._h * (1.0 + 1e-9) else self._h
                step, part, closing, letting_go = self._first_event(
                    self._stepped(self.time, q, qd, h)
                )
                last.append((self.time, closing | letting_go))
                if len(last) == _MOST_AT_ONCE and self.time - last[0][0] < _AT_ONCE * self._h:
                    which = sorted(set().union(*(names for _, names in last)))
                    names = ", ".join(repr(self._contacts.names[i]) for i in which)
                    raise Trouble(
                        self.time,
                        f"{_MOST_AT_ONCE} events of {names} follow each other in "
                        f"{self.time - last[0][0]:.1g} s",
                        "contacts that agree, a larger rest_speed, or rd.Simulation",
                    )
                ends = part >= 1.0 and step.h == left
                self.time = target if ends else self.time + min(part, 1.0) * step.h
                q, qd = self._projected(*self._within(step, part))
                self._count()
                if closing:
                    q, qd = self._struck(self.time, q, qd, closing)
                elif letting_go:
                    self._let_go(self.time, q, qd, letting_go)
            yield q, qd

    # --- steps -----------------------------------------------------------------------------

    def _tau(self, time: float, q: Array, qd: Array) -> Array:
        """Return the joint forces (nv,)."""
        return self._force(time, q, qd) if callable(self._force) else self._force

    def _rates(self, time: float, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the state's derivative (nq + nv,), and the forces of active contacts.

        Active contacts are equality constraints.
        """
        model, robot, tau = self._robot.model, self._robot, self._tau(time, q, qd)
        q_rate = model.position_rate(q.tolist(), qd.tolist())
        if not self._active:
            return np.concatenate([q_rate, robot.forward_dynamics(q, qd, tau)]), np.zeros(0)
        at = self._equations(q, qd, self._contacts(q, qd), self._active, tau)
        force = solve(at.M, -at.d, assume_a="pos")
        qdd = at.metric.motion(at.free + at.normals @ force)
        return np.concatenate([q_rate, qdd]), force

    def _equations(
        self, q: Array, qd: Array, terms: ContactTerms, which: Sequence[int], tau: Array
    ) -> ContactEquations:
        metric = Metric(self._robot, q, qd)
        return equations_of(metric, terms, self._contacts.names, which, tau)

    def _stepped(self, time: float, q: Array, qd: Array, h: float) -> Step:
        """Return a step of a length."""
        scheme, state = self._scheme, np.concatenate([q, qd])
        rates, first = np.zeros((len(scheme.b), len(state))), np.zeros(0)
        for i, (row, c) in enumerate(zip(scheme.A, scheme.c, strict=True)):
            rates[i], force = self._rates(time + c * h, *self._moved(state, h, row, rates))
            first = first if i else force
        end = self._moved(state, h, scheme.b, rates)
        if not np.isfinite(end[0] @ end[0] + end[1] @ end[1]):
            raise Trouble(time, "motion is unbounded")
        return Step(time, q, qd, h, rates, first, (self._normalized(end[0]), end[1]))

    def _within(self, step: Step, part: float) -> tuple[Array, Array]:
        """Return the state within a step, at a part of its length (11.47)."""
        if part >= 1.0:
            return step.end
        weights = interpolation_weights(self._scheme, part)
        if weights is None:
            return self._stepped(step.time, step.q, step.qd, part * step.h).end
        q, qd = self._moved(np.concatenate([step.q, step.qd]), step.h, weights, step.rates)
        return self._normalized(q), qd

    def _moved(
        self, state: Array, h: float, weights: Sequence[float], rates: Array
    ) -> tuple[Array, Array]:
        """Return positions and velocities moved by weighted rates over a step."""
        state = state + np.dot(weights, rates[: len(weights)]) * h
        return state[: self._robot.model.nq], state[self._robot.model.nq :]

    def _normalized(self, q: Array) -> Array:
        return np.array(self._robot.model.normalized(q.tolist()), dtype=float)

    def _projected(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the state with loops and active contacts closed, in the metric of H."""
        model = self._robot.model
        if not (self._active or model.constraint_count):
            return q, qd
        terms, metric = self._contacts(q, qd), Metric(self._robot, q, qd)

        _, loops = self._robot.closure(q)
        loops = np.where(model.holonomic, loops, 0.0)
        normals = terms.T[:, self._active].T
        move = _taking_away(metric, loops, normals, terms.gap[self._active])
        moved = np.array(model.integrate(q.tolist(), move.tolist()), dtype=float)
        speeds = metric.loop_rates(qd)
        self.effort = replace(
            self.effort,
            correction=max(self.effort.correction, float(np.abs(loops).max(initial=0.0))),
        )
        rows = np.vstack([normals, self._sticking(terms)])
        return moved, qd + _taking_away(metric, speeds, rows, rows @ qd)

    def _sticking(self, terms: ContactTerms) -> Array:
        """Return rows of the velocities (k, nv) that friction keeps zero."""
        return np.zeros((0, terms.T.shape[0]))

    def _count(self) -> None:
        self.effort = replace(self.effort, steps=self.effort.steps + 1)

    # --- events ----------------------------------------------------------------------------

    def _first_event(self, step: Step) -> tuple[Step, float, set[int], set[int]]:
        """Return the step, its part until its first event, and who closes or lets go there."""
        found = [(part, i, True) for part, i in self._closings(step)]
        if self._active:
            _, force = self._rates(step.time + step.h, *step.end)
            least = -_NO_FORCE * max(
                float(np.abs(force).max()), float(np.abs(step.force).max()), 1e-300
            )
            for place, i in enumerate(self._active):
                if force[place] < least:
                    found.append((self._letting_go(step, place, least), i, False))
        if not found:
            return step, 1.0, set(), set()
        part = min(found)[0]
        same = {(i, closes) for p, i, closes in found if p <= part + 1e-12}
        closing = {i for i, closes in same if closes}
        return step, part, closing, {i for i, closes in same if not closes}

    def _closings(self, step: Step) -> list[tuple[float, int]]:
        """Return the parts of a step at which gaps become negative, and whose they are."""
        before, after = self._contacts(step.q, step.qd), self._contacts(*step.end)
        # No cubic of gaps and rates is below its ends by more than that.
        below = 4.0 / 27.0 * step.h * (np.abs(before.rate) + np.abs(after.rate))
        near = np.flatnonzero(np.minimum(before.gap, after.gap) <= below).tolist()
        others = [i for i in near if i not in self._active]
        parts = [(self._closing(step, i, before, after), i) for i in others]
        return [(part, i) for part, i in parts if part is not None]

    def _closing(
        self, step: Step, i: int, before: ContactTerms, after: ContactTerms
    ) -> float | None:
        """Return the part of a step at which a gap becomes negative; None if it does not."""
        g0 = float(before.gap[i])
        # The cubic of both gaps and rates tells where to look.
        cubic = Cubic.through(
            g0, step.h * float(before.rate[i]), float(after.gap[i]), step.h * float(after.rate[i])
        )
        turns = cubic.turns()
        low = next((x for x in [*turns, 1.0] if cubic(x) < -CLOSED), None)
        if low is None:
            return None

        def gap(part: float) -> tuple[float, float]:
            terms = self._contacts(*self._within(step, part))
            return float(terms.gap[i]), step.h * float(terms.rate[i])

        apart = [x for x in [0.0, *turns] if x < low and cubic(x) > 0.0]
        if apart == [0.0] and g0 <= CLOSED:
            # It has just bounced: the first moment at which it is apart.
            apart = [0.5 * min([x for x in turns if x > 0.0], default=low)]
        high = next((x for x in reversed(apart) if gap(x)[0] > 0.0), None)
        if high is None:
            # Closed from the start, and about to go deeper: at once, or, if it opens by less than
            # what is closed, when it comes back.
            opens = bool(turns) and float(before.rate[i]) > STILL
            return min(2.0 * turns[0], low) if opens else 0.0
        return crossing(gap, high, low) if gap(low)[0] < 0.0 else None

    def _letting_go(self, step: Step, place: int, least: float) -> float:
        """Return the part of a step at which a force becomes negative."""

        def force(part: float) -> float:
            time = step.time + part * step.h
            return float(self._rates(time, *self._within(step, part))[1][place]) - 0.5 * least

        if force(0.0) <= 0.0:
            return 0.0
        return float(brentq(force, 0.0, 1.0, xtol=1e-14, rtol=1e-14))

    def _struck(self, time: float, q: Array, qd: Array, closing: set[int]) -> tuple[Array, Array]:
        """Return the state after a blow at all that is closed, and find the sets anew."""
        terms = self._contacts(q, qd)
        touching = set(self._current) | closing | set(np.flatnonzero(terms.gap <= CLOSED).tolist())
        hit = sorted(i for i in touching if terms.rate[i] < STILL or i in self._current)
        if hit and terms.rate[hit].min() < -STILL:
            before = terms.rate[hit]
            e = np.where(before < -self._rest_speed, self._contacts.restitution[hit], 0.0)
            impulse, change = self._blow(time, q, qd, terms, hit, e)
            qd = qd + change
            after = self._contacts(q, qd)
            for place, i in enumerate(hit):
                if impulse[place] > 0.0 and before[place] < -self._rest_speed:
                    self.events.append(
                        ContactEvent(
                            time, "impact", self._contacts.names[i], float(before[place]),
                            float(after.rate[i]), float(impulse[place]),
                        )
                    )  # fmt: skip
            terms = after
            if before.min() >= -self._rest_speed:
                # What knocks and leaves slowly rests (Zeno), and with it what slips no faster.
                slow = [i for i in sorted(touching) if abs(terms.rate[i]) < self._rest_speed]
                slip = np.linalg.norm(terms.along @ qd, axis=1)
                held = [
                    i
                    for i in slow
                    if self._contacts.friction[i] > 0.0 and slip[i] <= -before.min()
                ]
                rows = np.vstack([terms.T[:, slow].T, *terms.along[held]])
                metric = Metric(self._robot, q, qd)
                qd = qd + _taking_away(metric, metric.loop_rates(qd), rows, rows @ qd)
                terms = self._contacts(q, qd)
        resting = [i for i in sorted(touching) if abs(terms.rate[i]) <= STILL]
        self._choose(time, q, qd, resting, set())
        return self._projected(q, qd)

    def _blow(
        self, time: float, q: Array, qd: Array, terms: ContactTerms, hit: list[int], e: Array
    ) -> tuple[Array, Array]:
        """Return impulses along the normals (k,) of what is hit, and what velocities change by."""
        at = self._equations(q, qd, terms, hit, np.zeros(len(qd)))
        try:
            impulse = newton_impulses(at.M, terms.rate[hit], e)
        except RobotDynamicsError as error:
            raise Trouble(time, str(error).rstrip(".")) from error
        return impulse, at.metric.motion(at.normals @ impulse)

    def _let_go(self, time: float, q: Array, qd: Array, letting_go: set[int]) -> None:
        """Find the sets anew where a force became negative."""
        self._choose(time, q, qd, list(self._current), letting_go)

    def _choose(
        self, time: float, q: Array, qd: Array, closed: list[int], letting_go: set[int]
    ) -> None:
        """Solve the complementarity problem of closed contacts, and take up both sets."""
        old, self._current, self._active = set(self._current), [], []
        if closed:
            tau = self._tau(time, q, qd)
            at = self._equations(q, qd, self._contacts(q, qd), closed, tau)
            try:
                found = contact_forces(at)
            except NoContactForces as error:
                raise Trouble(time, str(error).rstrip(".")) from error
            scale = np.sqrt(np.diagonal(at.M))
            still = _NO_FORCE * max(float(np.abs(at.d / scale).max()), 1e-300)
            basis: list[Array] = []
            order = sorted(range(len(closed)), key=lambda k: -found.force[k] * scale[k])
            for k in order:
                pushes = found.force[k] * scale[k] > still
                stays = found.separation[k] / scale[k] <= still
                if not (pushes or stays) or (closed[k] in letting_go and not pushes):
                    continue
                self._current.append(closed[k])
                rest = at.normals[:, k] / scale[k]
                for direction in (*basis, *basis):  # twice is enough
                    rest = rest - direction * (direction @ rest)
                size = float(np.linalg.norm(rest))
                if size > _DEPENDENT:
                    basis.append(rest / size)
                    self._active.append(closed[k])
            self._active.sort()
        now = set(self._current)
        for kind, names in (("closed", now - old), ("open", old - now)):
            self.events += [
                ContactEvent(time, kind, self._contacts.names[i], 0.0, 0.0, 0.0)
                for i in sorted(names)
            ]


def _taking_away(metric: Metric, loops: Array, rows: Array, rates: Array) -> Array:
    """Return the least motion (nv,) that takes away what loops and rows of contacts are off by."""
    x = metric.along_loops(-loops)
    across = metric.of_force(rows.T).T
    sizes = np.linalg.norm(across, axis=1)
    sizes[sizes <= _DEPENDENT * sizes.max(initial=0.0)] = np.inf  # what cannot move
    rest = -rates - rows @ metric.motion(x)
    more = np.linalg.lstsq(across / sizes[:, None], rest / sizes, rcond=_DEPENDENT)[0]
    return metric.motion(x + more)


class Cubic(NamedTuple):
    """a x^3 + b x^2 + c x + d, for x from 0 to 1."""

    a: float
    b: float
    c: float
    d: float

    @classmethod
    def through(cls, g0: float, s0: float, g1: float, s1: float) -> Cubic:
        """Return the one with these values and slopes at 0 and at 1."""
        return cls(2.0 * (g0 - g1) + s0 + s1, 3.0 * (g1 - g0) - 2.0 * s0 - s1, s0, g0)

    def __call__(self, x: float) -> float:
        """Return the value."""
        return ((self.a * x + self.b) * x + self.c) * x + self.d

    def turns(self) -> list[float]:
        """Return where its slope is zero between 0 and 1, in order."""
        inside = self.b * self.b - 3.0 * self.a * self.c
        if not inside >= 0.0:
            return []
        q = -(self.b + math.copysign(math.sqrt(inside), self.b))
        roots = [up / down for up, down in ((q, 3.0 * self.a), (self.c, q)) if down]
        return sorted(x for x in roots if 0.0 < x < 1.0)


def crossing(value: Callable[[float], tuple[float, float]], low: float, high: float) -> float:
    """Return where a function, which returns its slope besides, comes down to zero.

    By Newton's method between two places, the value at the first positive and at the other not;
    where it leads out of what is left between them, and every eighth time, by their middle.
    """
    part, count = high, 0
    while True:
        here, slope = value(part)
        low, high = (part, high) if here > 0.0 else (low, part)
        if here == 0.0 or high - low <= 1e-15 * high:
            return part
        after = part - here / slope if slope < 0.0 else low
        if abs(after - part) <= 1e-15 * part:
            return part
        count += 1
        part = after if low < after < high and count % 8 else 0.5 * (low + high)
