# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Offsets and tool weights of wrist sensors, before the grasp and while the object is held."""

from __future__ import annotations

import numpy as np
import pytest
from support.control_loops import feed, sampled_loop

from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.cell import build_system, true_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.faults import Cause, SafetyError
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.wrist_sensors import SensorFrames
from robot_dynamics.robot import Robot

TOOL = "cell.arms.0.sensor_tool={mass: 1.5, center: [0.01, -0.02, 0.08]}"
BIAS = (
    "plant.sensors.force_bias=[5, -3, 8]",
    "plant.sensors.moment_bias=[0.3, 0.1, -0.2]",
    "plant.sensors.force=0.5",
)


def begun(*overrides):
    """Return a loop before its start, its plant and what that measured."""
    scenario = load_scenario("lift_box", overrides)
    loop = control_loop(scenario)
    plant = make_plant(scenario, true_system(scenario, loop.system))
    return loop, plant, plant.reset()


def test_a_tared_bias_is_gone_on_every_axis():
    """Also along the squeeze, which nothing shows while the object is held."""
    run = simulate("lift_box", overrides=[*BIAS[:2], "control.start.tare=true"])
    assert run.report["ok"], run.report["failures"]
    assert run.report["warnings"] == []
    assert run.report["internal_force_error_settled_n"] < 0.01
    blind = simulate("lift_box", overrides=[*BIAS[:2]], duration=7.2)
    assert blind.report["internal_force_error_settled_n"] > 3.0


