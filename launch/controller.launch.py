# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller, for the simulator or for real arms with torque commands.

`robot:=NAME` takes scenario, facts and topics of real arms from config/robots/NAME, or from a
folder of one's own. Arguments that are left empty are as these files or the node have them.
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
    "autostart": str,
    "autoconfigure": bool,
    "drives_compensate_gravity": bool,
    "on_command_timeout": str,
    "guard": str,
    "heartbeat_timeout": float,
    "stale_after": float,
    "realtime_priority": int,
    "output": str,
    "use_sim_time": bool,
}


def controller(context: LaunchContext) -> list[Node]:
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
            executable="controller",
            namespace=LaunchConfiguration("namespace"),
            parameters=[*files, parameters],
            remappings=topics,
            output="screen",
            # Whoever started this with other nodes must not be left with half of them.
            on_exit=Shutdown(reason="the controller ended"),
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
                description="wall_clock for real arms; lockstep with a simulator in lockstep.",
            ),
            DeclareLaunchArgument(
                "autostart",
                default_value="",
                choices=["", "in_lockstep", "always", "never"],
                description="When control starts automatically; otherwise call service ~/start.",
            ),
            DeclareLaunchArgument(
                "autoconfigure",
                default_value="",
                choices=["", "true", "false"],
                description="Configure at the start; false leaves it to a lifecycle manager.",
            ),
            DeclareLaunchArgument(
                "stale_after",
                default_value="",
                description="Time without a sample after which an arm counts as lost [s]; "
                "0.0 for what the scenario states.",
            ),
            DeclareLaunchArgument(
                "drives_compensate_gravity",
                default_value="",
                choices=["", "true", "false"],
                description="Whether the drives compensate gravity, so that commands exclude it.",
            ),
            DeclareLaunchArgument(
                "on_command_timeout",
                default_value="",
                choices=["", "brake", "zero", "hold"],
                description="Reaction of the drives without commands; with hold, control needs "
                "the guard.",
            ),
            DeclareLaunchArgument(
                "guard",
                default_value="",
                choices=["", "automatic", "none", "wanted", "required"],
                description="Whether control needs the guard; automatic: where drives hold.",
            ),
            DeclareLaunchArgument(
                "heartbeat_timeout",
                default_value="",
                description="Time without a heartbeat after which the guard takes over [s].",
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
                "use_sim_time",
                default_value="false",
                choices=["true", "false"],
                description="Take the time from /clock, which the simulator publishes.",
            ),
            DeclareLaunchArgument(
                "namespace", default_value="", description="Namespace of the node and its topics."
            ),
            OpaqueFunction(function=controller),
        ]
    )
