# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of free arms: their paths, replacement, cancel, tolerances and refusals."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.interpolate import BPoly

from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.control.task import joint_trajectory
from robot_dynamics.control.task.follow_phase import Follow
from robot_dynamics.control.task.joint_trajectory import (
    Code,
    JointGoal,
    JointLimits,
    JointTrajectory,
    JointTrajectoryError,
    halted,
)
from robot_dynamics.control.task.law import TaskLaw
from robot_dynamics.control.task.phases import Now, Wait
from robot_dynamics.control.task_settings import MoveSettings

JOINTS = ("a", "b")
LIMITS = JointLimits(np.full(2, -2.0), np.full(2, 2.0), np.full(2, 3.0), ("rad", "m"))
REST = (np.zeros(2), np.zeros(2), np.zeros(2))
PERIOD = 0.002


def trajectory(times=(1.0, 2.0), positions=((0.5, -0.2), (0.8, 0.1)), **rates):
    """Return a trajectory of two joints."""
    return JointTrajectory(JOINTS, times, positions, **rates)


def test_a_path_goes_through_the_points_with_continuous_acceleration():
    """Rates are the derivatives of the positions; both ends are at rest."""
    given = np.array([[0.2, 0.3], [0.0, 0.0]])
    path = trajectory(velocities=given).begun(5.0, REST, LIMITS)
    assert path.duration == 2.0
    np.testing.assert_allclose(path.at(6.0)[0], [0.5, -0.2], atol=1e-12)
    np.testing.assert_allclose(path.at(6.0)[1], given[0], atol=1e-12)
    np.testing.assert_allclose(path.at(7.0)[0], [0.8, 0.1], atol=1e-12)
    for time in (4.0, 5.0, 7.0, 9.0):
        assert np.abs(path.at(time)[1]).max() < 1e-12
    t, h = np.linspace(5.01, 6.99, 100), 1e-5
    for value, rate in ((0, 1), (1, 2)):
        slope = [(path.at(x + h)[value] - path.at(x - h)[value]) / (2.0 * h) for x in t]
        np.testing.assert_allclose([path.at(x)[rate] for x in t], slope, atol=1e-4)
    before, after = path.at(6.0 - 1e-9)[2], path.at(6.0 + 1e-9)[2]
    np.testing.assert_allclose(before, after, atol=1e-5)
    np.testing.assert_allclose(path.at(5.5, 0.1)[2], path.at(5.6)[2], atol=1e-12)


def test_omitted_velocities_follow_from_the_neighbours():
    """Of the present reference as well; at the last point they are zero."""
    path = trajectory().begun(0.0, REST, LIMITS)
    np.testing.assert_allclose(path.at(1.0)[1], [0.4, 0.05], atol=1e-12)


def test_a_trajectory_replaces_another_without_a_jump():
    """It begins with position, velocity and acceleration of the one before."""
    first = trajectory().begun(0.0, REST, LIMITS)
    now = first.at(0.7)
    second = trajectory((0.5,), ((0.0, 0.0),)).begun(0.7, now, LIMITS)
    for old, new in zip(now, second.at(0.7), strict=True):
        np.testing.assert_allclose(new, old, atol=1e-12)
    np.testing.assert_allclose(second.at(1.2)[0], 0.0, atol=1e-12)


def test_a_cancelled_trajectory_comes_to_rest_within_the_limits():
    """In 0.4 s, after half of the way that its velocity would make."""
    path = trajectory().begun(0.0, REST, LIMITS)
    now = path.at(0.7)
    end = halted(0.7, now, LIMITS)
    assert end.duration == 0.4
    np.testing.assert_allclose(end.at(0.7)[1], now[1], atol=1e-12)
    np.testing.assert_allclose(end.at(2.0)[0], now[0] + 0.2 * now[1], atol=1e-12)
    assert not end.at(1.1)[1].any()
    near = (np.array([1.99, 0.0]), np.array([1.0, 0.0]), np.zeros(2))
    assert halted(0.0, near, LIMITS).at(9.0)[0][0] == pytest.approx(2.0)


