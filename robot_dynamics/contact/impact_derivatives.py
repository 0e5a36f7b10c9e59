# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of impacts for a constant set of pushing contacts.

With the rows N of contacts that push and K of loops, an impact is

    H d - N^T P - K^T mu = 0,   K d = 0,   N d = -(1 + E) N qd,   qd+ = qd + d,

whose derivatives are solved with its own matrix (implicit differentiation). The terms that depend
on q are differentiated at fixed d, P and mu. There are no derivatives if the set changes with the
state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array, Mask, Vector
from robot_dynamics.contact.equations import Metric
from robot_dynamics.contact.impact import (
    impact,
    newton_impulses,
    sticking_impact,
    struck,
    taking_part,
)
from robot_dynamics.contact.points import Contacts, state_of
from robot_dynamics.dynamics.residual import RESIDUAL_DERIVATIVES
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.robot import Robot

LAWS = ("newton", "poisson")
# Speeds and impulses below this share of the largest are zero: their contact changes between
# pushing and opening, or restitution sets in.
_NOTHING = 1e-9
# A contact changes if derivatives would give it a speed above this share of the largest.
_CHANGES = 1e-6
# Singular values of a matrix with ones on its diagonal below which rows depend on one another.
_DEPENDENT = 1e-11


class ImpactDerivatives(NamedTuple):
    """Derivatives of an impact at m contacts by positions, along velocities, and by velocities.

    Attributes:
        qd_q: Velocities after the impact by the positions (nv, nv).
        qd_qd: By the velocities before it (nv, nv).
        impulse_q: Impulses by the positions (m, nv), of `sticking_impact` (m, 3, nv); NaN if the
            contacts that push depend on one another.
        impulse_qd: By the velocities before the impact, with the same shapes.
    """

    qd_q: Array
    qd_qd: Array
    impulse_q: Array
    impulse_qd: Array


class StruckDerivatives(NamedTuple):
    """Derivatives of the velocities after impulses on frames.

    Attributes:
        qd_q: By the positions, along velocities (nv, nv).
        qd_impulse: By the impulse on each frame (nv, 6). The derivative by the velocities before
            is the identity.
    """

    qd_q: Array
    qd_impulse: dict[str, Array]


def struck_derivatives(
    robot: Robot, q: Vector, qd: Vector, impulses: Mapping[str, Vector]
) -> StruckDerivatives:
    """Return the derivatives of `struck`; arguments and errors are the same."""
    change = struck(robot, q, qd, impulses) - np.asarray(qd, dtype=float)
    at = np.asarray(q, dtype=float)
    force = robot.external_forces(at, impulses, "aligned")
    of_force = robot.external_forces_derivatives(at, impulses, "aligned")
    jump = _Jump(robot, at, change, force)
    none, n = np.zeros((0, robot.model.nv)), robot.model.nv
    by_q = of_force.tau_q - jump.force_q
    columns = np.hstack([by_q, *of_force.tau_wrench.values()])
    rate = np.zeros((len(jump.K), columns.shape[1]))
    rate[:, :n] = -jump.rate_q
    found, _, _ = jump.solved(columns, none, rate)
    blocks = np.split(found[:, n:], max(len(impulses), 1), axis=1)
    return StruckDerivatives(found[:, :n], dict(zip(impulses, blocks, strict=False)))


def impact_derivatives(
    contacts: Contacts,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    closed: Sequence[int | str] | None = None,
    restitution: ArrayLike | None = None,
    law: Literal["newton", "poisson"] = "newton",
) -> ImpactDerivatives:
    """Return the derivatives of `impact` without friction; arguments are the same.

    Raises:
        RobotDynamicsError: If the contacts that push change with the state, or restitution is
            reduced; see `impact` for others.
    """
    if law not in LAWS:
        raise UnknownNameError("law with derivatives", str(law), LAWS)
    hit = impact(contacts, q, qd, closed=closed, restitution=restitution, law=law)
    at = _At(contacts, q, qd, closed, restitution, slice(0, 1))
    if law == "newton":
        e = at.restitution
        return at.result(at.stage(hit.impulse, e, hit.impulse > at.nothing(hit.impulse)))
    push, none = at.metric.of_force(at.N.T), np.zeros(len(at.e))
    M = push.T @ push
    compression = newton_impulses(M, at.before, none)
    first = at.stage(compression, none, compression > at.nothing(compression))
    back = (1.0 + at.e) * compression
    more = newton_impulses(M, at.before + M @ back, none)
    at.require_full(np.abs(M @ (back + more - hit.impulse)))
    given = (1.0 + at.e)[:, None] * first.impulse
    return at.result(at.stage(hit.impulse, none, more > at.nothing(hit.impulse), given))


