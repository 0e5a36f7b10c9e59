# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The safety layer: its commands in each state, and each hazard's answer."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from support.law_steps import law_step

from robot_dynamics.control.clock import LockstepClock
from robot_dynamics.control.fallback import FallbackTorque
from robot_dynamics.control.faults import Cause, Finding, Response, SafetyError, State
from robot_dynamics.control.safety import SafetyLayer
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.control.step_check import StepFigures
from robot_dynamics.control.streams import StreamError, StreamWatch, VectorStream
from robot_dynamics.errors import ArgumentError

PERIOD = 0.002
ARMS = {"left": ("left_a", "left_b"), "right": ("right_a", "right_b")}
JOINTS = tuple(joint for joints in ARMS.values() for joint in joints)
LIMITS = {
    "lower": np.full(4, -2.0),
    "upper": np.full(4, 2.0),
    "velocity": np.full(4, 3.0),
    "effort": np.full(4, 50.0),
}
INERTIA = np.ones(4)
Q, QD = np.array([0.1, 0.2, 0.3, 0.4]), np.zeros(4)
WRENCHES = np.zeros((2, 6))
TORQUE = np.array([20.0, 10.0, 20.0, 10.0])
CLOSURE = np.zeros(6)


def support(q, held):
    """Return a gravity torque that depends on positions and on the object."""
    return 10.0 + q + (5.0 if held else 0.0)


def layer(
    ramp_s=0.0, start_speed=np.inf, period=PERIOD, soft_fingers=(), **options
) -> SafetyLayer:
    """Return a layer in lockstep, with a damping fallback that is reached at once."""
    kind = {"fallback": "gravity_compensation_with_damping", "fallback_bandwidth": 10.0}
    settings = SafetySettings(**{"torque_rate": np.inf, **kind, **options})
    fallback = FallbackTorque(
        settings,
        support,
        lambda q, held: np.diag(INERTIA),
        LIMITS["effort"],
        (slice(0, 2), slice(2, 4)),
    )
    return SafetyLayer(
        settings,
        ARMS,
        LIMITS,
        fallback,
        period=period,
        clock=LockstepClock(period),
        ramp_s=ramp_s,
        start_speed=start_speed,
        wrench_count=2,
        soft_fingers=soft_fingers,
    )


def running(**options) -> SafetyLayer:
    """Return a layer that has sent one good torque at tick 1."""
    safety = layer(**options)
    safety.observe(0, Q, QD, WRENCHES)
    safety.start(0, TORQUE)
    assert safety.observe(1, Q, QD, WRENCHES)
    assert safety.command(1, law_step(TORQUE, closure=CLOSURE)) is TORQUE
    return safety


def observe(safety, tick, q, qd, wrenches=WRENCHES):
    """Return whether the law may run on a sample that is compared with none before it."""
    safety.arms.measurement.begin()
    return safety.observe(tick, q, qd, wrenches)


def test_from_inactive_over_the_ramp_to_active():
    """Nothing is sent before the start; control is active when the ramp is over."""
    safety = layer(ramp_s=0.02)
    assert not safety.observe(5, Q, QD)
    assert safety.command(5) is None
    safety.start(5, support(Q, True))
    assert safety.state is State.STARTING
    assert safety.observe(14, Q, QD)
    assert safety.state is State.STARTING
    assert safety.observe(15, Q, QD)
    assert safety.state is State.ACTIVE
    assert safety.command(20, law_step(TORQUE)) is TORQUE


@pytest.mark.parametrize(
    ("wrong", "period", "end"),
    [
        ([np.nan, 0, 0, 0], PERIOD, 102),
        ([0.5, 0, 0, 0], PERIOD, 27),
        ([0.5, 0, 0.5, 0], PERIOD, 27),
        ([0.5, 0, 0.5, 0], 0.001, 52),
    ],
    ids=["no number", "one", "all", "all in short periods"],
)
def test_brakes_hold_false_arms_sooner(wrong, period, end):
    """After 0.05 s instead of 0.2 s: torques wait for no sample where drives brake."""
    safety = running(period=period)
    safety.fallback.note_drives(np.zeros_like, tuple(ARMS))
    for tick in range(2, end + 1):
        safety.observe(tick, Q + wrong, QD, WRENCHES)
        safety.command(tick)
        assert bool(safety.released) == (tick == end)
    assert len(safety.released) == np.count_nonzero(wrong)


