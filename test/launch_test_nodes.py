# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulator and controller by their launch files, for a machine with ROS 2.

    launch_test src/robot_dynamics/test/launch_test_nodes.py

`pytest` does not collect it, because `launch_testing` is not on PyPI.
"""

import time
import unittest

import launch
import launch_testing.actions
import launch_testing.asserts
import rclpy
from ament_index_python.packages import get_package_share_path
from diagnostic_msgs.msg import DiagnosticArray
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

PATIENCE_S = 240.0  # the first run compiles


def generate_test_description():
    """Return the nodes of `lift_box` in lockstep, which end when they are interrupted."""
    folder = get_package_share_path("robot_dynamics") / "launch"
    files = [
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(folder / f"{name}.launch.py")),
            launch_arguments={"mode": "lockstep", "autostart": "in_lockstep"}.items(),
        )
        for name in ("simulation", "controller")
    ]
    return launch.LaunchDescription([*files, launch_testing.actions.ReadyToTest()])


class TestRun(unittest.TestCase):
    """While the nodes run."""

    def test_control_becomes_active(self, proc_output):
        """By the diagnostics of the controller."""
        rclpy.init()
        node, said = rclpy.create_node("witness"), set()

        def hear(message):
            said.update(one.message for one in message.status if "controller" in one.name)

        try:
            node.create_subscription(DiagnosticArray, "/diagnostics", hear, 10)
            until = time.monotonic() + PATIENCE_S
            while "active" not in said and time.monotonic() < until:
                rclpy.spin_once(node, timeout_sec=0.1)
            assert "active" in said
        finally:
            node.destroy_node()
            rclpy.shutdown()


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After the nodes have been interrupted."""

    def test_nodes_end_in_order(self, proc_info):
        """With status 0."""
        launch_testing.asserts.assertExitCodes(proc_info)
