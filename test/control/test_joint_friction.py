# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The torque that friction takes: damping and Coulomb friction, in closed form."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from robot_dynamics.control.torque_limits import friction_torque

JOINTS = [SimpleNamespace(damping=2.0, friction=3.0), SimpleNamespace(damping=0.0, friction=5.0)]


def test_fast_joints_feel_all_of_it():
    """Far above the transition the share of d v + F sign(v), but for (v0 / v)^2 / 2."""
    found = friction_torque(JOINTS, [10.0, -10.0], 0.5, 1e-3)
    assert found == pytest.approx([0.5 * 23.0, -2.5], rel=1e-8)


def test_it_is_smooth_through_rest():
    """Nothing at rest, 1 / sqrt(2) of Coulomb friction at the transition, odd in the velocity."""
    assert friction_torque(JOINTS, [0.0, 0.0], 1.0, 0.05) == [0.0, 0.0]
    there = friction_torque(JOINTS, [0.05, 0.05], 1.0, 0.05)
    assert there == pytest.approx([0.1 + 3.0 / 2**0.5, 5.0 / 2**0.5], rel=1e-15)
    assert friction_torque(JOINTS, [-0.05, -0.05], 1.0, 0.05) == [-t for t in there]
