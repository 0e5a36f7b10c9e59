# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A controller behind its safety layer, for any source of samples."""

import numpy as np
import pytest

from robot_dynamics.app.run import make_plant
from robot_dynamics.app.scenario import build_system, load_scenario, true_system
from robot_dynamics.control.faults import Cause, Finding, State
from robot_dynamics.control.start_check import StartError
from robot_dynamics.control.supervised import SupervisedController


@pytest.fixture
def pair():
    """Return a controller that has started, its plant, and what that measured."""
    scenario = load_scenario("lift_box")
    pilot = SupervisedController(
        build_system(scenario),
        scenario.control,
        scenario.safety,
        scenario.plan(),
        unit_s=scenario.control.period,
    )
    plant = make_plant(scenario, true_system(scenario, pilot.system))
    measured = plant.reset()
    pilot.check(measured.q, measured.qd)
    pilot.start(0, measured.q, measured.qd, measured.wrenches)
    return pilot, plant, measured


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
    pilot, _, measured = pair
    held, empty = pilot._support(measured.q, True), pilot._support(measured.q, False)
    weight = 9.81 * pilot.system.model.bodies[pilot.system.object_body].inertia.components()[0]
    assert np.abs(held - empty).max() > 0.05 * weight  # a lever of some centimetres at least
    at = pilot.system.model.neutral()
    at[pilot.system.q_index] = measured.q
    assert np.isfinite(empty).all()


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
