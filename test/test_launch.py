# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Launch files compile everywhere, and mean something where ROS 2's launch is installed.

The package named `launch` on PyPI is unrelated: `launch_ros` tells whether ROS 2's is there.
"""

import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

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


def started(file, given):
    """Return the actions that a launch file starts with some arguments."""
    from launch import LaunchContext
    from launch.actions import DeclareLaunchArgument, OpaqueFunction

    context = LaunchContext()
    context.launch_configurations.update(given)
    description = runpy.run_path(str(LAUNCH / file))["generate_launch_description"]()
    for entity in description.entities:
        if isinstance(entity, DeclareLaunchArgument):
            entity.visit(context)
    (function,) = (e for e in description.entities if isinstance(e, OpaqueFunction))
    return context, function.visit(context)


@pytest.fixture
def installed(monkeypatch):
    """Have all executables, as after `colcon build` and with RViz."""
    pytest.importorskip("launch_ros.actions", reason="ROS 2 launch is not installed")
    from robot_dynamics.nodes import launching

    missing = set()

    class Executable:
        def __init__(self, executable, package):
            self.package = package

        def perform(self, context):
            if self.package in missing:
                raise launching.PackageNotFoundError(self.package)
            return "path"

    monkeypatch.setattr(launching, "ExecutableInPackage", Executable)
    return missing


def parameters_of(context, node):
    """Return the parameters that a node gets, those of files apart."""
    from launch_ros.utilities import evaluate_parameters

    values = {}
    for found in evaluate_parameters(context, node._Node__parameters):
        if isinstance(found, dict):
            values |= found
    return values


@pytest.mark.parametrize("file", FILES[:1] + FILES[2:], ids=lambda file: file.name)
@pytest.mark.parametrize(
    "given",
    [
        {},
        {
            "robot": "two_panda",
            "autostart": "always",
            "realtime_priority": "50",
            "command_timeout": "0.2",
        },
    ],
)
def test_parameters_have_their_types(installed, file, given):
    """Parameters have the nodes' types; only given ones, or stated by the robot, are passed."""
    context, (node,) = started(file.name, given)
    values = parameters_of(context, node)
    assert values["mode"] == "wall_clock"
    if "use_sim_time" in values:
        assert values["use_sim_time"] is False
    assert ("scenario" in values) == bool(given)
    if given:
        assert values["scenario"].endswith("two_panda/scenario.yaml")
        assert len(node._Node__remappings) == 4
        assert values["realtime_priority"] == 50
        assert values["command_timeout"] == 0.2
        if file.name == "controller.launch.py":
            assert values["autostart"] == "always"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
@pytest.mark.parametrize(
    "given", [{"command_timeout": "soon"}, {"realtime_priority": "1.5"}, {"robot": "nobody"}]
)
def test_a_wrong_argument_ends_the_launch_in_order(installed, file, given):
    """No node of the file is started, and those that run are shut down."""
    from launch.actions import Shutdown

    _, actions = started(file.name, given)
    assert [type(action) for action in actions] == [Shutdown]


def test_a_refused_launch_ends_with_status_1(installed):
    """As the service of launch reports it, and `ros2 launch` with it."""
    from launch import LaunchDescription, LaunchService
    from launch.actions import DeclareLaunchArgument, SetLaunchConfiguration

    file = runpy.run_path(str(LAUNCH / "simulation.launch.py"))
    entities = file["generate_launch_description"]().entities
    declared = [one for one in entities if isinstance(one, DeclareLaunchArgument)]
    wrong = SetLaunchConfiguration("command_timeout", "soon")
    others = [one for one in entities if one not in declared]
    service = LaunchService()
    service.include_launch_description(LaunchDescription([*declared, wrong, *others]))
    assert service.run() == 1


def test_a_missing_package_ends_the_launch_in_order(installed):
    """RViz that is not there is noticed before simulator and controller start."""
    from launch.actions import Shutdown

    installed.add("rviz2")
    _, actions = started("dual_arm.launch.py", {})
    assert [type(action) for action in actions] == [Shutdown]
    _, actions = started("dual_arm.launch.py", {"use_rviz": "false"})
    assert len(actions) == 2


def test_dual_arm_runs_the_robot_that_was_given(installed):
    """Its scenario and topics for both nodes, and its displays."""
    given = {"robot": "two_ur5", "command_timeout": "0.1"}
    context, (simulator, controller, *display) = started("dual_arm.launch.py", given)
    for node in (simulator, controller):
        values = parameters_of(context, node)
        assert values["scenario"].endswith("two_ur5/scenario.yaml")
        assert values["command_timeout"] == 0.1
        assert values["on_command_timeout"] == "brake"
        assert len(node._Node__remappings) == 6
    *publishers, rviz = display
    assert len(publishers) == 2  # one for each topic of joint states
    for publisher in publishers:
        assert "left_shoulder_pan_joint" in parameters_of(context, publisher)["robot_description"]
    assert rviz._Node__package == "rviz2"


