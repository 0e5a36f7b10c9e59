# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Phases of free arms: they move the reference of `FreeArms`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.reference import TIME_LAWS, value_at
from robot_dynamics.control.task.free_arms import FreeArms, JointMove, Lines
from robot_dynamics.control.task.hands import PRESSES
from robot_dynamics.control.task.phases import SETTLE_S, Now, PhaseFailed, TaskPhase
from robot_dynamics.control.task_settings import (
    ApproachSettings,
    GraspSettings,
    MoveSettings,
    ReleaseSettings,
)

_ASTRAY = 5.0  # force of no push at which a search ends, over the force of a touch
_QUINTIC = TIME_LAWS["quintic"]
_Z = 5  # force along z in a wrench
_ARRIVED = 0.05  # distance of joints from the end of a motion [rad or m]


class SqueezeWrenches(NamedTuple):
    """Squeeze of a grasp.

    Attributes:
        internal: Internal force (m,), in the order of the law of the held object.
        wrenches: Wrenches by the tools on the object, in tool frames (k, 6).
    """

    internal: Array
    wrenches: Array


class FreePhase(TaskPhase):
    """A phase of free arms.

    Args:
        name: Key of the phase.
        arms: The arms.
        settings: Its settings, with the time limit and the end after a failure.
    """

    def __init__(
        self,
        name: str,
        arms: FreeArms,
        settings: MoveSettings | ApproachSettings | GraspSettings | ReleaseSettings,
    ) -> None:
        super().__init__(name, settings.time_limit_s, settings.on_failure)
        self._arms = arms

    def _require_free(self, now: Now, most: float) -> None:
        """Fail if a wrist measures more than a force [N]."""
        for i, arm in enumerate(self._arms.system.arms):
            force = 0.0
            if now.wrenches is not None:
                force = float(np.linalg.norm(now.wrenches[i, 3:]))
            if not force <= most:
                raise PhaseFailed(
                    f"arm {arm.name!r} touches something with {force:.3g} N, expected at most "
                    f"{most:g} N while it is free."
                )

    def _arrived(self, now: Now) -> bool:
        """Return whether the joints are where the reference is."""
        error = np.abs(now.q - self._arms.q)
        if (error <= _ARRIVED).all():
            return True
        j, system = int(np.argmax(error)), self._arms.system
        self.awaited = (
            f": joint {system.joint_names[j]!r} is {error[j]:.3g} {system.joint_units[j]} from "
            f"the end of its motion, expected at most {_ARRIVED:g}"
        )
        return False

    def _lines(self, length: float, speed: float) -> Lines:
        return Lines(len(self._arms.system.arms), length, speed)


class Move(FreePhase):
    """Motion of free arms to positions of their joints; see `MoveSettings`.

    Attributes:
        goes_home: Whether they go where they were at the start.
        target: The positions (na,); NaN where a joint stays.
        touch_n: Force at a wrist beyond which the phase fails [N].
    """

    def __init__(self, arms: FreeArms, settings: MoveSettings, target: Array) -> None:
        super().__init__("move", arms, settings)
        self.goes_home = settings.to == "home"
        self.touch_n = settings.touch_n
        self._velocity = settings.velocity_fraction * arms.system.limits["velocity"]
        self.target = target

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        q = self._arms.q
        end = np.where(np.isnan(self.target), q, self.target)
        self._path = JointMove(q, end, self._velocity)
        self.planned_s = self._path.duration

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        self._require_free(now, self.touch_n)
        self._arms.follow(*self._path.at(now.time, self._arms.ahead))
        return now.time >= self.planned_s and self._arrived(now)


class Approach(FreePhase):
    """Motion to some positions, then straight along the tools; see `ApproachSettings`.

    Args:
        arms: The arms.
        settings: The settings.
        target: The positions (na,).
        length: Length of the straight lines [m].

    Attributes:
        touch_n: Force at a wrist beyond which the phase fails [N].
    """

    def __init__(
        self,
        arms: FreeArms,
        settings: ApproachSettings,
        target: Array,
        length: float,
    ) -> None:
        super().__init__("approach", arms, settings)
        self._settings, self._target, self._length = settings, target, length
        self.touch_n = settings.touch_n
        self._velocity = settings.velocity_fraction * arms.system.limits["velocity"]

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        self._path = JointMove(self._arms.q, self._target, self._velocity)
        self._along = self._lines(self._length, self._settings.speed)
        self.planned_s = self._path.duration + self._along.duration
        self._on_line = False

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        self._require_free(now, self.touch_n)
        on_line = now.time - self._path.duration
        if on_line < 0.0:
            self._arms.follow(*self._path.at(now.time, self._arms.ahead))
            return False
        if not self._on_line:
            self._on_line = True
            self._arms.begin_lines()
        self._arms.advance_tools(self._along.speeds(on_line))
        return now.time >= self.planned_s and self._arrived(now) and self._tools_arrived(now)

    def _tools_arrived(self, now: Now) -> bool:
        """Return whether the tools are where the hands can close."""
        self.awaited = self._arms.astray(now.q)
        return not self.awaited


