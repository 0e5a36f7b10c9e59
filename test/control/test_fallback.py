# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The fallback's torque, on a pair of arms of one joint type: gravity 10 a joint, object 5."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.control.clock import LockstepClock
from robot_dynamics.control.fallback import Fallback, FallbackTorque, within_rate
from robot_dynamics.control.lost_arms import LostArms, LostMotion
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.errors import RobotDynamicsError

ARMS = (slice(0, 2), slice(2, 4))
INERTIA = np.array([1.0, 0.1, 1.0, 0.1])
Q, QD = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.5, -0.5, 0.5, -0.5])
ZERO = np.zeros(4)


def support(q, held):
    """Return a gravity torque that depends on the positions."""
    return 10.0 + q + (5.0 if held else 0.0)


def fallback(
    model=support, effort=100.0, firmer=np.zeros_like, delay=0, **options
) -> FallbackTorque:
    """Return a fallback without limit of the torque rate unless told otherwise."""
    kind = "gravity_compensation_with_damping"
    given = {"torque_rate": np.inf, "fallback": kind, "fallback_bandwidth": 5.0, **options}
    settings = SafetySettings(**given)
    return FallbackTorque(
        settings,
        model,
        lambda q, held: np.diag(INERTIA),
        np.full(4, effort),
        ARMS,
        delay,
        firmer,
    )


@pytest.mark.parametrize(
    ("held", "firmer", "added"),
    [(True, 3.0, 3.0), (False, 3.0, 0.0), (True, np.nan, 0.0)],
)
def test_a_hold_without_model_makes_the_grip_firmer(held, firmer, added):
    """From the last torque, once, while the object is held; never by NaN."""
    f = fallback(fallback="hold", firmer=lambda q: np.full(4, firmer))
    last = np.array([7.0, -2.0, 5.0, 1.0])
    for _ in range(2):
        f.hold_joints(Q, last, held=held)
        np.testing.assert_array_equal(f.torque(Q, ZERO, Q, last, 0.002, held=held), last + added)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_drive_at_its_limit_weakens_the_whole_grip(sign):
    """Joints keep their proportions: 3 of 4 N m are left at the second, three quarters of all."""
    added = sign * np.array([2.0, 4.0, -8.0, 0.0])
    f = fallback(fallback="hold", effort=10.0, firmer=lambda q: added)
    last = sign * np.array([0.0, 7.0, 9.0, 10.0])
    f.hold_joints(Q, last, held=True)
    found = f.torque(Q, ZERO, Q, last, 0.002, held=True)
    np.testing.assert_allclose(found, last + 0.75 * added)


def test_gravity_with_damping():
    """Damping is twice bandwidth times inertia; the object's weight counts while it is held."""
    for held in (True, False):
        tau = fallback().torque(Q, QD, Q, ZERO, 0.002, held=held)
        np.testing.assert_allclose(tau, support(Q, held) - 10.0 * INERTIA * QD)


def test_a_hold_has_a_spring_and_a_damper():
    """Of 3 w^2 and 3 w times the inertia, from where the fallback began."""
    hold = Q + 0.1
    tau = fallback(fallback="hold").torque(Q, QD, hold, ZERO, 0.002, held=True)
    expected = support(Q, True) + INERTIA * (75.0 * 0.1 - 15.0 * QD)
    np.testing.assert_allclose(tau, expected)


def test_a_hold_finds_what_the_model_lacks():
    """An error that stays is answered by w^3 / 2 times its integral; a new hold begins anew."""
    f = fallback(fallback="hold")
    hold = Q + 0.1
    tau = ZERO
    for _ in range(11):
        tau = f.torque(Q, ZERO, hold, ZERO, 0.002, held=True)
    spring = support(Q, True) + INERTIA * 7.5
    np.testing.assert_allclose(tau - spring, INERTIA * 125.0 / 2.0 * 0.1 * 10 * 0.002, rtol=1e-9)
    np.testing.assert_allclose(
        f.torque(Q, ZERO, Q + 0.2, ZERO, 0.002, held=True) - spring, INERTIA * 7.5
    )