def sticking_impact_derivatives(
    contacts: Contacts,
    q: ArrayLike,
    qd: ArrayLike,
    *,
    closed: Sequence[int | str] | None = None,
    restitution: ArrayLike | None = None,
) -> ImpactDerivatives:
    """Return the derivatives of `sticking_impact`, all contacts sticking; arguments are the same.

    Raises:
        RobotDynamicsError: If restitution is reduced; see `sticking_impact` for others.
    """
    hit = sticking_impact(contacts, q, qd, closed=closed, restitution=restitution)
    at = _At(contacts, q, qd, closed, restitution, slice(0, 3))
    e = np.stack([at.e, 0.0 * at.e, 0.0 * at.e], axis=1).ravel()
    return at.result(at.stage(hit.impulse.ravel(), e, np.full(len(e), True)), 3)


class _Stage(NamedTuple):
    """Derivatives of velocities (nv, 2 nv) and impulses (rows, 2 nv) by q and by qd."""

    qd: Array
    impulse: Array
    independent: bool


class _At:
    """Rows of the contacts that take part in an impact, at a state.

    Attributes:
        metric: The metric.
        e: Restitution of each contact (m,).
        N: Rows (r,) of each contact, one after the other (m r, nv).
        before: N qd (m r,).
    """

    def __init__(
        self,
        contacts: Contacts,
        q: ArrayLike,
        qd: ArrayLike,
        closed: Sequence[int | str] | None,
        restitution: ArrayLike | None,
        rows: slice,
    ) -> None:
        self._robot, (self._q, self._qd) = contacts.robot, state_of(contacts, q, qd)
        terms = contacts(self._q, self._qd)
        which, self.e = taking_part(contacts, terms, closed, restitution)
        self._names = [contacts.names[i] for i in which]
        nv = self._robot.model.nv
        every = np.concatenate([terms.T.T[:, None], terms.along], axis=1)[which, rows]
        self.N = every.reshape(-1, nv)
        self._N_q = contacts.row_derivatives(self._q)[which, rows].reshape(-1, nv, nv)
        self.before = self.N @ self._qd
        self.metric = Metric(self._robot, self._q, self._qd)

    @property
    def restitution(self) -> Array:
        """Restitution of Newton's law (m,), of closing contacts.

        Raises:
            RobotDynamicsError: If a contact with restitution neither closes nor opens.
        """
        still = np.abs(self.before) <= _NOTHING * np.abs(self.before).max(initial=0.0)
        self._require_settled(still & (self.e > 0.0))
        return np.where(self.before < 0.0, self.e, 0.0)

    def nothing(self, impulse: Array) -> float:
        """Return the size below which impulses are zero."""
        return _NOTHING * float(np.abs(impulse).max(initial=0.0))

    def require_full(self, missed: Array) -> None:
        """Refuse speeds (m,) by which an impact misses its restitution.

        Raises:
            RobotDynamicsError: If there are any.
        """
        if missed.max(initial=0.0) > _CHANGES * np.abs(self.before).max(initial=0.0):
            raise RobotDynamicsError(
                f"{self._robot.model.name}: the impact at {self._names} does not reach its "
                "restitution, which would add energy; expected less restitution: a reduced one "
                "has no derivatives."
            )

    def stage(self, impulse: Array, e: Array, active: Mask, given: Array | None = None) -> _Stage:
        """Return the derivatives of an impact with impulses (rows,) and restitution e (rows,).

        Args:
            impulse: All impulses (rows,).
            e: Restitution of the rows (rows,).
            active: Rows whose impulses follow from the speeds after the impact (rows,).
            given: Derivatives (rows, 2 nv) of the other impulses; zero by default.

        Raises:
            RobotDynamicsError: If the contacts that push change with the state, or restitution is
                reduced.
        """
        n, qd = len(self._qd), self._qd
        change = self.metric.motion(self.metric.of_force(self.N.T @ impulse))
        after = self.before + self.N @ change
        self.require_full(np.abs(after + e * self.before)[active])
        jump = _Jump(self._robot, self._q, change, self.N.T @ impulse)
        force = np.zeros((n, 2 * n))
        force[:, :n] = np.einsum("mik,m->ik", self._N_q, impulse) - jump.force_q
        of_impulse = np.zeros((len(e), 2 * n)) if given is None else given.copy()
        force += self.N[~active].T @ of_impulse[~active]
        # N d = -(1 + E) N qd
        moved = np.einsum("mik,i->mk", self._N_q, change)
        turned = np.einsum("mik,i->mk", self._N_q, qd)
        more = (1.0 + e)[:, None]
        rate = -np.hstack([moved + more * turned, more * self.N])[active]
        of_loops = np.hstack([-jump.rate_q, np.zeros((len(jump.K), n))])
        found, pushed, independent = jump.solved(
            force, self.N[active], np.vstack([of_loops, rate])
        )
        of_impulse[active] = pushed
        found[:, n:] += np.eye(n)
        self._require_same_set(found, after + e * self.before, e, active, moved, turned)
        return _Stage(found, of_impulse, independent)

    def _require_same_set(
        self, found: Array, excess: Array, e: Array, active: Mask, moved: Array, turned: Array
    ) -> None:
        """Refuse contacts between pushing and opening, which a change of state decides.

        Args:
            found: Derivatives of the velocities after the impact (nv, 2 nv).
            excess: Speeds of the rows beyond restitution, N (qd+ + E qd) (rows,).
            e: E (rows,).
            active: Rows that push (rows,).
            moved: Derivatives of N by q times the change of velocities (rows, nv).
            turned: The same times the velocities before the impact.
        """
        n, speed = len(self._qd), float(np.abs(self.before).max(initial=0.0))
        by_state = self.N @ found
        by_state[:, :n] += moved + (1.0 + e)[:, None] * turned
        by_state[:, n:] += e[:, None] * self.N
        largest = np.abs(self.N).max(axis=1, initial=0.0)
        # It stays zero if other contacts imply it.
        changes = np.abs(by_state).max(axis=1, initial=0.0) > _CHANGES * largest
        self._require_settled(~active & (excess <= _NOTHING * speed) & changes)

    def _require_settled(self, doubtful: Mask) -> None:
        """Refuse contacts (m,) between pushing and opening, or between bouncing and not."""
        if doubtful.any():
            name = self._names[int(np.flatnonzero(doubtful)[0])]
            raise RobotDynamicsError(
                f"{self._robot.model.name}: contact {name!r} is between pushing and opening in "
                "this impact, which has one-sided derivatives alone; expected one that pushes or "
                "opens."
            )

    def result(self, stage: _Stage, rows: int = 1) -> ImpactDerivatives:
        """Return the derivatives, of impulses along one row or three rows of each contact."""
        n = len(self._qd)
        shape = (-1, 2 * n) if rows == 1 else (-1, rows, 2 * n)
        impulse = stage.impulse.reshape(shape).copy()
        if not stage.independent:
            impulse[...] = np.nan
        return ImpactDerivatives(
            stage.qd[:, :n], stage.qd[:, n:], impulse[..., :n], impulse[..., n:]
        )


