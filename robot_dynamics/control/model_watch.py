# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint velocities that disprove the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.checks import MeasurementCheck
from robot_dynamics.control.clock import Clock
from robot_dynamics.control.faults import Cause, Finding

_PROOF_S = 0.3  # after the ramp, in which a start that failed may still show a wrong model
_RUNAWAY = 3.0  # velocity limits; the fallback does not damp a joint that is faster,
_GROWTH = 1.2  # unless it was as fast, but for this factor, when the fallback took effect,
_DAMPING_S = 0.1  # this long after it began
_HELD = 500  # control periods of a hold for which speeds are kept
_CONVEX = 0.02  # of a speed: upward bend of its growth if the hold drives the joint


class ModelWatch:
    """Two rules for joint velocities, which a model with wrong signs or gravity breaks.

    From the start until control has ramped in, the arms are at rest: errors show in the first
    hundredths of a second, by accelerations. The fallback damps the arms: a joint beyond all
    limits in it is driven by it.

    Attributes:
        ramp_periods: Time from start to active, in units of the clock.
        proved: Whether control has ramped in since the last start.

    Args:
        joints: Names of the arm joints.
        velocity: Their velocity limits (na,).
        clock: Meaning of times.
        ramp_s: Time from start to active [s].
        start_speed: Largest joint velocity in that time [rad/s or m/s].
        units: Units of their positions, "rad" or "m"; all of them turn by default.
    """

    def __init__(
        self,
        joints: Sequence[str],
        velocity: Array,
        clock: Clock,
        ramp_s: float,
        start_speed: float,
        units: Sequence[str] = (),
    ) -> None:
        self._joints, self._limit = tuple(joints), velocity
        self._units = tuple(units) or ("rad",) * len(self._joints)
        self.ramp_periods, self._proof = clock.count(ramp_s), clock.count(ramp_s + _PROOF_S)
        self._start_speed, self._damping_time = start_speed, clock.count(_DAMPING_S)
        self._damped_from: int | None = None  # beginning of the damping of all arms
        self._damped_share = 0.0  # of a velocity limit, when the damping took effect
        self._held_shares: list[Array] = []  # of velocity limits, since the hold began
        self.proved = True

    def begin(self) -> None:
        """Take note of a start."""
        self.proved = not self.ramp_periods
        self.restart_damping()
        self.begin_hold()

    def begin_hold(self) -> None:
        """Take note of joints that are held without the model from now on."""
        self._held_shares.clear()

    def restart_damping(self) -> None:
        """Take the present speeds as the first of the fallback."""
        self._damped_from = None

    def at_rest(self, qd: Array) -> Any:
        """Return whether joints with velocities (na,) are at rest; of each cell for (n, na)."""
        return (np.abs(qd) <= self._start_speed).all(axis=-1)

    def start_finding(self, qd: Array) -> Finding:
        """Return the finding that the fastest joint moves before control has ramped in."""
        i = int(np.argmax(np.abs(qd)))
        unit = f"{self._units[i]}/s"
        sentence = (
            f"it moves at {abs(qd[i]):.3g} {unit} under the torque that should hold it at rest; "
            f"expected at most {self._start_speed:g} {unit} until control has ramped in. Check "
            "signs, gravity compensation of the drives, payload and description."
        )
        return Finding(Cause.MODEL_WRONG, self._joints[i], sentence)

    def moved(self, elapsed: int, qd: Array, samples: MeasurementCheck) -> Finding | None:
        """Return a finding if a joint moves before control has ramped in.

        Args:
            elapsed: Time since the start.
            qd: Joint velocities (na,).
            samples: Check of the samples, which tells the speeds by the last two positions: a
                velocity alone may be false, and this check finds that a little later.
        """
        if self.proved or elapsed > self._proof:
            return None
        moving = np.where(samples.step_speeds() > self._start_speed, qd, 0.0)
        return None if self.at_rest(moving) else self.start_finding(moving)

    def runaway(self, now: int, qd: Array, *, held: bool, lost: bool) -> Finding | None:
        """Return a finding if the fallback drives a joint that it should damp.

        Args:
            now: Current time.
            qd: Joint velocities (na,).
            held: Whether joints are held without the model.
            lost: Whether the state of an arm is not known.
        """
        share = np.abs(qd) / self._limit
        i = int(np.argmax(share))
        most = _RUNAWAY
        if not held:
            # Arms can be fast when the fallback begins, for example after a suspension.
            if lost or self._damped_from is None:
                self._damped_from = now
            if now - self._damped_from <= self._damping_time:
                self._damped_share = share[i]
            most = max(_RUNAWAY, _GROWTH * self._damped_share)
        elif self._drives(i, share):
            most = 1.0
        if not share[i] > most:
            return None
        unit = f"{self._units[i]}/s"
        sentence = (
            f"it moves at {abs(qd[i]):.3g} {unit} in the fallback, which damps it; "
            f"expected at most {most * self._limit[i]:.3g} {unit}. Check the signs of "
            "the torques."
        )
        return Finding(Cause.RUNAWAY, self._joints[i], sentence)

    def _drives(self, i: int, share: Array) -> bool:
        """Return whether the hold drives joint `i` instead of braking it.

        A load that the model lacks accelerates a joint less and less, until the hold has found it;
        a torque of the wrong sign accelerates it more and more. The speed over its limit (na,) was
        between its first and its last value above the chord, or below.
        """
        held = self._held_shares
        if len(held) < _HELD:
            held.append(share)
        first, middle, last = held[0][i], held[len(held) // 2][i], share[i]
        return bool(middle < 0.5 * (first + last) - _CONVEX * last)
