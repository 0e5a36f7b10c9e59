# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms that only hold themselves up: they may start anywhere, and stay where they are put."""

import numpy as np
import pytest

from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.arm_model import ArmModel
from robot_dynamics.control.start_check import StartError
from robot_dynamics.manipulation.assembly import closed_configuration

SCENARIO = load_scenario("gravity")
SYSTEM = build_system(SCENARIO)


@pytest.fixture
def pilot():
    """Return the law behind its safety layer."""
    return control_loop(SCENARIO, SYSTEM)


@pytest.fixture
def elsewhere():
    """Return positions of the arms far from any grasp."""
    q = closed_configuration(SYSTEM, SCENARIO.object_pose)[SYSTEM.q_index]
    return q + np.where(np.arange(len(q)) % 2, 0.2, -0.2)


def test_starts_anywhere_but_not_in_motion(pilot, elsewhere):
    """Hands may be far from their grasps; a joint that moves is refused."""
    still = np.zeros(len(elsewhere))
    moving = still.copy()
    moving[3] = 0.1
    with pytest.raises(StartError, match=r"moves at 0\.1 rad/s"):
        pilot.check(elsewhere, moving)
    pilot.check(elsewhere, still)
    pilot.start_at(0, 0, elsewhere, still, None)
    torque, _, step, _ = pilot.update(1, 1, elsewhere, still, None)
    np.testing.assert_array_equal(torque, ArmModel(SYSTEM).support(elsewhere))
    assert step is not None


def test_stays_where_a_hand_puts_it(pilot):
    """A push moves the arms and is gone; then they come to rest elsewhere, with no way back."""
    plant = make_plant(SCENARIO, SYSTEM)
    seen = plant.reset()
    begin = seen.q
    pilot.check(seen.q, seen.qd)
    pilot.start_at(0, 0, seen.q, seen.qd, None)
    speeds = []
    for tick in range(1300):
        torque = pilot.update(tick, tick, seen.q, seen.qd, None).torque
        assert (np.abs(torque) <= SYSTEM.limits["effort"]).all()
        hand = np.zeros(len(torque))
        if 110 <= tick < 260:  # not before control has ramped in, which tests the model
            hand[[1, 9]] = 4.0, -3.0
        seen = plant.step(torque + hand)
        speeds.append(float(np.abs(seen.qd).max()))
    assert pilot.safety.law_runs, pilot.safety.faults
    moved = np.abs(seen.q - begin)
    assert moved.max() > 0.05
    # In 2 s the damping takes the speed down to exp(-4), 0.02 of it; joint friction does the rest.
    assert speeds[-1] < 1e-3 * max(speeds)


def test_torque_keeps_its_rate(pilot, elsewhere):
    """A measured velocity that jumps moves the torque no faster than the settings allow."""
    still = np.zeros(len(elsewhere))
    pilot.check(elsewhere, still)
    pilot.start_at(0, 0, elsewhere, still, None)
    last = pilot.safety.last
    for tick in range(1, 20):
        torque = pilot.update(tick, tick, elsewhere, still + 1.5 * (tick % 2), None).torque
        most = SCENARIO.safety.torque_rate * SCENARIO.control.period
        assert np.abs(torque - last).max() <= most * (1.0 + 1e-9)
        last = torque


def test_fallback_carries_no_object(pilot, elsewhere):
    """A stop leaves the arms with their own weight: they hold no object."""
    still = np.zeros(len(elsewhere))
    pilot.check(elsewhere, still)
    pilot.start_at(0, 0, elsewhere, still, None)
    assert not pilot.safety.object_held  # which the heartbeat tells the guard
    pilot.safety.stop(1)
    for tick in range(1, 50):
        torque = pilot.update(tick, tick, elsewhere, still, None).torque
    np.testing.assert_allclose(torque, ArmModel(SYSTEM).support(elsewhere), rtol=0, atol=1e-9)


def test_the_object_is_asked_nothing():
    """A reference of the scenario is not followed, and lasts as long."""
    lifting = load_scenario("lift_box")
    assert SCENARIO.reference == lifting.reference
    plan = SCENARIO.plan()
    assert plan.duration == lifting.plan().duration
    rows = plan.rows(np.linspace(0.0, plan.duration, 50))
    assert np.ptp(rows, axis=0).max() == 0.0