def test_a_tool_is_weighed_in_every_orientation():
    """Its weight is subtracted while the arm turns; statics tell what the sensor carries."""
    loop, _, measured = begun(TOOL)
    system, rng = loop.system, np.random.default_rng(3)
    robot = Robot(system.model)
    for _ in range(5):
        q = system.posture + rng.normal(size=len(system.posture))
        found = -loop.wrist_sensors.grasp_wrenches(q, np.zeros((2, 6)))
        R = robot.pose("left_tool", system.positions(q))[:3, :3]
        force, arm = R @ found[0, 3:], R @ [0.01, -0.02, 0.08]
        np.testing.assert_allclose(force, -1.5 * np.array(system.model.gravity), atol=1e-12)
        np.testing.assert_allclose(R @ found[0, :3], np.cross(arm, force), atol=1e-12)
        assert not found[1].any()
    # The simulated sensor carries it as well.
    bare = begun()[2].wrenches
    assert np.abs(measured.wrenches - bare)[0].max() > 5.0
    np.testing.assert_allclose(
        loop.wrist_sensors.grasp_wrenches(measured.q, measured.wrenches), bare, atol=1e-9
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_a_tool_at_no_position_is_told_by_the_arm_first(bad):
    """Weights are subtracted before positions are checked."""
    loop, _, measured = begun(TOOL)
    loop.check(measured.q, measured.qd)
    loop.start_at(0, 0, measured.q, measured.qd, measured.wrenches)
    loop.update(1, 1, measured.q, measured.qd, measured.wrenches)
    q = measured.q.copy()
    q[0] = bad
    loop.update(2, 2, q, measured.qd, measured.wrenches)
    assert loop.safety.faults[0][1].cause is Cause.ARM_LOST
    assert loop.safety.faults[0][1].subject == "left"


def test_a_run_with_tools_and_biases_is_as_good():
    """The tool's acceleration is all that is left: 1.5 kg at 0.3 m/s^2."""
    overrides = [TOOL, *BIAS[:2], "control.start.tare=true"]
    run = simulate("lift_box", overrides=overrides)
    assert run.report["ok"], run.report["failures"]
    assert run.report["warnings"] == []


def test_wrenches_are_moved_to_the_tool_frame():
    """The same joint torques balance them in both frames."""
    system = build_system(load_scenario("lift_box_panda"))
    frames, robot = SensorFrames(system), Robot(system.model)
    arm, rng = system.arms[0], np.random.default_rng(4)
    wrench, q = rng.normal(size=6), system.positions(system.posture)
    at_tool = frames.to_tool(arm.name, "left_panda_link8") @ wrench
    torque = robot.jacobian("left_panda_link8", q).T @ wrench
    np.testing.assert_allclose(robot.jacobian(arm.tool, q).T @ at_tool, torque, atol=1e-12)
    assert np.abs(at_tool - wrench).max() > 0.05
    assert frames.to_tool(arm.name, "") is None
    assert frames.to_tool(arm.name, arm.tool) is None


@pytest.mark.parametrize(("frame", "why"), [("left_link6", "moves"), ("wrist", "no link")])
def test_a_sensor_frame_is_fixed_to_the_tool(frame, why):
    """Another one is refused with the arm's name."""
    scenario = load_scenario("lift_box", [f"cell.arms.0.sensor_frame={frame}"])
    with pytest.raises(RobotDynamicsError, match=f"arm 'left'.*{frame}.*{why}.*'left_tool'"):
        build_system(scenario)
    assert build_system(load_scenario("lift_box", ["cell.arms.0.sensor_frame=left_link7"]))


def test_taring_is_refused_while_the_object_is_held():
    """Before the start by its weight; from the start on whatever the sensors say."""
    loop, plant, measured = begun(*BIAS)
    with pytest.raises(SafetyError, match=r"taring refused: the wrist sensors carry .* 98\.1 N"):
        loop.tare(measured.q, measured.wrenches)
    assert not loop.wrist_sensors.tared
    empty = plant.unloaded_wrenches()
    loop.tare(measured.q, empty)
    np.testing.assert_allclose(loop.wrist_sensors.offset, empty)
    loop.check(measured.q, measured.qd)
    loop.start_at(0, 0, measured.q, measured.qd, measured.wrenches)
    with pytest.raises(SafetyError, match="taring refused: the arms hold the object"):
        loop.tare(measured.q, empty)
    loop.stop(0)
    with pytest.raises(SafetyError, match="taring refused: the arms hold the object"):
        loop.tare(measured.q, empty)


def test_half_to_four_times_the_weight_counts_as_the_object():
    """Other sums are offsets: smaller and larger ones, and from 1.5 times on inclined ones."""
    loop, _, measured = begun()
    side = np.zeros((2, 6))
    side[0, 5] = 1.0  # into the object, across gravity
    for part, across in ((0.495, 0.0), (4.02, 0.0), (2.0, 0.102)):
        loop.tare(measured.q, part * (measured.wrenches + 98.1 * across * side))
    for part, across in ((0.505, 0.0), (3.98, 0.0), (2.0, 0.098)):
        with pytest.raises(SafetyError, match="taring refused"):
            loop.tare(measured.q, part * (measured.wrenches + 98.1 * across * side))


@pytest.mark.parametrize("wrong", [np.zeros((3, 6)), np.full((2, 6), np.nan)])
def test_taring_by_no_measurement_is_refused(wrong):
    """Nothing is tared then."""
    loop, _, measured = begun()
    with pytest.raises(ArgumentError, match="expected finite numbers of shape"):
        loop.tare(measured.q, wrong)
    assert not loop.wrist_sensors.tared


def test_the_mean_of_noise_is_what_is_tared():
    """Of 500 samples of 0.5 N: 0.02 N; later noise is the same with and without."""
    _, plant, _ = begun(*BIAS)
    mean = plant.unloaded_wrenches()
    np.testing.assert_allclose(mean[:, 3:], [[5, -3, 8]] * 2, atol=0.1)
    assert np.abs(mean[:, 3:] - [5, -3, 8]).max() > 1e-3
    assert np.array_equal(begun(*BIAS)[1].step(np.zeros(14)).wrenches, plant.step(np.zeros(14))[4])


def test_a_start_that_needs_taring_is_refused_without():
    """By samples over topics and by those of a caller."""
    scenario = load_scenario("lift_box", ["control.start.tare=true"])
    loop, plant, measured = begun("control.start.tare=true")
    loop.check(measured.q, measured.qd)
    with pytest.raises(SafetyError, match="not tared"):
        loop.start_at(0, 0, measured.q, measured.qd, measured.wrenches)
    sampled = sampled_loop(scenario)
    feed(sampled, measured, 0)
    with pytest.raises(SafetyError, match="not tared"):
        sampled.prepare(0)
    sampled.tare(measured.q, plant.unloaded_wrenches())
    sampled.prepare(0)()
    sampled.start(0, 0)
