# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands by joint name, as `joint_state_topic_hardware_interface` of ros2_control sends them.

A message of `sensor_msgs/JointState` contains commands of whole arms, in any order of joints. The
fields that are not empty select the command: efforts, positions or velocities. Its stamp is the
time of the state that it answers, or any other time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from robot_dynamics.app.recordings.topic_names import JOINT_COMMANDS
from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import tick_of
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.conversions import JointSample, joint_state_reader
from robot_dynamics.nodes.topics import STREAM, Inbox

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