def test_commands_never_end_without_brakes():
    """Drives that hold their last torque, or none, hold no arm: it is supported until a reset.

    Only the arm whose drives brake is left to them.
    """
    safety = running()
    safety.fallback.note_drives(np.zeros_like, ("right",))
    for tick in range(2, 1000):
        safety.observe(tick, Q + np.array([0.5, 0, 0.5, 0]), QD, WRENCHES)
        tau = safety.command(tick)
    assert safety.released == ("right",)
    np.testing.assert_allclose(tau, [*support(Q, True)[:2], 0.0, 0.0])


def test_an_arm_that_comes_back_is_held_where_it_is():
    """All arms are: a closed chain between old and new positions would be stressed."""
    safety = running(fallback="hold")
    step = 1e-5
    for tick in range(2, 200):
        q = Q + step * tick
        false = 0.5 * (tick < 60)  # of one encoder, for a while
        safety.observe(tick, q + np.array([false, 0, 0, 0]), np.full(4, step / PERIOD), WRENCHES)
        safety.command(tick)
        assert bool(safety.lost_arms) == (tick < 110)
    assert safety.cause.startswith("left: position of joint 'left_a' jumped")
    np.testing.assert_allclose(safety.fallback._hold, Q + step * 110)


def test_a_lost_arm_does_not_change_the_check_of_samples():
    """The velocities that are kept for its prediction are not those that it is compared with."""
    running, qd = layer(), np.full(4, 0.1)
    running.observe(0, Q, QD)
    running.start(0, TORQUE)
    running.observe(1, Q, qd)  # told by velocities alone, so that they are not kept
    seen = running.arms.measurement.state.copy()
    running.trip(1, Finding(Cause.ARM_LOST, "left", "its message is wrong."))
    np.testing.assert_array_equal(running.arms.measurement.state, seen)
    np.testing.assert_array_equal(running.arms.qd, [0.0, 0.0, 0.1, 0.1])


@pytest.mark.parametrize("seen", [1.0, 0.702, 0.698, -1.0])
def test_a_lost_arm_is_braked_for_what_its_positions_confirm(seen):
    """The velocity if the mean is behind it by 30 %, else the lesser; none of opposite signs."""
    safety = running()
    qd = np.full(4, 0.1)
    for tick in range(2, 502):
        q = Q + seen * qd * PERIOD * (tick - 2)
        safety.observe(tick, q, qd, WRENCHES)
        safety.arms.measurement._false.clear()  # the velocity is noticed to be false sooner
        safety.arms.measurement._tracks.clear()
    safety.observe(502, q * np.nan, qd, WRENCHES)
    expected = {1.0: 0.1, 0.702: 0.1, 0.698: 0.0698, -1.0: 0.0}[seen]
    np.testing.assert_allclose(safety.arms.qd, expected, rtol=1e-3)


@pytest.mark.parametrize("told", [-1.0, 0.0, 60.0])
def test_a_lost_arm_is_braked_by_continuous_positions(told):
    """If its velocities contradict them."""
    safety = running()
    qd = np.full(4, 0.2)
    for tick in range(2, 300):
        false = told if tick >= 200 else 1.0
        safety.observe(tick, Q + qd * PERIOD * (tick - 2), false * qd, WRENCHES)
        if safety.lost_arms:
            break
    np.testing.assert_allclose(safety.arms.qd, qd, rtol=0.02)


@pytest.mark.parametrize("what", ["position", "velocity"])
def test_an_arm_that_sends_no_number(what):
    """That arm gets gravity at its last good position, the other is damped; then its end."""
    safety = running(lost_arm_end_after_s=0.02)
    safety.fallback.note_drives(np.zeros_like, tuple(ARMS))
    q, qd = Q + 0.01, QD + 0.5
    (q if what == "position" else qd)[1] = np.nan
    assert not observe(safety, 2, q, qd)
    assert safety.state is State.FALLBACK
    assert safety.cause.startswith(f"left: {what} of joint 'left_b' is nan")
    tau = safety.command(2)
    np.testing.assert_allclose(tau[:2], support(Q, True)[:2])  # of tick 1, without damping
    np.testing.assert_allclose(tau[2:], (support(q, True) - 20.0 * qd)[2:])
    assert safety.released == ()
    for tick in range(3, 13):
        assert not observe(safety, tick, q, qd)
        tau = safety.command(tick)
        assert safety.released == (() if tick < 12 else ("left",))
    assert not tau[:2].any()
    # numbers again come too late: its drive holds the arm
    assert not observe(safety, 13, Q, QD)
    assert not safety.command(13)[:2].any()
    assert safety.released == ("left",)


