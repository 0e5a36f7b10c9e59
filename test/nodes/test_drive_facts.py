# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Real arms are told from simulated ones by the node that their joint states come from."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from sensor_msgs.msg import JointState

from robot_dynamics.control.faults import SafetyError
from robot_dynamics.nodes.drive_facts import DRIVE_FACTS, require_known_drives


@pytest.fixture
def speakers(ros):
    """Return a listener, and a function that lets a node of some name speak."""
    nodes = [ros.create_node("listener")]

    def speak(name, topic):
        nodes.append(ros.create_node(name))
        nodes[-1].create_publisher(JointState, topic, 10)
        until = time.monotonic() + 10.0
        while not nodes[0].get_publishers_info_by_topic(f"/{topic}"):
            assert time.monotonic() < until
            time.sleep(0.01)

    yield nodes[0], speak
    for node in nodes:
        node.destroy_node()


def test_simulators_need_no_word(speakers):
    """Nor does silence: a start without joint states is refused for that."""
    listener, speak = speakers
    require_known_drives(listener, ["joint_states"], [])
    speak("simulator", "joint_states")
    require_known_drives(listener, ["joint_states"], [])


def test_real_arms_do(speakers):
    """The sentence names the node and what is missing."""
    listener, speak = speakers
    speak("left_driver", "left_states")
    with pytest.raises(SafetyError) as caught:
        require_known_drives(listener, ["left_states"], ["drives_compensate_gravity"])
    assert str(caught.value) == (
        "start refused: joint states on /left_states come from 'left_driver'; expected the "
        "parameters on_command_timeout to say what the drives of real arms do."
    )
    require_known_drives(listener, ["left_states"], DRIVE_FACTS)
