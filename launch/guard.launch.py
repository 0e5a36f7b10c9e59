# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The guard, which supports the arms when the heartbeat of their controller stops.

Start it apart from the controller: what ends a launch ends everything in it. Arguments are those
of the controller, and have to be the same.
"""

from launch import LaunchDescription

from robot_dynamics.nodes.launching import GUARD, declared, our_node, started


def generate_launch_description() -> LaunchDescription:
    """Return the launch description that `ros2 launch` asks for."""
    return LaunchDescription(
        [
            *declared(GUARD, mode="wall_clock", use_sim_time="false"),
            started(lambda context: [our_node(context, "guard", GUARD)]),
        ]
    )
