# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Integration with contacts from event to event (Table 11.1), with Coulomb friction or without.

Between events the same contacts are closed: their gap and its rate stay zero. At every stage of
the scheme `contact.accelerations` finds the forces that meet Signorini's and Coulomb's laws with
them. Open contacts have no force. After each step the first event in it ends the step:

- the gap of an open contact becomes negative: an impact of all contacts that are closed then
  (contact gain);
- the normal acceleration of a closed contact is no longer zero: its force has come down to zero,
  and it opens (dynamic contact loss);
- a slip stops, reverses or begins, see `slips`. Friction is not in the book's table.

Joints that Coulomb friction holds are closed contacts with a slip along one direction: they stop,
reverse and begin to move at events, and never open.

Impacts follow Newton's law with Coulomb friction between impulses and the velocities after them;
restitution is reduced where it would give energy. Impacts slower than `rest_speed` have no
restitution, which ends bouncing and rocking (Zeno): contacts that are closed and separate no
faster stay closed. That takes energy, at most m rest_speed^2 / 2 each time, and never gives any.
More than 100 steps within a millionth of the longest one end the integration with an error that
names their contacts.

An event within a step of Euler's and Heun's scheme is found by the interpolation of the scheme
(11.49, 11.51). Schemes of higher order take the step anew with another length, so that events are
as accurate as steps.

Where no forces meet the laws (Painleve's paradox, as for a rod that slides on its leading tip; or
contacts wedged in) the integration ends with an error. If several contacts share a load, their
forces are as near as possible to the previous ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.contact.accelerations import ContactAccelerations, ContactState
from robot_dynamics.contact.equations import Metric, NoContactForces
from robot_dynamics.contact.points import Contacts, ContactTerms, Inequality
from robot_dynamics.dynamics.arguments import positive_number
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators.method import Force
from robot_dynamics.simulation.integrators.roots import Cubic, falling_root
from robot_dynamics.simulation.integrators.slips import STILL, Slips
from robot_dynamics.simulation.integrators.trajectory import ContactEvent, Effort, Trouble
from robot_dynamics.simulation.runge_kutta import Scheme, interpolation_weights

#: Default `rest_speed` [m/s].
REST_SPEED = 1e-3
_LEAST_REST_SPEED = 1e-6
#: Largest gap [m, or the unit of an inequality] of a closed contact.
CLOSED = 1e-9
# Constraint rows of which less than this part is independent of the others count as dependent.
_DEPENDENT = 1e-6
# Number of steps within this share of the longest step that are an accumulation of events.
_MOST_AT_ONCE = 100
_AT_ONCE = 1e-6
# Normal accelerations of contacts that open are above this part of tangential ones, negative: when
# they open is known to so much.
_OPENING = 1e-6
# Events no farther apart than this part of a step are simultaneous.
_SIMULTANEOUS = 1e-12


class SchemeStep(NamedTuple):
    """One step of the scheme.

    Attributes:
        time: At its start [s].
        q: Positions at its start (nq,).
        qd: Velocities at its start (nv,).
        h: Its length [s].
        rates: Derivatives of the state at the stages of the scheme (s, nq + nv).
        end: Positions (nq,) and velocities (nv,) at its end.
    """

    time: float
    q: Array
    qd: Array
    h: float
    rates: Array
    end: tuple[Array, Array]