def test_an_arm_that_sends_numbers_again():
    """It is damped like the other one; the fault stays, and the law does not run."""
    safety = running(lost_arm_end_after_s=0.02)
    bad, qd = Q * np.nan, QD + 0.5
    assert not observe(safety, 2, bad, qd)
    safety.command(2)
    for tick in range(3, 30):  # longer than what ends an arm that stays lost
        q = Q + 0.01 * tick
        assert not observe(safety, tick, q, qd)
        np.testing.assert_allclose(safety.command(tick), support(q, True) - 20.0 * qd)
    assert safety.released == ()
    assert safety.state is State.FALLBACK
    assert len(safety.faults) == 2  # the other arm's was as bad
    assert not observe(safety, 30, bad, qd)
    np.testing.assert_allclose(safety.command(30), support(q, True))  # without damping again


def test_a_sample_that_was_refused_is_not_the_one_before_it():
    """Numbers stay those of the last good sample: an arm is back only with a newer one."""
    safety = layer()
    watches = {arm: StreamWatch(arm, 0.1, LockstepClock(PERIOD)) for arm in ARMS}
    for watch in watches.values():
        safety.monitor(watch, Cause.ARM_LOST)

    def instant(tick, bad=()):
        for arm, watch in watches.items():
            if arm in bad:
                error = StreamError(arm, "refused.")
                safety.rejected(tick, error, Cause.ARM_LOST)
            else:
                watch.advance(tick, tick)
        safety.observe(tick, Q, qd)

    qd = QD + 0.5
    instant(0)
    safety.start(0)
    for tick in (1, 2, 3):
        instant(tick, bad=("left",))
        tau = safety.command(tick)
        np.testing.assert_allclose(tau[:2], support(Q, True)[:2])
        np.testing.assert_allclose(tau[2:], (support(Q, True) - 20.0 * qd)[2:])
    instant(4)
    np.testing.assert_allclose(safety.command(4), support(Q, True) - 20.0 * qd)


def test_a_lost_arm_may_end_with_zero_torque():
    """Then zero is sent and no arm is released to its drive."""
    safety = running(lost_arm_end_after_s=0.0, lost_arm_end="zero")
    safety.observe(2, Q * np.nan, QD, WRENCHES)
    assert not safety.command(2).any()
    assert safety.released == ()


def test_an_arm_that_sends_nothing():
    """A stale stream is a lost arm, on ticks and without a wall clock."""
    safety = layer()
    watches = {arm: StreamWatch(arm, 0.01, LockstepClock(PERIOD)) for arm in ARMS}
    for watch in watches.values():
        safety.monitor(watch, Cause.ARM_LOST)
    safety.observe(0, Q, QD)
    with pytest.raises(SafetyError, match="left: no sample"):
        safety.start(0)
    for tick in range(1, 12):
        watches["left"].advance(tick, tick)
        if tick < 6:
            watches["right"].advance(tick, tick)
        runs = safety.observe(tick, Q, QD)
        if tick == 1:
            safety.start(tick)
        elif tick < 11:
            assert runs
    assert not runs
    assert safety.cause == "right: no new sample for 0.012 s; expected one within 0.01 s."
    np.testing.assert_allclose(safety.command(11), support(Q, True))
    with pytest.raises(SafetyError, match="reset refused: right: no new sample"):
        safety.reset(12)


def test_a_refused_sample_is_a_lost_arm():
    """A stream's rejection reaches the layer with the stream's sentence."""
    safety = running()
    safety.rejected(2, StreamError("right", "joint 'right_a' is missing."), Cause.ARM_LOST)
    assert safety.cause == "right: joint 'right_a' is missing."
    assert safety.response is Response.SUPPORT


@pytest.mark.parametrize(
    ("q", "qd", "joint"),
    [(2.1, 0.0, "right_a: position is 2.1 rad"), (0.0, -3.1, "right_a: velocity")],
)
def test_positions_and_velocities_beyond_limits(q, qd, joint):
    """The configured fallback takes over and the joint is named."""
    safety = running()
    q_now, qd_now = Q.copy(), QD.copy()
    q_now[2], qd_now[2] = q, qd
    assert not observe(safety, 2, q_now, qd_now)
    assert safety.cause.startswith(joint)
    wanted = np.minimum(support(q_now, True) - 20.0 * qd_now, LIMITS["effort"])
    np.testing.assert_allclose(safety.command(2), wanted)


