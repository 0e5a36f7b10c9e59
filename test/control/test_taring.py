# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Wrist sensors are tared by the mean of their samples at rest, and by nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from support.control_loops import feed, sampled_loop

from robot_dynamics.app.scenarios.cell import true_system
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.clock import LockstepClock, WallClock, stamp_of
from robot_dynamics.control.faults import SafetyError, StaleStreamError
from robot_dynamics.control.taring import Taring

SCENARIO = load_scenario("lift_box")
PERIOD, TOLERANCE = SCENARIO.control.period, SCENARIO.control.start.velocity_tolerance
BIAS = np.array([[0.1, 0.2, -0.3, 5.0, -3.0, 8.0], [0.0, 0.1, 0.2, 1.0, 2.0, -40.0]])


@pytest.fixture(scope="module")
def still():
    """Return the measurements at rest without the object."""
    plant = make_plant(SCENARIO, true_system(SCENARIO))
    return plant.reset()._replace(wrenches=BIAS)


def collect(still, wrenches, *, clock=WallClock, loop=None):
    """Return a taring that has collected a sample of wrenches (2, 6) for each period."""
    loop = loop or sampled_loop(SCENARIO, clock(PERIOD), stale_after_s=0.1)
    taring = None
    for tick, measured in enumerate(wrenches, 1):
        stamp, now = loop.clock.times_of(stamp_of(tick, PERIOD))
        feed(loop, still._replace(wrenches=measured), stamp, now)
        taring = taring or Taring(loop, TOLERANCE)
        taring.collect(now)
        taring.collect(now)  # counts no sample twice
    return loop, taring


def test_sensors_are_tared_by_the_mean(still):
    """Of 50 samples with noise; the rest measures zero."""
    noise = np.random.default_rng(1).normal(size=(50, 2, 6))
    loop, taring = collect(still, BIAS + noise)
    assert taring.count == 50
    np.testing.assert_allclose(taring.finish(), BIAS + noise.mean(axis=0), rtol=1e-12)
    assert loop.wrist_sensors.tared
    left = loop.wrist_sensors.grasp_wrenches(still.q, BIAS)
    np.testing.assert_allclose(left, -noise.mean(axis=0), atol=1e-9)


@pytest.mark.parametrize(("count", "enough"), [(19, False), (20, True)])
def test_taring_needs_samples(still, count, enough):
    """In lockstep, where they are repeated, one is enough."""
    loop, taring = collect(still, [BIAS] * count)
    if enough:
        taring.finish()
    else:
        with pytest.raises(SafetyError, match="taring refused: 19 samples of left/wrench"):
            taring.finish()
    assert loop.wrist_sensors.tared == enough
    loop, taring = collect(still, [BIAS], clock=LockstepClock)
    taring.finish()
    assert loop.wrist_sensors.tared


@pytest.mark.parametrize(("touch", "good"), [(0.99, True), (1.01, False)])
def test_taring_is_refused_while_something_touches(still, touch, good):
    """The mean force of the second half tells it."""
    pushed = BIAS.copy()
    pushed[1, 4] += touch
    loop, taring = collect(still, [BIAS] * 20 + [pushed] * 20)
    if good:
        taring.finish()
    else:
        with pytest.raises(SafetyError, match=r"force of right/wrench has changed by 1\.01 N"):
            taring.finish()
    assert loop.wrist_sensors.tared == good


@pytest.mark.parametrize(("share", "good"), [(0.99, True), (1.01, False)])
def test_taring_is_refused_in_motion(still, share, good):
    """With the joint's name; the weight of tools is known at rest alone."""
    qd = np.zeros(14)
    qd[3] = -share * TOLERANCE
    measured = still._replace(qd=qd)
    if good:
        collect(measured, [BIAS] * 3)
    else:
        with pytest.raises(SafetyError, match="taring refused: joint 'left_joint4' moves"):
            collect(measured, [BIAS] * 3)


def test_taring_is_refused_with_silent_sensors(still):
    """With the name of the stream."""
    loop, taring = collect(still, [BIAS] * 30)
    late = loop.clock.times_of(stamp_of(30, PERIOD))[1] + loop.clock.count(0.2)
    with pytest.raises(StaleStreamError, match="taring refused: left"):
        taring.collect(late)
    with pytest.raises(SafetyError, match="wrist sensors"):
        Taring(sampled_loop(SCENARIO, wrist_sensors=False), TOLERANCE)


def test_taring_is_refused_while_control_runs(still):
    """Also one that had begun before."""
    loop = sampled_loop(SCENARIO, LockstepClock(PERIOD))
    _, taring = collect(still, [BIAS], loop=loop)
    plant = make_plant(SCENARIO, true_system(SCENARIO))
    feed(loop, plant.reset(), 2)
    loop.prepare(2)()
    loop.start(2, 2)
    for refused in (lambda: Taring(loop, TOLERANCE), lambda: taring.collect(2), taring.finish):
        with pytest.raises(SafetyError, match="taring refused: the arms hold the object"):
            refused()
    assert not loop.wrist_sensors.tared
    loop.safety.object_held = False  # as a law has it that holds none
    with pytest.raises(SafetyError, match="taring refused: control runs"):
        Taring(loop, TOLERANCE)