def test_a_hold_forgets_what_it_found_before_a_start():
    """Also where coarse encoders tell the very positions that were held before."""
    f = fallback(fallback="hold")
    f.hold_joints(Q, np.full(4, 40.0), held=True)
    for _ in range(500):
        f.torque(Q + 0.01, ZERO, Q, ZERO, 0.002, held=True)
    f.trust_model()
    np.testing.assert_allclose(f.torque(Q, ZERO, Q, ZERO, 0.002, held=True), support(Q, True))


@pytest.mark.parametrize(
    ("kind", "grows"), [("torque rate", False), ("effort", False), ("", True)]
)
def test_the_integral_waits_while_the_torque_is_limited(kind, grows):
    """Otherwise it would have to be unwound before the arm comes back."""
    limits = {"torque rate": {"torque_rate": 1.0}, "effort": {"effort": 12.0}, "": {}}[kind]
    f = fallback(fallback="hold", **limits)
    for _ in range(100):
        f.torque(Q, ZERO, Q + 0.1, ZERO, 0.002, held=True)
    servo = f._servo
    assert servo.acceleration(slice(0, 4), ZERO, ZERO).any() == grows


@pytest.mark.parametrize(
    ("delay", "period", "bandwidth"), [(0, 0.002, 25.0), (1, 0.002, 12.5), (0, 0.001, 40.0)]
)
def test_the_hold_is_as_stiff_as_its_delay_bears(delay, period, bandwidth):
    """A twentieth of the rate at which commands answer measurements, and the requested value."""
    settings = SafetySettings(fallback="hold", fallback_bandwidth=40.0, torque_rate=np.inf)
    f = FallbackTorque(settings, support, lambda q, held: np.eye(4), np.full(4, 1e9), ARMS, delay)
    tau = f.torque(Q, QD, Q, ZERO, period, held=True)
    np.testing.assert_allclose(tau, support(Q, True) - 3.0 * bandwidth * QD)


@pytest.mark.parametrize(("speed", "bandwidth"), [(0.39, 25.0), (0.41, 24.69), (1e300, 5.0)])
def test_the_hold_is_as_stiff_as_the_torque_rate_bears(speed, bandwidth):
    """Half the root of torque rate over momentum: 1000 N m/s over 1 kg m^2 times the speed."""
    settings = SafetySettings(fallback="hold", fallback_bandwidth=25.0, torque_rate=1000.0)
    f = FallbackTorque(settings, support, lambda q, held: np.eye(4), np.full(4, 1e9), ARMS)
    qd = np.array([speed, 0.0, 0.0, 0.0])
    f.torque(Q, qd, Q, ZERO, 0.002, held=True)
    error = np.array([1e-3, 0.0, 0.0, 0.0])
    tau = f.torque(Q + error, ZERO, Q, support(Q, True), 0.002, held=True)
    spring = -3.0 * bandwidth**2 * 1e-3
    assert tau[0] - support(Q + error, True)[0] == pytest.approx(spring, rel=1e-3)


@pytest.mark.parametrize(
    ("kind", "damping"), [("gravity_compensation_with_damping", 10.0), ("hold", 15.0)]
)
def test_velocities_near_the_largest_number(kind, damping):
    """If damping overflows, that arm gets gravity alone; the other one is damped."""
    qd = np.array([1e308, -1e308, *QD[2:]])
    tau = fallback(fallback=kind).torque(Q, qd, Q, ZERO, 0.002, held=False)
    np.testing.assert_array_equal(tau[:2], support(Q, False)[:2])
    np.testing.assert_allclose(tau[2:], (support(Q, False) - damping * INERTIA * QD)[2:])


def test_zero_is_zero():
    """For drives that compensate gravity themselves."""
    assert not fallback(fallback="zero").torque(Q, QD, Q, ZERO, 0.002, held=True).any()


@pytest.mark.parametrize(("torque", "zero"), [(0.099, True), (-0.101, False)])
def test_zero_torque_has_a_tolerance_of_a_tenth(torque, zero):
    """A tenth of a newton metre from the torque that the drives add by themselves."""
    f = fallback()
    for added in (0.0, 10.0):
        f.drives_add = None if not added else lambda q: np.full(4, 10.0)
        assert f.is_zero(added + torque * np.eye(4)[2], Q) == zero


