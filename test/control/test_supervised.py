# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A controller behind its safety layer, for any source of samples."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.app.laws import supervised_law
from robot_dynamics.app.run import make_plant
from robot_dynamics.app.scenario import load_scenario, true_system
from robot_dynamics.compile.machine import MachineCode
from robot_dynamics.control.faults import Cause, Finding, State
from robot_dynamics.control.start_check import StartError
from robot_dynamics.control.supervised import SupervisedController
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.robot import Robot


def begun(scenario):
    """Return a controller that has started, its plant, and what that measured."""
    pilot = supervised_law(scenario)
    plant = make_plant(scenario, true_system(scenario, pilot.system))
    measured = plant.reset()
    pilot.check(measured.q, measured.qd)
    pilot.start(0, measured.q, measured.qd, measured.wrenches)
    return pilot, plant, measured


@pytest.fixture
def pair():
    """Return those of two arms that lift a box."""
    return begun(load_scenario("lift_box"))


def update(pilot, measured):
    """Return torque and step of a measurement."""
    return pilot.update(measured.tick, measured.tick, measured.q, measured.qd, measured.wrenches)


def test_the_law_runs(pair):
    """While all is well the law's torque is what is sent."""
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
    wrenches = pilot.controller.grasp_map.distribution @ C[pilot.system.object_v]
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
        pilot.start(0, measured.q + 0.01, measured.qd, measured.wrenches)


def test_a_refused_start_changes_nothing(pair):
    """A start while control runs is refused, and the torques go on as if it had not been asked."""
    pilot, plant, measured = pair
    for _ in range(400):
        torque, step = update(pilot, measured)
        measured = plant.step(torque)
    expected = pilot.controller._evaluate(
        measured.q, measured.qd, measured.wrenches, step.reference, 1.0
    )
    pilot._checked_start = measured.q  # as after a check
    with pytest.raises(RobotDynamicsError, match="start refused"):
        pilot.start(measured.tick, measured.q, 0.0 * measured.qd, measured.wrenches)
    again = pilot.controller._evaluate(
        measured.q, measured.qd, measured.wrenches, step.reference, 1.0
    )
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
    pilot.start(measured.tick, measured.q, measured.qd, measured.wrenches)
    after, _ = pilot.update(measured.tick, 0, measured.q, measured.qd, measured.wrenches)
    rate = load_scenario("lift_box").safety.torque_rate
    assert (np.abs(after - torque) <= rate * pilot.controller.period * (1 + 1e-9)).all()


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
    assert "plausible" in pilot.safety.cause
    assert step is not None
    assert np.linalg.norm(step.error[3:]) < 1e-3


def test_an_object_far_from_its_reference_is_a_fault():
    """Where the arms cannot follow, control gives up instead of pushing on."""
    blind = "safety.wrench_residual_share=1.0"  # else the sensors find it before it has moved
    scenario = load_scenario("lift_box", ["plant.object_mass_scale=1.7", blind])
    pilot, plant, measured = begun(scenario)
    for _ in range(3500):
        torque, _ = update(pilot, measured)
        measured = plant.step(torque)
        if pilot.safety.faults:
            break
    assert pilot.safety.faults
    assert pilot.safety.faults[0][1].cause in (Cause.TRACKING_LOST, Cause.SUPPORT_LIMIT)
    away = (
        plant.truth().object_pose[:3] - pilot.controller.reference.row(0.002 * measured.tick)[:3]
    )
    assert np.linalg.norm(away) < 0.1


@pytest.mark.parametrize(
    ("scale", "cause"), [(1.7, Cause.UNEXPECTED_CONTACT), (0.2, Cause.GRASP_LOST)]
)
def test_sensors_that_measure_another_object(scale, cause):
    """Too heavy or as good as gone: found within a tenth of a second, and held or let go."""
    scenario = load_scenario("lift_box", [f"plant.object_mass_scale={scale}"])
    pilot, plant, measured = begun(scenario)
    for _ in range(50):
        measured = plant.step(update(pilot, measured)[0])
    assert pilot.safety.faults[0][1].cause is cause
    assert pilot.safety.object_held == (cause is not Cause.GRASP_LOST)


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
    q, qd = plant._q.copy(), plant._qd.copy()
    torque, tau = update(pilot, measured)[0], np.zeros(model.nv)
    for tick in range(measured.tick + 1, measured.tick + 100):
        tau[system.v_index] = torque
        qdd, forces, _ = robot.closed_loop(q, qd, tau)
        qd = qd + 1e-3 * qdd
        q = np.array(model.integrate(q.tolist(), (1e-3 * qd).tolist()))
        wrenches = np.zeros((2, 6))
        wrenches[1 - arm] = forces[:6]
        torque, _ = pilot.update(tick, tick, q[system.q_index], qd[system.v_index], wrenches)
        if pilot.safety.faults:
            break
    found = pilot.safety.faults[0][1]
    assert found.cause is Cause.GRASP_LOST
    assert found.subject == f"part of {system.arms[arm].name}"
    assert "what holds it carries" in found.sentence


def test_a_check_links_no_machine_code(monkeypatch):
    """All that it needs is there: LLVM never gives back all memory of what was linked."""
    scenario = load_scenario("lift_box")
    pilot = supervised_law(scenario)
    measured = make_plant(scenario, true_system(scenario, pilot.system)).reset()

    def link(*arguments):
        raise AssertionError("machine code is linked")

    monkeypatch.setattr(MachineCode, "__init__", link)
    pilot.check(measured.q, measured.qd)


def test_a_slow_law_is_refused_on_a_clock(pair):
    """On a clock a step must fit into the period; the refusal says what to install."""
    pilot, _, measured = pair
    pilot.safety.stop(0)
    pilot.safety.reset(0)
    pilot.step_time, pilot._on_a_clock = 0.004, True
    with pytest.raises(RobotDynamicsError, match="install llvmlite"):
        pilot.check(measured.q, measured.qd)


def test_a_law_for_parts_estimates_the_wrench_of_each():
    """One that speaks of a single body is refused before there is a torque, not in the loop."""
    scenario = load_scenario("fold")
    pilot = supervised_law(scenario)

    class Silent:
        """The law, but that it says to hold one body."""

        held_bodies = 1

        def __init__(self, law):
            self._law = law

        def __getattr__(self, name):
            return getattr(self._law, name)

    control, settings = scenario.control, scenario.safety
    with pytest.raises(RobotDynamicsError, match="each of the 2 parts"):
        SupervisedController(Silent(pilot.controller), control, settings, unit_s=control.period)
    # Nobody watches without sensors.
    SupervisedController(
        Silent(pilot.controller),
        control,
        settings,
        unit_s=control.period,
        wrist_sensors=False,
    )
