# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A controller behind its safety layer, in one process with the plant."""

import numpy as np
import pytest

from robot_dynamics.app.pilot import Pilot
from robot_dynamics.app.run import make_plant, simulate
from robot_dynamics.app.scenario import load_scenario, true_system
from robot_dynamics.control.faults import State
from robot_dynamics.errors import RobotDynamicsError


@pytest.fixture
def pair(scenario):
    """Return a pilot that has started, its plant, and what it measured."""
    pilot = Pilot(scenario)
    plant = make_plant(scenario, true_system(scenario, pilot.system))
    measured = plant.reset()
    pilot.start(measured)
    return pilot, plant, measured


def test_the_law_runs(pair):
    """While all is well the law's torque is what is sent."""
    pilot, plant, measured = pair
    for _ in range(200):
        torque, step = pilot.update(measured)
        np.testing.assert_array_equal(torque, step.torque)
        measured = plant.step(torque)
    assert pilot.safety.state is State.ACTIVE
    assert pilot.safety.cause == ""


def test_a_measurement_that_is_no_number(pair):
    """NaN in a joint state never reaches a torque; the fallback holds, the fault is latched."""
    pilot, plant, measured = pair
    for _ in range(20):
        torque, _ = pilot.update(measured)
        measured = plant.step(torque)
    q = measured.q.copy()
    q[3] = np.nan
    torque, _ = pilot.update(measured._replace(q=q))
    assert np.isfinite(torque).all()
    assert "left_joint4" in pilot.safety.cause
    measured = plant.step(torque)
    torque, _ = pilot.update(measured)
    assert np.isfinite(torque).all()
    assert pilot.safety.state is State.FALLBACK


def test_a_fault_makes_a_run_bad():
    """A payload beyond the arms' strength stops the controller; the report says when and why."""
    run = simulate("lift_box", overrides=["plant.object_mass_scale=6"], duration=1.0)
    assert not run.ok
    assert any(f.startswith("the controller stopped, at 0.") for f in run.report["failures"])
    assert run.report["torque_fraction_of_limit_max"] <= 1.0


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("cell.object.mass=60", "too heavy"),
        ("reference.segments=[{duration_s: 2, move: [0, 0, 3]}]", "reference refused at"),
        ("control.object.bandwidth=500", "bandwidth of 500 rad/s is too high"),
        ("plant.grasp_error.left.xyz=[0.03, 0, 0]", "start refused: arm 'left' is 0.03 m"),
    ],
)
def test_refused_before_the_first_torque(override, message):
    """What cannot go well is refused before anything moves, with the reason."""
    with pytest.raises(RobotDynamicsError) as raised:
        simulate("lift_box", overrides=[override])
    assert message in str(raised.value)


def test_supporting_torque_of_the_fallback(pair):
    """Without the object the arms are held up against their own weight alone, with it by more."""
    pilot, _, measured = pair
    held, empty = pilot._support(measured.q, True), pilot._support(measured.q, False)
    weight = 9.81 * pilot.system.model.bodies[pilot.system.object_body].inertia.components()[0]
    assert np.abs(held - empty).max() > 0.05 * weight  # a lever of some centimetres at least
    at = pilot.system.model.neutral()
    at[pilot.system.q_index] = measured.q
    assert np.isfinite(empty).all()


def test_scenarios_differ_in_their_seed():
    """Sensor noise makes another run of every seed, and the same of the same."""
    noise = "plant.sensors={position: 1.0e-6, velocity: 1.0e-5}"
    hashes = [
        simulate(load_scenario("lift_box", [noise, f"plant.seed={seed}"]), duration=0.1).report[
            "state_hash"
        ]
        for seed in (1, 1, 2)
    ]
    assert hashes[0] == hashes[1] != hashes[2]
