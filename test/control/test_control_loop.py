# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The control loop: samples go in, torques come out, whatever the samples are."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from support.control_loops import feed, sampled_loop

from robot_dynamics.app.scenarios.cell import true_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.compile.machine import MachineCode
from robot_dynamics.control.abilities import GraspFacts
from robot_dynamics.control.clock import WallClock
from robot_dynamics.control.control_loop import ControlLoop
from robot_dynamics.control.faults import Cause, Finding, SafetyError, StaleStreamError, State
from robot_dynamics.control.rotation_path import product, turn
from robot_dynamics.control.start_check import StartError
from robot_dynamics.control.streams import VectorStream
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.grasp_map import transmitted_force_map
from robot_dynamics.robot import Robot

SCENARIO = load_scenario("lift_box")
PERIOD = SCENARIO.control.period
PERIOD_NS = round(PERIOD * 1e9)


def begun(scenario):
    """Return a controller that has started, its plant, and the plant's first measurement."""
    pilot = control_loop(scenario)
    plant = make_plant(scenario, true_system(scenario, pilot.system))
    measured = plant.reset()
    pilot.check(measured.q, measured.qd)
    pilot.start_at(0, 0, measured.q, measured.qd, measured.wrenches)
    return pilot, plant, measured


@pytest.fixture
def pair():
    """Return those of two arms that lift a box."""
    return begun(load_scenario("lift_box"))


def update(pilot, measured):
    """Return torque and step of a measurement."""
    now, _, q, qd, wrenches = measured
    outcome = pilot.update(now, now, q, qd, wrenches)
    return outcome.torque, outcome.step


def test_the_law_runs(pair):
    """While all is well the law's torque is sent."""
    pilot, plant, measured = pair
    for _ in range(200):
        torque, step = update(pilot, measured)
        np.testing.assert_array_equal(torque, step.torque)
        measured = plant.step(torque)
    assert pilot.safety.state is State.ACTIVE
    assert pilot.safety.cause == ""


def test_a_measurement_that_is_no_number(pair):
    """NaN in a joint state never reaches a torque; the fallback holds, the fault is latched."""
    pilot, plant, measured = pair
    for _ in range(20):
        torque, _ = update(pilot, measured)
        measured = plant.step(torque)
    q = measured.q.copy()
    q[3] = np.nan
    torque, _ = update(pilot, measured._replace(q=q))
    assert np.isfinite(torque).all()
    assert "left_joint4" in pilot.safety.cause
    measured = plant.step(torque)
    torque, _ = update(pilot, measured)
    assert np.isfinite(torque).all()
    assert pilot.safety.state is State.FALLBACK


def test_supporting_torque_of_the_fallback(pair):
    """Without the object the arms are held up against their own weight alone, with it by more."""
    pilot, plant, measured = pair
    held, empty = pilot._support(measured.q, True), pilot._support(measured.q, False)
    # Statics: the torques of the object's half weights at the grasps.
    at = pilot.system.model.neutral()
    at[pilot.system.q_index] = measured.q
    at[pilot.system.object_q] = plant.truth().object_pose
    _, C, K, _, _, _ = pilot._arms.terms(at, np.zeros(pilot.system.model.nv))
    shares = [arm.load_share for arm in pilot.system.arms]
    sharing = transmitted_force_map(pilot.system.grasps, shares).distribution
    wrenches = sharing @ C[pilot.system.object_v]
    expected = C[pilot.system.v_index] - (K.T @ wrenches)[pilot.system.v_index]
    np.testing.assert_allclose(held, expected, atol=1e-9)
    np.testing.assert_allclose(empty, C[pilot.system.v_index], atol=1e-9)


def test_a_lost_reference_is_held(pair):
    """When references are lost in mid-motion the object comes to rest and stays there."""
    pilot, plant, measured = pair
    for _ in range(600):
        torque, step = update(pilot, measured)
        measured = plant.step(torque)
    assert np.linalg.norm(step.twist) > 0.1
    pilot.safety.trip(measured.tick, Finding(Cause.REFERENCE_LOST, "reference", "it is late."))
    for _ in range(500):
        torque, step = update(pilot, measured)
        measured = plant.step(torque)
    assert np.linalg.norm(step.twist) < 1e-4
    assert np.linalg.norm(step.error) < 1e-3


