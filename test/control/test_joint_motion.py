# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Positions and velocities of one motion pass, with sensor errors; false ones are named."""

from __future__ import annotations

import numpy as np
import pytest
from support.measurements import Measurements

from robot_dynamics.control.checks import _Track
from robot_dynamics.control.faults import Cause
from robot_dynamics.control.joint_motion import StillArms, _common_delay

ARMS = {"left": ("left_a", "left_b"), "right": ("right_a", "right_b")}
LIMITS = {
    "lower": np.full(4, -100.0),
    "upper": np.full(4, 100.0),
    "velocity": np.full(4, 3.0),
    "effort": np.full(4, 50.0),
}
PERIOD = 0.002


def judge(q, qd, periods=PERIOD, torque=None, *, linked=True):
    """Return the first finding about samples (N, 4), and its index; None for both without one."""
    check = Measurements(ARMS, LIMITS)
    passed = np.broadcast_to(periods, len(q))
    for i in range(len(q)):
        sent = None if torque is None else torque[i]
        if not check.passes(q[i], qd[i], passed=passed[i], torque=sent, linked=linked):
            return next(check.findings()), i
    return None, None


def motion(amplitude=0.4, hz=0.5, count=500, periods=PERIOD):
    """Return sines of all joints, from rest, and their velocities."""
    t = np.cumsum(np.broadcast_to(periods, count))[:, None]
    w, phase = 2.0 * np.pi * hz, np.arange(4.0)
    return amplitude * np.sin(w * t + phase), amplitude * w * np.cos(w * t + phase)


@pytest.mark.parametrize(("amplitude", "hz"), [(0.4, 0.5), (0.9, 0.5), (0.02, 5.0), (0.0, 1.0)])
def test_a_motion_passes_with_noise_encoders_and_filters(amplitude, hz):
    """Also with uneven periods, and velocities that a filter makes 8 ms late."""
    random = np.random.default_rng(3)
    periods = PERIOD * random.uniform(0.3, 1.7, 1000)
    q, qd = motion(amplitude, hz, 1000, periods)
    assert judge(q, qd, periods) == (None, None)
    q_seen = 2e-4 * np.round((q + 1e-4 * random.standard_normal(q.shape)) / 2e-4)
    assert judge(q_seen, qd + 0.03 * random.standard_normal(q.shape), periods) == (None, None)
    q, qd = motion(amplitude, hz, 1000)
    late = np.vstack([np.repeat(qd[:1], 4, axis=0), qd[:-4]])
    assert judge(q, late) == (None, None)


@pytest.mark.parametrize(
    ("scale", "why"),
    [(-1.0, "sign"), (0.0, "stand still"), (57.3, "degrees per second"), (2.0, "is false")],
)
def test_false_velocities_are_named(scale, why):
    """Soon; a small error takes longer."""
    q, qd = motion(0.2, 0.5)
    qd[100:, 1] *= scale
    found, at = judge(q, qd)
    assert found.subject == "left"
    assert why in found.sentence
    assert 100 <= at < 180


@pytest.mark.parametrize(("runs", "words"), [(0.5, "ahead of"), (2.0, "behind")])
@pytest.mark.parametrize(("alike", "told"), [(0.55, True), (0.45, False)])
def test_time_stamps_that_are_false_are_told_from_velocities(runs, words, alike, told):
    """A simulator that drops half of its time moves all joints by half of their velocities."""
    q, qd = 0.4 * PERIOD * np.arange(200.0)[:, None] * [1.0, -0.5, 0.0, 0.0], np.zeros((200, 4))
    qd[:, :2] = [0.4, -0.2]
    q[100:, 0] += (runs - 1.0) * (q[100:, 0] - q[100, 0])
    q[100:, 1] += (runs - 1.0) * alike * (q[100:, 1] - q[100, 1])
    found, _ = judge(q, qd, linked=False)
    assert (words in found.sentence) == told
    assert ("one of both is false" in found.sentence) != told


@pytest.mark.parametrize(("jump", "noticed"), [(3e-3, False), (8e-3, True)])
def test_a_jump_is_noticed_at_once(jump, noticed):
    """Beyond the errors of encoders, and the possible motion of the joint: nearly at rest."""
    q, qd = motion(0.01, 0.1)
    q[200:, 2] += jump
    found, at = judge(q, qd)
    assert (at == 200) == noticed
    assert not noticed or "jumped" in found.sentence


