# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is rolled out is what the arms then do."""

import numpy as np
from control.jointed.folding import folding

from robot_dynamics.app.laws import make_law
from robot_dynamics.app.run import simulate
from robot_dynamics.app.scenario import load_scenario
from robot_dynamics.control.jointed.rollout import fold_rollout
from robot_dynamics.robot import Robot


def test_the_rollout_is_the_motion_that_follows():
    """Positions and torques along the path, beside those of the simulated plant.

    Self-motions differ: the rollout takes the nearest posture at every instant, the law has a
    servo for it. Torques of the plant have friction in them, at most 0.5 N m a joint and 0.5 N m
    s/rad.
    """
    law, start = folding()
    terms = Robot(law.system.model).constraint_terms
    motion = fold_rollout(law, terms, start)
    assert motion.failed_at is None
    run = simulate("fold", duration=0.9)
    for at, time in enumerate(motion.times[:70:23]):
        tick = law.ramp_ticks + round(time / law.period)
        np.testing.assert_allclose(
            motion.q[23 * at], run.recording["joint_position"][tick], atol=0.02
        )
        np.testing.assert_allclose(
            motion.torque[23 * at], run.recording["commanded_torque"][tick], atol=1.5
        )
    np.testing.assert_allclose(motion.support[0], law.hold_support(start), atol=1e-6)


def test_pivots_are_those_of_the_coordinated_law():
    """The same arms with the same grasps at the same place: its kernel tells the same of a box."""
    law, start = folding()
    motion = fold_rollout(law, Robot(law.system.model).constraint_terms, start)
    box = make_law(load_scenario("lift_box")).start(start, 0.0 * start)
    np.testing.assert_allclose(motion.pivot[0], box.scales[4], rtol=1e-6)


def test_where_an_arm_does_not_reach():
    """The rollout ends there, and tells what remains for each arm."""
    law, start = folding(
        "reference.segments=[{duration_s: 4.0, move: [0.0, 0.0, 2.0]}]", "reference.fold=[]"
    )
    motion = fold_rollout(law, Robot(law.system.model).constraint_terms, start)
    assert motion.failed_at is not None
    assert 0.0 < motion.failed_at < 4.0
    assert len(motion.q) == len(motion.times) < 400
    assert motion.gaps[:, 0].max() > 1e-6
