# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What time steps give or take of the energy of bodies that act on one another, and its return.

Trees of bodies, with what loops and grasps tie to them, are groups. Groups that pushed one another
since their energy was looked at are an island: what forces, drives and losses do not explain of
its energy is the error of its steps, and of no other body's.

An island that nothing holds to the world keeps its linear momentum, but for what forces gave it,
in the directions in which all of it is free. There only velocities relative to its centre of mass
are scaled, so that the result does not depend on the frame of the observer.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from robot_dynamics.compile.routine import (
    Call,
    Indices,
    Mask,
    Matrix,
    Table,
    Tensor,
    Vector,
    routine,
    zeros,
)
from robot_dynamics.model import WORLD, Body, Model
from robot_dynamics.model.joints import Floating, Prismatic

_MOST_TAKEN = 1e-2  # part of the kinetic energy that a period's error may cost, or be
_MOST_OFF = 1e-3  # part of motion within an island that momentum may be off by in a period
_UNKNOWN = float("nan")
_ROUNDING = 1e-10  # part of it that is none, where bodies move as one


class Groups(NamedTuple):
    """Which bodies act on one another whatever touches: g groups of these.

    Attributes:
        of_body: The group of each body (bodies,).
        of_velocity: Of each velocity (nv,).
        of_row: Of each row of contacts and of what holds (b + w c,), one of them.
        joins: Contacts that join two groups if they push, and these (n, 3).
        lossless: Whose losses are all in the books (g,): they have no loop joints that resist.
        free: Projections onto the directions in which each may move as a whole (g, 3, 3).
        mass: Of each (g,).
        weight: In the world (g, 3) [N].
        grounded: The group that each contact holds to the world if it pushes (c,), or -1.
        roots: Velocities that move a group as a whole, with their bodies and directions there.
    """

    of_body: NDArray[np.int64]
    of_velocity: NDArray[np.int64]
    of_row: NDArray[np.int64]
    joins: NDArray[np.int64]
    lossless: NDArray[np.bool_]
    free: NDArray[np.float64]
    mass: NDArray[np.float64]
    weight: NDArray[np.float64]
    grounded: NDArray[np.int64]
    roots: dict[int, tuple[int, Sequence[float]]]


def groups_of(
    model: Model,
    moves: Sequence[Sequence[bool]],
    relative: Sequence[bool],
    holding: int,
    width: int,
) -> Groups:
    """Return the groups of a mechanism.

    Args:
        model: The mechanism.
        moves: Which velocities each row may move (b + w c, nv).
        relative: Which rows push two bodies with opposite forces (b + w c,). Rows of couplings
            and inequalities do not: the world may bear a part.
        holding: Number of rows that hold, b.
        width: Rows of each contact, w.
    """
    count = len(model.bodies)
    bodies = [i for i, own in enumerate(model.v_slices) for _ in range(own.start, own.stop)]
    touched = [[bodies[k] for k, moved in enumerate(row) if moved] for row in moves]
    pairs = [(i, body.parent) for i, body in enumerate(model.bodies)]
    pairs += [(loop.predecessor, loop.successor) for loop in model.loops]
    pairs += [(row[0], body) for row in touched[:holding] for body in row[1:]]
    ends = np.array([pair for pair in pairs if WORLD not in pair], np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(count, count))
    n, labels = connected_components(graph, directed=False)
    of_body = labels.astype(np.int64)
    of_row = [int(of_body[row[0]]) if row else 0 for row in touched]
    joins = []
    for c, at in enumerate(range(holding, len(touched), width)):
        found = sorted({int(of_body[b]) for row in touched[at : at + width] for b in row})
        joins += [(c, found[0], other) for other in found[1:]]
    lossless = np.ones(n, dtype=bool)
    for loop in model.loops:
        if loop.damped or any(loop.of_each_freedom(loop.friction)):
            end = loop.predecessor if loop.successor == WORLD else loop.successor
            lossless[of_body[end]] = False
    # Velocities that move trees as a whole, and what holds these to the world.
    free, roots = np.array([np.eye(3)] * n), dict[int, tuple[int, Sequence[float]]]()
    for i, (body, own) in enumerate(zip(model.bodies, model.v_slices, strict=True)):
        if body.parent == WORLD:
            moving, directions = _translations(body, model.armature[own])
            roots |= {own.start + k: (i, unit) for k, unit in moving.items()}
            free[of_body[i]] = _of_both(free[of_body[i]], directions)
    pulled = [
        {roots[k][0] for k, moved in enumerate(row) if moved and k in roots} for row in moves
    ]
    grounding = [
        row if len(row) == 1 or not own else set()
        for row, own in zip(pulled, relative, strict=True)
    ]
    tied = [{loop.predecessor, loop.successor} - {WORLD} for loop in model.loops]
    for held in [*grounding[:holding], *(pair for pair in tied if len(pair) == 1)]:
        for i in held:
            free[of_body[i]] = 0.0
    grounded = [
        next((of_body[min(row)] for row in grounding[at : at + width] if row), -1)
        for at in range(holding, len(grounding), width)
    ]
    mass = np.zeros(n)
    np.add.at(mass, of_body, [body.inertia.mass for body in model.bodies])
    return Groups(
        of_body,
        of_body[bodies],
        np.array(of_row, np.int64),
        np.array(joins, np.int64).reshape(-1, 3),
        lossless,
        free,
        mass,
        np.outer(mass, [*model.gravity]),
        np.array(grounded, np.int64),
        roots,
    )