def test_a_start_elsewhere_is_refused(pair):
    """A start needs the state that the reference was checked from."""
    pilot, _, measured = pair
    with pytest.raises(StartError, match="has moved since"):
        pilot.start_at(0, 0, measured.q + 0.01, measured.qd, measured.wrenches)


def test_a_refused_start_changes_nothing(pair):
    """A start while control runs is refused, and the torques go on as if it had not been asked."""
    pilot, plant, measured = pair
    for _ in range(400):
        torque, step = update(pilot, measured)
        measured = plant.step(torque)
    law = pilot.law
    given = (measured.q, measured.qd, measured.wrenches, step.reference)
    expected = law.running.evaluate(*given, law.running.memory, 1.0)
    pilot._checked_start = measured.q  # as after a check
    with pytest.raises(RobotDynamicsError, match="start refused"):
        pilot.start_at(
            measured.tick, measured.tick, measured.q, 0.0 * measured.qd, measured.wrenches
        )
    again = law.running.evaluate(*given, law.running.memory, 1.0)
    np.testing.assert_array_equal(again.torque, expected.torque)


def test_a_restart_departs_from_the_torque_that_was_sent(pair):
    """After a fallback the torque goes on from the last one sent, within its rate."""
    pilot, plant, measured = pair
    for _ in range(20):
        torque, _ = update(pilot, measured)
        measured = plant.step(torque)
    pilot.safety.stop(measured.tick)
    for _ in range(500):
        torque, _ = update(pilot, measured)
        measured = plant.step(torque)
    pilot.safety.reset(measured.tick)
    pilot.check(measured.q, measured.qd)
    pilot.start_at(measured.tick, measured.tick, measured.q, measured.qd, measured.wrenches)
    after, _ = update(pilot, measured)
    rate = load_scenario("lift_box").safety.torque_rate
    assert (np.abs(after - torque) <= rate * pilot.law.period * (1 + 1e-9)).all()


def test_an_implausible_wrench_is_a_lost_sensor(pair):
    """A finite outlier of a wrist sensor holds the pose; control stays good."""
    pilot, plant, measured = pair
    for tick in range(1500):
        seen = measured
        if tick == 300:
            wrenches = measured.wrenches.copy()
            wrenches[0, 5] += 1e4
            seen = measured._replace(wrenches=wrenches)
        torque, step = update(pilot, seen)
        measured = plant.step(torque)
    assert "as a sensor can measure" in pilot.safety.cause
    assert step is not None
    assert np.linalg.norm(step.error[3:]) < 1e-3


def test_an_object_far_from_its_reference_is_a_fault():
    """If the arms cannot follow, control stops instead of pushing on."""
    blind = "safety.wrench_residual_share=1.0"  # else the sensors find it before it has moved
    weak = "safety.effort_fraction=0.85"  # which the object as it is believed to be needs less of
    scenario = load_scenario("lift_box", ["plant.object_mass_scale=1.8", weak, blind])
    pilot, plant, measured = begun(scenario)
    for _ in range(3500):
        torque, _ = update(pilot, measured)
        measured = plant.step(torque)
        if pilot.safety.faults:
            break
    assert pilot.safety.faults
    assert pilot.safety.faults[0][1].cause in (Cause.TRACKING_LOST, Cause.SUPPORT_LIMIT)
    away = plant.truth().object_pose[:3] - pilot.law.reference.row(0.002 * measured.tick)[:3]
    assert np.linalg.norm(away) < 0.1


@pytest.mark.parametrize(
    ("scale", "cause"), [(1.7, Cause.UNEXPECTED_CONTACT), (0.2, Cause.JAMMED)]
)
def test_sensors_that_measure_another_object(scale, cause):
    """Too heavy or much too light: found within a tenth of a second, and held."""
    scenario = load_scenario("lift_box", [f"plant.object_mass_scale={scale}"])
    pilot, plant, measured = begun(scenario)
    for _ in range(50):
        measured = plant.step(update(pilot, measured)[0])
    assert pilot.safety.faults[0][1].cause is cause
    assert pilot.safety.object_held


