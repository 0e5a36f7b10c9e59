# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The drives of the arms: gravity compensation, and reaction when commands stop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from rclpy.node import Node

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.arrays import Array
from robot_dynamics.control.arm_model import ArmModel
from robot_dynamics.control.faults import SafetyError
from robot_dynamics.control.joint_states import JointStates
from robot_dynamics.control.safety import SafetyLayer
from robot_dynamics.manipulation.settings import ArmSettings
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.nodes.command_topics import UNKNOWN
from robot_dynamics.nodes.conversions import answers, is_ahead
from robot_dynamics.nodes.joint_commands import CommandError

SIMULATOR = "simulator"  # the node whose drives are known
Behaviour = Literal["brake", "zero", "hold"]
_SILENT_PERIODS = 5  # without a command, after which other arms do not wait for an arm


class DriveProperties:
    """Properties of the drives of each arm, from the scenario or else the node's parameters.

    Attributes:
        compensate_gravity: Names of the arms whose drives compensate gravity.
        without_commands: Reaction of each arm's drives when commands stop, by the arm's name.

    Args:
        arms: The arms of the scenario.
        values: The parameters of the node.
        given: Names of the parameters that were set.
    """

    def __init__(
        self, arms: Sequence[ArmSettings], values: Mapping[str, Any], given: Collection[str]
    ) -> None:
        gravity, stop = "drives_compensate_gravity", "on_command_timeout"
        stated = {arm.name: arm.drive.compensates_gravity for arm in arms}
        self.compensate_gravity = tuple(
            name for name, own in stated.items() if (values[gravity] if own is None else own)
        )
        self.without_commands = {
            arm.name: arm.drive.without_commands or values.get(stop, "brake") for arm in arms
        }
        unknown = {
            parameter: [arm.name for arm in arms if getattr(arm.drive, key) is None]
            for parameter, key in ((stop, "without_commands"), (gravity, "compensates_gravity"))
            if parameter not in given
        }
        self._unknown = {parameter: names for parameter, names in unknown.items() if names}

    @property
    def any_holds(self) -> bool:
        """Whether a drive holds its last torque without a timeout."""
        return "hold" in self.without_commands.values()

    @property
    def braking(self) -> tuple[str, ...]:
        """Names of the arms whose drives brake when commands stop."""
        return tuple(arm for arm, does in self.without_commands.items() if does == "brake")

    def guard(self, setting: str) -> str:
        """Return whether control needs a guard: none, wanted or required.

        Args:
            setting: None, wanted, required, or automatic: required if a drive holds its last
                torque.
        """
        if setting == "automatic":
            return "required" if self.any_holds else "none"
        return setting

    def require_known(self, node: Node, topics: Sequence[str]) -> bool:
        """Refuse joint states of real arms while a property of their drives is unknown.

        Args:
            node: The node that subscribes.
            topics: The topics of joint states.

        Returns:
            Whether all publishers on them are known.

        Raises:
            SafetyError: If a node other than a simulator publishes and a property is unknown.
        """
        known = True
        for topic in map(node.resolve_topic_name, topics if self._unknown else ()):
            for source in node.get_publishers_info_by_topic(topic):
                if source.node_name in UNKNOWN:
                    known = False
                elif source.node_name != SIMULATOR:
                    arms = sorted({arm for names in self._unknown.values() for arm in names})
                    raise SafetyError(
                        f"start refused: joint states on {topic} come from {source.node_name!r}, "
                        f"no simulator; expected the parameters {', '.join(self._unknown)}, or "
                        f"`drive` of the arms {', '.join(arms)} in the scenario."
                    )
        return known


def believed_positions(safety: SafetyLayer, samples: JointStates) -> Array:
    """Return the positions (na,) at which drives are assumed to compensate gravity.

    While arms rely on commands these are the last good ones: samples may be false, and a command
    less the gravity torque of false positions would be as wrong as these are.
    """
    return safety.arms.q if safety.in_charge else samples.state()[0]


