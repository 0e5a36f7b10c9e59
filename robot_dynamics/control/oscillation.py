# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms that oscillate although their reference is at rest, the likely reasons, and lower gains.

Oscillations come from delays, slow samples and compensated friction beyond those that the gains
were chosen for. They may be too small for any limit of the safety layer, and then last for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.control_law import LawStep
from robot_dynamics.control.reference import ACCELERATION, TWIST
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.manipulation.system import GraspSystem

WINDOW_S = 1.5  # in which oscillations are looked for
WINDOWS = 3  # one after the other with an oscillation that does not decay
LOOK_S = 6e-3  # between two looks at the joints: in every period they would cost a tenth of it
LEAST = 2e-3  # peak to peak that counts [rad or m]; encoders are better than a tenth of it
_CROSSINGS = 6  # of the mean in a window; slow motion has fewer
_HYSTERESIS = 0.25  # of the amplitude
_LASTING = 0.8  # amplitude over the first one's that is no decay
_AT_REST = 1e-9  # of a reference [rad/s, m/s, rad/s^2, m/s^2]
_MOVING_LOOKS = 10  # of which only one looks whether the reference still moves
_SLOW = 0.8  # of the rate of looks, and of control; samples at less are named
LOWEST = 0.5  # of the bandwidths, at which lowering ends


class Oscillation(NamedTuple):
    """An oscillation that does not decay.

    Attributes:
        joint: Number of the joint that moves most.
        others: Number of other joints that oscillate.
        amplitude: Peak to peak of that joint [rad or m].
        hz: Its frequency [Hz].
        object_m: Peak to peak of the object's position, in the direction in which it moves most
            [m].
        rates: Part of the control periods in which an arm had a new sample (k,); 1 if nearly each
            look saw one.
    """

    joint: int
    others: int
    amplitude: float
    hz: float
    object_m: float
    rates: Array


class OscillationWatch:
    """Finds oscillations of the arm joints while the reference is at rest.

    Attributes:
        every: Number of control periods between two checks of arms that should be at rest.
        due: Control period of the next look.
        quiet: Whether the last window had no oscillation, or the reference moves.

    Args:
        slices: Where each arm stands in vectors over the arm joints.
        period: Control period [s].
    """

    def __init__(self, slices: Sequence[slice], period: float) -> None:
        self.every = max(1, int(LOOK_S / period * (1.0 + 1e-9)))
        self._slices, self._period = tuple(slices), self.every * period
        self._q = np.zeros((max(2, round(WINDOW_S / self._period)), slices[-1].stop))
        self._x = np.zeros((len(self._q), 3))
        self.quiet = True
        self.begin()

    def begin(self) -> None:
        """Forget everything: control begins, or gains have changed."""
        self._count = self.due = 0
        self._found: list[Oscillation] = []

    def look(self, tick: int, q: Array, step: LawStep) -> Oscillation | None:
        """Return an oscillation that has not decayed for `WINDOWS` windows, if there is one.

        Args:
            tick: Control periods since the start.
            q: Positions of the arm joints (na,).
            step: Of the law in this control period.
        """
        if max(map(abs, step.reference[TWIST.start : ACCELERATION.stop].tolist())) > _AT_REST:
            self.begin()
            self.due = tick + _MOVING_LOOKS * self.every
            self.quiet = True
            return None
        self.due = tick + self.every
        self._q[self._count], self._x[self._count] = q, step.pose[:3]
        self._count += 1
        if self._count < len(self._q):
            return None
        self._count = 0
        found = self._oscillation()
        self.quiet = found is None
        if found is None:
            self._found = []
            return None
        self._found.append(found)
        recent = self._found[-WINDOWS:]
        lasts = found.amplitude >= _LASTING * recent[0].amplitude
        return found if len(recent) == WINDOWS and lasts else None

    def _oscillation(self) -> Oscillation | None:
        """Return the oscillation in the window that is complete, if there is one."""
        candidates = np.flatnonzero(np.ptp(self._q, axis=0) >= LEAST)
        if not len(candidates):
            return None
        x = _detrended(self._q[:, candidates])
        size = np.ptp(x, axis=0)
        crossings = np.array(
            [_crossings(one, _HYSTERESIS * 0.5 * s) for one, s in zip(x.T, size, strict=True)]
        )
        oscillates = (crossings >= _CROSSINGS) & (size >= LEAST)
        if not oscillates.any():
            return None
        worst = int(np.argmax(np.where(oscillates, size, 0.0)))
        changed = np.diff(self._q, axis=0) != 0.0
        new = np.array([changed[:, own].any(axis=1).mean() for own in self._slices])
        return Oscillation(
            int(candidates[worst]),
            int(oscillates.sum()) - 1,
            float(size[worst]),
            float(crossings[worst] / (2.0 * len(x) * self._period)),
            float(np.ptp(_detrended(self._x), axis=0).max()),
            np.where(new < _SLOW, new / self.every, 1.0),
        )


