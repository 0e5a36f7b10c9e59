# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compliant contacts in time steps: their rows in the contact problem, and their patches.

No step resolves K above 1 / (h^2 W), with W the change of the rate by a unit of impulse. Springs
are at most that stiff, from their first touch on, with dampers in proportion to the critical one.
A damper can at most stop a body in a step, and carry the impulse of the last step.

The book's surface is at rest. If it belongs to a moving link, x is kept in the link's coordinates
and turns with it. If its normal turns relative to the link, along a curved surface, x turns with
the normal and keeps its length.
"""

from __future__ import annotations

from math import sqrt

from robot_dynamics.compile.routine import routine
from robot_dynamics.contact.dense import along_row, product
from robot_dynamics.contact.soft import displaced, normal_impulse, normal_slope, tangential_slope
from robot_dynamics.simulation.contact.contact_arrays import StepRecords

# Compliance of elastic contacts along the face, as a share of the mobility over a step. Corners of
# a face that tilts slightly in its springs would otherwise push against one another without bound.
_SHEAR = 1e-3
# Tolerance of the laws of springs, as a share of the largest impulse; or of the velocity at which
# they were linearised.
_EXACT = 1e-12
_ROUNDING = 1e-13
# Slopes of those laws, over h^2 K, which is four times that of a spring that is pressed all along:
# less makes rows that others are lost beside.
_LEAST_SLOPE = 2.5e-3
_FLAT = 1e-12  # a patch that is less deep [m] is none
_TINY, _INFINITE = 1e-300, float("inf")


@routine
def give_way(step: StepRecords) -> None:
    """Write the rows of soft contacts, u + (P - start) / slope = 0 where they push, and `shear`.

    If rows turn, the velocities at the end of the last step and at the start of this one have
    equal, opposite errors.
    """
    terms, laws, rows, springs = step.terms, step.laws, step.rows, step.trial.springs
    contacts, surfaces, turning = step.state.contacts, step.state.surfaces, step.state.turning
    before, J, pressed, used = terms.before, terms.J, contacts.pressed, surfaces.used
    sheared, gaps, x = surfaces.sheared, step.trial.start.gaps, springs.shear
    compliance, c = step.problem.compliance, step.problem.c
    h, whole, foreseen = step.trial.h, step.trial.whole, step.state.prediction.foreseen
    for i in range(len(compliance)):
        compliance[i] = 0.0
    g = 0
    for i in range(len(gaps)):
        n = rows.holding + i * rows.width
        if laws.elastic[i]:
            W = product(J, terms.HJ, n)
            if not pressed[i] and surfaces.patch[i] == 0.0:
                K = used[i] if gaps[i] < 0.0 else laws.stiffness[i]
                used[i] = min(K, 1.0 / (whole * whole * W)) if W > 0.0 else K
            springs.K[i] = used[i]
            springs.D[i] = laws.damping[i] * sqrt(used[i] / laws.stiffness[i])
            springs.most[i] = 2.0 / (h * W) if W > 0.0 else springs.D[i]
            springs.held[i] = h * contacts.force[n]
            springs.loss[i] = laws.loss[i]
            # A patch that is still deeper than the body does not touch it.
            springs.least[i] = 0.0 if pressed[i] else springs.left[i] * surfaces.patch[i]
            springs.start[i] = -gaps[i]
            if not laws.gives[i]:
                # A stiff spring along the face: u + R (P - P of the step before) = 0.
                for k in range(n + 1, n + rows.width):
                    compliance[k] = _SHEAR * product(J, terms.HJ, k)
                    c[k] -= compliance[k] * h * contacts.force[k] + 0.5 * (
                        turning.leaving[k] - before[k]
                    )
            u = before[n] + h * along_row(J, n, foreseen) if pressed[i] else terms.after[n]
            press(step, i, n, u)
        if laws.gives[i]:
            size, along = 0.0, 0.0
            for k in range(2):
                x[g, k] = 0.0
                for j in range(3):
                    x[g, k] += terms.patches[g, k, j] * sheared[g, j]
                along += x[g, k] * x[g, k]
            for j in range(3):
                size += sheared[g, j] * sheared[g, j]
            # It turns with the normal; a turn of more than 60 degrees is another place.
            turn = sqrt(size / along) if 4.0 * along > size else 1.0
            slope = tangential_slope(laws.shear_stiffness[g], laws.shear_damping[g], h)
            for k in range(2):
                x[g, k] = turn * x[g, k]
                compliance[n + 1 + k] = 1.0 / slope
                off = 0.5 * (turning.leaving[n + 1 + k] - before[n + 1 + k])
                c[n + 1 + k] += h * laws.shear_stiffness[g] * x[g, k] / slope - off
            g += 1


@routine
def press(step: StepRecords, i: int, n: int, u: float) -> None:
    """Write the normal row n of contact i, its law linearised at the velocity u at the end."""
    h, problem, springs = step.trial.h, step.problem, step.trial.springs
    springs.u[i] = u
    end = springs.start[i] - 0.5 * h * (step.terms.before[n] + u)
    slope = normal_slope(springs, i, end, h)
    problem.touching[i] = step.trial.start.within[i] and slope > 0.0
    problem.compliance[n], problem.c[n] = 0.0, step.terms.after[n]
    if problem.touching[i]:
        slope = max(slope, _LEAST_SLOPE * h * h * springs.K[i])
        problem.compliance[n] = 1.0 / slope
        problem.c[n] -= normal_impulse(springs, i, end, h) / slope + u


@routine
def follow_laws(step: StepRecords) -> None:
    """Linearise laws of elastic contacts again at the end of a step, if impulses P violate them.

    `missed` states whether they do; `error` is at least the violation, as a share of the largest.
    Contacts stay between velocities known to be too small and too large, unless `anew`: impulses
    decrease with the speed of separation, although those of other contacts may not.
    """
    h, rows, problem, springs = step.trial.h, step.rows, step.problem, step.trial.springs
    before, elastic, after = step.terms.before, step.laws.elastic, step.trial.end.rows
    within = step.trial.start.within
    largest, worst = _TINY, 0.0
    for i in range(len(elastic)):
        n = rows.holding + i * rows.width
        if elastic[i]:
            end = springs.start[i] - 0.5 * h * (before[n] + after[n])
            expected = max(normal_impulse(springs, i, end, h), 0.0) if within[i] else 0.0
            largest = max(largest, problem.P[n])
            # What was linearised there is as near as it comes.
            if abs(after[n] - springs.u[i]) > _ROUNDING * (abs(before[n]) + abs(after[n])):
                worst = max(worst, abs(problem.P[n] - expected))
    springs.missed = worst > _EXACT * largest
    for i in range(len(elastic) if springs.missed else 0):
        n = rows.holding + i * rows.width
        problem.error.part = max(problem.error.part, worst / largest)
        if elastic[i]:
            u, last = after[n], springs.u[i]
            if springs.anew:
                springs.low[i], springs.high[i] = -_INFINITE, _INFINITE
            if u > last:
                springs.low[i] = last
            else:
                springs.high[i] = last
            if not (u > springs.low[i] and u < springs.high[i]) and u != last:
                u = 0.5 * (springs.low[i] + springs.high[i])
            press(step, i, n, u)


@routine
def move_patches(step: StepRecords) -> None:
    """Move patches over a step together with the touching bodies; see `give_way`."""
    terms, laws, rows, springs = step.terms, step.laws, step.rows, step.trial.springs
    contacts, surfaces, after = step.state.contacts, step.state.surfaces, step.trial.end.rows
    h, within, g = step.trial.h, step.trial.start.within, 0
    for i in range(len(terms.gaps)):
        n = rows.holding + i * rows.width
        if laws.damping[i] > 0.0:
            depth = max(-0.5 * h * after[n] - terms.gaps[i], 0.0) if within[i] else 0.0
            # The body may leave its patch, but not go through it.
            rest = springs.left[i] * springs.left[i] * surfaces.patch[i]
            rest = 0.0 if contacts.pressed[i] else rest
            surfaces.patch[i] = max(depth, rest if rest > _FLAT else 0.0)
        if laws.gives[i]:
            K, D = laws.shear_stiffness[g], laws.shear_damping[g]
            for j in range(3):
                surfaces.sheared[g, j] = 0.0
            for k in range(2):
                moved = displaced(K, D, springs.shear[g, k], contacts.force[n + 1 + k], h)
                for j in range(3):
                    surfaces.sheared[g, j] += moved * terms.patches[g, k, j]
            g += 1
