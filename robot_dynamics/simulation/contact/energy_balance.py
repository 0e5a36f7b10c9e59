# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Energy error of time steps for interacting bodies, and its correction.

Groups are trees of bodies, joined by loops and grasps. Groups that have pushed one another since
the last energy balance are an island. The change of its energy that forces, drives and losses do
not explain is the error of its own steps.

A free island keeps its linear momentum, except for the impulse of forces, in the directions in
which all of it is free. There only velocities relative to its centre of mass are scaled, so that
the result does not depend on the frame of the observer.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from robot_dynamics.compile.routine import Call, Indices, Matrix, Vector, routine, zeros
from robot_dynamics.simulation.contact.contact_arrays import Attempt, ContactLaws, Rows, StepState
from robot_dynamics.simulation.contact.groups import Groups
from robot_dynamics.simulation.contact.terms import StepTerms

_MOST_TAKEN = 1e-2  # part of the kinetic energy that a period's error may cost, or be
_MOST_OFF = 1e-3  # part of motion within an island that momentum may be off by in a period
_UNKNOWN = float("nan")
_ROUNDING = 1e-10  # part of it that is none, where bodies move as one


class Balance(NamedTuple):
    """Energy and momentum of groups, and the factors of motion of their islands."""

    kinetic: Vector  #: Kinetic energy (g,) [J].
    potential: Vector  #: Potential energy, with that of elastic contacts (g,) [J].
    momentum: Matrix  #: In the world (g, 3) [N s].
    #: Velocities of motion as a whole at unit speed along the world's axes (nv, 3).
    wholes: Matrix
    island: Indices  #: The first of the groups that each acts on (g,).
    sums: Matrix  #: Of islands, see `balance_energy` (g, 4).
    common: Matrix  #: Velocity of the centre of mass of each group's island (g, 3) [m/s].
    kept: Matrix  #: What it is to be (g, 3) [m/s].


