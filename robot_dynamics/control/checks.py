# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The checks of a control instant: cheap when all is well, and exact about what is not.

Comparisons are written so that a NaN is beyond every bound: nothing else has to look for it first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.faults import Cause, Finding
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.errors import ArgumentError
from robot_dynamics.wording import apart

Array = NDArray[np.float64]

_HUGE = np.finfo(float).max  # stands for no limit: infinities and NaN are still beyond it


class MeasurementCheck:
    """Joint states and wrenches, against position and velocity limits.

    Attributes:
        q: Positions given last (na,), good or not.
        qd: Velocities given last (na,).

    Args:
        arms: Names of the arms' joints by arm name, in the order of vectors.
        limits: "lower", "upper", "velocity" over the arm joints (na,).
        wrench_count: Number of measured wrenches.
        wrench_limits: Largest moment [N m] and force [N] along an axis that a sensor may tell.
    """

    def __init__(
        self,
        arms: Mapping[str, Sequence[str]],
        limits: Mapping[str, Array],
        wrench_count: int = 0,
        wrench_limits: tuple[float, float] = (np.inf, np.inf),
    ) -> None:
        self._arms = {name: tuple(joints) for name, joints in arms.items()}
        self._joints = tuple(joint for joints in arms.values() for joint in joints)
        na = len(self._joints)
        # One vector, compared with its bounds at once.
        moment, force = wrench_limits
        free = np.tile([moment] * 3 + [force] * 3, wrench_count)
        speed = limits["velocity"]
        self._lower = np.maximum(np.concatenate([limits["lower"], -speed, -free]), -_HUGE)
        self._upper = np.minimum(np.concatenate([limits["upper"], speed, free]), _HUGE)
        self._values = np.zeros(len(self._lower))
        self.q, self.qd = self._values[:na], self._values[na : 2 * na]
        self._wrenches = self._values[2 * na :].reshape(-1, 6)
        self._count = na
        # Buffers: allocating them would take half of the time of the check.
        self._above, self._below = (np.zeros(len(self._values), dtype=bool) for _ in range(2))
        self._all = bytes([1]) * len(self._values)

    def passes(self, q: Array, qd: Array, wrenches: Array | None = None) -> bool:
        """Return whether everything is a number within its limits.

        Args:
            q: Positions (na,).
            qd: Velocities (na,).
            wrenches: Measured wrenches (k, 6), as many as were announced; none is no mistake.

        Raises:
            ArgumentError: If an array has the wrong length.
        """
        if len(q) != self._count or len(qd) != self._count:
            raise ArgumentError(
                f"{len(q)} positions and {len(qd)} velocities, expected {self._count} of each."
            )
        self.q[:] = q
        self.qd[:] = qd
        if wrenches is not None:
            if wrenches.shape != self._wrenches.shape:
                raise ArgumentError(
                    f"wrenches of shape {wrenches.shape}, expected {self._wrenches.shape}."
                )
            self._wrenches[:] = wrenches
        above = np.less_equal(self._lower, self._values, self._above)
        below = np.less_equal(self._values, self._upper, self._below)
        return above.tobytes() == self._all and below.tobytes() == self._all

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong with the values given last; numbers that are none come first."""
        for arm, joints in self._arms.items():
            bad = next(self._not_finite(joints), None)
            if bad:
                yield Finding(Cause.ARM_LOST, arm, bad)
        if not np.isfinite(self._wrenches).all():
            yield Finding(Cause.WRENCH_LOST, "wrenches", "a number is not finite.")
            self._wrenches[:] = 0.0  # so that they are complained about once
        limits = self._upper[2 * len(self._joints) :].reshape(-1, 6)
        beyond = np.abs(self._wrenches) > limits
        if beyond.any():
            worst, limit = self._wrenches[beyond][0], limits[beyond][0]
            sentence = f"{worst:.4g} is beyond what is plausible, {limit:.4g} N or N m."
            yield Finding(Cause.WRENCH_LOST, "wrenches", sentence)
            self._wrenches[:] = 0.0
        na = len(self._joints)
        for cause, what, values, at in (
            (Cause.POSITION_LIMIT, "position", self.q, slice(0, na)),
            (Cause.VELOCITY_LIMIT, "velocity", self.qd, slice(na, 2 * na)),
        ):
            bounds = zip(self._joints, values, self._lower[at], self._upper[at], strict=True)
            for joint, value, lower, upper in bounds:
                if np.isfinite(value) and not lower <= value <= upper:
                    sentence = f"{what} {value:.4g} is beyond its limits {lower:.4g}, {upper:.4g}."
                    yield Finding(cause, joint, sentence)

    def _not_finite(self, joints: Sequence[str]) -> Iterator[str]:
        for what, values in (("position", self.q), ("velocity", self.qd)):
            for joint in joints:
                value = values[self._joints.index(joint)]
                if not np.isfinite(value):
                    yield f"{what} of joint {joint!r} is {value}; expected a finite number."


class TorqueCheck:
    """Torques of the law, against effort limits: the last line of defence.

    Args:
        joints: Names of the arm joints.
        effort: Largest torques (na,).
        fraction: Part of them that control may use.
    """

    def __init__(self, joints: Sequence[str], effort: Array, fraction: float) -> None:
        self._joints = tuple(joints)
        # What the law has limited itself may exceed the limit by its rounding.
        self._effort = np.minimum(effort * (1.0 + 1e-9), _HUGE)
        self._usable = np.minimum(effort * fraction, _HUGE)
        self._all = bytes([1]) * len(self._joints)

    def passes(self, torque: Array) -> bool:
        """Return whether every torque (na,) is a number within its limit."""
        if len(torque) != len(self._joints):
            return False
        return (abs(torque) <= self._effort).tobytes() == self._all

    def finding(self, torque: Array) -> Finding:
        """Return what is wrong with torques that do not pass."""
        if torque.shape != self._effort.shape:
            sentence = f"the law gave {torque.size} torques, expected {len(self._joints)}."
            return Finding(Cause.TORQUE_INVALID, "controller", sentence)
        i = int(np.argmin(abs(torque) <= self._effort))
        wanted, most = apart(torque[i], self._effort[i], digits=4)
        return Finding(
            Cause.TORQUE_INVALID,
            self._joints[i],
            f"the law wants {wanted} N m; expected a finite torque of at most {most} N m.",
        )

    def support_finding(self, support: Array) -> Finding | None:
        """Return the joint that lacks torque to hold arms and object up, if there is one."""
        if (abs(support) <= self._usable).all():
            return None
        i = int(np.argmax(np.nan_to_num(abs(support) / self._usable, nan=np.inf)))
        taken, most = apart(abs(support[i]), self._usable[i], digits=4)
        return Finding(
            Cause.SUPPORT_LIMIT,
            self._joints[i],
            f"holding arms and object up takes {taken} N m; expected at most {most} N m.",
        )


class ClosureCheck:
    """The disagreement of the arms about the pose of what they hold.

    Attributes:
        warning: Whether it was more than is good when last looked at.

    Args:
        arms: Names of the arms.
        settings: What is good, and what means that a grasp is lost.
    """

    def __init__(self, arms: Sequence[str], settings: SafetySettings) -> None:
        self._arms = tuple(arms)
        self._settings = settings
        self._warning_m, self._warning_rad = (
            settings.closure_warning_m,
            settings.closure_warning_rad,
        )
        self.warning = False

    def passes(self, closure: Array) -> bool:
        """Return whether no grasp is lost.

        Args:
            closure: Disagreement with the first arm, rotation vector and displacement, of every
                other arm (6(k-1),) [rad, m].
        """
        good = True
        self.warning = False
        values = closure.tolist()
        for i in range(0, len(values), 6):
            angle, distance = _sizes(values[i : i + 6])
            if not (distance <= self._warning_m and angle <= self._warning_rad):
                self.warning = True
                good = good and self._is_held(angle, distance)
        return good

    def findings(self, closure: Array) -> Iterator[Finding]:
        """Yield the grasps that are lost."""
        settings = self._settings
        for arm, values in zip(self._arms[1:], closure.reshape(-1, 6).tolist(), strict=True):
            angle, distance = _sizes(values)
            if not self._is_held(angle, distance):
                yield Finding(
                    Cause.GRASP_LOST,
                    arm,
                    f"it and arm {self._arms[0]!r} disagree by {distance:.3g} m and {angle:.3g} "
                    f"rad about the object; expected at most {settings.closure_limit_m:g} m and "
                    f"{settings.closure_limit_rad:g} rad.",
                )

    def _is_held(self, angle: float, distance: float) -> bool:
        settings = self._settings
        return distance <= settings.closure_limit_m and angle <= settings.closure_limit_rad


def _sizes(closure: Sequence[float]) -> tuple[float, float]:
    rx, ry, rz, x, y, z = closure
    return sqrt(rx * rx + ry * ry + rz * rz), sqrt(x * x + y * y + z * z)