def test_the_reference_is_lost():
    """The law goes on at the pose of that instant, and its torque is still checked."""
    safety = running()
    reference = VectorStream("reference", 25, 0.01, LockstepClock(PERIOD))
    reference.accept(1, np.zeros(25), 1)
    safety.monitor(reference.watch, Cause.REFERENCE_LOST)
    assert safety.observe(6, Q, QD, WRENCHES)
    assert not safety.reference_held
    assert safety.observe(7, Q, QD, WRENCHES)
    assert safety.state is State.FALLBACK
    assert safety.response is Response.HOLD_POSE
    assert safety.reference_held
    assert safety.command(7, law_step(TORQUE, closure=CLOSURE)) is TORQUE
    np.testing.assert_allclose(safety.command(8, law_step(TORQUE * np.nan)), support(Q, True))
    assert safety.response is Response.SUPPORT


def test_a_wrench_is_lost():
    """Force feedback ends, control does not; the wrench is not taken as zero."""
    safety = running()
    wrenches = WRENCHES.copy()
    wrenches[1, 4] = np.nan
    assert safety.observe(2, Q, QD, wrenches)
    assert not safety.wrenches_usable
    assert safety.response is Response.HOLD_POSE
    assert safety.command(2, law_step(TORQUE)) is TORQUE


def test_the_grasp_is_lost():
    """Arms are supported without the object, and go on so after a reset."""
    safety = running()
    lost = np.array([0.0, 0.0, 0.0, 0.02, 0.0, 0.0])
    assert safety.closure_warning is False
    tau = safety.command(2, law_step(TORQUE, closure=lost))
    assert safety.closure_warning
    assert safety.cause.startswith("right: it and arm 'left' disagree by 0.02 m")
    np.testing.assert_allclose(tau, support(Q, False))
    safety.reset(3)
    safety.observe(3, Q, QD)
    np.testing.assert_allclose(safety.command(3), support(Q, False))
    safety.start(4)
    safety.stop(5)
    np.testing.assert_allclose(safety.command(5), support(Q, True))


def test_support_beyond_its_limit():
    """The joint that cannot hold arms and object up is named."""
    safety, over = running(), np.array([10.0, 10.0, 10.0, 49.0])
    tau = safety.command(2, law_step(TORQUE, support=over, support_torque_ratio=1.03))
    np.testing.assert_allclose(tau, support(Q, True))
    assert safety.cause.startswith("right_b: holding arms and object up takes 49 N m")


@pytest.mark.parametrize("bad", [np.nan, np.inf, 51.0])
def test_a_torque_that_must_not_be_sent(bad):
    """The last line of defence names the joint and sends the fallback at once."""
    safety = running()
    torque = TORQUE.copy()
    torque[3] = bad
    np.testing.assert_allclose(safety.command(2, law_step(torque)), support(Q, True))
    assert safety.cause.startswith("right_b: the law wants")
    # a good torque later is not taken: the fault is latched
    np.testing.assert_allclose(safety.command(3, law_step(TORQUE)), support(Q, True))


def test_a_law_that_gives_nothing():
    """An instant without a torque, or an exception told by the caller, is a failed controller."""
    safety = running()
    np.testing.assert_allclose(safety.command(2), support(Q, True))
    assert safety.cause == "controller: the law gave no torque."
    safety = running()
    safety.trip(2, Finding(Cause.CONTROLLER_FAILED, "controller", "division by zero."))
    np.testing.assert_allclose(safety.command(2, law_step(TORQUE)), support(Q, True))


def test_a_stop_latches_until_reset():
    """Good numbers and torques do not end it; a reset does, and only then may control start."""
    safety = running()
    safety.stop(2)
    for tick in range(2, 20):
        assert not safety.observe(tick, Q, QD, WRENCHES)
        np.testing.assert_allclose(safety.command(tick, law_step(TORQUE)), support(Q, True))
    with pytest.raises(SafetyError, match="start refused: stopped"):
        safety.start(20)
    safety.reset(20)
    assert safety.state is State.INACTIVE
    np.testing.assert_allclose(safety.command(20), support(Q, True))
    with pytest.raises(SafetyError, match="nothing was measured yet"):
        safety.start(21)
    safety.observe(21, Q, QD)
    safety.start(21)
    assert safety.command(21, law_step(TORQUE)) is TORQUE
    safety.stop(22)
    safety.release()
    assert safety.command(23) is None


