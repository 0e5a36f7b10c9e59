# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of time steps whose contacts stay open, sticking or slipping.

Impulses P of a step follow from u = W P + c (see `contact.solver`). With the states of the
contacts held, a change of the terms changes them by (implicit differentiation)

    rows that hold, normals that push, tangents that stick:   du = 0
    joints that slide against their friction:   dP = 0
    tangents that slip:   dP_t = -mu (dP_n s + P_n ds),   s = u_t / |u_t|
    all others:           dP = 0,

where du = W dP + dW P + dc. The variables that steps hand on, such as accelerations, are
differentiated as well. The correction of positions closes contacts that hold, push or stick. The
energy balance at the end of a period, of the order of the steps' errors, is left out.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array, Mask
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.simulation.contact.contact_arrays import NO_SLIP, STILL_CLOSED, StepRecords
from robot_dynamics.simulation.contact.moreau_step import BEND, ROUNDING, JointFriction
from robot_dynamics.simulation.contact.terms import SceneTerms

# Impulses below this share of the largest are zero: their contact is about to change.
_NOTHING = 1e-9
# Share by which velocities of equal branches differ in rounding.
_SAME = 1e-9
# Singular values of scaled equations below which rows depend on one another.
_DEPENDENT = 1e-11


class ContactStepDerivatives:
    """Derivatives of the variables of a scene by its state and joint forces at a start.

    Columns are positions (nv) along velocities, velocities (nv) and joint forces (nv).

    Args:
        layout: Terms of steps.
        step: The records of the step that is tried.
        friction: Friction of joints.
    """

    def __init__(self, layout: SceneTerms, step: StepRecords, friction: JointFriction) -> None:
        self._layout, self._step, self._friction = layout, step, friction
        self._model = model = layout.scene.model
        state, rows = step.state, step.rows
        n, m = model.nv, len(state.contacts.force)
        one, still = np.eye(n), np.zeros((n, n))
        columns = 3 * n
        self._q = np.hstack([self._along(state.q), np.zeros((model.nq, 2 * n))])
        self._v, self._force = np.hstack([still, one, still]), np.hstack([still, still, one])
        self._foreseen, self._acceleration = np.zeros((2, n, columns))
        self._leaving, self._bending, self._pushes = np.zeros((3, m, columns))
        self._padded = [rows.holding + rows.width * c for c, _ in layout.scene.pads]
        contacts = state.contacts
        self._pressed, self._slipping = contacts.pressed.copy(), contacts.slipping.copy()
        self._sliding = self._slides(contacts.force[: rows.holding])

    def _slides(self, force: Array) -> Mask:
        """Return the rows that hold whose friction is at its bound, from all their forces (b,)."""
        return np.asarray(np.abs(force) >= self._step.laws.bound * (1.0 - ROUNDING))

    def _along(self, q: Array) -> Array:
        """Return the rates of positions along each velocity (nq, nv)."""
        at = q.tolist()
        return np.array([self._model.position_rate(at, e) for e in np.eye(self._model.nv)]).T

    def step(self) -> None:
        """Differentiate the step that is tried; must be called before it is accepted.

        Raises:
            RobotDynamicsError: If a contact changes, or is about to.
        """
        state, trial, terms = self._step.state, self._step.trial, self._step.terms
        h, P, end, applied = trial.h, self._step.problem.P, trial.end.v, trial.applied
        self._require_steady()
        v, fading = state.v[:, None], self._friction.fading
        friction = self._friction.coulomb[:, None]
        drag = -friction * v / (v * v + fading * fading) ** 1.5 * self._v
        at = [state.q, state.v, state.prediction.foreseen, applied.force, applied.drag, h]
        moving = [self._q, self._v, self._foreseen, self._force, drag]
        if applied.pressing.size:
            at.append(applied.pressing)
            moving.append(self._pushes[self._padded])
        rates = self._layout.rates(at, moving)
        offset = self._offsets(rates["before"], h)
        turned = np.einsum("cmi,i->mc", rates["J"], terms.HJ.T @ P)
        turned += terms.J @ np.einsum("cmi,m->ic", rates["HJ"], P)
        impulse = self._impulses(rates["after"].T + offset + turned)
        to_end = rates["free"].T + np.einsum("cmi,m->ic", rates["HJ"], P) + terms.HJ.T @ impulse
        after = np.einsum("cmi,i->mc", rates["J"], end) + terms.J @ to_end
        now = (to_end - rates["start"].T) / h
        # As `foresee` does where contacts do not change.
        known = (state.prediction.known & trial.smooth)[:, None]
        self._pushes = impulse / h
        self._foreseen = np.where(known, 2.0 * now - self._acceleration, now)
        self._acceleration, self._leaving, self._bending = now, after, offset / h
        self._q, self._v = self._layout.coast_rates(
            (terms.q, end, 0.5 * h), (rates["q"].T, to_end)
        )

    def _require_steady(self) -> None:
        """Refuse a step in which a contact opens, closes, begins to slip or stops.

        Also refuse a step in which a joint with friction stops or begins to move.
        """
        problem, start, end = self._step.problem, self._step.trial.start, self._step.trial.end
        (b, w), P, pressed = self._step.rows, problem.P, self._step.state.contacts.pressed
        u, normal = end.rows + start.offset, b + w * np.arange(len(pressed))
        speeds = np.abs(u[b:]).reshape(-1, w)[:, 1:].max(axis=1, initial=0.0)
        sizes = np.linalg.norm(P[b:].reshape(-1, w)[:, 1:], axis=1)
        mu, least = self._step.laws.friction, _NOTHING * np.abs(P).max(initial=0.0)
        bound, rough = mu * P[normal], mu > 0.0
        slips = problem.slipping & (speeds > NO_SLIP) & rough
        changes = (problem.pressed != self._pressed) | (pressed != self._pressed)
        changes |= problem.pressed & rough & (slips != (self._slipping & rough))
        changes |= problem.pressed & (P[normal] <= least)
        changes |= problem.pressed & rough & ~slips & (bound - sizes <= least)
        changes |= problem.touching & ~problem.pressed & (u[normal] <= NO_SLIP)
        changes |= start.arriving
        h, slides, held = self._step.trial.h, self._sliding, P[:b]
        limit = h * self._step.laws.bound
        joints = self._slides(held / h) != slides
        joints |= ~slides & (limit - np.abs(held) <= least)
        joints |= slides & (limit > 0.0) & (np.abs(u[:b]) <= NO_SLIP)
        self.refuse(changes, joints)

    def refuse(self, changes: Mask, joints: Mask) -> None:
        """Refuse contacts (c,) and rows that hold (b,) that change.

        Raises:
            RobotDynamicsError: If there are any; it names them.
        """
        layout, scene = self._layout, self._layout.scene
        rubbing = [*layout.rubbing, *(one.name for one in layout.resisting)]
        names = [f"contact {scene.touches[c][0]!r}" for c in np.flatnonzero(changes)]
        names += [f"friction of {rubbing[k]!r}" for k in np.flatnonzero(joints[layout.closing :])]
        if names:
            expected = "contacts that stay open, stick or slip"
            expected += ", and joints that stay at rest or move on" if rubbing else ""
            raise RobotDynamicsError(
                f"{scene.model.name}: {', '.join(names)} changes in this period, or is about to: "
                f"its steps have one-sided derivatives alone; expected {expected}."
            )

    def _offsets(self, before: Array, h: float) -> Array:
        """Return the derivatives of s in the laws of u+ + s (m, columns), see `begin_step`."""
        turning, touching = self._step.state.turning, self._step.problem.touching
        now, rates, leaving = self._step.terms.before, before.T, turning.leaving
        (b, w), bound = self._step.rows, self._step.laws.bound
        found = rates.copy()
        for k in range(b if np.isfinite(bound).any() else 0):
            slides = np.isfinite(bound[k]) and (turning.fresh or self._sliding[k])
            way = (0.0, np.zeros_like(rates[k])) if slides else (now[k], rates[k])
            found[k] = self._branch(k, [way], h)
        for i in range(len(touching)):
            n = b + i * w
            for k in range(n, n + w):
                if not touching[i]:
                    found[k] = 0.0
                    continue
                turned = now[k] - leaving[k] if turning.fresh else leaving[k]
                of_turned = rates[k] - self._leaving[k] if turning.fresh else self._leaving[k]
                bent = 0.5 * (now[k] - leaving[k]), 0.5 * (rates[k] - self._leaving[k])
                if k == n:  # as far as the surface turns
                    bent = -2.0 * abs(turned) - BEND * h, -2.0 * np.sign(turned) * of_turned
                found[k] = self._branch(k, [(now[k], rates[k]), bent], h)
        return found

    def _branch(self, k: int, ways: list[tuple[float, Array]], h: float) -> Array:
        """Return the derivative of the s of a row, which was found in one of several ways."""
        value, still = float(self._step.trial.start.offset[k]), np.zeros_like(self._bending[k])
        if value == 0.0:
            return still
        bending, of_bending = h * self._step.state.turning.bending[k], h * self._bending[k]
        halves = [(0.5 * (x + bending), 0.5 * (rate + of_bending)) for x, rate in ways]
        for x, rate in [*ways, *halves]:
            if abs(x - value) <= _SAME * max(abs(x), abs(value)):
                return rate
        (b, w), c = self._step.rows, len(self._pressed)
        # A corner stops it.
        self.refuse(b + w * np.arange(c) + (k - b) % w == k, np.arange(b) == k)
        return still

    def _impulses(self, change: Array) -> Array:
        """Return the derivatives of impulses (m, columns); `change` is dW P + dc."""
        terms, problem, trial = self._step.terms, self._step.problem, self._step.trial
        W, P, mu = terms.J @ terms.HJ.T, problem.P, self._step.laws.friction
        (b, w), u, m = self._step.rows, trial.end.rows + trial.start.offset, len(P)
        M, right = np.zeros((m, m)), np.zeros_like(change)
        for k in range(m):
            i = (k - b) // w
            if k < b:
                holds = not self._sliding[k]
            else:
                holds = problem.pressed[i] and ((k - b) % w == 0 or mu[i] > 0.0)
            if holds:
                M[k], right[k] = W[k] / W[k, k], -change[k] / W[k, k]
            else:
                M[k, k] = 1.0
        slips = problem.pressed & problem.slipping & (mu > 0.0)
        for i in np.flatnonzero(slips).tolist():
            n = b + i * w
            t = slice(n + 1, n + w)
            speed = float(np.linalg.norm(u[t]))
            s = u[t] / max(speed, NO_SLIP)
            turn = mu[i] * P[n] / max(speed, NO_SLIP) * (np.eye(w - 1) - np.outer(s, s))
            M[t], right[t] = turn @ W[t], -turn @ change[t]
            M[t, t] += np.eye(w - 1)
            M[t, n] += mu[i] * s
        return np.asarray(np.linalg.lstsq(M, right, rcond=_DEPENDENT)[0])

    def result(self) -> tuple[Array, Array]:
        """Return A (2 nv, 2 nv) and B (2 nv, nv) of the period, positions corrected."""
        state, n = self._step.state, self._model.nv
        along = np.linalg.lstsq(self._along(state.q), self._q, rcond=None)[0]
        both = np.vstack([along + self._correction(), self._v])
        return both[:, : 2 * n], both[:, 2 * n :]

    def _correction(self) -> Array:
        """Return the derivative of the motion that closes contacts (nv, columns)."""
        state, (b, w), layout = self._step.state, self._step.rows, self._layout
        still, contacts = np.zeros(self._model.nv), state.contacts
        terms = layout.at(state.q, state.v, contacts.near)
        rest = np.zeros_like(self._v)
        unpressed = [np.zeros(len(self._padded))] * bool(self._padded)
        at = [state.q, still, still, still, still, 0.0, *unpressed]
        moving = [self._q, rest, rest, rest, rest, *(rest[self._padded] for _ in unpressed)]
        rates = layout.rates(at, moving)
        part, error = np.zeros(len(terms.J), dtype=bool), np.zeros((len(terms.J), rest.shape[1]))
        closing = layout.closing
        part[:closing], part[closing:b] = True, ~self._sliding[closing:]
        if closing:
            error[:closing] = rates["error"].T
        for i in range(len(contacts.pressed)):
            n = b + i * w
            if contacts.pressed[i] and terms.gaps[i] <= STILL_CLOSED:
                part[n], error[n] = True, rates["gaps"].T[i]
            if contacts.anchored[i] and not self._step.laws.gives[i]:
                part[n + 1 : n + w] = True
                error[n + 1 : n + 3] = terms.axes[i, :2] @ rates["places"][:, i].T
        J, HJ = terms.J[part], terms.HJ[part]
        if not len(J):
            return rest
        W = J @ HJ.T
        scale = 1.0 / np.sqrt(np.diagonal(W))
        W = scale[:, None] * W * scale
        y = np.linalg.lstsq(W, scale[:, None] * error[part], rcond=_DEPENDENT)[0]
        return np.asarray(-HJ.T @ (scale[:, None] * y))