@pytest.mark.parametrize(("change", "noticed"), [(2.49, False), (2.51, True)])
def test_an_arm_that_tells_nothing_new_under_other_torques(change, noticed):
    """Beyond a twentieth of the drive's limit [N m]."""
    torque = np.zeros((100, 4))
    torque[50:, 3] = change
    found, at = judge(np.ones((100, 4)), np.zeros((100, 4)), torque=torque, linked=False)
    assert (at is not None) == noticed
    if noticed:
        assert found.subject == "right"
        assert "torques have changed" in found.sentence


@pytest.mark.parametrize(("told", "noticed"), [(0.99e-3, False), (1.01e-3, True)])
def test_an_arm_that_tells_nothing_new_but_a_velocity(told, noticed):
    """By which it has moved by more than a milliradian meanwhile, in eleven samples or more."""
    q, qd = np.ones((12, 4)), np.zeros((12, 4))
    qd[:, 3] = -told / (11 * PERIOD)
    found, at = judge(q, qd, linked=False)
    assert at == (11 if noticed else None)
    assert not noticed or (found.subject == "right" and "they tell of motion" in found.sentence)


@pytest.mark.parametrize(("speed", "noticed"), [(4.95e-3, False), (5.05e-3, True)])
def test_a_velocity_at_rest_may_be_a_little_off(speed, noticed):
    """No more than 0.2 s of it count."""
    found, _ = judge(np.ones((150, 4)), np.full((150, 4), speed), linked=False)
    assert (found is not None) == noticed


def test_the_time_without_anything_new():
    """Counts if the samples of all arms are false for that: of the arm that moved last."""
    check = Measurements(ARMS, LIMITS)
    q, qd = np.ones(4), np.array([0.1, 0.0, 0.2, 0.0])
    for i in range(14):
        check.passes(q, qd, passed=np.array([2.0, 1.0]) * PERIOD)
        assert check.still_s == pytest.approx(i * PERIOD if i > 10 else 0.0)
    check.passes(q, qd + 1e-3 * np.eye(4)[2], passed=PERIOD)
    assert check.still_s == 0.0


def test_the_time_at_rest_is_not_one_without_anything_new():
    """Samples of arms at rest may be the same."""
    check = Measurements(ARMS, LIMITS)
    for _ in range(14):
        assert check.passes(np.ones(4), np.zeros(4), passed=PERIOD)
        assert check.still_s == 0.0


def test_torques_of_an_earlier_rest_do_not_count():
    """Arms that rest in another posture, with encoders that tell nothing new, are healthy."""
    phase = np.pi * np.clip((np.arange(560) - 30) / 500, 0.0, 1.0)
    q, qd = 0.2 * (1.0 - np.cos(phase)), 0.2 * np.pi / (500 * PERIOD) * np.sin(phase)
    q, qd, torque = (np.tile(values[:, None], 4) for values in (q, qd, 40.0 * phase))
    assert judge(q, qd, torque=torque) == (None, None)


def test_numbers_that_are_none_spoil_nothing_of_the_other_arm():
    """It is compared with the arm that comes back, as before."""
    check = Measurements(ARMS, LIMITS)
    q, qd = np.ones((30, 4)), np.zeros((30, 4))
    q[:, 2] += 1e-3 * np.arange(30)
    qd[:, 2] = 1e-3 / PERIOD
    q[3, 0] = np.nan
    passed = [check.passes(q[i], qd[i], passed=PERIOD) for i in range(30)]
    assert passed.index(False, 4) < 20
    assert "another arm moves" in next(check.findings()).sentence


@pytest.mark.parametrize(("linked", "moves"), [(True, False), (False, False), (True, True)])
def test_no_arm_is_still_beside_a_stale_one_on_one_object(linked, moves):
    """Whose torques have changed; arms that move or hold nothing with it are trusted."""
    check = Measurements(ARMS, LIMITS)
    q, torque = np.ones(4), np.zeros(4)
    for i in range(20):
        q[3] += 1e-6 * moves
        check.passes(q, np.zeros(4), passed=PERIOD, torque=torque, linked=linked)
        torque[0] = 10.0 * (i > 10)
    assert [found.subject for found in check.findings()] == (
        ["left", "right"] if linked and not moves else ["left"]
    )


