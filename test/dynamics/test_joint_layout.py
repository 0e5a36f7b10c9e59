# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of the joints' equations, and the link from which loops are described."""

from __future__ import annotations

import numpy as np
from dynamics.joint_mechanisms import random_tree
from model.joints.cases import matrix_of, random_transform
from numpy.testing import assert_allclose
from support import linkages

from robot_dynamics.dynamics.joint_layout import JointLayout, Placements
from robot_dynamics.model import LoopElement, build


def test_every_row_and_freedom_has_its_place(rng):
    """Rows are those of the tree joints, then of the loops; groups cover each exactly once."""
    model = build(linkages.stewart_platform())
    layout = JointLayout(model)
    # One floating, six universal, six prismatic joints; six balls.
    assert layout.tree_rows == 0 + 6 * 4 + 6 * 5
    assert layout.joint_rows == layout.tree_rows + 18
    groups = (*layout.tree_groups, *layout.loop_groups)
    assert [len(g.joints) for g in groups] == [1, 6, 6, 6]
    rows = np.concatenate([g.rows.ravel() for g in groups])
    assert sorted(rows) == list(range(layout.joint_rows))
    freedoms = np.concatenate([g.v.ravel() for g in layout.tree_groups])
    assert sorted(freedoms) == list(range(model.nv))
    for group in groups:
        assert (layout.joint_of_row[group.rows] == group.joints[:, None]).all()


def test_arrays_of_transforms_are_transforms(rng):
    """Stacked transforms keep their order, and their matrices act as they do one by one."""
    one = [random_transform(rng) for _ in range(5)]
    stacked = Placements.stacked(one)
    assert_allclose(stacked.motion_matrices(), [matrix_of(X) for X in one], atol=1e-15)
    some = Placements.of_transform(stacked.at(np.array([3, 1])), 2)
    assert_allclose(some.E, stacked.E[[3, 1]], rtol=0, atol=0)
    assert_allclose(some.r, stacked.r[[3, 1]], rtol=0, atol=0)


def test_loops_are_looked_at_from_where_their_cluster_hangs(rng):
    """Tops are the bodies right above all joints of a cluster, as the lists of section 8.9 say."""
    for _ in range(20):
        tree = random_tree(rng, ["revolute"] * 12)
        names = ["base", *(f"link{i}" for i in range(12))]
        loops = []
        for number in range(4):
            p, s = rng.choice(names, 2, replace=False)
            loops.append(LoopElement(f"loop{number}", "spherical", str(p), str(s)))
        model = build(tree.with_loops(loops))
        layout = JointLayout(model)
        in_loops = set()
        for cluster in model.clusters:
            roots = [
                model.tree.loop_root(model.loops[i].predecessor, model.loops[i].successor)
                for i in cluster.loops
            ]
            for loop in cluster.loops:
                assert layout.loop_tops[loop] == min(roots)
            for body in cluster.bodies:
                assert layout.tops[body] == min(roots)
            in_loops |= set(cluster.bodies)
        for body in set(range(12)) - in_loops:
            assert layout.tops[body] == model.bodies[body].parent
