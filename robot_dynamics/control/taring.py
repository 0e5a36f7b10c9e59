# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Taring of wrist sensors by the mean of their samples while the arms are at rest."""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.control_loop import ControlLoop
from robot_dynamics.control.faults import SafetyError
from robot_dynamics.wording import apart

_LEAST_SAMPLES = 20  # of each sensor, on the wall clock
_STEADY_N = 1.0  # difference of the mean forces of both halves, above which something touches


class Taring:
    """Collects samples of wrist sensors from topics, and tares the sensors by their mean.

    Args:
        loop: The control loop.
        velocity_tolerance: Largest speed of a joint at rest [rad/s or m/s].

    Raises:
        SafetyError: If the loop has no wrist sensors, control runs, or the arms hold the object.
    """

    def __init__(self, loop: ControlLoop, velocity_tolerance: float) -> None:
        self._loop, self._tolerance = loop, velocity_tolerance
        if not loop.wrenches:
            raise SafetyError("taring refused: the controller takes no samples of wrist sensors.")
        loop.require_free_hands()
        self._samples: dict[str, list[Array]] = {arm: [] for arm in loop.wrenches}
        self._stamps: dict[str, int | None] = dict.fromkeys(loop.wrenches)

    @property
    def count(self) -> int:
        """Number of samples of the sensor that has the fewest."""
        return min(map(len, self._samples.values()))

    def collect(self, now: int) -> None:
        """Take the sensors' new samples.

        Args:
            now: Current time.

        Raises:
            StaleStreamError: If a stream is silent.
            SafetyError: If an arm moves, control runs, or the arms hold the object.
        """
        loop = self._loop
        loop.require_free_hands()
        loop.require_samples(now, "taring")
        _, qd = loop.joint_states.state()
        fastest = int(np.argmax(np.abs(qd)))
        if abs(qd[fastest]) > self._tolerance:
            unit = loop.system.joint_units[fastest]
            speed, most = apart(abs(qd[fastest]), self._tolerance)
            raise SafetyError(
                f"taring refused: joint {loop.system.joint_names[fastest]!r} moves at "
                f"{speed} {unit}/s; expected at most {most} {unit}/s."
            )
        for arm, stream in loop.wrenches.items():
            if stream.watch.stamp != self._stamps[arm]:
                self._stamps[arm] = stream.watch.stamp
                self._samples[arm].append(stream.values.copy())

    def finish(self) -> Array:
        """Tare the sensors; return the mean (k, 6) of their samples.

        Raises:
            SafetyError: If there are too few samples, their forces have changed, or the sensors
                carry the object together.
        """
        if not self._loop.clock.lockstep:  # where samples are repeated
            for arm, samples in self._samples.items():
                if len(samples) < _LEAST_SAMPLES:
                    raise SafetyError(
                        f"taring refused: {len(samples)} samples of {arm}/wrench; expected at "
                        f"least {_LEAST_SAMPLES}."
                    )
                half = len(samples) // 2
                change = np.mean(samples[half:], axis=0) - np.mean(samples[:half], axis=0)
                changed = float(np.linalg.norm(change[3:]))
                if not changed <= _STEADY_N:
                    found, most = apart(changed, _STEADY_N)
                    raise SafetyError(
                        f"taring refused: the force of {arm}/wrench has changed by "
                        f"{found} N; expected at most {most} N, with arms that "
                        "nothing touches."
                    )
        mean = np.array([np.mean(samples, axis=0) for samples in self._samples.values()])
        self._loop.tare(self._loop.joint_states.state()[0], mean)
        return mean
