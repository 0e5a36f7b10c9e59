# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Slip that the law foresees, in its plan and while it runs."""

import numpy as np
import pytest
from app.scenarios.hybrid_scenarios import prepared

from robot_dynamics.app.scenarios.laws import hybrid_law
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.path_check import PreflightError
from robot_dynamics.manipulation.assembly import closed_configuration


@pytest.fixture(scope="module")
def tray():
    """Return the tray's law with too little squeeze, which may slip, and where its arms start."""
    scenario = load_scenario("tray_dropped")
    system = prepared("tray")[1]
    q = closed_configuration(system, scenario.object_pose)[system.q_index]
    return hybrid_law(scenario, system), q


def test_slip_is_foreseen_in_the_plan_and_told(tray):
    """35 N of squeeze hold the tray, and the 12 N that it comes down to do not."""
    law, q = tray
    assert any("slips" in sentence for sentence in law.slip.foreseen)
    law.check_path(q)  # which would be refused if the task might not slip
    law.start(q, np.zeros_like(q))
    step = law.update(0, q, np.zeros_like(q))
    assert step.slip.margins.min() > 0.0  # now
    late = law.update(law.ramp_ticks + 500, q, np.zeros_like(q))
    assert late.slip.ahead.min() < 0.0  # half a second ahead, squeezed less
    assert set(law.columns) == {
        "estimated_pose", "estimated_twist", "estimated_closure", "estimated_internal_force",
        "added_internal_force", "control_scales", "estimated_tilt", "slip_margin",
    }  # fmt: skip
    assert len(np.concatenate(late.recorded)) == sum(law.columns.values())
    assert law.metadata["warnings"][: len(law.slip.foreseen)] == list(law.slip.foreseen)


def test_another_plan_is_not_judged_by_the_old_one(tray):
    """The 12 N that would slip are still to come when the arms stop, and never come then."""
    law, q = tray
    still, at = np.zeros_like(q), law.ramp_ticks + 50
    for change in (law.hold, lambda tick: law.follow(law.reference, tick)):
        law.start(q, still)
        law.update(at, q, still)
        change(at + 1)
        assert law.update(law.ramp_ticks + 500, q, still).slip.warnings == ()
    law.start(q, still)
    assert law.update(law.ramp_ticks + 500, q, still).slip.ahead.min() < 0.0


def test_a_task_that_slips_is_refused_unless_it_may(tray):
    """The same task, not allowed to slip, is refused before any torque."""
    scenario = load_scenario("tray_dropped", ["control.internal_force.may_slip=false"])
    law = hybrid_law(scenario, prepared("tray")[1])
    with pytest.raises(PreflightError, match="would slip or open"):
        law.check_path(tray[1])
