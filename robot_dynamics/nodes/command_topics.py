# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The topics of commands: publishers for the arms, and other publishers of commands."""

from __future__ import annotations

import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import Clock, stamp_of
from robot_dynamics.control.task.joint_trajectory import JointLimits, JointPath, halted
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.nodes.conversions import (
    CommandWriter,
    JointSample,
    JointStateWriter,
    read_command,
)
from robot_dynamics.nodes.joint_commands import (
    FIELDS,
    CommandError,
    JointCommand,
    joint_commands,
    subscribe_to_joint_commands,
)
from robot_dynamics.nodes.parameters import ParameterError
from robot_dynamics.nodes.topics import NEWEST, STREAM, Inbox

# Key and value in a controller's diagnostics that identify its process.
PROCESS_KEY = "process"
PROCESS = f"{os.getpid()} on {socket.gethostname()}"
# rcl's names of a publisher whose node has not been discovered yet.
UNKNOWN = ("_NODE_NAME_UNKNOWN_", "_NODE_NAMESPACE_UNKNOWN_", "")
_NOTHING = np.zeros(0)
_ARM_TOPICS = {"effort": topics.commands, "position": topics.position_commands}
DUPLICATE_S = 2.5  # time in which a running node is discovered and publishes its diagnostics


class ArmMessages:
    """Commands of each arm on topics of its own, as forwarding controllers take them.

    Attributes:
        publishers: Publishers by arm and field.

    Args:
        node: The node that commands.
        system: The arms.
        fields: "effort", "position" or both.
    """

    def __init__(self, node: Node, system: GraspSystem, fields: Sequence[str]) -> None:
        self._slices = slices_of(system)
        self._writers = {arm: CommandWriter() for arm in self._slices}
        self.publishers = {
            (arm, field): node.create_publisher(Float64MultiArray, _ARM_TOPICS[field](arm), STREAM)
            for field in fields
            for arm in self._slices
        }

    def subscribe(self, inbox: Inbox, take: Callable[[JointCommand], None]) -> None:
        """Hear the torques of any node."""
        for arm, own in self._slices.items():

            def read(message: Float64MultiArray, arm: str = arm, own: slice = own) -> None:
                _, torque = read_command(message)
                if torque.shape == (own.stop - own.start,):  # an empty one leaves the last torque
                    take(JointCommand(arm, _NOTHING, _NOTHING, torque))

            inbox.subscribe(Float64MultiArray, topics.commands(arm), read, NEWEST, awaited=False)

    def publish(self, tick: int, arms: Sequence[str], values: Mapping[str, Array]) -> None:
        """Publish values (na,) by field to some arms; without values an empty torque command."""
        for field, numbers in (values or {"effort": _NOTHING}).items():
            for arm in arms:
                publisher = self.publishers.get((arm, field))
                if publisher is not None:
                    own = self._slices[arm]
                    publisher.publish(self._writers[arm].serialized(tick, numbers[own]))


class NamedMessages:
    """Commands of all arms by joint name in one message.

    Attributes:
        publishers: The publisher, by topic.

    Args:
        node: The node that commands.
        system: The arms.
        period: Control period [s].
    """

    def __init__(self, node: Node, system: GraspSystem, period: float) -> None:
        self._arms = {arm.name: arm.joints for arm in system.arms}
        self._slices, self._period = slices_of(system), period
        self.publishers = {
            topics.JOINT_COMMANDS: node.create_publisher(JointState, topics.JOINT_COMMANDS, STREAM)
        }
        self._writers: dict[tuple[Sequence[str], Sequence[str]], JointStateWriter] = {}

    def subscribe(self, inbox: Inbox, take: Callable[[JointCommand], None]) -> None:
        """Hear the commands of any node."""

        def read(sample: JointSample) -> None:
            with suppress(CommandError):
                for command in joint_commands(sample, self._arms):
                    take(command)

        subscribe_to_joint_commands(inbox, read, NEWEST, awaited=False)

    def publish(self, tick: int, arms: Sequence[str], values: Mapping[str, Array]) -> None:
        """Publish values (na,) by field to some arms; without values these are only named."""
        if not arms:
            return
        key = tuple(arms), tuple(values)
        if key not in self._writers:
            joints = [joint for arm in arms for joint in self._arms[arm]]
            self._writers[key] = JointStateWriter(joints, tuple(values))
        parts = [numbers[self._slices[arm]] for numbers in values.values() for arm in arms]
        message = self._writers[key].serialized(stamp_of(tick, self._period), *parts)
        self.publishers[topics.JOINT_COMMANDS].publish(message)