def test_zero_commands_to_drives_that_add_gravity():
    """The joints have the drives' own torque then, so that nothing is taken off their commands."""
    for kind in ("zero", "hold"):
        f = fallback(fallback=kind)
        f.drives_add = lambda q: support(q, False)
        tau = f.torque(Q, QD, Q, ZERO, 0.002, held=True, lost=[0], ended=[0])
        np.testing.assert_allclose(tau[:2], support(Q, False)[:2])
    tau = fallback(fallback="zero").torque(Q, QD, Q, ZERO, 0.002, held=True)
    assert not tau.any()


def test_a_lost_arm_without_a_velocity():
    """It gets gravity alone, then zero; the other arm is damped as before."""
    for kind in ("gravity_compensation_with_damping", "hold"):
        f = fallback(fallback=kind)
        qd = np.array([np.nan, np.nan, 0.5, -0.5])
        hold = Q + np.array([0.0, 0.0, 0.1, 0.1])
        tau = f.torque(Q, qd, hold, ZERO, 0.002, held=True, lost=[0])
        np.testing.assert_allclose(tau[:2], support(Q, True)[:2])
        assert np.isfinite(tau).all()
        tau = f.torque(Q, qd, hold, ZERO, 0.002, held=True, lost=[0], ended=[0])
        assert not tau[:2].any()


def brake(kind, *, lost, rate=np.inf, inertia=1.0, periods=300):
    """Return torques (N, 4) and speeds (N, 4) of arms that the fallback brakes from `QD`.

    A lost arm is seen once, at the beginning. Gravity is that at `Q`.
    """
    f = fallback(lambda q, held: support(Q, held), fallback=kind, torque_rate=rate)
    q, qd, last = Q.copy(), QD.copy(), support(Q, True)
    torques, speeds = [], []
    for _ in range(periods):
        seen = (Q, QD) if lost else (q, qd)
        last = f.torque(*seen, Q, last, 0.002, held=True, lost=(0, 1) if lost else ())
        qd = qd + 0.002 * (last - support(Q, True)) / (inertia * INERTIA)
        q = q + 0.002 * qd
        torques.append(last)
        speeds.append(qd)
    return np.array(torques), np.array(speeds)


@pytest.mark.parametrize(
    ("kind", "rate"),
    [
        ("gravity_compensation_with_damping", np.inf),
        ("gravity_compensation_with_damping", 20.0),
        ("hold", np.inf),
    ],
)
def test_a_lost_arm_is_braked_as_if_it_were_seen(kind, rate):
    """With a model that is right the prediction is the motion, also where the rate is limited."""
    seen, lost = (brake(kind, lost=one, rate=rate) for one in (False, True))
    loads = 0.2 * (kind == "hold")  # only a hold that sees the arm integrates
    np.testing.assert_allclose(lost[0], seen[0], atol=1e-9 + loads)
    assert np.abs(lost[1][-1]).max() < 0.01


def test_a_wrong_model_leaves_a_lost_arm_its_share_of_the_speed():
    """An inertia that is a fifth larger leaves a sixth of the momentum."""
    _, speeds = brake("gravity_compensation_with_damping", lost=True, inertia=1.2)
    np.testing.assert_allclose(speeds[-1], QD / 6.0, rtol=0.06)


def test_a_lost_arm_keeps_the_load_that_its_hold_has_found():
    """As that of a payload that the model does not know; nothing is added meanwhile."""
    f = fallback(fallback="hold")
    hold = Q.copy()
    for _ in range(11):
        f.torque(Q + 0.1, ZERO, hold, ZERO, 0.002, held=True)
    load = -INERTIA * 125.0 / 2.0 * 0.1 * 11 * 0.002
    for _ in range(3):
        tau = f.torque(Q, ZERO, hold, ZERO, 0.002, held=True, lost=(0,))
        np.testing.assert_allclose(tau[:2], (support(Q, True) + load)[:2])
    f.move_hold(Q + 0.2)  # where the arm comes back
    tau = f.torque(Q + 0.2, ZERO, Q + 0.2, ZERO, 0.002, held=True)
    np.testing.assert_allclose(tau[:2], (support(Q + 0.2, True) + load)[:2])