def test_arguments_are_parameters_of_the_nodes():
    """In their types; those of launch alone are the robot's folder and the namespace."""
    pytest.importorskip("launch_ros.actions", reason="ROS 2 launch is not installed")
    from robot_dynamics.nodes import launching, parameters

    entries = (*parameters.SIMULATOR, *parameters.CONTROLLER, *parameters.GUARD)
    kinds = {entry.name: type(entry.default) for entry in entries} | {"use_sim_time": bool}
    for name, argument in launching.ARGUMENTS.items():
        if name not in ("robot", "namespace"):
            assert argument.kind is kinds[name] or (argument.kind, kinds[name]) == (int, float)
    assert "sample_rate_tolerance" in launching.CONTROLLER


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_unknown_arguments_of_the_command_line_are_refused(file, caplog):
    """With the nearest name; `ros2 launch` ignores them, and a run would be another one."""
    pytest.importorskip("launch_ros.actions", reason="ROS 2 launch is not installed")
    from launch import LaunchDescription, LaunchService
    from launch.actions import IncludeLaunchDescription
    from launch.launch_description_sources import AnyLaunchDescriptionSource

    # As `ros2 launch` does.
    source = AnyLaunchDescriptionSource(str(file))
    include = IncludeLaunchDescription(source, launch_arguments=[("scenaro", "wipe")])
    service = LaunchService(argv=["scenaro:=wipe"])
    service.include_launch_description(LaunchDescription([include]))
    assert service.run() == 1
    said = f"{file.name}: unknown argument 'scenaro'; did you mean 'scenario'?"
    assert said in caplog.messages


def test_arguments_of_a_file_that_includes_ours_are_its_own(tmp_path):
    """Those of the command line that it has declared itself, and the names that launch reads."""
    pytest.importorskip("launch_ros.actions", reason="ROS 2 launch is not installed")
    from launch import LaunchContext, LaunchDescription, events
    from launch.actions import IncludeLaunchDescription
    from launch.launch_description_sources import AnyLaunchDescriptionSource

    from robot_dynamics.nodes import launching

    launched = tmp_path / "cell.launch.py"
    launched.write_text(
        "from launch import LaunchDescription\n"
        "def generate_launch_description(): return LaunchDescription()\n"
    )

    def refuse(name, file):
        source, context = AnyLaunchDescriptionSource(str(launched)), LaunchContext()
        source.get_launch_description(context)
        include = IncludeLaunchDescription(source, launch_arguments=[(name, "1")])
        event = events.IncludeLaunchDescription(LaunchDescription([include]))
        context.extend_locals({"event": event, "current_launch_file_path": str(file)})
        launching._refuse_unknown(context, ["scenario"])

    refuse("gripper", LAUNCH / "guard.launch.py")
    refuse("scenario", launched)
    refuse("launch-prefix", launched)
    with pytest.raises(launching.UnknownNameError):
        refuse("gripper", launched)


@pytest.mark.parametrize(
    ("status", "ending", "failed"),
    [
        (0, False, False),
        (2, False, True),
        (-signal.SIGKILL, False, True),
        (-signal.SIGINT, False, True),
        (-signal.SIGINT, True, False),  # ended while it started
        (1, True, True),  # a recording could not be written
        (-signal.SIGKILL, True, True),  # launch lost patience
    ],
)
def test_launch_fails_if_a_node_fails(status, ending, failed):
    """The end of one node ends all, with status 1 if it was an error."""
    pytest.importorskip("launch_ros.actions", reason="ROS 2 launch is not installed")
    from robot_dynamics.nodes import launching

    told = []
    loop = SimpleNamespace(call_exception_handler=told.append)
    context = SimpleNamespace(is_shutdown=ending, asyncio_loop=loop)
    event = SimpleNamespace(returncode=status, process_name="controller-2")
    assert (launching._ended(event, context) is None) == ending
    assert bool(told) == failed


def test_nodes_end_with_a_launch_that_a_signal_ends(installed, monkeypatch):
    """In order, by SIGINT, and it waits for them; others are left alone."""
    from robot_dynamics.nodes import launching

    _, (node,) = started("guard.launch.py", {})
    assert "--pdeathsig INT" in node.process_description.prefix[0].text  # where launch is killed
    endless = "import signal, time\nprint(flush=True)\n"
    obedient = f"{endless}try: time.sleep(60)\nexcept KeyboardInterrupt: time.sleep(0.2)\n"
    stubborn = f"{endless}for n in (2, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(60)\n"
    monkeypatch.setattr(launching, "_END_S", 0.5)
    processes = [
        subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE)
        for text in (obedient, stubborn)
    ]
    for process in processes:
        process.stdout.readline()
    details = [{"pid": process.pid} for process in processes]
    launching._end_left_nodes(
        [SimpleNamespace(process_details=one) for one in (*details, None, {"pid": os.getppid()})]
    )
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)
        process.stdout.close()
