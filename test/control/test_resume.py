# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""After a stop control starts where the arms hold the object, and rejoins the reference."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.control_loops import feed, sampled_loop

from robot_dynamics.app.scenarios.cell import true_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.faults import SafetyError, State
from robot_dynamics.control.reference import (
    ACCELERATION,
    FORCE,
    PEAK_ACCELERATION,
    POSE,
    TWIST,
    plan_reference,
)
from robot_dynamics.control.resume import Resumed, ResumeError, nearest_time
from robot_dynamics.control.settings import (
    ForceStepSettings,
    ReferenceSettings,
    ResumeSettings,
    SegmentSettings,
    StartSettings,
    TurnSettings,
)
from robot_dynamics.control.start_check import NotAtRestError, StartError
from robot_dynamics.control.task.law import TaskLaw

BEGIN = np.array([0.6, 0.0, 0.7, 0.0, 0.0, 0.0, 1.0])
PLAN = plan_reference(
    ReferenceSettings(
        segments=(
            SegmentSettings(2.0, move=(0.0, 0.1, 0.3), rotate=TurnSettings((0, 1, 0), 60.0)),
            SegmentSettings(1.0),
            SegmentSettings(2.0, move=(0.0, 0.0, -0.3)),
        ),
        force=(ForceStepSettings(0.0, squeeze_n=30.0), ForceStepSettings(1.0, squeeze_n=50.0)),
    ),
    BEGIN,
)
SETTINGS = ResumeSettings(0.05, 0.1, 0.3, 0.5)
LIFT = (
    "reference.segments=[{duration_s: 0.8, move: [0, 0, 0.1]}]",
    "reference.force=[{time_s: 0, squeeze_n: 30, duration_s: 0.4}]",
)


