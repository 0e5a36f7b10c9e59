# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sensors are as imperfect as stated, the same in every run; commands act late."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.simulation.faults import Faults, fault_of
from robot_dynamics.simulation.plant import CommandDelay, Measurement, Sensors
from robot_dynamics.simulation.settings import SensorSettings

TRUE = Measurement(3, 0.006, np.arange(7.0), np.ones(7), np.full((2, 6), 5.0))
ARMS = {"left": slice(0, 3), "right": slice(3, 7)}
NOISY = SensorSettings(position=1e-4, velocity=2e-3, force=0.5, moment=0.02)


def sensors_of(settings, seed=0, faults=None):
    """Return the sensors of two arms with three and four joints."""
    return Sensors(settings, seed, ARMS, faults or Faults(tuple(ARMS), (), 0.002))


def run(sensors, ticks=8):
    """Return what is measured of positions and wrenches that are the tick everywhere."""
    return [
        sensors.measure(
            Measurement(n, 0.0, np.full(7, n + 0.26), np.full(7, -n), np.full((2, 6), n))
        )
        for n in range(ticks)
    ]


def test_silent_sensors_tell_the_truth():
    """Without noise the measurement is the true one itself."""
    assert sensors_of(SensorSettings(), 0).measure(TRUE) is TRUE


def test_noise_has_the_stated_deviation():
    """Each quantity has its own standard deviation and no bias."""
    sensors = sensors_of(NOISY, 1)
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
    measured = sensors_of(NOISY, 1).measure(TRUE)
    assert (measured.tick, measured.time) == (3, 0.006)
    assert (TRUE.q == before).all()


def test_noise_is_the_same_again():
    """A reset begins the noise anew; another seed makes another."""
    sensors = sensors_of(NOISY, 1)
    first = [sensors.measure(TRUE).q for _ in range(3)]
    sensors.reset()
    again = [sensors.measure(TRUE).q for _ in range(3)]
    assert np.array_equal(first, again)
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(sensors_of(NOISY, 2).measure(TRUE).q, first[0])


def test_encoders_round_to_their_step():
    """Positions are multiples of the step, at most half a step off; noise is rounded as well."""
    q = np.array([seen.q for seen in run(sensors_of(SensorSettings(encoder_step=0.1)))])
    assert_allclose(q[:, 0], np.arange(8) + 0.3, rtol=1e-15)
    noisy = sensors_of(SensorSettings(encoder_step=1e-3, position=1e-2)).measure(TRUE).q
    assert_allclose(noisy / 1e-3, np.round(noisy / 1e-3), atol=1e-9)
    assert np.abs(noisy - TRUE.q).max() > 1e-3


def test_wrist_sensors_are_late_and_biased():
    """What they say is of so many periods ago, the first for want of older, plus the bias."""
    settings = SensorSettings(
        wrench_delay_periods=3, force_bias=(1.0, 2.0, 3.0), moment_bias=(0.1, 0.2, 0.3)
    )
    sensors = sensors_of(settings)
    for _ in range(2):
        wrenches = np.array([seen.wrenches for seen in run(sensors)])
        late = np.array([0, 0, 0, 0, 1, 2, 3, 4])[:, None, None]
        assert_allclose(wrenches - late, np.broadcast_to([0.1, 0.2, 0.3, 1, 2, 3], (8, 2, 6)))
        sensors.reset()


def test_missing_velocities_are_no_numbers():
    """Nobody can take them for measured ones."""
    for seen in run(sensors_of(SensorSettings(velocities=False))):
        assert np.isnan(seen.qd).all()
        assert np.isfinite(seen.q).all()


def test_an_arm_may_be_sampled_less_often():
    """Its last sample stands in between, position and velocity; the other arm's is new."""
    found = run(sensors_of(SensorSettings(sample_periods={"right": 3})))
    assert [seen.q[0] - 0.26 for seen in found] == pytest.approx(range(8))
    assert [seen.q[3] - 0.26 for seen in found] == pytest.approx([0, 0, 0, 3, 3, 3, 6, 6])
    assert [seen.qd[6] for seen in found] == [0, 0, 0, -3, -3, -3, -6, -6]


@pytest.mark.parametrize(
    ("kind", "field", "at"),
    [
        ("position_nan", "q", 3),
        ("velocity_inf", "qd", 3),
        ("wrench_nan", "wrenches", (1, 5)),
    ],
)
def test_faults_spoil_one_number_of_their_arm(kind, field, at):
    """Only for as long as they are on, and the true arrays are left alone."""
    faults = Faults(tuple(ARMS), (), 0.002)
    sensors = sensors_of(SensorSettings(), 0, faults)
    faults.switch([fault_of(f"{kind} right 0.002")])
    assert sensors.measure(TRUE) is TRUE
    faults.move(1)
    seen = getattr(sensors.measure(TRUE), field)
    wrong = np.argwhere(~np.isfinite(seen))
    assert wrong.tolist() == np.atleast_2d(at).tolist()
    assert np.isfinite(getattr(TRUE, field)).all()
    faults.move(2)
    assert sensors.measure(TRUE) is TRUE


def test_stuck_sensors_keep_what_they_said():
    """All of one arm's numbers stand still; time and the other arm go on."""
    faults = Faults(tuple(ARMS), (), 0.002)
    sensors = sensors_of(SensorSettings(), 0, faults)
    before = run(sensors, 3)[-1]
    faults.switch([fault_of("stuck_sensors left")])
    faults.move(1)
    after = sensors.measure(Measurement(9, 0.1, np.full(7, 9.0), np.ones(7), np.ones((2, 6))))
    assert np.array_equal(after.q[:3], before.q[:3])
    assert np.array_equal(after.qd[:3], before.qd[:3])
    assert np.array_equal(after.wrenches[0], before.wrenches[0])
    assert after.tick == 9
    assert (after.q[3:] == 9.0).all()
    assert (after.wrenches[1] == 1.0).all()


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
