# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Spanning trees of graphs of joints."""

from itertools import combinations, permutations

import numpy as np
import pytest

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.connectivity import WORLD, Tree
from robot_dynamics.model.spanning_tree import Arc, spanning_tree


def random_graph(rng, nodes, arcs):
    """Return a connected graph: a random tree, and other arcs, all with random polarity."""
    ends = [(int(rng.integers(0, i)), i) for i in range(1, nodes)]
    while len(ends) < arcs:
        a, b = rng.choice(nodes, 2, replace=False).tolist()
        ends.append((a, b))
    rng.shuffle(ends)
    flips = rng.integers(0, 2, len(ends))
    return [
        Arc(f"a{i}", *map(str, (b, a) if flip else (a, b)))
        for i, ((a, b), flip) in enumerate(zip(ends, flips, strict=True))
    ]


def distances(arcs, root):
    """Return the number of arcs from the root to each node, by relaxation."""
    nodes = {n for a in arcs for n in (a.predecessor, a.successor)}
    away = dict.fromkeys(nodes, np.inf) | {root: 0}
    for _ in nodes:
        for a in arcs:
            p, s = a.predecessor, a.successor
            away[p], away[s] = min(away[p], away[s] + 1), min(away[s], away[p] + 1)
    return away


def depths(branches, root):
    result = {root: 0}
    for branch in branches:
        result[branch.child] = result[branch.parent] + 1
    return result


@pytest.mark.parametrize("nodes", [2, 5, 12])
def test_the_depth_is_minimal(nodes, rng):
    """Every node is as near to the root as the graph allows, and N_L = N_J - N_B (4.1)."""
    for _ in range(20):
        arcs = random_graph(rng, nodes, nodes + 4)
        branches = spanning_tree("0", arcs)
        assert len(branches) == nodes - 1
        assert depths(branches, "0") == distances(arcs, "0")
        for branch in branches:
            arc = arcs[branch.arc]
            ends = (
                (arc.successor, arc.predecessor)
                if branch.reversed
                else (
                    arc.predecessor,
                    arc.successor,
                )
            )
            assert (branch.parent, branch.child) == ends


def test_the_choice_is_respected(rng):
    """Required arcs are in the tree, whatever else is."""
    for _ in range(50):
        arcs = random_graph(rng, 9, 14)
        # Arcs of some tree contain no cycle.
        other = [b.arc for b in spanning_tree("5", list(reversed(arcs)))]
        chosen = {len(arcs) - 1 - i for i in rng.choice(other, 4, replace=False)}
        marked = [
            Arc(a.name, a.predecessor, a.successor, 1.0, i in chosen) for i, a in enumerate(arcs)
        ]
        branches = spanning_tree("0", marked)
        assert len(branches) == 8
        assert chosen <= {b.arc for b in branches}


def test_a_choice_with_a_cycle_is_refused():
    """The joint that closes the cycle is named."""
    arcs = [Arc(n, *ends, required=True) for n, ends in (("a", "01"), ("b", "12"), ("c", "20"))]
    with pytest.raises(RobotDynamicsError, match="'c'"):
        spanning_tree("0", arcs)


def test_long_arcs_are_the_last_resort():
    """A free joint is taken only for links that no other joint reaches."""
    free = Arc("free", "0", "2", length=10.0)
    chain = [Arc("a", "0", "1"), Arc("b", "1", "2")]
    assert {b.arc for b in spanning_tree("0", [free, *chain])} == {1, 2}
    assert {b.arc for b in spanning_tree("0", [free, chain[0]])} == {0, 1}


def test_unreachable_nodes_are_left_out():
    """Nodes without a path to the root are in no branch."""
    assert [b.child for b in spanning_tree("0", [Arc("a", "1", "0"), Arc("b", "2", "3")])] == ["1"]


def test_a_ring_of_four_has_four_spanning_trees():
    """A ring of four has four spanning trees and eight regular numberings, two kinds of lambda."""
    ring = [("0", "1"), ("1", "2"), ("2", "3"), ("3", "0")]
    found, numberings = set(), []
    for kept in combinations(range(4), 3):
        arcs = [Arc(str(i), *ends, required=i in kept) for i, ends in enumerate(ring)]
        branches = spanning_tree("0", arcs)
        found.add(frozenset(b.arc for b in branches))
        above = {b.child: b.parent for b in branches}
        for order in permutations("123"):
            number = {"0": WORLD} | {node: i for i, node in enumerate(order)}
            parent = tuple(number[above[node]] for node in order)
            if all(p < i for i, p in enumerate(parent)):
                numberings.append(Tree(parent))
    assert len(found) == 4
    assert len(numberings) == 8
    # In the book's numbers (0, 1, 2), (0, 0, 1) and, by another numbering, (0, 0, 2), (0, 1, 0).
    assert {tuple(p + 1 for p in t.parent) for t in numberings} >= {(0, 1, 2), (0, 0, 1)}


def test_favoured_arcs_win_among_equals():
    """A favoured arc comes before an earlier one that leads as near; not before a nearer one."""
    arcs = [Arc("a", "0", "1"), Arc("b", "0", "1", favoured=True), Arc("c", "1", "2")]
    assert {branch.arc for branch in spanning_tree("0", arcs)} == {1, 2}
    longer = [Arc("a", "0", "1"), Arc("b", "0", "1", length=2.0, favoured=True)]
    assert {branch.arc for branch in spanning_tree("0", longer)} == {0}
