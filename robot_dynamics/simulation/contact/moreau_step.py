# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled parts of Moreau's time step: its problem, its end, and the state for the next step."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from robot_dynamics.compile.routine import Call, MutableRecord, Vector, routine
from robot_dynamics.contact.dense import along_row, larger
from robot_dynamics.contact.soft import ContactSprings
from robot_dynamics.simulation.contact.contact_arrays import (
    CLOSED,
    DEEP,
    FASTEST,
    NO_SLIP,
    SLOW,
    STILL_CLOSED,
    AppliedForces,
    StepRecords,
    StepState,
    StepTrial,
)

#: Distance [m, rad] of a step's end from the state of its bias forces at which the step is
#: divided.
ASTRAY = 1e-4
#: Accelerations [m/s^2, rad/s^2] that curved surfaces can begin to require in one step.
BEND = 10.0
#: Distance of friction from its bound, as a share of it, below which it is at its bound.
ROUNDING = 1e-9
_TINY = 1e-300
_SOON = 1e-3  # of a step: joints that stop as near to its start or end need no shorter one
_SPRING_PASSES = 60  # of the problem at most, for laws of springs that are not linear
_SWINGING = 6  # passes: two or three are usual ...
_SEARCH = 20  # ... and of a search between bounds
_INFINITE, _NOWHERE = float("inf"), float("nan")


class JointFriction(MutableRecord):
    """Friction of joints."""

    damping: Vector  #: Over their velocities (nv,) [N m s/rad or N s/m].
    coulomb: Vector  #: Coulomb's (nv,) [N m or N].
    fading: float  #: Speed below which Coulomb's fades [rad/s or m/s].


class StepParts(NamedTuple):
    """Compiled parts of a step, each bound to its arrays."""

    rub: Call
    press_pads: Call
    terms: Call
    begin: Call
    give_way: Call
    solve: Call
    end: Call
    follow_laws: Call
    coast: Call
    take: Call
    move_patches: Call
    open_by: Call


@routine
def rub(friction: JointFriction, state: StepState, applied: AppliedForces) -> None:
    """Write the friction of joints over velocities."""
    v, coulomb = state.v, friction.coulomb
    least = friction.fading * friction.fading
    for k in range(len(v)):
        applied.drag[k] = friction.damping[k]
        if coulomb[k] != 0.0:
            applied.drag[k] += coulomb[k] / sqrt(v[k] * v[k] + least)


@routine
def press_pads(step: StepRecords) -> None:
    """Take the normal forces of pads from the last step."""
    padded = step.laws.padded
    for i in range(len(padded)):
        step.trial.applied.pressing[i] = step.state.contacts.force[padded[i]]


@routine
def attempt_step(parts: StepParts, springs: ContactSprings) -> None:
    """Find impulses, and velocities at the end of a step, that satisfy the laws.

    Laws of springs are solved by Newton's method, within bounds if it oscillates.
    """
    parts.rub()
    parts.press_pads()
    parts.terms()
    parts.begin()
    parts.give_way()
    for k in range(_SPRING_PASSES):
        parts.solve()
        parts.end()
        springs.anew = k < _SWINGING or k % _SEARCH == 0
        parts.follow_laws()
        if not springs.missed:
            break


@routine
def ordinary_steps(attempt: Call, accept: Call, trial: StepTrial) -> int:
    """Take steps until one needs to be shorter, or something arrives or closes in it.

    Return their number.
    """
    arriving, end = trial.start.arriving, trial.end
    for step in range(trial.most):
        trial.h, trial.smooth = trial.whole, True
        attempt()
        for i in range(len(arriving)):
            if arriving[i]:
                return step
        if not (end.astray <= ASTRAY and end.fastest < FASTEST) or end.closing < trial.h:
            return step
        accept()
    return trial.most


@routine
def accept_step(parts: StepParts, step: StepRecords) -> None:
    """Advance to the end of the step that was tried."""
    gap, places, shown = step.terms.gaps, step.terms.places, step.laws.shown
    trial, near, error = step.trial, step.state.contacts.near, step.state.error
    trial.half = 0.5 * trial.h
    parts.coast()
    parts.take()
    parts.move_patches()
    parts.open_by()
    error.part = larger(error.part, step.problem.error.part)
    error.velocity = larger(error.velocity, step.problem.error.velocity)
    trial.end.lost = False
    for i in range(len(gap)):
        if not gap[i] >= (-_INFINITE if step.laws.elastic[i] else -DEEP):  # or not a number
            trial.end.lost = True
    for i in range(len(shown)):
        for k in range(3):
            near[i, k] = places[shown[i], k] if gap[shown[i]] < _INFINITE else _NOWHERE


