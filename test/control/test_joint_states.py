# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states of arms: matched by name, finite, in order of time, fresh, and of one time."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.clock import LockstepClock, WallClock
from robot_dynamics.control.faults import State
from robot_dynamics.control.joint_states import JointStates

SCENARIO = load_scenario("lift_box")
PERIOD = round(SCENARIO.control.period * 1e9)  # [ns]
SYSTEM = build_system(SCENARIO)


class Listener:
    """A safety layer that remembers the complaints."""

    def __init__(self, state):
        self.state, self.complaints, self.jumped = state, [], []

    def trip(self, now, found):
        """Remember a complaint."""
        self.complaints.append((found.subject, found.sentence))

    def time_jumped(self, arm):
        """Remember an arm whose time jumped."""
        self.jumped.append(arm)


def joint_states(clock, system=SYSTEM, state=State.ACTIVE, **options):
    """Return joint states that nobody has filled yet, and their listener."""
    listener = Listener(state)
    settings = SCENARIO.control, SCENARIO.safety
    return JointStates(system, *settings, listener, clock, **options), listener


NAMES = ["left_a", "left_b", "right_a"]
Q, QD = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3])


class Small:
    """Joint states of two small arms in lockstep, whose samples are stale after five ticks."""

    def __init__(self, *ignored):
        names = {"left": ("left_a", "left_b"), "right": ("right_a",)}
        system = SimpleNamespace(
            arms=[SimpleNamespace(name=name, joints=own) for name, own in names.items()],
            arm_slices=(slice(0, 2), slice(2, 3)),
            joint_names=NAMES,
            passive_joint_names=(),
        )
        self.states, listener = joint_states(
            LockstepClock(1.0), system, ignored=ignored, stale_after_s=5.0
        )
        self.complaints, self.arms = listener.complaints, self.states.arms
        self.jumped = listener.jumped

    def take(self, names, q=Q, qd=QD, stamp=0):
        """Take a message at its own time."""
        return self.states.take("joint_states", stamp, list(names), q, qd, stamp)

    @property
    def q(self):
        """All positions, as a list."""
        return self.states._q.tolist()


@pytest.fixture
def samples():
    """Return samples that nobody has filled yet."""
    return Small("locked")


def test_order_does_not_matter(samples):
    """Any permutation of a message gives the same positions and velocities."""
    order = [2, 0, 1]
    assert samples.take([NAMES[i] for i in order], Q[order], QD[order])
    assert samples.q == Q.tolist()
    assert samples.states._qd.tolist() == QD.tolist()
    assert samples.complaints == []


def test_the_order_may_change_between_messages(samples):
    """Names are looked at again when they are others than before."""
    samples.take(NAMES)
    samples.take(NAMES[::-1], 10.0 * Q[::-1], QD[::-1], stamp=1)
    assert samples.q == [10.0, 20.0, 30.0]


def test_arms_may_come_in_messages_of_their_own(samples):
    """A message with the joints of one arm leaves the others alone."""
    assert samples.take(NAMES[:2], Q[:2], QD[:2])
    assert samples.arms["right"].watch.stamp is None
    assert samples.take(NAMES[2:], Q[2:], QD[2:])
    assert samples.q == Q.tolist()
    assert samples.complaints == []


def test_announced_joints_are_ignored(samples):
    """Grippers and locked joints may be in the same message."""
    assert samples.take(["locked", *NAMES], np.append(9.0, Q), np.append(0.0, QD))
    assert samples.q == Q.tolist()
    assert samples.complaints == []


def test_a_misspelt_joint_is_blamed_on_its_arm(samples):
    """The sentence says which name was probably meant; the other arm goes on."""
    assert samples.take(["left_a", "left_bb", "right_a"])
    ((arm, sentence),) = samples.complaints
    assert arm == "left"
    assert sentence == (
        "unknown joint 'left_bb'; did you mean 'left_b'? "
        "Joints that belong to no arm are listed in ignored_joints."
    )
    assert samples.arms["left"].watch.stamp is None
    assert samples.arms["right"].position.tolist() == [3.0]


def test_an_additional_unknown_joint_is_refused(samples):
    """Until somebody says that it is no mistake."""
    assert not samples.take([*NAMES, "gripper"], np.append(Q, 0.0), np.append(QD, 0.0))
    assert {arm for arm, _ in samples.complaints} == {"left", "right"}
    tolerant = Small("gripper")
    assert tolerant.take([*NAMES, "gripper"], np.append(Q, 0.0), np.append(QD, 0.0))


def test_a_missing_joint_is_named(samples):
    """The arm that lacks it is told."""
    samples.take(["left_a", "right_a"], Q[[0, 2]], QD[[0, 2]])
    assert samples.complaints == [
        ("left", "joint 'left_b' is missing; expected all of left_a, left_b.")
    ]


