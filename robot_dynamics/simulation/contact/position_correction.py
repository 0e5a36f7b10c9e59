# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Correction of positions that closes contacts that hold, are pressed or stick."""

from __future__ import annotations

from collections.abc import Callable

from robot_dynamics.compile.routine import Mask, MutableRecord, Vector, routine, zeros
from robot_dynamics.contact.dense import factorise_symmetric, larger, product, substitute_symmetric
from robot_dynamics.simulation.contact.contact_arrays import SLOW, STILL_CLOSED, StepRecords
from robot_dynamics.simulation.contact.moreau_step import slides
from robot_dynamics.simulation.contact.terms import SceneTerms, StepTerms

_LARGE_CORRECTION = 1e-6  # [m or rad]
_LITTLE = 1e-5  # [m or rad], what is open by less where all rests is not closed by lifting
_CLOSE_ENOUGH = 1e-12  # [m or rad], what is open by less in a step is not corrected
_WEAK_SHIFT = 1e-6  # of the diagonal, for rows that nearly depend on one another
_SHIFT = 1e-10  # of the diagonal, for rows that depend on one another


class Correction(MutableRecord):
    """Correction of positions."""

    error: Vector  #: What rows are open by (m,) [m or rad].
    part: Mask  #: Which rows take part (m,).
    open: float  #: The largest of their errors [m or rad].
    everything: bool  #: Whether contacts take part, beside what holds.
    shift: float  #: Of the diagonal of W, in parts of its mean.
    move: Vector  #: The motion that closes what is open (nv,) [m or rad].


class PositionCorrection:
    """Closes open contacts of a step.

    Attributes:
        record: Its result.
        look: Finds open contacts at the end of the tried step.
    """

    def __init__(self, layout: SceneTerms, step: StepRecords, energy: Callable[[], float]) -> None:
        """Take the terms of a scene, the records of a step, and its potential energy [J]."""
        state, m, nv = step.state, len(step.trial.end.rows), len(step.state.v)
        self.record = record = Correction(error=m, part=m, everything=True, move=nv)
        self._layout, self._step, self._energy, here = layout, step, energy, layout.output()
        self.look = open_by.bind(0.5, step, record)
        self._look_here = open_by.bind(0.0, step._replace(terms=here), record)
        self._terms_here = layout.bind_at(state.q, state.v, here)
        self._closing_motion = closing_motion.bind(here, record)

    def close(self, *, known: bool) -> float:
        """Move positions to closed contacts; return the size of the motion [m or rad].

        Args:
            known: Whether `look` has just been called: then there is no evaluation if all are
                closed.
        """
        record, q = self.record, self._step.state.q
        if known and record.open <= _CLOSE_ENOUGH:
            return 0.0
        record.shift = _SHIFT
        size, before = self._find(), q.copy()
        if not size:
            return 0.0
        large = size > _LARGE_CORRECTION
        if large:
            # Nearly dependent contacts need large motions for small errors.
            record.shift = _WEAK_SHIFT
            size = self._closing_motion()
        q[:] = self._layout.move(q, record.move)
        if large and self._layout.closing:
            # Holding rows are closed with priority over contacts.
            record.everything, record.shift = False, _SHIFT
            try:
                self._find()
            finally:
                record.everything = True
            q[:] = self._layout.move(q, record.move)
        if self._step.trial.end.fastest <= SLOW and record.open < _LITTLE and self._rises(before):
            # A body at rest is not lifted: it has no motion from which to take the energy.
            q[:] = before
            return 0.0
        return float(size)

    def _rises(self, before: Vector) -> bool:
        """Return whether potential energy is larger than it was at positions `before` (nq,)."""
        q = self._step.state.q
        now, after = self._energy(), q.copy()
        q[:] = before
        then = self._energy()
        q[:] = after
        return now > then

    def _find(self) -> float:
        """Find the motion that closes contacts at the current positions; return its size."""
        state = self._step.state
        self._layout.look(state.q, state.v, 0.0, state.contacts.near)
        self._terms_here()
        self._look_here()
        return float(self._closing_motion())


@routine
def open_by(part: float, step: StepRecords, correction: Correction) -> None:
    """Write the gaps of rows a part of a step after its middle, the rows, and the largest gap.

    They are holding rows and, with `everything`, contacts that push or stick, and joints that
    friction holds where they are. Gaps in the middle of the step, where the terms are, are at most
    as large.
    """
    terms, laws, rows, contacts = step.terms, step.laws, step.rows, step.state.contacts
    gap, error, takes_part = terms.gaps, correction.error, correction.part
    b, largest = len(terms.error), 0.0
    for i in range(len(error)):
        error[i] = terms.error[i] - contacts.rest[i] if i < b else 0.0
        takes_part[i] = i < b and not contacts.loose[i]
    for i in range(len(gap) if correction.everything else 0):
        n = rows.holding + i * rows.width
        # The place of a point of shapes may have gone over to another one, which is open.
        if contacts.pressed[i] and not laws.elastic[i] and gap[i] <= STILL_CLOSED:
            error[n] = gap[i]
            takes_part[n] = True
        if contacts.anchored[i] and not laws.elastic[i] and not laws.gives[i]:
            for k in range(1, rows.width):
                takes_part[n + k] = True
            for k in range(2):
                for j in range(3):
                    error[n + 1 + k] += terms.axes[i, k, j] * (
                        terms.places[i, j] - contacts.anchors[i, j]
                    )
    for i in range(len(error)):
        if takes_part[i]:
            largest = larger(largest, abs(error[i]))
            error[i] += part * step.trial.h * step.trial.end.rows[i]
            largest = larger(largest, abs(error[i]))
    for i in range(b, rows.holding):
        holds = slides(contacts.force[i], laws.bound[i]) == 0.0
        takes_part[i] = correction.everything and holds
    correction.open = largest


@routine
def closing_motion(terms: StepTerms, correction: Correction) -> float:
    """Write the smallest motion in the metric of H that takes errors away; return its size.

    W is shifted by a part of its mean diagonal.
    """
    J, error, move = terms.J, correction.error, correction.move
    m, nv = len(error), len(move)
    largest, count, trace = 0.0, 0, 0.0
    for i in range(m):
        if correction.part[i]:
            largest = max(largest, abs(error[i]))
            count += 1
            trace += product(J, terms.HJ, i)
    for k in range(nv):
        move[k] = 0.0
    if largest <= 1e-15:
        return 0.0
    # (H + J^T J / s) z = -J^T e / s
    A = zeros(nv, nv)
    weight = count / (correction.shift * trace)
    for k in range(nv):
        for j in range(nv):
            A[k, j] = terms.H[k, j]
    for i in range(m):
        if correction.part[i]:
            for k in range(nv):
                if J[i, k] != 0.0:
                    slope = weight * J[i, k]
                    move[k] -= slope * error[i]
                    for j in range(k + 1):
                        A[k, j] += slope * J[i, j]
    if not factorise_symmetric(A):
        for k in range(nv):
            move[k] = 0.0
        return 0.0
    substitute_symmetric(A, move)
    largest = 0.0
    for k in range(nv):
        largest = max(largest, abs(move[k]))
    return largest
