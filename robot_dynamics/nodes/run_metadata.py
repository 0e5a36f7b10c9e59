# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the numbers of a run mean, on a topic: a bag of all topics can be read on its own."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rclpy.node import Node
from std_msgs.msg import String

from robot_dynamics.app.recorders import common_metadata, reference_metadata
from robot_dynamics.app.recording import FORMAT
from robot_dynamics.app.scenario import Scenario
from robot_dynamics.nodes import topics
from robot_dynamics.nodes.control_loop import ControlLoop


class RunMetadata:
    """Publishes the metadata of a run whenever one begins; latched.

    Args:
        node: The node that publishes.
        scenario: Its scenario.
        loop: The controller.
        joint_state_topics: Where joint states come from.
    """

    def __init__(
        self, node: Node, scenario: Scenario, loop: ControlLoop, joint_state_topics: Sequence[str]
    ) -> None:
        self.publisher = node.create_publisher(String, topics.RUN_METADATA, topics.LATCHED)
        self._scenario, self._loop = scenario, loop
        self._began: int | None = None
        arms = [arm.name for arm in loop.system.arms]
        names = [
            *(topics.OBJECT_ODOMETRY, topics.OBJECT_REFERENCE),
            *(topics.INTERNAL_FORCE, topics.INTERNAL_FORCE_REFERENCE),
            *(topics.commands(arm) for arm in arms),
            *(topics.wrench(arm) for arm in arms),
        ]
        # Under their names after namespaces and remapping.
        resolved = {name: [node.resolve_topic_name(name)] for name in names}
        resolved[topics.JOINT_STATES] = [*map(node.resolve_topic_name, joint_state_topics)]
        # Writing the scenario down takes longer than a control period.
        self._common = {
            "format": FORMAT,
            "topics": resolved,
            **common_metadata(scenario, loop.system),
        }

    def look(self) -> None:
        """Publish if a run has begun since the last call."""
        began = self._loop.began
        if began is None or began == self._began:
            return
        self._began = began
        law = self._loop.supervised.controller
        end = law.reference.duration + self._scenario.acceptance.settle_s
        own = reference_metadata(self._scenario, law, self._scenario.start_tick + began, end)
        self.publisher.publish(String(data=json.dumps({**self._common, **own})))