class Grasp(FreePhase):
    """Search for contact along the tools, then a squeeze; see `GraspSettings`.

    Args:
        arms: The arms.
        settings: The settings.
        squeeze: Its squeeze.

    Attributes:
        squeeze: Its squeeze.
        share: Part of it that the arms press with now.
    """

    def __init__(self, arms: FreeArms, settings: GraspSettings, squeeze: SqueezeWrenches) -> None:
        super().__init__("grasp", arms, settings)
        self._settings, self.squeeze, self.share = settings, squeeze, 0.0

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        own = self._settings
        self._along = self._lines(2.0 * own.touch_within_m, own.speed)
        self.planned_s = self._along.duration + own.squeeze_s + SETTLE_S
        self._touching = [False] * len(self._arms.system.arms)
        self._squeezed_at, self.share = np.inf, 0.0
        self._arms.begin_lines()

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        own, arms = self._settings, self._arms
        if not all(self._touching):
            self._search(now)
            if all(self._touching):
                self._squeezed_at = now.time
            return False
        grown = min((now.time - self._squeezed_at) / own.squeeze_s, 1.0)
        self.share = value_at(_QUINTIC, grown)
        arms.wrenches = self.share * self.squeeze.wrenches
        if now.time < self._squeezed_at + own.squeeze_s + SETTLE_S:
            return False
        for i, arm in enumerate(arms.system.arms):
            pressed, wanted = now.pressing(i), float(self.squeeze.wrenches[i, _Z])
            if not pressed >= PRESSES * wanted:
                raise PhaseFailed(
                    f"arm {arm.name!r} presses with {pressed:.3g} N, expected at least "
                    f"{PRESSES * wanted:.3g} N of the squeeze of {wanted:.3g} N."
                )
        return True

    def ideal_wrenches(self) -> Array:
        """Return the wrenches (k, 6) that wrists would measure with the object at its place."""
        found, own = np.zeros_like(self.squeeze.wrenches), self._settings
        at_grasp = self._arms.along >= own.touch_within_m
        found[at_grasp, _Z] = max(own.touch_n, float(self.squeeze.wrenches[:, _Z].max()))
        return found

    def _require_push(self, now: Now, arm: int) -> None:
        """Fail if a tool that does not touch yet measures a force other than a push along it."""
        force = 0.0 if now.wrenches is None else float(np.linalg.norm(now.wrenches[arm, 3:]))
        most = _ASTRAY * self._settings.touch_n
        if not force <= most:
            name = self._arms.system.arms[arm].name
            raise PhaseFailed(
                f"arm {name!r} measures {force:.3g} N but no push along its tool, expected at "
                f"most {most:g} N: it touches something else, or its wrist sensor is wrong."
            )

    def _search(self, now: Now) -> None:
        """Move the tools that do not touch yet."""
        own, arms = self._settings, self._arms
        for i in range(len(self._touching)):
            if not self._touching[i] and now.pressing(i) >= own.touch_n:
                self._touching[i] = True
                self._along.stop(i)
                arms.rest_arm(i, now.q)
            elif not self._touching[i]:
                self._require_push(now, i)
        if now.time >= self._along.duration and not all(self._touching):
            names = [
                repr(arm.name)
                for arm, found in zip(arms.system.arms, self._touching, strict=True)
                if not found
            ]
            raise PhaseFailed(
                f"arm{'s' * (len(names) > 1)} {' and '.join(names)} found no contact within "
                f"{own.touch_within_m:g} m of the grasp; expected the object there."
            )
        arms.advance_tools(self._along.speeds(now.time))


class Release(FreePhase):
    """End of the squeeze, then a retreat along the tools; see `ReleaseSettings`.

    Args:
        arms: The arms.
        settings: The settings.
        squeeze: Its squeeze.
        open_hands: Opens grippers; None without them.

    Attributes:
        squeeze: Its squeeze.
        share: Part of it that the arms press with now.
    """

    def __init__(
        self,
        arms: FreeArms,
        settings: ReleaseSettings,
        squeeze: SqueezeWrenches,
        open_hands: Callable[[], None] | None = None,
    ) -> None:
        super().__init__("release", arms, settings)
        self._settings, self.squeeze, self.share = settings, squeeze, 0.0
        self._open_hands = open_hands

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        own, arms = self._settings, self._arms
        self._pressing = arms.wrenches  # less than the squeeze after a grasp that failed
        arms.begin(now.q, now.last)
        arms.wrenches = self._pressing
        self._begun = self.share = float(
            np.linalg.norm(self._pressing) / np.linalg.norm(self.squeeze.wrenches)
        )
        self._along = self._lines(-own.distance_m, own.speed)
        self._opened_s = (2.0 if self._open_hands else 1.0) * own.open_s
        self.planned_s = self._opened_s + self._along.duration
        self._on_line = False

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        own, arms = self._settings, self._arms
        if now.time < own.open_s:
            left = 1.0 - value_at(_QUINTIC, now.time / own.open_s)
            self.share, arms.wrenches = left * self._begun, left * self._pressing
            return False
        self.share, arms.wrenches = 0.0, np.zeros_like(self._pressing)
        if self._open_hands:
            self._open_hands()
        if now.time < self._opened_s:
            return False
        if not self._on_line:
            self._on_line = True
            arms.begin_lines()
        arms.advance_tools(self._along.speeds(now.time - self._opened_s))
        return now.time >= self.planned_s and self._arrived(now)
