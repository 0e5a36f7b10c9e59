# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Robots are those that topics describe, and refused where they are other robots."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from std_msgs.msg import String
from waiting import PATIENCE_S

from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.nodes import robot_descriptions
from robot_dynamics.nodes.robot_descriptions import DifferentRobotError, described_by_topics
from robot_dynamics.nodes.topics import LATCHED

SCENARIO = load_scenario("lift_box")
TEXT = (Path(__file__).parents[2] / "urdf" / "dual_arm.urdf").read_text(encoding="utf-8")
TOPIC = "arms/robot_description"


@pytest.fixture
def world(ros, monkeypatch):
    """Return a listening node, and a function that lets somebody describe robots."""
    monkeypatch.setattr(robot_descriptions, "PATIENCE_S", PATIENCE_S)
    listener, speaker = ros.create_node("listener"), ros.create_node("state_publisher")

    def describe(text):
        publisher = speaker.create_publisher(String, TOPIC, LATCHED)
        publisher.publish(String(data=text))

    yield listener, describe
    listener.destroy_node()
    speaker.destroy_node()


def test_files_are_left_alone_without_topics(world):
    """Nobody is waited for."""
    assert described_by_topics(world[0], SCENARIO, [""]) is SCENARIO
    assert described_by_topics(world[0], SCENARIO, []) is SCENARIO


def test_the_same_robot_from_a_topic(world):
    """To the last bit."""
    listener, describe = world
    describe(TEXT)
    expected = build_system(SCENARIO)
    system = build_system(described_by_topics(listener, SCENARIO, [TOPIC]))
    assert system.joint_names == expected.joint_names
    assert np.array_equal(system.limits["effort"], expected.limits["effort"])
    for one, other in zip(system.model.bodies, expected.model.bodies, strict=True):
        assert one.inertia.mass == other.inertia.mass
    two = replace(SCENARIO.cell, robots=SCENARIO.cell.robots * 2)
    cell = described_by_topics(listener, replace(SCENARIO, cell=two), ["", TOPIC]).cell
    assert [robot.urdf for robot in cell.robots] == [SCENARIO.cell.robots[0].urdf, TEXT]


def test_numbers_are_those_of_the_topic(world):
    """As of an arm that was calibrated, or whose limits its owner has lowered."""
    listener, describe = world
    before = build_system(SCENARIO).limits["effort"]
    largest = f'effort="{before.max():g}"'
    assert largest in TEXT
    describe(TEXT.replace(largest, 'effort="33"'))
    system = build_system(described_by_topics(listener, SCENARIO, [TOPIC]))
    assert (system.limits["effort"] == np.where(before == before.max(), 33.0, before)).all()


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("left_joint4", "left_joint44", "joint 'left_joint4' of .* is not in the description on"),
        ('"left_link4"', '"left_fore"', "of joint 'left_joint[45]' is 'left_fore' on /arms/robot"),
        ("</robot>", "", "/arms/robot_description: "),
    ],
)
def test_another_robot_is_refused(world, before, after, words):
    """With the topic and the difference."""
    listener, describe = world
    describe(TEXT.replace(before, after))
    with pytest.raises(RobotDynamicsError, match=words) as caught:
        described_by_topics(listener, SCENARIO, [TOPIC])
    assert isinstance(caught.value, DifferentRobotError) == ("</robot>" not in before)


def test_an_empty_description(world):
    """It is no place of a file."""
    listener, describe = world
    describe(" ")
    with pytest.raises(
        RobotDynamicsError, match=f"^/{TOPIC}: the robot description is empty; expected"
    ):
        described_by_topics(listener, SCENARIO, [TOPIC])


def test_a_topic_without_a_message(world, monkeypatch):
    """It is waited for, and named."""
    monkeypatch.setattr(robot_descriptions, "PATIENCE_S", 0.2)
    with pytest.raises(RobotDynamicsError, match="no robot description on /arms/robot_desc"):
        described_by_topics(world[0], SCENARIO, [TOPIC])


def test_a_topic_for_each_robot(world):
    """Nothing is guessed."""
    with pytest.raises(
        ArgumentError, match="'robot_description_topics' has 2 entries; expected 1"
    ):
        described_by_topics(world[0], SCENARIO, [TOPIC, TOPIC])