@pytest.mark.parametrize(
    ("q", "qd", "words"),
    [
        (np.array([1.0, np.nan, 3.0]), QD, "position of joint 'left_b' is nan"),
        (Q, np.array([np.inf, 0.0, 0.0]), "velocity of joint 'left_a' is inf"),
        (Q[:2], QD, "position has 2 entries, expected 3"),
        (Q, np.zeros(0), "velocity has 0 entries, expected 3. A velocity is needed"),
    ],
)
def test_bad_numbers_are_named_and_not_kept(samples, q, qd, words):
    """The previous good values stay."""
    samples.take(NAMES)
    samples.take(NAMES, q, qd, stamp=1)
    assert samples.complaints[0][0] == "left"
    assert samples.complaints[0][1].startswith(words)
    assert samples.arms["left"].position.tolist() == [1.0, 2.0]


def test_after_a_jump_of_time_the_next_sample_is_the_first(samples):
    """It is complained about once for each arm, which is held where it is then."""
    samples.take(NAMES, stamp=0)
    samples.take(NAMES, stamp=100)
    assert samples.jumped == ["left", "right"]
    assert [arm for arm, _ in samples.complaints] == ["left", "right"]
    assert all("its time jumped ahead by 100 s" in words for _, words in samples.complaints)
    assert samples.take(NAMES, stamp=100)
    assert len(samples.complaints) == 2


def test_unknown_joints_are_remembered(samples):
    """A message without any joint of any arm is no fault, but worth a word."""
    assert not samples.take(["l_a", "l_b", "r_a"])
    assert samples.complaints == []
    assert samples.states.complaint.startswith("joint_states: unknown joint 'l_a'")
    samples.take(NAMES)
    assert samples.states.complaint == ""


def test_a_message_of_another_robots_known_joints_is_nothing(samples):
    """Such as that of the locked joints alone."""
    assert not samples.take(["locked"], Q[:1], QD[:1])
    assert samples.complaints == []
    assert samples.states.complaint == ""


def test_a_joint_that_is_there_twice(samples):
    """Nobody knows which of them is meant."""
    samples.take([*NAMES, "left_a"], np.append(Q, 1.0), np.append(QD, 0.0))
    assert samples.complaints == [("left", "joint 'left_a' is there twice; expected once.")]
    assert samples.q == [0.0, 0.0, 3.0]


def test_old_and_repeated_samples_do_not_keep_a_stream_fresh(samples):
    """They are counted and change nothing."""
    assert samples.take(NAMES, stamp=10)
    for stamp, now in ((10, 14), (9, 15)):
        assert not samples.states.take("joint_states", stamp, NAMES, 2.0 * Q, QD, now)
    watch = samples.arms["left"].watch
    assert watch.old_samples == 2
    assert samples.q == Q.tolist()
    assert not watch.is_stale(15)
    assert watch.is_stale(16)


def test_messages_of_several_topics_are_told_apart(samples):
    """Joints missing in one topic stay missing although another topic is good."""
    assert not samples.take(["l_a"], Q[:1], QD[:1])
    assert samples.states.take("other", 0, NAMES, Q, QD, 0)
    assert samples.states.complaint.startswith("joint_states: unknown joint 'l_a'")


# -- several arms at different instants


@pytest.fixture
def arms():
    """Return joint states on a clock in nanoseconds, before a start."""
    return joint_states(WallClock(SCENARIO.control.period), state=State.INACTIVE)[0]


def bring(arms, arm, stamp, now=None, rate=1.0):
    """Bring a sample of one arm: zero positions, all joints at one rate."""
    names = list(arms.arms[arm].joints)
    ones = np.ones(len(names))
    now = stamp if now is None else now
    return arms.take(f"{arm}/joint_states", stamp, names, 0.0 * ones, rate * ones, now)


def test_samples_of_one_instant_are_used_as_they_are(arms):
    """To the last bit: nothing is added to them."""
    bring(arms, "left", 5 * PERIOD)
    bring(arms, "right", 5 * PERIOD)
    q, qd = arms.use(5 * PERIOD)
    assert np.array_equal(q, np.zeros(14))
    assert np.array_equal(qd, np.ones(14))
    assert arms.skew_s == 0.0
    assert arms.skew_warning == ""