def test_the_fallback_holds_where_it_began():
    """With `hold` the spring pulls towards the positions of its first instant."""
    safety = running(fallback="hold")
    safety.stop(2)
    safety.command(2)
    observe(safety, 3, Q + 0.01, QD)
    np.testing.assert_allclose(safety.command(3), support(Q + 0.01, True) - 300.0 * 0.01)


def test_the_fallback_keeps_the_torque_rate_from_the_last_torque():
    """The first torque of the fallback is near the law's last one."""
    safety = running(torque_rate=100.0)
    safety.stop(2)
    wanted = support(Q, True)
    tau = safety.command(2)
    assert np.max(np.abs(tau - TORQUE)) == pytest.approx(0.2)
    for tick in range(3, 100):
        tau = safety.command(tick)
    np.testing.assert_allclose(tau, wanted)


def test_the_torque_rate_counts_from_what_was_sent():
    """Torques that were computed and withheld, as after a suspension, are no step of a ramp."""
    safety = running(torque_rate=100.0)
    before, largest = safety.last, 100.0 * PERIOD * (1 + 2e-9)
    safety.stop(2)
    for tick in range(2, 60):
        safety.observe(tick, Q, QD)
        safety.command(tick)
        safety.depart_from(before)  # nobody has got it
    sent = safety.command(60)
    assert 0.0 < np.abs(sent - before).max() <= largest
    # Where nothing is known of an arm's torque, what was computed last is the best guess.
    safety.depart_from(np.array([np.nan, np.nan, 0.0, 0.0]))
    np.testing.assert_array_equal(safety.last, [*sent[:2], 0.0, 0.0])


def test_arms_that_are_fast_when_the_fallback_begins():
    """As after a suspension: it damps them, and gives up only if it makes them faster still."""
    safety = running(stale_after_periods=1000)
    first, tick = Cause.VELOCITY_LIMIT, 2
    for speed in [*np.linspace(12.0, 16.0, 40), *np.linspace(16.0, 14.0, 100), 18.0]:
        observe(safety, tick, Q, np.array([speed, 0.0, 0.0, 0.0]))
        safety.command(tick)
        tick += 1
    assert [found.cause for _, found in safety.faults] == [first]
    observe(safety, tick, Q, np.array([20.0, 0.0, 0.0, 0.0]))
    assert safety.faults[-1][1].cause is Cause.RUNAWAY
    np.testing.assert_array_equal(safety.command(tick), 0.0)
    safety.command(tick + 1)
    assert safety.released == tuple(ARMS)


@pytest.mark.parametrize(
    ("power", "given_up"), [(0.5, False), (1.0, False), (1.07, False), (1.11, True), (2.0, True)]
)
def test_a_hold_without_the_model_is_given_up_if_it_drives_a_joint(power, given_up):
    """Beyond a velocity limit: a load is braked more and more, a wrong sign drives ever faster."""
    safety = running()
    safety.trip(2, Finding(Cause.MODEL_WRONG, "left_a", "it moves."))
    for k in range(41):
        qd = np.zeros(4)
        qd[0] = LIMITS["velocity"][0] * (0.5 + (k / 40.0) ** power)
        observe(safety, 2 + k, Q, qd)
        safety.command(2 + k)
    causes = [found.cause for _, found in safety.faults]
    assert (Cause.RUNAWAY in causes) == given_up


def test_a_hold_remembers_no_speeds_of_an_earlier_hold():
    """Speeds of a hold that ended would bend the growth of the next one upwards."""
    safety = running()
    safety.trip(2, Finding(Cause.MODEL_WRONG, "left_a", "it moves."))
    for k in range(41):
        observe(safety, 2 + k, Q, 0.9 * (1.0 - k / 40.0) * LIMITS["velocity"])
        safety.command(2 + k)
    safety.release()
    safety.take_over(50, np.zeros(4), Finding(Cause.MODEL_WRONG, "left_a", "again."), held=True)
    observe(safety, 51, Q, 1.5 * LIMITS["velocity"])
    assert Cause.RUNAWAY not in [found.cause for _, found in safety.faults]