def test_late_velocities_soften_the_hold_of_their_arm():
    """To 5 rad/s, a quarter of the inverse of their delay; the load that was found stays."""
    f = fallback(fallback="hold", fallback_bandwidth=10.0)
    hold = Q.copy()
    for _ in range(11):
        f.torque(Q + 0.1, ZERO, hold, ZERO, 0.002, held=True)
    load = -INERTIA * 1000.0 / 2.0 * 0.1 * 11 * 0.002
    tau = f.torque(Q, QD, hold, ZERO, 0.002, held=True, lagging=(1,))
    rates = np.repeat([10.0, 5.0], 2)
    np.testing.assert_allclose(tau, support(Q, True) + load - INERTIA * 3.0 * rates * QD)


@pytest.mark.parametrize("ratio", [1.0, 10.0, 110.0])
@pytest.mark.parametrize("gone", [True, False])
def test_a_hold_after_a_lost_grasp_bears_both_loads(ratio, gone):
    """Hands may still hold the object, and a wrist that turns it moves a hundredfold inertia.

    A hold scaled by the empty arm oscillates with the object, one scaled by the laden arm is too
    stiff without it.
    """
    empty, laden = np.diag(INERTIA), np.diag(INERTIA * [1.0, ratio, 1.0, ratio])
    f = fallback(lambda q, held: ZERO, np.inf, fallback="hold", fallback_bandwidth=25.0, delay=1)
    f._inertia = lambda q, held: laden if held else empty
    true = np.diag(empty if gone else laden)
    q, qd, tau, delayed = Q.copy(), QD.copy(), ZERO, ZERO
    for _ in range(2500):
        delayed, tau = tau, f.torque(q, qd, Q, tau, 0.002, held=False)
        qd = qd + 0.002 * delayed / true
        q = q + 0.002 * qd
    assert np.abs(qd).max() < 0.01


@pytest.mark.parametrize(
    ("held", "lost", "share"),
    [(True, (), 0.25), (True, (0,), 1.0), (True, (1,), 1.0), (False, (), 1.0)],
)
def test_arms_that_hold_an_object_change_their_torques_by_one_share(held, lost, share):
    """A quarter of 8 N m is allowed; an arm by itself is not slowed by the other one."""
    f = fallback(torque_rate=1000.0)
    wanted = support(Q, held)
    change = np.array([4.0, -8.0, 1.0, 0.0])
    tau = f.torque(Q, ZERO, Q, wanted + change, 0.002, held=held, lost=lost)
    left = np.array([0.75, 0.75, 1.0 - share, 1.0 - share])
    np.testing.assert_allclose(tau - wanted, left * change, rtol=0, atol=1e-14)


def test_limits_clip_and_say_so():
    """Gravity beyond a limit is clipped, by the joint's index, not silently."""
    f = fallback(effort=15.25)
    np.testing.assert_allclose(
        f.torque(Q, ZERO, Q, ZERO, 0.002, held=True), [15.1, 15.2, 15.25, 15.25]
    )
    assert f.saturated == (2, 3)
    f.torque(Q, ZERO, Q, ZERO, 0.002, held=False)
    assert f.saturated == ()


@pytest.mark.parametrize("failure", ["nan", "raises", "shape"])
def test_a_model_that_fails_leaves_its_last_torque(failure):
    """The fallback itself never gives a number that is none."""
    broken = False

    def model(q, held):
        if broken and failure == "raises":
            raise RobotDynamicsError("the model has failed.")
        if broken:
            return q * np.nan if failure == "nan" else np.zeros(2)
        return support(q, held)

    f = fallback(model)
    good = f.torque(Q, ZERO, Q, ZERO, 0.002, held=True)
    broken = True
    np.testing.assert_array_equal(f.torque(Q, ZERO, Q, ZERO, 0.002, held=True), good)


# -- arms that are lost


def test_only_something_newer_brings_an_arm_back():
    """Samples before the last bad one, or of the same time, do not count."""
    lost = LostArms(10)
    lost.lose(1, 5)
    lost.lose(1, 7)
    for heard in (4, 6, 7):
        lost.take_back(1, heard)
        assert list(lost) == [1]
    lost.take_back(1, 8)
    assert not lost
    lost.lose(1, 1000)  # late in a run
    lost.take_back(1, 1001)
    assert not lost
    lost.take_back(0, 9)  # never lost
    assert 0 not in lost


