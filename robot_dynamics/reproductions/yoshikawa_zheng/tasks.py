# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The three experiments: paths, forces (Table 2), gains, and assumptions.

The paper states distances, times, gains, forces and the speed of impact. It does not state the
positions of robots, pins, contact point and wall, the start of the bar, and the time of its
acceleration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.reproductions.yoshikawa_zheng.robots import TIP

PERIOD = 2e-3  # of control [s]
DURATION = 0.8  # [s]
VELOCITY_GAIN = np.array([65.0, 50.0, 55.0])  # K_V of x, y, phi [1/s]
POSITION_GAIN = np.array([13000.0, 13000.0, 15000.0])  # K_P [1/s^2]
PRESS_GAIN, SQUEEZE_GAIN = 100.0, 70.0  # K_IF, K_II [1/s]
STEPS = (0.27, 0.53)  # of both forces [s]
_PRESS, _SQUEEZE = (0.50, 0.75, 0.50), (0.8, 1.0, 0.8)  # [N]
_START, _ALONG, _ACROSS = (-0.025, 0.13), 0.05, 0.025  # [m]
_IMPACT = 0.068  # speed at which the wall is met [m/s]


@dataclass(frozen=True)
class Wanted:
    """Desired state at one instant: x, y, phi, their rates and accelerations, and the forces."""

    r: Array
    rd: Array
    rdd: Array
    press: float
    squeeze: float


@dataclass(frozen=True)
class BarTask:
    """One experiment.

    Attributes:
        number: 1, along a wall; 2, free; 3, free, onto a wall, along it, and off again.
        wall: Position of the wall, y [m]; None without one.
        meeting: Time at which the tip meets the wall [s].
        leaving: Time at which the tip must leave the wall [s].
    """

    number: int
    wall: float | None
    meeting: float
    leaving: float

    def wanted(self, time: float) -> Wanted:
        """Return the desired state; before 0 and after the end, the bar is at rest."""
        t = min(max(time, 0.0), DURATION)
        x = _move(t, DURATION, _ALONG)
        y = np.zeros(3)
        if self.number != 1:
            half = DURATION / 2
            y = _move(t, half, _ACROSS) if t < half else _move(t - half, half, -_ACROSS)
            y[0] += _ACROSS if t >= half else 0.0
        r, rd, rdd = (np.array([a, b, 0.0]) for a, b in zip(x, y, strict=True))
        r[:2] += _START
        # A sample belongs to its interval, independently of rounding of its time.
        segment = int(np.searchsorted(STEPS, t + 0.1 * PERIOD))
        return Wanted(r, rd, rdd, _PRESS[segment], _SQUEEZE[segment])


def task(number: int) -> BarTask:
    """Return an experiment by its number."""
    if number == 1:
        return BarTask(1, _START[1] + TIP, 0.0, np.inf)
    if number == 2:
        return BarTask(2, None, np.inf, 0.0)
    # Position at which the bar has the speed of impact while it accelerates, and as it returns.
    free = BarTask(3, None, 0.0, 0.0)
    low, high = 0.0, DURATION / 6
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if free.wanted(middle).rd[1] < _IMPACT else (low, middle)
    y = float(free.wanted(low).r[1])
    return BarTask(3, y + TIP, low, DURATION - low)


def _move(t: float, duration: float, distance: float) -> Array:
    """Return position, velocity and acceleration of a move from rest to rest, in thirds.

    Positions are quartic in time while speeding up and slowing down.
    """
    third = duration / 3
    v = distance / (2 * third)
    if t <= third:
        return _speeding(t, third, v)
    if t <= 2 * third:
        return np.array([v * (t - third / 2), v, 0.0])
    back = _speeding(duration - t, third, v)
    return np.array([distance - back[0], back[1], -back[2]])


def _speeding(t: float, third: float, v: float) -> Array:
    s = t / third
    return np.array(
        [v * third * (s**3 - s**4 / 2), v * (3 * s**2 - 2 * s**3), v / third * (6 * s - 6 * s**2)]
    )
