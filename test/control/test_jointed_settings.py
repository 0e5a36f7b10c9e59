# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings that mean nothing are refused by name."""

from __future__ import annotations

import pytest

from robot_dynamics.control.jointed_settings import JointedControlSettings
from robot_dynamics.errors import ArgumentError


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"position_gain": -1.0}, "position_gain is -1.0"),
        ({"force_bound": float("nan")}, "force_bound is nan"),
    ],
)
def test_bad_settings_are_named(change, problem):
    """The name and the expected value are in the sentence."""
    with pytest.raises(ArgumentError, match=problem):
        JointedControlSettings(**change)
