# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The guard, which supports the arms when the heartbeat of their controller stops.

Start it in a launch of its own: the end of a launch ends all of its nodes. Its arguments must be
the same as the controller's.
"""

from launch import LaunchDescription

from robot_dynamics.nodes.launching import GUARD, declared, launch_description, our_node


def generate_launch_description() -> LaunchDescription:
    """Return the launch description for `ros2 launch`."""
    arguments = declared(GUARD, mode="wall_clock", use_sim_time="false")
    return launch_description(arguments, lambda context: [our_node(context, "guard", GUARD)])
