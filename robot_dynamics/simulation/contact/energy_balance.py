# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What time steps give or take of the energy of bodies that act on one another, and its return.

Trees of bodies, with what loops and grasps tie to them, are groups. Groups that pushed one another
since their energy was looked at are an island: what forces, drives and losses do not explain of
its energy is the error of its steps, and of no other body's.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from robot_dynamics.compile.routine import Call, Indices, Mask, Matrix, Table, Vector, routine
from robot_dynamics.model import WORLD, Model

_MOST_TAKEN = 1e-2  # part of the kinetic energy that a period's error may cost, or be


class Groups(NamedTuple):
    """Which bodies act on one another whatever touches: g groups of these.

    Attributes:
        of_body: The group of each body (bodies,).
        of_velocity: Of each velocity (nv,).
        of_row: Of each row of contacts and of what holds (b + w c,), one of them.
        joins: Contacts that join two groups if they push, and these (n, 3).
        lossless: Whose losses are all in the books (g,): they have no loop joints that resist.
    """

    of_body: NDArray[np.int64]
    of_velocity: NDArray[np.int64]
    of_row: NDArray[np.int64]
    joins: NDArray[np.int64]
    lossless: NDArray[np.bool_]


def groups_of(model: Model, moves: Sequence[Sequence[bool]], holding: int, width: int) -> Groups:
    """Return the groups of a mechanism.

    Args:
        model: The mechanism.
        moves: Which velocities each row may move (b + w c, nv).
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
    return Groups(
        of_body,
        of_body[bodies],
        np.array(of_row, np.int64),
        np.array(joins, np.int64).reshape(-1, 3),
        lossless,
    )


@routine
def balance_energy(
    find_energy: Call, kinetic: Vector, potential: Vector, account: Matrix, work: Vector,
    totals: Matrix, elastic: Mask, holding: int, width: int, of_row: Indices,
    of_velocity: Indices, joins: Table, lossless: Mask, touched: Mask, island: Indices,
    sums: Matrix, v: Vector, h: Vector, gap: Vector, after: Vector, within: Mask, pressed: Mask,
    stiffness: Vector, loss: Vector, damping: Vector, patch: Vector,
) -> None:  # fmt: skip
    """Slow the motion of islands down by what steps and corrections gave since this was done last.

    That is what energy, with that of elastic contacts, grew by beyond the work of drives and of
    friction where it is elastic. What contacts lose counts, nothing that they seem to give. What
    was lost otherwise is given back: errors come and go. It is a small part at most, of motion
    that all but rests: that may not be kept from starting.

    Args:
        find_energy: Writes the kinetic and the potential energy of groups.
        kinetic: The former (g,).
        potential: The latter (g,).
        account: Their sum, work that may be positive, and what contacts lose, as they were when
            this was done last (g, 3).
        work: Twice that of each row since the start (b + w c,).
        totals: That of drives, of the friction of joints, and of pads since the start (g, 3).
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
        stiffness: K (c,).
        loss: D of Hunt and Crossley's contacts, over K d (c,).
        damping: D of the others (c,).
        patch: How deep the surfaces of these are (c,).
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
    for k in range(len(v)):
        v[k] *= sums[island[of_velocity[k]], 0]