@pytest.mark.parametrize(("late", "carried"), [(0.25, 0.25), (1.0, 1.0), (3.0, 1.0)])
def test_the_older_sample_is_carried_on_by_a_period_at_most(arms, late, carried):
    """By its velocity, to the time of the newer one."""
    bring(arms, "left", 10 * PERIOD)
    bring(arms, "right", round((10 - late) * PERIOD), now=10 * PERIOD, rate=2.0)
    q, _ = arms.use(10 * PERIOD)
    assert np.array_equal(q[:7], np.zeros(7))
    # Rounding of products of numbers around 1e-3.
    assert np.allclose(q[7:], 2.0 * carried * SCENARIO.control.period, rtol=0.0, atol=1e-15)
    assert arms.skew_s == pytest.approx(late * SCENARIO.control.period)


def test_the_warning_of_a_skew_names_both_times_and_lasts_a_second(arms):
    """In milliseconds, with digits that tell them apart; it does not flicker."""
    for late, warned in ((0.7495, False), (0.7505, True)):
        bring(arms, "left", 10 * PERIOD)
        bring(arms, "right", round((10 - late) * PERIOD), now=10 * PERIOD)
        arms.use(10 * PERIOD)
        assert bool(arms.skew_warning) == warned
    assert "1.501 ms apart; expected at most 1.5 ms" in arms.skew_warning
    for seconds, warned in ((0.99, True), (1.01, False)):
        now = 10 * PERIOD + round(1e9 * seconds)
        for arm in ("left", "right"):
            bring(arms, arm, now)
        arms.use(now)
        assert arms.skew_s == 0.0
        assert bool(arms.skew_warning) == warned


def skews_of(arms, sampled, delays, step=0.0):
    """Return the skews with which samples are used [periods].

    Args:
        arms: The joint states.
        sampled: Times of the samples by arm [periods]; NaN for one that is lost.
        delays: Time between sample and arrival by arm [periods].
        step: Least time between the samples of two uses [periods].
    """
    events = [
        (at + delay, name, at)
        for (name, times), delay in zip(sampled.items(), delays, strict=True)
        for at in times
        if not np.isnan(at)
    ]
    found, used = [], -np.inf
    for arrival, name, at in sorted(events):
        bring(arms, name, round(at * PERIOD), now=round(arrival * PERIOD))
        if at >= used + step and arms.ready:
            used = at
            arms.use(round(arrival * PERIOD))
            found.append(arms.skew_s / SCENARIO.control.period)
    return np.array(found)


@pytest.mark.parametrize("delays", [(0.1, 0.3), (0.3, 0.1)])
def test_samples_of_one_instant_are_paired_by_stamp(arms, delays):
    """Also after a sample of the arm that is heard first was lost, or others were late."""
    rng, count = np.random.default_rng(0), 1000
    left, right = np.arange(count) + rng.uniform(-0.02, 0.02, (2, count))
    left[0] = left[300] = np.nan
    left[600:603] -= 1.0  # brings old samples, then new ones
    skews = skews_of(arms, {"left": left, "right": right}, delays)
    assert len(skews) >= count - 8
    assert (skews > 0.05).sum() <= 4
    assert skews[-300:].max() < 0.05


@pytest.mark.parametrize("phase", np.linspace(0.05, 0.95, 10))
def test_arms_with_clocks_of_their_own_are_paired_with_the_closer_sample(arms, phase):
    """Every sample is used, and the only warning is of the first pair."""
    rng, count = np.random.default_rng(0), 600
    times = np.arange(count) + rng.uniform(-0.02, 0.02, (2, count))
    times[1] += phase
    skews = skews_of(arms, {"left": times[0], "right": times[1]}, (0.1, 0.1))
    assert len(skews) >= count - 3
    assert skews[5:].max() < 0.72
    assert arms.skew_warning == ""


@pytest.mark.parametrize("delay", [0.5, 0.95, 1.0, 1.5, 2.2])
def test_an_arm_whose_messages_come_later_costs_no_control_period(arms, delay):
    """Samples that are more than a period old are used as well, with a warning."""
    times, count = np.arange(500.0), 500
    skews = skews_of(arms, {"left": times, "right": times}, (0.0, delay + 0.01))
    assert len(skews) >= count - 6
    assert skews[5:].max() == pytest.approx(np.floor(delay + 0.01))
    assert bool(arms.skew_warning) == (delay >= 1.0)


def test_samples_that_come_less_often_are_paired_by_stamp(arms):
    """By the measured rate: a sample period can be longer than a control period."""
    times = 2.5 * np.arange(1000)
    skews = skews_of(arms, {"left": times, "right": times[1:]}, (0.1, 0.3))
    assert skews[-500:].max() == 0.0
    assert len(skews) >= 990