class CommandTopics:
    """Publishers of commands, and the last commands of any node.

    A subscription of each topic keeps the last command, of this node or of another one, such as
    the controller or the guard. It is read only while this node computes no commands of its kind.

    Drives that take velocities keep the last one when messages stop. Positions and velocities
    therefore go on without set points: the joints come to rest from the last ones of any node, in
    `HALT_S` or less, and are held there.

    Attributes:
        uses_torques: Whether drives follow the torques, and not positions or velocities.

    Args:
        node: The node that commands.
        system: The arms.
        to_commands: Converts joint torques (na,) to commands (na,).
        clock: The clock of control. In lockstep a simulator waits for a message to every arm;
            released arms then get an empty one.
        fields: What drives take, of `FIELDS`, by joint name, and positions on topics of the arms
            as well; empty for torques on topics of the arms.
        positions: Whether there are positions on topics of the arms beside these torques.
    """

    def __init__(
        self,
        node: Node,
        system: GraspSystem,
        to_commands: Callable[[Array], Array],
        clock: Clock,
        fields: Sequence[str] = (),
        *,
        positions: bool = False,
    ) -> None:
        self._node, self._to_commands, self._clock = node, to_commands, clock
        self.uses_torques = not {"position", "velocity"} & set(fields)
        self._slices = slices_of(system)
        self._messages: list[ArmMessages | NamedMessages] = []
        if fields:
            self._messages.append(NamedMessages(node, system, clock.period))
            of_arms = [field for field in fields if field == "position"]
        else:
            of_arms = ["effort", "position"] if positions else ["effort"]
        if of_arms:
            self._messages.append(ArmMessages(node, system, of_arms))
        self._fields = tuple(fields) or tuple(of_arms)
        self._publishers = [p for form in self._messages for p in form.publishers.values()]
        self._last = {field: np.full(len(system.joint_names), np.nan) for field in FIELDS}
        limits = system.limits
        self._limits = JointLimits(
            limits["lower"], limits["upper"], limits["velocity"], system.joint_units
        )
        self._halt: JointPath | None = None
        self._inbox = Inbox(node)
        self._messages[0].subscribe(self._inbox, self._take)

    def _take(self, command: JointCommand) -> None:
        own = self._slices[command.arm]
        for field in FIELDS:
            numbers = getattr(command, field)
            if numbers.size:
                self._last[field][own] = numbers

    def last(self) -> Array:
        """Return the last torques of any node on the topics (na,); NaN before the first.

        Another node moves the arms then: positions and velocities begin at its commands.
        """
        self.forget()
        self._inbox.read()
        return self._last["effort"].copy()

    def forget(self) -> None:
        """Forget where joints are held: another node moves them."""
        self._halt = None

    def send(
        self,
        tick: int,
        torque: Array,
        released: tuple[str, ...],
        set_points: Mapping[str, Array],
    ) -> bool:
        """Publish commands in answer to a tick, except to released arms.

        Args:
            tick: The tick.
            torque: Joint torques (na,).
            released: Names of the released arms.
            set_points: "position" and "velocity" of the joints (na,); empty while no law computes
                them.

        Returns:
            Whether the commands were published: not if a number is not finite. The safety layer
            prevents that; this is the last check before the drives.
        """
        values = {**(set_points or self._held_points())}
        if "effort" in self._fields:
            values["effort"] = self._to_commands(torque)
        chosen = {field: values[field] for field in self._fields if field in values}
        if not all(np.isfinite(numbers).all() for numbers in chosen.values()):
            return False
        if set_points:
            for field, numbers in set_points.items():
                self._last[field][:] = numbers
            self.forget()
        if chosen:
            arms = [arm for arm in self._slices if arm not in released]
            for form in self._messages:
                form.publish(tick, arms, chosen)
        if self._clock.lockstep:
            self._messages[0].publish(tick, released, {})
        return True

    def _held_points(self) -> Mapping[str, Array]:
        """Return positions and velocities (na,) on the way to rest; only those that are known."""
        if not {"position", "velocity"} & set(self._fields):
            return {}
        now = self._clock.seconds(self._clock.now())
        if self._halt is None:
            self._inbox.read()
            self._halt = self._way_to_rest(now)
        q, qd, _ = self._halt.at(now)
        known = np.isfinite(self._last["position"]).all()
        return {"position": q, "velocity": qd} if known else {"velocity": qd}

    def _way_to_rest(self, now: float) -> JointPath:
        """Return the path from the last points; from zero where only velocities are known.

        They are taken within the limits, because another node may have sent them.
        """
        q, limits, still = (
            self._last["position"],
            self._limits,
            np.zeros(len(self._last["effort"])),
        )
        if not np.isfinite(q).all():
            free = np.full_like(q, np.inf)
            q, limits = still, JointLimits(-free, free, limits.velocity, limits.units)
        q = np.clip(q, limits.lower, limits.upper)
        qd = np.clip(np.nan_to_num(self._last["velocity"]), -limits.velocity, limits.velocity)
        return halted(now, (q, qd, still), limits)

    def end(self, tick: int, released: tuple[str, ...] = ()) -> None:
        """Publish velocities of zero, if drives take them: they would keep the last ones.

        Released arms get none: a position beside it could be far from where they are by now.
        """
        if "velocity" in self._fields:
            values = {**self._held_points(), "velocity": np.zeros(len(self._last["velocity"]))}
            chosen = {field: values[field] for field in self._fields if field in values}
            arms = [arm for arm in self._slices if arm not in released]
            self._messages[0].publish(tick, arms, chosen)

    def wait_for_delivery(self, seconds: float) -> None:
        """Return when all commands are acknowledged, or after a timeout for each topic [s]."""
        for publisher in self._publishers:
            publisher.wait_for_all_acked(Duration(seconds=seconds))

    def destroy(self) -> None:
        """Destroy publishers and subscriptions."""
        self._inbox.clear()
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)