@pytest.mark.parametrize("time", [0.5, 1.5])
@pytest.mark.parametrize("arm", ["", "left", "right"])
@pytest.mark.parametrize("kind", ["wrench_tared", "wrench_scale, value: -1.0"])
def test_false_wrist_sensors_drop_nothing(kind, arm, time):
    """The sensor is blamed while the arms agree; the object stays where it is for a second."""
    fault = f"plant.faults=[{{kind: {kind}, arm: '{arm}', time_s: {time}}}]"
    pilot, plant, measured = begun(load_scenario("lift_box", [fault]))
    while not pilot.safety.faults:
        assert measured.tick * PERIOD < time + 0.2
        measured = plant.step(update(pilot, measured)[0])
    found, at = pilot.safety.faults[0][1], plant.truth().object_pose.copy()
    assert all(moment < pilot.safety.faults[0][0] for moment, _ in pilot.safety.warnings)
    assert found.cause is Cause.WRENCH_WRONG
    assert set(found.subject.split(" and ")) >= {arm or "left", arm or "right"}
    for _ in range(round(1.0 / PERIOD)):
        measured = plant.step(update(pilot, measured)[0])
    assert np.linalg.norm(plant.truth().object_pose[:3] - at[:3]) < 0.002
    assert len(pilot.safety.faults) == 1


def test_sensor_errors_are_a_warning_then_a_stop():
    """A drift of 20 N/s in each of two sensors: 5 N are a warning, half the weight a stop."""
    drift = "plant.sensors.force_drift=[0,20,0]"
    pilot, plant, measured = begun(load_scenario("lift_box", [drift]))
    warned = None
    while not pilot.safety.faults:
        assert measured.tick * PERIOD < 2.5
        measured = plant.step(update(pilot, measured)[0])
        if warned is None and pilot.safety.wrench_warning:
            warned = measured.tick * PERIOD
    # The sensors' errors are at right angles: their sum is 28 N/s, seen 0.05 s later.
    assert warned == pytest.approx(5.0 / 28.3 + 0.05, abs=0.01)
    at, found = pilot.safety.faults[0]
    assert found.cause is Cause.WRENCH_WRONG
    assert at * PERIOD == pytest.approx(49.1 / 28.3 + 0.05, abs=0.01)
    ((first, sentence),) = pilot.safety.warnings
    assert first < at
    assert sentence.startswith("left and right: ")
    pilot.safety.reset(measured.tick)
    assert pilot.safety.warnings == ()


def test_a_limit_of_warnings_beyond_that_of_faults_gives_none():
    """As where an object is pushed on purpose: the stop says it all."""
    silent = "safety.wrench_warning_n=.inf"
    fault = "plant.faults=[{kind: wrench_scale, value: -1.0, time_s: 0.1}]"
    pilot, plant, measured = begun(load_scenario("lift_box", [silent, fault]))
    while not pilot.safety.faults:
        assert measured.tick * PERIOD < 0.3
        measured = plant.step(update(pilot, measured)[0])
    assert pilot.safety.warnings == ()


def test_a_bias_along_the_squeeze_cannot_be_seen():
    """It is as if the arms squeezed: no warning, and a squeeze that is false by as much."""
    bias = "plant.sensors.force_bias=[0,0,40]"
    pilot, plant, measured = begun(load_scenario("lift_box", [bias]))
    for _ in range(600):
        torque, step = update(pilot, measured)
        measured = plant.step(torque)
    assert pilot.safety.warnings == ()
    true = plant.truth().internal_force[0]
    assert step.internal_force[0] - true == pytest.approx(40.0, abs=0.5)


def test_a_jam_keeps_the_weight():
    """A peg on the rim of its hole is held as it is; without its weight it fell by 0.1 m."""
    scenario = load_scenario("peg", ["plant.surface_error.hole.xyz=[0.003,0,0]"])
    pilot, plant, measured = begun(scenario)
    while not pilot.safety.faults:
        assert measured.tick * scenario.control.period < 1.0
        measured = plant.step(update(pilot, measured)[0])
    assert pilot.safety.faults[0][1].cause is Cause.JAMMED
    at = plant.truth().object_pose.copy()
    for _ in range(round(1.0 / scenario.control.period)):
        measured = plant.step(update(pilot, measured)[0])
    assert np.linalg.norm(plant.truth().object_pose[:3] - at[:3]) < 0.002