def test_samples_that_come_more_often_are_paired_by_stamp(arms):
    """Also where one of them is lost."""
    times = np.tile(0.5 * np.arange(2000), (2, 1))
    times[:, 1000::100] = [[np.nan], [1.0]] * times[:, 1000::100]
    skews = skews_of(arms, {"left": times[0], "right": times[1]}, (0.1, 0.3), step=1.0)
    assert len(skews) >= 985
    assert (skews[-400:] > 0.0).sum() <= 10
    assert skews[-400:].max() <= 0.5


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
    assert not arms.ready
    bring(arms, "right", 0)
    assert arms.all_heard
    assert arms.ready
    arms.use(0)
    assert not arms.ready
    bring(arms, "left", PERIOD)
    bring(arms, "left", 2 * PERIOD)
    assert not arms.ready
    bring(arms, "right", 2 * PERIOD)
    assert arms.ready


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
    arms, _ = joint_states(WallClock(SCENARIO.control.period), state=State.INACTIVE)
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


def test_joints_without_drives_are_known():
    """They are known from the description of the arms, and nothing is taken of them."""
    arms = tuple(replace(arm, passive_joints=(f"{arm.name}_rod",)) for arm in SYSTEM.arms)
    states, _ = joint_states(
        WallClock(SCENARIO.control.period), replace(SYSTEM, arms=arms), state=State.INACTIVE
    )
    names = [*SYSTEM.joint_names, "left_rod", "right_rod"]
    position = np.arange(float(len(names)))
    assert states.take("joint_states", PERIOD, names, position, 0.0 * position, PERIOD)
    assert not states.complaint
    np.testing.assert_array_equal(states.state()[0], position[:-2])


def test_a_gap_of_numbers_is_no_jump_of_time():
    """The arm is held where it was, not where it comes back."""
    small = Small()
    small.take(NAMES, stamp=0)
    for stamp in range(1, 9):
        small.take(NAMES, np.full(3, np.nan), stamp=stamp)
    small.take(NAMES, stamp=9)
    assert small.jumped == []
    small.take(NAMES, stamp=99)
    assert small.jumped == ["left", "right"]


class Steady(WallClock):
    """A clock whose distance from the system clock is exact on a busy machine too."""

    def stamp_seconds(self, now):
        """Return a time in 2001."""
        return self.seconds(now) + 1e9


def test_stamps_are_by_the_system_clock():
    """To ten seconds, on a machine that is busy."""
    clock = WallClock(SCENARIO.control.period)
    assert clock.stamp_seconds(clock.now()) == pytest.approx(time.time(), abs=10.0)


def aged(left_s, right_s, arms=None, count=5):
    """Return joint states of arms whose last samples have these ages at their use [s]."""
    clock = Steady(SCENARIO.control.period)
    arms = arms or joint_states(clock, state=State.INACTIVE)[0]
    for _ in range(count):
        now = arms.now + PERIOD
        for arm, age in (("left", left_s), ("right", right_s)):
            stamp = round((clock.stamp_seconds(now) - age) * 1e9)
            bring(arms, arm, stamp, now, rate=0.0)
        arms.use(now)
    return arms


def test_the_age_of_samples_at_their_use():
    """It is compared with a limit, from both sides; an arm is extrapolated by up to a period."""
    period = SCENARIO.control.period
    assert joint_states(WallClock(period))[0].age_warning(0.0) == ""  # none was used
    assert aged(0.0049, 0.0049).age_warning(0.005) == ""
    assert aged(0.0049 + period, 0.0).age_warning(0.005) == ""
    sentence = (
        "joint states of arm 'left' are 5.1 ms old when they are used; expected at most 5 ms"
    )
    assert aged(0.0051, 0.0051).age_warning(0.005) == sentence
    assert aged(0.0051 + period, 0.0).age_warning(0.005) == sentence


def test_ages_by_other_clocks_are_not_judged():
    """Stamps ahead, or behind by more than a second; the other arm is still judged."""
    for age in (-3e7, -0.5, 1.01, 9e8):
        assert aged(age, age).age_warning(0.005) == ""
        assert "arm 'right'" in aged(age, 0.01).age_warning(0.005)
    assert "arm 'left' are 990 ms" in aged(0.99, 0.99).age_warning(0.005)
    for age in (-1e12, -1.01, 1.01):  # one alone does not count
        assert "are 6 ms old" in aged(0.006, 0.006, aged(age, age), count=9).age_warning(0.005)


def test_the_age_is_a_mean_over_half_a_second():
    """Of 250 control instants at 500 Hz, and no longer."""
    arms = aged(0.010, 0.010, count=150)
    aged(0.0, 0.0, arms, count=100)
    assert "are 6 ms old" in arms.age_warning(0.0059)
    assert arms.age_warning(0.0061) == ""
    aged(0.0, 0.0, arms, count=50)
    assert "are 4 ms old" in arms.age_warning(0.0039)
