# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Short versions of the space robot's study, which tests of its claims and figures share."""

import pytest

from robot_dynamics.reproductions import space_robot


@pytest.fixture(scope="session")
def floating():
    """Return the outcome without thrusters."""
    return space_robot.run(True, lambda done, doing: None)


@pytest.fixture(scope="session")
def flying():
    """Return the outcome with thrusters."""
    return space_robot.run_with_thrusters(True, lambda done, doing: None)
