# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments and nodes that launch files share.

Empty arguments have the values of the robot's files or of the node. Values are checked before any
node of a file is started, and a wrong value ends the launch in order: launch itself leaves running
processes behind when a launch file raises, and when SIGTERM, SIGHUP or SIGKILL ends it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ament_index_python.packages import PackageNotFoundError
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    OpaqueFunction,
    Shutdown,
)
from launch.events import IncludeLaunchDescription as Inclusion
from launch.events.process import ProcessExited
from launch.launch_context import LaunchContext
from launch.launch_description import LaunchDescription
from launch.logging import get_logger
from launch.substitutions import LaunchConfiguration
from launch.substitutions.substitution_failure import SubstitutionFailure
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import ExecutableInPackage

from robot_dynamics.app.scenarios.robot_folder import node_settings
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError

PACKAGE = "robot_dynamics"
_END_S = 30.0  # time for last commands and a long recording


class LaunchError(RobotDynamicsError):
    """An argument of a launch file with an invalid value, or a node that cannot be started."""


@dataclass(frozen=True)
class Argument:
    """An argument of launch files, and the parameter of the same name.

    Attributes:
        kind: The type of the parameter, so that a path that looks like a number stays text.
        description: Its description, with the unit.
        choices: The valid texts; empty for any.
    """

    kind: type
    description: str
    choices: tuple[str, ...] = ()


_YES_OR_NO = ("true", "false")
ARGUMENTS = {
    "robot": Argument(str, "Real arms: a name in config/robots, or a folder of the same form."),
    "scenario": Argument(
        str,
        "A YAML file, or the name of a scenario of the package; if empty the robot's scenario, "
        "else lift_box.",
    ),
    "allow_code": Argument(
        str, "Code that the scenario can name as control.law, as MODULE:NAME; none if empty."
    ),
    "mode": Argument(
        str,
        "wall_clock: real time, as for real arms; lockstep: simulated time waits for the command "
        "of each step, and runs are repeatable. The same for all nodes.",
        ("lockstep", "wall_clock"),
    ),
    "autostart": Argument(
        str,
        "Modes in which control starts automatically; else call the service ~/start.",
        ("in_lockstep", "always", "never"),
    ),
    "autoconfigure": Argument(
        bool, "Configure at the start; if false a lifecycle manager does.", _YES_OR_NO
    ),
    "drives_compensate_gravity": Argument(
        bool, "Whether the drives compensate gravity, so that commands exclude it.", _YES_OR_NO
    ),
    "on_command_timeout": Argument(
        str,
        "Reaction of the drives without commands; with hold, control needs the guard.",
        ("brake", "zero", "hold"),
    ),
    "command_timeout": Argument(
        float, "Time without commands after which drives and guard react [s]."
    ),
    "guard": Argument(
        str,
        "Whether control needs the guard; automatic: if drives hold.",
        ("automatic", "none", "wanted", "required"),
    ),
    "heartbeat_timeout": Argument(
        float, "Time without a heartbeat after which the guard takes over [s]."
    ),
    "stale_after": Argument(
        float,
        "Time without a sample after which an arm counts as lost [s]; 0.0 for the scenario's "
        "value.",
    ),
    "sample_rate_tolerance": Argument(
        float,
        "wall_clock: fraction of the control rate by which joint states can be slower; with 1.0 "
        "every rate is accepted.",
    ),
    "realtime_priority": Argument(
        int,
        "wall_clock: real-time priority of the processes (SCHED_FIFO), 1 to 99, if the system "
        "grants it; 0 for none.",
    ),
    "faults": Argument(
        str,
        "Faults from the start on: KIND[=VALUE] [ARM or JOINT] [SECONDS], separated by commas.",
    ),
    "output": Argument(str, "File for the recording (.npz, .mcap); none if empty."),
    "use_sim_time": Argument(
        bool, "Take the time from /clock, which the simulator publishes.", _YES_OR_NO
    ),
    "namespace": Argument(str, "Namespace of the nodes and their topics."),
}
_OF_ALL = ("scenario", "mode", "drives_compensate_gravity", "realtime_priority", "autoconfigure")
_OF_DRIVES = ("on_command_timeout", "command_timeout")
SIMULATOR = (*_OF_ALL, *_OF_DRIVES, "faults", "output")
GUARD = (*_OF_ALL, *_OF_DRIVES, "heartbeat_timeout", "stale_after", "use_sim_time")
CONTROLLER = (*GUARD, "autostart", "guard", "sample_rate_tolerance", "output", "allow_code")
# Names that launch itself reads.
_OF_LAUNCH = ("launch-prefix", "launch-prefix-filter", "emulate_tty", "ros_namespace")


def declared(names: Sequence[str], **defaults: str) -> list[DeclareLaunchArgument]:
    """Return declarations of arguments, and of `robot` and `namespace`.

    Args:
        names: Names of the arguments.
        defaults: Default values by name; empty by default.
    """
    found = []
    for name in ("robot", *names, "namespace"):
        argument, default = ARGUMENTS[name], defaults.get(name, "")
        choices = argument.choices if default or not argument.choices else ("", *argument.choices)
        found.append(
            DeclareLaunchArgument(
                name,
                default_value=default,
                description=argument.description,
                choices=list(choices) or None,
            )
        )
    return found