def test_time_counts_without_a_break():
    """An arm that comes and goes is never given up; one that stays away is, and for good.

    Only where its drive brakes.
    """
    lost = LostArms(10)
    for now in range(0, 40, 8):
        lost.lose(0, now)
        lost.give_up(now + 4, (0, 1))
        lost.take_back(0, now + 5)
    assert lost.ended == ()
    lost.lose(0, 50)
    lost.lose(1, 55)
    lost.give_up(59, (0, 1))
    assert lost.ended == ()
    lost.give_up(60, (0, 1))
    assert lost.ended == (0,)
    lost.give_up(65, (0,))
    assert lost.ended == (0,)
    lost.give_up(65, (0, 1))
    assert lost.ended == (0, 1)
    lost.take_back(0, 66)
    assert list(lost) == [0, 1]


@pytest.mark.parametrize(("settling", "ends_at"), [(3, 3), (20, 10)])
def test_an_arm_without_hope_is_given_up_sooner(settling, ends_at):
    """Never later than another one."""
    lost = LostArms(10)
    lost.lose(0, 0)
    lost.lose(1, 0)
    lost.give_up(ends_at - 1, (0, 1), [1], settling)
    assert lost.ended == ()
    lost.give_up(ends_at, (0, 1), [1], settling)
    assert lost.ended == ((1,) if ends_at < 10 else (0, 1))


# -- the rate of torques


def test_torques_within_the_rate_limit_do_not_change():
    """To the last bit, also at the limit itself and without one."""
    last, torque = np.array([1.0, -2.0]), np.array([1.5, -2.5])
    assert within_rate(torque, last, 0.5) is torque
    assert within_rate(torque, last, 0.505) is torque
    assert np.max(np.abs(within_rate(torque, last, 0.495) - last)) == pytest.approx(0.495)
    assert within_rate(torque, last, np.inf) is torque
    empty = np.zeros(0)
    assert within_rate(empty, empty, 0.5) is empty


def test_the_fastest_joint_rules_and_the_direction_stays():
    """A change of 4 and -2 where 1 is allowed is one of 1 and -0.5."""
    found = within_rate(np.array([5.0, -4.0]), np.array([1.0, -2.0]), 1.0)
    assert found == pytest.approx([2.0, -2.5], abs=1e-15)


# -- the predicted motion of lost arms


HALF = 0.5 * np.eye(4)


def as_one(delay=0, matrix=HALF):
    """Return the motion of two arms that are predicted as one mechanism."""
    return LostMotion(ARMS, delay, lambda q: matrix)


@pytest.mark.parametrize(
    ("lost", "held", "matrix", "rate"),
    [
        ((0, 1), True, HALF, 0.5),
        ((0, 1), False, HALF, 1.0),
        ((0,), True, HALF, 1.0),
        ((0, 1), True, None, 1.0),
        ((0, 1), True, np.full((4, 4), np.nan), 1.0),
    ],
)
def test_arms_that_are_all_lost_move_as_one(lost, held, matrix, rate):
    """With the object between them, if its place is known; else each by its own inertia."""
    motion = as_one(matrix=matrix)
    motion.follow(lost, Q, Q, ZERO, held=held)
    motion.advance([], np.ones(4), ZERO, np.diag([1.0, 2.0, 4.0, 8.0]), 0.1)
    away, speed = motion[0]
    alone = [0.1, 0.05] if rate == 1.0 else [0.05, 0.05]
    np.testing.assert_allclose(speed, alone)
    np.testing.assert_allclose(away, 0.1 * speed)
    assert (1 in motion) == (len(lost) == 2)


@pytest.mark.parametrize(("delay", "acting"), [(0, 5.0), (1, 3.0), (3, 1.0), (4, 5.0)])
def test_a_prediction_follows_the_torque_that_acts(delay, acting):
    """The new one without a delay, and as long as the delayed one is not known."""
    motion = as_one(delay)
    motion.follow((0, 1), Q, Q, ZERO, held=True)
    sent = [one * np.ones(4) for one in (1.0, 2.0, 3.0)]
    motion.advance(sent, np.full(4, 5.0), np.ones(4), np.eye(4), 0.1)
    np.testing.assert_allclose(motion[1][1], 0.1 * 0.5 * (acting - 1.0))


