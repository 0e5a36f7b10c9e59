# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands by joint name, as `joint_state_topic_hardware_interface` of ros2_control sends them.

A message of `sensor_msgs/JointState` contains commands of whole arms, in any order of joints. The
fields that are not empty select the command: efforts, positions or velocities. Its stamp is the
time of the state that it answers, or any other time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from robot_dynamics.app.recordings.topic_names import JOINT_COMMANDS
from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import Clock, stamp_of, tick_of
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.nodes.command_topics import CommandTopics
from robot_dynamics.nodes.conversions import JointSample, JointStateWriter, joint_state_reader
from robot_dynamics.nodes.parameters import ParameterError
from robot_dynamics.nodes.topics import NEWEST, STREAM, Inbox

FIELDS = ("position", "velocity", "effort")
_LARGEST_TICK = 1 << 31  # larger ones are of the system's clock, at 2 Hz and more


class CommandError(RobotDynamicsError):
    """A command that a drive must not accept.

    Args:
        topic: Topic of the command.
        cause: Finding and expectation.
    """

    def __init__(self, topic: str, cause: str) -> None:
        super().__init__(f"{topic}: {cause}")


class JointCommand(NamedTuple):
    """Command of an arm, in the order of its joints; other fields are empty.

    Attributes:
        arm: Name of the arm.
        position: Positions (n,) [rad or m].
        velocity: Velocities (n,) [rad/s or m/s].
        effort: Efforts (n,) [N m or N].
    """

    arm: str
    position: Array
    velocity: Array
    effort: Array

    @property
    def moves(self) -> bool:
        """Whether it commands positions or velocities."""
        return bool(self.position.size or self.velocity.size)


def joint_commands(
    sample: JointSample, arms: Mapping[str, Sequence[str]]
) -> Sequence[JointCommand]:
    """Return the commands of the arms that a message names.

    Args:
        sample: The message.
        arms: Joints by arm.

    Raises:
        CommandError: If a joint is unknown, doubled or missing beside others of its arm, or a
            field has neither one value for each joint nor none, or a value is not finite. The
            whole message is then refused.
    """
    names, values = sample.names, (sample.position, sample.velocity, sample.effort)
    index = {name: i for i, name in enumerate(names)}
    if len(index) < len(names):
        twice = next(name for i, name in enumerate(names) if index[name] != i)
        raise CommandError(JOINT_COMMANDS, f"joint {twice!r} occurs twice; expected it once.")
    for field, numbers in zip(FIELDS, values, strict=True):
        if numbers.size not in (0, len(names)):
            raise CommandError(
                JOINT_COMMANDS,
                f"{numbers.size} values of {field} for {len(names)} joints; expected one for each "
                "joint, or none.",
            )
        if not np.isfinite(numbers).all():
            at = int(np.argmin(np.isfinite(numbers)))
            raise CommandError(
                JOINT_COMMANDS,
                f"{field} of joint {names[at]!r} is {numbers[at]}; expected a finite number.",
            )
    found, known = [], 0
    for arm, joints in arms.items():
        missing = [joint for joint in joints if joint not in index]
        if len(missing) == len(joints):
            continue
        if missing:
            raise CommandError(
                JOINT_COMMANDS,
                f"joint {missing[0]!r} is missing; expected all {len(joints)} joints of {arm}, or "
                "none.",
            )
        order = [index[joint] for joint in joints]
        found.append(JointCommand(arm, *(v[order] if v.size else v for v in values)))
        known += len(joints)
    if known < len(names) or not found:
        own = {joint for joints in arms.values() for joint in joints}
        other = next((repr(name) for name in names if name not in own), "none")
        raise CommandError(
            JOINT_COMMANDS, f"joint {other} is named; expected joints of {', '.join(arms)} alone."
        )
    return found


def answered_tick(sample: JointSample, period: float) -> int:
    """Return the tick of the state that a command answers; 0 if its stamp is of another clock.

    Args:
        sample: The message.
        period: Control period [s].
    """
    tick = tick_of(sample.stamp, period)
    return tick if 0 <= tick < _LARGEST_TICK else 0


def subscribe_to_joint_commands(
    inbox: Inbox,
    take: Callable[[JointSample], None],
    quality: QoSProfile = STREAM,
    *,
    awaited: bool,
) -> None:
    """Subscribe to commands by joint name; see `Inbox.subscribe`."""
    inbox.subscribe(
        JointState, JOINT_COMMANDS, take, quality, awaited=awaited, reader=joint_state_reader()
    )


