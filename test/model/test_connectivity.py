# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parent arrays and quantities that follow from them."""

import numpy as np
import pytest

from robot_dynamics.errors import ArgumentError
from robot_dynamics.model.connectivity import WORLD, Tree

# Fig 4.6 with bodies from 0 and the base as -1: lambda = (0, 1, 1, 0, 3, 4, 4, 4) in the book's
# numbers. The text gives all but the parents of 6 and 7, which hang on 4 or on one another.
FIG_4_6 = Tree((WORLD, 0, 0, WORLD, 2, 3, 3, 3))


def book(bodies):
    """Return body numbers as the book counts them."""
    return {body + 1 for body in bodies}


def random_tree(rng, count):
    return Tree(tuple(int(rng.integers(-1, i)) for i in range(count)))


@pytest.mark.book("N4")
def test_figure_4_6():
    """kappa, mu and nu are those that the book prints for its tree of eight bodies."""
    tree = FIG_4_6
    kappa = {i: book(tree.support(i - 1)) for i in (1, 2, 3, 8)}
    assert kappa == {1: {1}, 2: {1, 2}, 3: {1, 3}, 8: {4, 8}}
    mu = {i: book(tree.children(i - 1)) for i in (0, 1, 2, 8)}
    assert mu == {0: {1, 4}, 1: {2, 3}, 2: set(), 8: set()}
    nu = {i: book(tree.subtree(i - 1)) for i in (0, 1, 2, 8)}
    assert nu == {0: set(range(1, 9)), 1: {1, 2, 3, 5}, 2: {2}, 8: {8}}
    assert [tree.depth(i) for i in (WORLD, 0, 1, 4)] == [0, 1, 2, 3]


def test_sums_over_supports_are_sums_over_subtrees(rng):
    """Body j supports i exactly if i is in the subtree of j (4.3)."""
    for _ in range(10):
        tree = random_tree(rng, 12)
        one = {(i, j) for i in range(12) for j in tree.support(i)}
        other = {(i, j) for j in range(12) for i in tree.subtree(j)}
        assert one == other
        assert tree.support(WORLD) == ()
        assert sum(len(tree.children(i)) for i in range(-1, 12)) == 12


@pytest.mark.parametrize("parent", [(0,), (WORLD, 2, 0), (WORLD, -2), (WORLD, 1)])
def test_irregular_numbering_is_refused(parent):
    """A parent is the base or a body of a smaller number."""
    with pytest.raises(ArgumentError, match="expected a body of a smaller number"):
        Tree(parent)


def test_loop_roots_and_the_joints_of_loops(rng):
    """The root is the last common supporter; the loop has the joints of only one of the ends."""
    for _ in range(10):
        tree = random_tree(rng, 12)
        for p, s in rng.integers(-1, 12, (10, 2)).tolist():
            common = set(tree.support(p)) & set(tree.support(s))
            assert tree.loop_root(p, s) == max(common, default=WORLD)
            expected = set(tree.support(p)) ^ set(tree.support(s))
            assert set(tree.loop_bodies(p, s)) == expected
            assert tree.loop_root(p, s) == tree.loop_root(s, p)


def test_clusters_of_figure_8_1():
    """Loops 1 and 2 are coupled through shared joints; 3 and 4 stand alone, gaps stay out.

    A tree of 20 joints that has the clusters of the text: joints 3 to 7, 10 to 12, 19 and 20.
    """
    # In the book's numbers: 1, 2 to the first cluster; 3 4 5 and 6 7 from body 2; 8, 9 to the
    # second; 10, 11 and 12 from body 9; 13 to 18 a chain; 19 and 20 from body 18.
    parent = [0, 1, 2, 3, 4, 2, 6, 7, 8, 9, 10, 9, 0, 13, 14, 15, 16, 17, 18, 18]
    tree = Tree(tuple(p - 1 for p in parent))
    loops = [(5, 7), (4, 6), (11, 12), (19, 20)]
    clusters = tree.clusters([(p - 1, s - 1) for p, s in loops])
    assert [(book(c.loops), book(c.bodies)) for c in clusters] == [
        ({1, 2}, {3, 4, 5, 6, 7}),
        ({3}, {10, 11, 12}),
        ({4}, {19, 20}),
    ]


def test_clusters_are_minimal(rng):
    """No two clusters share a joint, and none can be split into two that share none."""
    for _ in range(20):
        tree = random_tree(rng, 14)
        loops = [tuple(pair) for pair in rng.integers(-1, 14, (5, 2)).tolist()]
        clusters = tree.clusters(loops)
        assert sorted(i for c in clusters for i in c.loops) == list(range(5))
        bodies = [set(c.bodies) for c in clusters]
        assert sum(map(len, bodies)) == len(set().union(*bodies))
        for cluster in clusters:
            # Whatever loop one starts from, following shared joints reaches the whole cluster.
            reached, joints = {cluster.loops[0]}, set(tree.loop_bodies(*loops[cluster.loops[0]]))
            for _ in cluster.loops:
                for i in cluster.loops:
                    own = set(tree.loop_bodies(*loops[i]))
                    if own & joints:
                        reached, joints = reached | {i}, joints | own
            assert reached == set(cluster.loops)


@pytest.mark.book("F3", "N4")
def test_expanded_parent_array():
    """lambda' of (0, 1, 1, 2, 2, 3) with n_2 = 3 is (0, 1, 2, 3, 1, 4, 4, 5)."""
    tree = Tree((WORLD, 0, 0, 1, 1, 2))
    expanded = tree.expanded([1, 3, 1, 1, 1, 1])
    assert [p + 1 for p in expanded] == [0, 1, 2, 3, 1, 4, 4, 5]


@pytest.mark.book("F3")
def test_the_expanded_array_is_the_sparsity_of_H(rng):
    """Entry (i, j) of H can be non-zero exactly if one variable supports the other."""
    from model.mechanisms import arm

    from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
    from robot_dynamics.model import build
    from robot_dynamics.model.parameters import parameters_of

    model = build(arm())
    q = model.normalized(rng.normal(size=model.nq).tolist())
    H = inertia_matrix(model, q, parameters_of(model))
    expanded = Tree(model.tree.expanded([b.joint.type.nv for b in model.bodies]))
    for i in range(model.nv):
        for j in range(i):
            structural_zero = isinstance(H[i][j], float) and H[i][j] == 0.0
            assert structural_zero or j in expanded.support(i)
            if j not in expanded.support(i):
                assert structural_zero
    assert np.shape(H) == (model.nv, model.nv)


def test_fixed_freedoms_pass_their_parents_on():
    """A joint without freedom adds no variable, and its children hang on its parent."""
    assert Tree((WORLD, 0, 1)).expanded([2, 0, 1]) == (WORLD, 0, 1)
    with pytest.raises(ArgumentError, match=r"freedoms.*\b2\b.*\b3\b"):
        Tree((WORLD, 0, 1)).expanded([1, 1])
