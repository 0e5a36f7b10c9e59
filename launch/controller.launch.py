# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller, for the simulator or for real arms that listen to torque commands."""

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
                description="wall_clock for real arms; lockstep with a simulator in lockstep.",
            ),
            DeclareLaunchArgument(
                "autostart",
                default_value="in_lockstep",
                choices=["in_lockstep", "always", "never"],
                description="When control starts by itself; otherwise call the service ~/start.",
            ),
            DeclareLaunchArgument(
                "stale_after",
                default_value="0.0",
                description="Time without a sample after which an arm counts as lost [s]; "
                "0.0 for what the scenario states.",
            ),
            DeclareLaunchArgument(
                "on_command_timeout",
                default_value="brake",
                choices=["brake", "zero", "hold"],
                description="What the arms' drives do without commands; with hold, control needs "
                "the guard.",
            ),
            DeclareLaunchArgument(
                "guard",
                default_value="automatic",
                choices=["automatic", "none", "wanted", "required"],
                description="Whether control needs the guard; automatic: where drives hold.",
            ),
            DeclareLaunchArgument(
                "heartbeat_timeout",
                default_value="0.1",
                description="Time without a heartbeat after which the guard takes over [s].",
            ),
            DeclareLaunchArgument(
                "use_sim_time",
                default_value="false",
                choices=["true", "false"],
                description="Take the time from /clock, which the simulator publishes.",
            ),
            DeclareLaunchArgument(
                "namespace", default_value="", description="Namespace of the node and its topics."
            ),
            Node(
                package="robot_dynamics",
                executable="controller",
                namespace=LaunchConfiguration("namespace"),
                parameters=[
                    {
                        # Typed, so that a path or a name that looks like a number stays text.
                        "scenario": ParameterValue(
                            LaunchConfiguration("scenario"), value_type=str
                        ),
                        "mode": ParameterValue(LaunchConfiguration("mode"), value_type=str),
                        "autostart": ParameterValue(
                            LaunchConfiguration("autostart"), value_type=str
                        ),
                        "on_command_timeout": ParameterValue(
                            LaunchConfiguration("on_command_timeout"), value_type=str
                        ),
                        "guard": ParameterValue(LaunchConfiguration("guard"), value_type=str),
                        "heartbeat_timeout": ParameterValue(
                            LaunchConfiguration("heartbeat_timeout"), value_type=float
                        ),
                        "stale_after": ParameterValue(
                            LaunchConfiguration("stale_after"), value_type=float
                        ),
                        "use_sim_time": ParameterValue(
                            LaunchConfiguration("use_sim_time"), value_type=bool
                        ),
                    }
                ],
                output="screen",
                # Whoever started this with other nodes must not be left with half of them.
                on_exit=Shutdown(reason="the controller ended"),
            ),
        ]
    )
