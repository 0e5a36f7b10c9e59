# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of tasks: arms at rest take an object, place it, and return, or end in a stated way."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics.app.runs.run import Preparation, make_plant, simulate
from robot_dynamics.app.scenarios.cell import build_system, true_system
from robot_dynamics.app.scenarios.laws import control_loop, make_law
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.faults import SafetyError
from robot_dynamics.control.path_check import PreflightError
from robot_dynamics.control.task.free_arms import FreeArms
from robot_dynamics.control.task.wrench_observer import WrenchObserver
from robot_dynamics.errors import ArgumentError

FAST = (
    "task.0.approach={distance_m: 0.04, speed: 0.2, velocity_fraction: 0.6, on_failure: retreat}",
    "task.1.grasp={squeeze_n: 80.0, touch_within_m: 0.005, squeeze_s: 0.2, on_failure: retreat}",
    "task.2.lift={height_m: 0.03, unload_s: 0.2, on_failure: put_back}",
    "task.3.carry.segments=[{duration_s: 0.5, move: [0.02, 0.01, 0.0]}]",
    "task.4.put_down={on: table, touch_within_m: 0.003, load_s: 0.2}",
    "task.5.release={distance_m: 0.04, speed: 0.2, open_s: 0.2}",
    "task.6.move={to: home, velocity_fraction: 0.6}",
    "acceptance.settle_s=0.02",
)
SCENARIO = load_scenario("pick_and_place", FAST)
PLACE = np.array([0.62, 0.0, 0.75])
PERIOD, HOME = SCENARIO.control.period, SCENARIO.home


@pytest.fixture(scope="module")
def prepared():
    """System and law, which the runs share."""
    return Preparation()


@pytest.fixture(scope="module")
def run(prepared):
    return simulate(SCENARIO, preparation=prepared)


def rows(run, phase):
    """Return the rows of a phase."""
    names = run.recording.get("phases")
    return np.flatnonzero(run.recording["phase"].ravel() == names.index(phase))


def test_the_object_is_placed_and_the_arms_return(run):
    """Judged by the true state of the plant."""
    assert run.ok, run.report["failures"]
    names = [one["name"] for one in run.report["phases"]]
    assert names == ["approach", "grasp", "lift", "carry", "put_down", "release", "move"]
    truth, joints = run.recording["object_pose"], run.recording["joint_position"]
    np.testing.assert_allclose(truth[-1, :3], PLACE + np.array([0.02, 0.01, 0.0]), atol=2e-5)
    assert truth[:, 2].max() == pytest.approx(0.78, abs=2e-5)
    np.testing.assert_allclose(joints[[0, -1]], [HOME, HOME], atol=1e-4)
    assert not np.abs(run.recording["joint_velocity"][-1]).max() > 1e-4
    still = np.r_[rows(run, "approach"), rows(run, "grasp")]
    np.testing.assert_allclose(truth[still, :3], np.tile(PLACE, (len(still), 1)), atol=1e-6)


@pytest.mark.slow
def test_a_run_depends_on_none_before_it(run, prepared):
    """After a failed one with the same law it is the same to the last bit."""
    other = simulate(SCENARIO, overrides=["plant.object_mass_scale=2.0"], preparation=prepared)
    again = simulate(SCENARIO, preparation=prepared)
    assert not other.ok
    assert again.report["state_hash"] == run.report["state_hash"]


def test_the_weight_changes_hands(run):
    """The table bears it before and after, and nothing on the way."""
    force, weight = run.recording["contact_force"].ravel(), 5.0 * 9.81
    assert not force[rows(run, "carry")].any()
    assert force[rows(run, "move")] == pytest.approx(weight, abs=1e-3)
    assert run.report["put_down_force_max_n"] < 2.0 * weight
    holding = run.recording["holding"].ravel() > 0.0
    edges = np.flatnonzero(np.diff(holding))
    np.testing.assert_array_equal(edges, [rows(run, "lift")[0] - 1, rows(run, "release")[0] - 1])


