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

from robot_dynamics.compile.routine import (
    Call,
    Indices,
    Mask,
    Matrix,
    MutableRecord,
    Vector,
    routine,
    zeros,
)
from robot_dynamics.simulation.contact.contact_arrays import EnergyAccount, StepRecords
from robot_dynamics.simulation.contact.groups import Groups

_MOST_TAKEN = 1e-2  # part of the kinetic energy that a period's error may cost, or be
_MOST_OFF = 1e-3  # part of motion within an island that momentum may be off by in a period
_UNKNOWN = float("nan")
_ROUNDING = 1e-10  # part of it that is none, where bodies move as one


class Balance(MutableRecord):
    """Energy and momentum of groups, and the factors of motion of their islands."""

    kinetic: Vector  #: Kinetic energy (g,) [J].
    potential: Vector  #: Potential energy, with that of elastic contacts (g,) [J].
    momentum: Matrix  #: In the world (g, 3) [N s].
    #: Velocities of motion as a whole at unit speed along the world's axes (nv, 3).
    wholes: Matrix
    island: Indices  #: The first of the groups that each acts on (g,).
    gain: Vector  #: Growth of energy of each island beyond active work (g,) [J].
    loss: Vector  #: Its part that contacts account for (g,) [J].
    moving: Vector  #: Kinetic energy of each island that a correction may change (g,) [J].
    slowed: Mask  #: Which islands are slowed down only (g,).
    part: Vector  #: Factor of the motion of each island (g,).
    common: Matrix  #: Velocity of the centre of mass of each group's island (g, 3) [m/s].
    kept: Matrix  #: What it is to be (g, 3) [m/s].


