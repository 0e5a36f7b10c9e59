# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of simulated arms: planned by a scenario, or switched on while they run."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from robot_dynamics.errors import ArgumentError, UnknownNameError

FaultKind = Literal[
    "position_nan",
    "velocity_inf",
    "wrench_nan",
    "wrench_tared",
    "wrench_scale",
    "stuck_sensors",
    "late_joints",
    "swapped_joints",
    "position_scale",
    "position_offset",
    "velocity_scale",
    "drive_gain",
    "joint_stuck",
    "wrong_name",
    "wrong_order",
    "missing_joint",
    "no_velocities",
    "wrench_silent",
    "silent",
    "frozen",
    "stale_stamp",
    "clock_back",
    "half_period",
    "dropped",
    "duplicated",
    "reordered",
]
KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
#: Kinds of faults of messages.
OF_MESSAGES = KINDS[KINDS.index("wrong_name") :]

_WITH_VALUE = (
    *("position_scale", "position_offset", "velocity_scale", "wrench_scale"),
    *("late_joints", "drive_gain"),
)
_OF_JOINTS = (
    *("position_scale", "position_offset", "velocity_scale"),
    *("stuck_sensors", "drive_gain", "joint_stuck"),
)
_PLANNED_ONLY = ("late_joints", "joint_stuck")  # sensors and engine prepare for them


@dataclass(frozen=True)
class FaultSettings:
    """A fault of sensors, drives, joints or messages.

    Faults of messages, from "wrong_name" on, act only in runs with messages, the others in every
    run.

    Attributes:
        kind: "position_nan", "velocity_inf", "wrench_nan": an entry of an arm's measurement is NaN
            or infinite. "wrench_tared": the wrench that a wrist sensor measures at the beginning
            is subtracted. "wrench_scale": its measurements are multiplied by `value`; -1 for the
            wrong sign. "stuck_sensors": an arm's measurements, or those of one of its joints, stay
            constant, with fresh time stamps. "late_joints": joint states are delayed by `value`
            [s], with fresh time stamps. "swapped_joints": joint states of the next arm with as
            many joints. "position_scale", "velocity_scale": measured positions or velocities are
            multiplied by `value`: -1 for the wrong sign, 57.29578 for degrees, 0 for velocities
            that stay zero. "position_offset": `value` [rad or m] is added to measured positions,
            as by an encoder that is badly calibrated or has slipped. "drive_gain": drives give
            `value` times their limited torque, within their limits; 0 for drives that are
            switched off. "joint_stuck": joints do not move. "wrong_name", "missing_joint",
            "wrong_order": errors of the joints in an arm's messages. "no_velocities": messages
            without velocities. "wrench_silent", "silent": no messages of wrist or joints.
            "frozen": the last message is repeated. "stale_stamp": time stamps stand still.
            "clock_back": they are a minute late. "half_period": they are half a control period
            late, with a jitter of 0.15 ms. "dropped": every second message is missing.
            "duplicated": every message comes twice. "reordered": every message is followed by its
            predecessor.
        time_s: Its beginning, counted from the release of the brakes [s].
        arm: Name of its arm; all arms if empty.
        joint: The only joint of an arm that has it, for "position_scale", "position_offset",
            "velocity_scale", "stuck_sensors", "drive_gain" and "joint_stuck"; all joints if empty.
        value: Factor, offset or delay of the kinds that have one; see `kind`.
        duration_s: Its duration [s].
    """

    kind: FaultKind
    time_s: float = field(default=0.0, metadata={"unit": "s", "minimum": 0.0})
    arm: str = ""
    duration_s: float = field(
        default=math.inf, metadata={"unit": "s", "above": 0.0, "infinite": True}
    )
    joint: str = ""
    value: float | None = field(default=None, metadata={"unit": "rad, m, s or 1"})

    def __post_init__(self) -> None:
        has = "no value" if self.value is None else f"the value {self.value:g}"
        if self.kind not in _WITH_VALUE:
            if self.value is not None:
                raise ArgumentError(f"fault {self.kind!r} has {has}, expected none.")
        elif self.value is None or not math.isfinite(self.value):
            raise ArgumentError(f"fault {self.kind!r} has {has}, expected a finite number.")
        elif self.kind == "late_joints" and self.value <= 0.0:
            raise ArgumentError(f"fault {self.kind!r} has {has}, expected more than 0 s.")
        if self.joint and self.kind not in _OF_JOINTS:
            raise ArgumentError(
                f"fault {self.kind!r} of joint {self.joint!r}: this kind is of whole arms, "
                f"expected one of {', '.join(_OF_JOINTS)}."
            )
        if self.joint and self.arm:
            raise ArgumentError(
                f"fault {self.kind!r} has arm {self.arm!r} and joint {self.joint!r}, expected one "
                "of the two."
            )


