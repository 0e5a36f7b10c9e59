# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled parts of Moreau's time step: its problem, its end, and the state for the next step."""

from __future__ import annotations

from math import sqrt

from robot_dynamics.compile.routine import Call, Vector, routine
from robot_dynamics.contact.dense import along_row, larger
from robot_dynamics.contact.solver import ContactProblem
from robot_dynamics.simulation.contact.contact_arrays import (
    CLOSED,
    DEEP,
    FASTEST,
    NO_SLIP,
    SLOW,
    STILL_CLOSED,
    Attempt,
    ContactLaws,
    Rows,
    StepState,
)
from robot_dynamics.simulation.contact.groups import Groups
from robot_dynamics.simulation.contact.terms import StepTerms

#: Distance [m, rad] of a step's end from the state of its bias forces at which the step is
#: divided.
ASTRAY = 1e-4
#: Accelerations [m/s^2, rad/s^2] that curved surfaces can begin to require in one step.
BEND = 10.0
_TINY = 1e-300
_SPRING_PASSES = 60  # of the problem at most, for laws of springs that are not linear
_SWINGING = 6  # passes: two or three are usual ...
_SEARCH = 20  # ... and of a search between bounds
_INFINITE, _NOWHERE = float("inf"), float("nan")


@routine
def nothing() -> None:
    """Do nothing, for steps without this part."""


@routine
def rub(
    state: StepState, damping: Vector, friction: Vector, friction_velocity: Vector, trial: Attempt
) -> None:
    """Write the friction of joints over velocities."""
    v = state.v
    least = friction_velocity[0] * friction_velocity[0]
    for k in range(len(v)):
        trial.drag[k] = damping[k]
        if friction[k] != 0.0:
            trial.drag[k] += friction[k] / sqrt(v[k] * v[k] + least)


@routine
def attempt_step(
    rub: Call, terms: Call, begin: Call, give_way: Call, solve: Call, end: Call, follow_laws: Call,
    trial: Attempt,
) -> None:  # fmt: skip
    """Find impulses, and velocities at the end of a step, that satisfy the laws.

    Laws of springs are solved by Newton's method, within bounds if it oscillates.
    """
    rub()
    terms()
    begin()
    give_way()
    for k in range(_SPRING_PASSES):
        solve()
        end()
        trial.anew[0] = k < _SWINGING or k % _SEARCH == 0
        follow_laws()
        if not trial.missed[0]:
            break


@routine
def ordinary_steps(attempt: Call, accept: Call, trial: Attempt) -> int:
    """Take steps until one needs to be shorter, or something arrives or closes in it.

    Return their number.
    """
    for step in range(trial.most[0]):
        trial.h[0], trial.smooth[0] = trial.whole[0], True
        attempt()
        for i in range(len(trial.arriving)):
            if trial.arriving[i]:
                return step
        if (
            not (trial.astray[0] <= ASTRAY and trial.fastest[0] < FASTEST)
            or trial.closing[0] < trial.h[0]
        ):
            return step
        accept()
    return trial.most[0]


@routine
def accept_step(
    coast: Call, take: Call, move_patches: Call, open_by: Call, terms: StepTerms, state: StepState,
    laws: ContactLaws, trial: Attempt, problem: ContactProblem,
) -> None:  # fmt: skip
    """Go on to the end of the step that was tried."""
    gap, shown = terms.gaps, laws.shown
    trial.half[0] = 0.5 * trial.h[0]
    coast()
    take()
    move_patches()
    open_by()
    for k in range(len(problem.error)):
        state.residual[k] = larger(state.residual[k], problem.error[k])
    trial.lost[0] = False
    for i in range(len(gap)):
        if not gap[i] >= (-_INFINITE if laws.elastic[i] else -DEEP):  # or not a number
            trial.lost[0] = True
    for i in range(len(shown)):
        for k in range(3):
            state.near[i, k] = terms.places[shown[i], k] if gap[shown[i]] < _INFINITE else _NOWHERE


