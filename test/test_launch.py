# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Launch files compile everywhere, and mean something where ROS 2's launch is installed.

The package named `launch` on PyPI is unrelated: `launch_ros` tells whether ROS 2's is there.
"""

import runpy
from pathlib import Path

import pytest

LAUNCH = Path(__file__).resolve().parents[1] / "launch"
FILES = sorted(LAUNCH.glob("*.launch.py"))


@pytest.fixture(params=FILES, ids=lambda file: file.name)
def description(request):
    """Return the launch description of each launch file in turn."""
    pytest.importorskip("launch_ros.actions", reason="ROS 2 launch is not installed")
    return runpy.run_path(str(request.param))["generate_launch_description"]()


def test_all_are_there():
    """The launch files of the documentation exist."""
    assert [file.name for file in FILES] == [
        "controller.launch.py",
        "dual_arm.launch.py",
        "guard.launch.py",
        "simulation.launch.py",
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_compiles(file):
    """Each launch file is Python that defines generate_launch_description."""
    assert "generate_launch_description" in compile(file.read_text(), file, "exec").co_names


def test_arguments_are_explained(description):
    """Every argument has a default and a description; booleans and modes list their choices."""
    arguments = {argument.name: argument for argument in description.get_launch_arguments()}
    assert {"scenario", "mode", "namespace", "realtime_priority"} <= arguments.keys()
    for name, argument in arguments.items():
        assert argument.description, name
        assert argument.default_value is not None, name
        if name in ("mode", "use_rviz", "use_sim_time"):
            assert len(argument.choices) == 2, name


def test_includes_pass_arguments_that_exist():
    """dual_arm.launch.py hands on arguments that the files it includes declare."""
    pytest.importorskip("launch_ros.actions", reason="ROS 2 launch is not installed")
    from launch.actions import IncludeLaunchDescription

    def load(name):
        return runpy.run_path(str(LAUNCH / name))["generate_launch_description"]()

    declared = {
        argument.name
        for name in ("simulation.launch.py", "controller.launch.py")
        for argument in load(name).get_launch_arguments()
    }
    included = [
        entity
        for entity in load("dual_arm.launch.py").entities
        if isinstance(entity, IncludeLaunchDescription)
    ]
    assert len(included) == 2
    for include in included:
        assert {name for name, _ in include.launch_arguments} <= declared


@pytest.mark.parametrize("file", FILES[:1] + FILES[2:], ids=lambda file: file.name)
@pytest.mark.parametrize(
    "given", [{}, {"robot": "two_panda", "autostart": "always", "realtime_priority": "50"}]
)
def test_parameters_have_their_types(file, given):
    """What reaches a node is typed as it declares; only what was given, or the robot states."""
    pytest.importorskip("launch_ros.actions", reason="ROS 2 launch is not installed")
    from launch import LaunchContext
    from launch.actions import DeclareLaunchArgument, OpaqueFunction
    from launch_ros.utilities import evaluate_parameters

    context = LaunchContext()
    context.launch_configurations.update(given)
    description = runpy.run_path(str(file))["generate_launch_description"]()
    for entity in description.entities:
        if isinstance(entity, DeclareLaunchArgument):
            entity.visit(context)
    for entity in description.entities:
        if not isinstance(entity, OpaqueFunction):
            continue
        (node,) = entity.visit(context)
        files_and_values = evaluate_parameters(context, node._Node__parameters)
        values = {}
        for found in files_and_values:
            if isinstance(found, dict):
                values |= found
        assert values["mode"] == "wall_clock"
        if "use_sim_time" in values:
            assert values["use_sim_time"] is False
        assert ("scenario" in values) == bool(given)
        if given:
            assert values["scenario"].endswith("two_panda/scenario.yaml")
            assert len(node._Node__remappings) == 4
            assert values["realtime_priority"] == 50
            if file.name == "controller.launch.py":
                assert values["autostart"] == "always"
