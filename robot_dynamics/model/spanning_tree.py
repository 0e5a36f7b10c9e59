# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The choice of a spanning tree in a graph of bodies and joints (section 4.1)."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.errors import RobotDynamicsError


@dataclass(frozen=True)
class Arc:
    """A joint as an arc of the graph.

    Attributes:
        name: The joint's name.
        predecessor: The node at its start.
        successor: The node at its end.
        length: Depth that it adds to the bodies it carries: 1 for a joint, 0 for a weld.
        required: Whether it must be in the tree.
        favoured: Whether it is preferred to others of the same depth.
    """

    name: str
    predecessor: str
    successor: str
    length: float = 1.0
    required: bool = False
    favoured: bool = False


@dataclass(frozen=True)
class Branch:
    """An arc of the tree.

    Attributes:
        arc: Index of the arc.
        parent: The node nearer to the root.
        child: The node farther from the root.
        reversed: Whether the child is the arc's predecessor.
    """

    arc: int
    parent: str
    child: str
    reversed: bool


def spanning_tree(root: str, arcs: Sequence[Arc]) -> tuple[Branch, ...]:
    """Return a spanning tree of the nodes that can be reached from a root, parents first.

    Without required arcs it is a tree of minimum depth: every node is as near to the root as
    possible, which keeps the numbers well conditioned (section 10.2). A group of nodes connected
    by required arcs is entered at its nearest node. Among equal arcs a favoured one is chosen,
    then the earliest.

    Args:
        root: The node that becomes the fixed base.
        arcs: The joints.

    Raises:
        RobotDynamicsError: If the required arcs contain a cycle.
    """
    group = _groups(arcs)
    around: dict[str, list[tuple[int, str, bool]]] = {}
    for index, arc in enumerate(arcs):
        around.setdefault(arc.predecessor, []).append((index, arc.successor, False))
        around.setdefault(arc.successor, []).append((index, arc.predecessor, True))

    branches: list[Branch] = []
    reached: set[str] = set()
    entered: set[str] = set()
    # Depth, then favour, then the order of the arcs; the root is reached by no arc.
    waiting: list[tuple[float, bool, int, str, str, bool]] = [(0.0, False, -1, "", root, False)]
    while waiting:
        depth, _, index, parent, node, backwards = heapq.heappop(waiting)
        required = index >= 0 and arcs[index].required
        if node in reached or (not required and group.get(node, node) in entered):
            continue
        reached.add(node)
        entered.add(group.get(node, node))
        if index >= 0:
            branches.append(Branch(index, parent, node, backwards))
        for to, other, back in around.get(node, ()):
            reached_at = (depth + arcs[to].length, not arcs[to].favoured)
            heapq.heappush(waiting, (*reached_at, to, node, other, back))
    return tuple(branches)


def _groups(arcs: Sequence[Arc]) -> dict[str, str]:
    """Return, for each node on a required arc, one node that represents its connected group."""
    leader: dict[str, str] = {}

    def find(node: str) -> str:
        while leader.setdefault(node, node) != node:
            node = leader[node]
        return node

    for arc in arcs:
        if not arc.required:
            continue
        a, b = find(arc.predecessor), find(arc.successor)
        if a == b:
            raise RobotDynamicsError(
                f"joint {arc.name!r} closes a loop with other joints that must be in the spanning "
                "tree, expected no loop of joints that are required by name, welded, in a "
                "coupling or with the armature of a rotor."
            )
        leader[b] = a
    return {node: find(node) for node in leader}