def test_torques_tell_wrenches(run, prepared):
    """Those of free, pressing and carrying hands, beside the plant's true ones."""
    system, control = prepared.system(SCENARIO), SCENARIO.control
    arms = FreeArms(system, control, SCENARIO.safety)
    observer = WrenchObserver(arms, PERIOD, control.command_delay_periods)
    names = ("joint_position", "joint_velocity", "commanded_torque")
    found = []
    for q, qd, torque in zip(*(run.recording[name] for name in names), strict=True):
        found.append(observer.wrenches(q, qd))
        observer.sent(torque)
    off = np.abs(found - run.recording["grasp_wrench"].reshape(-1, 2, 6))
    assert off[rows(run, "approach")].max() < 0.1
    assert off[rows(run, "grasp")[-20:]].max() < 0.2  # of 80 N
    assert off[rows(run, "carry")].max() < 0.5
    assert off.max() < 40.0  # when a hand touches: it follows within 20 ms
    observer.tare()
    assert np.abs(observer.wrenches(q, qd)).max() < 0.01


def test_noise_and_unknown_friction_look_like_wrenches(run, prepared):
    """They bound the touch that can be felt: by the closed form of noise, by friction's moments.

    An error d of one velocity sample moves the residual by -a H d / T, and then by b = 1 - a of
    that, and back by + a H d / T: white noise of d has the power 2 / (2 - a) (a H d / T)^2.
    """
    system, control = prepared.system(SCENARIO), SCENARIO.control
    arms, delay = FreeArms(system, control, SCENARIO.safety), control.command_delay_periods
    names = ("joint_position", "joint_velocity", "commanded_torque")
    moving = rows(run, "approach")[:600]
    columns = [run.recording[name][moving] for name in names]

    def seen(rates, torques):
        observer = WrenchObserver(arms, PERIOD, delay)
        found = []
        for q, qd, torque in zip(columns[0], rates, torques, strict=True):
            found.append(observer.wrenches(q, qd))
            observer.sent(torque)
        return np.array(found)

    true = seen(*columns[1:])
    at, d, spoiled = 50, np.full(14, 1e-4), columns[1].copy()  # while the arms rest
    spoiled[at] += d
    moved = (seen(spoiled, columns[2]) - true)[at : at + 200]
    still, q = np.zeros(14), columns[0][at]
    needed = arms.moving_torque(q, d, d / PERIOD) - arms.moving_torque(q, still, still)
    a = -np.expm1(-50.0 * PERIOD)
    first = arms.tool_wrenches(q, -a * needed)
    np.testing.assert_allclose(moved[0], first, rtol=2e-3, atol=1e-6)
    power, largest = (moved**2).sum(axis=0), np.abs(first).max()  # damping of joints besides
    np.testing.assert_allclose(
        power, 2.0 / (2.0 - a) * first**2, rtol=0.05, atol=0.01 * largest**2
    )

    friction = np.sign(columns[1]) * (np.abs(columns[1]) > 1e-3)  # of 1 N m
    force = np.linalg.norm((seen(columns[1], columns[2] + friction) - true)[..., 3:], axis=-1)
    assert 8.0 < force.max() < 10.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "change"),
    [
        ("engine", "plant.link_mass_scale=1.02"),
        ("mujoco", "plant.sensors={velocity: 1.0e-3, position: 1.0e-5}"),
    ],
)
def test_a_task_needs_no_wrist_sensors(plant, change):
    """With links heavier than modelled, as far as their error stays the same; or with noise."""
    if plant == "mujoco":
        pytest.importorskip("mujoco")
    scenario = load_scenario("pick_and_place", [*FAST, change, f"plant.engine={plant}"])
    loop = control_loop(scenario, wrist_sensors=False)
    plant, law = make_plant(scenario, true_system(scenario)), loop.law
    seen = plant.reset()
    loop.check(seen.q, seen.qd)
    loop.start_at(0, 0, seen.q, seen.qd, None)
    for tick in range(6000):
        if law.done:
            break
        seen = plant.step(loop.update(tick, tick, seen.q, seen.qd, None).torque)
    assert (law.state, law.failure, loop.safety.faults) == ("done", "", ())
    placed = PLACE + np.array([0.02, 0.01, 0.0])
    np.testing.assert_allclose(plant.truth().object_pose[:3], placed, atol=1e-3)