def test_the_fallback_damps_the_load():
    """After a stop in motion all joints slow down at 2 w, with the object in the hands.

    With the inertia of the arms alone it coasted on with a time constant of 0.35 s, by 12 degrees.
    """
    scenario = load_scenario("lift_box")
    pilot, plant, measured = begun(scenario)
    for _ in range(600):
        measured = plant.step(update(pilot, measured)[0])
    begin, pose = float(np.linalg.norm(measured.qd)), plant.truth().object_pose
    assert begin > 0.3
    pilot.stop(600)
    # The torque changes at its rate, which takes some hundredths of a second.
    for _ in range(round(0.15 / scenario.control.period)):
        measured = plant.step(update(pilot, measured)[0])
    assert np.linalg.norm(measured.qd) < np.exp(-1.0) * begin
    for _ in range(300):
        measured = plant.step(update(pilot, measured)[0])
    now = plant.truth().object_pose
    turned = 2.0 * np.arccos(min(1.0, abs(float(now[3:] @ pose[3:]))))
    assert np.degrees(turned) < 4.0


@pytest.mark.parametrize("added", [-1.0, 1.0])
def test_gravity_that_is_not_as_it_is_said(added):
    """The first motion shows it, and the arms are held by measurements alone.

    Drives that compensate gravity although they are said not to, or the other way round; the
    fallback with the same wrong gravity moved the object by more than a decimetre.
    """
    scenario = load_scenario("lift_box")
    pilot, plant, measured = begun(scenario)
    gravity, height = pilot._arms.support, plant.truth().object_pose[2]
    for _ in range(1500):
        torque = update(pilot, measured)[0] + added * gravity(measured.q)
        measured = plant.step(torque)
        assert abs(plant.truth().object_pose[2] - height) < 0.05
    tick, found = pilot.safety.faults[0]
    assert found.cause is Cause.MODEL_WRONG
    assert tick * scenario.control.period < 0.06
    assert np.abs(measured.qd).max() < 0.02
    # A reset does not bring back the fallback that was wrong.
    pilot.safety.reset()
    for _ in range(200):
        measured = plant.step(update(pilot, measured)[0] + added * gravity(measured.q))
    assert np.abs(measured.qd).max() < 0.02


def test_signs_that_are_wrong():
    """Whatever is computed drives the arms: no torque is left, and drives do all they can."""
    pilot, plant, measured = begun(load_scenario("lift_box"))
    pilot.safety.fallback.note_drives(np.zeros_like, ())
    for _ in range(200):
        torque, _ = update(pilot, measured)
        measured = plant.step(-torque)
    causes = {found.cause for _, found in pilot.safety.faults}
    assert {Cause.MODEL_WRONG, Cause.RUNAWAY} <= causes
    assert np.abs(torque).max() < 0.2
    assert pilot.safety.released == ("left", "right")


def test_brakes_need_no_model():
    """With drives that brake by themselves, commands end as soon as the model is disproved."""
    pilot, plant, measured = begun(load_scenario("lift_box"))
    pilot.safety.fallback.note_drives(np.zeros_like, ("left", "right"))
    for _ in range(100):
        torque, _ = update(pilot, measured)
        if pilot.safety.released:
            break
        measured = plant.step(-torque)
    assert pilot.safety.released == ("left", "right")
    assert measured.time < 0.03
    assert np.abs(measured.qd).max() < 1.5


def test_a_lost_grasp_that_is_closed():
    """After a reset the fallback carries the object again where the arms agree about it.

    Without its weight they would sink, and a start from motion is refused.
    """
    pilot, plant, measured = begun(load_scenario("lift_box"))
    names = list(pilot.system.joint_names)
    for _ in range(150):
        measured = plant.step(update(pilot, measured)[0])
    tick = measured.tick
    pilot.fall_back(tick, Cause.GRASP_LOST, "right", "it was lost.")
    assert not pilot.safety.object_held
    for gap, held in ((0.1, False), (0.0, True)):
        q = measured.q.copy()
        q[0] += gap
        pilot.joint_states.take("joint_states", tick, names, q, measured.qd, tick)
        tick += 1
        pilot.reset(tick)
        assert pilot.safety.object_held is held
    for _ in range(1500):
        measured = plant.step(update(pilot, measured)[0])
    assert np.abs(measured.qd).max() < 0.02


