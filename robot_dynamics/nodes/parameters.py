# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the nodes: declarations and checks."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidTopicNameException
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.validate_full_topic_name import validate_full_topic_name

from robot_dynamics.errors import RobotDynamicsError, UnknownNameError


class ParameterError(RobotDynamicsError):
    """A parameter with an invalid value.

    Attributes:
        name: The parameter.
    """

    def __init__(self, name: str, value: Any, expected: str) -> None:
        self.name = name
        what = "empty" if value is None else repr(value)  # ROS makes None of an empty list
        super().__init__(f"parameter {name!r} is {what}; expected {expected}.")


@dataclass(frozen=True)
class Entry:
    """Declaration of a parameter, read at the start, by a lifecycle node in `configure`.

    Attributes:
        name: Its name.
        default: Its default, which determines its type: bool, float, str, a list of str or a tuple
            of floats. Integers are accepted as floats.
        description: Its description, with the unit.
        choices: The valid texts; empty for any.
        minimum: The least value of a number, or of each number.
        maximum: The largest value of a number, or of each number.
        changeable: Whether it can be set while the node runs.
        fixed: Whether a lifecycle node reads it when the process starts.
        topics: Whether the texts of a list are names of topics, unique unless they can be empty.
    """

    name: str
    default: bool | float | str | list[str] | tuple[float, ...]
    description: str
    choices: Sequence[str] = ()
    minimum: float | None = None
    maximum: float = math.inf
    changeable: bool = False
    fixed: bool = False
    topics: bool = False

    def checked(self, value: Any) -> Any:
        """Return a value in the type of the default.

        Raises:
            ParameterError: If it has another type or is out of range.
        """
        default = self.default
        if isinstance(default, bool):
            if isinstance(value, bool):
                return value
            raise ParameterError(self.name, value, "true or false")
        if isinstance(default, float):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ParameterError(self.name, value, "a number")
            if self.minimum is not None and not value >= self.minimum:
                raise ParameterError(self.name, value, f"at least {self.minimum:g}")
            if not value <= self.maximum:
                raise ParameterError(self.name, value, f"at most {self.maximum:g}")
            if not math.isfinite(value):
                raise ParameterError(self.name, value, "a finite number")
            return float(value)
        if isinstance(default, tuple):
            if isinstance(value, (str, bool, int, float)) or len(value or ()) != len(default):
                raise ParameterError(self.name, value, f"{len(default)} numbers")
            one = replace(self, default=0.0)
            return tuple(one.checked(number) for number in value)
        if isinstance(default, list):
            if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
                raise ParameterError(self.name, value, f"a list of texts, as {default}")
            if self.topics:
                self._require_topics(value, all_named="" not in default)
            return list(value)
        if not isinstance(value, str):
            raise ParameterError(self.name, value, "text: quote texts that look like numbers")
        if self.choices and value not in self.choices:
            raise ParameterError(self.name, value, f"one of {', '.join(self.choices)}")
        return value

    def _require_topics(self, names: Sequence[str], *, all_named: bool) -> None:
        """Refuse invalid names of topics, and duplicates if no name can be empty."""
        for name in names:
            if name or all_named:
                try:
                    validate_full_topic_name(expand_topic_name(name, "node", "/"))
                # rclpy raises other errors for invalid Unicode and unknown substitutions.
                except (InvalidTopicNameException, TypeError, ValueError) as error:
                    raise ParameterError(
                        self.name, list(names), f"names of topics: {name!r} is none"
                    ) from error
        if all_named and len(set(names)) < len(names):
            raise ParameterError(self.name, list(names), "every topic once")