def test_a_point_at_time_zero_is_where_the_joints_are():
    """Planners send it; it may differ from the reference by 0.05 rad, and moves nothing."""
    times, points = (0.0, 1.0), ((0.05, 0.0), (0.5, 0.0))
    path = trajectory(times, points).begun(0.0, REST, LIMITS)
    assert not path.at(0.0)[0].any()
    np.testing.assert_allclose(path.at(1.0)[0], [0.5, 0.0], atol=1e-12)
    with pytest.raises(
        JointTrajectoryError, match=r"'a' begins 0\.051 rad from its present reference"
    ):
        trajectory(times, ((0.051, 0.0), (0.5, 0.0))).begun(0.0, REST, LIMITS)
    assert not trajectory((0.0,), ((0.01, 0.0),)).begun(0.0, REST, LIMITS).at(1.0)[0].any()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"times": (), "positions": np.zeros((0, 2))}, "0 points; expected 1 to 2000"),
        ({"times": (1.0, 1.0)}, "time of point 1 is 1 s; expected times from 0"),
        ({"times": (-1e-9, 1.0)}, "time of point 0 is"),
        ({"times": (1.0, np.nan)}, "time of point 1 is nan s"),
        ({"times": (1.0, 3600.1)}, "time of point 1 is 3600.1 s"),
        ({"positions": ((0.0,), (1.0,))}, r"position of shape \(2, 1\); expected \(2, 2\)"),
        ({"positions": ((0.0, np.inf), (1.0, 0.0))}, "position of joint 'b' at point 0 is inf"),
        ({"velocities": ((0.0, 0.0), (0.0, 1e-3))}, "its last point moves"),
        ({"velocities": ((0.0, 0.0),)}, r"velocity of shape \(1, 2\)"),
        ({"accelerations": ((0.0, 0.0), (np.nan, 0.0))}, "acceleration of joint 'a' at point 1"),
    ],
)
def test_wrong_trajectories_are_refused(wrong, words):
    """With the point and the joint."""
    with pytest.raises(JointTrajectoryError, match=words):
        trajectory(**wrong)


def test_a_path_of_many_points_is_the_quintic_through_them():
    """As SciPy makes it from the derivatives, with a beginning in motion."""
    rng = np.random.default_rng(4)
    times = np.cumsum(rng.uniform(0.3, 1.0, 7))
    p, v, a = rng.uniform(-0.5, 0.5, (3, 7, 2))
    v[-1] = 0.0
    now = tuple(rng.uniform(-0.2, 0.2, (3, 2)))
    wide = JointLimits(*(np.full(2, x) for x in (-9.0, 9.0, 9.0)), LIMITS.units)
    path = trajectory(times, p, velocities=v, accelerations=a).begun(3.0, now, wide)
    knots = [np.stack(point) for point in zip(*(
        np.concatenate([one[None], many]) for one, many in zip(now, (p, v, a), strict=True)
    ), strict=True)]  # fmt: skip
    whole = BPoly.from_derivatives(np.concatenate([[0.0], times]), knots)
    for t in np.linspace(0.0, times[-1] - 1e-6, 60):
        q, qd, qdd = path.at(3.0 + t)
        np.testing.assert_allclose(q, whole(t), atol=1e-9)
        np.testing.assert_allclose(qd, whole.derivative()(t), atol=1e-9)
        np.testing.assert_allclose(qdd, whole.derivative(2)(t), atol=1e-8)


def test_a_prepared_trajectory_leaves_two_pieces_to_its_beginning(monkeypatch):
    """So that 2000 points take no longer in the control loop than three."""
    times = np.arange(1.0, 2001.0)
    ready = trajectory(times, np.tile(np.sin(times), (2, 1)).T).prepare()
    pieces, compute = [], joint_trajectory.hermite

    def counted(begin, end, duration):
        pieces.append(len(duration))
        return compute(begin, end, duration)

    monkeypatch.setattr(joint_trajectory, "hermite", counted)
    path = ready.begun(0.0, REST, LIMITS)
    assert pieces == [2]
    np.testing.assert_allclose(path.at(1500.0)[0], np.sin(1500.0), atol=1e-9)


@pytest.mark.parametrize("first", [0.0, 0.5])
def test_limits_hold_in_every_piece(first):
    """On both sides, whether a piece is prepared or not, and with a point at time 0."""
    times = first + 2.0 * np.arange(6.0)
    for piece in range(1, 6):
        for side, name, unit in ((1.0, "a", "rad"), (-1.0, "b", "m")):
            points = np.zeros((6, 2))
            points[piece:, "ab".index(name)] = side * 2.0
            still = {"velocities": np.zeros((6, 2))}
            trajectory(times, points, **still).begun(0.0, REST, LIMITS)
            beyond = trajectory(times, 1.01 * points, **still)
            with pytest.raises(
                JointTrajectoryError, match=f"position of joint '{name}' .* {unit}\\.$"
            ):
                beyond.begun(0.0, REST, LIMITS)
            slow = replace(LIMITS, velocity=np.full(2, 1.875 / 1.01))
            with pytest.raises(
                JointTrajectoryError, match=f"velocity of joint '{name}' .* {unit}/s\\.$"
            ):
                trajectory(times, points, **still).begun(0.0, REST, slow)