def command_topics(
    node: Node,
    system: GraspSystem,
    to_commands: Callable[[Array], Array],
    interfaces: Sequence[str],
    clock: Clock,
    *,
    positions: bool | None = None,
) -> CommandTopics:
    """Return publishers of what the parameter `command_interfaces` names.

    Args:
        node: The node that commands.
        system: The arms.
        to_commands: Converts joint torques (na,) to commands (na,).
        interfaces: The parameter.
        clock: The clock of control.
        positions: Whether the law computes joint positions; None for a node without a law, which
            holds the positions of another one.

    Raises:
        ParameterError: If the node cannot command what the parameter names.
    """
    fields = [field for field in interfaces if field]
    expected = ""
    if len(set(fields)) < len(fields) or not set(fields) <= set(FIELDS):
        expected = f"some of {', '.join(FIELDS)}, each once, or nothing"
    elif positions is False and set(fields) - {"effort"}:
        expected = "effort alone: only a controller with the law admittance computes positions"
    elif clock.lockstep and set(fields) - {"effort"}:
        expected = "effort alone: in lockstep the simulator waits for torques"
    if expected:
        raise ParameterError("command_interfaces", list(interfaces), expected)
    return CommandTopics(node, system, to_commands, clock, fields, positions=positions is True)


def slices_of(system: GraspSystem) -> dict[str, slice]:
    """Return the slice of each arm in vectors over the arm joints, by its name."""
    return dict(zip((arm.name for arm in system.arms), system.arm_slices, strict=True))


class OtherPublisherError(RobotDynamicsError):
    """A start while another node publishes commands for the arms."""


