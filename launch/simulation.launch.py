# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The simulator: arms that hold an object, with the topics of a real robot.

`robot:=NAME` replaces the real arms of config/robots/NAME, or of a folder of one's own: on
their topics, with drives that do what their files state. Arguments that are left empty are as
these files or the node have them.
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from robot_dynamics.app.robot_folder import node_settings

# Typed, so that a path or a name that looks like a number stays text.
PARAMETERS = {
    "scenario": str,
    "mode": str,
    "drives_compensate_gravity": bool,
    "on_command_timeout": str,
    "command_timeout": float,
    "realtime_priority": int,
    "faults": str,
    "output": str,
}


def simulator(context: LaunchContext) -> list[Node]:
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
            executable="simulator",
            namespace=LaunchConfiguration("namespace"),
            parameters=[*files, parameters],
            remappings=topics,
            output="screen",
            # Whoever started this with other nodes must not be left with half of them.
            on_exit=Shutdown(reason="the simulator ended"),
            # Last commands and a long recording take longer than launch grants by itself.
            sigterm_timeout="30",
            sigkill_timeout="30",
        )
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the launch description that `ros2 launch` asks for."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "robot",
                default_value="",
                description="Real arms to replace: a name in config/robots, or a folder.",
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
                description="lockstep waits for the command of each step and is repeatable; "
                "wall_clock runs in real time.",
            ),
            DeclareLaunchArgument(
                "drives_compensate_gravity",
                default_value="",
                choices=["", "true", "false"],
                description="Whether the drives compensate gravity themselves.",
            ),
            DeclareLaunchArgument(
                "on_command_timeout",
                default_value="",
                choices=["", "brake", "zero", "hold"],
                description="Reaction of the drives without commands.",
            ),
            DeclareLaunchArgument(
                "command_timeout",
                default_value="",
                description="Time without commands until the drives react [s].",
            ),
            DeclareLaunchArgument(
                "faults",
                default_value="",
                description="Faults from the start on: KIND [ARM] [SECONDS], with commas between.",
            ),
            DeclareLaunchArgument(
                "realtime_priority",
                default_value="",
                description="wall_clock: real-time priority of the process (SCHED_FIFO), "
                "1 to 99, which the system must grant; 0 for none.",
            ),
            DeclareLaunchArgument(
                "output",
                default_value="",
                description="File for the recording (.npz, .mcap); none if empty.",
            ),
            DeclareLaunchArgument(
                "namespace", default_value="", description="Namespace of the node and its topics."
            ),
            OpaqueFunction(function=simulator),
        ]
    )
