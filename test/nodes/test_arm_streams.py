# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states of arms that are sampled at different instants, and what is complained about."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="the nodes' modules are not importable without ROS 2")

from dataclasses import replace
from types import SimpleNamespace

from robot_dynamics.app.scenario import load_scenario
from robot_dynamics.control.faults import State
from robot_dynamics.nodes.arm_streams import ArmStreams
from robot_dynamics.nodes.guard import GuardLoop

SCENARIO = load_scenario("lift_box")
PERIOD = round(SCENARIO.control.period * 1e9)  # [ns]


@pytest.fixture(scope="module")
def loop():
    """Return a loop on a clock in nanoseconds."""
    return GuardLoop(SCENARIO, 1e-9)


@pytest.fixture
def arms(loop):
    """Return its streams, as if nothing had come yet."""
    for watch in loop.arms.watches:
        watch.forget()
    loop.arms.complaints.clear()
    return loop.arms


def bring(arms, arm, stamp, now=None, rate=1.0):
    """Bring a sample of one arm: zero positions, all joints at one rate."""
    names = list(arms.streams[arm].joints)
    ones = np.ones(len(names))
    now = stamp if now is None else now
    return arms.take(f"{arm}/joint_states", stamp, names, 0.0 * ones, rate * ones, now)


def test_samples_of_one_instant_are_used_as_they_are(arms):
    """To the last bit: nothing is added to them."""
    bring(arms, "left", 5 * PERIOD)
    bring(arms, "right", 5 * PERIOD)
    q, qd = arms.state()
    assert np.array_equal(q, np.zeros(14))
    assert np.array_equal(qd, np.ones(14))
    assert arms.skew_s == 0.0
    assert arms.skew_warning == ""


@pytest.mark.parametrize(("late", "carried"), [(0.25, 0.25), (1.0, 1.0), (3.0, 1.0)])
def test_the_older_sample_is_carried_on_by_a_period_at_most(arms, late, carried):
    """By its velocity, to the time of the newer one."""
    bring(arms, "left", 10 * PERIOD)
    bring(arms, "right", round((10 - late) * PERIOD), now=10 * PERIOD, rate=2.0)
    q, _ = arms.state()
    assert np.array_equal(q[:7], np.zeros(7))
    # Rounding of products of numbers around 1e-3.
    assert np.allclose(q[7:], 2.0 * carried * SCENARIO.control.period, rtol=0.0, atol=1e-15)
    assert arms.skew_s == pytest.approx(late * SCENARIO.control.period)
    assert bool(arms.skew_warning) == (late > 0.5)


def test_the_warning_names_the_skew_and_what_was_expected(arms):
    """In milliseconds."""
    bring(arms, "left", 10 * PERIOD)
    bring(arms, "right", 9 * PERIOD, now=10 * PERIOD)
    arms.state()
    assert arms.skew_warning == (
        "joint states of the arms are 2 ms apart; expected at most half a control period, 1 ms."
    )


def test_nothing_is_computed_from_a_stale_velocity(arms):
    """An arm that is silent for longer than the timeout stays where it was."""
    bring(arms, "right", 0)
    late = (SCENARIO.safety.stale_after_periods + 1) * PERIOD
    bring(arms, "left", late)
    assert not arms.known(late)
    assert np.array_equal(arms.state()[0], np.zeros(14))


def test_every_arm_needs_something_new(arms):
    """A sample is used once; an arm that is sampled twice as often does not lead."""
    bring(arms, "left", 0)
    assert not arms.all_heard
    assert not arms.all_newer
    bring(arms, "right", 0)
    assert arms.all_heard
    assert arms.all_newer
    arms.use(0)
    assert not arms.all_newer
    bring(arms, "left", PERIOD)
    bring(arms, "left", 2 * PERIOD)
    assert not arms.all_newer
    bring(arms, "right", 2 * PERIOD)
    assert arms.all_newer


def test_a_complaint_ends_with_the_next_good_sample(arms):
    """It is about the arm whose sample was bad, and no other."""
    bring(arms, "left", 0)
    bring(arms, "right", 0, rate=np.nan)
    assert arms.complaint.startswith("right: velocity of joint 'right_joint1' is nan")
    bring(arms, "left", PERIOD)
    assert arms.complaint
    bring(arms, "right", PERIOD)
    assert arms.complaint == ""


def test_a_stream_that_is_too_slow_for_the_control_rate():
    """Its arm is named, with both rates, once half a second has told how fast it is."""
    arms = GuardLoop(SCENARIO, 1e-9).arms
    assert not arms.rates_known
    for n in range(1000):
        bring(arms, "left", n * PERIOD)
        if n % 2 == 0:
            bring(arms, "right", n * PERIOD)
    assert arms.rates_known
    assert arms.rate_warning == (
        "joint states of arm 'right' come 250 times a second, the control rate is 500 Hz; "
        "expected at least 400 a second."
    )
    # Samples that bring nothing new do not count.
    for n in range(1000, 1500):
        bring(arms, "left", n * PERIOD)
        bring(arms, "right", n * PERIOD)
    assert arms.rate_warning == ""
    for n in range(1500, 2000):
        bring(arms, "left", (n // 2) * 2 * PERIOD, now=n * PERIOD)
        bring(arms, "right", n * PERIOD)
    assert arms.rate_warning.startswith("joint states of arm 'left' come 250 times a second")


def test_joints_without_drives_are_known(loop):
    """They are known from the description of the arms, and nothing is taken of them."""
    system = loop.system
    arms = tuple(replace(arm, passive_joints=(f"{arm.name}_rod",)) for arm in system.arms)
    safety = SimpleNamespace(monitor=lambda *_: None, state=State.INACTIVE)
    streams = ArmStreams(SCENARIO, replace(system, arms=arms), safety, 1e-9)
    names = [*system.joint_names, "left_rod", "right_rod"]
    position = np.arange(float(len(names)))
    assert streams.take("joint_states", PERIOD, names, position, 0.0 * position, PERIOD)
    assert not streams.complaint
    np.testing.assert_array_equal(streams.state()[0], position[:-2])
