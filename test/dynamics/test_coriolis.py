# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The Coriolis matrix: its forces, its relation to the rate of the inertia matrix, Pinocchio's."""

import numpy as np
import pytest
from dynamics.joint_mechanisms import EVERY, random_state, random_tree, with_rotors

from robot_dynamics.model import build
from robot_dynamics.robot import Robot

STEP = 1e-5
RATE_TOL = 1e-8  # relative: of central differences with that step, STEP^2 and 1e-16 / STEP


def assert_near(ours, theirs, tolerance=1e-12):
    """Check a relative difference in the largest norm; by default rounding."""
    assert np.abs(ours - theirs).max() <= tolerance * max(1.0, np.abs(theirs).max())


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("part", [0, 1, 2])
def test_coriolis_matrices_of_all_joints_are_skew_with_the_inertia_rate(part, rng):
    """C qd is the bias without gravity, and Hdot - 2 C is skew, for all joints, with rotors."""
    names = np.random.default_rng(5).permutation(list(EVERY))[7 * part : 7 * part + 7]
    tree = with_rotors(random_tree(rng, names.tolist()))
    robot = Robot(build(tree, gravity=(1.0, -2.0, -9.0)))
    model = robot.model
    q, qd, _ = (np.array(x) for x in random_state(rng, model))
    C = robot.coriolis_matrix(q, qd)
    assert_near(C @ qd, robot.bias_forces(q, qd) - robot.gravity(q))
    ends = [robot.inertia_matrix(np.array(model.integrate(q, s * STEP * qd))) for s in (1.0, -1.0)]
    rate = (ends[0] - ends[1]) / (2.0 * STEP)
    skew = rate - 2.0 * C
    assert np.abs(skew).max() > 0.1
    assert_near(skew, -skew.T, RATE_TOL)


@pytest.mark.usefixtures("interpreted")
def test_real_robots_equal_pinocchio(real, rng):
    """Many matrices have these properties; ours is that of `computeCoriolisMatrix`."""
    import pinocchio

    robot, oracle = real
    q, qd, _ = (np.array(x) for x in random_state(rng, robot.model))
    theirs = pinocchio.computeCoriolisMatrix(
        oracle.theirs, oracle.data, oracle.q_of(q), oracle.v_of(qd)
    )
    assert_near(robot.coriolis_matrix(q, qd), theirs[np.ix_(oracle.at_v, oracle.at_v)])


@pytest.mark.usefixtures("interpreted")
def test_a_floating_body(rng):
    """Pinocchio's matrix of a floating base as well, whose velocities are no rates."""
    from support.mechanisms import random_tree as simple_tree
    from support.oracle import Pinocchio

    mechanism = simple_tree(rng, ["floating", "revolute", "prismatic"], chain=True)
    robot = Robot(build(mechanism))
    oracle = Pinocchio.of_mechanism(mechanism, robot.model)
    q, qd, _ = (np.array(x) for x in random_state(rng, robot.model))
    import pinocchio

    theirs = pinocchio.computeCoriolisMatrix(
        oracle.theirs, oracle.data, oracle.q_of(q), oracle.v_of(qd)
    )
    assert_near(robot.coriolis_matrix(q, qd), theirs[np.ix_(oracle.at_v, oracle.at_v)])
