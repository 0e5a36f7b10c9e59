# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Correction of positions that closes contacts that hold, are pressed or stick."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.compile.routine import Call, Mask, MutableRecord, Vector, routine, zeros
from robot_dynamics.contact.dense import (
    copy,
    factorise_symmetric,
    larger,
    product,
    substitute_symmetric,
    total,
)
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
    size: float  #: Its largest part [m or rad].
    known: bool  #: Whether `open` is that of the state.
    to: Vector  #: Positions after a motion (nq,).
    before: Vector  #: Positions before the correction (nq,).
    after: Vector  #: Positions after it (nq,).


class CorrectionParts(NamedTuple):
    """Compiled parts of a correction, each bound to its arrays."""

    look: Call  #: Where shapes touch at the state.
    terms: Call  #: Terms of the state.
    open_by: Call  #: What is open there.
    closing_motion: Call
    move: Call  #: Positions after that motion.
    energy: Call  #: Potential energy of groups at the state.


class PositionCorrection:
    """Closes open contacts of a step.

    Attributes:
        record: Its result.
        look: Finds open contacts at the end of the tried step.
        close: Moves positions to closed contacts, and writes the size of the motion.

    Args:
        layout: Terms of a scene.
        step: Records of its steps.
        find_energy: Writes the potential energy of groups.
        potential: This energy (g,) [J].
    """

    def __init__(
        self, layout: SceneTerms, step: StepRecords, find_energy: Call, potential: Vector
    ) -> None:
        state, m, nv = step.state, len(step.trial.end.rows), len(step.state.v)
        nq, here = len(state.q), layout.output()
        self.record = record = Correction(
            error=m, part=m, everything=True, move=nv, to=nq, before=nq, after=nq
        )
        self.look = open_by.bind(0.5, step, record)
        parts = CorrectionParts(
            look=layout.bind_look(state.q, state.v, state.contacts.near),
            terms=layout.bind_at(state.q, state.v, here),
            open_by=open_by.bind(0.0, step._replace(terms=here), record),
            closing_motion=closing_motion.bind(here, record),
            move=layout.bind_coast(state.q, record.move, np.ones(()), record.to, np.zeros(nv)),
            energy=find_energy,
        )
        self.close = close_contacts.bind(parts, step, record, layout.closing > 0, potential)


@routine
def close_contacts(
    parts: CorrectionParts,
    step: StepRecords,
    correction: Correction,
    closes: bool,
    potential: Vector,
) -> None:
    """Move positions to closed contacts, and write the size of the motion.

    Args:
        parts: Of the correction.
        step: Whose end is known.
        correction: Is written; if `open` is known to be zero, it is not evaluated.
        closes: Whether there are rows that hold.
        potential: Potential energy that `parts.energy` writes (g,) [J].
    """
    q, state = step.state.q, step.state
    state.correction = 0.0
    if correction.known and correction.open <= _CLOSE_ENOUGH:
        return
    correction.everything, correction.shift = True, _SHIFT
    find_closing(parts)
    if correction.size == 0.0:
        return
    large = correction.size > _LARGE_CORRECTION
    if large:
        # Nearly dependent contacts need large motions for small errors.
        correction.shift = _WEAK_SHIFT
        parts.closing_motion()
    size = correction.size
    copy(q, correction.before)
    parts.move()
    copy(correction.to, q)
    if large and closes:
        # Holding rows are closed with priority over contacts.
        correction.everything, correction.shift = False, _SHIFT
        find_closing(parts)
        correction.everything = True
        parts.move()
        copy(correction.to, q)
    if step.trial.end.fastest <= SLOW and correction.open < _LITTLE:
        parts.energy()
        copy(q, correction.after)
        risen = total(potential)
        copy(correction.before, q)
        parts.energy()
        if risen > total(potential):
            # A body at rest is not lifted: it has no motion from which to take the energy.
            return
        copy(correction.after, q)
    state.correction = size


@routine
def find_closing(parts: CorrectionParts) -> None:
    """Find the motion that closes contacts at the state."""
    parts.look()
    parts.terms()
    parts.open_by()
    parts.closing_motion()


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
def closing_motion(terms: StepTerms, correction: Correction) -> None:
    """Write the smallest motion in the metric of H that takes errors away, and its size.

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
    correction.size = 0.0
    if largest <= 1e-15:
        return
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
        return
    substitute_symmetric(A, move)
    for k in range(nv):
        correction.size = max(correction.size, abs(move[k]))
