# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Groups: trees of bodies, joined by loops and grasps.

Bodies of a group act on one another without contacts; groups that push one another form islands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from robot_dynamics.compile.routine import Indices, Mask, Matrix, Table, Tensor, Vector
from robot_dynamics.model import WORLD, Body, Model
from robot_dynamics.model.joints import Floating, Prismatic


class Groups(NamedTuple):
    """Bodies that act on one another without contacts: g groups of these."""

    of_body: Indices  #: The group of each body (bodies,).
    of_velocity: Indices  #: Of each velocity (nv,).
    of_row: Indices  #: Of each row of contacts and of what holds (b + w c,), one of them.
    joins: Table  #: Contacts that join two groups if they push, and these (n, 3).
    #: Groups whose losses are all recorded (g,): they have no damped loop joints.
    lossless: Mask
    free: Tensor  #: Projections onto the directions in which each may move as a whole (g, 3, 3).
    mass: Vector  #: Of each (g,).
    weight: Matrix  #: In the world (g, 3) [N].
    grounded: Indices  #: The group that each contact holds to the world if it pushes (c,), or -1.
    #: Velocities that move a group as a whole, with their bodies and directions there.
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
        if loop.damped:
            end = loop.predecessor if loop.successor == WORLD else loop.successor
            lossless[of_body[end]] = False
    # Velocities that move trees as a whole, and their connections to the world.
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
    """Return the projection onto common directions; zero for skew ones."""
    both = one @ other
    return both if np.allclose(both, both.T, atol=1e-9) else np.zeros((3, 3))