def test_a_grasp_of_a_jointed_object_that_is_dropped():
    """The part that falls is named, while it hangs on the other one, which is still held.

    On the engine, whose loop joint of that grasp is gone from one period to the next. The arm that
    was let go jerks: to be first, the residual is smoothed over less time than by default.
    """
    arm, shorter = 1, "safety.wrench_residual_s=0.004"
    scenario = load_scenario("fold", ["cell.object.mass=6.0", shorter])
    pilot, plant, measured = begun(scenario)
    for _ in range(200):
        measured = plant.step(update(pilot, measured)[0])
    assert not pilot.safety.faults
    model, system = pilot.system.model, pilot.system
    robot = Robot(replace(model, loops=tuple(x for i, x in enumerate(model.loops) if i != arm)))
    q, qd = plant.engine.q.copy(), plant.engine.qd.copy()
    torque, tau = update(pilot, measured)[0], np.zeros(model.nv)
    for tick in range(measured.tick + 1, measured.tick + 100):
        tau[system.v_index] = torque
        qdd, forces, _ = robot.closed_loop(q, qd, tau)
        qd = qd + 1e-3 * qdd
        q = np.array(model.integrate(q.tolist(), (1e-3 * qd).tolist()))
        wrenches = np.zeros((2, 6))
        wrenches[1 - arm] = forces[:6]
        seen = q[system.q_index], qd[system.v_index], wrenches
        torque = pilot.update(tick, tick, *seen).torque
        if pilot.safety.faults:
            break
    found = pilot.safety.faults[0][1]
    assert found.cause is Cause.GRASP_LOST
    assert found.subject == f"part of {system.arms[arm].name}"
    assert "what holds it carries" in found.sentence


def test_a_check_links_no_machine_code(monkeypatch):
    """All that it needs is there: LLVM never gives back all memory of linked code."""
    scenario = load_scenario("lift_box")
    pilot = control_loop(scenario)
    measured = make_plant(scenario, true_system(scenario, pilot.system)).reset()

    def link(*arguments):
        raise AssertionError("machine code is linked")

    monkeypatch.setattr(MachineCode, "__init__", link)
    pilot.check(measured.q, measured.qd)


def test_a_slow_law_is_refused_on_a_clock(pair):
    """On a clock a step must fit into the period; the refusal says how to install the compiler."""
    pilot, _, measured = pair
    pilot.safety.stop(0)
    pilot.safety.reset(0)
    pilot.step_time, pilot.clock = 0.004, WallClock(0.002)
    with pytest.raises(RobotDynamicsError, match="install llvmlite"):
        pilot.check(measured.q, measured.qd)


def test_a_law_for_parts_estimates_the_wrench_of_each():
    """One that speaks of a single body is refused before there is a torque, not in the loop."""
    scenario = load_scenario("fold")
    pilot = control_loop(scenario)
    law = copy.copy(pilot.law)
    law.grasp = GraspFacts(bodies=1)
    settings = scenario.control, scenario.safety, pilot.clock
    with pytest.raises(RobotDynamicsError, match="each of the 2 parts"):
        ControlLoop(law, *settings)
    # Nobody watches without sensors.
    ControlLoop(law, *settings, wrist_sensors=False)


# -- samples over topics


@pytest.fixture(scope="module")
def plant():
    """Return the plant of the scenario."""
    return make_plant(SCENARIO, true_system(SCENARIO))


@pytest.fixture
def measured(plant):
    """Return the measurements at the start."""
    return plant.reset()


@pytest.fixture
def loop():
    """Return a loop in lockstep."""
    return sampled_loop(SCENARIO)


@pytest.fixture
def clocked():
    """Return a loop on a clock in nanoseconds."""
    return sampled_loop(SCENARIO, WallClock(PERIOD))


def started(loop, measured):
    """Start a loop at its time 0."""
    feed(loop, measured, 0)
    loop.prepare(0)()
    loop.start(0, 0)
    return loop


def test_torques_from_samples_are_those_from_vectors(loop, plant, measured):
    """Streams and times add nothing: a lift over 100 periods is the same to the last bit."""
    other = control_loop(SCENARIO, loop.system)
    other.check(measured.q, measured.qd)
    other.start_at(0, 0, measured.q, measured.qd, measured.wrenches)
    started(loop, measured)
    for tick in range(100):
        feed(loop, measured, tick)
        outcome = loop.cycle(tick, tick)
        expected, _ = update(other, measured)
        assert np.array_equal(outcome.torque, expected)
        assert outcome.released == ()
        measured = plant.step(expected)


def test_nothing_is_sent_before_the_start(loop, measured):
    """Whatever comes in."""
    feed(loop, measured, 0)
    assert loop.cycle(0, 0).torque is None
    feed(loop, measured, 1, q=np.full(14, np.nan))
    assert loop.cycle(1, 1).torque is None
    assert loop.safety.state is State.INACTIVE


