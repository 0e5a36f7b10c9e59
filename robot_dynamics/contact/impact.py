# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Impulsive dynamics (11.7): what an impact does to trees, floating bases and closed loops.

An impulse u in joint space changes velocities by H (qd+ - qd-) = u (11.57); an impulse iota on a
body has u = J^T iota (11.58). Loops stay closed in impacts. With impulses lambda along normals the
rates of gaps, phi' = T^T qd, follow one of the laws

- Newton, kinematic: `phi'+ >= -e phi'-`, `lambda >= 0`, at least one of them with equality;
- Poisson, kinetic: compression by impulses `lambda_c` until `phi' >= 0`, then restitution by
  `e lambda_c`, and by more at contacts that would close again;
- Stronge, energetic, for one contact: the work of the normal force in restitution is `e^2` of that
  in compression,

which agree for one contact without friction. Rigid-body models have no unique result if several
contacts close at once (Newton's cradle). The laws return that of one impact at all contacts
together, and set `simultaneous`. No law adds energy: restitution is reduced where Newton's would,
with contacts that are opening before the impact, or Poisson's, with different e.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.contact.complementarity import linear_complementarity
from robot_dynamics.contact.equations import Metric, equations_of
from robot_dynamics.contact.points import Contacts, ContactTerms, closed_contacts, state_of
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.robot import Robot

Array = NDArray[np.float64]

LAWS = ("newton", "poisson", "stronge")
# Runge-Kutta steps over the normal impulse in compression or restitution with slip.
_STEPS = 200


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


def struck(robot: Robot, q: ArrayLike, qd: ArrayLike, impulses: Mapping[str, ArrayLike]) -> Array:
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
        raise ArgumentError("impulses on frames are not finite; expected numbers.")
    return np.asarray(qd0 + metric.motion(metric.of_force(u)))


def impact(
    contacts: Contacts,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    closed: Sequence[int] | None = None,
    restitution: ArrayLike | None = None,
    law: Literal["newton", "poisson", "stronge"] = "newton",
) -> ContactImpact:
    """Return the impact at closed contacts without friction; law "stronge": with Coulomb friction.

    Args:
        contacts: All possible contacts.
        q: Positions (nq,), loops closed.
        qd: Velocities (nv,) before the impact.
        closed: Indices of the contacts that take part; their gaps are not checked. Default: all;
            then each gap must be within 1 mm.
        restitution: e of each of `contacts` or one number; default: that of their materials.
        law: "newton", "poisson" or "stronge", see the module.

    Raises:
        ArgumentError: If an argument has the wrong shape or is out of range, a contact is soft or
            not closed, or the law is "stronge" and not one contact takes part.
        RobotDynamicsError: If no impulses satisfy the law: a body is wedged in.
    """
    q0, qd0 = state_of(contacts, q, qd)
    if law not in LAWS:
        raise UnknownNameError("law", str(law), LAWS)
    terms, metric = contacts(q0, qd0), Metric(contacts.robot, q0, qd0)
    which, e = _taking_part(contacts, terms, closed, restitution)
    equations = equations_of(metric, terms, contacts.names, which, np.zeros(len(qd0)))
    M, before = equations.M, equations.T.T @ qd0
    tangential = np.zeros((len(which), 2))
    push = equations.normals
    if law == "stronge":
        if len(which) != 1:
            raise ArgumentError(
                f"{len(which)} contacts under Stronge's law, expected one: simultaneous impacts "
                "have no energetic law that is agreed on."
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
    taking_part = int(np.sum(impulse > 0.0))
    return ContactImpact(
        qd0 + metric.motion(change), impulse, tangential, before, after, lost, taking_part > 1
    )


def _taking_part(
    contacts: Contacts,
    terms: ContactTerms,
    closed: Sequence[int] | None,
    restitution: ArrayLike | None,
) -> tuple[list[int], Array]:
    """Return the indices of the contacts that take part (m), and e of each of them (m,)."""
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
    Restitution could add energy where contacts have phi'- > 0 and an impulse: it is then reduced.

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
            "no impulses satisfy the laws of impact, as normals of contacts oppose each other; "
            "expected contacts that can open."
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
    # Energy is quadratic along the way.
    way, loss = full - plain, -float(plain @ (before + 0.5 * M @ plain))
    a, b = 0.5 * float(way @ M @ way), float(way @ (before + M @ plain))
    if a + b <= loss or a <= 0.0:
        return full
    s = (-b + np.sqrt(max(b * b + 4.0 * a * loss, 0.0))) / (2.0 * a)
    return np.asarray(plain + min(s, 1.0) * way)


def _with_slip(M: Array, before: Array, mu: float, e: float) -> Array:
    """Return the impulses (3,) [N s] along n, t1, t2 of Stronge's law with Coulomb friction.

    The normal impulse p is the independent variable (Routh, Keller): dv/dp = M (1, f). The
    friction f per normal impulse is -mu times the slip direction, or that of sticking if it is
    within the cone. Compression lasts until v_n = 0, its work is the integral of v_n over p.
    Restitution ends at e^2 of that work.

    Args:
        M: J H^-1 J^T of n, t1, t2 (3, 3).
        before: Relative velocity before the impact (3,) [m/s].
        mu: Friction coefficient.
        e: Restitution.
    """
    v, P = before.astype(float), np.zeros(3)
    if v[0] >= 0.0:
        return P
    stick = np.array([1.0, *np.linalg.solve(M[1:, 1:], -M[1:, 0])])  # keeps slip constant
    holds = float(np.linalg.norm(stick[1:])) <= mu
    scale = float(np.linalg.norm(v))

    def direction(v: Array) -> Array:
        slip = float(np.linalg.norm(v[1:]))
        if slip <= 1e-12 * scale:
            if holds:
                return stick
            return np.array([1.0, *(mu * stick[1:] / np.linalg.norm(stick[1:]))])
        return np.array([1.0, *(-mu * v[1:] / slip)])

    def steps(v: Array, P: Array, until: str, work: float) -> tuple[Array, Array, float]:
        """Integrate until v_n = 0 ("stop"), or until the work is done ("work") [J]."""
        done, dp = 0.0, scale / (M[0, 0] * _STEPS)
        for _ in range(100 * _STEPS):
            f = direction(v)
            middle = v + 0.5 * dp * (M @ f)
            sticks = f is stick or np.array_equal(f, stick)
            if not sticks:
                g = direction(middle)
                f = g if float(g[1:] @ f[1:]) > 0.0 else f
            rate = M @ f
            part = dp
            if not sticks and mu > 0.0:
                # A slip that would reverse stops: the step ends there.
                a, b, c = rate[1:] @ rate[1:], v[1:] @ rate[1:], v[1:] @ v[1:]
                ends = -b / a if a > 0.0 else np.inf
                if 0.0 < ends < part and c - b * b / a <= (1e-3 * scale) ** 2 and c > 0.0:
                    part = ends
            if until == "stop" and v[0] + part * rate[0] >= 0.0 and rate[0] > 0.0:
                part, last = -v[0] / rate[0], True
            else:
                last = False
            gained = part * (v[0] + 0.5 * part * rate[0])
            if until == "work" and done + gained >= work:
                # v_n p + r p^2 / 2 = missing work.
                missing, u, r = work - done, v[0], rate[0]
                part = 2.0 * missing / (u + np.sqrt(max(u * u + 2.0 * r * missing, 0.0)))
                gained, last = missing, True
            v, P, done = v + part * rate, P + part * f, done + gained
            if not sticks and float(np.linalg.norm(v[1:])) <= 1e-9 * scale:
                v[1:] = 0.0
            if last:
                return v, P, done
        raise RobotDynamicsError("an impact with friction did not end: the slip jams.")

    v, P, compressed = steps(v, P, "stop", 0.0)
    if e == 0.0 or compressed == 0.0:
        return P
    return steps(v, P, "work", -e * e * compressed)[1]


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
    closed: Sequence[int] | None = None,
    restitution: ArrayLike | None = None,
) -> StickingImpact:
    """Return the impact that stops all slip: lambda = -M^-1 (1 + E) N^T v (11.72).

    Friction cones are not checked; `friction_needed` is the friction that sticking takes. Impulses
    of redundant contacts are those of least norm.

    Args:
        contacts: All possible contacts.
        q: Positions (nq,), loops closed.
        qd: Velocities (nv,) before the impact.
        closed: Indices of the contacts that take part; their gaps are not checked. Default: all;
            then each gap must be within 1 mm.
        restitution: e of each of `contacts` or one number; default: that of their materials.

    Raises:
        ArgumentError: If an argument has the wrong shape or is out of range, a contact is soft or
            not closed, or an inequality takes part, which has no tangents.
    """
    q0, qd0 = state_of(contacts, q, qd)
    terms, metric = contacts(q0, qd0), Metric(contacts.robot, q0, qd0)
    which, e = _taking_part(contacts, terms, closed, restitution)
    for i in which:
        if not terms.axes[i].any():
            raise ArgumentError(
                f"{contacts.names[i]!r} has no tangents, expected a point contact."
            )
    N = np.vstack([np.vstack([terms.T[:, i], terms.along[i]]) for i in which])
    push = metric.of_force(N.T)
    wanted = -(N @ qd0).reshape(-1, 3)
    wanted[:, 0] *= 1.0 + e
    # All rows are in m/s, so that a numerical rank makes sense.
    found = np.linalg.lstsq(push.T @ push, wanted.ravel(), rcond=1e-12)[0]
    impulse: Array = np.asarray(found, dtype=float).reshape(-1, 3)
    change = push @ impulse.ravel()
    lost = -float(change @ (metric.of_motion(qd0) + 0.5 * change))
    needed = np.array([float(np.hypot(*p[1:])) / p[0] if p[0] > 0.0 else np.inf for p in impulse])
    return StickingImpact(qd0 + metric.motion(change), impulse, lost, needed)