COMMON = (
    Entry(
        "scenario",
        "lift_box",
        "Scenario: a YAML file, or the name of a scenario of the package.",
    ),
    Entry(
        "mode",
        "lockstep",
        "lockstep: simulated time waits for the commands of every step, and runs are repeatable. "
        "wall_clock: real time.",
        choices=("lockstep", "wall_clock"),
    ),
    Entry("output", "", "File (.npz) for the recording of the run; none if empty."),
    Entry(
        "duration",
        0.0,
        "Simulated time of the run [s]; 0 for start and reference.",
        minimum=0.0,
    ),
    Entry("progress", False, "Report on standard output, one JSON object per line.", fixed=True),
    Entry(
        "silence_limit",
        0.8,
        "Wall-clock time without a message of the other node after which it counts as lost [s].",
        minimum=0.05,
    ),
    Entry(
        "patience",
        60.0,
        "Longest wall-clock wait for the other node to appear, and for a run to continue [s].",
        minimum=0.1,
    ),
    Entry(
        "realtime_priority",
        0.0,
        "wall_clock: real-time priority of this process (SCHED_FIFO), 1 to 99, if the system "
        "grants it; 0 for none.",
        minimum=0.0,
        maximum=99.0,
        fixed=True,
    ),
)
_ON_COMMAND_TIMEOUT = ("brake", "zero", "hold")
_JOINT_STATE_TOPICS = Entry(
    "joint_state_topics",
    ["joint_states"],
    "Topics with joint states: one for all arms, or several; for the simulator one for each arm.",
    topics=True,
)
_DRIVE_GRAVITY = Entry(
    "drives_compensate_gravity",
    False,
    "Whether the drives compensate gravity, so that commands exclude it.",
)
_COMMAND_TIMEOUT = Entry(
    "command_timeout",
    0.05,
    "wall_clock: time without a command after which a drive reacts [s]. A controller that has "
    "sent none for longer switches to the fallback, unless drives hold.",
    minimum=0.001,
)
FAULTS = Entry(
    "faults",
    "",
    "Faults of the simulated arms from now on, separated by commas: KIND[=VALUE] [ARM or JOINT] "
    "[SECONDS]; none if empty. The kinds are listed under plant.faults of scenarios.",
    changeable=True,
)
_AUTOCONFIGURE = Entry(
    "autoconfigure",
    True,
    "Configure and activate when the process starts, and end it on failure; else a lifecycle "
    "manager does.",
    fixed=True,
)
SIMULATOR = (
    *COMMON,
    _AUTOCONFIGURE,
    _JOINT_STATE_TOPICS,
    _DRIVE_GRAVITY,
    FAULTS,
    _COMMAND_TIMEOUT,
    Entry(
        "on_command_timeout",
        "brake",
        "wall_clock: reaction of a drive without commands: brake until the simulator is reset, "
        "zero torque, or hold the last torque without end.",
        choices=_ON_COMMAND_TIMEOUT,
    ),
)
_OF_ARMS = (
    _JOINT_STATE_TOPICS,
    _DRIVE_GRAVITY,
    Entry(
        "robot_description_topics",
        [""],
        "Topics (std_msgs/String, latched) that describe the robots of the scenario, one for each "
        "in its order, as from robot_state_publisher or drivers; empty if the scenario's file "
        "describes the robot. Links and joints must be those of the file, if it exists.",
        topics=True,
    ),
    Entry(
        "command_interfaces",
        [""],
        "Fields of commands by joint name (sensor_msgs/JointState on joint_commands): effort, and "
        "with the law admittance position and velocity; empty for a topic of torques for each "
        "arm, <arm>/commands.",
    ),
    Entry(
        "ignored_joints",
        [""],
        "Joints in joint states that belong to no arm and are ignored, such as gripper joints.",
    ),
    Entry(
        "stale_after",
        0.0,
        "wall_clock: time without a sample of an arm or sensor after which it counts as lost [s]; "
        "0 for the number of periods in the scenario.",
        minimum=0.0,
    ),
    Entry(
        "heartbeat_timeout",
        0.1,
        "wall_clock: time without a heartbeat of the controller after which the guard takes over "
        "[s]; the same for both. In lockstep silence_limit is used.",
        minimum=0.01,
    ),
)
CONTROLLER = (
    *COMMON,
    *_OF_ARMS,
    Entry(
        "allow_code",
        "",
        "Code that control.law of the scenario can name: MODULE:NAME, FILE.py:NAME or the name of "
        "an entry point of the group robot_dynamics.controllers; none if empty.",
        fixed=True,
    ),
    Entry(
        "autoconfigure",
        True,
        "Configure when the process starts, and end it on failure; else a lifecycle manager does, "
        "and a failure leaves the node unconfigured.",
        fixed=True,
    ),
    Entry(
        "autostart",
        "in_lockstep",
        "Whether control starts with the first complete state, or waits for the service ~/start.",
        choices=("in_lockstep", "always", "never"),
    ),
    Entry(
        "references",
        "scenario",
        "Source of the references of object and forces: scenario, or topics, which replace the "
        "scenario's from the first message on.",
        choices=("scenario", "topics"),
    ),
    Entry(
        "sample_rate_tolerance",
        0.2,
        "wall_clock: fraction of the control rate by which joint states of an arm can be slower; "
        "control does not start with slower ones.",
        minimum=0.0,
        maximum=1.0,
    ),
    _COMMAND_TIMEOUT,
    Entry("use_wrenches", True, "Whether the arms have wrist sensors, on <arm>/wrench."),
    Entry(
        "resume_phase",
        0.0,
        "Number of the phase of a task, from 1, with which ~/resume goes on in a controller that "
        "was started again; 0 for none. Control then does not start by itself.",
        minimum=0.0,
    ),
    Entry(
        "on_command_timeout",
        "brake",
        "Reaction of the arms' drives without commands: brake, zero torque, or hold the last "
        "torque without end. It must be true of the drives; see guard.",
        choices=_ON_COMMAND_TIMEOUT,
    ),
    Entry(
        "guard",
        "automatic",
        "Whether control needs the node guard: required refuses to start without it, wanted "
        "warns, none sends no heartbeat; automatic is required if drives hold the last torque, "
        "else none.",
        choices=("automatic", "none", "wanted", "required"),
    ),
)
GUARD = (
    *(e for e in COMMON if e.name not in ("output", "duration", "patience")),
    _AUTOCONFIGURE,
    *_OF_ARMS,
    Entry(
        "command_timeout",
        0.5,
        "wall_clock: time without a command of a controller whose heartbeats say that arms rely "
        "on it, after which the guard takes over [s]; at least heartbeat_timeout, 0 for never.",
        minimum=0.0,
    ),
    Entry(
        "on_command_timeout",
        "hold",
        "Reaction of the arms' drives without commands, as for the controller. Only for drives "
        "that brake commands to a lost arm end.",
        choices=_ON_COMMAND_TIMEOUT,
    ),
)
_OF_ANY_NODE = {entry.name for entry in (*SIMULATOR, *CONTROLLER, *GUARD)}
# Gains of the controller, by group and field of the control settings.
GAINS = {
    ("object", "bandwidth"): "Natural frequency of the servo of the object's pose [rad/s].",
    ("object", "damping_ratio"): "Its damping ratio.",
    ("object", "integral"): "Rate of the integral action [1/s]; 0 for none.",
    ("internal_force", "bandwidth"): "Bandwidth of the internal force [1/s].",
    ("posture", "bandwidth"): "Natural frequency of the arms' self-motion [rad/s].",
    ("posture", "damping_ratio"): "Its damping ratio.",
    ("impedance", "stiffness"): "Stiffness of the object's position, along world x y z [N/m].",
    ("impedance", "damping"): "Damping of the object's position, along world x y z [N s/m].",
    ("impedance", "rotational_stiffness"): "Stiffness of its orientation, about x y z [N m/rad].",
    ("impedance", "rotational_damping"): "Damping of its orientation, about x y z [N m s/rad].",
    ("impedance", "internal_stiffness"): "Stiffness of the distances between the hands [N/m].",
    ("impedance", "internal_damping"): "Damping of the distances between the hands [N s/m].",
    ("impedance", "internal_rotational_stiffness"): "Stiffness of angles between hands [N m/rad].",
    ("impedance", "internal_rotational_damping"): "Damping of angles between hands [N m s/rad].",
    ("admittance", "inertia"): "Virtual mass of the object, along world x y z [kg].",
    ("admittance", "damping"): "Damping of its displacement, along world x y z [N s/m].",
    ("admittance", "stiffness"): "Stiffness of its displacement, along world x y z [N/m].",
    ("admittance", "rotational_inertia"): "Virtual rotational inertia, about x y z [kg m^2].",
    ("admittance", "rotational_damping"): "Damping of its rotation, about x y z [N m s/rad].",
    ("admittance", "rotational_stiffness"): "Stiffness of its rotation, about x y z [N m/rad].",
    ("jointed", "position_gain"): "K_p of the parts' motion [1/s^2].",
    ("jointed", "velocity_gain"): "K_v of the parts' motion [1/s].",
    ("jointed", "position_integral"): "K_i of the parts' motion [1/s^3]; 0 for none.",
    ("jointed", "force_integral"): "K_I of the force in the object's joint [1/s].",
    ("jointed", "posture_gain"): "K_p of the arms' self-motion [1/s^2].",
    ("jointed", "posture_damping"): "K_v of the arms' self-motion [1/s].",
    ("friction", "share"): "Fraction of the known joint friction that is compensated.",
    ("friction", "velocity"): "Speed at which 71 % of Coulomb friction is assumed [rad/s or m/s].",
}


