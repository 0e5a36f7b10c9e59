# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torques change no faster than they may."""

import numpy as np
import pytest

from robot_dynamics.control.torque_rate import within_rate


def test_what_is_within_the_limit_is_left_as_it_is():
    """To the last bit, also at the limit itself and without one."""
    last, torque = np.array([1.0, -2.0]), np.array([1.5, -2.5])
    assert within_rate(torque, last, 0.5) is torque
    assert within_rate(torque, last, np.inf) is torque
    empty = np.zeros(0)
    assert within_rate(empty, empty, 0.5) is empty


def test_the_fastest_joint_rules_and_the_direction_stays():
    """A change of 4 and -2 where 1 is allowed is one of 1 and -0.5."""
    found = within_rate(np.array([5.0, -4.0]), np.array([1.0, -2.0]), 1.0)
    assert found == pytest.approx([2.0, -2.5], abs=1e-15)
