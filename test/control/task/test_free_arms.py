# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Free arms: references in joint space and along tools, and the torque that follows them."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.joint_motion import StillJoints
from robot_dynamics.control.reference import PEAK_RATE
from robot_dynamics.control.task.free_arms import FreeArms, JointMove, Lines
from robot_dynamics.control.task.free_phases import Grasp, SqueezeWrenches
from robot_dynamics.control.task.grippers import Grippers
from robot_dynamics.control.task.phases import Now, PhaseFailed
from robot_dynamics.control.task_settings import GraspSettings
from robot_dynamics.robot import Robot

SCENARIO = load_scenario("pick_and_place")


@pytest.fixture(scope="module")
def arms():
    control = replace(SCENARIO.control, friction=replace(SCENARIO.control.friction, share=0.0))
    return FreeArms(build_system(SCENARIO), control, replace(SCENARIO.safety, torque_rate=np.inf))


def test_joint_moves_rest_at_both_ends_within_the_velocity():
    """The slowest joint sets the duration; rates are those of the positions."""
    start, end, velocity = np.array([0.0, 1.0]), np.array([0.5, -1.0]), np.array([1.0, 2.0])
    move = JointMove(start, end, velocity)
    assert move.duration == pytest.approx(PEAK_RATE * 1.0)
    t, step = np.linspace(0.0, move.duration, 101), 1e-5
    found = [move.at(time) for time in t.tolist()]
    q, qd, qdd = (np.array(part) for part in zip(*found, strict=True))
    np.testing.assert_allclose(q[[0, -1]], [start, end], atol=1e-15)
    np.testing.assert_allclose(qd[[0, -1]], 0.0, atol=1e-12)
    np.testing.assert_allclose(qdd[[0, -1]], 0.0, atol=1e-12)
    assert np.abs(qd / velocity).max() == pytest.approx(1.0, rel=1e-6)
    for rate, value in ((qd, 0), (qdd, 1)):
        later, before = (np.array([move.at(x + s)[value] for x in t[1:-1]]) for s in (step, -step))
        np.testing.assert_allclose(rate[1:-1], (later - before) / (2.0 * step), atol=1e-6)
    np.testing.assert_array_equal(move.at(0.3, 0.1)[2], move.at(0.4)[2])
    assert not JointMove(start, start, velocity).at(0.0)[1].any()


@pytest.mark.parametrize("way", [1e-6, 1e-3, 0.1])
def test_short_moves_do_not_jerk(way):
    """A joint gets to its largest speed in 0.2 s at the earliest."""
    move = JointMove(np.zeros(1), np.array([way]), np.array([0.8]))
    times = np.linspace(0.0, move.duration, 1001).tolist()
    largest = max(abs(float(move.at(time)[2][0])) for time in times)
    assert largest == pytest.approx(0.8 / 0.2, rel=1e-4)


def test_tools_move_straight_along_their_axes(arms):
    """By the length that is asked, without turning; an arm that is stopped stays."""
    q, period = SCENARIO.home, SCENARIO.control.period
    arms.begin(q, arms.support(q))
    arms.begin_lines()
    before = [arms.tool_pose(i, q) for i in range(2)]
    lines = Lines(2, 0.1, 0.2)
    assert lines.duration == pytest.approx(PEAK_RATE * 0.1 / 0.2)
    for time in np.arange(0.0, lines.duration, period).tolist():
        arms.advance_tools(lines.speeds(time))
    for i in range(2):
        now = arms.tool_pose(i, arms.q)
        np.testing.assert_allclose(now[:3, :3], before[i][:3, :3], atol=1e-5)
        way = before[i][:3, :3].T @ (now[:3, 3] - before[i][:3, 3])
        np.testing.assert_allclose(way, [0.0, 0.0, 0.1], atol=2e-5)
    arms.begin_lines()
    lines = Lines(2, 0.1, 0.2)
    lines.stop(1)
    stays = arms.q[arms.system.arm_slices[1]].copy()
    arms.advance_tools(lines.speeds(0.2))
    assert arms.qd[arms.system.arm_slices[0]].any()
    np.testing.assert_array_equal(arms.q[arms.system.arm_slices[1]], stays)


@pytest.mark.parametrize(("elbow", "share"), [(0.01, 0.693), (0.005, None)])
def test_tools_do_not_move_near_a_singularity(arms, elbow, share):
    """An arm that is nearly stretched would need joint velocities beyond their limits."""
    q = SCENARIO.home.copy()
    q[3] = elbow
    arms.begin(q, arms.support(q))
    arms.begin_lines()
    speeds = np.array([0.05, 0.0])
    if share:
        arms.advance_tools(speeds)
        assert np.abs(arms.qd / arms.system.limits["velocity"]).max() == pytest.approx(share, 0.01)
        return
    with pytest.raises(PhaseFailed, match=r"would have to move at .* near a singularity"):
        arms.advance_tools(speeds)
    np.testing.assert_array_equal(arms.q, q)
    assert not arms.qd.any()