@pytest.mark.parametrize(("way", "noticed"), [(3.97e-3, False), (4.03e-3, True)])
def test_an_arm_that_tells_nothing_new_while_the_other_one_moves(way, noticed):
    """By more than 4 mrad."""
    q, qd = np.ones((100, 4)), np.zeros((100, 4))
    speed = way / (80 * PERIOD)
    q[:, 0] += np.clip(np.arange(100) - 10, 0, 80) * PERIOD * speed
    qd[10:90, 0] = speed
    found, _ = judge(q, qd)
    assert (found is not None) == noticed
    assert not noticed or (found.subject == "right" and "another arm moves" in found.sentence)
    assert judge(q, qd, linked=False) == (None, None)


def test_how_long_an_arm_tells_nothing_new():
    """More than ten samples after the first; of three arms it is enough that one moves."""
    q, qd = np.ones((30, 4)), np.zeros((30, 4))
    q[:, 0] += 1e-3 * np.arange(30)
    qd[:, 0] = 1e-3 / PERIOD
    assert judge(q, qd)[1] == 11
    three = Measurements(
        ARMS | {"middle": ("m",)}, {k: np.resize(v, 5) for k, v in LIMITS.items()}
    )
    q, qd = (np.hstack([values, 0.0 * values[:, :1]]) for values in (q, qd))
    q[:, 2] += 1e-9 * np.arange(30)  # new, and no motion
    passed = [three.passes(q[i], qd[i], passed=PERIOD) for i in range(12)]
    assert passed == [True] * 11 + [False]
    assert next(three.findings()).subject == "middle"


def after(*samples, passed=0.04):
    """Return the finding about an arm after samples of its first joint (q, qd), if there is one.

    The other arm is beyond a limit meanwhile, so that findings are looked for.
    """
    check = Measurements(ARMS, LIMITS)
    for q, qd in samples:
        check.passes(np.array([q, 0, 0, 101]), np.array([qd, 0, 0, 0]), passed=passed)
    found = [one for one in check.findings() if one.cause is Cause.ARM_LOST]
    return found[0].sentence if found else None


SLOW, QUICK = 0.004, 0.004 + 0.004 * 2.0  # at rest and at 2 rad/s [rad]


def followed(q, qd, begins):
    """Return when the first arm is false, and when it is back; samples (N, 4)."""
    check = Measurements(ARMS, LIMITS)
    first, lost, back = next(iter(ARMS)), None, None
    for i in range(len(q)):
        check.passes(q[i], qd[i], passed=PERIOD)
        if lost is None and first in check.false_arms:
            lost = i
        if lost is not None and back is None and first not in check.false_arms:
            back = i
    return check, lost and lost - begins, back and back - begins


@pytest.mark.parametrize("scale", [-1.0, 0.0, 57.3])
def test_positions_without_jumps_count_again(scale):
    """After a tenth of a second; velocities are their differences, up to the lag of a mean."""
    q, qd = motion(count=1000)
    false = qd.copy()
    false[500:] *= scale
    check, lost, back = followed(q, false, 500)
    assert 0 <= lost < 30
    assert back - lost == 49  # with the sample that is found false
    np.testing.assert_allclose(check.velocity(0), qd[-26, :2], rtol=0.02)
    assert check.differenced_arms == {*ARMS}
    assert not check.fits(q[-1], qd[-1])  # the law must not run on them


@pytest.mark.parametrize(
    ("lasts", "returns"), [(100, 150), (1000, None)], ids=["for a while", "for ever"]
)
def test_positions_that_jump_count_again_when_they_jump_back(lasts, returns):
    """Elsewhere they tell of a slipped encoder, of another arm, or of the past."""
    q, qd = motion(amplitude=0.02, count=1000)
    for false in (0.5, np.nan):
        seen = q.copy()
        seen[500 : 500 + lasts, 0] += 0.5
        if false is np.nan:  # one number for all that time
            seen[500 : 500 + lasts, 0] = 3.0
        _, lost, back = followed(seen, qd, 500)
        assert lost == 0
        assert back == returns


