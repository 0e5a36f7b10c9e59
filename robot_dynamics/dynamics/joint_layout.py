# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of the equations of all joints that do not depend on the state.

Joints are numbered as in the book: tree joint i carries body i, the loop joints follow. Joints of
one type form a group, which is evaluated in one go over arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from robot_dynamics.arrays import Array
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.joints import JointType
from robot_dynamics.spatial import Rotation, Transform, Vector3

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Placements:
    """Many transforms: rotations E (n, 3, 3) and translations r (n, 3)."""

    E: Array
    r: Array

    @classmethod
    def stacked(cls, transforms: Sequence[Transform]) -> Placements:
        """Return transforms of floats as arrays."""
        E = np.array([X.E.rows for X in transforms], dtype=float).reshape(-1, 3, 3)
        return cls(E, np.array([list(X.r) for X in transforms], dtype=float).reshape(-1, 3))

    @classmethod
    def of_transform(cls, X: Transform, count: int) -> Placements:
        """Return a transform whose scalars are arrays (n,), or floats that all have in common."""
        E, r = np.empty((count, 3, 3)), np.empty((count, 3))
        for i in range(3):
            r[:, i] = tuple(X.r)[i]
            for j in range(3):
                E[:, i, j] = X.E.rows[i][j]
        return cls(E, r)

    def at(self, indices: Indices) -> Transform:
        """Return some of them as one transform whose scalars are arrays (n,)."""
        E, r = self.E[indices], self.r[indices]
        rows = [[E[:, i, j] for j in range(3)] for i in range(3)]
        return Transform(Rotation.of(rows), Vector3.of(list(r.T)))

    def motion_matrices(self) -> Array:
        """Return the matrices (n, 6, 6) that act on motion vectors (2.24)."""
        matrices = np.zeros((len(self.r), 6, 6))
        matrices[:, :3, :3] = matrices[:, 3:, 3:] = self.E
        x, y, z = self.r.T
        rx = np.zeros((len(self.r), 3, 3))
        rx[:, 0, 1], rx[:, 0, 2], rx[:, 1, 2] = -z, y, -x
        rx -= np.swapaxes(rx, 1, 2)
        matrices[:, 3:, :3] = -self.E @ rx
        return matrices


@dataclass(frozen=True)
class JointGroup:
    """Joints of one type.

    Attributes:
        kind: The type.
        joints: Their numbers (n,).
        rows: Indices of the constraints of each (n, constraints).
        q: Indices of the positions of each (nq, n); empty for loop joints.
        v: Indices of the velocities of each (nv, n); empty for loop joints.
    """

    kind: JointType
    joints: Indices
    rows: Indices
    q: Indices
    v: Indices