@pytest.mark.parametrize(
    ("delay", "count", "torques"), [(0, 2, [4, 8]), (1, 2, [2, 4]), (1, 9, [1, 2, 4]), (9, 1, [])]
)
def test_a_prediction_begins_with_the_last_good_sample(delay, count, torques):
    """Under the torques that acted since, as far as they are kept."""
    motion = as_one(delay)
    assert motion.follow((0, 1), Q, Q - 0.1, QD, held=True)
    motion.catch_up([one * np.ones(4) for one in (1.0, 2.0, 4.0, 8.0)], ZERO, 0.1, count)
    speed, away = QD[:2].copy(), np.full(2, 0.1)
    for torque in torques:
        speed = speed + 0.1 * 0.5 * torque
        away = away + 0.1 * speed
    np.testing.assert_allclose(motion[0], (away, speed))


def test_only_arms_that_are_lost_at_once_have_one_last_good_sample():
    """Of others the time since then differs; who is back is no longer predicted."""
    motion = as_one()
    assert not motion.follow((0,), Q, Q, QD, held=True)
    assert not motion.follow((0, 1), Q, Q, QD, held=True)
    assert not motion.follow((0, 1), Q, Q, QD, held=True)
    assert not motion.follow((1,), Q, Q, QD, held=True)
    assert 0 not in motion
    alone = LostMotion(ARMS, 0, lambda q: None)
    assert alone.follow((0, 1), Q, Q, QD, held=True)
    alone.catch_up([np.ones(4)], ZERO, 0.1, 1)  # torques of one arm alone move no object
    np.testing.assert_allclose(alone[0][1], QD[:2])


def test_stale_samples_of_all_arms_are_made_up_for():
    """The speed that control gave the arms meanwhile is braked; here a doubled one."""
    f = fallback(lambda q, held: ZERO)
    f._motion = as_one()
    f.sent.extend([np.zeros(4)] * 3 + [QD] * 10)
    tau = f.torque(Q, 0.5 * QD, Q, ZERO, 0.1, held=True, lost=(0, 1), still_s=1.0)
    np.testing.assert_allclose(tau, -2.0 * 5.0 * INERTIA * QD)
    assert f.sent.maxlen == 64


# -- the places at which arms are held


def held_arms():
    """Return the fallback of both arms, which holds them at `Q`."""
    settings = SafetySettings(torque_rate=np.inf, fallback="hold", fallback_bandwidth=5.0)
    held = Fallback(fallback(fallback="hold"), "ab", ARMS, settings, LockstepClock(0.002), 0.002)
    held.hold(Q)
    return held


@pytest.mark.parametrize(("away", "stays"), [(0.0498, True), (0.0502, False), (-0.0502, False)])
def test_an_arm_that_comes_and_goes_does_not_creep(away, stays):
    """It is brought back to its place, unless it is more than 0.05 rad away."""
    held = held_arms()
    held.lost.lose(0, 5)
    held.lost.take_back(0, 6)
    q = Q + np.array([0.0, away, 0.01, 0.0])
    held.take_back([0], q)
    np.testing.assert_array_equal(held._hold, Q if stays else q)


def test_an_arm_is_held_anew_if_its_place_was_not_known():
    """Because it was lost when the hold began, or its time jumped; once."""
    held, q = held_arms(), Q + 0.01
    held.lost.lose(0, 5)
    held.hold(Q)
    held.lost.take_back(0, 6)
    held.take_back([0], q)
    np.testing.assert_array_equal(held._hold, q)
    held.take_back([0], q + 0.01)
    np.testing.assert_array_equal(held._hold, q)
    held.doubt_hold(1)
    held.take_back([0], q + 0.01)
    np.testing.assert_array_equal(held._hold, q)
    held.take_back([1], q + 0.01)
    np.testing.assert_array_equal(held._hold, q + 0.01)


def test_an_arm_that_stays_lost_is_held_where_it_is_predicted():
    """And not where it was seen last, when the other one comes back and is held elsewhere."""
    held = held_arms()
    for arm in (0, 1):
        held.lost.lose(arm, 5)
    held.torque(5, Q, QD, ZERO, held=True)
    away = held.torques._motion[1][0].copy()
    assert np.abs(away).min() > 5e-4
    held.lost.take_back(0, 6)
    held.take_back([0], Q + 0.1)
    np.testing.assert_allclose(held._hold, [*(Q + 0.1)[:2], *(Q[2:] + away)])
    np.testing.assert_array_equal(held.torques._motion[1][0], 0.0)
