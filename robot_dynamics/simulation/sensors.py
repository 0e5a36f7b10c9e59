# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sensors of the simulated arms: joint positions and velocities, wrenches at the wrists."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.simulation.faults import Faults
from robot_dynamics.simulation.settings import SensorSettings

_TARING_SAMPLES = 500


class Measurement(NamedTuple):
    """Sensor readings at one control instant.

    Attributes:
        tick: Number of control periods since the start.
        time: Simulation time [s]: tick times the period, never accumulated.
        q: Positions of the arm joints (na,) [rad or m]; of a robot by itself all (nq,).
        qd: Velocities of the arm joints (na,); of a robot by itself all (nv,).
        wrenches: Grasp wrenches by the arms on the object (k, 6), angular first, each in the
            frame of the arm's tool [N m, N]; (0, 6) for a robot by itself.
    """

    tick: int
    time: float
    q: Array
    qd: Array
    wrenches: Array


class Sensors:
    """Imperfect sensors: noise, bias, drift, delay and faults, repeated by a `reset`.

    Args:
        settings: Their errors.
        seed: Seed of the noise.
        arms: Slices of the arms in vectors over the arm joints, by name.
        faults: Faults of the present control period.
    """

    STATE = ("_random", "_wrenches", "_sampled", "_last", "_joints", "_tared")

    def __init__(
        self, settings: SensorSettings, seed: int, arms: Mapping[str, slice], faults: Faults
    ) -> None:
        self._settings, self._seed, self._faults = settings, seed, faults
        self._arms = tuple(arms.items())
        self._bias = np.array([*settings.moment_bias, *settings.force_bias])
        self._scale = np.array([[settings.wrench_scale.get(arm, 1.0)] for arm in arms])
        self._drift = np.array([0.0, 0.0, 0.0, *settings.force_drift])
        self._slow = [(arms[arm], p) for arm, p in settings.sample_periods.items() if p > 1]
        self._noisy = any((settings.position, settings.velocity, settings.force, settings.moment))
        self._ideal = settings == SensorSettings()
        self.reset()

    def reset(self, seed: int | None = None) -> None:
        """Restart the noise, with another seed if one is given."""
        self._random = np.random.default_rng(self._seed if seed is None else seed)
        self._wrenches: deque[Array] = deque(maxlen=self._settings.wrench_delay_periods + 1)
        self._sampled: Measurement | None = None  # the last readings, before faults
        self._last: Measurement | None = None  # and with them
        self._joints: deque[tuple[Array, Array]] = deque(maxlen=self._faults.largest_delay + 1)
        self._tared: dict[str, Array] = {}

    def measure(self, true: Measurement) -> Measurement:
        """Return the sensor readings at a true state; called once a control period."""
        seen = self._sampled = true if self._ideal else self._imperfect(true)
        if self._faults.largest_delay:
            self._joints.append((seen.q, seen.qd))
        if self._faults.active:
            seen = self._faulty(seen)
        elif self._tared:
            self._tared.clear()
        self._last = seen
        return seen

    def mean_of(self, wrenches: Array) -> Array:
        """Return the mean of many readings of constant wrenches (k, 6), without delay.

        The noise of later readings does not change.
        """
        s = self._settings
        draw = np.random.default_rng(self._seed).standard_normal
        noise = draw((_TARING_SAMPLES, *wrenches.shape)).mean(axis=0)
        return wrenches * self._scale + self._bias + noise * ([s.moment] * 3 + [s.force] * 3)

    def _imperfect(self, true: Measurement) -> Measurement:
        s = self._settings
        self._wrenches.append(true.wrenches)
        error = self._bias + true.time * self._drift
        q, qd, wrenches = true.q, true.qd, self._wrenches[0] * self._scale + error
        if self._noisy:
            draw = self._random.standard_normal
            wrenches = wrenches + draw(wrenches.shape) * ([s.moment] * 3 + [s.force] * 3)
            q = q + s.position * draw(q.shape)
            qd = qd + s.velocity * draw(qd.shape)
        if s.encoder_step:
            q = s.encoder_step * np.round(q / s.encoder_step)
        if not s.velocities:
            qd = np.full(qd.shape, np.nan)
        for own, periods in self._slow:
            if self._sampled is not None and true.tick % periods:
                q, qd = q.copy(), qd.copy()
                q[own], qd[own] = self._sampled.q[own], self._sampled.qd[own]
        return true._replace(q=q, qd=qd, wrenches=wrenches)

    def _faulty(self, seen: Measurement) -> Measurement:
        """Return a measurement with the present faults."""
        q, qd, wrenches = seen.q.copy(), seen.qd.copy(), seen.wrenches.copy()
        faults, last, joints = self._faults, self._last, self._joints
        is_on, values = faults.is_on, faults.values
        for i, (arm, own) in enumerate(self._arms):
            for _, late in values("late_joints", arm) if joints else ():
                back = min(faults.periods(late), len(joints) - 1)
                q[own], qd[own] = (measured[own] for measured in joints[-1 - back])
            if is_on("swapped_joints", arm):
                same = [k for k, (_, a) in enumerate(self._arms) if _size(a) == _size(own)]
                their = self._arms[same[(same.index(i) + 1) % len(same)]][1]
                q[own], qd[own] = seen.q[their], seen.qd[their]
            for at, factor in values("velocity_scale", arm):
                qd[at] *= factor
            for at, factor in values("position_scale", arm):
                q[at] *= factor
            for at, offset in values("position_offset", arm):
                q[at] += offset
            if is_on("position_nan", arm):
                q[own.start] = np.nan
            if is_on("velocity_inf", arm):
                qd[own.start] = np.inf
            if is_on("wrench_tared", arm):
                wrenches[i] -= self._tared.setdefault(arm, wrenches[i].copy())
            else:
                self._tared.pop(arm, None)
            for _, factor in values("wrench_scale", arm):
                wrenches[i] *= factor
            if is_on("wrench_nan", arm):
                wrenches[i, 5] = np.nan
            for at, _ in values("stuck_sensors", arm):
                if last is None:
                    continue
                q[at], qd[at] = last.q[at], last.qd[at]
                if at == own:
                    wrenches[i] = last.wrenches[i]
        return seen._replace(q=q, qd=qd, wrenches=wrenches)


def _size(own: slice) -> int:
    return int(own.stop - own.start)