def _detrended(x: Array) -> Array:
    """Return columns (N, k) without their linear trends."""
    t = np.linspace(-1.0, 1.0, len(x))
    x = x - x.mean(axis=0)
    return np.asarray(x - np.outer(t, t @ x / (t @ t)))


def _crossings(x: Array, hysteresis: float) -> int:
    """Return the number of changes of values (N,) from beyond one bound to beyond the other."""
    signs = np.sign(x[np.abs(x) > hysteresis])
    return int(np.count_nonzero(np.diff(signs)))


def sentence(found: Oscillation, system: GraspSystem, control: ControlSettings) -> str:
    """Return a sentence about an oscillation and its likely reasons.

    Args:
        found: The oscillation.
        system: Arms and object.
        control: With the present gains.
    """
    more = f" and {found.others} more oscillate" if found.others else " oscillates"
    reasons = [
        f"samples of arm {arm!r} that are new only {rate * control.rate_hz:.3g} times a second"
        for arm, rate in zip((arm.name for arm in system.arms), found.rates, strict=True)
        if rate < _SLOW
    ]
    if control.friction.share > 0.0:
        reasons.append(
            f"more friction compensated than there is (control.friction.share "
            f"{control.friction.share:.3g})"
        )
    delay = 1e3 * control.command_delay_periods * control.period
    reasons.append(f"a delay above {delay:.3g} ms (control.command_delay_periods)")
    return (
        f"joint {system.joint_names[found.joint]!r}{more} by {found.amplitude:.3g} "
        f"{system.joint_units[found.joint]} at {found.hz:.3g} Hz, the object by "
        f"{1e3 * found.object_m:.3g} mm, although the reference is at rest; likely reasons: "
        f"{', or '.join(reasons)}"
    )


def lowered(control: ControlSettings, lowest: ControlSettings) -> tuple[ControlSettings, str]:
    """Return lower gains and which they are, in words; the same gains and "" at the lowest.

    First less friction is compensated, which moves no pole of the model; then bandwidths are
    lowered by 30 %. Stiffnesses of the law "impedance" stay as they are.

    Args:
        control: The present gains.
        lowest: With the gains at the beginning; `LOWEST` of their bandwidths is the least.
    """
    share = control.friction.share
    if share > 0.0:
        share = 0.5 * share if share > 0.3 else 0.0
        return replace(
            control, friction=replace(control.friction, share=share)
        ), f"control.friction.share is {share:.3g} now"
    servo, jointed = control.object, control.jointed
    if control.law_facts.jointed:
        factor = max(0.7, LOWEST * (lowest.jointed.velocity_gain / jointed.velocity_gain))
        if factor > 0.999:
            return control, ""
        slower = replace(
            jointed,
            position_gain=factor**2 * jointed.position_gain,
            velocity_gain=factor * jointed.velocity_gain,
            position_integral=factor**3 * jointed.position_integral,
        )
        return replace(
            control, jointed=slower
        ), f"control.jointed.velocity_gain is {slower.velocity_gain:.3g} 1/s now"
    factor = max(0.7, LOWEST * lowest.object.bandwidth / servo.bandwidth)
    if factor > 0.999 or "object" not in control.law_facts.gains:
        return control, ""
    slow = replace(servo, bandwidth=factor * servo.bandwidth, integral=factor * servo.integral)
    return replace(
        control, object=slow
    ), f"control.object.bandwidth is {slow.bandwidth:.3g} rad/s now"