@pytest.mark.parametrize(
    ("jump", "most"), [(0.6, 0.05), (0.3, 0.03), (0.02, 0.004)], ids=["far", "share", "noise"]
)
@pytest.mark.parametrize("share", [0.99, 1.01])
def test_how_far_from_its_place_an_arm_may_come_back(jump, most, share):
    """By 50 mrad, by a tenth of the jump, or by encoder errors: it moves meanwhile."""
    track = _Track("", 1)
    track.is_continuous(np.array([jump]), PERIOD)
    track.is_continuous(np.array([share * most - jump]), PERIOD)
    back = [track.is_continuous(np.zeros(1), PERIOD) for _ in range(51)]
    assert back[-1] == (share < 1.0)
    assert not any(back[:49])


@pytest.mark.parametrize(("change", "jumps"), [(0.99 * SLOW, False), (1.01 * SLOW, True)])
def test_what_counts_as_a_jump(change, jumps):
    """More than encoders and filters cause."""
    track = _Track("", 1)
    track.is_continuous(np.array([-change]), PERIOD)
    assert (track.largest > 0.0) == jumps


@pytest.mark.parametrize(
    ("qd", "moving"), [((1.0, 0.198, 0.1), False), ((1.0, -0.202, 0.1), True)]
)
def test_only_an_arm_of_which_two_joints_move_has_a_delay(qd, moving):
    """The second one at a fifth of the largest speed at least."""
    delay = _common_delay(0.01 * np.array(qd), np.array(qd))
    assert delay == pytest.approx(0.01 if moving else 0.0)


@pytest.mark.parametrize(("away", "alike"), [(0.249, True), (0.251, False)])
def test_how_alike_joints_are_that_have_one_delay(away, alike):
    """They deviate from it by a fifth of the largest disagreement, of 1 + `away`, at most."""
    delay = _common_delay(np.array([1.0 + away, 1.0 - away]), np.ones(2))
    assert delay == pytest.approx(1.0 if alike else 0.0)


def test_late_samples_do_not_come_back():
    """They are continuous, but where the arm was: torques by them could drive it."""
    q, qd = motion(count=1000)
    late = np.r_[0:500, 250:750]
    _, lost, back = followed(q[late], qd[late], 500)
    assert (lost, back) == (0, None)


def test_stale_samples_do_not_come_back():
    """Not even when they move again: that may be the past."""
    q, qd = motion(count=1000)
    q[500:600, :2], qd[500:600, :2] = q[500, :2], qd[500, :2]
    _, lost, back = followed(q, qd, 500)
    assert (lost, back) == (11, None)


MOVING = QUICK + 0.3 * 0.08 * 0.05 / 0.09  # after 0.08 rad in 0.04 s [rad]
DOUBTED = 0.05 * (0.004 + 0.004 * 3.03)  # beyond the limit of velocity, at 3.03 rad/s [rad]


@pytest.mark.parametrize(
    ("samples", "most"),
    [
        ([(0.0, 0.0), (0.0, 0.0)], SLOW),
        ([(0.0, 2.0), (0.08, 2.0)], QUICK),
        ([(0.0, 2.0), (0.08, 2.0), (0.16, 2.0)], MOVING),
        ([(0.0, 3.03), (0.1212, 3.03)], DOUBTED),
    ],
    ids=["at rest", "quick", "moving", "too quick"],
)
def test_how_far_positions_may_depart_from_velocities(samples, most):
    """By encoders, late velocities and filters; less of it where speeds are wrong."""
    *first, (q, qd) = samples
    for sign in (-1.0, 1.0):
        assert after(*first, (q + 0.99 * sign * most, qd)) is None
        assert after(*first, (q + 1.01 * sign * most, qd)) is not None


@pytest.mark.parametrize(("away", "doubted"), [(1.19e-3, False), (1.21e-3, True)])
def test_how_far_samples_may_depart_while_another_arm_is_false(away, doubted):
    """By three tenths of their limit otherwise."""
    check = Measurements(ARMS, LIMITS)
    check.passes(np.zeros(4), np.zeros(4), passed=PERIOD)
    assert not check.passes(np.array([1.0, 0, 0, away]), np.zeros(4), passed=PERIOD)
    assert check.false_arms == ({*ARMS} if doubted else {next(iter(ARMS))})