def gain_name(group: str, field: str) -> str:
    """Return the name of the parameter of a gain."""
    return f"control.{group}.{field}"


_OF_ANY_NODE |= {gain_name(*key) for key in GAINS}


def declare(node: Node, entries: Sequence[Entry], *, managed: bool = False) -> dict[str, Any]:
    """Declare parameters and return their values, by name and in the types of the defaults.

    Args:
        node: The node.
        entries: The parameters.
        managed: Whether it is a lifecycle node, whose parameters can be changed until it is
            configured.

    Raises:
        ParameterError: If one has a wrong type or value.
        UnknownNameError: If no node of this package has a given parameter.
    """
    given = getattr(node, "_parameter_overrides", {})
    names = [entry.name for entry in entries]
    for name in given:
        # One file can hold the parameters of all nodes.
        if name not in _OF_ANY_NODE and name not in names and not _is_of_rclpy(name):
            names += [gain_name(*key) for key in GAINS] if managed else []
            raise UnknownNameError("parameter", name, names)
    values = {}
    for entry in entries:
        if entry.name in given:  # before rclpy checks ranges, with its own messages
            entry.checked(given[entry.name].value)
        changeable = entry.changeable or (managed and not entry.fixed)
        parameter: Parameter = node.declare_parameter(
            entry.name, entry.default, descriptor(entry, read_only=not changeable)
        )
        values[entry.name] = entry.checked(parameter.value)
    return values


