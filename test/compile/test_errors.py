# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The errors of the compiler can be caught in two ways."""

import pytest

from robot_dynamics.compile.errors import CompilerError, ShapeError, TraceError
from robot_dynamics.errors import RobotDynamicsError


@pytest.mark.parametrize(
    ("error", "builtin"),
    [(TraceError, TypeError), (ShapeError, ValueError), (CompilerError, RuntimeError)],
)
def test_errors_are_of_the_package_and_builtin(error, builtin):
    """Each error is of this package and of the builtin class that Python would raise."""
    assert issubclass(error, RobotDynamicsError)
    assert issubclass(error, builtin)