@routine
def begin_step(
    terms: StepTerms, state: StepState, laws: ContactLaws, rows: Rows, trial: Attempt,
    problem: ContactProblem,
) -> bool:  # fmt: skip
    """Write the contact problem of a step: c, P to start from, gaps at its start, who touches.

    Return whether anything arrives.

    What holds does so in the mean of the step, u- + u+ = 0, both along the rows of its middle:
    where these turn that is right to second order, and impulses, P (u- + u+) / 2, take no energy
    and give none. Rigid contacts likewise: their laws are those of u+ + s, with s = u- where they
    stick or slip on. What bends more in a step than surfaces do is a new corner, which stops.

    A mean of zero says nothing of velocities that change sign with each step. Where u- swings
    about the last step's s, their mean takes its place, if that takes energy: the swing ends.
    """
    h = trial.h[0]
    before, pressed, leaving, fresh = terms.before, state.pressed, state.leaving, state.fresh
    bending, offset, gaps, c = state.bending, trial.offset, trial.gaps, problem.c
    touching, holding, width = problem.touching, rows.holding, rows.width
    arrives = False
    for i in range(len(c)):
        offset[i] = before[i] if i < holding else 0.0
        problem.P[i] = state.force[i] * h
    for i in range(len(terms.gaps)):
        rate = before[holding + i * width]
        gaps[i] = terms.gaps[i] - 0.5 * h * rate
        trial.within[i] = (
            abs(terms.places[i, 0]) <= laws.face[i, 0]
            and abs(terms.places[i, 1]) <= laws.face[i, 1]
        )
        closed = gaps[i] <= (STILL_CLOSED if pressed[i] else CLOSED) and gaps[i] > -laws.deep[i]
        touching[i] = closed and trial.within[i] and not laws.elastic[i]
        # A contact that pushed in the last step does not arrive: it only slides on.
        trial.arriving[i] = touching[i] and not pressed[i] and rate < 0.0
        if trial.arriving[i]:
            arrives = True
        if touching[i]:
            n = holding + i * width
            bend = BEND * h
            # A separating contact may return, and is stopped then: to stop it here would add
            # energy. By how much rows turn in half a step: as in the last one, or seen after an
            # impact.
            turned = rate - leaving[n] if fresh[0] else leaving[n]
            offset[n] = max(rate, -2.0 * abs(turned) - bend if pressed[i] else 0.0)
            slip, across = 0.0, 0.0
            for k in range(n + 1, n + width):
                slip += before[k] * before[k]
                turned = before[k] - leaving[k] if fresh[0] else leaving[k]
                across += turned * turned
            slip, part = sqrt(slip), 0.0
            if (pressed[i] or fresh[0]) and not state.slipping[i]:
                part = min(1.0, (2.0 * sqrt(across) + bend) / max(slip, _TINY))
            elif pressed[i] and slip > 2.0 * state.slowing[i]:
                # It does not stop in this step: friction is against the mean slip.
                part = 1.0
            for k in range(n + 1, n + width):
                offset[k] = part * before[k]
                if pressed[i] and state.slipping[i] and part == 0.0:
                    # A contact stops between steps: rows have equal errors on either side.
                    offset[k] = 0.5 * (before[k] - leaving[k])
            # Normal and tangents separately: a changing slip hides the normal.
            for side in range(2):
                first, behind = n + side, n + 1 + side * (width - 1)
                power, swings = 0.0, 0.0
                for k in range(first, behind):
                    power += state.force[k] * (offset[k] - h * bending[k])
                    swings += state.swing[k] * (offset[k] - h * bending[k])
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
def end_step(
    terms: StepTerms, state: StepState, laws: ContactLaws, rows: Rows, trial: Attempt,
    problem: ContactProblem,
) -> None:  # fmt: skip
    """Write velocities at the end, how far it is from what was foreseen, and what closes when."""
    h = trial.h[0]
    v, gaps, end, astray = terms.start, trial.gaps, trial.end, trial.astray
    closing, fastest, P = trial.closing, trial.fastest, problem.P
    fastest[0] = 0.0
    for k in range(len(v)):
        end[k] = terms.free[k]
    for i in range(len(P)):
        if P[i] != 0.0:
            for k in range(len(v)):
                end[k] += P[i] * terms.HJ[i, k]
    for i in range(len(P)):
        trial.after[i] = along_row(terms.J, i, end)
    astray[0] = 0.0
    for k in range(len(v)):
        fastest[0] = larger(fastest[0], abs(end[k]))
        off = abs(0.5 * h * (end[k] - v[k] - h * state.foreseen[k]))
        astray[0] = larger(astray[0], off)
    # The first of rigid contacts that close: gap + u0 t + (u1 - u0) t^2 / (2 h) = 0.
    closing[0] = h
    for i in range(len(gaps)):
        u0 = terms.before[rows.holding + i * rows.width]
        u1 = trial.after[rows.holding + i * rows.width]
        open_ = (
            gaps[i] > CLOSED and trial.within[i] and not laws.elastic[i] and not state.pressed[i]
        )
        if open_ and gaps[i] + 0.5 * h * (u0 + u1) < 0.0:
            # The smallest root, without cancellation.
            root = sqrt(max(u0 * u0 - 2.0 * (u1 - u0) / h * gaps[i], 0.0))
            if root > u0:
                closing[0] = min(closing[0], 2.0 * gaps[i] / (root - u0))


