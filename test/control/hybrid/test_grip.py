# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The grip of contacts that only push, while a fallback holds the arms."""

from __future__ import annotations

import numpy as np
import pytest
from app.scenarios.hybrid_scenarios import prepared
from numpy.testing import assert_allclose, assert_array_equal

from robot_dynamics.app.scenarios.laws import hybrid_law
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.manipulation.assembly import closed_configuration

MOST = load_scenario("tray").control.internal_force.max_internal_force_correction_n


def started(name):
    """Return a law that has started where its arms hold the object, and their positions."""
    scenario, (_, system, *_) = load_scenario(name), prepared(name)
    q = closed_configuration(system, scenario.object_pose)[system.q_index]
    law = hybrid_law(scenario, system)
    law.start(q, np.zeros_like(q))
    return law, q


@pytest.fixture(scope="module")
def tray():
    """Return the law of the tray, and where its arms start."""
    return started("tray")


def squeeze_of(law, q, torque):
    """Return the squeeze that torques (na,) make beyond the support of arms and tray [N]."""
    unit = law.start(q, np.zeros_like(q)).internal_force_torques[:, 0]
    return float(unit @ (torque - law.hold_support(q)) / (unit @ unit))


def test_a_hold_keeps_the_squeeze_that_was_asked_for_last(tray):
    """And that of the beginning again after a start."""
    law, q = tray
    assert_allclose(law.grip_support(q), law.hold_support(q), atol=1e-9)
    row = law.row(law.ramp_ticks).copy()
    row[law.internal_columns] += [20.0, 0.0]
    law.follow_row(row)
    law.update(law.ramp_ticks, q, np.zeros_like(q))
    law.follow_row(None)
    torque = law.grip_support(q)
    assert squeeze_of(law, q, torque) == pytest.approx(20.0, abs=1e-6)
    assert_allclose(law.grip_support(q), law.hold_support(q), atol=1e-9)


@pytest.mark.parametrize("added", [0.0, 20.0])
def test_a_firmer_grip_is_what_control_may_add(tray, added):
    """To the planned squeeze, not to an earlier addition."""
    law, q = tray
    law.start(q, np.zeros_like(q))
    step = law.update(law.ramp_ticks, q, np.zeros_like(q))
    step.added_internal_force = np.array([added, 0.0])
    torque = law.firmer_grip(q)
    assert squeeze_of(law, q, law.hold_support(q) + torque) == pytest.approx(
        MOST - added, rel=1e-6
    )


def test_in_the_ramp_what_was_added_counts_as_far_as_it_was_sent(tray):
    """Half of it after half the ramp."""
    law, q = tray
    law.start(q, np.zeros_like(q))
    step = law.update(law.ramp_ticks // 2, q, np.zeros_like(q))
    step.added_internal_force = np.array([20.0, 0.0])
    torque = law.hold_support(q) + law.firmer_grip(q)
    assert squeeze_of(law, q, torque) == pytest.approx(MOST - 10.0, rel=1e-6)


def test_rigid_grasps_need_none():
    """Nothing falls there without an internal force."""
    law, q = started("lift_box")
    row = law.row(law.ramp_ticks).copy()
    row[law.internal_columns] += 20.0
    law.follow_row(row)
    law.update(law.ramp_ticks, q, np.zeros_like(q))
    assert_array_equal(law.grip_support(q), law.hold_support(q))
    assert not law.firmer_grip(q).any()