class CommandPublisherMonitor:
    """Finds publishers of commands, in any form, that are neither this node nor its guard.

    A killed process stays in the graph for about 20 s. If it had this node's name, diagnostics
    distinguish it from a running duplicate, which publishes them once a second.

    Args:
        node: The node that commands.
        arms: Names of the arms.
    """

    def __init__(self, node: Node, arms: Sequence[str]) -> None:
        forms = [form(arm) for form in _ARM_TOPICS.values() for arm in arms]
        self._node = node
        self._topics = tuple(map(node.resolve_topic_name, (*forms, topics.JOINT_COMMANDS)))
        self._status = f"{node.get_fully_qualified_name().lstrip('/')}: state"
        self._dead_duplicates = 0  # publishers of nodes of this name without diagnostics
        self._diagnostics: Inbox | None = None
        self._subscribed_at = 0.0
        self._duplicate_runs = False

    def require_none(self) -> bool:
        """Refuse a start with another publisher; return whether the search is complete.

        Raises:
            OtherPublisherError: If another node publishes; with node and topic.
        """
        found = list(self._others())
        for topic, node, _ in found:
            if node not in (*UNKNOWN, self._full_name):
                raise OtherPublisherError(f"start refused: {self._sentence(topic, node)}")
        duplicates = [(topic, count) for topic, node, count in found if node == self._full_name]
        count = sum(count for _, count in duplicates)
        if count <= self._dead_duplicates:
            self._dead_duplicates = count
            return not any(node in UNKNOWN for _, node, _ in found)
        self._read_diagnostics()
        if self._duplicate_runs:
            self.destroy()
            sentence = self._sentence(duplicates[0][0], self._full_name)
            raise OtherPublisherError(f"start refused: {sentence}")
        if time.monotonic() - self._subscribed_at > DUPLICATE_S:
            self._dead_duplicates = count
            self.destroy()
        return False

    def destroy(self) -> None:
        """Destroy the subscription of diagnostics."""
        if self._diagnostics is not None:
            self._diagnostics.clear()
            self._diagnostics = None

    def _read_diagnostics(self) -> None:
        """Look for diagnostics of a node of this name in another process."""
        if self._diagnostics is None:
            self._diagnostics, self._duplicate_runs = Inbox(self._node), False
            self._subscribed_at = time.monotonic()
            self._diagnostics.subscribe(
                DiagnosticArray, "/diagnostics", self._on_diagnostics, STREAM, awaited=False
            )
        self._diagnostics.read()

    @property
    def warning(self) -> str:
        """Warning of another publisher of commands; empty if there is none."""
        found = list(self._others())
        duplicates = sum(count for _, node, count in found if node == self._full_name)
        self._dead_duplicates = min(self._dead_duplicates, duplicates)
        for topic, node, _ in found:
            runs = node != self._full_name or duplicates > self._dead_duplicates
            if node not in UNKNOWN and runs:
                return self._sentence(topic, node)
        return ""

    @property
    def rival_trajectories(self) -> str:
        """Warning of several nodes that send trajectories of joints; empty if there is one."""
        topic = self._node.resolve_topic_name(topics.JOINT_TRAJECTORY)
        senders = sorted({*_publishers(self._node, topic)} - {UNKNOWN[0]})
        if len(senders) < 2:
            return ""
        names = " and ".join(map(repr, senders))
        return (
            f"the nodes {names} publish on {topic!r}; expected one, because their trajectories "
            "replace one another: end the others."
        )

    @property
    def _full_name(self) -> str:
        return str(self._node.get_fully_qualified_name())

    def _others(self) -> Iterator[tuple[str, str, int]]:
        """Yield topic, node and number of its publishers for every other publisher."""
        guards = _guards(self._node)
        own = Counter(publisher.topic_name for publisher in self._node.publishers)
        for topic in self._topics:
            counts = Counter(_publishers(self._node, topic))
            counts[self._full_name] -= own[topic]
            for node, count in counts.items():
                if count > 0 and node not in guards:
                    yield topic, node, count

    def _sentence(self, topic: str, node: str) -> str:
        what = "another node of this name" if node == self._full_name else f"the node {node!r}"
        return (
            f"{what} publishes on {topic!r}; expected only this controller and its guard: end "
            "other publishers."
        )

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            process = [v.value for v in status.values if v.key == PROCESS_KEY]
            if status.name == self._status and process and process[0] != PROCESS:
                self._duplicate_runs = True


def rival_commanders(node: Node, arms: Sequence[str]) -> str:
    """Return a warning of several nodes that command one arm on its topics; empty if there is one.

    Guards do not count, and neither do nodes on `joint_commands`, which can command an arm each.

    Args:
        node: The node that receives the commands.
        arms: Names of the arms.
    """
    guards = _guards(node)
    for form in _ARM_TOPICS.values():
        for arm in arms:
            topic = node.resolve_topic_name(form(arm))
            senders = sorted({*_publishers(node, topic)} - {UNKNOWN[0], *guards})
            if len(senders) > 1:
                names = " and ".join(map(repr, senders))
                return (
                    f"the nodes {names} publish on {topic!r}; expected one controller and its "
                    "guard: end the others."
                )
    return ""


def _guards(node: Node) -> list[str]:
    """Return the full names of the nodes that report as guards."""
    return _publishers(node, node.resolve_topic_name(topics.GUARD))


def _publishers(node: Node, topic: str) -> list[str]:
    """Return the full names of the nodes that publish, `UNKNOWN[0]` for undiscovered ones."""
    return [
        UNKNOWN[0]
        if info.node_name in UNKNOWN or info.node_namespace in UNKNOWN
        else f"{info.node_namespace.rstrip('/')}/{info.node_name}"
        for info in node.get_publishers_info_by_topic(topic)
    ]
