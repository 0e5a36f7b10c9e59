# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every kind of base, and joints without a drive: the unified model is the engine's."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reproductions.unified.cases import random_states, random_unified, state_of, system_of
from support.mechanisms import random_link, random_tree
from support.papers import CASES, close_to

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.reproductions.unified import forward_dynamics, unified_system
from robot_dynamics.robot import Robot

# Two ways through matrices of condition up to 1e6.
TOL = 1e-9
LARGE = pytest.mark.slow  # ten seconds of compilation
SYSTEMS = [
    ("fixed", (6, 6), 0),
    ("floating", (6, 7), 0),
    ("planar", (6, 6), 0),
    ("sprung", (6, 6), 0),
    ("floating", (7, 6), 1),
    pytest.param("fixed", (7, 6, 7), 0, marks=LARGE),
    pytest.param("floating", (6, 6, 6), 0, marks=LARGE),
    pytest.param("floating", (8, 8), 2, marks=LARGE),
]
STATES = 60


@pytest.mark.parametrize(("base", "joints", "passive"), SYSTEMS)
def test_it_is_the_closed_loop_engine(base, joints, passive):
    """At random states, all accelerations and grasp wrenches are those of the engine."""
    rng = np.random.default_rng(2)
    system = random_unified(rng, base, joints, passive)
    near_singular = 0
    for there, q, qd in random_states(rng, system, STATES):
        terms = there.terms(q, qd)
        tau = 10.0 * rng.normal(size=there.model.nv)
        tau[there.object_v] = 0.0
        if np.linalg.cond(terms.parts.H) > 1e6:
            near_singular += 1  # both are right to fewer digits there
            continue
        ours = forward_dynamics(terms, tau[there.driven], tau[there.following])
        engine = Robot(there.model).constrained_motion(q, qd, tau)
        size = TOL * np.max(np.abs(engine.qdd))
        assert_allclose(ours.joint_accelerations, engine.qdd[there.driven], rtol=0, atol=size)
        following = engine.qdd[there.following]
        assert_allclose(ours.following_accelerations, following, rtol=0, atol=size)
        assert_allclose(ours.object_acceleration, engine.qdd[there.object_v], rtol=0, atol=size)
        # The welds' frames on the object are those of the end-effectors.
        size = TOL * np.max(np.abs(engine.multipliers))
        assert_allclose(ours.grasp_wrenches, engine.multipliers, rtol=0, atol=size)
    assert near_singular < STATES // 5


def test_springs_between_world_and_base():
    """A sprung base pushes as the case's force does, at the displacement that it has."""
    case = CASES["S3 spring-damper base, 6R+7R"]
    system = system_of(case, springs=True)
    q, qd, _ = state_of(case, system)
    base = system.model.q_slices[system.model.joint_index("b")]
    # The spring is at rest at the world's frame: the base is put where the case's dx_b is small.
    plain = system_of(case)
    with_spring, without = system.terms(q, qd).parts, plain.terms(q, qd).parts
    assert_allclose(with_spring.M_p, without.M_p)
    pushed = without.C_p - with_spring.C_p
    q[base] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    data = case["input"]
    at_rest = plain.terms(q, qd).parts.C_p - system.terms(q, qd).parts.C_p
    close_to(at_rest, -np.array(data["delta_b"]) * data["Vb"])
    assert np.max(np.abs(pushed - at_rest)) > 1.0


def test_without_an_object():
    """End-effectors that hold nothing: the tree's forward dynamics, and no wrench."""
    rng = np.random.default_rng(0)
    tree = random_tree(rng, ["floating", "revolute", "spherical", "prismatic", "revolute"])
    system = unified_system(tree, ["link4"])
    q = system.model.neutral() + 0.1
    q = np.array(system.model.normalized(q.tolist()))
    qd, tau = rng.normal(size=(2, system.model.nv))
    motion = forward_dynamics(system.terms(q, qd), tau[system.driven], tau[system.following])
    expected = Robot(system.model).forward_dynamics(q, qd, tau)
    size = TOL * np.max(np.abs(expected))
    assert_allclose(motion.joint_accelerations, expected[system.driven], atol=size)
    assert_allclose(motion.following_accelerations, expected[system.following], atol=size)
    assert np.all(motion.grasp_wrenches == 0.0)


def test_robots_with_loops_are_refused():
    """Constraints of the robot's own, or grasps that are missing, are answered in one sentence."""
    rng = np.random.default_rng(0)
    tree = random_tree(rng, ["revolute", "revolute", "revolute"])
    with pytest.raises(RobotDynamicsError, match="1 grasps for 2 end-effectors"):
        unified_system(tree, ["link1", "link2"], random_link(rng, "held"), [np.eye(4)])
