# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Impulsive dynamics (11.7): what an impact does to trees, floating bases and closed loops.

An impulse u in joint space changes velocities by H (qd+ - qd-) = u (11.57); u = J^T iota of an
impulse iota on a body (11.58). Loops hold during impacts. Velocities of contacts, phi' = T^T qd,
follow one of the laws

- Newton, kinematic: `phi'+ >= -e phi'-`, `lambda >= 0`, one of them with equality;
- Poisson, kinetic: first the contacts compress, `phi' >= 0`, by impulses `lambda_c`; then each
  gives back `e lambda_c` at least, more where it would close again;
- Stronge, energetic, for one contact: the normal force gives back `e^2` of the work that
  compressed it,

which agree for one contact without friction. Several contacts that close at once are a model with
more than one reasonable result (Newton's cradle): these laws return that of an impact that reaches
all contacts together, and say so by `simultaneous`. No law here ever adds energy; where Newton's
would, with contacts that were opening, or Poisson's, with different e, what is given back is
reduced.
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
# Steps of the normal impulse over compression or restitution with slip, by Runge and Kutta.
_STEPS = 200


class ContactImpact(NamedTuple):
    """What an impact at contacts does.

    Attributes:
        qd: Velocities after it (nv,).
        impulse: Along the normals (m,) [N s].
        tangential: Along both tangents (m, 2) [N s]; zero without friction.
        before: phi' before it (m,) [m/s].
        after: phi' after it (m,) [m/s].
        energy_lost: Kinetic energy that it takes [J].
        simultaneous: Whether more than one contact takes part, so that other results are
            reasonable as well.
    """

    qd: Array
    impulse: Array
    tangential: Array
    before: Array
    after: Array
    energy_lost: float
    simultaneous: bool


def struck(robot: Robot, q: ArrayLike, qd: ArrayLike, impulses: Mapping[str, ArrayLike]) -> Array:
    """Return the velocities (nv,) after impulses on frames (11.57) to (11.59); loops hold.

    Args:
        robot: The mechanism.
        q: Positions (nq,), loops closed.
        qd: Velocities (nv,).
        impulses: Moment and force impulse (6,) [N m s, N s] by the name of the frame, about its
            origin, in world axes.

    Raises:
        UnknownNameError: If there is no frame of a name.
        ArgumentError: If an argument does not fit.
    """
    if not isinstance(robot, Robot):
        raise ArgumentError(f"what is struck is {robot!r:.60}, expected a Robot.")
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
    """Return the impact of closed contacts without friction; "stronge" has Coulomb friction.

    Args:
        contacts: What may touch.
        q: Positions (nq,), loops closed.
        qd: Velocities before it (nv,).
        closed: Which contacts are closed, by their places, taken at their word; all by default,
            which are 1 mm off at most then.
        restitution: e of each contact (m,) or one number; those of the contacts by default.
        law: How e is meant, see above.

    Raises:
        ArgumentError: If an argument does not fit, a contact gives way or does not touch, or
            "stronge" is asked of several contacts.
        RobotDynamicsError: If nothing keeps apart what touches.
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
    """Return the places of closed contacts and e of each of them (m,)."""
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
    """Return lambda (m,) of Newton's law: phi'+ + e phi'- >= 0, complementary.

    Contacts that open anyway, phi'- > 0, have no restitution. Where others push them back that
    would give energy: then all restitution is less, by as much as leaves the energy as it was.

    Raises:
        RobotDynamicsError: If nothing keeps apart what touches.
    """
    closing = np.minimum(before, 0.0)
    found = _no_less(M, before + restitution * closing)
    # That of contacts which were opening, and others push back, does work on what moves.
    if np.any(found[before > 0.0] > 0.0):
        return without_gain(M, before, _no_less(M, before), found)
    return found


def _no_less(M: Array, d: Array) -> Array:
    """Return lambda (m,) with M lambda + d >= 0, complementary."""
    found = linear_complementarity(M, d)
    if found is None:
        raise RobotDynamicsError(
            "no impulses keep apart what touches: contacts wedge something in; expected contacts "
            "that can open."
        )
    return found


def _poisson(M: Array, before: Array, restitution: Array) -> Array:
    """Return lambda (m,) of Poisson's law."""
    compression = newton_impulses(M, before, np.zeros(len(before)))
    compressed = M @ compression + before
    back = restitution * compression
    more = newton_impulses(M, compressed + M @ back, np.zeros(len(before)))
    return without_gain(M, before, compression, compression + back + more)


def without_gain(M: Array, before: Array, plain: Array, full: Array) -> Array:
    """Return the impulses nearest to `full` that give no energy, on the way from plain ones."""
    # The energy along the way is quadratic: no further than to where it is what it was before.
    way, loss = full - plain, -float(plain @ (before + 0.5 * M @ plain))
    a, b = 0.5 * float(way @ M @ way), float(way @ (before + M @ plain))
    if a + b <= loss or a <= 0.0:
        return full
    s = (-b + np.sqrt(max(b * b + 4.0 * a * loss, 0.0))) / (2.0 * a)
    return np.asarray(plain + min(s, 1.0) * way)


def _with_slip(M: Array, before: Array, mu: float, e: float) -> Array:
    """Return impulses (3,) along n, t1 and t2 of Stronge's law with Coulomb friction.

    The normal impulse p takes the place of time (Routh, Keller): dv/dp = M (1, f), with f = -mu in
    the direction of slip, or what keeps sticking if the cone has room for it. Work of compression
    is the integral of v_n up to v_n = 0, that of restitution e^2 of it.
    """
    v, P = before.astype(float), np.zeros(3)
    if v[0] >= 0.0:
        return P
    stick = np.array([1.0, *np.linalg.solve(M[1:, 1:], -M[1:, 0])])  # keeps the slip as it is
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
        """Go on until v_n = 0, or until a work is given back."""
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
                # Slip that would reverse stops within the step.
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
                # v_n p + r p^2 / 2 = what is missing.
                missing, u, r = work - done, v[0], rate[0]
                part = 2.0 * missing / (u + np.sqrt(max(u * u + 2.0 * r * missing, 0.0)))
                gained, last = missing, True
            v, P, done = v + part * rate, P + part * f, done + gained
            if not sticks and float(np.linalg.norm(v[1:])) <= 1e-9 * scale:
                v[1:] = 0.0
            if last:
                return v, P, done
        raise RobotDynamicsError("an impact with friction did not end: it jams.")

    v, P, compressed = steps(v, P, "stop", 0.0)
    if e == 0.0 or compressed == 0.0:
        return P
    return steps(v, P, "work", -e * e * compressed)[1]


class StickingImpact(NamedTuple):
    """An impact that arrests sliding (11.72).

    Attributes:
        qd: Velocities after it (nv,).
        impulse: Along n, t1 and t2 of each contact (m, 3) [N s].
        energy_lost: Kinetic energy that it takes [J].
        friction_needed: Least mu with which it can stick (m,); infinite where it would pull.
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
    """Return the impact that arrests all sliding: lambda = -M^-1 (1 + E) N^T v (11.72).

    The book checks no cone: `friction_needed` says which friction that takes. Impulses of contacts
    that depend on one another are those of least norm.

    Args:
        contacts: What may touch.
        q: Positions (nq,), loops closed.
        qd: Velocities before it (nv,).
        closed: Which contacts are closed, by their places, taken at their word; all by default,
            which are 1 mm off at most then.
        restitution: e of each contact (m,) or one number; those of the contacts by default.

    Raises:
        ArgumentError: If an argument does not fit, a contact gives way or does not touch, or an
            inequality is asked to stick: it has no tangents.
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
    # Rows are velocities of points, all in m/s: their rank is not one over mixed units.
    found = np.linalg.lstsq(push.T @ push, wanted.ravel(), rcond=1e-12)[0]
    impulse: Array = np.asarray(found, dtype=float).reshape(-1, 3)
    change = push @ impulse.ravel()
    lost = -float(change @ (metric.of_motion(qd0) + 0.5 * change))
    needed = np.array([float(np.hypot(*p[1:])) / p[0] if p[0] > 0.0 else np.inf for p in impulse])
    return StickingImpact(qd0 + metric.motion(change), impulse, lost, needed)
