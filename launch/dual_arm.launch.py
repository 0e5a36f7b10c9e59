# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated arms that hold an object, their controller, and RViz.

With `robot:=NAME` the simulator replaces the arms of config/robots/NAME, or of your own folder.
All nodes are checked before the first one starts. If the simulator or the controller ends, all
nodes end: neither is useful without the other.
"""

from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from robot_dynamics.app.scenarios.robot_folder import joint_state_topics, scenario_of
from robot_dynamics.nodes.launching import (
    CONTROLLER,
    PACKAGE,
    SIMULATOR,
    declared,
    launch_description,
    our_node,
    parameter,
    required_node,
)

# Both nodes would write the same file.
_SIMULATOR = [name for name in SIMULATOR if name != "output"]
_CONTROLLER = [name for name in CONTROLLER if name != "output"]


def nodes(context: LaunchContext) -> list[Node]:
    """Return simulator, controller and, if requested, marker, robot_state_publisher and RViz."""
    drag = context.launch_configurations["drag"] == "true"
    follows = {"references": "topics"} if drag else {}
    found = [
        our_node(context, "simulator", _SIMULATOR),
        our_node(context, "controller", _CONTROLLER, **follows),
    ]
    if drag:
        found.append(required_node(context, PACKAGE, "marker"))
    if context.launch_configurations["use_rviz"] == "true":
        found += display(context)
    return found


def display(context: LaunchContext) -> list[Node]:
    """Return RViz, and a robot_state_publisher for each topic of joint states."""
    # Imported here, because it takes seconds on a busy machine.
    from robot_dynamics.app.scenarios.robot_description import robot_description
    from robot_dynamics.app.scenarios.scenario import load_scenario

    given = context.launch_configurations
    sim_time = {"use_sim_time": parameter("use_sim_time", given["use_sim_time"])}
    # One URDF of all robots of the scenario.
    scenario = load_scenario(given["scenario"] or scenario_of(given["robot"]))
    text = robot_description(scenario.cell, scenario.name)
    description: dict[str, Any] = {"robot_description": ParameterValue(text, value_type=str)}
    found = [
        required_node(
            context,
            "robot_state_publisher",
            "robot_state_publisher",
            name=f"robot_state_publisher{i or ''}",
            parameters=[description | sim_time],
            remappings=[("joint_states", topic)],
        )
        for i, topic in enumerate(joint_state_topics(given["robot"]))
    ]
    rviz = ["-d", LaunchConfiguration("rviz_config")]
    return [
        *found,
        required_node(context, "rviz2", "rviz2", arguments=rviz, parameters=[sim_time]),
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the launch description for `ros2 launch`."""
    share = FindPackageShare("robot_dynamics")
    arguments = [
        *declared(
            tuple(dict.fromkeys((*_SIMULATOR, *_CONTROLLER))),
            mode="wall_clock",
            use_sim_time="true",
            autostart="always",
            # No arms are in danger, and a desktop with RViz can stutter.
            stale_after="0.1",
            # Without a guard, which is only needed by drives that hold the last torque.
            on_command_timeout="brake",
            guard="automatic",
        ),
        DeclareLaunchArgument(
            "use_rviz",
            default_value="true",
            choices=["true", "false"],
            description="Start robot_state_publisher and RViz.",
        ),
        DeclareLaunchArgument(
            "drag",
            default_value="false",
            choices=["true", "false"],
            description="Drag the object by an interactive marker in RViz; the first drag "
            "ends the reference of the scenario.",
        ),
        DeclareLaunchArgument(
            "rviz_config",
            default_value=PathJoinSubstitution([share, "rviz", "dual_arm.rviz"]),
            description="Configuration of RViz.",
        ),
    ]
    return launch_description(arguments, nodes)