def test_a_start_needs_samples_of_everything(loop, measured):
    """The sentence names the missing signal, and why if that is known."""
    with pytest.raises(StaleStreamError, match="left: no sample"):
        loop.prepare(0)
    with pytest.raises(SafetyError, match="left: no sample"):
        loop.start(0, 0)
    loop.joint_states.take("joint_states", 0, ["l1", "l2"], [0.0, 0.0], [0.0, 0.0], 0)
    with pytest.raises(SafetyError, match="start refused: joint_states: unknown joint 'l1'"):
        loop.start(0, 0)
    names = list(loop.system.joint_names)
    loop.joint_states.take("joint_states", 0, names, measured.q, measured.qd, 0)
    with pytest.raises(SafetyError, match="left/wrench: no sample"):
        loop.start(0, 0)


def test_a_start_needs_a_check_before(loop, measured):
    """Of the very place from which it starts."""
    feed(loop, measured, 0)
    with pytest.raises(StartError, match="moved since"):
        loop.start(0, 0)
    loop.prepare(0)()
    moved = measured.q + 0.01 * np.eye(14)[3]
    feed(loop, measured, 1, q=moved)
    with pytest.raises(StartError, match="left_joint4"):
        loop.start(1, 1)


def test_arms_far_from_their_grasps_are_not_started(loop, measured):
    """The check says which one and how far."""
    feed(loop, measured, 0, q=measured.q + 0.2 * np.eye(14)[7])
    with pytest.raises(RobotDynamicsError, match="start refused: arm 'right' is"):
        loop.prepare(0)()


def test_time_may_jump_before_the_start(loop, measured):
    """A simulator that was reset, or a clock that was set, is no fault then."""
    feed(loop, measured, 0)
    assert feed(loop, measured, 100000)
    assert feed(loop, measured, 3)
    assert loop.complete
    assert loop.complaint == ""


def test_time_must_not_jump_afterwards(loop, measured):
    """Both arms are lost; the new time is taken for a restart after a reset."""
    started(loop, measured)
    assert not feed(loop, measured, 5000)
    outcome = loop.cycle(5000, 5000)
    assert np.isfinite(outcome.torque).all()
    assert {f.subject for _, f in loop.safety.faults if f.cause is Cause.ARM_LOST} == {
        "left",
        "right",
    }
    feed(loop, measured, 5001)
    loop.cycle(5001, 5001)
    loop.reset(5001)
    loop.prepare(5001)()
    loop.start(5001, 5001)
    assert loop.safety.state is State.STARTING


def test_complaints_end_with_good_samples(loop, measured):
    """A good sample clears the complaint about an earlier one."""
    feed(loop, measured, 0, q=np.full(14, np.nan))
    assert "position of joint 'left_joint1' is nan" in loop.complaint
    feed(loop, measured, 1)
    assert loop.complaint == ""


def test_a_lost_wrist_sensor_brings_the_object_to_rest(loop, plant, measured):
    """The law goes on without it, and the reference comes to a halt on its way."""
    started(loop, measured)
    for tick in range(200):
        feed(loop, measured, tick)
        measured = plant.step(loop.cycle(tick, tick).torque)
    loop.take_wrench("left", 200, np.full(6, np.nan), 200)
    for tick in range(200, 700):
        names = list(loop.system.joint_names)
        loop.joint_states.take("joint_states", tick, names, measured.q, measured.qd, tick)
        outcome = loop.cycle(tick, tick)
        assert np.isfinite(outcome.torque).all()
        measured = plant.step(outcome.torque)
    assert loop.safety.faults[0][1].cause is Cause.WRENCH_LOST
    assert loop.safety.law_runs
    # It was to go on moving for a second and more.
    assert np.abs(measured.qd).max() < 1e-3
    assert np.abs(outcome.step.reference[7:13]).max() < 1e-12


@pytest.fixture
def tracked(loop):
    """Return a loop to which a camera tells the pose of the object."""
    loop.object_pose = VectorStream("object pose", 13, 0.01, loop.clock)
    return loop