@routine
def balance_energy(
    find_energy: Call, find_momentum: Call, terms: StepTerms, state: StepState, laws: ContactLaws,
    rows: Rows, groups: Groups, trial: Attempt, balance: Balance,
) -> None:  # fmt: skip
    """Correct the motion of islands by the energy error of all steps since the last call.

    The error is the growth of energy, including that of elastic contacts, beyond the work of
    drives and of elastic friction. Losses of contacts count, apparent gains of contacts do not.
    Other losses are returned, because errors fluctuate. For motion almost at rest the correction
    is limited to a small part, so that it does not keep it from starting.

    `find_energy` writes the energies of groups, `find_momentum` their momentum and `wholes`.
    """
    kinetic, momentum, island = balance.kinetic, balance.momentum, balance.island
    sums, common, kept, account = balance.sums, balance.common, balance.kept, state.account
    work, totals, touched, v = state.work, state.totals, state.touched, state.v
    elastic, holding, width, of_row = laws.elastic, rows.holding, rows.width, groups.of_row
    joins, mass = groups.joins, groups.mass
    for g in range(len(kinetic)):
        island[g] = g
    for j in range(len(joins)):
        if touched[joins[j, 0]]:
            one = min(island[joins[j, 1]], island[joins[j, 2]])
            other = max(island[joins[j, 1]], island[joins[j, 2]])
            for g in range(len(kinetic) if one != other else 0):
                if island[g] == other:
                    island[g] = one
    # For each group: work that may be positive, and losses of contacts.
    for g in range(len(kinetic)):
        sums[g, 0] = totals[g, 0] + totals[g, 1] + totals[g, 2]
        for k in range(1, 4):
            sums[g, k] = 0.0
    for i in range(len(work)):
        soft = i >= holding and elastic[(i - holding) // width]
        if not soft:
            sums[of_row[i], 1] += 0.5 * work[i]
        elif (i - holding) % width > 0:
            sums[of_row[i], 0] += 0.5 * work[i]
    # For each island: growth of energy beyond active work, losses, kinetic energy, and whether
    # losses must not be returned.
    find_energy()
    for i in range(len(elastic)):
        n = holding + i * width
        if elastic[i]:
            deep = -terms.gaps[i] - 0.5 * trial.h[0] * trial.after[n]
            if laws.damping[i] > 0.0 and not state.pressed[i]:
                deep = state.patch[i]
            stored = 0.5 * state.used[i] * deep * deep if deep > 0.0 and trial.within[i] else 0.0
            balance.potential[of_row[n]] += stored
            if laws.loss[i] > 0.0 or laws.damping[i] > 0.0:
                sums[of_row[n], 1] += 0.5 * work[n] + stored
    for g in range(len(kinetic)):
        now, active, rigid = kinetic[g] + balance.potential[g], sums[g, 0], sums[g, 1]
        sums[g, 0], sums[g, 1] = 0.0, 0.0
        i = island[g]
        sums[i, 0] += now - account[g, 0] - (active - account[g, 1])
        sums[i, 1] += rigid - account[g, 2]
        sums[i, 2] += kinetic[g]
        if not groups.lossless[g]:
            sums[i, 3] = 1.0
        account[g, 0], account[g, 1], account[g, 2] = now, active, rigid
    loose = is_loose(groups, state)
    if loose:
        find_momentum()
    common_motion(loose, state, groups, balance)
    for i in range(len(touched)):
        touched[i] = False
    # Factor of an island's velocities.
    for g in range(len(kinetic)):
        gain = sums[g, 0] - min(sums[g, 1], 0.0)
        sums[g, 0] = 1.0
        if sums[g, 2] > 0.0 and (gain > 0.0 or (gain < 0.0 and sums[g, 3] == 0.0)):
            part = gain / sums[g, 2]
            sums[g, 0] = sqrt(1.0 - max(min(part, _MOST_TAKEN), -_MOST_TAKEN))
        part = sums[island[g], 0]
        account[g, 0] += (part * part - 1.0) * kinetic[g]
        for k in range(3):
            more = kept[g, k] - part * common[g, k]  # in velocity
            account[g, 0] += more * (part * momentum[g, k] + 0.5 * mass[g] * more)
            account[g, 3 + k] = part * momentum[g, k] + mass[g] * more if loose else _UNKNOWN
            totals[g, 3 + k] = 0.0
    for k in range(len(v)):
        g = groups.of_velocity[k]
        part = sums[island[g], 0]
        v[k] *= part
        for j in range(3):
            v[k] += balance.wholes[k, j] * (kept[g, j] - part * common[g, j])


@routine
def is_loose(groups: Groups, state: StepState) -> bool:
    """Return whether a group may move as a whole that no contact held to the world."""
    free = groups.free
    for g in range(len(free)):
        held = free[g, 0, 0] + free[g, 1, 1] + free[g, 2, 2] == 0.0
        for c in range(len(state.touched)):
            held = held or (state.touched[c] and groups.grounded[c] == g)
        if not held:
            return True
    return False


@routine
def common_motion(loose: bool, state: StepState, groups: Groups, balance: Balance) -> None:
    """Write velocities of the centres of mass of islands, and their corrected values.

    They are zero in directions in which a group is not free. The kinetic energy in `sums` becomes
    the one relative to the centre of mass, and the gain is reduced by the energy of the momentum
    error.
    """
    island, sums, common, kept = balance.island, balance.sums, balance.common, balance.kept
    both = zeros(3, 3)
    one = zeros(3, 3)
    for i in range(len(island)):
        for k in range(3):
            common[i, k], kept[i, k] = 0.0, 0.0
    for i in range(len(island) if loose else 0):
        if island[i] != i:
            continue
        held, total = False, 0.0
        for c in range(len(state.touched)):
            held = held or (
                state.touched[c] and groups.grounded[c] >= 0 and island[groups.grounded[c]] == i
            )
        for k in range(3):
            for j in range(3):
                one[k, j] = 1.0 if j == k and not held else 0.0
        for g in range(len(island)):
            if island[g] == i:
                total += groups.mass[g]
                askew = 0.0
                for k in range(3):
                    for j in range(3):
                        both[k, j] = 0.0
                        for l in range(3):
                            both[k, j] += one[k, l] * groups.free[g, l, j]
                for k in range(3):
                    for j in range(3):
                        askew = max(askew, abs(both[k, j] - both[j, k]))
                for k in range(3):
                    for j in range(3):
                        one[k, j] = both[k, j] if askew < 1e-9 else 0.0
        for g in range(len(island)):
            for k in range(3 if island[g] == i and total > 0.0 else 0):
                for j in range(3):
                    common[i, k] += one[k, j] * balance.momentum[g, j] / total
                    kept[i, k] += (
                        one[k, j] * (state.account[g, 3 + j] + state.totals[g, 3 + j]) / total
                    )
        energy, error = 0.0, 0.0
        for k in range(3):
            energy += 0.5 * total * common[i, k] * common[i, k]
            error += 0.5 * total * (common[i, k] - kept[i, k]) * (common[i, k] - kept[i, k])
        own = sums[i, 2] - energy
        sums[i, 2] = own if own > _ROUNDING * sums[i, 2] else 0.0
        # Such a large difference is not an error of steps but an unrecorded force, or the momentum
        # is unknown.
        if not error <= _MOST_OFF * _MOST_OFF * sums[i, 2]:
            for k in range(3):
                kept[i, k] = common[i, k]
        for k in range(3):
            off = common[i, k] - kept[i, k]
            sums[i, 0] -= 0.5 * total * off * (common[i, k] + kept[i, k])
        for g in range(len(island)):
            for k in range(3 if island[g] == i else 0):
                common[g, k] = common[i, k]
                kept[g, k] = kept[i, k]