@routine
def slides(force: float, bound: float) -> float:
    """Return the sign of friction at its bound; zero if it holds, or the row has no bound."""
    if abs(force) < bound * (1.0 - ROUNDING):
        return 0.0
    return 1.0 if force > 0.0 else -1.0


@routine
def begin_step(step: StepRecords) -> bool:
    """Write the contact problem of a step: c, P to start from, gaps at its start, who touches.

    Return whether anything arrives.

    Holding rows hold in the mean of the step, u- + u+ = 0, both along the rows of its middle. If
    the rows turn, this is right to second order, and the work of impulses, P (u- + u+) / 2, is
    zero. The laws of rigid contacts apply to u+ + s, with s = u- where they stick or continue to
    slip. A contact whose rows turn more in a step than surfaces do has met a corner, and stops.

    The law of a joint's friction also applies to u+ + s, with s = u- where it holds, and zero
    where it slides, so that it stops at the end of a step.

    A mean of zero permits velocities that change sign with each step. If u- oscillates about the
    last step's s, their mean replaces u- if this takes energy: the oscillation ends.
    """
    terms, laws, problem = step.terms, step.laws, step.problem
    contacts, turning, start = step.state.contacts, step.state.turning, step.trial.start
    before, pressed = terms.before, contacts.pressed
    leaving, bending, fresh = turning.leaving, turning.bending, turning.fresh
    offset, gaps, c, touching = start.offset, start.gaps, problem.c, problem.touching
    holding, width, h = step.rows.holding, step.rows.width, step.trial.h
    arrives = False
    for i in range(len(c)):
        offset[i] = before[i] if i < holding else 0.0
        problem.P[i] = contacts.force[i] * h
    rubs = False
    for i in range(holding):
        if laws.bound[i] < _INFINITE:
            rubs = True
            problem.bound[i] = h * laws.bound[i]
            if fresh or slides(contacts.force[i], laws.bound[i]) != 0.0:
                offset[i] = 0.0
    for i in range(holding if rubs else 0):
        # Friction that stops a linkage leaves the rate at which rows of its loops turned.
        turned = offset[i] - h * bending[i]
        if contacts.force[i] * turned < 0.0 and turning.swing[i] * turned < 0.0:
            offset[i] = 0.5 * (offset[i] + h * bending[i])
    for i in range(holding):
        if contacts.loose[i]:
            problem.P[i], problem.bound[i], offset[i] = 0.0, 0.0, 0.0
        elif laws.bound[i] == _INFINITE:
            problem.bound[i] = _INFINITE
    for i in range(len(terms.gaps)):
        rate = before[holding + i * width]
        gaps[i] = terms.gaps[i] - 0.5 * h * rate
        start.within[i] = (
            abs(terms.places[i, 0]) <= laws.face[i, 0]
            and abs(terms.places[i, 1]) <= laws.face[i, 1]
        )
        closed = gaps[i] <= (STILL_CLOSED if pressed[i] else CLOSED) and gaps[i] > -laws.deep[i]
        touching[i] = closed and start.within[i] and not laws.elastic[i]
        # A contact that pushed in the last step does not arrive: it only slides on.
        start.arriving[i] = touching[i] and not pressed[i] and rate < 0.0
        if start.arriving[i]:
            arrives = True
        if touching[i]:
            n = holding + i * width
            bend = BEND * h
            # A separating contact may return, and is stopped then: to stop it here would add
            # energy. By how much rows turn in half a step: as in the last one, or seen after an
            # impact.
            turned = rate - leaving[n] if fresh else leaving[n]
            offset[n] = max(rate, -2.0 * abs(turned) - bend if pressed[i] else 0.0)
            slip, across = 0.0, 0.0
            for k in range(n + 1, n + width):
                slip += before[k] * before[k]
                turned = before[k] - leaving[k] if fresh else leaving[k]
                across += turned * turned
            slip, part = sqrt(slip), 0.0
            if (pressed[i] or fresh) and not contacts.slipping[i]:
                part = min(1.0, (2.0 * sqrt(across) + bend) / max(slip, _TINY))
            elif pressed[i] and slip > 2.0 * turning.slowing[i]:
                # It does not stop in this step: friction is against the mean slip.
                part = 1.0
            for k in range(n + 1, n + width):
                offset[k] = part * before[k]
                if pressed[i] and contacts.slipping[i] and part == 0.0:
                    # A contact stops between steps: rows have equal errors on either side.
                    offset[k] = 0.5 * (before[k] - leaving[k])
            # Normal and tangents separately: a changing slip hides the normal.
            for side in range(2):
                first, behind = n + side, n + 1 + side * (width - 1)
                power, swings = 0.0, 0.0
                for k in range(first, behind):
                    power += contacts.force[k] * (offset[k] - h * bending[k])
                    swings += turning.swing[k] * (offset[k] - h * bending[k])
                if pressed[i] and power < 0.0 and swings < 0.0:
                    for k in range(first, behind):
                        offset[k] = 0.5 * (offset[k] + h * bending[k])
            # Resting contacts stop at once, with the impulses of the last step.
            for k in range(n, n + width):
                if abs(offset[k]) < NO_SLIP:
                    offset[k] = 0.0
    for i in range(len(c)):
        c[i] = terms.after[i] + offset[i]
    return arrives