# Both grasps are on the object's y axis.
@pytest.mark.parametrize(
    ("shift", "angle", "held"),
    [(9.9e-3, 0.0, True), (10.1e-3, 0.0, False), (0.0, 0.0495, True), (0.0, 0.0505, False),
     (0.0, np.pi, False)],
)  # fmt: skip
def test_a_measured_object_must_be_in_the_hands(tracked, measured, shift, angle, held):
    """A camera that is wrong is neither followed nor taken for a lost grasp; nor at a start."""
    pose, still = SCENARIO.object_pose.copy(), np.zeros(6)
    tracked.take_object_pose(0, pose, still, 0)
    started(tracked, measured)
    pose[2] += shift
    pose[3:] = product(turn(np.array([0.0, 1.0, 0.0]), np.array(angle)), pose[3:])
    tracked.take_object_pose(1, pose, still, 1)
    feed(tracked, measured, 1)
    outcome = tracked.cycle(1, 1)
    assert np.isfinite(outcome.torque).all()
    assert [one.cause for _, one in tracked.safety.faults] == [Cause.OBJECT_POSE_LOST] * (not held)
    assert tracked.safety.object_held
    if not held:
        tracked.reset(1)
        with pytest.raises(SafetyError, match="start refused: object pose: it is"):
            tracked.prepare(1)


def test_on_a_clock_silence_is_noticed_without_any_message(clocked, measured):
    """Within the declared number of periods; the fallback carries the arms from then on."""
    feed(clocked, measured, 0)
    clocked.prepare(0)()
    clocked.start(0, 0)
    clocked.cycle(0, 0)
    limit = SCENARIO.safety.stale_after_periods * PERIOD_NS
    assert clocked.joint_states.known(limit)
    assert not clocked.joint_states.known(limit + 1)
    outcome = clocked.cycle_without_samples(limit + 1)
    assert clocked.safety.state is State.FALLBACK
    assert "no new sample for" in clocked.safety.cause
    assert np.isfinite(outcome.torque).all()


def test_a_first_sample_is_no_jump(clocked, measured):
    """A first measurement is compared with nothing."""
    assert clocked.cycle(0, 0).torque is None
    feed(clocked, measured, 0)
    clocked.prepare(0)()
    clocked.start(0, 0)
    assert clocked.safety.law_runs


def test_another_limit_for_silence(measured):
    """For simulations in real time on machines that stutter."""
    loop = sampled_loop(SCENARIO, WallClock(PERIOD), stale_after_s=0.5)
    feed(loop, measured, 0)
    assert loop.joint_states.known(499_000_000)
    assert not loop.joint_states.known(501_000_000)


def test_control_waits_for_every_arm(clocked, measured):
    """A sample is used once, and those of both arms together."""
    names = list(clocked.system.joint_names)
    assert not clocked.joint_states.ready
    feed(clocked, measured, 0)
    assert clocked.joint_states.ready
    clocked.cycle(0, 0)
    assert not clocked.joint_states.ready
    own = [names[:7], measured.q[:7], measured.qd[:7]]
    clocked.joint_states.take("joint_states", PERIOD_NS, *own, PERIOD_NS)
    assert not clocked.joint_states.ready
    own = [names[7:], measured.q[7:], measured.qd[7:]]
    clocked.joint_states.take("joint_states", PERIOD_NS, *own, PERIOD_NS)
    assert clocked.joint_states.ready


def test_without_wrist_sensors_the_force_is_fed_forward(measured):
    """Nothing waits for them."""
    loop = sampled_loop(SCENARIO, wrist_sensors=False)
    assert loop.wrenches == {}
    outcome = started(loop, measured).cycle(0, 0)
    assert np.isfinite(outcome.torque).all()


def test_locked_joints_may_be_in_the_messages(loop, measured):
    """Those that the scenario locks, and those that were announced."""
    other = sampled_loop(SCENARIO, ignored_joints=["gripper"])
    names = ["gripper", *other.system.joint_names]
    q, qd = np.append(0.5, measured.q), np.append(0.0, measured.qd)
    assert other.joint_states.take("joint_states", 0, names, q, qd, 0)
    assert not loop.joint_states.take("joint_states", 0, names, q, qd, 0)


def test_a_stop_and_a_fault_from_outside(loop, measured):
    """Both end in the fallback, which says why."""
    started(loop, measured).cycle(0, 0)
    loop.stop(1)
    assert loop.safety.state is State.STOPPED
    feed(loop, measured, 1)
    assert np.isfinite(loop.cycle(1, 1).torque).all()
    loop.reset(1)
    loop.prepare(1)()
    loop.start(1, 1)
    outcome = loop.fall_back(2, Cause.ARM_LOST, "left", "the simulator is gone.")
    assert loop.safety.cause == "left: the simulator is gone."
    assert np.isfinite(outcome.torque).all()