def descriptor(entry: Entry, *, read_only: bool) -> ParameterDescriptor:
    """Return the descriptor of a parameter, as `ros2 param describe` prints it."""
    ranges = []
    if entry.minimum is not None and isinstance(entry.default, float):
        ranges = [FloatingPointRange(from_value=entry.minimum, to_value=entry.maximum)]
    # Dynamic typing, so that 2 is accepted for 2.0; types are checked here instead.
    return ParameterDescriptor(
        name=entry.name,
        description=entry.description,
        additional_constraints=f"one of {', '.join(entry.choices)}" if entry.choices else "",
        floating_point_range=ranges,
        read_only=read_only,
        dynamic_typing=True,
    )


def help_text(name: str, entries: Sequence[Entry]) -> str:
    """Return the text of a node's `--help`: usage and parameters.

    Args:
        name: The node.
        entries: Its parameters.
    """
    lines = [
        f"usage: {name} [--ros-args [-p NAME:=VALUE]... [--params-file FILE] [-r NAME:=NAME]...]",
        "",
        f"The ROS 2 node {name!r} of robot_dynamics; docs/ros.md describes its topics and "
        "services.",
        "",
        "Parameters and their defaults:",
    ]
    for entry in entries:
        default = str(entry.default).lower() if isinstance(entry.default, bool) else entry.default
        choices = f" One of {', '.join(entry.choices)}." if entry.choices else ""
        text = textwrap.fill(
            entry.description + choices, 90, initial_indent="      ", subsequent_indent="      "
        )
        lines += [
            f"  {entry.name}: {default!r}" if default == "" else f"  {entry.name}: {default}"
        ]
        lines.append(text)
    return "\n".join(lines)


class NodeParameters:
    """Parameters of a lifecycle node: changeable until it is configured.

    Attributes:
        values: Their values by name.
        given: Names of the parameters that were set.

    Args:
        node: The node.
        entries: The parameters.

    Raises:
        ParameterError: If one has a wrong type or value.
        UnknownNameError: If no node of this package has a given parameter.
    """

    def __init__(self, node: Node, entries: Sequence[Entry]) -> None:
        self.values = declare(node, entries, managed=True)
        self.given = set(getattr(node, "_parameter_overrides", {}))
        self._entries = {entry.name: entry for entry in entries}
        self._frozen, self._node = False, node
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._take)

    def freeze(self, frozen: bool) -> None:
        """Refuse changes, or accept them again."""
        self._frozen = frozen

    def _check(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            # rclpy would change the clock of a running node at once.
            if self._frozen and parameter.name == "use_sim_time":
                used = self._node.get_parameter("use_sim_time").value
                if parameter.value != used:
                    reason = (
                        f"parameter 'use_sim_time' is {str(used).lower()} while the node is "
                        "configured; expected no change: clean up first."
                    )
                    return SetParametersResult(successful=False, reason=reason)
            entry = self._entries.get(parameter.name)
            if entry is None:
                continue
            try:
                value = entry.checked(parameter.value)
            except ParameterError as error:
                return SetParametersResult(successful=False, reason=str(error))
            # `ros2 param load` of a dump sets all parameters: unchanged values are accepted.
            if self._frozen and not entry.changeable and value != self.values[entry.name]:
                reason = (
                    f"parameter {entry.name!r} is {self.values[entry.name]!r} while the node is "
                    "configured; expected no change: clean up first."
                )
                return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    def _take(self, parameters: list[Parameter]) -> None:
        for parameter in parameters:
            entry = self._entries.get(parameter.name)
            if entry is not None and (entry.changeable or not self._frozen):
                self.values[entry.name] = entry.checked(parameter.value)
                self.given.add(entry.name)


def _is_of_rclpy(name: str) -> bool:
    return name in ("use_sim_time", "start_type_description_service") or name.startswith(
        "qos_overrides."
    )