class JointCommandTopic:
    """Publisher of commands by joint name, and the last efforts of any node.

    It stands in for `CommandTopics`, with one message for all arms. When there are no more
    velocities to command, one message with velocities of zero ends them.

    Attributes:
        names: Full name of the topic.

    Args:
        node: The node that commands.
        system: The arms.
        to_commands: Converts joint torques (na,) to commands (na,).
        fields: Fields of the messages, of `FIELDS`.
        period: Control period [s].
        in_lockstep: Whether a simulator waits for a message to every arm; released arms are then
            named without values.
    """

    def __init__(
        self,
        node: Node,
        system: GraspSystem,
        to_commands: Callable[[Array], Array],
        fields: Sequence[str],
        period: float,
        *,
        in_lockstep: bool,
    ) -> None:
        self._node, self._to_commands, self._in_lockstep = node, to_commands, in_lockstep
        self._fields, self._period = tuple(fields), period
        self._arms = {arm.name: arm.joints for arm in system.arms}
        self._slices = dict(zip(self._arms, system.arm_slices, strict=True))
        self._publisher = node.create_publisher(JointState, JOINT_COMMANDS, STREAM)
        self.names = [self._publisher.topic_name]
        self._writers: dict[tuple[Sequence[str], Sequence[str]], JointStateWriter] = {}
        self._last = np.full(len(system.joint_names), np.nan)
        self._points: Mapping[str, Array] = {}  # to be ended by velocities of zero
        self._inbox = Inbox(node)
        subscribe_to_joint_commands(self._inbox, self._take, NEWEST, awaited=False)

    def _take(self, sample: JointSample) -> None:
        with suppress(CommandError):
            for command in joint_commands(sample, self._arms):
                if command.effort.size:
                    self._last[self._slices[command.arm]] = command.effort

    def last(self) -> Array:
        """Return the last efforts of any node (na,); NaN before the first."""
        self._inbox.read()
        return self._last.copy()

    def send(
        self,
        tick: int,
        torque: Array,
        released: tuple[str, ...],
        set_points: Mapping[str, Array],
    ) -> bool:
        """Publish commands in answer to a tick; see `CommandTopics.send`."""
        before, self._points = self._points, {}
        if before and not set_points:  # velocities must not last when the law ends
            set_points = {**before, "velocity": np.zeros_like(torque)}
        elif "velocity" in self._fields:
            self._points = set_points
        values = {"effort": self._to_commands(torque), **set_points}
        chosen = {field: values[field] for field in self._fields if field in values}
        if not all(np.isfinite(numbers).all() for numbers in chosen.values()):
            self._points = before
            return False
        if chosen:
            self._publish(tick, [arm for arm in self._arms if arm not in released], chosen)
        if self._in_lockstep:
            self._publish(tick, released, {})
        return True

    def _publish(self, tick: int, arms: Sequence[str], values: Mapping[str, Array]) -> None:
        """Publish one message to some arms, if any."""
        if not arms:
            return
        key = tuple(arms), tuple(values)
        if key not in self._writers:
            joints = [joint for arm in arms for joint in self._arms[arm]]
            self._writers[key] = JointStateWriter(joints, tuple(values))
        parts = [numbers[self._slices[arm]] for numbers in values.values() for arm in arms]
        stamp = stamp_of(tick, self._period)
        self._publisher.publish(self._writers[key].serialized(stamp, *parts))

    def wait_for_delivery(self, seconds: float) -> None:
        """Return when all commands are acknowledged, or after a timeout [s]."""
        self._publisher.wait_for_all_acked(Duration(seconds=seconds))

    def destroy(self) -> None:
        """Destroy publisher and subscription."""
        self._inbox.clear()
        self._node.destroy_publisher(self._publisher)


def command_topics(
    node: Node,
    system: GraspSystem,
    to_commands: Callable[[Array], Array],
    interfaces: Sequence[str],
    clock: Clock,
    *,
    positions: bool = False,
) -> CommandTopics | JointCommandTopic:
    """Return publishers of commands: a topic for each arm, or one for all by joint name.

    Args:
        node: The node that commands.
        system: The arms.
        to_commands: Converts joint torques (na,) to commands (na,).
        interfaces: The parameter `command_interfaces`.
        clock: The clock of control.
        positions: Whether there are joint positions to command, in addition to torques.

    Raises:
        ParameterError: If the node cannot command the quantities of the parameter.
    """
    fields = [field for field in interfaces if field]
    expected = ""
    if len(set(fields)) < len(fields) or not set(fields) <= set(FIELDS):
        expected = f"some of {', '.join(FIELDS)}, each once, or nothing"
    elif not positions and set(fields) - {"effort"}:
        expected = "effort alone: only a controller with the law admittance computes positions"
    elif clock.lockstep and fields and "effort" not in fields:
        expected = "effort among them: in lockstep the simulator waits for it"
    if expected:
        raise ParameterError("command_interfaces", list(interfaces), expected)
    how = {"in_lockstep": clock.lockstep}
    if fields:
        return JointCommandTopic(node, system, to_commands, fields, clock.period, **how)
    return CommandTopics(node, system, to_commands, positions=positions, **how)
