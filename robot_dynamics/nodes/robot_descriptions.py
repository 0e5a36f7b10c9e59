# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the robots of a scenario from topics `robot_description`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from rclpy.node import Node
from std_msgs.msg import String

from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.description.files import locate
from robot_dynamics.description.load import load_description
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.settings import RobotSettings
from robot_dynamics.model.elements import JointElement
from robot_dynamics.nodes.topics import LATCHED, Inbox

PATIENCE_S = 5.0  # longest wait for latched messages
_LARGEST_BYTES = 1 << 26  # largest size of a description


class DifferentRobotError(RobotDynamicsError):
    """A description on a topic of a robot other than the scenario's file."""


def described_by_topics(node: Node, scenario: Scenario, names: Sequence[str]) -> Scenario:
    """Return a scenario with the robots that topics describe.

    Masses, placements and limits come from the topic, for instance of a calibrated arm. If the
    scenario's file exists too, both must have the same links and joints.

    Args:
        node: The node that subscribes.
        scenario: The scenario.
        names: A topic (`std_msgs/String`, latched) for each robot, in the scenario's order; empty
            for a robot that its file describes. Without any topic, files describe all robots.

    Raises:
        ArgumentError: If the number of topics differs from the number of robots.
        DifferentRobotError: If a description is of another robot.
        RobotDynamicsError: If a description is missing or refused.
    """
    if not any(names):
        return scenario
    robots = scenario.cell.robots
    if len(names) != len(robots):
        raise ArgumentError(
            f"parameter 'robot_description_topics' has {len(names)} entries; expected "
            f"{len(robots)}: one for each robot of the scenario, empty for a robot that its file "
            "describes."
        )
    texts = _texts(node, [name for name in names if name])
    found = [
        _described(robot, node.resolve_topic_name(name), texts[name]) if name else robot
        for robot, name in zip(robots, names, strict=True)
    ]
    return replace(scenario, cell=replace(scenario.cell, robots=tuple(found)))


def _texts(node: Node, names: Sequence[str]) -> dict[str, str]:
    """Return the descriptions on topics, by their names."""
    texts: dict[str, str] = {}
    inbox = Inbox(node)

    def take(name: str, message: String) -> None:
        texts[name] = message.data

    for name in dict.fromkeys(names):
        inbox.subscribe(
            String, name, partial(take, name), LATCHED, awaited=True, largest=_LARGEST_BYTES
        )
    until = time.monotonic() + PATIENCE_S
    try:
        while len(texts) < len(set(names)):
            left = until - time.monotonic()
            if left <= 0.0:
                missing = next(name for name in names if name not in texts)
                raise RobotDynamicsError(
                    f"no robot description on {node.resolve_topic_name(missing)} for "
                    f"{PATIENCE_S:g} s; expected one from robot_state_publisher or a driver."
                )
            inbox.wait(left)
            inbox.read()
    finally:
        inbox.clear()
    return texts


def _described(robot: RobotSettings, topic: str, text: str) -> RobotSettings:
    """Return a robot with the description of its topic."""
    if not text.strip():
        raise RobotDynamicsError(
            f"{topic}: the robot description is empty; expected one from robot_state_publisher or "
            "a driver."
        )
    try:
        seen = load_description(text, locked=robot.locked).mechanism
    except RobotDynamicsError as error:
        raise RobotDynamicsError(f"{topic}: {error}") from error
    if locate(robot.urdf).is_file():
        stated = load_description(robot.urdf, locked=robot.locked).mechanism
        _require_same(robot.urdf, topic, stated.joints, seen.joints)
    return replace(robot, urdf=text)


def _require_same(
    file: str, topic: str, stated: Sequence[JointElement], seen: Sequence[JointElement]
) -> None:
    """Refuse joints with other names, types or links."""
    there = {joint.name: joint for joint in seen}
    for joint in stated:
        other = there.pop(joint.name, None)
        if other is None:
            raise DifferentRobotError(
                f"joint {joint.name!r} of {file} is not in the description on {topic}; expected "
                "the same robot on both."
            )
        for what in ("type", "parent", "child"):
            if getattr(joint, what) != getattr(other, what):
                raise DifferentRobotError(
                    f"{what} of joint {joint.name!r} is {getattr(other, what)!r} on {topic} and "
                    f"{getattr(joint, what)!r} in {file}; expected the same robot on both."
                )
    if there:
        raise DifferentRobotError(
            f"joint {next(iter(there))!r} on {topic} is not in {file}; expected the same robot on "
            "both."
        )
