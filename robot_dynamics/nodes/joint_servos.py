# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Servos of simulated drives that take positions or velocities instead of torques."""

from __future__ import annotations

import numpy as np

from robot_dynamics.app.recordings.topic_names import JOINT_COMMANDS
from robot_dynamics.arrays import Array
from robot_dynamics.control.arm_model import ArmModel, with_load_in_hand
from robot_dynamics.control.joint_hold import JointHold
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.nodes.joint_commands import CommandError, JointCommand

_BANDWIDTH_PERIODS = 0.05  # bandwidth of a servo times control period, see `JointHold`
_MOST = 1e6  # bound for joints without limits [rad, m, rad/s, m/s, N m or N]
_ROUNDING = 1e-6  # excess over a limit that is no error [rad, m, rad/s or m/s]
_ALL = slice(None)


class _Servo:
    """Servo of the joints of an arm.

    Attributes:
        command: The last command.
        points: Desired positions (n,).
        hold: The law of the servo.
    """

    def __init__(self, command: JointCommand, q: Array, bandwidth: float) -> None:
        self.command, self.points = command, q.copy()
        self.hold = JointHold(len(q), bandwidth)

    @property
    def velocity(self) -> Array:
        """Desired velocities (n,)."""
        given = self.command.velocity
        return given if given.size else np.zeros(len(self.points))

    def acceleration(self, q: Array, qd: Array) -> Array:
        """Return the desired accelerations (n,) at positions and velocities (n,)."""
        if self.command.position.size:
            self.points = self.command.position
        return self.hold.acceleration(_ALL, q - self.points, qd - self.velocity)


class JointServos:
    """Servos that bring joints to commanded positions.

    With `e = q - q_d` the joints accelerate by the law of `JointHold`, in which the velocity is
    less the commanded one. Without commanded positions `q_d` is the integral of the velocities.

    Gravity and inertia are those of the arms, with their shares of an object that they hold all
    the time. Other loads are unknown to the servos.

    Args:
        system: The arms.
        period: Control period [s].
        held: Whether the arms hold the object all the time.
    """

    def __init__(self, system: GraspSystem, period: float, *, held: bool) -> None:
        arms = zip(system.arms, system.arm_slices, strict=True)
        self._slices = {arm.name: own for arm, own in arms}
        limits = {name: np.clip(x, -_MOST, _MOST) for name, x in system.limits.items()}
        self._lower, self._upper = limits["lower"], limits["upper"]
        self._speed, self._effort = limits["velocity"], limits["effort"]
        self._joints, self._period = system.joint_names, period
        self._system = with_load_in_hand(system) if held else system
        self._model: ArmModel | None = None
        self.reset()

    def reset(self) -> None:
        """Switch all servos off."""
        self._servos: dict[str, _Servo] = {}

    def release(self, arm: str) -> None:
        """Switch the servo of an arm off."""
        self._servos.pop(arm, None)

    def check(self, command: JointCommand) -> None:
        """Refuse positions and velocities beyond the limits of the joints.

        Raises:
            CommandError: With the joint.
        """
        own = self._slices[command.arm]
        speed = self._speed[own]
        for what, values, least, most in (
            ("position", command.position, self._lower[own], self._upper[own]),
            ("velocity", command.velocity, -speed, speed),
        ):
            for joint, value, low, high in zip(
                self._joints[own], values, least, most, strict=False
            ):
                if not low - _ROUNDING <= value <= high + _ROUNDING:
                    raise CommandError(
                        JOINT_COMMANDS,
                        f"{what} of joint {joint!r} is {value:.7g}; expected {low:.7g} to "
                        f"{high:.7g}.",
                    )

    def take(self, command: JointCommand, q: Array) -> None:
        """Follow a command of positions or velocities; another one switches the servo off.

        Args:
            command: The command.
            q: Present positions of the arm joints (na,).
        """
        arm, own = command.arm, self._slices[command.arm]
        if not command.moves:
            self.release(arm)
            return
        if self._model is None:
            self._model = ArmModel(self._system)
        if arm not in self._servos:
            bandwidth = _BANDWIDTH_PERIODS / self._period
            self._servos[arm] = _Servo(command, q[own], bandwidth)
        self._servos[arm].command = command

    def torques(self, torque: Array, q: Array, qd: Array) -> Array:
        """Return joint torques (na,): those of the servos, and of other arms the given ones.

        Args:
            torque: Torques of drives that take them (na,).
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).
        """
        if not self._servos or self._model is None:
            return torque
        found, qdd = torque.copy(), np.zeros(len(q))
        for arm, servo in self._servos.items():
            own = self._slices[arm]
            qdd[own] = servo.acceleration(q[own], qd[own])
        wanted = self._model.inertia(q) @ qdd + self._model.support(q)
        limited = np.clip(wanted, -self._effort, self._effort)
        for arm, servo in self._servos.items():
            own = self._slices[arm]
            found[own] = limited[own]
            free = limited[own] == wanted[own]
            servo.hold.integrate(_ALL, q[own] - servo.points, free, self._period)
            moved = servo.points + self._period * servo.velocity
            servo.points = np.clip(moved, self._lower[own], self._upper[own])
        return found