def settled(arms, q, qd):
    """Return the torque at a state when the torque of the law before has faded."""
    for _ in range(round(0.2 * SCENARIO.control.rate_hz)):
        arms.torque(q, qd)
    return arms.torque(q, qd)


def test_the_torque_of_the_law_before_fades(arms):
    """From the one that was sent last to the own one, by the smooth step of fifth order."""
    q, still = SCENARIO.home, np.zeros(14)
    own = arms.support(q)
    arms.begin(q, own + 7.0)
    left = np.array([arms.torque(q, still) for _ in range(101)]) - own
    u = np.linspace(0.0, 1.0, 101)
    smooth = 7.0 * (1.0 - 10.0 * u**3 + 15.0 * u**4 - 6.0 * u**5)
    np.testing.assert_allclose(left, np.tile(smooth, (14, 1)).T, atol=1e-9)


def test_torques_follow_the_reference(arms):
    """On it, they accelerate the arms by the reference's acceleration; off it, by the servo's.

    The oracle is the articulated-body algorithm, not inverse dynamics.
    """
    rng = np.random.default_rng(3)
    q, qd, qdd = SCENARIO.home, 0.3 * rng.normal(size=14), 0.5 * rng.normal(size=14)
    w, robot = SCENARIO.control.object.bandwidth, Robot(arms.system.arms_alone)
    for off, rate in ((0.0, 0.0), (1e-3, 0.0), (0.0, 2e-3)):
        arms.begin(q, np.zeros(14))
        arms.follow(q + off, qd + rate, qdd)
        moved = robot.tree_forward_dynamics(q, qd, settled(arms, q, qd))
        np.testing.assert_allclose(moved, qdd + w**2 * off + 2.0 * w * rate, rtol=1e-9)


def test_torques_press(arms):
    """A wrench of a tool adds the torques of its virtual work, by finite differences."""
    q, wrench, step = SCENARIO.home, np.array([0.1, 0.2, 0.3, 4.0, 5.0, 60.0]), 1e-6
    arms.begin(q, np.zeros(14))
    free = arms.support(q)
    arms.wrenches[0] = wrench
    pressed = arms.support(q) - free
    before = arms.tool_pose(0, q)
    for joint in range(7):
        there = q.copy()
        there[joint] += step
        moved = np.linalg.inv(before) @ arms.tool_pose(0, there)
        turn = [moved[2, 1] - moved[1, 2], moved[0, 2] - moved[2, 0], moved[1, 0] - moved[0, 1]]
        twist = np.array([*(0.5 * np.array(turn)), *moved[:3, 3]]) / step
        assert pressed[joint] == pytest.approx(wrench @ twist, abs=1e-4)
    assert not pressed[7:].any()


def test_torques_keep_their_limits(arms):
    """Of effort, and of the rate from the torque that was sent last."""
    q, system = SCENARIO.home, build_system(SCENARIO)
    arms.begin(q, np.zeros(14))
    arms.follow(q + 10.0, np.zeros(14), np.zeros(14))
    share = np.abs(settled(arms, q, np.zeros(14))) / system.limits["effort"]
    assert share.max() == pytest.approx(0.95)
    assert np.isclose(share, 0.95).sum() > 7
    slow = FreeArms(system, SCENARIO.control, replace(SCENARIO.safety, torque_rate=500.0))
    slow.begin(q, np.zeros(14))
    slow.follow(q + 10.0, np.zeros(14), np.zeros(14))
    sent = np.array([slow.torque(q, np.zeros(14)) for _ in range(101)])
    assert np.abs(np.diff(sent, axis=0)).max() == pytest.approx(1.0)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_free_joints_follow_their_reference(arms, sign):
    """Up to `safety.tracking_limit_rad`; a joint without a position does not follow."""
    q = SCENARIO.home.copy()
    arms.begin(q, arms.support(q))
    q[3] += sign * 0.199
    arms.require_tracking(q)
    q[3] = SCENARIO.home[3] + sign * 0.201
    said = "joint 'left_joint4' is 0.201 rad from its reference, expected at most 0.2 rad"
    with pytest.raises(PhaseFailed, match=said):
        arms.require_tracking(q)
    q[3] = np.nan
    with pytest.raises(PhaseFailed, match="joint 'left_joint4' is nan rad"):
        arms.require_tracking(q)