class Faults:
    """Faults that are on, control period by control period.

    Attributes:
        active: Whether any is on.
        began: The control period in which a fault was last switched on; None before the first.
        joints: Names of the arm joints.
        largest_delay: Largest delay of planned late joint states, in control periods.

    Args:
        arms: Slice of each arm in vectors over the arm joints, by its name.
        planned: The planned faults.
        period: Control period [s].
        joints: Names of the arm joints, in their order.

    Raises:
        UnknownNameError: If a planned fault names an arm or a joint that is not there.
    """

    STATE = ("_intervals", "_on", "active", "_tick", "began")

    def __init__(
        self,
        arms: Mapping[str, slice],
        planned: Sequence[FaultSettings],
        period: float,
        joints: Sequence[str] = (),
    ) -> None:
        self._arms, self._planned, self._period = arms, tuple(planned), period
        self.joints = tuple(joints)
        late = [fault.value or 0.0 for fault in planned if fault.kind == "late_joints"]
        self.largest_delay = self.periods(max(late, default=0.0))
        for fault in planned:
            self._require_known(fault, "plant.faults")
        self.reset()

    def reset(self) -> None:
        """Return to the start: switched faults end, planned ones are pending again."""
        self._intervals = [self._interval(fault) for fault in self._planned]
        self._on: tuple[FaultSettings, ...] = ()
        self.active, self._tick = False, 0
        self.began: int | None = None
        self.move(0)

    def move(self, tick: int) -> None:
        """Go to a control period."""
        self._tick = tick
        if not self._intervals:
            return
        on = tuple(fault for begin, end, fault in self._intervals if begin <= tick < end)
        if not set(on) <= set(self._on):
            self.began = tick
        self._on, self.active = on, bool(on)
        self._intervals = [interval for interval in self._intervals if tick < interval[1]]

    def is_on(self, kind: FaultKind, arm: str) -> bool:
        """Return whether an arm has a fault in this control period."""
        return bool(self.values(kind, arm))

    def values(self, kind: FaultKind, arm: str) -> list[tuple[slice, float]]:
        """Return the joints and the value of each fault of a kind that an arm has now.

        Joints are a slice of vectors over all arm joints; a kind without a value has zero.
        """
        own, found = self._arms[arm], []
        for fault in self._on:
            if fault.kind != kind or fault.arm not in ("", arm):
                continue
            if not fault.joint:
                found.append((own, fault.value or 0.0))
            elif own.start <= (at := self.joints.index(fault.joint)) < own.stop:
                found.append((slice(at, at + 1), fault.value or 0.0))
        return found

    def periods(self, seconds: float) -> int:
        """Return a time as a number of control periods."""
        return round(seconds / self._period)

    def switch(self, faults: Sequence[FaultSettings]) -> None:
        """Replace the switched faults by these, which begin in the next control period.

        Raises:
            UnknownNameError: If one names an arm or a joint that is not there.
            ArgumentError: If one can only be planned.
        """
        for fault in faults:
            self._require_known(fault, "fault")
            if fault.kind in _PLANNED_ONLY:
                raise ArgumentError(
                    f"fault {fault.kind!r} is switched on while arms are simulated; expected it "
                    "in plant.faults of the scenario."
                )
        self._intervals = [self._interval(fault, self._tick + 1) for fault in faults]
        self._on, self.active = (), False
        self.move(self._tick)

    def _interval(self, fault: FaultSettings, now: int = 0) -> tuple[int, float, FaultSettings]:
        begin, end = interval_of(fault.time_s, fault.duration_s, self._period)
        return now + begin, now + end, fault

    def _require_known(self, fault: FaultSettings, place: str) -> None:
        if fault.arm and fault.arm not in self._arms:
            raise UnknownNameError("arm", fault.arm, self._arms, place)
        if fault.joint and fault.joint not in self.joints:
            raise UnknownNameError("joint", fault.joint, self.joints, place)


def interval_of(time_s: float, duration_s: float, period: float) -> tuple[int, float]:
    """Return the first control period of an interval, and the first one after it.

    Args:
        time_s: Its beginning [s].
        duration_s: Its duration [s]: at least one control period.
        period: Control period [s].
    """
    begin, lasts = round(time_s / period), duration_s / period
    return begin, begin + max(1, round(lasts)) if lasts < math.inf else lasts


def fault_of(text: str, joints: Collection[str] = ()) -> FaultSettings:
    """Return the fault that a text "KIND[=VALUE] [ARM or JOINT] [SECONDS]" names.

    Args:
        text: The text.
        joints: Names of the arm joints; other names are arms.

    Raises:
        UnknownNameError: If there is no such kind.
        ArgumentError: If there are more words, an invalid duration, or a value or a joint that
            does not fit the kind.
    """
    first, *words = text.split() or [""]
    kind, given, number = first.partition("=")
    if kind not in KINDS:
        raise UnknownNameError("fault", kind, KINDS)
    value = _number(number) if given else None
    seconds = _number(words[-1]) if words else None
    if seconds is not None:
        words.pop()
    duration = math.inf if seconds is None else seconds
    if len(words) > 1 or not duration > 0.0 or (given and value is None):
        raise ArgumentError(
            f"fault {text!r}; expected KIND[=VALUE] [ARM or JOINT] [SECONDS], more than 0 s."
        )
    name = words[0] if words else ""
    arm, joint = ("", name) if name in joints else (name, "")
    return FaultSettings(kind, arm=arm, duration_s=duration, joint=joint, value=value)


def _number(text: str) -> float | None:
    """Return the number in a text; None if it is not a number."""
    try:
        return float(text)
    except ValueError:
        return None
