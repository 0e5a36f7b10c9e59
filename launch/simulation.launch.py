# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The simulator: arms that hold an object, on the topics a real robot would have."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, Shutdown
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
                description="lockstep waits for the command of each step and is repeatable; "
                "wall_clock runs in real time.",
            ),
            DeclareLaunchArgument(
                "namespace", default_value="", description="Namespace of the node and its topics."
            ),
            Node(
                package="robot_dynamics",
                executable="simulator",
                namespace=LaunchConfiguration("namespace"),
                parameters=[
                    {
                        # Typed, so that a path or a name that looks like a number stays text.
                        "scenario": ParameterValue(
                            LaunchConfiguration("scenario"), value_type=str
                        ),
                        "mode": ParameterValue(LaunchConfiguration("mode"), value_type=str),
                    }
                ],
                output="screen",
                # Whoever started this with other nodes must not be left with half of them.
                on_exit=Shutdown(reason="the simulator ended"),
            ),
        ]
    )