def displaced(time, offset, degrees=0.0):
    """Return the plan's pose (7,) at a time, moved and turned about x."""
    pose = PLAN.row(time)[POSE].copy()
    pose[:3] += offset
    turn = Rotation.from_euler("x", degrees, degrees=True)
    pose[3:] = (turn * Rotation.from_quat(pose[3:])).as_quat()
    return pose


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("time", [0.0, 0.7, 3.9, 5.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_resumed_plan_is_smooth_from_the_object_to_its_end(time, backwards, sign):
    """Velocities and accelerations are the rates of poses and velocities, from rest to rest."""
    pose = displaced(time, [0.03, -0.02, 0.04], 12.0)
    pose[3:] *= sign
    resumed = Resumed(PLAN, pose, time, SETTINGS, backwards=backwards)
    step = 1e-4
    t = np.arange(-0.1, resumed.duration + 0.1, step)
    rows = resumed.rows(t)
    rate, middle = np.diff(rows, axis=0) / step, 0.5 * (rows[1:] + rows[:-1])
    spin = (
        2.0
        * (
            Rotation.from_quat(rows[1:, 3:7]) * Rotation.from_quat(rows[:-1, 3:7]).inv()
        ).as_rotvec()
        / (2.0 * step)
    )
    np.testing.assert_allclose(rate[:, :3], middle[:, 10:13], atol=1e-6)
    np.testing.assert_allclose(spin, middle[:, 7:10], atol=1e-6)
    np.testing.assert_allclose(rate[:, TWIST], middle[:, ACCELERATION], atol=1e-3)
    assert np.abs(np.diff(rows[:, 3:7], axis=0)).max() < 1e-3  # the quaternion's sign
    first, last = rows[0], rows[-1]
    assert abs(first[3:7] @ pose[3:]) == pytest.approx(1.0)
    np.testing.assert_allclose(first[:3], pose[:3], atol=1e-12)
    np.testing.assert_allclose(first[FORCE], PLAN.row(time)[FORCE])
    end = PLAN.row(0.0 if backwards else PLAN.duration)
    np.testing.assert_allclose(last[:3], end[:3], atol=1e-12)
    assert abs(last[3:7] @ end[3:7]) == pytest.approx(1.0)
    np.testing.assert_allclose(last[FORCE], end[FORCE], atol=1e-9)


@pytest.mark.parametrize(
    ("offset", "degrees", "column", "limit"),
    [
        ([0.0, 0.2, 0.0], 0.0, TWIST, SETTINGS.velocity),
        ([0.0, 0.01, 0.0], 0.0, ACCELERATION, SETTINGS.acceleration),
        ([0.0, 0.0, 0.0], 90.0, TWIST, SETTINGS.angular_velocity),
        ([0.0, 0.0, 0.0], 5.0, ACCELERATION, SETTINGS.angular_acceleration),
    ],
)
def test_the_way_back_takes_the_stated_speeds(offset, degrees, column, limit):
    """The largest speed, or the largest acceleration of a short way, is the stated one."""
    resumed = Resumed(PLAN, displaced(2.5, offset, degrees), 2.5, SETTINGS)
    rows = resumed.rows(np.linspace(0.0, resumed.joined, 2001))[:, column]
    largest = np.linalg.norm(rows[:, :3] if degrees else rows[:, 3:], axis=1).max()
    assert largest == pytest.approx(limit, rel=1e-4)


def test_a_short_way_back_is_no_jerk():
    """It takes as long as the plan is taken up in; no way at all takes no time."""
    resumed = Resumed(PLAN, displaced(2.5, [0.0, 1e-5, 0.0]), 2.5, SETTINGS)
    assert resumed.joined == 0.4
    rows = resumed.rows(np.linspace(0.0, 0.4, 2001))[:, ACCELERATION]
    expected = 1e-5 * PEAK_ACCELERATION / 0.4**2
    assert np.linalg.norm(rows, axis=1).max() == pytest.approx(expected, rel=1e-4)
    assert Resumed(PLAN, PLAN.row(2.5)[POSE], 2.5, SETTINGS).joined == 0.0


@pytest.mark.parametrize("backwards", [False, True])
def test_rest_of_a_resumed_plan(backwards):
    """It is at rest where nothing of its rows has changed for the settling time."""
    resumed = Resumed(PLAN, displaced(1.2, [0.0, 0.0, 0.02]), 1.2, SETTINGS, backwards=backwards)
    t = np.arange(0.0, resumed.duration, 1e-3)
    rows = resumed.rows(t)
    moving = np.abs(np.diff(rows, axis=0, append=rows[-1:])).max(axis=1) > 1e-12
    found = resumed.settled_intervals(0.3)
    for time, moves in zip(t, moving, strict=True):
        settled = any(begin <= time < end - 0.01 for begin, end in found)
        assert not (settled and moves), time
    # The pause of a second, 0.3 s of which are given to transients; none of it on the way back.
    long = [end - begin for begin, end in found if end - begin > 0.1]
    assert long == ([] if backwards else [pytest.approx(0.7)])


@pytest.mark.parametrize(("backwards", "end"), [(False, PLAN.duration), (True, 0.0)])
def test_a_resumed_plan_lasts_until_the_end_of_the_plan(backwards, end):
    """To the millisecond, on the way back until its beginning."""
    resumed = Resumed(PLAN, displaced(2.5, [0.0, 0.0, 0.02]), 2.5, SETTINGS, backwards=backwards)
    assert resumed.path_time(resumed.duration) == pytest.approx(end, abs=1e-9)
    before = resumed.path_time(resumed.duration - 1e-3)
    assert abs(before - end) == pytest.approx(1e-3)


def test_a_pause_of_the_plan_is_rest_of_the_resumed_one():
    """From the settling time after its begin until its end, if it lasts so long."""
    resumed = Resumed(PLAN, displaced(1.2, [0.0, 0.0, 0.02]), 1.2, SETTINGS)
    begin, end = resumed.settled_intervals(0.3)[0]
    assert resumed.path_time(begin - 0.3) == pytest.approx(2.0)
    assert resumed.path_time(end) == pytest.approx(3.0)
    assert resumed.settled_intervals(0.999)[0][1] == end
    assert end not in [one[1] for one in resumed.settled_intervals(1.001)]


class Places:
    """An object that is somewhere for a second, and then turned elsewhere."""

    def __init__(self, away, angle):
        self.poses = np.array([[away, 0, 0, 0, 0, 0, 1.0], [0.0, 0, 0, *self.turned(angle)]])

    @staticmethod
    def turned(angle):
        return Rotation.from_rotvec([angle, 0.0, 0.0]).as_quat()

    def rows(self, times):
        later = (np.asarray(times) > 1.0).astype(int)
        return np.hstack([self.poses[later], np.zeros((len(later), 18))])


@pytest.mark.parametrize(("turned", "later"), [(10.198, True), (10.202, False)])
def test_places_are_alike_up_to_a_fifth_of_a_tolerance(turned, later):
    """Distances and angles in parts of theirs: one place is 10 tolerances of the position away."""
    start = StartSettings()
    body = Places(10.0 * start.position_tolerance_m, turned * start.rotation_tolerance_rad)
    found = nearest_time([body], 2.0, np.array([[0, 0, 0, 0, 0, 0, 1.0]]), start, near=2.0)
    assert (found > 1.0) is later


@pytest.mark.parametrize(("near", "expected"), [(0.0, 2.0), (2.4, 2.4), (4.0, 3.0)])
def test_where_the_object_pauses_the_time_of_the_stop_decides(near, expected):
    """The earliest instant by default, else that of the stop or the nearest one to it."""
    pose = displaced(2.5, [0.002, 0.0, 0.0])[None]
    found = nearest_time([PLAN], PLAN.duration, pose, StartSettings(), near)
    assert found == pytest.approx(expected, abs=0.25)


@pytest.mark.parametrize("time", [0.6, 1.3, 3.7])
def test_the_nearest_point_of_the_path(time):
    """Across the path the object may be off by any distance."""
    pose = displaced(time, [0.05, 0.0, 0.0])[None]
    assert nearest_time([PLAN], PLAN.duration, pose, StartSettings()) == pytest.approx(
        time, abs=0.1
    )


# -- a run that is stopped ------------------------------------------------------------------------


class Stopped:
    """A run that was stopped at some time [s], its arms at rest."""

    def __init__(self, scenario, stop_s, overrides=(), rest_s=0.6):
        self.scenario = scenario = load_scenario(scenario, overrides)
        self.loop = control_loop(scenario)
        self.plant = make_plant(scenario, true_system(scenario, self.loop.system))
        self.measured, self.tick, self.sent = self.plant.reset(), 0, np.zeros(0)
        self.start("start")
        self.run(stop_s)
        assert self.loop.safety.state is State.ACTIVE, self.loop.safety.cause
        self.loop.stop(self.tick)
        self.run(rest_s)
        self.loop.reset(self.tick)

    def start(self, way):
        """Check and start."""
        m = self.measured
        self.loop.check(m.q, m.qd, way)
        self.loop.start_at(self.tick, self.tick, m.q, m.qd, m.wrenches)

    def run(self, seconds):
        """Run for some time; return torques (N, na), true poses (N, 7) and the last step."""
        torques, poses = [], []
        for _ in range(round(seconds / self.scenario.control.period)):
            m = self.measured
            outcome = self.loop.update(self.tick, self.tick, m.q, m.qd, m.wrenches)
            poses.append(self.plant.truth().object_pose.copy())
            torques.append(outcome.torque.copy())
            self.measured = self.plant.step(outcome.torque)
            self.tick += 1
        self.sent = torques[-1]
        return np.array(torques), np.array(poses), outcome.step

    def go_on(self, way):
        """Start, run to the end, and check that neither torque nor object jumps."""
        before, sent = self.plant.truth().object_pose.copy(), self.sent
        self.start(way)
        control = self.scenario.control
        torques, poses, _ = self.run(control.start.ramp_s)
        steps = np.abs(np.diff(np.vstack([sent, torques]), axis=0))
        assert steps.max() <= self.scenario.safety.torque_rate * control.period * (1.0 + 1e-9)
        assert np.linalg.norm(poses[:, :3] - before[:3], axis=1).max() < 1e-3
        _, poses, step = self.run(self.loop.law.reference.duration + 0.3)
        assert self.loop.safety.state is State.ACTIVE, self.loop.safety.cause
        return poses[-1], step


def assert_at(pose, expected):
    """Check that an object has arrived."""
    np.testing.assert_allclose(pose[:3], expected[:3], atol=1e-4)
    assert abs(pose[3:] @ expected[3:]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("scenario", "overrides"),
    [
        ("lift_box", LIFT),
        ("lift_box", (*LIFT, "plant.object_mass_scale=1.1")),
        ("lift_box", (*LIFT, "control.law=impedance")),
        ("tray", ("reference.segments=[{duration_s: 0.8, move: [0, 0, 0.1]}]",)),
        ("fold", ()),
    ],
)
def test_a_stopped_run_goes_on(scenario, overrides):
    """Also with a payload that is not the described one, or contacts that only push."""
    run = Stopped(scenario, 0.7, overrides)
    plan = run.loop.law.plan
    held = run.plant.truth().object_pose.copy()
    assert np.linalg.norm(held[:3] - np.atleast_2d(plan.start)[0, :3]) > 0.01
    with pytest.raises(StartError):
        run.start("start")
    pose, step = run.go_on("resume")
    end = plan.rows([plan.duration])[0]
    error = 0.01 if "impedance" in str(overrides) else 1e-4
    np.testing.assert_allclose(pose[:3], end[:3], atol=error)
    columns = run.loop.law.internal_columns
    np.testing.assert_allclose(step.reference[columns], end[columns], atol=1e-9)


def test_an_object_is_put_down_where_it_was_lifted():
    """Back along the reference; from there the run can begin again."""
    run = Stopped("lift_box", 0.7, LIFT)
    pose, _ = run.go_on("put_down")
    assert_at(pose, run.loop.law.plan.start)
    run.loop.stop(run.tick)
    run.run(0.5)
    run.loop.reset(run.tick)
    run.start("start")
    assert run.loop.law.reference is run.loop.law.plan


def test_a_stop_on_the_way_back():
    """A resumed run that is stopped is resumed again, at its place on the plan."""
    run = Stopped("lift_box", 0.8, LIFT)
    run.start("put_down")
    run.run(0.5)
    run.loop.stop(run.tick)
    run.run(0.5)
    run.loop.reset(run.tick)
    pose, _ = run.go_on("resume")
    assert_at(pose, run.loop.law.plan.rows([9.0])[0, POSE])


def test_another_process_finds_the_object():
    """A controller that was restarted knows nothing of the run; closed grasps are enough."""
    run = Stopped("lift_box", 0.7, LIFT)
    run.loop = control_loop(run.scenario)
    pose, _ = run.go_on("resume")
    assert run.loop.law.reference.time == pytest.approx(0.5, abs=0.1)
    assert_at(pose, run.loop.law.plan.rows([9.0])[0, POSE])


def test_a_refused_start_names_the_ways_on():
    """If the arms agree about the object; the way on says how far it is from the reference."""
    run = Stopped("lift_box", 0.7, LIFT)
    loop = sampled_loop(run.scenario)
    feed(loop, run.measured, 0)
    with pytest.raises(StartError, match=r"controller/resume or controller/put_down\.$"):
        loop.prepare(0)
    loop.prepare(0, "put_down")()
    assert loop.beginning.endswith("back to its beginning")
    moved = run.measured.q.copy()
    moved[0] += 0.1
    apart = sampled_loop(run.scenario)
    feed(apart, run.measured, 0, q=moved)
    with pytest.raises(StartError, match=r"degrees\.$"):
        apart.prepare(0)


def test_arms_that_disagree_are_refused():
    """The object is not where the arms say if they do not say the same."""
    run = Stopped("lift_box", 0.7, LIFT)
    run.measured.q[-1] += 0.11
    with pytest.raises(StartError, match=r"arm '.*' is .* from its grasp"):
        run.start("resume")


def test_a_resume_needs_rest_and_no_fault():
    """The conditions of a start hold for every way."""
    run = Stopped("lift_box", 0.3, LIFT)
    with pytest.raises(NotAtRestError):
        run.loop.check(run.measured.q, run.measured.qd + 0.1, "resume")
    run.loop.stop(run.tick)
    with pytest.raises(SafetyError):
        run.start("resume")


def test_an_object_at_a_wall_is_resumed():
    """The force on the wall is controlled again, and the object goes on along it."""
    path = "{duration_s: 1.0, move: [0.05, 0, 0]}, {duration_s: 0.6, move: [0, 0, 0.03]}"
    changes = (f"reference.segments=[{path}]", "reference.touches.0.until_s=9")
    run = Stopped("wipe", 1.2, changes, rest_s=2.5)
    with pytest.raises(ResumeError, match=r"put_down refused: .* the reference does at 0\.\d"):
        run.start("put_down")
    run.start("resume")
    run.run(run.loop.law.reference.duration + run.scenario.control.start.ramp_s + 0.3)
    assert run.loop.safety.state is State.ACTIVE, run.loop.safety.cause
    assert run.plant.contacts()[-1].force[2] == pytest.approx(20.0, rel=0.03)
    np.testing.assert_allclose(run.plant.truth().object_pose[1:3], [0.0, 0.98], atol=1e-4)


def test_an_object_on_a_hinge_is_put_down():
    """The hinge holds it throughout, so that nothing is touched or left on the way."""
    turn = "{duration_s: 1.0, rotate: {axis: [0, 1, 0], degrees: 20}}"
    run = Stopped("lid", 1.3, (f"reference.segments=[{turn}]",))
    pose, _ = run.go_on("put_down")
    assert_at(pose, run.loop.law.plan.start)


def test_arms_without_an_object_have_no_plan():
    """Gravity compensation starts anywhere."""
    scenario = load_scenario("gravity")
    loop = control_loop(scenario)
    posture = loop.system.posture
    with pytest.raises(ResumeError, match="no plan"):
        loop.check(posture, np.zeros_like(posture), "resume")


@pytest.mark.parametrize(
    ("held", "way"),
    [(True, "the object put down by the drives' own"), (False, "controller/start")],
)
def test_a_task_that_was_in_its_safe_end_names_the_way_on(held, way):
    """It depends on whether the arms carry the object."""
    task = SimpleNamespace(
        _course=["end"], _at=0, _phases=["carry"], done=True, failure="lost", holds_object=held
    )
    with pytest.raises(ResumeError, match=f"safe end, which does not go on; expected {way}"):
        TaskLaw.choose_start(task, "resume", np.zeros(14), 5)