class DriveGravityCompensation:
    """The gravity torque that drives add to commands.

    Torques inside the package, limits and recordings included, are the whole torque of a joint.
    The torque of the drives is subtracted where commands are published and added where they are
    read.

    Args:
        system: The arms; the drives compensate their weight without the object.
        compensated: Names of the arms whose drives compensate gravity.
        positions: Returns the last good positions of the arms (na,).
    """

    def __init__(
        self, system: GraspSystem, compensated: Collection[str], positions: Callable[[], Array]
    ) -> None:
        self._slices = {
            arm.name: own for arm, own in zip(system.arms, system.arm_slices, strict=True)
        }
        self._arms = ArmModel(system) if compensated else None
        self._mask = np.zeros(len(system.joint_names))  # 1 where a drive compensates, else 0
        for name in compensated:
            self._mask[self._slices[name]] = 1.0
        self._positions = positions

    def added(self, q: Array) -> Array:
        """Return the torque (na,) that the drives add at positions `q` (na,)."""
        if self._arms is None:
            return np.zeros(len(q))
        return np.asarray(self._mask * self._arms.support(q))

    def to_commands(self, torque: Array) -> Array:
        """Return the commands (na,) for joint torques (na,)."""
        return torque if self._arms is None else torque - self.added(self._positions())

    def to_torques(self, commands: Array) -> Array:
        """Return the joint torques (na,) of commands (na,)."""
        return commands if self._arms is None else commands + self.added(self._positions())

    def to_arm_torques(self, arm: str, command: Array) -> Array:
        """Return the joint torques of an arm's command; a command of wrong size is unchanged."""
        own = self._slices[arm]
        if self._arms is None or len(command) != own.stop - own.start:
            return command
        return command + self.added(self._positions())[own]


