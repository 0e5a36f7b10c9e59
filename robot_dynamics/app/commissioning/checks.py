# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of positions, velocities and rates that a commissioning has recorded, arm by arm."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy.ndimage import binary_dilation

from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array
from robot_dynamics.identification.signals import Filters
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.manipulation.wrist_sensors import ToolWeights

Verdict = Literal["go", "no-go", "not examined"]

#: Cut-off frequency of the fits [Hz]: recordings that a fault ends are short.
CUTOFF = 10.0
#: Speed of a joint that moves [rad/s or m/s].
MOVES = 0.05
_AT_HOME = 0.05  # rad or m: largest distance of a joint from home at the start
_MOVED = 0.01  # rad or m: least displacement of an arm in the motion
_SLOPE = 0.1  # largest error of velocities over the rate of positions
_FRESH = 0.9  # least share of new samples while an arm moves
_WEIGHT = 2.0  # N: least weight of a tool that shows the sign of a sensor
_SAMPLES = 10  # fewest samples of a moving joint


@dataclass(frozen=True)
class CellCheck:
    """A check of a commissioning.

    Attributes:
        arm: Name of the arm.
        subject: What was checked.
        verdict: "go", "no-go", or "not examined".
        found: Measured value, or the reason why there is none.
        limit: What was expected.
        remedy: What to do; empty if nothing.
    """

    arm: str
    subject: str
    verdict: Verdict
    found: str
    limit: str = ""
    remedy: str = ""

    @property
    def json(self) -> dict[str, Any]:
        """The check as JSON values."""
        return asdict(self)

    @property
    def line(self) -> str:
        """The check as text."""
        mark = {"go": "go", "no-go": "NO-GO", "not examined": "-"}[self.verdict]
        text = f"  {mark:<6} {self.arm:<8} {self.subject:<18} {self.found}"
        text += f"; expected {self.limit}" if self.limit else ""
        return text + (f"\n{'':<35}{self.remedy}" if self.remedy else "")


def judged(
    arm: str, subject: str, found: str, limit: str, *, wrong: bool, remedy: str = ""
) -> CellCheck:
    """Return a check that was made; the remedy is part of it if it failed."""
    if wrong:
        return CellCheck(arm, subject, "no-go", found, limit, remedy)
    return CellCheck(arm, subject, "go", found, limit)


def check_start(scenario: Scenario, system: GraspSystem, q: Array) -> list[CellCheck]:
    """Return a check of each arm's positions at rest: names, units, signs.

    Args:
        scenario: The scenario, at whose home the arms stand.
        system: Its arms.
        q: Measured positions (na,).
    """
    return [_start_of(scenario, system, q, i) for i in range(len(system.arms))]


def _start_of(scenario: Scenario, system: GraspSystem, q: Array, i: int) -> CellCheck:
    arm, own = system.arms[i], system.arm_slices[i]
    home, seen = scenario.home[own], q[own]
    far = np.abs(seen - home)
    worst = int(np.argmax(far))
    unit = system.joint_units[own][worst]
    limit = f"at most {_AT_HOME:g} {unit}"

    def failed(found: str, remedy: str) -> CellCheck:
        return CellCheck(arm.name, "positions at rest", "no-go", found, limit, remedy)

    def is_at(place: Array) -> bool:
        return bool(np.abs(seen - place).max() <= _AT_HOME)

    if not np.isfinite(seen).all():
        joint = arm.joints[int(np.flatnonzero(~np.isfinite(seen))[0])]
        return failed(f"{joint} has no number", "correct the driver or the names of its joints")
    found = f"{arm.joints[worst]} is {far[worst]:.3g} {unit} from home"
    if is_at(home):
        return CellCheck(arm.name, "positions at rest", "go", found, limit)
    for other, their in zip(system.arms, system.arm_slices, strict=True):
        same = other.name != arm.name and len(other.joints) == len(arm.joints)
        if same and is_at(scenario.home[their]):
            return failed(
                f"{found}; these are the positions of arm {other.name!r}",
                "exchange the topics or joint names of the two arms",
            )
    if np.abs(np.radians(seen) - home).max() <= _AT_HOME:
        return failed(f"{found}; these are degrees", "let the driver publish radians")
    wrong = far > _AT_HOME
    if (np.abs(seen + home)[wrong] <= _AT_HOME).all():
        names = ", ".join(name for name, one in zip(arm.joints, wrong, strict=True) if one)
        return failed(f"{found}; the sign of {names} is reversed", "reverse it in the driver")
    return failed(
        f"{found}: it is at {seen[worst]:.4g} {unit}",
        "move the arm home, or correct `home` or `posture`, or calibrate the joint",
    )