def launch_description(
    arguments: Sequence[DeclareLaunchArgument], create: Callable[[LaunchContext], list[Any]]
) -> LaunchDescription:
    """Return a launch description that creates all nodes, or ends the launch in order.

    Args:
        arguments: Declarations of its arguments.
        create: Returns the nodes.
    """

    def checked(context: LaunchContext) -> list[Any]:
        try:
            _refuse_unknown(context, [argument.name for argument in arguments])
            nodes = create(context)
        except (RobotDynamicsError, PackageNotFoundError, SubstitutionFailure) as error:
            get_logger(PACKAGE).error(str(error))
            _fail(context, "launch refused")
            return [Shutdown(reason=str(error))]
        _end_with_launch(nodes)
        return nodes

    return LaunchDescription([*arguments, OpaqueFunction(function=checked)])


def _fail(context: LaunchContext, reason: str) -> None:
    """Make `ros2 launch` end with status 1; after a Shutdown alone it is 0."""
    if context.asyncio_loop is not None:
        context.asyncio_loop.call_exception_handler({"message": reason})


def _refuse_unknown(context: LaunchContext, known: Collection[str]) -> None:
    """Refuse unknown arguments of the command line, which launch itself ignores.

    A launch file that includes this one can have further arguments, which are not known here.

    Raises:
        UnknownNameError: If this file is the launched one and has no argument of this name.
    """
    scope = context.get_locals_as_dict()
    event, file = scope.get("event"), scope.get("current_launch_file_path")
    if not isinstance(event, Inclusion):
        return
    for launched in event.launch_description.entities:
        if not isinstance(launched, IncludeLaunchDescription):
            continue
        if os.path.abspath(launched.launch_description_source.location) == file:
            for name, _ in launched.launch_arguments:
                if name not in known and name not in _OF_LAUNCH:
                    raise UnknownNameError("argument", name, known, os.path.basename(file))


def _end_with_launch(nodes: Sequence[Node]) -> None:
    """End the nodes in order also if SIGTERM or SIGHUP ends launch, which leaves them running."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(0)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # `nohup` ignores SIGHUP
            signal.signal(number, leave)
    atexit.register(_end_left_nodes, nodes)


def _end_left_nodes(nodes: Sequence[Node]) -> None:
    """End nodes that run on after launch, and wait for them."""
    details = [node.process_details for node in nodes]
    left = [known["pid"] for known in details if known and "pid" in known]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        left = [pid for pid in left if _runs(pid)]
        for pid in left:
            os.kill(pid, number)
        until = time.monotonic() + _END_S
        while any(_runs(pid) for pid in left) and time.monotonic() < until:
            time.sleep(0.05)


def _runs(pid: int) -> bool:
    """Return whether a child of this process runs."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == 0
    except ChildProcessError:  # it has been waited for
        return False


def our_node(context: LaunchContext, executable: str, names: Sequence[str], **more: str) -> Node:
    """Return a node of this package with the given parameters.

    Args:
        context: Holds the arguments.
        executable: The node.
        names: Names of the arguments that are its parameters.
        more: Further parameters.

    Raises:
        LaunchError: If a value has the wrong type.
        RobotDynamicsError: If the robot is unknown, or one of its files is missing or wrong.
    """
    given = context.launch_configurations
    files, topics = node_settings(given["robot"])
    values = {name: parameter(name, given[name]) for name in names if given[name]}
    return required_node(
        context,
        PACKAGE,
        executable,
        parameters=[*files, values, more] if more else [*files, values],
        remappings=topics,
        on_exit=_ended,
    )


def _ended(event: ProcessExited, context: LaunchContext) -> Shutdown | None:
    """End all nodes with this one; launch fails if it has failed."""
    # A node that has just been started can be ended by the signal of a shutdown.
    in_order = context.is_shutdown and -event.returncode in (signal.SIGINT, signal.SIGTERM)
    if event.returncode and not in_order:
        _fail(context, f"{event.process_name} ended with status {event.returncode}")
    return None if context.is_shutdown else Shutdown(reason=f"{event.process_name} ended")


def required_node(context: LaunchContext, package: str, executable: str, **how: Any) -> Node:
    """Return a node after checking that its executable exists.

    Args:
        context: The context of the launch.
        package: The package.
        executable: Its executable.
        how: Further arguments of the node.

    Raises:
        PackageNotFoundError: If the package does not exist.
        SubstitutionFailure: If the package has no such executable.
    """
    ExecutableInPackage(executable, package).perform(context)
    # The system ends nodes when launch is killed.
    prefix = "setpriv --pdeathsig INT -- " if shutil.which("setpriv") else ""
    return Node(
        package=package,
        executable=executable,
        exec_name=executable,
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        prefix=[prefix, LaunchConfiguration("launch-prefix", default="")],
        # Last commands and a long recording take longer than the default timeouts.
        sigterm_timeout=str(_END_S),
        sigkill_timeout=str(_END_S),
        **how,
    )


def parameter(name: str, text: str) -> ParameterValue:
    """Return the value of a parameter, in its type.

    Raises:
        LaunchError: If the text is no value of this type.
    """
    kind = ARGUMENTS[name].kind
    if kind is bool:
        return ParameterValue(text == "true", value_type=bool)
    try:
        return ParameterValue(kind(text), value_type=kind)
    except ValueError as error:
        wanted = "a whole number" if kind is int else "a number"
        raise LaunchError(f"argument {name!r} is {text!r}; expected {wanted}.") from error