class CommandGate:
    """Collects the commands of all arms for a control period of the simulator.

    An empty command releases the arm to its drive, which keeps the last torque.

    Attributes:
        torque: The last commands (na,).
        tick: The tick whose commands are awaited.

    Args:
        arms: Names of the arms.
        slices: The slice of each arm in vectors over the arm joints.
    """

    def __init__(self, arms: Sequence[str], slices: Sequence[slice]) -> None:
        self._slices = dict(zip(arms, slices, strict=True))
        self._count = slices[-1].stop
        self.reset()

    def reset(self) -> None:
        """Clear all torques and wait for tick 0."""
        self.torque = np.zeros(self._count)
        self.expect(0)

    def expect(self, tick: int) -> None:
        """Wait for the commands of a tick."""
        self.tick = tick
        self._missing = set(self._slices)

    @property
    def complete(self) -> bool:
        """Whether the commands of all arms have arrived."""
        return not self._missing

    @property
    def incomplete(self) -> bool:
        """Whether commands of some arms, but not of all, have arrived."""
        return 0 < len(self._missing) < len(self._slices)

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the arms whose commands are awaited."""
        return tuple(arm for arm in self._slices if arm in self._missing)

    @property
    def arrived(self) -> tuple[int, ...]:
        """Indices of the arms whose commands have arrived."""
        return tuple(i for i, arm in enumerate(self._slices) if arm not in self._missing)

    def check(self, arm: str, torque: Array) -> None:
        """Refuse a command that no drive must take.

        Args:
            arm: Name of the arm.
            torque: Torques of the arm's joints (n,), or empty.

        Raises:
            CommandError: If the number of torques is wrong or one is not finite. The whole command
                is then refused.
        """
        own = self._slices[arm]
        if torque.size and torque.shape != (own.stop - own.start,):
            raise CommandError(
                topics.commands(arm),
                f"{torque.size} torques; expected {own.stop - own.start} or none.",
            )
        if not np.isfinite(torque).all():
            at = int(np.argmin(np.isfinite(torque)))
            raise CommandError(
                topics.commands(arm), f"torque {at} is {torque[at]}; expected a finite number."
            )

    def take(self, arm: str, number: int | None, torque: Array) -> None:
        """Take a checked command, unless it is a repetition, which answers another tick.

        Args:
            arm: Name of the arm.
            number: The tick that it answers, modulo 2^32; None for any tick.
            torque: Torques of the arm's joints (n,), or empty.
        """
        if number is not None and not answers(number, self.tick):
            return
        if torque.size:
            self.torque[self._slices[arm]] = torque
        self._missing.discard(arm)


class SimulatedDrives:
    """Torques of simulated drives for every control period on the wall clock.

    Before the first command the brakes hold. An arm without a new command keeps its last torque
    until the timeout; then its reaction sets in. Brakes hold all arms and stay on until `reset`;
    the other reactions end with a new command.

    Attributes:
        braked: Whether the brakes hold the arms.

    Args:
        arms: The slice of each arm in vectors over the arm joints.
        behaviours: Reaction of each arm's drives after the timeout.
        timeout_periods: The timeout in control periods without a command.
    """

    def __init__(
        self, arms: Sequence[slice], behaviours: Sequence[Behaviour], timeout_periods: int
    ) -> None:
        self._arms, self._behaviours = tuple(arms), tuple(behaviours)
        self._timeout = timeout_periods
        self.reset()

    def reset(self) -> None:
        """Put the brakes on and discard all commands."""
        self._torque = np.zeros(self._arms[-1].stop)
        self._ages = [0] * len(self._arms)
        self.braked = True

    @property
    def timed_out(self) -> bool:
        """Whether an arm has had no command for longer than the timeout."""
        return any(age > self._timeout for age in self._ages)

    @property
    def limp(self) -> tuple[int, ...]:
        """Indices of the arms whose drives have zero torque, because commands have stopped."""
        return tuple(
            arm
            for arm, age in enumerate(self._ages)
            if age > self._timeout and self._behaviours[arm] == "zero"
        )

    def is_silent(self, arm: int) -> bool:
        """Return whether an arm has had no command for some periods."""
        return self._ages[arm] > _SILENT_PERIODS

    def command(self, torque: Array, arms: Iterable[int]) -> None:
        """Take new torques (na,) for some arms."""
        if self.timed_out and self.braked:
            return
        for arm in arms:
            own = self._arms[arm]
            self._torque[own] = torque[own]
            self._ages[arm] = 0
        self.braked = False

    def next(self) -> Array | None:
        """Return the torque (na,) of the next control period; None if the brakes hold."""
        if self.braked:
            return None
        for arm, own in enumerate(self._arms):
            self._ages[arm] += 1
            if self._ages[arm] > self._timeout:
                if self._behaviours[arm] == "brake":
                    self.braked = True
                    return None
                if self._behaviours[arm] == "zero":
                    self._torque[own] = 0.0
        return self._torque.copy()


class OneTopicFilter:
    """Lets one topic at a time command an arm, until that topic is silent.

    Args:
        silence_s: Time without a command after which another topic may command [s].
    """

    def __init__(self, silence_s: float) -> None:
        self._silence = silence_s
        self._last: dict[str, tuple[str, float]] = {}  # topic and time, by arm

    def require(self, arm: str, topic: str, now: float) -> None:
        """Refuse a command beside those on another topic.

        Args:
            arm: Name of the arm.
            topic: Topic of the command.
            now: Present time, by the steady clock [s].

        Raises:
            CommandError: With both topics.
        """
        own, at = self._last.get(arm, (topic, now))
        if own != topic and now - at <= self._silence:
            raise CommandError(
                topic,
                f"a command for arm {arm!r}, which is commanded on {own} as well; expected one "
                "topic of commands: end the other publisher.",
            )
        self._last[arm] = topic, now


class EarlierRunFilter:
    """Recognises commands of the run before a reset, computed for other positions of the arms.

    A controller or guard that continues after the reset numbers its commands by the last tick that
    it has answered: a later tick, and always the same one until it follows the new run. Publishers
    without numbers send zeros, which pass.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def number(self) -> int | None:
        """A refused number; None if there is none."""
        return next(iter(self._numbers.values()), None)

    def refuses(self, arm: str, number: int, tick: int) -> bool:
        """Return whether a command belongs to the earlier run.

        Args:
            arm: Name of the arm.
            number: The tick that the command answers, modulo 2^32.
            tick: The present tick.
        """
        if self._numbers.get(arm) == number:
            return True
        if is_ahead(number, tick):
            self._numbers[arm] = number
            return True
        self._numbers.pop(arm, None)
        return False
