# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One run of the shipped scenario that tests of its recording, report and figure share."""

import pytest

from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.scenario import load_scenario, shipped_scenarios
from robot_dynamics.description import DescriptionError


@pytest.fixture(scope="session")
def scenario():
    """Return the shipped scenario."""
    return load_scenario("lift_box")


@pytest.fixture(scope="session")
def run(scenario):
    """Return a run of it."""
    return simulate(scenario)


@pytest.fixture(scope="module", params=sorted(shipped_scenarios()))
def shipped(request):
    """Return the name of each shipped scenario whose robots are installed."""
    try:
        load_scenario(request.param)
    except DescriptionError as error:
        if "example-robot-data" in str(error):
            pytest.skip("needs the package example-robot-data")
        raise
    return request.param
