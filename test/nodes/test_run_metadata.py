# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A bag of all topics describes its numbers, and can be drawn."""

import json
import time
from collections import Counter

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")
pytest.importorskip("rosbags", reason="rosbags is not installed")

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rosbags.rosbag2 import StoragePlugin, Writer
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from support.control_loops import sampled_loop
from trajectory_msgs.msg import MultiDOFJointTrajectory
from waiting import PATIENCE_S, wait_until

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.recordings.bags.messages import Messages
from robot_dynamics.app.recordings.recording_files import load_merged, load_recording
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.nodes.object_topics import RunMetadata
from robot_dynamics.nodes.topics import LATCHED, STREAM, Inbox

PERIODS = 150
PERIOD = load_scenario("lift_box").control.period
MEASURED = "measured/joint_states"  # where the simulator publishes them
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
#: What comes of every control period besides joint states.
STREAMS = set(RECORDED) - {topics.RUN_METADATA, topics.JOINT_STATES}


def test_metadata_are_published_when_a_run_begins(ros):
    """Once for each start, to those who come later as well, with the names after remapping."""
    scenario = load_scenario("lift_box")
    loop = sampled_loop(scenario)
    node = ros.create_node("teller", namespace="cell", cli_args=[
        "--ros-args", "-r", "left/commands:=/left_effort_controller/commands"
    ])  # fmt: skip
    metadata = RunMetadata(node, scenario, loop, ["a/joint_states", "b/joint_states"])
    metadata.poll()
    loop.began = 12
    metadata.poll()
    metadata.poll()
    heard = []
    node.create_subscription(String, topics.RUN_METADATA, heard.append, LATCHED)
    wait_until(lambda: heard, lambda: ros.spin_once(node, timeout_sec=0.02))
    ros.spin_once(node, timeout_sec=0.1)  # there is no second one
    (message,) = heard
    told = json.loads(message.data)
    assert told["arms"] == ["left", "right"]
    assert told["reference_start_tick"] == scenario.start_tick + 12
    names = told["topics"]
    assert names["left/commands"] == ["/left_effort_controller/commands"]
    assert names["right/commands"] == ["/cell/right/commands"]
    assert names["joint_states"] == ["/cell/a/joint_states", "/cell/b/joint_states"]
    node.destroy_node()


class Recorder:
    """Writes down the bytes that it hears, as `ros2 bag record` does.

    It stands between the two nodes and hands measured states on: simulated time waits until
    everything that belongs to the one before is written down, however busy the machine is.

    Attributes:
        heard: Number of messages by topic.
        complete_from: The first control period of which nothing is missing because its topic was
            not found yet.
    """

    def __init__(self, node, writer):
        self._node, self._writer, self._store = node, writer, Messages().store
        self.heard, self.complete_from = Counter(), 0
        self._missing, self._state, self._last = set(STREAMS), None, None
        self._inbox = Inbox(node)
        for topic, kind in RECORDED.items():
            write = self._writer_of(topic, kind)
            if topic == topics.JOINT_STATES:
                self._write_state = write
                self._states = node.create_publisher(kind, topic, STREAM)
                self._listen_to(MEASURED, kind, self._take)
            else:
                self._listen_to(topic, kind, write)

    def _listen_to(self, topic, kind, take):
        latched = topic == topics.RUN_METADATA
        quality = LATCHED if latched else STREAM
        self._inbox.subscribe(kind, topic, take, quality, awaited=True, reader=bytes)

    def _writer_of(self, topic, kind):
        name = f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}"
        connection = self._writer.add_connection("/" + topic, name, typestore=self._store)

        def write(raw):
            self.heard[topic] += 1
            self._missing.discard(topic)
            self._writer.write(connection, time.time_ns(), raw)

        return write

    def _take(self, raw):
        repeated = raw == self._state
        self._state = raw
        # A message that was sent before its topic was found does not come any more.
        if repeated and not all(self.heard[topic] for topic in STREAMS):
            self.complete_from = self.heard[topics.JOINT_STATES] + 1
            self._missing.clear()

    def listen(self):
        """Take in the messages received, and hand the newest state on if nothing is missing."""
        self._inbox.wait(0.05)
        self._inbox.read()
        if self._state is None or self._missing:
            return
        self._states.publish(self._state)
        if self._state != self._last:
            self._write_state(self._state)
            self._missing = set(STREAMS)
        self._last, self._state = self._state, None

    def close(self):
        """End."""
        self._inbox.close()


def test_a_recorded_bag_of_the_topics_can_be_read(ros, start_node, tmp_path):
    """Bytes of a running pair, written down as `ros2 bag record` does, are the run.

    They are equal to the recording of the nodes to the last bit. Their meaning is latched,
    and comes in the end.
    """
    node, bag = ros.create_node("recorder"), tmp_path / "bag"
    with Writer(bag, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        recorder = Recorder(node, writer)
        output = str(tmp_path / "simulator.npz"), str(tmp_path / "controller.npz")
        common = {"duration": PERIODS * PERIOD, "silence_limit": PATIENCE_S}
        simulator = start_node("simulator", output=output[0], **common, remappings=[
            f"{topics.JOINT_STATES}:={MEASURED}"
        ])  # fmt: skip
        controller = start_node("controller", output=output[1], **common)
        wait_until(
            lambda: done(simulator, controller) and recorder.heard[topics.RUN_METADATA],
            recorder.listen,
            words=lambda: (recorder.heard, controller.text, simulator.text),
        )
        for _ in range(100):
            recorder.listen()
        recorder.close()
        for one in (simulator, controller):  # a controller that is left answers other states too
            one.end()
    own = load_merged(output)
    recorded = load_recording(bag)
    assert len(own) == PERIODS
    assert recorded.get("joints") == own.get("joints")
    first = recorder.complete_from
    rows = recorded["tick"].astype(int)
    ours = (rows >= first) & (rows < PERIODS)
    assert ours.sum() == PERIODS - first > PERIODS / 2
    for name in (
        *("joint_position", "joint_velocity", "commanded_torque", "grasp_wrench"),
        "estimated_pose",
    ):
        there, here = recorded[name][ours], own[name][rows[ours]]
        lacks = [rows[ours][np.isnan(one).any(axis=1)].tolist() for one in (there, here)]
        assert lacks[0] == lacks[1], (
            name,
            "periods without it in the bag, in files",
            lacks,
            first,
        )
        np.testing.assert_array_equal(there, here, name)
    node.destroy_node()


def done(*nodes):
    """Return whether all nodes have said that they are."""
    for node in nodes:
        while not node.said.empty():
            if node.said.get()["event"] == "done":
                node.is_done = True
    return all(getattr(node, "is_done", False) for node in nodes)