def _translations(
    body: Body, armature: NDArray[np.float64]
) -> tuple[dict[int, Sequence[float]], NDArray[np.float64]]:
    """Return velocities that move a root as a whole, and the projection onto their directions."""
    kind, joint = body.joint.type, body.joint
    if not (armature.any() or np.any(joint.of_each_freedom(joint.stiffness))):
        if isinstance(kind, Floating):
            return dict(zip(range(3, 6), np.eye(3).tolist(), strict=True)), np.eye(3)
        if isinstance(kind, Prismatic):
            axis = np.array(body.placement.E.rows[2])
            return {0: (0.0, 0.0, 1.0)}, np.outer(axis, axis)
    return {}, np.zeros((3, 3))


def _of_both(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the projection onto directions of both, none where these are askew."""
    both = one @ other
    return both if np.allclose(both, both.T, atol=1e-9) else np.zeros((3, 3))


@routine
def balance_energy(
    find_energy: Call, find_momentum: Call, kinetic: Vector, potential: Vector,
    account: Matrix, work: Vector,
    totals: Matrix, elastic: Mask, holding: int, width: int, of_row: Indices,
    of_velocity: Indices, joins: Table, lossless: Mask, touched: Mask, island: Indices,
    sums: Matrix, v: Vector, h: Vector, gap: Vector, after: Vector, within: Mask, pressed: Mask,
    stiffness: Vector, loss: Vector, damping: Vector, patch: Vector, free: Tensor, mass: Vector,
    grounded: Indices, momentum: Matrix, wholes: Matrix, common: Matrix, kept: Matrix,
) -> None:  # fmt: skip
    """Slow the motion of islands down by what steps and corrections gave since this was done last.

    That is what energy, with that of elastic contacts, grew by beyond the work of drives and of
    friction where it is elastic. What contacts lose counts, nothing that they seem to give. What
    was lost otherwise is given back: errors come and go. It is a small part at most, of motion
    that all but rests: that may not be kept from starting.

    Args:
        find_energy: Writes the kinetic and the potential energy of groups.
        find_momentum: Writes `momentum` and `wholes`, where they are asked for.
        kinetic: The former (g,).
        potential: The latter (g,).
        account: Their sum, work that may be positive, what contacts lose, and momentum in the
            world, as they were when this was done last (g, 6). The latter is not a number where
            nothing was free to move as a whole.
        work: Twice that of each row since the start (b + w c,).
        totals: That of drives, of the friction of joints, and of pads since the start, and what
            forces gave in momentum since this was done last (g, 6).
        elastic: Which contacts give way (c,).
        holding: Number of rows before those of contacts.
        width: Rows of each contact.
        of_row: See `Groups`.
        of_velocity: See `Groups`.
        joins: See `Groups`.
        lossless: See `Groups`.
        touched: Which contacts pushed since this was done last (c,).
        island: The first of the groups that each acts on (g,).
        sums: Of islands, see below (g, 4).
        v: Velocities (nv,).
        h: The last step (1,).
        gap: In its middle (c,).
        after: Velocities of all rows at its end (b + w c,).
        within: Which contacts are on their faces (c,).
        pressed: Which pushed in it (c,).
        stiffness: K as steps resolve it (c,).
        loss: D of Hunt and Crossley's contacts, over K d (c,).
        damping: D of the others (c,).
        patch: How deep the surfaces of these are (c,).
        free: See `Groups`.
        mass: See `Groups`.
        grounded: See `Groups`.
        momentum: Of each group in the world (g, 3), with its energy.
        wholes: Velocities of motion as a whole at unit speed along the world's axes (nv, 3).
        common: Velocity of the centre of mass of each group's island, written (g, 3).
        kept: What it is to be, likewise.
    """
    for g in range(len(kinetic)):
        island[g] = g
    for j in range(len(joins)):
        if touched[joins[j, 0]]:
            one = min(island[joins[j, 1]], island[joins[j, 2]])
            other = max(island[joins[j, 1]], island[joins[j, 2]])
            for g in range(len(kinetic) if one != other else 0):
                if island[g] == other:
                    island[g] = one
    # Of each group the work that may be positive, and what contacts lose.
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
    # Of each island: what energy grew by beyond active work, losses, kinetic energy,
    # and whether it may not get back what it lost.
    find_energy()
    for i in range(len(elastic)):
        n = holding + i * width
        if elastic[i]:
            deep = -gap[i] - 0.5 * h[0] * after[n]
            if damping[i] > 0.0 and not pressed[i]:
                deep = patch[i]
            stored = 0.5 * stiffness[i] * deep * deep if deep > 0.0 and within[i] else 0.0
            potential[of_row[n]] += stored
            if loss[i] > 0.0 or damping[i] > 0.0:
                sums[of_row[n], 1] += 0.5 * work[n] + stored
    for g in range(len(kinetic)):
        now, active, rigid = kinetic[g] + potential[g], sums[g, 0], sums[g, 1]
        sums[g, 0], sums[g, 1] = 0.0, 0.0
        i = island[g]
        sums[i, 0] += now - account[g, 0] - (active - account[g, 1])
        sums[i, 1] += rigid - account[g, 2]
        sums[i, 2] += kinetic[g]
        if not lossless[g]:
            sums[i, 3] = 1.0
        account[g, 0], account[g, 1], account[g, 2] = now, active, rigid
    loose = is_loose(free, touched, grounded)
    if loose:
        find_momentum()
    common_motion(
        loose, island, touched, free, mass, grounded, momentum, account, totals, sums, common, kept
    )
    for i in range(len(touched)):
        touched[i] = False
    # The part of its velocities that an island keeps.
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
        g = of_velocity[k]
        part = sums[island[g], 0]
        v[k] *= part
        for j in range(3):
            v[k] += wholes[k, j] * (kept[g, j] - part * common[g, j])


@routine
def is_loose(free: Tensor, touched: Mask, grounded: Indices) -> bool:
    """Return whether a group may move as a whole that no contact held to the world."""
    for g in range(len(free)):
        held = free[g, 0, 0] + free[g, 1, 1] + free[g, 2, 2] == 0.0
        for c in range(len(touched)):
            held = held or (touched[c] and grounded[c] == g)
        if not held:
            return True
    return False


@routine
def common_motion(
    loose: bool, island: Indices, touched: Mask, free: Tensor, mass: Vector, grounded: Indices,
    momentum: Matrix, account: Matrix, totals: Matrix, sums: Matrix, common: Matrix, kept: Matrix,
) -> None:  # fmt: skip
    """Write velocities of the centres of mass of islands, and what they are to be.

    They are zero in directions in which a group is not free, or something holds it to the world.
    The kinetic energy in `sums` becomes that relative to the centre of mass, and the gain is
    reduced by that of the error of momentum. See `balance_energy` for the arguments.
    """
    both = zeros(3, 3)
    one = zeros(3, 3)
    for i in range(len(island)):
        for k in range(3):
            common[i, k], kept[i, k] = 0.0, 0.0
    for i in range(len(island) if loose else 0):
        if island[i] != i:
            continue
        held, total = False, 0.0
        for c in range(len(touched)):
            held = held or (touched[c] and grounded[c] >= 0 and island[grounded[c]] == i)
        for k in range(3):
            for j in range(3):
                one[k, j] = 1.0 if j == k and not held else 0.0
        for g in range(len(island)):
            if island[g] == i:
                total += mass[g]
                askew = 0.0
                for k in range(3):
                    for j in range(3):
                        both[k, j] = 0.0
                        for l in range(3):
                            both[k, j] += one[k, l] * free[g, l, j]
                for k in range(3):
                    for j in range(3):
                        askew = max(askew, abs(both[k, j] - both[j, k]))
                for k in range(3):
                    for j in range(3):
                        one[k, j] = both[k, j] if askew < 1e-9 else 0.0
        for g in range(len(island)):
            for k in range(3 if island[g] == i and total > 0.0 else 0):
                for j in range(3):
                    common[i, k] += one[k, j] * momentum[g, j] / total
                    kept[i, k] += one[k, j] * (account[g, 3 + j] + totals[g, 3 + j]) / total
        energy, error = 0.0, 0.0
        for k in range(3):
            energy += 0.5 * total * common[i, k] * common[i, k]
            error += 0.5 * total * (common[i, k] - kept[i, k]) * (common[i, k] - kept[i, k])
        own = sums[i, 2] - energy
        sums[i, 2] = own if own > _ROUNDING * sums[i, 2] else 0.0
        # So much is no error of steps, but a force that is in no books, or nothing is known.
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