class JointLayout:
    """Bodies and frames of each joint, and the indices of its equations.

    Attributes:
        bodies: Number of bodies, N_B, and of tree joints.
        nv: Number of velocity variables.
        predecessor: Predecessor of every joint (N_J,); WORLD for the base.
        successor: Successor of every joint (N_J,).
        placements: X_T of the tree joints.
        predecessor_placements: X_P of the loop joints.
        successor_placements: X_S of the loop joints.
        tree_groups: The tree joints by type.
        loop_groups: The loop joints by type.
        tree_rows: Number of constraints of the tree joints.
        joint_rows: Number of constraints of the tree and loop joints.
        joint_of_row: Joint of each of these rows.
        joint_of_freedom: The tree joint of each velocity variable (nv,).
        tops: Body, or base, relative to which the pose of each body is computed: it carries the
            cluster of loops of the body's joint.
        loop_tops: The same for every loop joint.
        couplings: Coefficients of the couplings over velocities (couplings, nv).
    """

    def __init__(self, model: Model) -> None:
        bodies, loops = model.bodies, model.loops
        self.bodies, self.nv = len(bodies), model.nv
        self.predecessor = np.array(
            [body.parent for body in bodies] + [loop.predecessor for loop in loops], dtype=np.intp
        )
        self.successor = np.array(
            [*range(len(bodies)), *(loop.successor for loop in loops)], dtype=np.intp
        )
        self.placements = Placements.stacked([body.placement for body in bodies])
        self.predecessor_placements = Placements.stacked(
            [lo.predecessor_placement for lo in loops]
        )
        self.successor_placements = Placements.stacked([lo.successor_placement for lo in loops])

        counts = [6 - body.joint.type.nv for body in bodies]
        counts += [len(loop.type.rows) for loop in loops]
        first = np.concatenate([[0], np.cumsum(counts, dtype=np.intp)])
        self.tree_rows, self.joint_rows = int(first[len(bodies)]), int(first[-1])
        self.joint_of_row = np.repeat(np.arange(len(counts)), counts)
        self.joint_of_freedom = np.repeat(
            np.arange(len(bodies)), [body.joint.type.nv for body in bodies]
        )
        q_starts = [at.start for at in model.q_slices]
        v_starts = [at.start for at in model.v_slices]

        def group(kind: JointType, numbers: Indices, count: int, carries: bool) -> JointGroup:
            rows = first[numbers][:, None] + np.arange(count)
            if not carries:
                nothing = np.zeros((0, len(numbers)), dtype=np.intp)
                return JointGroup(kind, numbers, rows, nothing, nothing)
            q = np.array([q_starts[i] for i in numbers]) + np.arange(kind.nq)[:, None]
            v = np.array([v_starts[i] for i in numbers]) + np.arange(kind.nv)[:, None]
            return JointGroup(kind, numbers, rows, q, v)

        self.tree_groups = tuple(
            group(kind, at, 6 - kind.nv, True)
            for kind, at in _by_type(body.joint.type for body in bodies)
        )
        self.loop_groups = tuple(
            group(kind, at + len(bodies), len(kind.rows), False)
            for kind, at in _by_type(loop.type for loop in loops)
        )
        self.tops, self.loop_tops = _tops(
            self.predecessor[: len(bodies)].tolist(),
            [(loop.predecessor, loop.successor) for loop in loops],
        )

        terms = [
            (row, body, factor)
            for row, coupling in enumerate(model.couplings)
            for body, factor in coupling.terms
        ]
        self.coupling_offsets = np.array([c.offset for c in model.couplings])
        self.couplings = _sparse(
            [(r, v_starts[b], c) for r, b, c in terms], len(model.couplings), model.nv
        )
        self.coupling_positions = _sparse(
            [(r, q_starts[b], c) for r, b, c in terms], len(model.couplings), model.nq
        )

    def over_bodies(
        self, joints: Indices, on_successor: Array, on_predecessor: Array
    ) -> csr_matrix:
        """Return rows over the motions (6 N_B,) of all bodies.

        Args:
            joints: The joint of each row (n,).
            on_successor: The row's entries for the joint's successor (n, 6).
            on_predecessor: The same for its predecessor.
        """
        entries, rows, columns = [], [], []
        for ends, values in (
            (self.successor[joints], on_successor),
            (self.predecessor[joints], on_predecessor),
        ):
            row, axis = np.nonzero((ends != WORLD)[:, None] & (values != 0.0))
            entries.append(values[row, axis])
            rows.append(row)
            columns.append(6 * ends[row] + axis)
        return csr_matrix(
            (np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))),
            shape=(len(joints), 6 * self.bodies),
        )


def _by_type(kinds: Iterable[JointType]) -> list[tuple[JointType, Indices]]:
    found: dict[JointType, list[int]] = {}
    for number, kind in enumerate(kinds):
        found.setdefault(kind, []).append(number)
    return [(kind, np.array(numbers, dtype=np.intp)) for kind, numbers in found.items()]


def _sparse(entries: Sequence[tuple[int, int, float]], rows: int, columns: int) -> csr_matrix:
    values = [value for *_, value in entries]
    at = ([row for row, *_ in entries], [column for _, column, _ in entries])
    return csr_matrix((values, at), shape=(rows, columns), dtype=float)


def _tops(parent: list[int], loops: list[tuple[int, int]]) -> tuple[Indices, Indices]:
    """Return the body that carries the loops of each joint's cluster, for bodies and for loops.

    Joints that a loop passes are merged with a disjoint-set forest, and joints that are merged
    already are skipped, so that the cost grows with the number of joints and not with the length
    of loops (section 8.9 without its lists).
    """
    group = list(range(len(parent)))
    top = list(parent)  # of each group, by its representative

    def representative(body: int) -> int:
        while group[body] != body:
            group[body] = group[group[body]]
            body = group[body]
        return body

    of_loops = []
    for ends in loops:
        a, b = ends
        merged = -1
        while a != b:
            # A body is never above one of a smaller number.
            a, b = max(a, b), min(a, b)
            own = representative(a)
            a = top[own]
            if merged < 0:
                merged = own
            elif merged != own:
                group[own] = merged
                top[merged] = min(top[merged], a)
        of_loops.append(merged)
    bodies = [top[representative(i)] for i in range(len(parent))]
    loop_tops = [WORLD if g < 0 else top[representative(g)] for g in of_loops]
    return np.array(bodies, dtype=np.intp), np.array(loop_tops, dtype=np.intp)