def test_torques_never_jump(run):
    """Neither within phases nor between them, where they change by a small part of the limit."""
    change = np.abs(np.diff(run.recording["commanded_torque"], axis=0)).max()
    assert change <= SCENARIO.safety.torque_rate * PERIOD * (1.0 + 1e-9)
    assert 0.0 < run.report["phase_torque_rate_max_fraction"] < 0.3


@pytest.mark.parametrize(
    ("change", "phases", "said"),
    [
        (
            "plant.object_error={xyz: [0.4, 0.0, 0.0]}",
            ["approach", "grasp", "retreat: release", "retreat: move"],
            "phase 2, grasp: arms 'left' and 'right' found no contact within 0.005 m",
        ),
        pytest.param(
            "plant.grasp_friction_scale=0.2",
            ["approach", "grasp", "lift", "put_back: put_back", "put_back: release",
             "put_back: move"],
            "phase 3, lift: the hands moved",
            marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_a_task_that_fails_ends_as_stated(prepared, change, phases, said):
    """With the reason; the object stands where it stood, and the arms are at home."""
    found = simulate(SCENARIO, overrides=[change], preparation=prepared)
    assert not found.ok
    assert any("the task ended early" in one and said in one for one in found.report["failures"])
    assert [one["name"] for one in found.report["phases"]] == phases
    assert f", {found.report['failed_phase']}: " in said
    truth, joints = found.recording["object_pose"], found.recording["joint_position"]
    np.testing.assert_allclose(truth[-1, :3], truth[0, :3], atol=1e-3)
    np.testing.assert_allclose(joints[-1], HOME, atol=1e-3)


def test_a_lighter_object_is_placed_where_it_touches(prepared):
    """A box off its place, whose weight is not the modelled one, is neither lifted nor thrown."""
    changes = ["plant.object_mass_scale=0.85", "plant.object_error={xyz: [-0.02, 0.003, 0]}"]
    found = simulate(SCENARIO, overrides=changes, preparation=prepared)
    assert found.report["failed_phase"] == ""
    truth, down = found.recording["object_pose"], rows(found, "put_down")
    assert found.report["put_down_force_max_n"] < 1.3 * 5.0 * 9.81
    assert found.report["drop_height_max_m"] < 3e-3
    turns = Rotation.from_quat(truth[:, 3:])
    assert np.degrees((turns * turns[0].inv()).magnitude().max()) < 2.5
    assert truth[down, 2].max() < truth[down[0], 2] + 1e-4
    np.testing.assert_allclose(truth[-1, :3], PLACE + np.array([0.0, 0.01, 0.0]), atol=1e-3)


def test_a_carried_object_is_not_dropped_by_another_start():
    """After a stop and a reset the fallback carries it; the check of a start changes nothing."""
    loop, plant = control_loop(SCENARIO), make_plant(SCENARIO, build_system(SCENARIO))
    seen, law, tick = plant.reset(), loop.law, 0
    loop.check(seen.q, seen.qd)
    loop.start_at(0, 0, seen.q, seen.qd, seen.wrenches)

    def advance():
        nonlocal seen, tick
        seen = plant.step(loop.update(tick, tick, seen.q, seen.qd, seen.wrenches).torque)
        tick += 1

    while law.phases[law.phase] != "carry" and tick < 2500:
        advance()
    loop.safety.stop(tick)
    loop.safety.reset(tick)
    for _ in range(25):
        advance()
    support, height = law.hold_support(seen.q), plant.truth().object_pose[2]
    with pytest.raises(SafetyError, match="start refused: the arms carry the object"):
        loop.check(seen.q, seen.qd)
    with pytest.raises(SafetyError, match="start refused: the arms carry the object"):
        loop.check_path(seen.q)
    np.testing.assert_array_equal(law.hold_support(seen.q), support)
    for _ in range(50):
        advance()
    assert plant.truth().object_pose[2] == pytest.approx(height, abs=1e-3)
    assert not loop.safety.faults
    loop.safety.release()  # brakes carry it
    with pytest.raises(PreflightError, match=r"overlap the object by .* in the phase 'move'"):
        loop.check_path(seen.q)  # home would be where the hands hold it
    assert law.phases[law.phase] == "carry"  # nor does it forget where the task was
    loop.check(seen.q, seen.qd, "resume")
    assert loop.beginning.startswith("the task goes on in phase 4, carry: the object moves by")
    homes = [one.target for one in law._every if getattr(one, "goes_home", False)]
    np.testing.assert_array_equal(homes, [HOME] * len(homes))


def test_a_task_does_not_need_every_control_period(prepared):
    """On the wall clock some are lost: the drives keep their torques, and all takes longer."""
    system, law = prepared.system(SCENARIO), prepared.law(SCENARIO)
    loop, plant = control_loop(SCENARIO, system, law=law), make_plant(SCENARIO, system)
    seen = plant.reset()
    loop.check(seen.q, seen.qd)
    loop.start_at(0, 0, seen.q, seen.qd, seen.wrenches)
    for tick in range(2000):
        if tick % 3 < 2:
            outcome = loop.update(tick, tick, seen.q, seen.qd, seen.wrenches)
        if law.failure or law.phases[law.phase] == "lift":
            break
        seen = plant.step(outcome.torque)
    assert law.phases[law.phase] == "lift"
    assert not law.failure
    # But a phase must not take more than twice its time limit by the clock.
    most = round(2.0 * law._course[law._at].longest_s / PERIOD)
    law.update(tick + most - 9, seen.q, seen.qd, seen.wrenches)
    assert not law.failure
    law.update(tick + most + 9, seen.q, seen.qd, seen.wrenches)
    assert law.failure.startswith("phase 3, lift: it took 1")
    assert "because control periods are lost, expected at most 2 times" in law.failure


@pytest.mark.parametrize(
    ("error", "failure", "phase"),
    [
        (0.199, "", "approach"),
        (0.201, "phase 1, approach: joint 'left_joint4' is 0.201 rad", "retreat: release"),
    ],
)
def test_a_free_joint_that_does_not_follow_ends_its_phase(prepared, error, failure, phase):
    """In the stated safe end, which begins where the joints are."""
    law, still = prepared.law(SCENARIO), np.zeros(14)
    law.start(np.array(HOME), still)
    q = np.array(HOME)
    q[3] += error
    law.update(SCENARIO.control.ramp_ticks, q, still, np.zeros((2, 6)))
    assert law.failure[: len(failure) or None] == failure
    assert law.phases[law.phase] == phase


def test_a_frozen_joint_is_found_before_it_runs_away(prepared):
    """Its position stays and its velocity is zero, while the servo drives it away."""
    faults = [
        f"{{kind: velocity_scale, value: 0.0, joint: left_joint4, time_s: {0.6 - PERIOD}}}",
        "{kind: stuck_sensors, joint: left_joint4, time_s: 0.6}",
    ]
    run = simulate(
        SCENARIO, overrides=[f"plant.faults=[{', '.join(faults)}]"], preparation=prepared
    )
    said = "left: joint 'left_joint4' did not move although its reference did"
    assert said in run.recording.metadata["fault"]
    assert 0.6 < run.recording.metadata["fault_time_s"] <= 0.7
    pose = run.recording["object_pose"]
    np.testing.assert_allclose(pose[:, :3] - pose[0, :3], 0.0, atol=1e-5)


def test_a_task_that_is_cut_short_is_not_good(prepared):
    """Whatever thresholds it meets; the sentence names the running phase."""
    found = simulate(SCENARIO, duration=0.1, preparation=prepared)
    said = "the run ended before the task was over, in phase 1, approach."
    assert not found.ok
    assert said in found.report["failures"]


@pytest.mark.slow
def test_a_lifted_object_is_put_back(run, prepared):
    """A load that comes in the air is lowered and set down, and not dropped."""
    time = run.report["phases"][2]["to_s"] - 0.25
    load = f"plant.payloads=[{{time_s: {time:g}, mass: 2.0}}]"
    found = simulate(SCENARIO, overrides=[load], preparation=prepared)
    assert any("phase 3, lift: the arms carry" in one for one in found.report["failures"])
    names = [one["name"] for one in found.report["phases"]]
    assert names[-3:] == ["put_back: put_back", "put_back: release", "put_back: move"]
    truth, force = found.recording["object_pose"], found.recording["contact_force"]
    assert truth[:, 2].max() > 0.755
    np.testing.assert_allclose(truth[-1, :3], PLACE, atol=1e-3)
    assert force.max() < 2.0 * 1.4 * 5.0 * 9.81


@pytest.mark.slow
def test_a_lighter_object_is_not_pushed_onto_its_support(prepared):
    """It comes off its support after the first touch; the weight changes hands when it is back."""
    found = simulate(
        SCENARIO, overrides=["plant.object_mass_scale=0.75"], preparation=prepared
    ).report
    assert found["phases"][-1]["name"] == "move"
    assert 49.0 < found["put_down_force_max_n"] < 1.1 * 49.1


@pytest.mark.slow
def test_a_phase_has_a_time_limit():
    """After which the arms hold the object, as the default says."""
    own = [*FAST, "task.2.lift={height_m: 0.03, unload_s: 0.2}"]
    preparation = Preparation()
    preparation.law(load_scenario("pick_and_place", own))._phases[2].limit_s = 0.8
    found = simulate("pick_and_place", overrides=own, preparation=preparation)
    said = "phase 3, lift: it took longer than its time limit of 0.8 s"
    assert any(said in one for one in found.report["failures"])
    height = found.recording["object_pose"][:, 2]
    assert 0.75 < height[-1] < 0.78
    assert np.ptp(height[-50:]) < 1e-6


@pytest.mark.parametrize(
    ("spent", "failure"),
    [(1.49, ""), (1.51, "phase 1, approach: it took longer than its time limit of 1 s.")],
)
def test_time_beside_the_plan_has_no_limit(prepared, monkeypatch, spent, failure):
    """As the second in which a resumed phase weighs its object."""
    law, still = prepared.law(SCENARIO), np.zeros(14)
    law.start(np.array(HOME), still)
    for name, value in (("limit_s", 1.0), ("added_s", 0.5)):
        monkeypatch.setattr(law._course[0], name, value)
    law._lost = -spent
    law.update(SCENARIO.control.ramp_ticks, np.array(HOME), still, np.zeros((2, 6)))
    assert law.failure == failure


@pytest.mark.parametrize("at", [0, 3])  # a phase of free arms, and one of the held object
def test_a_time_limit_shorter_than_planned_is_refused(prepared, at):
    """By less than a control period: a phase may end one after its planned time."""
    law, period = prepared.law(SCENARIO), SCENARIO.control.period
    phase = law._phases[at]
    assert phase.limit_s is None
    try:
        phase.limit_s = phase.planned_s + 0.99 * period
        said = f"time_limit_s of the phase '{phase.name}' is .*, expected at least"
        with pytest.raises(PreflightError, match=said):
            law._rehearsal(law._phases, np.array(HOME), SCENARIO.object_pose)
        phase.limit_s = phase.planned_s + 1.01 * period
        law._rehearsal(law._phases, np.array(HOME), SCENARIO.object_pose)
    finally:
        phase.limit_s = None


def test_refusals_name_the_phase(prepared):
    """A motion of the held object, and one of the tools before the grasps."""
    system = prepared.system(SCENARIO)
    far = load_scenario(SCENARIO, ["task.3.carry.segments=[{duration_s: 0.1, move: [0.2, 0, 0]}]"])
    with pytest.raises(PreflightError, match=r"task refused at .* s: in the phase 'carry' "):
        make_law(far, system)
    long = load_scenario(SCENARIO, ["task.0.approach.distance_m=0.5"])
    with pytest.raises(ArgumentError, match=r"task.approach: distance_m is 0.5 m, .* singularity"):
        make_law(long, system)


def test_a_home_inside_the_object_is_refused(run, prepared):
    """With the link, the phase and the distance, before the first torque."""
    loop = control_loop(SCENARIO, prepared.system(SCENARIO), law=prepared.law(SCENARIO))
    left = [-0.9968, -0.6373, 0.2673, 1.5463, 1.1185, 1.4069, 0.0022]
    said = "at 0.00 s: link 'left_link7' would overlap the object by 0.018 m in the phase 'appr"
    with pytest.raises(PreflightError, match=said):
        loop.check_path(np.array([*left, *HOME[7:]]))
    loop.check_path(np.array(HOME))
