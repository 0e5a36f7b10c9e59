# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""C14: springs, dampers and drives in the sparse matrix method act as they do in joint space."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dynamics.joint_mechanisms import EVERY, random_pose, random_state, random_tree
from numpy.testing import assert_allclose

from robot_dynamics.dynamics.closed_loop import closed_loop_terms
from robot_dynamics.dynamics.loop_forces import loop_drive_matrix, loop_joint_forces
from robot_dynamics.dynamics.maximal_coordinates import maximal_coordinate_solution
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.dynamics.redundant import rank_revealing_solution
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import LoopElement, build, joint_type
from robot_dynamics.model.parameters import parameters_of

# The last link is free of the others, so that any loop joint leaves motions of its own.
TYPES = ["revolute", "spherical", "universal", "planar", "floating"]


@pytest.mark.parametrize("kind", EVERY)
def test_everything_that_acts_in_joints(kind, rng):
    """With springs everywhere, dampers and drives: motion and all forces as in joint space."""
    nv = joint_type(kind, **EVERY[kind]).nv
    loop = LoopElement(
        "loop", kind, "link3", "link4", random_pose(rng), random_pose(rng), EVERY[kind],
        stiffness=tuple(rng.uniform(1, 9, nv)), damping=tuple(rng.uniform(1, 9, nv)), active=True,
    )  # fmt: skip
    mechanism = random_tree(rng, TYPES).with_loops([loop, replace(loop, name="b", active=False)])
    joints = tuple(
        replace(joint, stiffness=3.0, rest=0.2, damping=2.0) for joint in mechanism.joints
    )
    model = build(replace(mechanism, joints=joints), gravity=(1.0, -2.0, -9.0))
    q, qd, tau = random_state(rng, model)
    parameters, efforts = parameters_of(model), 5.0 * rng.normal(size=nv)
    motion = maximal_coordinate_solution(model, q, qd, tau, efforts=efforts, tolerance=3e-7)

    terms = closed_loop_terms(model, q, qd, parameters)
    K = np.array(terms.loops.K).reshape(-1, model.nv)
    B = np.array(loop_drive_matrix(model, q, parameters))
    expected = rank_revealing_solution(
        model, np.array(terms.H), np.array(tau) + B @ efforts - np.array(terms.C), K,
        np.array(terms.loops.k), ranked=constraint_rank(model, K),
    )  # fmt: skip
    # Conditions of a few thousand.
    scale = max(np.max(np.abs(expected.qdd)), np.max(np.abs(expected.multipliers), initial=0.0))
    assert_allclose(motion.qdd, expected.qdd, atol=1e-10 * scale)
    assert_allclose(motion.multipliers, expected.multipliers, atol=1e-10 * scale)
    forces = loop_joint_forces(
        model, q, qd, motion.multipliers.tolist(), efforts.tolist(), parameters
    )
    found = motion.joint_forces[len(model.bodies) :]
    assert_allclose(found, [f.components() for f in forces], atol=1e-10 * scale)


def test_efforts_are_those_of_the_drives(rng):
    """As many efforts as there are drives in loop joints are expected."""
    model = build(random_tree(rng, TYPES))
    q, qd, tau = random_state(rng, model)
    with pytest.raises(ArgumentError, match=r"efforts.*\(1,\).*\(0,\)"):
        maximal_coordinate_solution(model, q, qd, tau, efforts=[1.0])
