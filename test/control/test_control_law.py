# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every control law returns arrays of the stated shapes, and has only abilities of its own."""

from abc import ABC

import numpy as np
import pytest

from robot_dynamics.app.runs.recorders import planned_columns
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.laws import LAWS, make_law
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.abilities import (
    HoldsObject,
    MonitorsSlip,
    TakesReferences,
    TouchesSurfaces,
)
from robot_dynamics.control.control_law import ControlLaw, HeldStep, LawStep
from robot_dynamics.control.gravity import GravityLaw
from robot_dynamics.control.reference import ACCELERATION, POSE
from robot_dynamics.manipulation.assembly import closed_configuration

#: Scenarios of all laws, with surfaces and without them, with contacts that slip and without them.
SCENARIOS = {
    "lift_box": (),
    "lift_box by gravity alone": ("control.law=gravity",),
    "wipe": (),
    "lean": (),
    "comply": (),
    "tray": (),
    "fold": (),
}


def test_every_law_has_a_scenario():
    """None is left out below."""
    assert {scenario_of(name).control.law for name in SCENARIOS} == set(LAWS)


def scenario_of(name):
    """Return one of the scenarios."""
    return load_scenario(name.split()[0], SCENARIOS[name])


@pytest.fixture(scope="module", params=SCENARIOS)
def started(request):
    """Return a law, where its arms are at the start, and its first step."""
    scenario = scenario_of(request.param)
    system = build_system(scenario)
    law = make_law(scenario, system)
    q = closed_configuration(system, scenario.object_pose)[system.q_index]
    return law, q, law.start(q, np.zeros(len(q)))


def test_a_step_has_the_stated_shapes(started):
    """With wrenches and without them, before the ramp is over and after it."""
    law, q, first = started
    na, k = len(law.system.joint_names), len(law.system.arms)
    still = np.zeros(na)
    later = 1001  # the ramp of every start is over
    steps = [first, law.update(0, q, still, np.zeros((k, 6))), law.update(later, q, still)]
    for step in steps:
        assert step.torque.shape == step.support.shape == (na,)
        assert step.pose.shape == (7,)
        assert step.twist.shape == step.error.shape == (6,)
        # A law that touches surfaces follows more than motion and internal force.
        assert len(step.reference) >= ACCELERATION.stop + len(law.internal_force_names)
        assert len(step.scales) >= 5
        assert 0.0 <= step.task_scale <= 1.0
        assert 0.0 < step.support_torque_ratio < 1.0
        assert min(law.columns.values()) > 0
        assert len(np.concatenate(step.recorded)) == sum(law.columns.values())


def test_the_plan_and_its_columns(started):
    """The plan begins where the object is; columns have a row for every time."""
    law, _, step = started
    times = np.array([-1.0, 0.0, law.reference.duration, law.reference.duration + 1.0])
    rows = law.reference.rows(times)
    np.testing.assert_allclose(rows[0, POSE], step.pose, atol=1e-6)  # the start is solved for
    np.testing.assert_array_equal(rows[2], rows[3])
    columns = planned_columns(law, times)
    assert {"reference_pose", "reference_twist", "reference_internal_force"} <= set(columns)
    assert all(len(values) == len(times) for values in columns.values())
    assert not set(columns) & set(law.columns)
    for begin, end in law.reference.settled_intervals(0.0):
        assert 0.0 <= begin <= end <= law.reference.duration


def test_support_holds_arms_and_object_up(started):
    """It is the command of the first step, and is given for any configuration."""
    law, q, _ = started
    still = np.zeros(len(q))
    law.start(q, still)
    np.testing.assert_allclose(law.update(0, q, still).torque, law.hold_support(q), atol=1e-9)
    assert np.isfinite(law.hold_support(q + 0.3)).all()


def test_abilities_have_the_stated_shapes(started):
    """Steps of a held object, forces that references name, slip and surfaces of the last step."""
    law, _, step = started
    assert isinstance(step, HeldStep) == isinstance(law, HoldsObject)
    if isinstance(law, HoldsObject):
        assert step.closure.shape == (6 * (len(law.system.arms) - 1),)
        assert step.internal_force.shape == (len(law.internal_force_names),)
        assert step.held_body_wrenches.shape == (law.grasp.bodies, 18)
        assert len(step.poses) == law.grasp.bodies
        assert step.tilts.shape == (len(law.grasp.soft_fingers),)
    if isinstance(law, TakesReferences):
        assert law.force_columns["internal"].stop >= len(step.internal_force)
        assert ("contact" in law.force_columns) == bool(getattr(law, "surfaces", ()))
    if isinstance(law, TouchesSurfaces):
        rows = [rows.stop for rows in law.surfaces.values()]
        assert law.contact_force.shape == (max(rows, default=0),)
    if isinstance(law, MonitorsSlip):
        assert law.slip_margins.shape == (len(law.slip_contacts),)


def test_a_law_without_an_object_has_no_ability():
    """Gravity compensation writes the core alone, and nothing stands in for the rest."""
    own = {name for name in vars(GravityLaw) if not name.startswith("_")}
    assert own == {"check_start", "start", "update", "hold_support"}
    assert GravityLaw.__mro__[1:] == (ControlLaw, ABC, object)


def test_the_core_is_four_methods():
    """A law that writes them can be made."""
    assert ControlLaw.__abstractmethods__ == {"check_start", "start", "update", "hold_support"}


@pytest.mark.parametrize("scale", range(3))
def test_a_scale_that_is_no_number_is_seen(scale):
    """In whichever place it stands: the smallest part of the task is no number then."""
    scales = np.array([1.0, 1.0, 1.0, 0.0, 1.0])
    scales[scale] = np.nan
    zero = np.zeros(2)
    assert np.isnan(LawStep(zero, zero, zero, np.zeros(7), scales=scales).task_scale)