@pytest.mark.parametrize(("share", "given_up"), [(2.9, False), (3.1, True)])
def test_a_hold_without_the_model_is_given_up_beyond_any_speed(share, given_up):
    """Three times a velocity limit is too fast even for a load that is being braked."""
    safety = running()
    safety.trip(2, Finding(Cause.MODEL_WRONG, "left_a", "it moves."))
    for k in range(41):
        qd = np.zeros(4)
        qd[0] = LIMITS["velocity"][0] * share * np.sqrt(k / 40.0)
        observe(safety, 2 + k, Q, qd)
        safety.command(2 + k)
    assert (safety.faults[-1][1].cause is Cause.RUNAWAY) == given_up


@pytest.mark.parametrize(
    ("speeds", "given_up"),
    [
        ([1.0] * 51 + [8.95], False),  # three times the limit
        ([1.0] * 51 + [9.05], True),
        ([12.0] * 51 + [14.3], False),  # a fifth more than after 0.1 s
        ([12.0] * 51 + [14.5], True),
        ([12.0] * 50 + [14.5] * 2, False),
    ],
)
def test_how_fast_arms_may_get_in_the_fallback(speeds, given_up):
    """From its beginning on, at 500 Hz; of joints that are allowed 3 rad/s."""
    safety = running(stale_after_periods=1000)
    safety.stop(1)
    for tick, speed in enumerate(speeds, 2):
        observe(safety, tick, Q, np.array([0.0, speed, 0.0, 0.0]))
        safety.command(tick)
    assert (safety.faults[-1][1].cause is Cause.RUNAWAY) == given_up


@pytest.mark.parametrize(("middle", "given_up"), [(0.9697, True), (0.9703, False)])
def test_how_much_a_speed_bends_that_a_hold_drives(middle, given_up):
    """By a fiftieth of the last one, 1.5 of the limit: half way from 0.5 it is below 0.97."""
    safety = running()
    safety.trip(2, Finding(Cause.MODEL_WRONG, "left_a", "it moves."))
    for tick, share in enumerate((0.5, middle, 1.5), 2):
        observe(safety, tick, Q, np.array([3.0 * share, 0.0, 0.0, 0.0]))
    assert (safety.faults[-1][1].cause is Cause.RUNAWAY) == given_up


@pytest.mark.parametrize(
    ("tick", "speed", "wrong"),
    [(5, 0.505, True), (5, 0.495, False), (160, 0.505, True), (161, 0.505, False)],
)
def test_how_long_a_start_may_show_a_wrong_model(tick, speed, wrong):
    """By a joint that is faster than 0.5 rad/s within 0.3 s of a ramp of 0.02 s."""
    safety = layer(ramp_s=0.02, start_speed=0.5)
    safety.observe(0, Q, QD)
    safety.start(0, support(Q, True))
    safety.stop(1)  # a fault in the ramp: the model was not proved
    moving = np.array([0.0, speed, 0.0, 0.0])
    observe(safety, tick - 1, Q, QD)
    observe(safety, tick, Q + PERIOD * moving, moving)
    assert (safety.faults[-1][1].cause is Cause.MODEL_WRONG) == wrong


@pytest.mark.parametrize(
    ("scale", "ticks", "lost"), [(0.49, 500, False), (0.49, 501, True), (0.51, 600, False)]
)
def test_how_long_limits_may_scale_the_task(scale, ticks, lost):
    """To less than half of it for a second."""
    safety = running(least_task_scale=0.495, scaled_for_s=1.0)
    for tick in (10, 10 + ticks):
        safety.command(tick, law_step(TORQUE, closure=CLOSURE, task_scale=scale))
    assert safety.law_runs != lost


@pytest.mark.parametrize("apart", [0.0, 2e-3], ids=["arms agree", "arms disagree"])
def test_limits_may_scale_the_task_a_little(apart):
    """Scaled by more than the least part it goes on for ever, also beside a warning."""
    safety = running(least_task_scale=0.5, scaled_for_s=1.0)
    for tick in range(10, 2000, 100):
        safety.command(tick, law_step(TORQUE, closure=CLOSURE + apart, task_scale=0.501))
    assert safety.law_runs