@routine
def end_step(step: StepRecords) -> None:
    """Write velocities at the end, the distance from the prediction, and events that end it early.

    Events are rigid contacts that close, and joints with friction that stop or reverse.
    """
    terms, rows, start = step.terms, step.rows, step.trial.start
    foreseen, contacts = step.state.prediction.foreseen, step.state.contacts
    pressed, bound = contacts.pressed, step.laws.bound
    v, gaps, ended, h, P = terms.start, start.gaps, step.trial.end, step.trial.h, step.problem.P
    end, after, fastest, astray, closing = ended.v, ended.rows, 0.0, 0.0, h
    for k in range(len(v)):
        end[k] = terms.free[k]
    for i in range(len(P)):
        if P[i] != 0.0:
            for k in range(len(v)):
                end[k] += P[i] * terms.HJ[i, k]
    for i in range(len(P)):
        after[i] = along_row(terms.J, i, end)
    for k in range(len(v)):
        fastest = larger(fastest, abs(end[k]))
        off = abs(0.5 * h * (end[k] - v[k] - h * foreseen[k]))
        astray = larger(astray, off)
    # The first of rigid contacts that close: gap + u0 t + (u1 - u0) t^2 / (2 h) = 0.
    for i in range(len(gaps)):
        u0 = terms.before[rows.holding + i * rows.width]
        u1 = after[rows.holding + i * rows.width]
        open_ = (
            gaps[i] > CLOSED and start.within[i] and not step.laws.elastic[i] and not pressed[i]
        )
        if open_ and gaps[i] + 0.5 * h * (u0 + u1) < 0.0:
            # The smallest root, without cancellation.
            root = sqrt(max(u0 * u0 - 2.0 * (u1 - u0) / h * gaps[i], 0.0))
            if root > u0:
                closing = min(closing, 2.0 * gaps[i] / (root - u0))
    # Or the first joint with friction that stops or reverses, as it was foreseen.
    for i in range(rows.holding if not step.state.turning.fresh else 0):
        u0 = terms.before[i]
        if u0 * slides(contacts.force[i], bound[i]) < 0.0 and u0 * after[i] <= 0.0:
            rate = along_row(terms.J, i, foreseen)
            if u0 * rate < 0.0 and -u0 / rate > _SOON * h and -u0 / rate < (1.0 - _SOON) * h:
                closing = min(closing, -u0 / rate)
    ended.fastest, ended.astray, ended.closing = fastest, astray, closing


@routine
def take_step(step: StepRecords) -> None:
    """Record a step, and update the state for the next step."""
    take_pads(step)
    add_work(step)
    mark_pushed(step)
    foresee(step, remember_contacts(step))


@routine
def take_pads(step: StepRecords) -> None:
    """Take moments and work of pads."""
    terms, trial, moments = step.terms, step.trial, step.state.contacts.pads
    power = 0.0
    for k in range(len(terms.pad_force)):
        power += terms.pad_force[k] * 0.5 * (terms.start[k] + trial.end.v[k])
    for i in range(len(moments)):
        for k in range(2):
            moments[i, k] = terms.pads[i, k]
    if len(moments) > 0:
        step.state.account.pads[step.laws.held_group] += trial.h * power


@routine
def add_work(step: StepRecords) -> None:
    """Add work and momentum of a step to the energy account."""
    terms, groups, trial, account = step.terms, step.groups, step.trial, step.state.account
    v, before, end, after = terms.start, terms.before, trial.end.v, trial.end.rows
    h, applied, P, of_velocity = trial.h, trial.applied, step.problem.P, groups.of_velocity
    for k in range(len(v)):
        mean = 0.5 * h * (v[k] + end[k])
        account.drives[of_velocity[k]] += applied.force[k] * mean
        account.friction[of_velocity[k]] -= applied.drag[k] * end[k] * mean
        for j in range(3):
            push = applied.force[k] - applied.drag[k] * end[k]
            account.given[of_velocity[k], j] += h * push * terms.wholes[k, j]
    for g in range(len(groups.weight)):
        for j in range(3):
            account.given[g, j] += h * groups.weight[g, j]
    for i in range(step.rows.holding):  # dampers of hinges and lines
        lost = 0.5 * h * step.laws.drag[i] * after[i] * (before[i] + after[i])
        account.friction[groups.of_row[i]] -= lost
    for i in range(len(P)):
        account.work[i] += P[i] * (before[i] + after[i])


