# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Connectivity of bodies: parent arrays and the sets derived from them (section 4.1).

Bodies are numbered from 0 and `WORLD` = -1 stands for the fixed base, body 0 of the book.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from robot_dynamics.errors import ArgumentError, require_length

WORLD = -1


@dataclass(frozen=True)
class LoopCluster:
    """Loops that share joints with each other and with no other loop (section 8.9).

    The constraints of a cluster involve the joints of the cluster alone, so that K is block
    diagonal when the joints of each cluster stand together.

    Attributes:
        loops: Indices of its loops, ascending.
        bodies: Bodies whose joints are in one of the loops, ascending.
    """

    loops: tuple[int, ...]
    bodies: tuple[int, ...]


def joined(
    groups: Iterable[tuple[Iterable[int], Iterable[int]]],
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Join the groups that share bodies, directly or through others.

    Args:
        groups: Members (loops, or rows of K), and the bodies whose joints they involve.

    Returns:
        Members and bodies of the joined groups, all ascending.
    """
    found: list[tuple[set[int], set[int]]] = []
    for numbers, involved in groups:
        members, bodies, apart = set(numbers), set(involved), []
        for other in found:
            if other[1] & bodies:
                members, bodies = members | other[0], bodies | other[1]
            else:
                apart.append(other)
        found = [*apart, (members, bodies)]
    return sorted((tuple(sorted(members)), tuple(sorted(bodies))) for members, bodies in found)


@dataclass(frozen=True)
class Tree:
    """A tree of bodies in regular numbering: each parent has a smaller number than its children.

    Attributes:
        parent: lambda, the parent of each body; `WORLD` for the fixed base (4.2).

    Raises:
        ArgumentError: If the numbering is not regular.
    """

    parent: tuple[int, ...]

    def __post_init__(self) -> None:
        for body, parent in enumerate(self.parent):
            if not WORLD <= parent < body:
                raise ArgumentError(
                    f"body {body} has parent {parent}, expected a body of a smaller number or the "
                    f"base, {WORLD}."
                )

    @cached_property
    def supports(self) -> tuple[tuple[int, ...], ...]:
        """kappa of every body: the bodies on the path from the base to it, in that order."""
        paths: list[tuple[int, ...]] = []
        for body, parent in enumerate(self.parent):
            paths.append((() if parent == WORLD else paths[parent]) + (body,))
        return tuple(paths)

    def support(self, body: int) -> tuple[int, ...]:
        """Return kappa(body): the bodies whose joints move it; empty for the base."""
        return () if body == WORLD else self.supports[body]

    def children(self, body: int) -> tuple[int, ...]:
        """Return mu(body): the bodies whose parent it is; `body` may be the base."""
        return tuple(i for i, parent in enumerate(self.parent) if parent == body)

    def subtree(self, body: int) -> tuple[int, ...]:
        """Return nu(body): the body and all bodies that it carries, or every body for the base."""
        if body == WORLD:
            return tuple(range(len(self.parent)))
        return tuple(i for i, path in enumerate(self.supports) if body in path)

    def depth(self, body: int) -> int:
        """Return the number of joints between the base and a body."""
        return len(self.support(body))

    def loop_root(self, predecessor: int, successor: int) -> int:
        """Return the last body that carries both ends of a loop; `WORLD` for the base."""
        root = WORLD
        for a, b in zip(self.support(predecessor), self.support(successor), strict=False):
            if a != b:
                break
            root = a
        return root

    def loop_bodies(self, predecessor: int, successor: int) -> tuple[int, ...]:
        """Return the bodies whose joints are in a loop, ascending: epsilon_lj is not zero."""
        common = self.depth(self.loop_root(predecessor, successor))
        ends = (predecessor, successor)
        return tuple(sorted(i for end in ends for i in self.support(end)[common:]))

    def clusters(self, loops: Sequence[tuple[int, int]]) -> tuple[LoopCluster, ...]:
        """Return the minimal clusters of loops, given by their predecessors and successors."""
        groups = [((number,), self.loop_bodies(*loop)) for number, loop in enumerate(loops)]
        return tuple(LoopCluster(*cluster) for cluster in joined(groups))

    def expanded(self, freedoms: Sequence[int]) -> tuple[int, ...]:
        """Return lambda', the parent array over velocity variables (section 6.5).

        A joint with n degrees of freedom becomes a chain of n joints with one.

        Args:
            freedoms: Degrees of freedom of each body's joint.
        """
        require_length("freedoms", freedoms, len(self.parent), "one for each body")
        last: list[int] = []  # the variable of the last freedom at or below each body
        result: list[int] = []
        for parent, count in zip(self.parent, freedoms, strict=True):
            before = WORLD if parent == WORLD else last[parent]
            for _ in range(count):
                result.append(before)
                before = len(result) - 1
            last.append(before)
        return tuple(result)

    def merged(self, joints: Iterable[int]) -> tuple[int, ...]:
        """Return the parents of the bodies of some joints, all other joints rigid (Figure 9.1).

        It is the sparsity of the rows and columns of H that belong to those joints: joint j of the
        result is the j-th of `joints` in ascending order.

        Args:
            joints: The joints that are kept.
        """
        kept, result = set(joints), []
        at: list[int] = []  # the body of the result that each body is part of
        for body, parent in enumerate(self.parent):
            carrier = WORLD if parent == WORLD else at[parent]
            if body in kept:
                result.append(carrier)
                carrier = len(result) - 1
            at.append(carrier)
        return tuple(result)