def check_wrists(system: GraspSystem, q: Array, wrenches: Array) -> list[CellCheck]:
    """Return a check of each wrist sensor that measures the weight of its tool upside down.

    Args:
        system: The arms.
        q: Measured positions of the arms at rest (na,).
        wrenches: Measured wrenches (k, 6), moment first.
    """
    checks = []
    for arm, seen, weight in zip(
        system.arms, wrenches[:, 3:], ToolWeights(system).wrenches(q)[:, 3:], strict=True
    ):
        size = float(np.linalg.norm(weight))
        if size > _WEIGHT and np.linalg.norm(seen + weight) < 0.5 * size:
            found = f"it measures ({', '.join(f'{f:.1f}' for f in seen)}) N at rest"
            limit = f"({', '.join(f'{f:.1f}' for f in weight)}) N, the weight of its tool"
            remedy = "reverse the sign in its driver"
            checks.append(CellCheck(arm.name, "wrist sensor", "no-go", found, limit, remedy))
    return checks


def check_whole_motion(scenario: Scenario, system: GraspSystem, q: Array) -> CellCheck:
    """Return the check that a recording without faults contains the motion of every arm.

    Args:
        scenario: The scenario, at whose home the motion begins and ends.
        system: Its arms.
        q: Measured positions (N, na).
    """
    far, limit = np.abs(q - scenario.home), "that every arm moves and returns"
    for arm, own in zip(system.arms, system.arm_slices, strict=True):
        found = ""
        if not np.nan_to_num(far[:, own]).max() >= _MOVED:
            found = f"arm {arm.name!r} does not move"
        elif not far[-1, own].max() <= _AT_HOME:
            found = f"arm {arm.name!r} is not at home at the end"
        if found:
            return CellCheck("", "motion", "no-go", found, limit, "record the whole motion")
    found = "every arm moved and returned: no torque has the wrong sign"
    return CellCheck("", "motion", "go", found)


def check_motion(
    system: GraspSystem, i: int, q: Array, qd: Array, period: float
) -> list[CellCheck]:
    """Return checks of an arm's velocities and rate of samples.

    Args:
        system: The arms.
        i: Index of the arm.
        q: Measured positions (N, na).
        qd: Measured velocities (N, na).
        period: Control period [s].
    """
    arm, own = system.arms[i], system.arm_slices[i]
    filters = Filters(period, CUTOFF)
    rate, smooth = filters.differentiate(q[:, own])[1], filters.differentiate(qd[:, own])[0]
    # The motion is slower; an arm that nothing controls any more hits its stops. Windows of the
    # derivative must not reach that.
    fast = ~(np.abs(rate) < 0.5 * system.limits["velocity"][own]).all(axis=1)
    wild = binary_dilation(
        fast & np.isfinite(rate).all(axis=1), iterations=len(filters.derivative(1))
    )
    return [
        _velocities(arm.name, arm.joints, np.where(wild[:, None], np.nan, rate), smooth),
        _samples(arm.name, rate, q[:, own], period),
    ]


def _velocities(arm: str, joints: tuple[str, ...], rate: Array, qd: Array) -> CellCheck:
    """Return the check that velocities are the rates of positions, smoothed alike (N, n)."""
    name, limit = "velocities", f"1 +- {_SLOPE:g}"
    known = np.isfinite(rate) & np.isfinite(qd)
    if np.isnan(qd).all():
        return CellCheck(arm, name, "not examined", "the driver publishes none")
    moving = known & (np.maximum(np.abs(rate), np.abs(qd)) > MOVES)
    used = moving.sum(axis=0) >= _SAMPLES
    if not used.any():
        return CellCheck(arm, name, "not examined", "no joint moved")
    rate, qd = np.where(moving, rate, 0.0), np.where(moving, qd, 0.0)
    slopes = (rate * qd).sum(axis=0) / np.maximum((rate**2).sum(axis=0), 1e-300)
    errors = np.where(used, np.abs(slopes - 1.0), 0.0)
    worst = int(np.argmax(errors))
    wrong = [one for one, error in zip(joints, errors, strict=True) if error > _SLOPE]
    cause = "sign" if slopes[worst] < 0.0 else "unit"
    return judged(
        arm,
        name,
        f"{joints[worst]} has {slopes[worst]:.3f} times the rate of its position",
        limit,
        wrong=bool(wrong),
        remedy=f"correct the {cause} of the velocities of {', '.join(wrong)}",
    )


def _samples(arm: str, rate: Array, q: Array, period: float) -> CellCheck:
    """Return the check that samples of a moving arm are new."""
    moving = np.asarray((np.abs(np.nan_to_num(rate)) > MOVES).any(axis=1))[1:]
    name, limit = "rate", f"at least {_FRESH / period:.4g} a second"
    if moving.sum() < _SAMPLES:
        return CellCheck(arm, name, "not examined", "no joint moved")
    new = np.asarray((np.diff(q, axis=0) != 0.0).any(axis=1))
    share = float(new[moving].mean())
    found = f"{share / period:.4g} new samples a second"
    remedy = "use a faster topic, or lower control.rate_hz"
    return judged(arm, name, found, limit, wrong=share < _FRESH, remedy=remedy)