@routine
def balance_energy(
    find_energy: Call, find_momentum: Call, step: StepRecords, balance: Balance
) -> None:
    """Correct the motion of islands by the energy error of all steps since the last call.

    The error is the growth of energy, elastic contacts included, beyond the work of drives and of
    elastic friction. Losses of contacts count, apparent gains of contacts do not. Other losses are
    returned, because errors fluctuate. For motion almost at rest the correction is limited to a
    small part, so that the motion can start.

    `find_energy` writes the energies of groups, `find_momentum` their momentum and `wholes`.
    """
    terms, laws, groups, state, trial = step.terms, step.laws, step.groups, step.state, step.trial
    account, surfaces, v = state.account, state.surfaces, state.v
    work, touched, elastic, joins = account.work, account.touched, laws.elastic, groups.joins
    holding, width, of_row = step.rows.holding, step.rows.width, groups.of_row
    kinetic, momentum, island = balance.kinetic, balance.momentum, balance.island
    gain, loss, moving, part = balance.gain, balance.loss, balance.moving, balance.part
    common, kept = balance.common, balance.kept
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
    active = zeros(len(kinetic))
    rigid = zeros(len(kinetic))
    for g in range(len(kinetic)):
        active[g] = account.drives[g] + account.friction[g] + account.pads[g]
        gain[g], loss[g], moving[g], balance.slowed[g] = 0.0, 0.0, 0.0, False
    for i in range(len(work)):
        soft = i >= holding and elastic[(i - holding) // width]
        if not soft:
            rigid[of_row[i]] += 0.5 * work[i]
        elif (i - holding) % width > 0:
            active[of_row[i]] += 0.5 * work[i]
    find_energy()
    for i in range(len(elastic)):
        n = holding + i * width
        if elastic[i]:
            deep = -terms.gaps[i] - 0.5 * trial.h * trial.end.rows[n]
            if laws.damping[i] > 0.0 and not state.contacts.pressed[i]:
                deep = surfaces.patch[i]
            pushes = deep > 0.0 and trial.start.within[i]
            stored = 0.5 * surfaces.used[i] * deep * deep if pushes else 0.0
            balance.potential[of_row[n]] += stored
            if laws.loss[i] > 0.0 or laws.damping[i] > 0.0:
                rigid[of_row[n]] += 0.5 * work[n] + stored
    for g in range(len(kinetic)):
        i, now = island[g], kinetic[g] + balance.potential[g]
        gain[i] += now - account.energy[g] - (active[g] - account.active[g])
        loss[i] += rigid[g] - account.lost[g]
        moving[i] += kinetic[g]
        if not groups.lossless[g]:
            balance.slowed[i] = True
        account.energy[g], account.active[g], account.lost[g] = now, active[g], rigid[g]
    loose = is_loose(groups, touched)
    if loose:
        find_momentum()
    common_motion(loose, account, groups, balance)
    for i in range(len(touched)):
        touched[i] = False
    for g in range(len(kinetic)):
        excess = gain[g] - min(loss[g], 0.0)
        part[g] = 1.0
        if moving[g] > 0.0 and (excess > 0.0 or (excess < 0.0 and not balance.slowed[g])):
            taken = excess / moving[g]
            part[g] = sqrt(1.0 - max(min(taken, _MOST_TAKEN), -_MOST_TAKEN))
        p = part[island[g]]
        account.energy[g] += (p * p - 1.0) * kinetic[g]
        for k in range(3):
            more = kept[g, k] - p * common[g, k]  # in velocity
            account.energy[g] += more * (p * momentum[g, k] + 0.5 * groups.mass[g] * more)
            account.momentum[g, k] = (
                p * momentum[g, k] + groups.mass[g] * more if loose else _UNKNOWN
            )
            account.given[g, k] = 0.0
    for k in range(len(v)):
        g = groups.of_velocity[k]
        p = part[island[g]]
        v[k] *= p
        for j in range(3):
            v[k] += balance.wholes[k, j] * (kept[g, j] - p * common[g, j])


@routine
def is_loose(groups: Groups, touched: Mask) -> bool:
    """Return whether a group may move as a whole, without a contact to the world."""
    free = groups.free
    for g in range(len(free)):
        held = free[g, 0, 0] + free[g, 1, 1] + free[g, 2, 2] == 0.0
        for c in range(len(touched)):
            held = held or (touched[c] and groups.grounded[c] == g)
        if not held:
            return True
    return False


@routine
def common_motion(loose: bool, account: EnergyAccount, groups: Groups, balance: Balance) -> None:
    """Write velocities of the centres of mass of islands, and their corrected values.

    They are zero in directions in which a group is not free. The kinetic energy is then taken
    relative to the centre of mass, and the gain is reduced by the energy of the momentum error.
    """
    island, moving, common, kept = balance.island, balance.moving, balance.common, balance.kept
    both = zeros(3, 3)
    one = zeros(3, 3)
    for i in range(len(island)):
        for k in range(3):
            common[i, k], kept[i, k] = 0.0, 0.0
    for i in range(len(island) if loose else 0):
        if island[i] != i:
            continue
        held, total = False, 0.0
        for c in range(len(account.touched)):
            held = held or (
                account.touched[c] and groups.grounded[c] >= 0 and island[groups.grounded[c]] == i
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
                        one[k, j] * (account.momentum[g, j] + account.given[g, j]) / total
                    )
        energy, error = 0.0, 0.0
        for k in range(3):
            energy += 0.5 * total * common[i, k] * common[i, k]
            error += 0.5 * total * (common[i, k] - kept[i, k]) * (common[i, k] - kept[i, k])
        own = moving[i] - energy
        moving[i] = own if own > _ROUNDING * moving[i] else 0.0
        # Such a large difference is not an error of steps but an unrecorded force, or the momentum
        # is unknown.
        if not error <= _MOST_OFF * _MOST_OFF * moving[i]:
            for k in range(3):
                kept[i, k] = common[i, k]
        for k in range(3):
            off = common[i, k] - kept[i, k]
            balance.gain[i] -= 0.5 * total * off * (common[i, k] + kept[i, k])
        for g in range(len(island)):
            for k in range(3 if island[g] == i else 0):
                common[g, k] = common[i, k]
                kept[g, k] = kept[i, k]
