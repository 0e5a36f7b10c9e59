# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Scenarios of hybrid control that tests share, and their systems."""

from functools import cache

from robot_dynamics.app.scenarios.cell import build_system, hybrid_system_of
from robot_dynamics.app.scenarios.laws import distribution_of
from robot_dynamics.app.scenarios.scenario import load_scenario


@cache
def prepared(name, *overrides):
    """Return a scenario, its arms and object, its hybrid system, and the sharing of forces."""
    scenario = load_scenario(name, overrides)
    system = build_system(scenario)
    held = hybrid_system_of(scenario.cell, system)
    return scenario, system, held, distribution_of(scenario, held)
