# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What may go wrong with simulated arms: planned by a scenario, or switched on while they run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from robot_dynamics.errors import ArgumentError, UnknownNameError

FaultKind = Literal[
    "position_nan",
    "velocity_inf",
    "wrench_nan",
    "wrench_tared",
    "wrench_inverted",
    "stuck_sensors",
    "late_joints",
    "swapped_joints",
    "velocity_sign",
    "velocity_degrees",
    "velocity_zero",
    "position_degrees",
    "position_jump",
    "torque_dropout",
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


LATE_S = 0.5  # of late joint states [s]
JUMP = 0.5  # of a position [rad or m]


@dataclass(frozen=True)
class FaultSettings:
    """Something that goes wrong.

    What is measured and what drives do goes wrong in every run; what happens to messages, from
    "wrong_name" on, where there are messages.

    Attributes:
        kind: "position_nan", "velocity_inf", "wrench_nan": a number of an arm's measurement that
            is none. "wrench_tared": what a wrist sensor measures when this begins is taken away
            from then on. "wrench_inverted": it has the wrong sign. "stuck_sensors": an arm's
            measurements stay what they were, with fresh time stamps. "late_joints": joint states
            of 0.5 s ago, with fresh time stamps. "swapped_joints": those of the next arm with as
            many joints. "velocity_sign", "velocity_degrees", "velocity_zero": velocities of an arm
            with the wrong sign, in degrees per second, or zero. "position_degrees": positions in
            degrees. "position_jump": the first position is 0.5 rad or m too large.
            "torque_dropout": an arm's drives leave torque mode and give no torque. "wrong_name",
            "missing_joint", "wrong_order": of the joints in an arm's messages. "no_velocities":
            messages without velocities. "wrench_silent", "silent": no messages of wrist or joints.
            "frozen": the last message again and again. "stale_stamp": time stamps stand still.
            "clock_back": they are a minute late. "half_period": they lie about half a control
            period later and jitter by 0.15 ms. "dropped": every second message is missing.
            "duplicated": every message comes twice. "reordered": every message is followed by the
            one before it.
        time_s: When it begins, counted from when the brakes let go [s].
        arm: Whose; all arms if empty.
        duration_s: How long it lasts [s].
    """

    kind: FaultKind
    time_s: float = field(default=0.0, metadata={"unit": "s", "minimum": 0.0})
    arm: str = ""
    duration_s: float = field(
        default=math.inf, metadata={"unit": "s", "above": 0.0, "infinite": True}
    )


class Faults:
    """Which faults are on, control period by control period.

    Attributes:
        active: Whether any is on.
        began: The control period in which the last one that was not on before came on; None
            before the first.
        late_periods: Control periods by which joint states are late, if that is planned; else 0.

    Args:
        arms: Names of the arms.
        planned: What goes wrong, and when.
        period: Control period [s].
    """

    STATE = ("_intervals", "_on", "active", "_tick", "began")

    def __init__(self, arms: Sequence[str], planned: Sequence[FaultSettings], period: float):
        self._arms, self._planned, self._period = tuple(arms), tuple(planned), period
        late = any(fault.kind == "late_joints" for fault in planned)
        self.late_periods = round(LATE_S / period) if late else 0
        for fault in planned:
            self._require_arm(fault.arm)
        self.reset()

    def reset(self) -> None:
        """Return to the start: what was switched on is forgotten, what is planned is to come."""
        self._intervals = [self._interval(fault) for fault in self._planned]
        self._on: frozenset[tuple[FaultKind, str]] = frozenset()
        self.active, self._tick = False, 0
        self.began: int | None = None
        self.move(0)

    def move(self, tick: int) -> None:
        """Go to a control period."""
        self._tick = tick
        if not self._intervals:
            return
        on = frozenset(
            (kind, arm) for begin, end, kind, arm in self._intervals if begin <= tick < end
        )
        if on - self._on:
            self.began = tick
        self._on, self.active = on, bool(on)
        self._intervals = [interval for interval in self._intervals if tick < interval[1]]

    def is_on(self, kind: FaultKind, arm: str) -> bool:
        """Return whether an arm has a fault in this control period."""
        return self.active and ((kind, arm) in self._on or (kind, "") in self._on)

    def switch(self, faults: Sequence[FaultSettings]) -> None:
        """Have these faults from the next control period on, and no others from now on.

        Raises:
            UnknownNameError: If one names an arm that is not there.
        """
        for fault in faults:
            self._require_arm(fault.arm)
        self._intervals = [self._interval(fault, self._tick + 1) for fault in faults]
        self._on, self.active = frozenset(), False
        self.move(self._tick)

    def _interval(self, fault: FaultSettings, now: int = 0) -> tuple[int, float, FaultKind, str]:
        begin = now + round(fault.time_s / self._period)
        lasts = fault.duration_s / self._period
        return (
            begin,
            begin + max(1, round(lasts)) if lasts < math.inf else lasts,
            fault.kind,
            fault.arm,
        )

    def _require_arm(self, arm: str) -> None:
        if arm and arm not in self._arms:
            raise UnknownNameError("arm", arm, self._arms, "fault")


def fault_of(text: str) -> FaultSettings:
    """Return the fault that a text "KIND [ARM] [SECONDS]" names.

    Raises:
        UnknownNameError: If the kind is none.
        ArgumentError: If there are more words, or a duration that is none.
    """
    kind, *words = text.split() or [""]
    if kind not in KINDS:
        raise UnknownNameError("fault", kind, KINDS)
    duration = math.inf
    if words:
        try:
            duration = float(words[-1])
            words.pop()
        except ValueError:
            pass
    if len(words) > 1 or not duration > 0.0:
        raise ArgumentError(f"fault {text!r}; expected KIND [ARM] [SECONDS], more than 0 s.")
    return FaultSettings(kind, arm=words[0] if words else "", duration_s=duration)
