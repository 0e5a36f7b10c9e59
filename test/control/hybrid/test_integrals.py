# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Integrals learn with gates and bounds, and only from known errors."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from robot_dynamics.control.hybrid.servo import (
    contact_integral,
    internal_integral,
    pose_integral,
)
from robot_dynamics.control.hybrid.surface_forces import SurfaceForces

GAIN = SimpleNamespace(
    period=0.002, integral=100.0, motion_bound=10.0, contact_integral=50.0, contact_error=2.0,
    contact_bound=1.0, gated=1.0, internal_integral=20.0, internal_bound=3.0,
)  # fmt: skip
LITERAL = SimpleNamespace(**{**vars(GAIN), "gated": 0.0, "contact_error": 1e9})


def test_the_pose_error_is_integrated_within_bounds():
    """While limits rule the integral only shrinks; its addition never exceeds its bound."""
    assert pose_integral([0.0], [0.5], GAIN, 1.0) == pytest.approx([0.001])
    assert pose_integral([0.01], [0.5], GAIN, 0.0) == pytest.approx([0.01])
    assert pose_integral([0.01], [-0.5], GAIN, 0.0) == pytest.approx([0.009])
    assert pose_integral([0.0999], [5.0], GAIN, 1.0) == pytest.approx([0.1])


def contact(last, force, *, touched=1.0, loaded=1.0, gain=GAIN, gate=1.0, known=1.0):
    """Return the integral of a force that is to be 10 N."""
    forces = SurfaceForces([force], [touched], [0.0], [loaded])
    return contact_integral([last], [10.0], forces, gain, gate, known)[0]


def test_contact_is_learned_while_there_is_one():
    """Errors count so much at most; in the air, and without any sensor, nothing is added."""
    assert contact(0.0, 9.0) == pytest.approx(0.1)
    assert contact(0.0, 1.0) == pytest.approx(0.2)
    assert contact(0.3, 0.0, loaded=0.0) == pytest.approx(0.3)
    assert contact(0.3, 9.0, known=0.0) == pytest.approx(0.3)
    assert contact(0.3, 9.0, touched=0.0) == 0.0
    assert contact(0.3, 9.0, gate=0.0) == pytest.approx(0.3)
    assert contact(0.99, 1.0) == pytest.approx(1.0)


def test_the_literal_law_winds_up():
    """It integrates the whole error in the air, and while limits rule."""
    found = contact(0.0, 0.0, loaded=0.0, gain=LITERAL, gate=0.0)
    assert found == pytest.approx(50.0 * 0.002 * 10.0)


def test_internal_forces_are_learned_from_sensors():
    """Without them the integrals stay, whatever the numbers are."""
    assert internal_integral([0.0], [30.0], [20.0], GAIN, 1.0, 1.0) == pytest.approx([0.4])
    assert internal_integral([0.5], [30.0], [0.0], GAIN, 1.0, 0.0) == pytest.approx([0.5])
    assert internal_integral([2.9], [30.0], [0.0], GAIN, 1.0, 1.0) == pytest.approx([3.0])
