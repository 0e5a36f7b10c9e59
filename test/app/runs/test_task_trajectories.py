# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Free arms follow trajectories in a task until an operator ends the phase; by the true state."""

import numpy as np
import pytest

from robot_dynamics.app.runs.run import make_plant
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.abilities import TaskError
from robot_dynamics.control.task.joint_trajectory import Code, JointGoal, JointTrajectory

TASK = """task=[
  {move: {until: operator, velocity_fraction: 1.0}},
  {approach: {distance_m: 0.04}},
  {grasp: {squeeze_n: 80.0}},
  {lift: {height_m: 0.02}},
  {put_down: {on: table}},
  {release: {distance_m: 0.04}}]"""
SCENARIO = load_scenario("pick_and_place", [TASK])
PERIOD = SCENARIO.control.period
RIGHT = slice(7, 14)


@pytest.mark.slow
def test_an_arm_follows_a_trajectory_until_the_operator_goes_on():
    """The other one stays; the next phase begins from where the arms are."""
    loop = control_loop(SCENARIO)
    law, plant = loop.law, make_plant(SCENARIO, build_system(SCENARIO))
    law.has_operator, seen, tick = True, plant.reset(), 0
    start = seen.q.copy()
    loop.check(seen.q, seen.qd, "start")
    loop.start_at(0, 0, seen.q, seen.qd, seen.wrenches)

    def run(seconds):
        nonlocal seen, tick
        for _ in range(round(seconds / PERIOD)):
            outcome = loop.update(tick, tick, seen.q, seen.qd, seen.wrenches)
            seen = plant.step(outcome.torque)
            tick += 1
        assert not loop.safety.faults, loop.safety.faults

    run(0.6)
    assert law.state == "waiting"
    way = np.array([0.0, 0.1, 0.0, -0.1, 0.0, 0.0, 0.2])
    joints = law.system.joint_names[RIGHT]
    goal = JointGoal(JointTrajectory(joints, [0.5], [start[RIGHT] + way]), path=0.02, end=0.005)
    law.follow_joints({"right": goal})
    assert law.follows(goal)
    run(0.25)
    assert np.abs(seen.qd[RIGHT]).max() > 0.3
    law.pause()
    run(0.5)
    assert (law.state, np.abs(seen.qd).max() < 0.01, goal.ended) == ("paused", True, False)
    with pytest.raises(TaskError, match="the task rests; expected a running task"):
        law.follow_joints({"right": goal})
    law.go_on()
    run(0.7)
    assert goal.code is Code.SUCCESSFUL
    assert not law.follows(goal)
    np.testing.assert_allclose(seen.q[RIGHT] - start[RIGHT], way, atol=5e-3)
    np.testing.assert_allclose(seen.q[:7], start[:7], atol=2e-3)
    law.next()
    with pytest.raises(TaskError, match="phase 1, move follows none"):
        law.follow_joints({"right": goal})
    run(0.01)
    assert law.phases[law.phase] == "approach"
    with pytest.raises(TaskError, match="phase 2, approach follows none; expected a phase"):
        law.follow_joints({"right": goal})
    run(0.3)
    assert np.abs(seen.qd).max() > 0.05
