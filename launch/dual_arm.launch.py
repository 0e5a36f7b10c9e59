# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two simulated arms that hold an object, their controller, and RViz.

If the simulator or the controller ends, the files that start them end everything: neither is of
use without the other.
"""

import sys

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import Command, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def generate_launch_description() -> LaunchDescription:
    """Return the launch description that `ros2 launch` asks for."""
    share = FindPackageShare("robot_dynamics")
    namespace = LaunchConfiguration("namespace")
    use_sim_time = ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)
    arguments = [
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
            "use_sim_time",
            default_value="true",
            choices=["true", "false"],
            description="Take the time from /clock, which the simulator publishes.",
        ),
        DeclareLaunchArgument(
            "autostart",
            default_value="always",
            choices=["in_lockstep", "always", "never"],
            description="When control starts automatically; otherwise call the service ~/start.",
        ),
        DeclareLaunchArgument(
            "stale_after",
            # Nothing here is in danger, and a desktop with RViz may stutter.
            default_value="0.1",
            description="Time without a sample after which an arm counts as lost [s]; "
            "0.0 for what the scenario states.",
        ),
        DeclareLaunchArgument(
            "drives_compensate_gravity",
            default_value="false",
            choices=["true", "false"],
            description="Whether the drives compensate gravity, so that commands exclude it.",
        ),
        DeclareLaunchArgument(
            "on_command_timeout",
            default_value="brake",
            choices=["brake", "zero", "hold"],
            description="Reaction of the drives without commands; with hold, start the guard too.",
        ),
        DeclareLaunchArgument(
            "realtime_priority",
            default_value="0",
            description="wall_clock: real-time priority of the processes of both nodes "
            "(SCHED_FIFO), 1 to 99, which the system must grant; 0 for none.",
        ),
        DeclareLaunchArgument(
            "namespace", default_value="", description="Namespace of all nodes and their topics."
        ),
        DeclareLaunchArgument(
            "use_rviz",
            default_value="true",
            choices=["true", "false"],
            description="Start robot_state_publisher and RViz.",
        ),
        DeclareLaunchArgument(
            "rviz_config",
            default_value=PathJoinSubstitution([share, "rviz", "dual_arm.rviz"]),
            description="Configuration of RViz.",
        ),
    ]

    def included(file: str, *names: str) -> IncludeLaunchDescription:
        return IncludeLaunchDescription(
            PythonLaunchDescriptionSource(PathJoinSubstitution([share, "launch", file])),
            launch_arguments=[(name, LaunchConfiguration(name)) for name in names],
        )

    # One URDF of all robots of the scenario; quoted, for paths with spaces.
    module = "robot_dynamics.app.robot_description"
    description = Command(
        [f"'{sys.executable}' -m {module} '", LaunchConfiguration("scenario"), "'"],
        on_stderr="warn",
    )
    display = [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            namespace=namespace,
            parameters=[
                {
                    "robot_description": ParameterValue(description, value_type=str),
                    "use_sim_time": use_sim_time,
                }
            ],
            condition=IfCondition(LaunchConfiguration("use_rviz")),
        ),
        Node(
            package="rviz2",
            executable="rviz2",
            namespace=namespace,
            arguments=["-d", LaunchConfiguration("rviz_config")],
            parameters=[{"use_sim_time": use_sim_time}],
            condition=IfCondition(LaunchConfiguration("use_rviz")),
        ),
    ]
    of_both = (
        *("scenario", "mode", "drives_compensate_gravity", "on_command_timeout"),
        *("realtime_priority", "namespace"),
    )
    return LaunchDescription(
        [
            *arguments,
            included("simulation.launch.py", *of_both),
            included("controller.launch.py", *of_both, "autostart", "stale_after", "use_sim_time"),
            *display,
        ]
    )