@routine
def turns_over(step: StepRecords, i: int) -> bool:
    """Return whether friction of a row begins to hold in a step, or ceases to, or reverses."""
    bound = step.laws.bound[i]
    was = slides(step.state.contacts.force[i], bound)
    return was != slides(step.problem.P[i] / step.trial.h, bound)


@routine
def mark_pushed(step: StepRecords) -> None:
    """Mark the groups that a contact pushes in a step, or pushed in the previous step.

    Also the groups of joints whose friction changes in it.
    """
    groups, pushed, pushes = step.groups, step.trial.end.pushed, step.problem.pressed
    joins, pressed = groups.joins, step.state.contacts.pressed
    for g in range(len(pushed)):
        pushed[g] = False
    for i in range(step.rows.holding):
        if turns_over(step, i):
            pushed[groups.of_row[i]] = True
    for j in range(len(joins)):
        if pushes[joins[j, 0]] or pressed[joins[j, 0]]:
            pushed[joins[j, 1]], pushed[joins[j, 2]] = True, True
    for i in range(len(pushes)):
        if pushes[i] or pressed[i]:
            pushed[groups.of_row[step.rows.holding + i * step.rows.width]] = True


@routine
def remember_contacts(step: StepRecords) -> bool:
    """Write forces, modes and places of contacts, and how rows moved, for the next step.

    Return whether nothing changed in the step.
    """
    terms, laws, trial, problem = step.terms, step.laws, step.trial, step.problem
    contacts, turning, account = step.state.contacts, step.state.turning, step.state.account
    before, pressed, slipping = terms.before, contacts.pressed, contacts.slipping
    after, pushes, offset, P = trial.end.rows, problem.pressed, trial.start.offset, problem.P
    h, holding, width = trial.h, step.rows.holding, step.rows.width
    same = trial.smooth
    for i in range(holding):
        if turns_over(step, i):
            same = False
    for i in range(len(P)):
        contacts.force[i] = P[i] / h
        contacts.impulse[i] += P[i]
        turning.leaving[i] = after[i]
        turning.swing[i] = before[i] - h * turning.bending[i]
        turning.bending[i] = offset[i] / h
    turning.fresh = False
    for i in range(len(pushes)):
        n = holding + i * width
        if pushes[i] != pressed[i]:
            same = False
        if laws.elastic[i] and pushes[i] and not pressed[i] and before[n] < -SLOW:
            contacts.impacts[i] += 1
        pressed[i] = pushes[i]
        account.touched[i] = account.touched[i] or pushes[i]
        fastest, change = 0.0, 0.0
        for k in range(n + 1, n + width):
            fastest = max(fastest, abs(after[k] + offset[k]))
            change += (after[k] - before[k]) * (after[k] - before[k])
        turning.slowing[i] = sqrt(change)
        slips_on = problem.slipping[i] and fastest > NO_SLIP
        if pushes[i] and slips_on != slipping[i]:
            same = False
            for k in range(n + 1, n + width if not slips_on else 0):
                turning.leaving[k] = 0.0  # what stopped may not go back
        slipping[i] = slips_on
        # Where contacts began to stick.
        sticking = pressed[i] and laws.stays[i] and not slipping[i]
        if sticking and not contacts.anchored[i]:
            for k in range(3):
                contacts.anchors[i, k] = terms.places[i, k]
        contacts.anchored[i] = sticking
    return same


@routine
def foresee(step: StepRecords, same: bool) -> None:
    """Predict accelerations of the next step, for its bias forces.

    If contacts have just changed, the acceleration of the groups that they push is unknown. Groups
    that move freely continue, also if a step is shorter for others.
    """
    v, end, of_velocity = step.terms.start, step.trial.end, step.groups.of_velocity
    prediction, smooth, h = step.state.prediction, step.trial.smooth, step.trial.h
    for k in range(len(v)):
        steady = same or not end.pushed[of_velocity[k]]
        now = (end.v[k] - v[k]) / h if steady else 0.0
        prediction.foreseen[k] = (
            2.0 * now - prediction.acceleration[k]
            if smooth and steady and prediction.known[k]
            else now
        )
        prediction.acceleration[k] = now
        prediction.known[k] = steady
