# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the drives of the arms do, of each arm, and what somebody must say before a start."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node

from robot_dynamics.control.arm_model import ArmModel
from robot_dynamics.control.faults import SafetyError
from robot_dynamics.manipulation.settings import ArmSettings
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.nodes.command_topics import UNKNOWN
from robot_dynamics.nodes.conversions import is_ahead

Array = NDArray[np.float64]

SIMULATOR = "simulator"  # the node whose drives are known


class DriveFacts:
    """What drives do: the scenario says it of an arm, else the node's parameters do of all.

    Attributes:
        compensate_gravity: Names of the arms whose drives hold them up on their own.
        without_commands: What each arm's drive does when commands stop, by the arm's name.

    Args:
        arms: The arms of the scenario.
        values: The node's parameters.
        given: Names of those that somebody has given.
    """

    def __init__(
        self, arms: Sequence[ArmSettings], values: Mapping[str, Any], given: Collection[str]
    ) -> None:
        gravity, stop = "drives_compensate_gravity", "on_command_timeout"
        self.compensate_gravity = tuple(
            arm.name
            for arm in arms
            if (
                values[gravity]
                if arm.drive.compensates_gravity is None
                else arm.drive.compensates_gravity
            )
        )
        self.without_commands = {
            arm.name: arm.drive.without_commands or values.get(stop, "brake") for arm in arms
        }
        self._unsaid = {
            parameter: [arm.name for arm in arms if getattr(arm.drive, key) is None]
            for parameter, key in ((stop, "without_commands"), (gravity, "compensates_gravity"))
            if parameter not in given
        }

    @property
    def any_holds(self) -> bool:
        """Whether a drive holds its last torque for ever."""
        return "hold" in self.without_commands.values()

    def guard(self, wish: str) -> str:
        """Return whether control needs a guard: none, wanted or required.

        Args:
            wish: The same, or automatic: as drives ask for it.
        """
        if wish == "automatic":
            return "required" if self.any_holds else "none"
        return wish

    def require_known(self, node: Node, topics: Sequence[str]) -> bool:
        """Refuse joint states of real arms of whose drives nobody has said what they do.

        Args:
            node: The node that listens.
            topics: Where joint states come from.

        Returns:
            Whether it is known who publishes them.

        Raises:
            SafetyError: If they come from anything but a simulator, and a fact is missing.
        """
        unsaid = {name: arms for name, arms in self._unsaid.items() if arms}
        if not unsaid:
            return True
        known = True
        for topic in map(node.resolve_topic_name, topics):
            for source in node.get_publishers_info_by_topic(topic):
                if source.node_name in UNKNOWN:
                    known = False
                elif source.node_name != SIMULATOR:
                    arms = sorted({arm for names in unsaid.values() for arm in names})
                    raise SafetyError(
                        f"start refused: joint states on {topic} come from {source.node_name!r}; "
                        f"expected the parameters {', '.join(unsaid)}, or drive of the arms "
                        f"{', '.join(arms)} in the scenario, to say what the drives of real arms "
                        "do."
                    )
        return known


class DriveGravity:
    """The torque that the drives add to commands.

    Args:
        system: The arms; what they hold is none of the drives' business.
        compensated: Names of the arms whose drives add it.
        positions: Returns the arms' last good positions (na,).
    """

    def __init__(
        self, system: GraspSystem, compensated: Collection[str], positions: Callable[[], Array]
    ) -> None:
        self._slices = {
            arm.name: own for arm, own in zip(system.arms, system.arm_slices, strict=True)
        }
        self._arms = ArmModel(system) if compensated else None
        self._share = np.zeros(len(system.joint_names))  # 1 where a drive adds something, else 0
        for name in compensated:
            self._share[self._slices[name]] = 1.0
        self._positions = positions

    def added(self, q: Array) -> Array:
        """Return what the drives add at positions `q` (na,)."""
        if self._arms is None:
            return np.zeros(len(q))
        return np.asarray(self._share * self._arms.support(q))

    def commanded(self, torque: Array) -> Array:
        """Return the commands (na,) that make joint torques (na,)."""
        return torque if self._arms is None else torque - self.added(self._positions())

    def made(self, command: Array) -> Array:
        """Return the joint torques (na,) that commands (na,) make."""
        return command if self._arms is None else command + self.added(self._positions())

    def made_of(self, arm: str, command: Array) -> Array:
        """Return the joint torques of one arm; a command of another size is left as it is."""
        own = self._slices[arm]
        if self._arms is None or len(command) != own.stop - own.start:
            return command
        return command + self.added(self._positions())[own]


Behaviour = Literal["brake", "zero", "hold"]


_SILENT_PERIODS = 5  # without a command, after which the others' commands do not wait for it


class Drives:
    """Torques for every control period, whether commands have come or not.

    Before the first command the brakes hold. An arm without a new command keeps its last torque
    for a while; then the behaviour sets in. Brakes hold all arms, and stay on until `reset`; the
    other behaviours let a new command through at once.

    Attributes:
        braked: Whether the brakes hold the arms.

    Args:
        arms: Where each arm stands in vectors over the arm joints.
        behaviours: What happens when the commands of each arm have stopped.
        timeout_periods: Control periods without a command after which they have.
    """

    def __init__(
        self, arms: Sequence[slice], behaviours: Sequence[Behaviour], timeout_periods: int
    ) -> None:
        self._arms, self._behaviours = tuple(arms), tuple(behaviours)
        self._timeout = timeout_periods
        self.reset()

    def reset(self) -> None:
        """Return to brakes and no command."""
        self._torque = np.zeros(self._arms[-1].stop)
        self._ages = [0] * len(self._arms)
        self.braked = True

    @property
    def lost(self) -> bool:
        """Whether the commands of any arm have stopped."""
        return any(age > self._timeout for age in self._ages)

    def is_silent(self, arm: int) -> bool:
        """Return whether an arm has had no command for some periods."""
        return self._ages[arm] > _SILENT_PERIODS

    def command(self, torque: Array, arms: Iterable[int]) -> None:
        """Take new torques (na,) for some arms."""
        if self.lost and self.braked:
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


class EarlierRun:
    """Tells commands of a run that was before a reset: they are for arms that are elsewhere.

    Those who go on to command after it number their commands by what they have answered last:
    by a tick that is still to come, and by the same one until they follow the new run. Who does
    not number commands sends zeros, which are taken.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def number(self) -> int | None:
        """A number that was refused, if any was."""
        return next(iter(self._numbers.values()), None)

    def has(self, arm: str, number: int, tick: int) -> bool:
        """Return whether a command belongs to it.

        Args:
            arm: Name of the arm.
            number: The tick that the command answers, modulo 2^32.
            tick: The present one.
        """
        if self._numbers.get(arm) == number:
            return True
        if is_ahead(number, tick):
            self._numbers[arm] = number
            return True
        self._numbers.pop(arm, None)
        return False
