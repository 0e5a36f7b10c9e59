# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Noise of the stated size, the same in every run, and commands that act late."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.simulation.plant import Measurement
from robot_dynamics.simulation.sensors import CommandDelay, Sensors
from robot_dynamics.simulation.settings import SensorSettings

TRUE = Measurement(3, 0.006, np.arange(7.0), np.ones(7), np.full((2, 6), 5.0))
NOISY = SensorSettings(position=1e-4, velocity=2e-3, force=0.5, moment=0.02)


def test_silent_sensors_tell_the_truth():
    """Without noise the measurement is the true one itself."""
    assert Sensors(SensorSettings(), 0).measure(TRUE) is TRUE


def test_noise_has_the_stated_deviation():
    """Each quantity has its own standard deviation and no bias."""
    sensors = Sensors(NOISY, 1)
    samples = [sensors.measure(TRUE) for _ in range(2000)]
    for name, true, deviation in (("q", TRUE.q, 1e-4), ("qd", TRUE.qd, 2e-3)):
        noise = np.array([getattr(sample, name) for sample in samples]) - true
        # 14000 samples: the deviation is known to 0.6 %, the mean to 0.8 % of it.
        assert_allclose(noise.std(), deviation, rtol=0.03)
        assert abs(noise.mean()) < 0.04 * deviation
    wrenches = np.array([sample.wrenches for sample in samples]) - TRUE.wrenches
    assert_allclose(wrenches[..., :3].std(), 0.02, rtol=0.03)
    assert_allclose(wrenches[..., 3:].std(), 0.5, rtol=0.03)


def test_time_is_not_noisy():
    """Tick and time pass as they are, and the true arrays are not written to."""
    before = TRUE.q.copy()
    measured = Sensors(NOISY, 1).measure(TRUE)
    assert (measured.tick, measured.time) == (3, 0.006)
    assert (TRUE.q == before).all()


def test_noise_is_the_same_again():
    """A reset begins the noise anew; another seed makes another."""
    sensors = Sensors(NOISY, 1)
    first = [sensors.measure(TRUE).q for _ in range(3)]
    sensors.reset()
    again = [sensors.measure(TRUE).q for _ in range(3)]
    assert np.array_equal(first, again)
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(Sensors(NOISY, 2).measure(TRUE).q, first[0])


@pytest.mark.parametrize("periods", [0, 1, 3])
def test_commands_act_late(periods):
    """A command comes out as many periods later, and nothing before the first."""
    delay = CommandDelay(periods)
    given = [np.full(2, float(i)) for i in range(6)]
    acting = [delay.push(command) for command in given]
    assert acting[:periods] == [None] * periods
    assert all(a is g for a, g in zip(acting[periods:], given, strict=False))


def test_a_reset_empties_the_queue():
    """No command of the last run acts in the next."""
    delay = CommandDelay(1)
    delay.push(np.ones(2))
    delay.reset()
    assert delay.push(np.zeros(2)) is None
