# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks of K: the clusters of loops, joined by couplings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, build, pose
from robot_dynamics.model.couplings import CouplingElement
from robot_dynamics.robot import Robot

# Fig 8.1 of the book: a tree of 20 joints and loop joints 21 to 24, in its numbers.
PARENTS = [0, 1, 2, 3, 4, 2, 6, 7, 8, 9, 10, 9, 0, 13, 14, 15, 16, 17, 18, 18]
LOOPS = [(5, 7), (4, 6), (11, 12), (19, 20)]


def figure_8_1(types=None):
    """Return that mechanism; numbers in names are the book's."""
    links = [LinkElement("link0")]
    joints = []
    for i, parent in enumerate(PARENTS, 1):
        links.append(LinkElement(f"link{i}", 1.0, (0.1, 0.0, 0.0), np.eye(3)))
        kind = (types or {}).get(i, "revolute")
        at = pose((0.3, 0.1 * PARENTS[:i].count(parent), 0.0))
        joints.append(JointElement(f"joint{i}", kind, f"link{parent}", f"link{i}", at))
    loops = tuple(
        LoopElement(
            f"joint{k}",
            "sphere_in_cylinder",
            f"link{p}",
            f"link{s}",
            pose((0.3, 0.1, 0.0)),
            pose((0.2, -0.1, 0.0)),
        )
        for k, (p, s) in enumerate(LOOPS, 21)
    )
    return Mechanism("figure_8_1", tuple(links), tuple(joints), loops)


def joints_of(model, block):
    """Return the book's numbers of the joints whose velocities are in a block."""
    names = [body.joint.name for body in model.bodies]
    at = {i: int(n[5:]) for n, s in zip(names, model.v_slices, strict=True)
          for i in range(s.start, s.stop)}  # fmt: skip
    return sorted({at[i] for i in block.columns})


def test_c10_blocks_of_figure_8_1_are_found():
    """Row C10: loop joints 21 and 22 are coupled through joints 3 to 7; 23 has 10 to 12, 24 has
    19 and 20, and the other joints are in no block.
    """
    model = build(figure_8_1())
    assert [(joints_of(model, b), b.rows) for b in model.constraint_blocks] == [
        ([3, 4, 5, 6, 7], (0, 1, 2, 3)),
        ([10, 11, 12], (4, 5)),
        ([19, 20], (6, 7)),
    ]


def test_joints_with_several_freedoms_bring_all_their_columns():
    """A block's columns are velocities, not joints."""
    model = build(figure_8_1({11: "spherical"}))
    assert [len(b.columns) for b in model.constraint_blocks] == [5, 5, 2]


def test_couplings_join_blocks():
    """A gear between joints of two clusters makes one of them; one elsewhere is its own."""
    geared = replace(
        figure_8_1(),
        couplings=(
            CouplingElement("gear", (("joint5", 1.0), ("joint19", -2.0))),
            CouplingElement("other", (("joint1", 1.0), ("joint13", 1.0))),
        ),
    )
    model = build(geared)
    assert [(joints_of(model, b), b.rows) for b in model.constraint_blocks] == [
        ([3, 4, 5, 6, 7, 19, 20], (0, 1, 2, 3, 6, 7, 8)),
        ([10, 11, 12], (4, 5)),
        ([1, 13], (9,)),
    ]


@pytest.mark.parametrize("geared", [False, True])
def test_nothing_of_K_is_outside_of_the_blocks(geared, rng):
    """K is zero outside; every row is in one block, every column in one at most."""
    mechanism = figure_8_1({11: "spherical", 15: "prismatic"})
    if geared:
        coupling = CouplingElement("gear", (("joint5", 1.0), ("joint19", -2.0)))
        mechanism = replace(mechanism, couplings=(coupling,))
    robot = Robot.from_mechanism(mechanism)
    model = robot.model
    q = np.array(model.integrate(model.neutral().tolist(), rng.normal(size=model.nv).tolist()))
    K = robot.closure(q)[0].copy()
    for block in model.constraint_blocks:
        assert np.any(K[np.ix_(block.rows, block.columns)])
        K[np.ix_(block.rows, block.columns)] = 0.0
    assert not K.any()
    rows = [i for b in model.constraint_blocks for i in b.rows]
    columns = [i for b in model.constraint_blocks for i in b.columns]
    assert sorted(rows) == list(range(model.constraint_count))
    assert len(set(columns)) == len(columns)


def test_loops_that_block_nothing_join_nothing():
    """A loop joint with six freedoms has no rows, and no block."""
    free = LoopElement("free", "floating", "link5", "link20")
    mechanism = replace(figure_8_1(), loops=(*figure_8_1().loops, free))
    assert build(mechanism).constraint_blocks == build(figure_8_1()).constraint_blocks