@pytest.mark.parametrize(
    ("first", "step", "ratio", "words"),
    [
        (0.0038, 0.006, 0.395, "stand still"),
        (0.0038, 0.006, 0.405, "one of both is false"),
        (0.0038, 0.0035, -0.395, "stand still"),
        (0.0038, 0.0035, -0.405, "sign seems to be wrong"),
        (1e-6, 0.0003, 23.4, "one of both is false"),
        (1e-6, 0.0003, 23.7, "degrees per second"),
    ],
)
def test_causes_by_what_a_velocity_tells_of_the_last_step(first, step, ratio, words):
    """Less than 0.4 of it, as much backwards, or four tenths of the way to degrees."""
    told = 2.0 * ratio * step / 0.04  # the velocity before is zero
    assert words in after((0.0, 0.0), (first, 0.0), (first + step, told))


@pytest.mark.parametrize(("share", "jumped"), [(0.495, True), (0.505, False)])
def test_when_a_departure_is_a_jump(share, jumped):
    """If less than half of it was there before the last step."""
    kept = 0.05 / 0.09
    sentence = after((0.0, 0.0), (0.0039, 0.0), (0.0039 * (1.0 + 1.0 / share - kept), 0.0))
    assert ("jumped" in sentence) == jumped


@pytest.mark.parametrize(("away", "close"), [(0.0396, True), (0.0404, False)])
def test_how_close_a_false_position_is_to_its_cause(away, close):
    """All joints are within 0.04 rad of it, also that which is farthest."""
    q = np.array([0.5, 1.0, -0.5, 0.2])
    in_degrees, swapped, turned = q.copy(), q.copy(), q + np.array([0.0, away, 0.0, 0.0])
    in_degrees[:2] = np.degrees([q[0], q[1] + away])
    swapped[:2] = [q[2], q[3] + away]
    turned[0] -= 2.0 * np.pi
    causes = (
        (in_degrees, "in degrees"),
        (swapped, "names seem swapped"),
        (
            turned,
            "-6.28 rad in one sample, and its velocity tells of no such motion: a whole turn",
        ),
    )
    for false, words in causes:
        check = Measurements(ARMS, LIMITS)
        check.passes(q, np.zeros(4), passed=PERIOD)
        assert not check.passes(false, np.zeros(4), passed=PERIOD)
        sentence = next(check.findings()).sentence
        assert (words in sentence) == close
        assert close or "stale, repeated or false data" in sentence


@pytest.mark.parametrize(("largest", "degrees"), [(0.0396, False), (0.0404, True)])
def test_a_jump_near_zero_is_not_called_degrees(largest, degrees):
    """All arms near zero are near their positions in degrees as well."""
    q = np.array([0.001, largest, 0.5, 0.2])
    check = Measurements(ARMS, LIMITS)
    check.passes(q, np.zeros(4), passed=PERIOD)
    false = np.concatenate([np.degrees(q[:2]), q[2:]])
    assert not check.passes(false, np.zeros(4), passed=PERIOD)
    assert ("degrees" in next(check.findings()).sentence) == degrees


def test_noise_of_another_arm_is_no_motion():
    """A resting arm with coarse encoders tells nothing new beside one whose encoders jitter."""
    q, qd = np.ones((500, 4)), np.zeros((500, 4))
    q[:, 0] += 2e-4 * np.random.default_rng(5).standard_normal(500)
    assert judge(q, qd) == (None, None)