def test_a_joint_moves_before_friction_could_hold_it(arms):
    """The growth of its error: 5 % of its torque over the stiffness, from 5 to 50 mrad."""
    q, servo = SCENARIO.home, SCENARIO.control.object.bandwidth**2
    system = arms.system
    robot = Robot(system.arms_alone)
    at = [robot.model.joint_index(name) for name in system.joint_names]
    v = [robot.model.v_slices[i].start for i in at]
    full = np.empty(len(q))
    full[[robot.model.q_slices[i].start for i in at]] = q
    diagonal = np.diag(robot.inertia_matrix(full)[np.ix_(v, v)])
    expected = 0.05 * SCENARIO.safety.effort_fraction * system.limits["effort"] / servo / diagonal
    assert expected.min() < 0.005 < 0.05 < expected.max()
    np.testing.assert_allclose(arms._forced_growth(q), np.clip(expected, 0.005, 0.05))


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize(
    ("moved", "grown", "found"),
    [(1.9e-4, 5.1e-3, [3]), (2.1e-4, 5.1e-3, []), (0.0, 4.9e-3, []), (0.0, 0.06, [3])],
)
def test_joints_that_stay_are_found(sign, moved, grown, found):
    """At the second look at a joint whose error has grown beyond its bound."""
    still, reference = StillJoints(np.full(14, 5e-3)), SCENARIO.home.copy()
    q = reference - 0.01  # a steady error is none that grows
    assert still.look(q, reference) == still.look(q, reference) == []
    reference[3] += grown + moved
    q[3] += moved
    q[5] += 0.3
    assert still.look(q, reference) == []
    assert still.look(q, reference) == found
    reference[3] += sign  # and back, so that it changes sides
    still.begin()
    assert still.look(q, reference) == still.look(q, reference) == []


def test_a_joint_that_its_reference_comes_back_to_is_found():
    """Growth counts from the least error since the joint moved."""
    still, q = StillJoints(np.full(1, 5e-3)), np.zeros(1)
    assert [still.look(q, np.full(1, error)) for error in (0.01, 0.0, 5.1e-3, 5.1e-3)][2:] == [
        [],
        [0],
    ]


@pytest.mark.parametrize(
    ("which", "most", "said"),
    [("position_tolerance_m", 0.01, "0.0101 m"), ("rotation_tolerance_rad", 0.05, "2.89 degrees")],
)
def test_hands_close_with_tools_at_their_places(arms, which, most, said):
    """Within the tolerances of a start; joint 7 turns the tool about its own axis."""
    q, own = SCENARIO.home.copy(), arms.system.arm_slices[0]
    arms.begin(q, arms.support(q))
    way = np.zeros(14)
    if which == "rotation_tolerance_rad":
        way[6] = most
    else:
        J = arms._jacobian(0, q)[:, own]
        way[own] = np.linalg.pinv(J) @ np.array([0.0, 0.0, 0.0, 0.0, 0.0, most])
    assert arms.astray(q + 0.99 * way) == ""
    found = arms.astray(q + 1.01 * way)
    assert found.startswith(": the tool of arm 'left' is ")
    assert said in found


def test_closed_grippers_open_at_the_next_start():
    """A reset knows the last commands: grippers of a task that ended early are still closed."""
    sent = []
    grippers = Grippers(["left"])

    def grip(arm, *, closed):
        sent.append((arm, closed))
        return False

    grippers.close()
    grippers.send(grip)
    assert grippers.empty == ["left"]
    grippers.reset()
    assert grippers.empty == ["left"]  # it is not known any more
    grippers.send(grip)
    grippers.send(grip)
    assert sent == [("left", True), ("left", False)]


@pytest.mark.parametrize(
    ("force", "refused"),
    [((0.0, 0.0, -14.0), False), ((0.0, 0.0, -16.0), True), ((16.0, 0.0, 2.0), True),
     ((0.0, 0.0, 16.0), False), ((0.0, 0.0, np.nan), True)],
)  # fmt: skip
def test_a_search_ends_at_a_force_that_is_no_push(arms, force, refused):
    """Along the tool from 5 times the force of a touch on: a sensor's sign, or another body."""
    q = SCENARIO.home
    arms.begin(q, arms.support(q))
    grasp = Grasp(arms, GraspSettings(), SqueezeWrenches(np.zeros(2), np.zeros((2, 6))))
    wrenches = np.zeros((2, 6))
    wrenches[0, 3:] = force
    now = Now(0.0, q, np.zeros(14), wrenches, np.zeros(14))
    grasp.begin(now)
    if not refused:
        assert not grasp.advance(now)
        return
    with pytest.raises(PhaseFailed, match=r"arm 'left' measures .* but no push along its tool"):
        grasp.advance(now)
