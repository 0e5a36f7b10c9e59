# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Control laws are chosen by name."""

from typing import get_args, get_type_hints

import pytest

from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.laws import LAWS, control_loop, make_law
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.settings import LAW_FACTS, ControlSettings
from robot_dynamics.description.diagnosis import DescriptionError


def test_every_law_that_a_scenario_may_name_is_there():
    """And none that it may not; each may observe for a controller of one's own."""
    assert set(LAWS) == set(LAW_FACTS)
    assert set(get_args(get_type_hints(ControlSettings)["observer"])) == set(LAWS)


def test_the_law_of_a_scenario():
    """It is made for the system that is given, or for the scenario's own."""
    scenario = load_scenario("lift_box")
    system = build_system(scenario)
    law = make_law(scenario, system)
    assert isinstance(law, HybridLaw)
    assert law.system is system
    assert control_loop(scenario).system.joint_names == system.joint_names


def test_a_law_that_does_not_exist():
    """The names that would have been valid are told."""
    with pytest.raises(DescriptionError, match="hybrid"):
        load_scenario("lift_box", ["control.law=coordinatd"])
