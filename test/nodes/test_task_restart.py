# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A controller that is killed in mid-carry; a new one goes on with the task.

The test is the plant: it publishes measurements, waits for the torques of controller or guard,
and moves on. However slow the machine is, nothing depends on it.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from calling import Caller
from fake_arms import FakeArms
from std_srvs.srv import Trigger

from robot_dynamics.app.scenarios.cell import true_system
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario

TASK = """task=[
  {approach: {distance_m: 0.04, speed: 0.2, velocity_fraction: 0.6}},
  {grasp: {squeeze_n: 80.0, touch_within_m: 0.005, squeeze_s: 0.1}},
  {lift: {height_m: 0.02, unload_s: 0.1}},
  {carry: {segments: [{duration_s: 2.0, move: [0.03, 0.01, 0.0]}]}},
  {put_down: {on: table, touch_within_m: 0.003, load_s: 0.1}},
  {release: {distance_m: 0.04, speed: 0.2, open_s: 0.1}},
  {move: {to: home, velocity_fraction: 0.6}}]"""
SCENARIO = load_scenario("pick_and_place", [TASK])
START, PLACE = np.array([0.62, 0.0, 0.75]), np.array([0.65, 0.01, 0.75])
LONGEST = 6000  # control periods until something is reached
SILENCE_S = 3.0  # of a controller, until the guard takes over


class Arms(FakeArms):
    """Arms and object of the plant, from their start on."""

    def __init__(self, node):
        super().__init__(node, SCENARIO)
        self.plant = make_plant(SCENARIO, true_system(SCENARIO, self.system))
        self.measured = self.plant.reset()

    def step(self):
        """Advance by a control period."""
        seen = self.measured
        self.tick, self.q, self.qd, self._loads = seen.tick, seen.q, seen.qd, seen.wrenches
        self.measured = self.plant.step(super().step())

    def run_until(self, reached):
        """Go on until something is reached; fail if it never is."""
        for _ in range(LONGEST):
            self.step()
            if reached():
                return
        pytest.fail(f"at {self.place}, moving at up to {self.speed:.3g} rad/s")

    @property
    def place(self):
        """The true place of the object (3,) [m]."""
        return self.plant.truth().object_pose[:3].copy()

    @property
    def speed(self):
        return float(np.abs(self.measured.qd).max())


@pytest.mark.slow
def test_a_new_controller_ends_the_task_of_a_killed_one(ros, start_node, tmp_path):
    """A guard holds the object meanwhile; it stands at its place in the end."""
    file = tmp_path / "task.yaml"
    file.write_text(SCENARIO.text(), encoding="utf-8")
    node, operator = ros.create_node("arms"), ros.create_node("operator")
    ask, arms = Caller(ros, operator), Arms(node)
    guard = start_node("guard", scenario=str(file), silence_limit=SILENCE_S)
    of_controller = {"scenario": str(file), "guard": "required"}
    first = start_node("controller", **of_controller)
    first.wait_for("ready")
    arms.wait_for_listener()
    arms.run_until(lambda: arms.place[0] > START[0] + 0.01)  # in mid-carry
    first.process.kill()
    arms.run_until(lambda: arms.speed < 1e-3)
    guard.wait_for("took over")
    held = arms.place
    assert held[2] == pytest.approx(START[2] + 0.02, abs=1e-3)

    second = start_node("controller", resume_phase=4, **of_controller)
    second.wait_for("ready")
    arms.step()
    assert ask(Trigger, "guard/reset").success
    answer = ask(Trigger, "controller/resume")
    assert answer.success, answer.message
    said = "started; the task goes on in phase 4, carry: the object moves by"
    assert answer.message.startswith(said)
    lowest = []

    def over():
        lowest.append(arms.place[2])
        home = np.abs(arms.measured.q - SCENARIO.home).max() < 1e-3
        return home and arms.speed < 1e-3

    arms.run_until(over)
    np.testing.assert_allclose(arms.place, PLACE, atol=2e-4)
    assert min(lowest) > START[2] - 1e-4
    for one in (node, operator):
        one.destroy_node()