class _Jump:
    """A jump d of velocities by impulsive joint forces u, loops closed: H d - K^T mu = u, K d = 0.

    Attributes:
        K: Rows of the loops (n^c, nv).
        force_q: Derivative of H d - K^T mu by q, along velocities (nv, nv).
        rate_q: Derivative of K d (n^c, nv).

    Args:
        robot: The mechanism.
        q: Positions (nq,).
        change: d (nv,).
        force: u (nv,).
    """

    def __init__(self, robot: Robot, q: Array, change: Array, force: Array) -> None:
        model, still = robot.model, np.zeros(robot.model.nv)
        self._H, _, K, *_ = robot.constraint_terms(q, still)
        self.K = np.reshape(K, (-1, model.nv))
        multipliers = np.linalg.lstsq(self.K.T, self._H @ change - force, rcond=None)[0]
        derivatives = RESIDUAL_DERIVATIVES.bind(model)
        jumping = derivatives(q, still, change, multipliers)
        # Gravity and springs are no impulses.
        resting = derivatives(q, still, still, np.zeros_like(multipliers))
        self.force_q = jumping[0] - resting[0]
        self.rate_q = np.reshape(jumping[2], (-1, model.nv))

    def solved(self, force: Array, rows: Array, rate: Array) -> tuple[Array, Array, bool]:
        """Return x (nv, c) and P (a, c), and whether P is unique.

        H x - K^T mu - rows^T P = force (nv, c), and [K; rows] x = rate (n^c + a, c).
        """
        G = np.vstack([self.K, rows])
        free, W = np.linalg.solve(self._H, force), np.linalg.solve(self._H, G.T)
        A = G @ W
        scale = 1.0 / np.sqrt(np.maximum(np.diagonal(A), np.finfo(float).tiny))
        right = scale[:, None] * (rate - G @ free)
        A, loops = scale[:, None] * A * scale, len(self.K)
        y, _, rank, _ = np.linalg.lstsq(A, right, rcond=_DEPENDENT)
        of_loops = np.linalg.matrix_rank(A[:loops, :loops], tol=_DEPENDENT * loops)
        y = scale[:, None] * y
        return free + W @ y, y[loops:], bool(rank == of_loops + len(rows))