class EventSteps:
    """Integrates from event to event.

    Attributes:
        effort: Steps so far, and the largest correction of loops.
        time: Time reached [s].
        events: Events so far.

    Args:
        robot: The mechanism.
        scheme: The Runge-Kutta scheme.
        force: Joint forces (nv,), or a function that returns them.
        step: Longest step [s].
        contacts: All possible contacts, rigid, and the joints that friction holds.
        start: Positions (nq,) and velocities (nv,) at the start.
        rest_speed: Impacts slower than this [m/s] have no restitution and leave contacts closed.

    Raises:
        ArgumentError: If `rest_speed` is less than 1e-6, or a gap is negative at the start.
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
                "slower bounces are rounding errors, and never end."
            )
        self.events: list[ContactEvent] = []
        self.effort, self.time = Effort(), 0.0
        gap = contacts(*start).gap
        if gap.min(initial=0.0) < -CLOSED:
            deepest = int(np.argmin(gap))
            what, depth = contacts.names[deepest], -float(gap[deepest])
            place = f"{robot.model.name}: at the start"
            if isinstance(contacts.items[deepest], Inequality):
                raise ArgumentError(
                    f"{place} phi of {what!r} is {-depth:.3g}, expected zero or more."
                )
            raise ArgumentError(
                f"{place} contact {what!r} is {depth:.3g} m deep, expected {CLOSED:g} m at most."
            )
        self._accelerations = ContactAccelerations(contacts)
        self._accelerations.follow(*start)
        #: Names, and mu or one, of contacts, then of joints with friction; these follow.
        self._names = (*contacts.names, *contacts.joints)
        self._friction = np.array([*contacts.friction, *([1.0] * len(contacts.joints))])
        self._joints = [*range(len(contacts.names), len(self._names))]
        self._slips = Slips(self._accelerations, self._friction, step)
        self._closed: list[int] = list(self._joints)
        self._stopped: set[int] = set()  # contacts whose slip is zero where the last step ended
        #: Contacts that open there, None, or begin to slip, in the direction (2,).
        self._released: dict[int, Array | None] = {}
        self._cached: tuple[SchemeStep | None, dict[float, tuple[Array, Array]]] = None, {}

    def run(self, times: Sequence[float], q: Array, qd: Array) -> Iterator[tuple[Array, Array]]:
        """Yield positions (nq,) and velocities (nv,) at the times after the first."""
        self.time = times[0]
        last: deque[tuple[float, set[int]]] = deque(maxlen=_MOST_AT_ONCE)
        q, qd = self._impact(q, qd, set())
        for target in times[1:]:
            while target - self.time > 1e-12 * self._h:
                left = target - self.time
                h = left if left < self._h * (1.0 + 1e-9) else self._h
                step, part, closing, changing = self._first_event(
                    self._stepped(self.time, q, qd, h)
                )
                last.append((self.time, closing | changing))
                if len(last) == _MOST_AT_ONCE and self.time - last[0][0] < _AT_ONCE * self._h:
                    which = sorted(set().union(*(contacts for _, contacts in last)))
                    names = ", ".join(repr(self._names[i]) for i in which)
                    raise Trouble(
                        self.time,
                        f"{_MOST_AT_ONCE} events of {names} follow each other in "
                        f"{self.time - last[0][0]:.1g} s",
                        "contacts that do not contradict each other, a larger rest_speed, or "
                        "rd.Simulation",
                    )
                ends = part >= 1.0 and step.h == left
                self.time = target if ends else self.time + min(part, 1.0) * step.h
                q, qd = self._projected(*self._within(step, part))
                self.effort = replace(self.effort, steps=self.effort.steps + 1)
                if closing:
                    q, qd = self._impact(q, qd, closing)
                elif changing:
                    self._set_closed(q, qd, list(self._closed))
            yield q, qd

    # --- steps -----------------------------------------------------------------------------

    def _rates(self, time: float, q: Array, qd: Array, closed: Sequence[int]) -> Array:
        """Return the derivative of the state (nq + nv,) with some contacts closed."""
        tau = self._force(time, q, qd) if callable(self._force) else self._force
        try:
            return self._accelerations(q, qd, tau, closed)
        except NoContactForces as error:
            raise _no_forces(time, error) from error

    def _state(self, time: float, q: Array, qd: Array, closed: Sequence[int]) -> ContactState:
        """Return forces, accelerations and slips of all contacts, some of them closed."""
        self._rates(time, q, qd, closed)
        return self._accelerations.state(closed)

    def _at(self, step: SchemeStep, part: float) -> ContactState:
        """Return forces, accelerations and slips within a step, at a part of its length."""
        return self._state(step.time + part * step.h, *self._within(step, part), self._closed)

    def _stepped(self, time: float, q: Array, qd: Array, h: float) -> SchemeStep:
        """Return a step of length h [s]."""
        scheme, state = self._scheme, np.concatenate([q, qd])
        rates = np.zeros((len(scheme.b), len(state)))
        for i, (row, c) in enumerate(zip(scheme.A, scheme.c, strict=True)):
            stage = self._moved(time, state, h, row, rates)
            rates[i] = self._rates(time + c * h, *stage, self._closed)
        end = self._moved(time, state, h, scheme.b, rates)
        return SchemeStep(time, q, qd, h, rates, (self._normalized(end[0]), end[1]))

    def _within(self, step: SchemeStep, part: float) -> tuple[Array, Array]:
        """Return positions and velocities within a step, at a part of its length (11.47)."""
        if part >= 1.0:
            return step.end
        if self._cached[0] is not step:
            self._cached = step, {}
        known = self._cached[1]
        if part not in known:
            weights = interpolation_weights(self._scheme, part)
            if weights is None:
                known[part] = self._stepped(step.time, step.q, step.qd, part * step.h).end
            else:
                start = np.concatenate([step.q, step.qd])
                q, qd = self._moved(step.time, start, step.h, weights, step.rates)
                known[part] = self._normalized(q), qd
        return known[part]

    def _moved(
        self, time: float, state: Array, h: float, weights: Sequence[float], rates: Array
    ) -> tuple[Array, Array]:
        """Return positions and velocities moved by weighted rates over a step from a time [s]."""
        with np.errstate(all="ignore"):
            state = state + np.dot(weights, rates[: len(weights)]) * h
            if not np.isfinite(state @ state):
                raise Trouble(time, "motion is unbounded")
        return state[: self._robot.model.nq], state[self._robot.model.nq :]

    def _normalized(self, q: Array) -> Array:
        return np.array(self._robot.model.normalized(q.tolist()), dtype=float)

    def _projected(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the state with errors of loops and closed contacts removed, and start from it.

        By the least motion in the metric of H.
        """
        model, slips = self._robot.model, self._slips
        slips.direction[list(self._stopped)] = 0.0  # so that all of their slip is removed
        if self._closed or model.constraint_count:
            terms, metric = self._contacts(q, qd), Metric(self._robot, q, qd)
            _, loops = self._robot.closure(q)
            loops = np.where(model.holonomic, loops, 0.0)
            touching = self._touching()
            normals = terms.T[:, touching].T
            # Joints that friction holds stay where they are.
            held = self._accelerations.joint_rows(q, qd)[
                [i - len(terms.gap) for i in slips.sticking(self._joints)]
            ]
            gaps = np.concatenate([terms.gap[touching], np.zeros(len(held))])
            move = _least_motion(metric, -loops, np.vstack([normals, held]), -gaps)
            correction = max(self.effort.correction, float(np.abs(loops).max(initial=0.0)))
            self.effort = replace(self.effort, correction=correction)
            rows = np.vstack([normals, *terms.along[slips.sticking(touching)], held])
            q = np.array(model.integrate(q.tolist(), move.tolist()), dtype=float)
            qd = qd + _least_motion(metric, -metric.loop_rates(qd), rows, -(rows @ qd))
        self._accelerations.follow(q, qd)
        if self._closed:
            found = self._state(self.time, q, qd, self._closed)
            self._accelerations.keep()
            slips.update(found, lambda: self._state(self.time, q, qd, self._closed))
        return q, qd

    def _touching(self) -> list[int]:
        """Return the closed contacts, without joints."""
        return self._closed[: len(self._closed) - len(self._joints)]

    # --- events ----------------------------------------------------------------------------

    def _first_event(self, step: SchemeStep) -> tuple[SchemeStep, float, set[int], set[int]]:
        """Return the first event of a step.

        Returns:
            The step, taken anew if slips ask for a shorter one or do not go straight on; the part
            of it until the event, 1 if there is none; contacts whose gap closes there; contacts
            that open, stop or begin to slip.
        """
        slips, closed = self._slips, self._closed
        known: dict[float, ContactState] = {}
        if closed:
            start = self._at(step, 0.0)
            h = min(step.h, slips.longest_step(start))
            if slips.straight.any() and slips.bend(self._at(step, 1.0)):
                slips.release_straight()
                h = min(h, slips.longest_step(start))
                step = self._stepped(step.time, step.q, step.qd, step.h)
            if h < step.h:
                step = self._stepped(step.time, step.q, step.qd, h)
            known[0.0] = start
        closing = self._closings(step)
        changing: list[tuple[float, int]] = []
        stopping: list[tuple[float, int]] = []
        shorter: list[float] = []
        released: dict[int, Array | None] = {}

        def at(part: float) -> ContactState:
            if part not in known:
                known[part] = self._at(step, part)
            return known[part]

        if closing:
            closing, shorter = self._truly_closing(step, closing, at(0.0))
        if closed:
            if slips.releases(at(1.0), closed):
                part, released = slips.first_release(at, closed)
                changing = [(part, i) for i in released]
            for i in filter(slips.sliding, closed):
                found = slips.stop(at, step.h, i)
                if found is not None and found[1]:
                    stopping.append((found[0], i))
                elif found is not None:
                    shorter.append(found[0])
        first = min([*(part for part, _ in closing + changing + stopping), *shorter, 1.0])

        def of(found: list[tuple[float, int]]) -> set[int]:
            return {i for part, i in found if part <= first + _SIMULTANEOUS}

        self._stopped = of(stopping)
        going = of(changing) - self._stopped
        self._released = {i: way for i, way in released.items() if i in going}
        return step, first, of(closing), going | self._stopped

    def _closings(self, step: SchemeStep) -> list[tuple[float, int]]:
        """Return the parts of a step at which gaps become negative, and their contacts."""
        before, after = self._contacts(step.q, step.qd), self._contacts(*step.end)
        # A cubic is nowhere below its ends by more than this, by its slopes there.
        below = 4.0 / 27.0 * step.h * (np.abs(before.rate) + np.abs(after.rate))
        near = np.flatnonzero(np.minimum(before.gap, after.gap) <= below).tolist()
        others = [i for i in near if i not in self._closed]
        parts = [(self._closing(step, i, before, after), i) for i in others]
        return [(part, i) for part, i in parts if part is not None]

    def _closing(
        self, step: SchemeStep, i: int, before: ContactTerms, after: ContactTerms
    ) -> float | None:
        """Return the part of a step at which a gap becomes negative; None if it does not."""
        g0 = float(before.gap[i])
        # The cubic through the gaps and rates at both ends brackets the root.
        cubic = Cubic.through(
            g0, step.h * float(before.rate[i]), float(after.gap[i]), step.h * float(after.rate[i])
        )
        turns = cubic.stationary()
        low = next((x for x in [*turns, 1.0] if cubic(x) < -CLOSED), None)
        if low is None:
            return None

        def gap(part: float) -> tuple[float, float]:
            terms = self._contacts(*self._within(step, part))
            return float(terms.gap[i]), step.h * float(terms.rate[i])

        apart = [x for x in [0.0, *turns] if x < low and cubic(x) > 0.0]
        if apart == [0.0] and g0 <= CLOSED:
            # It has just bounced: the bracket begins where the gap is positive.
            apart = [0.5 * min([x for x in turns if x > 0.0], default=low)]
        high = next((x for x in reversed(apart) if gap(x)[0] > 0.0), None)
        if high is None:
            # The gap is within CLOSED and gets smaller: at once, or, if it grows at first by less
            # than CLOSED, when it is back.
            opens = bool(turns) and float(before.rate[i]) > STILL
            return min(2.0 * turns[0], low) if opens else 0.0
        return falling_root(gap, high, low) if gap(low)[0] < 0.0 else None

    def _truly_closing(
        self, step: SchemeStep, closing: list[tuple[float, int]], start: ContactState
    ) -> tuple[list[tuple[float, int]], list[float]]:
        """Return the contacts that close, and parts of the step to take without them.

        A body that does not accelerate towards a surface that it has just left returns to it only
        by the scheme's error, which is smaller in shorter steps.
        """
        true: list[tuple[float, int]] = []
        shorter: list[float] = []
        terms = self._contacts(step.q, step.qd)
        leaves = (terms.gap <= CLOSED) & (terms.rate >= -STILL)
        for part, i in closing:
            rate, less = start.acceleration[i], None
            if leaves[i] and rate[0] >= -_OPENING * float(np.hypot(*rate[1:])):
                tried = (0.5**k for k in range(1, 20))
                gaps = ((x, self._contacts(*self._within(step, x)).gap[i]) for x in tried)
                less = next((x for x, there in gaps if there >= -CLOSED), None)
            if less is None:
                true.append((part, i))
            else:
                shorter.append(less)
        return true, shorter

    def _impact(self, q: Array, qd: Array, closing: set[int]) -> tuple[Array, Array]:
        """Return the state after an impact, and determine anew which contacts are closed.

        The impact includes all contacts whose gap is zero, and those in `closing`.
        """
        self._released = {}
        terms, friction = self._contacts(q, qd), self._contacts.friction
        closed = self._touching()
        touching = {*closed, *closing, *np.flatnonzero(terms.gap <= CLOSED).tolist()}
        hit = sorted(i for i in touching if terms.rate[i] < STILL or i in closed)
        if hit and terms.rate[hit].min() < -STILL:
            before = terms.rate[hit]
            e = np.where(before < -self._rest_speed, self._contacts.restitution[hit], 0.0)
            try:
                impulse, change = self._accelerations.impact(q, qd, hit, e)
            except NoContactForces as error:
                raise _no_forces(self.time, error) from error
            qd = qd + change
            after = self._contacts(q, qd)
            for i, speed in zip(hit, before, strict=True):
                if impulse[i, 0] > 0.0 and speed < -self._rest_speed:
                    self._tell("impact", i, float(speed), float(after.rate[i]), impulse[i, 0])
            terms = after
            if before.min() >= -self._rest_speed:
                # Contacts that separate slowly come to rest (Zeno), and with them those whose slip
                # is not faster than the impact.
                slow = [i for i in sorted(touching) if abs(terms.rate[i]) < self._rest_speed]
                slip = np.linalg.norm(terms.along @ qd, axis=1)
                held = [i for i in slow if friction[i] > 0.0 and slip[i] <= -before.min()]
                rows = np.vstack([terms.T[:, slow].T, *terms.along[held]])
                metric = Metric(self._robot, q, qd)
                qd = qd + _least_motion(metric, -metric.loop_rates(qd), rows, -(rows @ qd))
                terms = self._contacts(q, qd)
        closed = [i for i in sorted(touching) if abs(terms.rate[i]) <= STILL]
        self._set_closed(q, qd, closed + self._joints)
        return self._projected(q, qd)

    def _set_closed(self, q: Array, qd: Array, candidates: list[int]) -> None:
        """Determine which of some contacts stay closed, which of these slide, and their direction.

        Args:
            q: Positions (nq,).
            qd: Velocities (nv,).
            candidates: Contacts whose gap and its rate are zero, then all joints with friction.
        """
        slips, mu = self._slips, self._friction
        old, before = set(self._closed), slips.direction.copy()
        begins_to = self._released
        if begins_to:  # contacts that have just begun to slip go on with it
            began = old - self._stopped
            begins_to = {i: before[i] for i in began if before[i].any()} | begins_to
        self._closed = []
        slips.direction[:] = 0.0
        told: list[tuple[str, int]] = []
        if candidates:
            slip = self._accelerations.slip(q, qd)
            slides = (np.hypot(*slip.T) > STILL) & (mu > 0.0)
            slides[list(self._stopped)] = False
            for i in np.flatnonzero(slides).tolist():
                if i in candidates:
                    keeps = slips.fixed[i] and before[i].any()
                    slips.direction[i] = before[i] if keeps else slip[i] / np.hypot(*slip[i])
            slips.fixed[:] = False
            found = self._state(self.time, q, qd, candidates)
            slips.update(found, lambda: self._state(self.time, q, qd, candidates))
            if slips.fixed.any():  # other contacts may begin to slip with these directions
                found = self._state(self.time, q, qd, candidates)
            self._accelerations.keep()
            for i in candidates:
                rate = found.acceleration[i]
                way = begins_to.get(i, rate[1:])
                if rate[0] > found.zero or way is None:
                    slips.direction[i] = 0.0
                    continue
                self._closed.append(i)
                size = float(np.hypot(*way))
                begins = not slides[i] and mu[i] > 0.0 and size > found.zero
                if begins:
                    slips.direction[i] = way / size
                slid = i in old and (before[i].any() or i in self._stopped)
                if (begins or slides[i]) and not (slid and (slides[i] or i in begins_to)):
                    told.append(("slip", i))
                elif not (begins or slides[i]) and mu[i] > 0.0 and (i not in old or slid):
                    told.append(("stick", i))
            slips.update(found, lambda: self._state(self.time, q, qd, self._closed))
        self._stopped = set()
        now = set(self._closed)
        told = [("closed", i) for i in sorted(now - old)] + told
        for kind, i in told + [("open", i) for i in sorted(old - now)]:
            self._tell(kind, i)

    def _tell(
        self, kind: str, i: int, before: float = 0.0, after: float = 0.0, impulse: float = 0.0
    ) -> None:
        """Add an event of contact i."""
        name = self._names[i]
        self.events.append(ContactEvent(self.time, kind, name, before, after, float(impulse)))


def _no_forces(time: float, error: NoContactForces) -> Trouble:
    """Return the error that ends the integration at a time [s]."""
    reason, _, expected = str(error).rstrip(".").partition("; expected ")
    return Trouble(time, reason, expected)


def _least_motion(metric: Metric, loops: Array, rows: Array, rates: Array) -> Array:
    """Return the least motion (nv,) with given rates of loops (n^c,) and rows (k, nv), (k,).

    Rates of rows that depend on others are met in least squares.
    """
    x = metric.along_loops(loops)
    across = metric.of_force(rows.T).T
    sizes = np.linalg.norm(across, axis=1)
    # Rows that move nothing: beside others, or because loops determine them, as at a dead point.
    least = np.maximum(
        sizes.max(initial=0.0), np.linalg.norm(metric.of_force_without_loops(rows.T), axis=0)
    )
    sizes[sizes <= _DEPENDENT * least] = np.inf
    rest = rates - rows @ metric.motion(x)
    more = np.linalg.lstsq(across / sizes[:, None], rest / sizes, rcond=_DEPENDENT)[0]
    return metric.motion(x + more)