@pytest.mark.parametrize(
    ("at", "value", "plausible"),
    [(1, 9.9, True), (1, -10.1, False), (4, -99, True), (4, 101, False)],
)
def test_wrenches_beyond_the_sensor_limits_are_not_used(at, value, plausible):
    """Up to 10 N m and 100 N; beyond that it is not used, and control holds the pose."""
    safety = running(wrench_limit_nm=10.0, wrench_limit_n=100.0)
    wrenches = WRENCHES.copy()
    wrenches[1, at] = value
    assert safety.observe(2, Q, QD, wrenches)
    assert safety.wrenches_usable == plausible


@pytest.mark.parametrize(
    ("at", "value", "warns"), [(3, 0.99e-3, 0), (3, 1.01e-3, 1), (0, 4.95e-3, 0), (0, 5.05e-3, 1)]
)
def test_when_arms_disagree_more_than_is_good(at, value, warns):
    """From 1 mm and 5 mrad on."""
    safety = running()
    closure = CLOSURE.copy()
    # Of a step in which something else is looked into, too.
    closure[at] = value
    safety.command(2, law_step(TORQUE + 1e6, closure=closure))
    assert safety.closure_warning == bool(warns)


@pytest.mark.parametrize(("change", "held_back"), [(0.198, 0), (0.202, 1)])
def test_how_much_a_torque_may_change(change, held_back):
    """By a fifth of a newton metre in a period of 2 ms."""
    safety = running(torque_rate=100.0)
    wanted = TORQUE + change * np.array([0.0, 1.0, 0.0, 0.0])
    sent = safety.command(2, law_step(wanted, closure=CLOSURE))
    assert safety.rate_limited == held_back
    assert sent[1] - TORQUE[1] == pytest.approx(min(change, 0.2), rel=1e-6)


@pytest.mark.parametrize(
    ("figure", "value", "cause"),
    [
        ("link_margin", 1e-3, None),
        ("link_margin", -1e-3, Cause.TOO_CLOSE),
        ("wrench_excess", -1e-3, None),
        ("wrench_excess", 1e-3, Cause.GRASP_LOST),
    ],
)
def test_only_close_links_and_large_wrenches_are_examined(monkeypatch, figure, value, cause):
    """Links that are too close, and wrenches beyond their limit; nothing that is within."""
    safety = running()
    check = safety.step_check
    good = StepFigures(-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0)
    monkeypatch.setattr(check, "passes", lambda *_, **__: False)
    monkeypatch.setattr(check, "figures", lambda *_: good._replace(**{figure: value}))
    close = Finding(Cause.TOO_CLOSE, "left_a", "too close.")
    check.proximity = SimpleNamespace(finding=lambda *_: close)
    lost = Finding(Cause.GRASP_LOST, "right", "lost.")
    check.bodies = [SimpleNamespace(excess=lambda *_: 1.0, parameters=(), finding=lambda *_: lost)]
    check.residuals = np.zeros((1, 11))
    safety.command(2, law_step(TORQUE), wrists=WRENCHES)
    assert [found.cause for _, found in safety.faults] == ([] if cause is None else [cause])


def test_a_start_departs_from_the_torque_of_another_process():
    """A controller that was started anew takes the arms from a guard without a step."""
    safety = layer(torque_rate=100.0)
    safety.observe(0, Q, QD, WRENCHES)
    safety.depart_from(TORQUE - 30.0)
    assert safety.command(0) is None
    safety.start(0, TORQUE)
    safety.observe(1, Q, QD, WRENCHES)
    sent = safety.command(1, law_step(TORQUE, closure=CLOSURE))
    assert np.abs(sent - (TORQUE - 30.0)).max() == pytest.approx(100.0 * PERIOD)
    # Once more, from brakes: what holds the arms up is there with the first torque.
    safety.stop(2)
    safety.release()
    safety.observe(3, Q, QD, WRENCHES)
    safety.start(3, TORQUE)
    np.testing.assert_array_equal(safety.command(3, law_step(TORQUE, closure=CLOSURE)), TORQUE)
    # Nor do torques from before count when the motion of a lost arm is predicted.
    assert len(safety.fallback.torques.sent) == 1


def test_a_law_that_jumps_is_held_back():
    """Whatever the law wants, no joint's torque changes by more than the rate in a period."""
    safety = running(torque_rate=100.0)
    before = safety.last
    jump = np.array([3.0, -20.0, 0.5, 0.0])
    largest = 100.0 * PERIOD
    assert safety.observe(2, Q, QD, WRENCHES)
    sent = safety.command(2, law_step(before + jump, closure=CLOSURE))
    np.testing.assert_allclose(sent - before, jump * (largest / 20.0), rtol=1e-6)
    assert np.abs(sent - before).max() <= largest * (1 + 2e-9)
    assert safety.rate_limited == 1
    # It goes on from what was sent, and is left alone when it has arrived.
    for tick in range(3, 4 + round(20.0 / largest)):
        sent = safety.command(tick, law_step(before + jump, closure=CLOSURE))
    np.testing.assert_array_equal(sent, before + jump)
    assert safety.law_runs


