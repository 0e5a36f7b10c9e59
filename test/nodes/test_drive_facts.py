# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Real arms are told from simulated ones by the node that their joint states come from."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from sensor_msgs.msg import JointState
from waiting import wait_until

from robot_dynamics.app.scenario import load_scenario
from robot_dynamics.control.faults import SafetyError
from robot_dynamics.manipulation.settings import DriveSettings
from robot_dynamics.nodes.drives import DriveFacts

ARMS = load_scenario("lift_box").cell.arms
VALUES = {"drives_compensate_gravity": False, "on_command_timeout": "brake"}


def with_drives(*drives):
    """Return the arms with drives of these settings."""
    return [replace(arm, drive=drive) for arm, drive in zip(ARMS, drives, strict=True)]


@pytest.fixture
def speakers(ros):
    """Return a listener, and a function that lets a node of some name speak."""
    nodes = [ros.create_node("listener")]

    def speak(name, topic):
        nodes.append(ros.create_node(name))
        nodes[-1].create_publisher(JointState, topic, 10)
        wait_until(
            lambda: (
                [info.node_name for info in nodes[0].get_publishers_info_by_topic(f"/{topic}")]
                == [name]
            )
        )

    yield nodes[0], speak
    for node in nodes:
        node.destroy_node()


def test_parameters_are_of_all_arms():
    """Unless the scenario says something else of one."""
    facts = DriveFacts(ARMS, VALUES | {"drives_compensate_gravity": True}, ())
    assert facts.compensate_gravity == ("left", "right")
    assert facts.without_commands == {"left": "brake", "right": "brake"}
    assert not facts.any_holds
    assert facts.guard("automatic") == "none"
    arms = with_drives(DriveSettings(False, "hold"), DriveSettings())
    facts = DriveFacts(arms, VALUES | {"drives_compensate_gravity": True}, ())
    assert facts.compensate_gravity == ("right",)
    assert facts.without_commands == {"left": "hold", "right": "brake"}
    assert facts.any_holds
    assert [facts.guard(wish) for wish in ("automatic", "none", "wanted")] == [
        *("required", "none", "wanted")
    ]


def test_a_scenario_may_say_it():
    """And is refused if it says something else than drives do."""
    key = "cell.arms.0.drive"
    read = load_scenario("lift_box", [f"{key}.without_commands=hold"]).cell.arms
    assert [arm.drive.without_commands for arm in read] == ["hold", None]
    read = load_scenario("lift_box", [f"{key}.compensates_gravity=true"]).cell.arms
    assert [arm.drive.compensates_gravity for arm in read] == [True, None]
    for wrong in ("without_commands=holds", "compensates_gravity=3", "compensate_gravity=true"):
        with pytest.raises(Exception, match=wrong.partition("=")[0]):
            load_scenario("lift_box", [f"{key}.{wrong}"])


def test_simulators_need_no_word(speakers):
    """Nor does silence: a start without joint states is refused for that."""
    listener, speak = speakers
    unsaid = DriveFacts(ARMS, VALUES, ())
    assert unsaid.require_known(listener, ["joint_states"])
    speak("simulator", "joint_states")
    assert unsaid.require_known(listener, ["joint_states"])


def test_real_arms_do(speakers):
    """The sentence names the node, and what is missing of which arms."""
    listener, speak = speakers
    speak("left_driver", "left_states")
    said = ["drives_compensate_gravity"]
    with pytest.raises(SafetyError) as caught:
        DriveFacts(ARMS, VALUES, said).require_known(listener, ["left_states"])
    assert str(caught.value) == (
        "start refused: joint states on /left_states come from 'left_driver'; expected the "
        "parameters on_command_timeout, or drive of the arms left, right in the scenario, to say "
        "what the drives of real arms do."
    )
    half = with_drives(DriveSettings(None, "zero"), DriveSettings())
    with pytest.raises(SafetyError, match="or drive of the arms right in the scenario"):
        DriveFacts(half, VALUES, said).require_known(listener, ["left_states"])
    whole = with_drives(DriveSettings(True, "zero"), DriveSettings(False, "hold"))
    assert DriveFacts(whole, VALUES, ()).require_known(listener, ["left_states"])
    assert DriveFacts(ARMS, VALUES, VALUES).require_known(listener, ["left_states"])


def test_a_node_whose_name_is_not_known_yet(speakers, monkeypatch):
    """Discovery takes a moment: nothing is said about it before."""
    listener, speak = speakers
    speak("driver", "states")
    (info,) = listener.get_publishers_info_by_topic("/states")
    info.node_name = "_NODE_NAME_UNKNOWN_"
    monkeypatch.setattr(listener, "get_publishers_info_by_topic", lambda topic: [info])
    assert not DriveFacts(ARMS, VALUES, ()).require_known(listener, ["states"])
