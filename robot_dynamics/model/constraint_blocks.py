# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The blocks of K: constraints that share no joint with others can be solved by themselves (8.9).

With the joints of every minimal cluster of loops standing together, K and G are block diagonal.
Nothing has to be renumbered for it: a block is a set of rows and a set of columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from robot_dynamics.model.model import Model


@dataclass(frozen=True)
class ConstraintBlock:
    """A minimal cluster of loops and couplings.

    Attributes:
        rows: Indices of its constraints, ascending.
        columns: Indices of the velocities that they involve, ascending.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]


def constraint_blocks(model: Model) -> tuple[ConstraintBlock, ...]:
    """Return the blocks of K, by their first rows; everything outside of them is zero.

    They are the minimal clusters of loops, except that a coupling joins those that it reaches.
    """
    found: list[tuple[set[int], set[int]]] = []
    for rows, bodies in _groups(model):
        apart = []
        for block in found:
            if block[1] & bodies:
                rows, bodies = rows | block[0], bodies | block[1]
            else:
                apart.append(block)
        found = [*apart, (rows, bodies)]
    blocks = [
        ConstraintBlock(tuple(sorted(rows)), _velocities(model, bodies)) for rows, bodies in found
    ]
    return tuple(sorted(blocks, key=lambda block: block.rows))


def _groups(model: Model) -> Iterator[tuple[set[int], set[int]]]:
    """Yield the rows of each loop joint and coupling, and the bodies whose joints they involve."""
    start = 0
    for loop in model.loops:
        rows = range(start, start + len(loop.type.rows))
        start = rows.stop
        if rows:
            yield set(rows), set(model.tree.loop_bodies(loop.predecessor, loop.successor))
    for row, coupling in enumerate(model.couplings, start):
        yield {row}, {body for body, _ in coupling.terms}


def _velocities(model: Model, bodies: set[int]) -> tuple[int, ...]:
    slices = [model.v_slices[body] for body in sorted(bodies)]
    return tuple(i for at in slices for i in range(at.start, at.stop))