def test_the_fallback_names_saturated_joints():
    """Support that a joint cannot give is clipped, and said."""
    safety = running()
    safety.stop(2)
    safety.command(2)
    assert safety.saturated == ()
    safety.fallback.torques._effort = np.array([1.0, 100.0, 100.0, 100.0])
    safety.command(3)
    assert safety.saturated == ("left_a",)


def test_no_start_from_numbers_that_are_none():
    """A start needs an observation, and a good one."""
    safety = layer()
    with pytest.raises(SafetyError, match="nothing was measured yet"):
        safety.start(0)
    safety.observe(1, Q * np.nan, QD)
    with pytest.raises(SafetyError, match="start refused: left: position of joint 'left_a'"):
        safety.start(1)
    assert safety.faults == ()
    safety.observe(2, Q, QD)
    safety.start(2)
    with pytest.raises(SafetyError, match="start refused: active"):
        safety.start(3)


def test_wrong_lengths_are_refused():
    """Of measurements and of the torque at the start; a joint stream must be an arm's."""
    safety = layer()
    with pytest.raises(ArgumentError, match="3 positions and 4 velocities, expected 4"):
        safety.observe(0, Q[:3], QD)
    safety.observe(0, Q, QD)
    with pytest.raises(ArgumentError, match="torque has 3 entries"):
        safety.start(0, np.zeros(3))
    with pytest.raises(ArgumentError, match="one of left, right"):
        safety.monitor(StreamWatch("head", 0.01, LockstepClock(PERIOD)), Cause.ARM_LOST)


@pytest.mark.parametrize("tilt", [np.radians(10.01), np.nan])
def test_a_soft_finger_that_tilts_is_a_fault(tilt):
    """Up to 10 degrees control goes on; then arms and object are held up by the fallback."""
    safety = layer(soft_fingers=("right",))
    safety.observe(0, Q, QD, WRENCHES)
    safety.start(0, TORQUE)
    safety.observe(2, Q, QD, WRENCHES)
    assert safety.command(2, law_step(TORQUE, tilts=np.radians([9.99]))) is TORQUE
    safety.observe(3, Q, QD, WRENCHES)
    np.testing.assert_array_equal(
        safety.command(3, law_step(TORQUE, tilts=np.array([tilt]))), support(Q, True)
    )
    assert (safety.state, safety.object_held) == (State.FALLBACK, True)
    (found,) = (fault for _, fault in safety.faults)
    assert (found.cause, found.subject) == (Cause.GRASP_TILTED, "right")
    assert "degrees on the object; expected at most 10" in found.sentence


def test_the_limit_of_tilt_is_that_of_the_settings():
    """It may be left out."""
    safety = layer(soft_fingers=("right",), tilt_limit_deg=np.inf)
    safety.observe(0, Q, QD, WRENCHES)
    safety.start(0, TORQUE)
    safety.observe(2, Q, QD, WRENCHES)
    assert safety.command(2, law_step(TORQUE, tilts=np.array([1.5]))) is TORQUE


@pytest.mark.parametrize(("at", "refused"), [(0.7, False), (2.099, False), (2.101, True)])
def test_a_lost_arm_is_held_where_it_is_at_a_reset(at, refused):
    """The fallback does not pull it to where it was. It is not trusted where it cannot be."""
    safety = running(fallback="hold", fallback_bandwidth=5.0)
    moved = np.array([Q[0], at, Q[2], Q[3]])
    assert not safety.observe(2, moved, QD, WRENCHES)
    safety.command(2)
    assert safety.cause.startswith("left: position of joint 'left_b' jumped")
    if refused:
        with pytest.raises(SafetyError, match=r"position 2\.101 of left_b .* by 0\.101 rad"):
            safety.reset(3)
        assert safety.faults
        safety.release()
    else:
        safety.reset(3)
        safety.observe(3, moved, QD, WRENCHES)
        np.testing.assert_allclose(safety.command(3), support(moved, held=True))