@pytest.mark.parametrize("bad", [0, 2])
def test_an_arm_at_rest_is_healthy_beside_a_false_one(bad):
    """A position that jumps is no motion that an arm with coarse encoders had to show."""
    check = Measurements(ARMS, LIMITS)
    q = np.ones(4)
    for i in range(200):
        q[bad] = 1.0 + 0.5 * (i >= 50) + 1e-3 * max(0, i - 50)
        assert check.passes(q, np.zeros(4), passed=PERIOD) == (i < 50)
    assert [found.subject for found in check.findings()] == [("left", "right")[bad // 2]]


def test_a_false_arm_is_not_trusted_until_it_begins_anew():
    """Good samples after it change nothing."""
    check = Measurements(ARMS, LIMITS)
    q = np.zeros(4)
    assert check.passes(q, q, passed=PERIOD)
    assert not check.passes(q + np.array([1.0, 0, 0, 0]), q, passed=PERIOD)
    for _ in range(100):
        assert not check.passes(q, q, passed=PERIOD)
    check.begin()
    assert check.passes(q, q, passed=PERIOD)


def test_samples_long_after_the_last_ones_are_not_compared():
    """The motion meanwhile is unknown; within 0.05 s a jump is one."""
    for passed, good in ((0.051, True), (0.049, False), (-60.0, True)):
        check = Measurements(ARMS, LIMITS)
        assert check.passes(np.zeros(4), np.zeros(4), passed=PERIOD)
        assert check.passes(np.full(4, 0.1), np.zeros(4), passed=passed) == good


@pytest.mark.parametrize("gap", ["numbers", "samples", "lost"])
@pytest.mark.parametrize(("away", "good"), [(-0.01, True), (0.01, False)])
def test_how_far_from_its_last_good_sample_an_arm_may_come_back(gap, away, good):
    """No further than it can move meanwhile: else the fallback would pull it by false data."""
    check = Measurements(ARMS, LIMITS)
    q, passed = np.ones(4), PERIOD if gap == "lost" else 0.1
    assert check.passes(q, np.zeros(4), passed=PERIOD)
    if gap == "numbers":
        for _ in range(49):
            check.passes(q * [np.nan, 1.0, 1.0, 1.0], np.zeros(4), passed=PERIOD)
    back = q + (3.0 * passed + 4e-3 + away) * np.eye(4)[0]
    step = 0.1 if gap == "samples" else PERIOD
    lost = ("left",) if gap == "lost" else ()
    assert check.passes(back, np.zeros(4), passed=step, lost=lost) == good
    found = list(check.findings())
    assert [one.subject for one in found] == ([] if good else ["left"])
    assert good or "since its last good sample" in found[0].sentence
    check.begin()
    assert check.passes(back, np.zeros(4), passed=PERIOD)


def test_speeds_by_positions():
    """Of every arm by its own time; none is known without time or with NaN."""
    check = Measurements(ARMS, LIMITS)
    check.passes(np.zeros(4), np.ones(4), passed=PERIOD)
    q = np.array([1e-3, -2e-3, 3e-3, np.nan])
    check.passes(q, np.ones(4), passed=np.array([PERIOD, 2.0 * PERIOD]))
    np.testing.assert_allclose(check.step_speeds()[:3], [0.5, 1.0, 0.0])
    assert check.step_speeds()[3] == 0.0
    check.passes(q, np.ones(4), passed=0.0)
    assert not check.step_speeds().any()


def reference(x=0.0, turn=0.0):
    """Pose of an object at a height, turned about its x axis."""
    return np.array([0.0, 0.0, x, np.sin(turn / 2.0), 0.0, 0.0, np.cos(turn / 2.0)])


@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize(
    ("way", "moved", "found"),
    [(1.01e-3, 1.99e-4, True), (0.99e-3, 1.99e-4, False), (1.01e-3, 2.01e-4, False)],
)
def test_an_arm_that_does_not_move_although_its_grasp_is_to(way, moved, found, turns):
    """Within 0.2 mrad while its grasp is to be a millimetre away, in three looks; not before."""
    grasps = np.array([[0.3, 0.0, 0.5], [-0.3, 0.0, 0.0]])
    still = StillArms((slice(0, 2), slice(2, 4)), grasps)
    q = np.zeros(4)
    assert still.look(q, reference()) == []
    q[1], q[3] = moved, 1.0
    pose = reference(turn=way / 0.5) if turns else reference(way)
    assert [still.look(q, pose) for _ in range(3)] == [[], [], [0] if found else []]
    still.begin()
    assert still.look(q, pose) == []


@pytest.mark.parametrize(("bandwidth", "looks"), [(40.0, 2), (25.0, 2), (24.9, 3), (0.5, 100)])
def test_how_long_an_arm_may_take_to_answer_a_jump(bandwidth, looks):
    """As long as the control of the object takes, 0.04 s at least."""
    still = StillArms((slice(0, 2),), np.zeros((1, 3)), bandwidth)
    still.look(np.zeros(2), reference())
    found = [still.look(np.zeros(2), reference(0.01)) for _ in range(looks + 1)]
    assert found == [[]] * looks + [[0]]


@pytest.mark.parametrize("speed", [1e-3, 1e-5])
def test_an_arm_that_follows_slowly_is_not_still(speed):
    """Its joints move about as far as its grasp is to."""
    still = StillArms((slice(0, 2),), np.zeros((1, 3)))
    for tick in range(2000):
        way = 0.3 * speed * tick
        assert still.look(np.array([way, 0.0]), reference(speed * tick)) == []
