# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The guard, which holds the arms up when the heartbeat of their controller stops.

Start it apart from the controller: what ends a launch ends everything in it.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue


def generate_launch_description() -> LaunchDescription:
    """Return the launch description that `ros2 launch` asks for."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "scenario",
                default_value="lift_box",
                description="A YAML file, or the name of a scenario that the package ships.",
            ),
            DeclareLaunchArgument(
                "mode",
                default_value="wall_clock",
                choices=["lockstep", "wall_clock"],
                description="That of the controller.",
            ),
            DeclareLaunchArgument(
                "heartbeat_timeout",
                default_value="0.1",
                description="Time without a heartbeat after which the guard takes over [s].",
            ),
            DeclareLaunchArgument(
                "stale_after",
                default_value="0.0",
                description="Time without a sample after which an arm counts as lost [s]; "
                "0.0 for what the scenario states.",
            ),
            DeclareLaunchArgument(
                "namespace", default_value="", description="Namespace of the node and its topics."
            ),
            Node(
                package="robot_dynamics",
                executable="guard",
                namespace=LaunchConfiguration("namespace"),
                parameters=[
                    {
                        # Typed, so that a path or a name that looks like a number stays text.
                        "scenario": ParameterValue(
                            LaunchConfiguration("scenario"), value_type=str
                        ),
                        "mode": ParameterValue(LaunchConfiguration("mode"), value_type=str),
                        "heartbeat_timeout": ParameterValue(
                            LaunchConfiguration("heartbeat_timeout"), value_type=float
                        ),
                        "stale_after": ParameterValue(
                            LaunchConfiguration("stale_after"), value_type=float
                        ),
                    }
                ],
                output="screen",
            ),
        ]
    )
