# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller, for the simulator or for real arms with torque commands.

`robot:=NAME` takes scenario, parameters and topics of real arms from config/robots/NAME, or from
your own folder.
"""

from launch import LaunchDescription

from robot_dynamics.nodes.launching import CONTROLLER, declared, launch_description, our_node


def generate_launch_description() -> LaunchDescription:
    """Return the launch description for `ros2 launch`."""
    arguments = declared(CONTROLLER, mode="wall_clock", use_sim_time="false")
    return launch_description(
        arguments, lambda context: [our_node(context, "controller", CONTROLLER)]
    )
