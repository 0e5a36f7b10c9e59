# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two simulated arms that hold an object, their controller, and RViz.

If the simulator or the controller ends, the files that start them end everything: neither is of
use without the other.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.conditions import IfCondition
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
            "namespace", default_value="", description="Namespace of all nodes and their topics."
        ),
        DeclareLaunchArgument(
            "use_rviz",
            default_value="true",
            choices=["true", "false"],
            description="Start robot_state_publisher and RViz.",
        ),
        DeclareLaunchArgument(
            "description_file",
            default_value=PathJoinSubstitution([share, "urdf", "dual_arm.urdf"]),
            description="URDF of the arms in the scenario, for RViz.",
        ),
        DeclareLaunchArgument(
            "rviz_config",
            default_value=PathJoinSubstitution([share, "rviz", "dual_arm.rviz"]),
            description="What RViz shows.",
        ),
    ]

    def included(file: str, *names: str) -> IncludeLaunchDescription:
        return IncludeLaunchDescription(
            PathJoinSubstitution([share, "launch", file]),
            launch_arguments=[(name, LaunchConfiguration(name)) for name in names],
        )

    # `cat` and not a substitution of newer distributions; quoted, for paths with spaces.
    description = Command(["cat '", LaunchConfiguration("description_file"), "'"])
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
    return LaunchDescription(
        [
            *arguments,
            included("simulation.launch.py", "scenario", "mode", "namespace"),
            included("controller.launch.py", "scenario", "mode", "use_sim_time", "namespace"),
            *display,
        ]
    )