@routine
def take_step(
    terms: StepTerms, state: StepState, laws: ContactLaws, rows: Rows, groups: Groups,
    trial: Attempt, problem: ContactProblem,
) -> None:  # fmt: skip
    """Record a step, and update the state for the next step."""
    h = trial.h[0]
    v, before, totals, pressed = terms.start, terms.before, state.totals, state.pressed
    slipping, of_velocity, joins = state.slipping, groups.of_velocity, groups.joins
    end, after, pushed, P = trial.end, trial.after, trial.pushed, problem.P
    pushes, width = problem.pressed, rows.width
    for k in range(len(v)):
        mean = 0.5 * h * (v[k] + end[k])
        totals[of_velocity[k], 0] += trial.force[k] * mean
        totals[of_velocity[k], 1] -= trial.drag[k] * end[k] * mean
        for j in range(3):
            push = trial.force[k] - trial.drag[k] * end[k]
            totals[of_velocity[k], 3 + j] += h * push * terms.wholes[k, j]
    for g in range(len(groups.weight)):
        for j in range(3):
            totals[g, 3 + j] += h * groups.weight[g, j]
    for i in range(len(P)):
        state.work[i] += P[i] * (before[i] + after[i])
        state.force[i] = P[i] / h
        state.impulse[i] += P[i]
        state.leaving[i] = after[i]
        state.swing[i] = before[i] - h * state.bending[i]
        state.bending[i] = trial.offset[i] / h
    state.fresh[0] = False
    same = trial.smooth[0]
    for g in range(len(pushed)):
        pushed[g] = False
    for j in range(len(joins)):
        if pushes[joins[j, 0]] or pressed[joins[j, 0]]:
            pushed[joins[j, 1]], pushed[joins[j, 2]] = True, True
    for i in range(len(pushes)):
        n = rows.holding + i * width
        if pushes[i] or pressed[i]:
            pushed[groups.of_row[n]] = True
        if pushes[i] != pressed[i]:
            same = False
        if laws.elastic[i] and pushes[i] and not pressed[i] and before[n] < -SLOW:
            state.impacts[i] += 1
        pressed[i] = pushes[i]
        state.touched[i] = state.touched[i] or pushes[i]
        fastest, change = 0.0, 0.0
        for k in range(n + 1, n + width):
            fastest = max(fastest, abs(after[k] + trial.offset[k]))
            change += (after[k] - before[k]) * (after[k] - before[k])
        state.slowing[i] = sqrt(change)
        slips_on = problem.slipping[i] and fastest > NO_SLIP
        if pushes[i] and slips_on != slipping[i]:
            same = False
            for k in range(n + 1, n + width if not slips_on else 0):
                state.leaving[k] = 0.0  # what stopped may not go back
        slipping[i] = slips_on
        # Where contacts began to stick.
        sticking = pressed[i] and laws.stays[i] and not slipping[i]
        if sticking and not state.anchored[i]:
            for k in range(3):
                state.anchors[i, k] = terms.places[i, k]
        state.anchored[i] = sticking
    # For the next step's bias forces, unless contacts have just changed: then none is known of
    # what they push. What moves freely goes on, also where a step is shorter for others.
    for k in range(len(v)):
        steady = same or not pushed[of_velocity[k]]
        now = (end[k] - v[k]) / h if steady else 0.0
        state.foreseen[k] = (
            2.0 * now - state.acceleration[k]
            if trial.smooth[0] and steady and state.known[k]
            else now
        )
        state.acceleration[k] = now
        state.known[k] = steady