def fail(*_, **__):
    """Raise an unexpected exception."""
    raise IndexError("out of range")


@pytest.mark.parametrize("where", ["check", "joint_states", "safety"])
def test_an_error_around_the_law_ends_in_the_fallback(loop, measured, monkeypatch, where):
    """In the safety layer's own checks or in those of samples; latched, within limits."""
    started(loop, measured)
    feed(loop, measured, 1)
    target, name = {
        "check": (loop.safety.step_check, "passes"),
        "joint_states": (loop.joint_states, "use"),
        "safety": (loop.safety, "observe"),
    }[where]
    monkeypatch.setattr(target, name, fail)
    outcome = loop.cycle(1, 1)
    assert np.isfinite(outcome.torque).all()
    assert loop.safety.state is State.FALLBACK
    assert loop.safety.cause == "controller: unexpected IndexError: out of range"


@pytest.mark.parametrize("silent", [False, True])
def test_false_positions_of_a_linkage_do_not_hide_the_other_arm(
    loop, measured, monkeypatch, silent
):
    """Tools cannot be weighed where an arm's loops stay open; the samples are judged anyway."""

    def stay_open(*_):
        raise RobotDynamicsError("internal closed chains stay open.")

    started(loop, measured)
    monkeypatch.setattr(loop.wrist_sensors, "grasp_wrenches", stay_open)
    false, moving = measured.q.copy(), measured.qd.copy()
    false[:7], moving[7:] = 57.3 * false[:7] + 1.0, 0.01
    feed(loop, measured._replace(q=false, qd=moving), 1)
    outcome = loop.cycle_without_samples(1) if silent else loop.cycle(1, 1)
    assert np.isfinite(outcome.torque).all()
    assert loop.safety.faults[0][1].cause is Cause.ARM_LOST
    assert loop.safety.lost_arms == ("left",)
    np.testing.assert_array_equal(loop.safety.arms.qd[7:], 0.01)


def test_an_error_of_the_fallback_is_raised(loop, measured, monkeypatch):
    """Nothing can be sent then; before the start nothing needs to be."""
    feed(loop, measured, 0)
    monkeypatch.setattr(loop.safety, "observe", fail)
    with pytest.raises(IndexError):
        loop.cycle(0, 0)
    monkeypatch.undo()
    started(loop, measured)
    monkeypatch.setattr(loop.law, "update", fail)
    monkeypatch.setattr(loop.safety, "command", fail)
    with pytest.raises(IndexError):
        loop.cycle(1, 1)


def test_a_start_that_breaks_off_ends_in_the_fallback(loop, measured, monkeypatch):
    """The arms have begun to rely on it."""
    feed(loop, measured, 0)
    loop.prepare(0)()
    monkeypatch.setattr(loop.law, "start", fail)
    with pytest.raises(IndexError):
        loop.start(0, 0)
    assert loop.safety.state is State.FALLBACK
    assert np.isfinite(loop.cycle(1, 1).torque).all()


def test_a_start_while_control_runs_changes_nothing(loop, measured):
    """It is refused, and no fault."""
    started(loop, measured)
    with pytest.raises(SafetyError, match="expected inactive"):
        loop.start(0, 0)
    assert loop.safety.law_runs


def test_a_reset_trusts_no_arm_that_holds_the_object_elsewhere():
    """The fallback would hold arms by positions that are still false."""
    scenario = load_scenario("lift_box")
    pilot = control_loop(scenario)
    measured = make_plant(scenario, true_system(scenario, pilot.system)).reset()
    pilot.check(measured.q, measured.qd)
    pilot.start_at(0, 0, measured.q, measured.qd, measured.wrenches)
    false = measured.q + 0.02 * np.eye(len(measured.q))[0]
    for tick, q in enumerate((measured.q, measured.q, false)):
        pilot.update(tick, tick, q, measured.qd, measured.wrenches)
    assert pilot.safety.lost_arms == ("left",)
    with pytest.raises(SafetyError, match=r"expected at most 0\.01\. The data of arm left are"):
        pilot.reset(3)
    pilot.update(3, 3, measured.q, measured.qd, measured.wrenches)
    pilot.reset(3)
    assert not pilot.safety.faults
    assert not pilot.safety.lost_arms
