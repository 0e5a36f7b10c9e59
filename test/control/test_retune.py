# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gains that change while arms lift an object of another mass than the controller believes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.app.scenarios.cell import build_system, true_system
from robot_dynamics.app.scenarios.laws import make_law
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.gain_ramp import GainRamp, carried_over, with_gains
from robot_dynamics.control.gains import GainError

SCENARIO = load_scenario("lift_box_wrong_payload")
CONTROL = SCENARIO.control
SOFT = replace(
    CONTROL,
    object=replace(CONTROL.object, bandwidth=20.0, integral=5.0),
    posture=replace(CONTROL.posture, bandwidth=8.0),
)
JOINTED = load_scenario(
    "fold",
    ("plant.object_mass_scale=1.2", "control.jointed.position_integral=40000.0",
     "reference.force=[{time_s: 0.0, wrench: [0.0, 10.0, 0.0], duration_s: 0.2}]"),
)  # fmt: skip
SERVO = JOINTED.control.jointed
SOFT_JOINTED = replace(
    JOINTED.control,
    jointed=replace(
        SERVO,
        position_gain=2500.0,
        velocity_gain=90.0,
        position_integral=20000.0,
        force_integral=50.0,
        posture_gain=64.0,
    ),
)
#: A scenario, other gains of it, and where its law keeps integrals.
CASES = {
    "hybrid": (SCENARIO, SOFT, lambda law: (law.running, "memory")),
    "jointed": (JOINTED, SOFT_JOINTED, lambda law: (law, "_integral")),
}


def test_the_ramp_begins_and_ends_where_it_should():
    """Everything in between is a servo between the two, and the rest is left alone."""
    ramp = GainRamp(CONTROL, SOFT, 4)
    seen = [ramp.advance() for _ in range(4)]
    assert ramp.over
    assert seen[-1] == SOFT
    bandwidths = [settings.object.bandwidth for settings in seen]
    assert bandwidths == [35.0, 30.0, 25.0, 20.0]
    assert all(settings.start == CONTROL.start for settings in seen)


def test_integral_terms_are_carried_over():
    """Gain times integral stays; unused integrals are forgotten; integrals without gain fade."""
    integral = np.array([1.0, -2.0])
    assert np.array_equal(2.0 * carried_over(integral, 4.0, 2.0, 1.0), 4.0 * integral)
    assert not carried_over(integral, 0.0, 2.0, 4.0).any()
    assert np.array_equal(carried_over(integral, 4.0, 2.0, 0.0), integral)


def torques(scenario, change, ticks=700, at=500):
    """Return the torques (ticks, na) of a lift whose gains change at a tick."""
    system = build_system(scenario)
    controller = make_law(scenario, system)
    plant = make_plant(scenario, true_system(scenario, system))
    seen = plant.reset()
    controller.start(seen.q, seen.qd)
    sent = []
    for tick in range(ticks):
        if tick == at:
            change(controller)
        sent.append(controller.update(tick, seen.q, seen.qd, seen.wrenches).torque)
        seen = plant.step(sent[-1])
    return np.array(sent), controller


@pytest.mark.parametrize("case", CASES)
def test_the_torque_does_not_jump(case):
    """In the period of the change it departs from that without a change by little.

    A share of 1/125 or 1/250 of the change of gains acts on errors of the size of a millimetre:
    less than 0.02 N m. The same change at once moves a torque by more than twenty times as much.
    """
    scenario, soft, integrals = CASES[case]

    def at_once(controller):
        """Change the gains as a parameter that is just read would."""
        controller.retune(soft)
        controller._retuning = GainRamp(controller.settings, soft, 1)
        place = integrals(controller)
        learned = getattr(*place)
        controller._retune(controller._retuning)
        setattr(*place, learned)

    same, _ = torques(scenario, lambda controller: None, ticks=502)
    ramped, controller = torques(scenario, lambda law: law.retune(soft), ticks=800)
    jumped, _ = torques(scenario, at_once, ticks=502)
    smooth, rough = (np.abs(run[500] - same[500]).max() for run in (ramped, jumped))
    assert smooth < 0.02
    assert rough > 20.0 * smooth
    # On the way no step is larger than those of the lift itself by more than that.
    largest = np.abs(np.diff(same, axis=0)).max()
    assert np.abs(np.diff(ramped[499:], axis=0)).max() < max(largest, 0.5)
    assert controller.settings == soft


@pytest.mark.parametrize(
    ("scenario", "wild", "problem"),
    [
        (
            SCENARIO,
            replace(CONTROL, object=replace(CONTROL.object, bandwidth=400.0)),
            "object: a bandwidth of 400 rad/s is too high",
        ),
        (
            JOINTED,
            replace(JOINTED.control, jointed=replace(SERVO, position_gain=1e6, velocity_gain=2e3)),
            "jointed.position: a bandwidth of 1000 rad/s is too high",
        ),
        (
            JOINTED,
            replace(JOINTED.control, jointed=replace(SERVO, force_integral=1000.0)),
            "jointed.force_integral: a bandwidth of 1000 1/s is too high",
        ),
    ],
)
def test_gains_that_the_loop_does_not_bear_are_refused(scenario, wild, problem):
    """With the declared delay; nothing changes."""
    controller = make_law(scenario)
    with pytest.raises(GainError, match=problem):
        controller.retune(wild)
    assert controller._retuning is None
    assert controller.settings == scenario.control


def test_settings_other_than_gains_stay():
    """The law keeps the rate, and the inputs of its rows and its choice of coordinates."""
    other = replace(SOFT_JOINTED, rate_hz=250.0, jointed=replace(SERVO, lead_periods=2.0))
    kept = with_gains(JOINTED.control, other)
    assert kept.rate_hz == JOINTED.control.rate_hz
    assert kept.jointed.lead_periods == SERVO.lead_periods
