# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The guard, which supports the arms when the heartbeat of their controller stops.

Start it apart from the controller: what ends a launch ends everything in it. Arguments are those
of the controller, and have to be the same.
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from robot_dynamics.app.robot_folder import node_settings

# Typed, so that a path or a name that looks like a number stays text.
PARAMETERS = {
    "scenario": str,
    "mode": str,
    "drives_compensate_gravity": bool,
    "heartbeat_timeout": float,
    "stale_after": float,
    "realtime_priority": int,
}


def guard(context: LaunchContext) -> list[Node]:
    """Return the node, with the parameters that were given."""
    given = context.launch_configurations
    files, topics = node_settings(given["robot"])
    parameters = {
        name: ParameterValue(LaunchConfiguration(name), value_type=kind)
        for name, kind in PARAMETERS.items()
        if given[name]
    }
    return [
        Node(
            package="robot_dynamics",
            executable="guard",
            namespace=LaunchConfiguration("namespace"),
            parameters=[*files, parameters],
            remappings=topics,
            output="screen",
        )
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the launch description that `ros2 launch` asks for."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "robot",
                default_value="",
                description="Real arms: a name in config/robots, or a folder like those.",
            ),
            DeclareLaunchArgument(
                "scenario",
                default_value="",
                description="A YAML file, or the name of a scenario that the package ships; "
                "empty: that of the robot, else lift_box.",
            ),
            DeclareLaunchArgument(
                "mode",
                default_value="wall_clock",
                choices=["lockstep", "wall_clock"],
                description="The same as that of the controller.",
            ),
            DeclareLaunchArgument(
                "drives_compensate_gravity",
                default_value="",
                choices=["", "true", "false"],
                description="Whether the drives compensate gravity, so that commands exclude it.",
            ),
            DeclareLaunchArgument(
                "heartbeat_timeout",
                default_value="",
                description="Time without a heartbeat after which the guard takes over [s].",
            ),
            DeclareLaunchArgument(
                "stale_after",
                default_value="",
                description="Time without a sample after which an arm counts as lost [s]; "
                "0.0 for what the scenario states.",
            ),
            DeclareLaunchArgument(
                "realtime_priority",
                default_value="",
                description="wall_clock: real-time priority of the process (SCHED_FIFO), "
                "1 to 99, which the system must grant; 0 for none.",
            ),
            DeclareLaunchArgument(
                "namespace", default_value="", description="Namespace of the node and its topics."
            ),
            OpaqueFunction(function=guard),
        ]
    )
