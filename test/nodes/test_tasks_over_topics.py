# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller node under hybrid control: one task after another, each by a message.

The test is the plant: it publishes measurements, waits for the torques, and moves on. However
slow the machine is, nothing depends on it.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from diagnostic_msgs.msg import DiagnosticArray
from fake_arms import FakeArms
from geometry_msgs.msg import Transform, WrenchStamped
from std_msgs.msg import String
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint
from waiting import PATIENCE_S, wait_until

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.scenarios.cell import true_system
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.nodes.topics import STREAM

GAP = 0.002  # between pad and wall [m]
STILL = [
    "reference.segments=[{duration_s: 3.0}]",
    "reference.touches=[]",
    f"cell.surfaces.0.xyz=[{0.66 + GAP}, 0.0, 1.0]",
]
LONGEST = 500  # ticks that a task may take [2 ms]


class Arms(FakeArms):
    """Arms that move by their torques, and publishers of their references."""

    def __init__(self, node, scenario):
        super().__init__(node, scenario)
        self.plant = make_plant(scenario, true_system(scenario, self.system))
        self.measured = self.plant.reset()
        self.body = self.system.model.bodies[self.system.object_body].name
        self._near = 0
        self.here, self.torques, self.said = scenario.object_pose, [], {}
        self._inbox.subscribe(DiagnosticArray, "/diagnostics", self._hear, STREAM, awaited=False)
        kinds = {
            topics.REFERENCE_TRAJECTORY: MultiDOFJointTrajectory,
            topics.REFERENCE_CONTACT_FORCE: WrenchStamped,
            topics.REFERENCE_SURFACES: String,
        }
        self.tasks = {
            name: node.create_publisher(kind, name, STREAM) for name, kind in kinds.items()
        }

    def _hear(self, message):
        for status in message.status:
            if status.name == "controller: state":
                self.said = {pair.key: pair.value for pair in status.values}

    def step(self):
        """Run a control period; return its torques (na,)."""
        seen = self.measured
        self.tick, self.q, self.qd, self._loads = seen.tick, seen.q, seen.qd, seen.wrenches
        torque = super().step()
        self.torques.append(torque)
        self.measured = self.plant.step(torque)
        return torque

    def run_until(self, reached):
        """Go on until something is reached; fail if it never is."""
        for _ in range(LONGEST):
            self.step()
            if reached():
                return
        pytest.fail(f"{self.push:.3g} N on the wall, {self.forward:.3g} m forward; {self.said}")

    @property
    def push(self):
        """The true force on the wall [N]."""
        return sum(one.force[2] for one in self.plant.contacts() if one.name == "wall")

    def settled_at(self, force):
        """Return whether the wall has been pushed by that, to 5 %, for 0.03 s."""
        self._near = self._near + 1 if abs(self.push - force) < 0.05 * force else 0
        return self._near >= 15

    @property
    def forward(self):
        """True displacement of the object from its start [m]."""
        return float(self.plant.truth().object_pose[0] - self.here[0])

    def touch(self, names):
        """Say which surfaces are to be touched."""
        self.tasks[topics.REFERENCE_SURFACES].publish(String(data=names))

    def press(self, force):
        """Say how hard the wall is to be pressed."""
        message = WrenchStamped()
        message.header.frame_id, message.wrench.force.z = "wall", force
        self.tasks[topics.REFERENCE_CONTACT_FORCE].publish(message)

    def go(self, forward, seconds):
        """Say how far forward the object is to be."""
        at, place = MultiDOFJointTrajectoryPoint(), Transform()
        to, turn = place.translation, place.rotation
        to.x, to.y, to.z, turn.x, turn.y, turn.z, turn.w = self.here.tolist()
        to.x += forward
        at.transforms.append(place)
        at.time_from_start.nanosec = round(1e9 * seconds)
        message = MultiDOFJointTrajectory(joint_names=[self.body], points=[at])
        message.header.frame_id = "world"
        self.tasks[topics.REFERENCE_TRAJECTORY].publish(message)

    def largest_jump(self, begin):
        """Return the largest change of a torque in a period since then [N m]."""
        return float(np.abs(np.diff(self.torques[begin:], axis=0)).max())


def test_a_wall_is_touched_pressed_and_left_by_messages(ros, start_node, tmp_path):
    """The plant's own force follows the reference, and no torque jumps where tasks change.

    The rate limit would let 2 N m through. At once, 20 N on the wall are 6 N m of a joint; they
    fade in by 1.9 / 150 of that a period at most. The touch itself is an impact, and is left out.
    """
    scenario = load_scenario("wipe", STILL)
    file = tmp_path / "still.yaml"
    file.write_text(scenario.text(), encoding="utf-8")
    node = ros.create_node("tasks")
    arms = Arms(node, scenario)
    controller = start_node(
        "controller",
        scenario=str(file),
        references="topics",
        silence_limit=PATIENCE_S,  # this process may have to wait for the machine
    )
    controller.wait_for("ready")
    arms.wait_for_listener()
    wait_until(lambda: all(task.get_subscription_count() for task in arms.tasks.values()))
    for _ in range(120):  # it starts by itself; the ramp goes by
        arms.step()
    arms.touch("wall")
    arms.go(GAP + 0.004, 0.2)
    arms.run_until(lambda: arms.push > 0.5)
    arms.press(10.0)
    arms.run_until(lambda: arms.settled_at(10.0))

    pressing = len(arms.torques)
    arms.press(30.0)
    arms.run_until(lambda: arms.settled_at(30.0))
    leaving = len(arms.torques)
    assert arms.largest_jump(pressing) < 0.2
    arms.touch("")
    arms.run_until(lambda: arms.push == 0.0)
    arms.go(-0.005, 0.3)
    arms.run_until(lambda: arms.forward < -0.0049)
    assert arms.push == 0.0
    assert arms.largest_jump(leaving) < 0.2
    node.destroy_node()
