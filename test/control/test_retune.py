# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gains that change while arms lift a box of another mass than the controller believes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.app.laws import make_law
from robot_dynamics.app.run import make_plant
from robot_dynamics.app.scenario import build_system, load_scenario, true_system
from robot_dynamics.control.gain_ramp import GainRamp, carried_over
from robot_dynamics.control.gains import GainError

SCENARIO = load_scenario("lift_box_wrong_payload")
CONTROL = SCENARIO.control
SOFT = replace(
    CONTROL,
    object=replace(CONTROL.object, bandwidth=20.0, integral=5.0),
    posture=replace(CONTROL.posture, bandwidth=8.0),
)


def test_the_ramp_begins_and_ends_where_it_should():
    """Everything in between is a servo between the two, and the rest is left alone."""
    ramp = GainRamp(CONTROL, SOFT, 4)
    seen = [ramp.advance() for _ in range(4)]
    assert ramp.over
    assert seen[-1] == SOFT
    bandwidths = [settings.object.bandwidth for settings in seen]
    assert bandwidths == [35.0, 30.0, 25.0, 20.0]
    assert all(settings.start == CONTROL.start for settings in seen)


def test_what_an_integral_adds_is_carried_over():
    """Gain times integral stays; what nobody looked at is forgotten; what ends at 0 fades."""
    integral = np.array([1.0, -2.0])
    assert np.array_equal(2.0 * carried_over(integral, 4.0, 2.0, 1.0), 4.0 * integral)
    assert not carried_over(integral, 0.0, 2.0, 4.0).any()
    assert np.array_equal(carried_over(integral, 4.0, 2.0, 0.0), integral)


def torques(change, ticks=700, at=500):
    """Return the torques (ticks, na) of a lift whose gains change at a tick."""
    system = build_system(SCENARIO)
    controller = make_law(SCENARIO, system)
    plant = make_plant(SCENARIO, true_system(SCENARIO, system))
    seen = plant.reset()
    controller.start(seen.q, seen.qd)
    sent = []
    for tick in range(ticks):
        if tick == at:
            change(controller)
        sent.append(controller.update(tick, seen.q, seen.qd, seen.wrenches).torque)
        seen = plant.step(sent[-1])
    return np.array(sent), controller


def at_once(controller):
    """Change the gains as a parameter that is just read would."""
    controller.retune(SOFT)
    controller._retuning = GainRamp(controller.settings, SOFT, 1)
    memory = controller._memory
    controller._retune(controller._retuning)
    controller._memory = memory


def test_the_torque_does_not_jump():
    """In the period of the change it departs from that without a change by little.

    A share of 1/125 of the change of gains acts on errors of the size of a millimetre: less than
    0.02 N m. The same change at once moves a torque by more than twenty times as much.
    """
    same, _ = torques(lambda controller: None, ticks=502)
    ramped, controller = torques(lambda controller: controller.retune(SOFT))
    jumped, _ = torques(at_once, ticks=502)
    smooth, rough = (np.abs(run[500] - same[500]).max() for run in (ramped, jumped))
    assert smooth < 0.02
    assert rough > 20.0 * smooth
    # On the way no step is larger than those of the lift itself by more than that.
    largest = np.abs(np.diff(same, axis=0)).max()
    assert np.abs(np.diff(ramped[499:], axis=0)).max() < max(largest, 0.5)
    assert controller.settings == SOFT


def test_gains_that_the_loop_does_not_bear_are_refused():
    """With the declared delay; nothing changes."""
    system = build_system(SCENARIO)
    controller = make_law(SCENARIO, system)
    wild = replace(CONTROL, object=replace(CONTROL.object, bandwidth=400.0))
    with pytest.raises(GainError, match="object: a bandwidth of 400 rad/s is too high"):
        controller.retune(wild)
    assert controller._retuning is None