def test_limits_hold_between_the_points_as_well():
    """On both sides: a path that just keeps them is followed."""
    fast = ((0.8, 0.0),)
    duration = 0.8 * 1.875 / 3.0  # the peak rate of a quintic is 1.875 times its mean
    with pytest.raises(
        JointTrajectoryError, match=r"velocity of joint 'a' would be 3\.03; expected"
    ):
        trajectory((duration / 1.01,), fast).begun(0.0, REST, LIMITS)
    trajectory((duration * 1.0001,), fast).begun(0.0, REST, LIMITS)
    with pytest.raises(JointTrajectoryError, match=r"position of joint 'b' would be -2\.001"):
        trajectory((4.0,), ((0.0, -2.001),)).begun(0.0, REST, LIMITS)
    trajectory((4.0,), ((0.0, -2.0),)).begun(0.0, REST, LIMITS)
    with pytest.raises(JointTrajectoryError, match="position of joint 'a'"):  # overshoot
        trajectory(
            (1.0, 2.0), ((1.99, 0.0), (1.99, 0.0)), velocities=((1.0, 0.0), (0.0, 0.0))
        ).begun(0.0, REST, LIMITS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"positions": ((1e308, 0.0), (-1e308, 0.0))},
        {"velocities": ((1e308, 0.0), (0.0, 0.0))},
        {"accelerations": ((0.0, 0.0), (0.0, -1e308))},
        {"times": (1e-70, 1.0)},
    ],
)
def test_numbers_that_overflow_are_refused(wrong):
    """A path of NaN keeps no limit."""
    with pytest.raises(JointTrajectoryError, match=r"of joint '[ab]' would be"):
        trajectory(**wrong).begun(0.0, REST, LIMITS)


@pytest.mark.parametrize("acceleration", [0.0, -30.0, 30.0, 1e300])
def test_a_halt_keeps_the_limits_on_its_way(acceleration):
    """Near a limit it is shorter, and a large acceleration does not go on."""
    for q, qd in ((1.9, 1.0), (1.0, 2.9), (1.999, 0.05), (2.0, 0.0), (0.0, -2.9)):
        motion = tuple(np.full(2, x) for x in (q, qd, acceleration))
        path = halted(0.0, motion, LIMITS)
        seen = [path.at(t) for t in np.linspace(0.0, path.duration, 100)]
        assert np.abs([x[0] for x in seen]).max() < 2.0 + 1e-9
        assert np.abs([x[1] for x in seen]).max() < 3.3
        assert not path.at(path.duration)[1].any()


# -- the phase, with arms that are where their reference is, or beside it ----------------------


class Arms:
    """Two arms of one joint each."""

    def __init__(self):
        arms = [SimpleNamespace(name=name, joints=(name,)) for name in JOINTS]
        limits = {"lower": LIMITS.lower, "upper": LIMITS.upper, "velocity": LIMITS.velocity}
        slices = [slice(0, 1), slice(1, 2)]
        units = LIMITS.units
        self.system = SimpleNamespace(
            arms=arms, arm_slices=slices, limits=limits, joint_units=units
        )
        self.q, self.ahead, self.motion = np.zeros(2), 0.0, REST

    def rest(self, q):
        self.follow(q, np.zeros(2), np.zeros(2))

    def follow(self, *motion):
        self.q, self.motion = motion[0].copy(), motion


class Bench:
    """A phase in which both arms follow trajectories."""

    def __init__(self, **settings):
        self.arms = Arms()
        self.phase = Follow(self.arms, MoveSettings(until="operator", **settings), 0.1)
        self.tick, self.offset, self.over = 0, np.zeros(2), False
        self.phase.begin(self.now())

    def now(self):
        q = self.arms.q + PERIOD * self.arms.motion[1] + self.offset  # it moves on meanwhile
        return Now(self.tick * PERIOD, q, np.zeros(2), None, np.zeros(2))

    def run(self, seconds):
        """Simulate a while; return the positions of the reference (n, 2)."""
        found = []
        for _ in range(round(seconds / PERIOD)):
            self.tick += 1
            self.over = self.phase.advance(self.now())
            found.append(self.arms.q.copy())
        return np.array(found)


def goal(arm, to, time=1.0, **tolerances):
    """Return a goal of one arm."""
    return JointGoal(JointTrajectory((arm,), (time,), ((to,),)), **tolerances)


def test_both_arms_follow_goals_of_their_own():
    """The phase can end when both are at rest."""
    bench = Bench(velocity_fraction=1.0)
    bench.run(0.1)
    assert not bench.over  # an operator has at least 0.2 s
    first, second = goal("a", 0.5), goal("b", -0.3, 0.5)
    bench.phase.follow({"a": first, "b": second})
    bench.run(0.6)
    assert (first.ended, second.code) == (False, Code.SUCCESSFUL)
    assert not bench.over
    bench.run(0.5)
    assert first.code is Code.SUCCESSFUL
    assert bench.over
    np.testing.assert_allclose(bench.arms.q, [0.5, -0.3], atol=1e-12)
    assert not bench.phase.goals


