# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A bag of all topics says what its numbers mean, and can be drawn."""

import json
import time
from collections import Counter
from functools import partial

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory
from waiting import wait_until

from robot_dynamics.app.scenario import load_scenario
from robot_dynamics.nodes import topics
from robot_dynamics.nodes.control_loop import ControlLoop
from robot_dynamics.nodes.run_metadata import RunMetadata

PERIODS = 300
RECORDED = {
    "run_metadata": String,
    "joint_states": JointState,
    "left/commands": Float64MultiArray,
    "right/commands": Float64MultiArray,
    "left/wrench": WrenchStamped,
    "right/wrench": WrenchStamped,
    "object/odometry": Odometry,
    "object/reference": MultiDOFJointTrajectory,
    "object/internal_force": WrenchStamped,
    "object/internal_force_reference": WrenchStamped,
}


def test_told_when_a_run_begins(ros):
    """Once for each start, to those who come later as well, with the names after remapping."""
    scenario = load_scenario("lift_box")
    loop = ControlLoop(scenario, scenario.control.period)
    node = ros.create_node("teller", namespace="cell", cli_args=[
        "--ros-args", "-r", "left/commands:=/left_effort_controller/commands"
    ])  # fmt: skip
    metadata = RunMetadata(node, scenario, loop, ["a/joint_states", "b/joint_states"])
    metadata.look()
    loop.began = 12
    metadata.look()
    metadata.look()
    heard = []
    node.create_subscription(String, topics.RUN_METADATA, heard.append, topics.LATCHED)
    wait_until(lambda: heard, lambda: ros.spin_once(node, timeout_sec=0.02))
    ros.spin_once(node, timeout_sec=0.1)
    (message,) = heard
    told = json.loads(message.data)
    assert told["arms"] == ["left", "right"]
    assert told["reference_start_tick"] == scenario.start_tick + 12
    names = told["topics"]
    assert names["left/commands"] == ["/left_effort_controller/commands"]
    assert names["right/commands"] == ["/cell/right/commands"]
    assert names["joint_states"] == ["/cell/a/joint_states", "/cell/b/joint_states"]
    node.destroy_node()


def test_what_is_on_the_wire_can_be_read(ros, start_node, tmp_path):
    """Bytes of a running pair, written down as `ros2 bag record` does, are the run.

    The recorder may miss messages, which in lockstep nobody waits for; those that it has are equal
    to the recording of the nodes to the last bit. What the numbers mean is latched, and comes in
    the end.
    """
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    from rosbags.rosbag2 import StoragePlugin, Writer

    from robot_dynamics.app.bags.messages import Messages
    from robot_dynamics.app.recording_files import load_merged, load_recording

    node, store = ros.create_node("recorder"), Messages().store
    bag = tmp_path / "bag"
    heard = Counter()
    with Writer(bag, version=9, storage_plugin=StoragePlugin.MCAP) as writer:

        def record(topic, kind):
            name = f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}"
            connection = writer.add_connection("/" + topic, name, typestore=store)
            latched = topic == topics.RUN_METADATA

            def write(raw):
                heard[topic] += 1
                writer.write(connection, time.time_ns(), raw)

            node.create_subscription(
                kind,
                topic,
                write,
                topics.LATCHED if latched else QoSProfile(depth=5000),
                raw=True,
            )

        for topic, kind in RECORDED.items():
            record(topic, kind)
        output = str(tmp_path / "simulator.npz"), str(tmp_path / "controller.npz")
        common = {"mode": "lockstep", "duration": 0.6}
        simulator = start_node("simulator", output=output[0], **common)
        controller = start_node("controller", output=output[1], autostart="never", **common)
        client = node.create_client(Trigger, "controller/start")
        # On a machine with time to spare the run is over before a recorder has found all topics.
        wait_until(
            lambda: client.service_is_ready() and all(map(node.count_publishers, RECORDED)),
            partial(ros.spin_once, node, timeout_sec=0.01),
            seconds=90.0,
        )
        time.sleep(0.5)
        asked = [client.call_async(Trigger.Request())]

        def listen():
            ros.spin_once(node, timeout_sec=0.01)
            # A busy machine may take longer to find the simulator than a start waits for it.
            if asked[-1].done() and not asked[-1].result().success:
                asked.append(client.call_async(Trigger.Request()))

        wait_until(
            lambda: done(simulator, controller) and heard[topics.RUN_METADATA],
            listen,
            seconds=90.0,
            words=lambda: controller.text + simulator.text,
        )
        for _ in range(2000):
            ros.spin_once(node, timeout_sec=0.0)
    own = load_merged(output)
    recorded = load_recording(bag)
    assert len(own) == PERIODS
    assert recorded.get("joints") == own.get("joints")
    rows = recorded["tick"].astype(int)
    for name in ("joint_position", "joint_velocity", "commanded_torque", "grasp_wrench"):
        known = np.isfinite(recorded[name]).all(axis=1) & (rows < PERIODS)
        assert known.sum() > 10  # a busy machine makes a recorder miss most of a run
        np.testing.assert_array_equal(recorded[name][known], own[name][rows[known]], name)
    known = np.isfinite(recorded["estimated_pose"]).all(axis=1) & (rows < PERIODS)
    np.testing.assert_array_equal(
        recorded["estimated_pose"][known], own["estimated_pose"][rows[known]]
    )
    node.destroy_node()


def done(*nodes):
    """Return whether all nodes have said that they are."""
    for node in nodes:
        while not node.said.empty():
            if node.said.get()["event"] == "done":
                node.is_done = True
    return all(getattr(node, "is_done", False) for node in nodes)
