# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The simulator: arms that hold an object, with the topics of a real robot.

`robot:=NAME` replaces the real arms of config/robots/NAME, or of your own folder: on their
topics, with drives that react as their files state.
"""

from launch import LaunchDescription

from robot_dynamics.nodes.launching import SIMULATOR, declared, launch_description, our_node


def generate_launch_description() -> LaunchDescription:
    """Return the launch description for `ros2 launch`."""
    arguments = declared(SIMULATOR, mode="wall_clock")
    return launch_description(
        arguments, lambda context: [our_node(context, "simulator", SIMULATOR)]
    )