def test_replacing_and_cancelling_goals():
    """A goal that is replaced is cancelled; the other arm goes on; positions never jump."""
    bench = Bench(velocity_fraction=1.0)
    first, other, second = goal("a", 0.5), goal("b", 0.5), goal("a", -0.2)
    bench.phase.follow({"a": first, "b": other})
    way = [bench.run(0.4)]
    bench.phase.follow({"a": second})
    assert first.cancelled
    assert first.sentence == "another trajectory replaces it."
    way.append(bench.run(0.3))
    second.cancel("asked for.")
    way.append(bench.run(0.6))
    assert bench.over
    assert (second.cancelled, second.code, other.code) == (True, None, Code.SUCCESSFUL)
    assert np.abs(np.diff(np.concatenate(way), axis=0)).max() < 1.1 * PERIOD * 1.875
    assert 0.0 < bench.arms.q[0] < 0.5


def test_a_refused_path_leaves_all_goals_as_they_are():
    """Limits of the phase hold: a share of the velocity, and the margin of positions."""
    bench = Bench(velocity_fraction=0.3)
    first = goal("a", 0.4)
    bench.phase.follow({"a": first})
    bench.run(0.2)
    with pytest.raises(JointTrajectoryError, match="velocity of joint 'b'"):
        bench.phase.follow({"a": goal("a", 0.0, 2.0), "b": goal("b", 0.5)})
    with pytest.raises(JointTrajectoryError, match=r"expected -1\.9 to 1\.9"):
        bench.phase.follow({"b": goal("b", 1.95, 9.0)})
    assert not first.ended
    bench.run(0.9)
    assert first.code is Code.SUCCESSFUL


@pytest.mark.parametrize(("offset", "code"), [(0.0199, Code.SUCCESSFUL), (0.0201, -4)])
def test_tolerances_on_the_way(offset, code):
    """On both sides; the arm comes to rest where the goal fails."""
    bench = Bench(velocity_fraction=1.0)
    asked = goal("a", 0.5, path=0.02)
    bench.phase.follow({"a": asked})
    bench.run(0.5)
    bench.offset[0] = -offset
    bench.run(1.0)
    assert asked.code == code
    np.testing.assert_allclose(asked.deviation, [-offset], atol=2e-5)
    assert (bench.arms.q[0] == pytest.approx(0.5)) == (code == Code.SUCCESSFUL)
    if code != Code.SUCCESSFUL:
        assert asked.sentence.startswith("joint 'a' deviates by 0.0201 rad on the way, expected")


@pytest.mark.parametrize(("offset", "code"), [(0.0099, Code.SUCCESSFUL), (0.0101, -5)])
def test_tolerances_at_the_end(offset, code):
    """The joints have some time to arrive."""
    bench = Bench(velocity_fraction=1.0)
    asked = goal("a", 0.5, end=0.01, end_s=0.2)
    bench.offset[0] = 0.04
    bench.phase.follow({"a": asked})
    bench.run(1.1)
    assert not asked.ended
    bench.offset[0] = offset
    bench.run(0.15)
    assert asked.code == code
    assert bool(asked.sentence) == (code != Code.SUCCESSFUL)


def test_positions_that_are_not_finite_end_a_goal():
    """Though the safety layer lets no such sample pass."""
    bench = Bench(velocity_fraction=1.0)
    asked = goal("a", 0.5, path=0.02)
    bench.phase.follow({"a": asked})
    bench.offset[0] = np.nan
    bench.run(0.1)
    assert asked.code is Code.PATH_TOLERANCE_VIOLATED


def test_estimated_wrenches_are_tared_before_trajectories():
    """Else an error of the model looks like a touch, which ends the phase."""
    tared, phase = [], Bench().phase
    observer = SimpleNamespace(tare=lambda: tared.append(True))
    TaskLaw._tare_free_tools(SimpleNamespace(_course=[phase], _at=0, _observer=observer))
    assert tared


def test_a_task_that_only_waits_can_start():
    """It has no phase that says how firmly hands may touch."""
    arms = [SimpleNamespace(name=name) for name in JOINTS]
    task = SimpleNamespace(
        _resumes=False,
        grippers=None,
        _phases=(Wait(1.0),),
        system=SimpleNamespace(arms=arms),
        _safety=SafetySettings(),
    )
    TaskLaw.check_hands(task, np.zeros(2), np.full((2, 6), 100.0))
