# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Impulsive dynamics (11.7): impacts of trees, floating bases and closed loops.

An impulse u in joint space changes velocities by H (qd+ - qd-) = u (11.57); an impulse iota on a
body has u = J^T iota (11.58). Loops stay closed in impacts. With impulses lambda along normals the
rates of gaps, phi' = T^T qd, follow one of the laws

- Newton, kinematic: `phi'+ >= -e phi'-`, `lambda >= 0`, at least one of them with equality;
- Poisson, kinetic: compression by impulses `lambda_c` until `phi' >= 0`, then restitution by
  `e lambda_c`, and by more at contacts that would close again;
- Stronge, energetic, for one contact: the work of the normal force in restitution is `e^2` times
  the work in compression,

which agree for one contact without friction. Rigid-body models have no unique result if several
contacts close at once (Newton's cradle). The laws return the result of one impact at all contacts
together, and set `simultaneous`. No law adds energy. Restitution is reduced if Newton's law would
add energy with contacts that open before the impact, Poisson's with different e, or (11.72) by
stopping slip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.arrays import Array, Vector
from robot_dynamics.contact.complementarity import linear_complementarity
from robot_dynamics.contact.equations import Metric, equations_of
from robot_dynamics.contact.points import Contacts, ContactTerms, closed_contacts, state_of
from robot_dynamics.contact.solver import ContactSolver
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.robot import Robot

LAWS = ("newton", "poisson", "stronge")
# Tolerances of an impact with slip, in units of the speed of approach and the impulse that stops
# it: zero speed, accuracy, remaining turn of a steady slip, and infinite span. Integration errors
# prevent a steadier direction.
_STILL = 1e-10
_ACCURACY = 1e-12
_STEADY = 100.0 * _ACCURACY
_FOR_EVER = 1e12
# Remaining approach, as a share of the largest speed, above which impulses violate the laws of an
# impact.
_APPROACH = 1e-6
_JAMS = "an impact with friction did not end: the slip jams."


class ContactImpact(NamedTuple):
    """Velocities and impulses of an impact at m contacts.

    Attributes:
        qd: Velocities after the impact (nv,).
        impulse: Along the normals (m,) [N s].
        tangential: Along both tangents (m, 2) [N s]; zero without friction.
        before: phi' before the impact (m,) [m/s].
        after: phi' after the impact (m,) [m/s].
        energy_lost: Loss of kinetic energy [J].
        simultaneous: Whether more than one contact has an impulse: the result is not unique.
    """

    qd: Array
    impulse: Array
    tangential: Array
    before: Array
    after: Array
    energy_lost: float
    simultaneous: bool


def struck(robot: Robot, q: Vector, qd: Vector, impulses: Mapping[str, Vector]) -> Array:
    """Return the velocities (nv,) after impulses on frames, (11.57) to (11.59); loops stay closed.

    Args:
        robot: The mechanism.
        q: Positions (nq,), loops closed.
        qd: Velocities (nv,) before the impulses.
        impulses: Of each frame, by its name: impulse of moment about its origin and of force (6,)
            [N m s, N s], in world axes.

    Raises:
        UnknownNameError: If a frame does not exist.
        ArgumentError: If an argument has the wrong type or shape, or is not finite.
    """
    if not isinstance(robot, Robot):
        raise ArgumentError(f"robot is {robot!r:.60}, expected a Robot.")
    q0 = finite_vector("q", q, robot.model.nq)
    qd0 = finite_vector("qd", qd, robot.model.nv)
    metric = Metric(robot, q0, qd0)
    u = robot.external_forces(q0, impulses, "aligned")
    if not np.isfinite(u).all():
        raise ArgumentError(
            f"impulses are {impulses!r:.120}, with a number that is not finite; expected finite "
            "numbers."
        )
    return np.asarray(qd0 + metric.motion(metric.of_force(u)))


def impact(
    contacts: Contacts,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    closed: Sequence[int | str] | None = None,
    restitution: ArrayLike | None = None,
    law: Literal["newton", "poisson", "stronge"] = "newton",
) -> ContactImpact:
    """Return the impact at closed contacts without friction; law "stronge": with Coulomb friction.

    Args:
        contacts: All possible contacts.
        q: Positions (nq,), loops closed.
        qd: Velocities (nv,) before the impact.
        closed: Names or indices of the contacts that take part; their gaps are not checked.
            Default: all; then each gap must be within 1 mm.
        restitution: e of each of `contacts` or one number; by default from their materials.
        law: "newton", "poisson" or "stronge", see the module.

    Raises:
        ArgumentError: If an argument has the wrong shape or is out of range, a contact is soft or
            not closed, or the law is "stronge" and not one contact takes part.
        RobotDynamicsError: If no impulses satisfy the law: a body is wedged in, or jams.
    """
    q0, qd0 = state_of(contacts, q, qd)
    if law not in LAWS:
        raise UnknownNameError("law", str(law), LAWS)
    terms, metric = contacts(q0, qd0), Metric(contacts.robot, q0, qd0)
    which, e = taking_part(contacts, terms, closed, restitution)
    equations = equations_of(metric, terms, contacts.names, which, np.zeros(len(qd0)))
    M, before = equations.M, equations.T.T @ qd0
    tangential = np.zeros((len(which), 2))
    push = equations.normals
    if law == "stronge":
        if len(which) != 1:
            raise ArgumentError(
                f"{len(which)} contacts take part in an impact with Stronge's law, expected one: "
                "there is no accepted energetic law of simultaneous impacts."
            )
        rows = np.vstack([terms.T[:, which[0]], terms.along[which[0]]])
        push = metric.of_force(rows.T)
        mu = float(contacts.friction[which[0]])
        P = _with_slip(push.T @ push, rows @ qd0, mu, float(e[0]))
        impulse, tangential = P[:1], P[None, 1:]
        change = push @ P
    else:
        impulse = newton_impulses(M, before, e) if law == "newton" else _poisson(M, before, e)
        change = push @ impulse
    start = metric.of_motion(qd0)
    lost = -float(change @ (start + 0.5 * change))
    after = before + equations.normals.T @ change
    pushing = int(np.sum(impulse > 0.0))
    return ContactImpact(
        qd0 + metric.motion(change), impulse, tangential, before, after, lost, pushing > 1
    )


def taking_part(
    contacts: Contacts,
    terms: ContactTerms,
    closed: Sequence[int | str] | None,
    restitution: ArrayLike | None,
) -> tuple[list[int], Array]:
    """Return the indices of the contacts that take part (m), and e of each of them (m,).

    Raises:
        ArgumentError: If a restitution is out of range, or a contact does not fit.
    """
    count, which = len(contacts.names), closed_contacts(contacts, terms, closed)
    try:
        given = np.asarray(
            contacts.restitution if restitution is None else restitution, dtype=float
        )
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.shape not in ((), (count,)) or not np.all((given >= 0.0) & (given <= 1.0)):
        raise ArgumentError(
            f"restitution is {restitution!r:.60}, expected {count} numbers from 0 to 1, or one "
            "for all."
        )
    return which, np.broadcast_to(given, count)[which]


def newton_impulses(M: Array, before: Array, restitution: Array) -> Array:
    """Return the impulses lambda (m,) [N s] of Newton's law.

    0 <= lambda, phi'+ + e phi'- >= 0, one of them with equality; e = 0 where phi'- > 0.
    If contacts with phi'- > 0 have an impulse, restitution could add energy: it is then reduced.

    Args:
        M: T^T H^-1 T (m, m).
        before: phi'- (m,) [m/s].
        restitution: e (m,).

    Raises:
        RobotDynamicsError: If there are no such impulses: a body is wedged in.
    """
    closing = np.minimum(before, 0.0)
    found = _no_less(M, before + restitution * closing)
    # Impulses of contacts that were opening do work on the mechanism.
    if np.any(found[before > 0.0] > 0.0):
        return without_gain(M, before, _no_less(M, before), found)
    return found


def _no_less(M: Array, d: Array) -> Array:
    """Return lambda (m,) with M lambda + d >= 0, complementary."""
    found = linear_complementarity(M, d)
    if found is None:
        raise RobotDynamicsError(
            f"no impulses of {len(d)} contacts satisfy the laws of impact, because normals oppose "
            "each other; expected contacts that can open."
        )
    return found


def _poisson(M: Array, before: Array, restitution: Array) -> Array:
    """Return the impulses lambda (m,) [N s] of Poisson's law; arguments of `newton_impulses`."""
    compression = newton_impulses(M, before, np.zeros(len(before)))
    compressed = M @ compression + before
    back = restitution * compression
    more = newton_impulses(M, compressed + M @ back, np.zeros(len(before)))
    return without_gain(M, before, compression, compression + back + more)


def without_gain(M: Array, before: Array, plain: Array, full: Array) -> Array:
    """Return the impulses nearest to `full`, between it and `plain`, that add no energy.

    Args:
        M: T^T H^-1 T (m, m).
        before: Velocities along the impulses before the impact (m,) [m/s].
        plain: Impulses without restitution (m,) [N s].
        full: Impulses with restitution (m,) [N s].
    """
    # Energy is quadratic along the impulse.
    way, loss = full - plain, -float(plain @ (before + 0.5 * M @ plain))
    a, b = 0.5 * float(way @ M @ way), float(way @ (before + M @ plain))
    if a + b <= loss or a <= 0.0:
        return full
    s = (-b + np.sqrt(max(b * b + 4.0 * a * loss, 0.0))) / (2.0 * a)
    return np.asarray(plain + min(s, 1.0) * way)


class FrictionalImpact(NamedTuple):
    """Impulses and velocities of an impact with friction, along m rows of c contacts.

    Attributes:
        impulse: Impulses along the rows (m,) [N s].
        change: Change of the velocities (nv,).
        after: Velocities of the rows after the impact (m,) [m/s].
        error: Error of the laws, as the first of `ContactProblem.error`.
        approach: Largest speed of approach of closed contacts after the impact, relative to the
            largest speed before.
        pressed: Contacts that pushed in the solution with bounces (c,).
    """

    impulse: Array
    change: Array
    after: Array
    error: float
    approach: float
    pressed: NDArray[np.bool_]


def impact_with_friction(
    solver: ContactSolver,
    before: Array,
    bounce: Array,
    closed: NDArray[np.bool_],
    tolerance: float = np.inf,
    stops: slice = slice(0),
) -> FrictionalImpact:
    """Return the impact of Newton's law with Coulomb friction at all closed contacts together.

    Friction relates the impulse to the velocities after the impact. Restitution is reduced if it
    would add energy, and zero if no impulses satisfy the laws with it, for example because
    friction locks a mechanism.

    Args:
        solver: Solves the laws; it has H, J and H^-1 J^T, without compliance.
        before: Velocities of its rows before the impact (m,) [m/s].
        bounce: Least speed of each contact after it (c,) [m/s].
        closed: Contacts that take part (c,).
        tolerance: Largest `error` with restitution.
        stops: Rows that begin to hold: their velocities become zero.
    """
    J, HJ, holding = solver.J, solver.HJ, solver.problem.holding
    normals = holding + solver.problem.width * np.arange(len(closed))

    def found(bounce: Array) -> FrictionalImpact:
        solver.c[:], solver.P[:], solver.slide[:] = before, 0.0, 0.0
        # Holding rows hold on average, as in steps: then they neither take nor add energy.
        solver.c[:holding] += before[:holding]
        solver.c[stops] = before[stops]
        solver.c[normals] -= bounce
        solver.touching[:] = closed
        solver.run()
        solver.run()  # to rounding
        change = solver.P @ HJ
        after = before + J @ change
        short = float(np.max((bounce - after[normals])[closed], initial=0.0))
        approach = short / max(float(np.abs(before).max(initial=0.0)), 1e-300)
        return FrictionalImpact(
            solver.P.copy(), change, after, solver.residual, approach, solver.pressed.copy()
        )

    full = found(bounce)
    met = full.approach <= _APPROACH and full.error <= tolerance
    if not bounce.any() or (met and full.impulse @ (before + full.after) <= 0.0):
        return full
    plain = found(np.zeros_like(bounce))
    if not met:
        return plain
    P = without_gain(J @ HJ.T, before, plain.impulse, full.impulse)
    change = P @ HJ
    error, approach = max(full.error, plain.error), max(full.approach, plain.approach)
    return FrictionalImpact(P, change, before + J @ change, error, approach, full.pressed)


def _with_slip(M: Array, before: Array, mu: float, e: float) -> Array:
    """Return the impulses (3,) [N s] along n, t1, t2 of Stronge's law with Coulomb friction.

    The normal impulse p is the independent variable (Routh, Keller): dv/dp = M (1, f). The
    friction f per normal impulse is -mu times the slip direction. Compression lasts until v_n = 0,
    its work is the integral of v_n over p. Restitution ends at e^2 of that work.

    Args:
        M: J H^-1 J^T of n, t1, t2 (3, 3).
        before: Relative velocity before the impact (3,) [m/s].
        mu: Friction coefficient.
        e: Restitution.

    Raises:
        RobotDynamicsError: If the impact does not end.
    """
    if before[0] >= 0.0:
        return np.zeros(3)
    if M[0, 0] <= 0.0:
        raise RobotDynamicsError(_JAMS)
    # The unit of velocities is the speed of approach, the unit of impulses the impulse that stops
    # it.
    slip = _Slip(M / M[0, 0], before / -before[0], mu)
    compressed = slip.until(None)
    if e > 0.0:
        slip.until(-e * e * compressed)
    return np.asarray(-before[0] / M[0, 0] * slip.P)


class _Slip:
    """The velocity of one contact during an impact, as a function of the normal impulse.

    Attributes:
        v: Along n, t1, t2 (3,).
        P: Impulse until now (3,).

    Args:
        M: J H^-1 J^T of n, t1, t2 (3, 3).
        v: The velocity before the impact (3,).
        mu: Friction coefficient.
    """

    def __init__(self, M: Array, v: Array, mu: float) -> None:
        self._M, self.v, self.P, self._mu = M, v, np.zeros(3), mu
        self._work = 0.0

    def until(self, goal: float | None) -> float:
        """Continue to the end of compression (None) or to a normal work; return the work.

        Turning slip is integrated until it stops or is steady; then the force is constant.
        """
        self._work, ended = 0.0, False
        slips = self._mu > 0.0 and float(np.linalg.norm(self.v[1:])) > _STILL
        if slips and self._turning(float(np.arctan2(self.v[2], self.v[1]))) > 0.0:
            ended, slips = self._turn(goal)
        if slips and not ended:
            ended = self._straight(self._force(self.v), goal, slips)
        if not ended:
            self._straight(self._from_rest(), goal, slips=False)
        return self._work

    def _force(self, v: Array) -> Array:
        """Return the force per normal force (3,) while the contact slips."""
        mu, slip = self._mu, float(np.linalg.norm(v[1:]))
        return np.array([1.0, *(-mu * v[1:] / slip)])

    def _at_rest(self, goal: float | None) -> bool:
        """Return whether compression ends together with slip: with one freedom in all."""
        return goal is None and bool(self.v[0] >= -_STILL)

    def _from_rest(self) -> Array:
        """Return the force per normal force (3,) without slip: sticking, or the beginning of slip.

        Slip begins in a steady direction d, [M (1, -mu d)]_t = a d, at a rate a > 0. Then d = (mu
        M_tt + a)^-1 M_tn, whose length decreases with a: exactly one a makes it 1, or none if
        friction holds, with force -mu d at a = 0.
        """
        from scipy.optimize import brentq

        def along(a: float) -> Array:
            B = self._mu * self._M[1:, 1:] + a * np.eye(2)
            return np.asarray(np.linalg.lstsq(B, self._M[1:, 0], rcond=None)[0], dtype=float)

        def excess(a: float) -> float:
            return float(np.linalg.norm(along(a))) - 1.0

        # Not 0: without friction, or if a mechanism allows no slip, there is no inverse.
        least = 1e-12 * float(np.trace(self._M))
        most = 2.0 * float(np.linalg.norm(self._M[1:, 0]))
        rate = least if excess(least) <= 0.0 else brentq(excess, least, most, xtol=1e-4 * least)
        return np.array([1.0, *(-self._mu * along(rate))])

    def _turning(self, angle: float) -> float:
        """Return the excess of the turn of slip over the turn of steady slip; steady if <= 0.

        Slip is steady if it approaches a constant direction and is within _STEADY of it, or if it
        does not turn except by rounding.
        """
        d, n = _axes(angle)
        rate = self._M[1:] @ self._force(d)
        # Slip times rate of the angle over the normal impulse, and its derivative by the angle.
        turn = float(n[1:] @ rate)
        slope = -float(d[1:] @ rate + self._mu * n @ self._M @ n)
        return abs(turn) - max(-_STEADY * slope, 1e-14)

    def _straight(self, force: Array, goal: float | None, slips: bool) -> bool:
        """Continue with a constant force until slip stops; return whether the end comes first."""
        rate = self._M @ force
        growth = float(self.v[1:] @ rate[1:]) if slips else 0.0
        stops = -float(self.v[1:] @ self.v[1:]) / growth if growth < 0.0 else np.inf
        # A speed u, with u + r p after p, is 0, or does the work u p + r p^2 / 2.
        u, r = float(self.v[0]), float(rate[0]) if abs(rate[0]) > _STILL else 0.0
        if goal is None:
            ends = -u / r if r > 0.0 else np.inf
        else:
            work = goal - self._work
            square = u * u + 2.0 * r * work
            reached = u + np.sqrt(square) if square > 0.0 else 0.0
            ends = 2.0 * work / reached if reached > _STILL else np.inf
        p = min(stops, ends)
        if not np.isfinite(p):
            raise RobotDynamicsError(_JAMS)
        self._work += p * (u + 0.5 * p * r)
        self.v, self.P = self.v + p * rate, self.P + p * force
        return ends <= stops or self._at_rest(goal)

    def _turn(self, goal: float | None) -> tuple[bool, bool]:
        """Integrate until slip stops or is steady; return whether the end comes first, and slip.

        Slip s and its angle have rates without s over the time x of dp = s dx, in which slip that
        stops decays.
        """
        from scipy.integrate import solve_ivp

        def rates(x: float, y: Array) -> Array:
            d, n = _axes(y[1])
            force = self._force(d)
            rate = self._M @ force
            s = np.exp(min(y[0], 100.0))  # steps that are tried may be far too long
            return np.array([d @ rate, n @ rate, s * rate[0], s * y[2], *(s * force)])

        events: list[Any] = [
            lambda x, y: y[2] if goal is None else y[3] - goal,
            lambda x, y: np.log(_STILL) - y[0],
            lambda x, y: -self._turning(y[1]),
        ]
        for event in events:
            event.terminal, event.direction = True, 1.0
        slip, angle = np.linalg.norm(self.v[1:]), np.arctan2(self.v[2], self.v[1])
        start = np.array([np.log(slip), angle, self.v[0], self._work, *self.P])
        found = solve_ivp(
            rates, (0.0, _FOR_EVER), start, "DOP853", events=events, rtol=_ACCURACY, atol=_ACCURACY
        )
        if found.status != 1:
            raise RobotDynamicsError(_JAMS)
        y = found.y[:, -1]
        d, _ = _axes(y[1])
        self.v = np.exp(y[0]) * d
        self.v[0], self._work, self.P = y[2], y[3], y[4:]
        ended, stopped, _ = (len(times) > 0 for times in found.t_events)
        return ended or self._at_rest(goal), not stopped


def _axes(angle: float) -> tuple[Array, Array]:
    """Return a direction of slip (3,) and the direction to its left (3,)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([0.0, c, s]), np.array([0.0, -s, c])


class StickingImpact(NamedTuple):
    """Velocities and impulses of an impact after which m contacts stick (11.72).

    Attributes:
        qd: Velocities after the impact (nv,).
        impulse: Along n, t1 and t2 of each contact (m, 3) [N s].
        energy_lost: Loss of kinetic energy [J].
        friction_needed: Least mu for which the impulse is in the cone (m,); infinite where the
            normal impulse is not positive.
    """

    qd: Array
    impulse: Array
    energy_lost: float
    friction_needed: Array


def sticking_impact(
    contacts: Contacts,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    closed: Sequence[int | str] | None = None,
    restitution: ArrayLike | None = None,
) -> StickingImpact:
    """Return the impact that stops all slip: lambda = -M^-1 (1 + E) N^T v (11.72).

    Friction cones are not checked; `friction_needed` is the friction that sticking takes. If
    restitution needs tangential impulses along the slip that they stop, (11.72) can add energy: E
    is then reduced, equally for all contacts, until no energy is added. Impulses of redundant
    contacts have the least norm.

    Args:
        contacts: All possible contacts.
        q: Positions (nq,), loops closed.
        qd: Velocities (nv,) before the impact.
        closed: Names or indices of the contacts that take part; their gaps are not checked.
            Default: all; then each gap must be within 1 mm.
        restitution: e of each of `contacts` or one number; by default from their materials.

    Raises:
        ArgumentError: If an argument has the wrong shape or is out of range, a contact is soft or
            not closed, or an inequality takes part, which has no tangents.
    """
    q0, qd0 = state_of(contacts, q, qd)
    terms, metric = contacts(q0, qd0), Metric(contacts.robot, q0, qd0)
    which, e = taking_part(contacts, terms, closed, restitution)
    for i in which:
        if not terms.axes[i].any():
            raise ArgumentError(
                f"contact {contacts.names[i]!r} is an inequality, without tangents; expected a "
                "point contact."
            )
    every = np.concatenate([terms.T.T[:, None], terms.along], axis=1)
    N = every[which].reshape(-1, len(qd0))
    push = metric.of_force(N.T)
    M, before = push.T @ push, N @ qd0
    wanted = -before.reshape(-1, 3)
    wanted[:, 0] *= 1.0 + e
    # All rows are in m/s, so that a numerical rank has a meaning.
    both = np.stack([-before, wanted.ravel()], axis=1)
    plain, full = np.asarray(np.linalg.lstsq(M, both, rcond=1e-12)[0], dtype=float).T
    impulse = without_gain(M, before, plain, full).reshape(-1, 3)
    change = push @ impulse.ravel()
    lost = -float(change @ (metric.of_motion(qd0) + 0.5 * change))
    needed = np.array([float(np.hypot(*p[1:])) / p[0] if p[0] > 0.0 else np.inf for p in impulse])
    return StickingImpact(qd0 + metric.motion(change), impulse, lost, needed)
