# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Coming to rest on the way."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.control.halt import Halt
from robot_dynamics.control.reference import ACCELERATION, FORCE, SQUEEZE, TWIST, plan_reference
from robot_dynamics.control.rotation_path import conjugate, product, rotation_vector
from robot_dynamics.control.settings import (
    ForceStepSettings,
    ReferenceSettings,
    SegmentSettings,
    TurnSettings,
)

START = np.array([0.5, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0])
TURN = TurnSettings((1.0, 2.0, -1.0), 90.0)
REFERENCE = plan_reference(
    ReferenceSettings(
        segments=(
            SegmentSettings(1.0, move=(0.0, 0.1, 0.4)),
            SegmentSettings(1.0, move=(0.1, 0.0, 0.0), rotate=TURN),
        ),
        force=(ForceStepSettings(0.0, 60.0, duration_s=1.0),),
    ),
    START,
)
TIMES = [0.0, 0.45, 0.9, 1.5, 1.9, 2.5]


@pytest.mark.parametrize("time", TIMES)
def test_a_halt_begins_as_the_reference_goes_on(time):
    """Pose, velocity, acceleration and force are continuous."""
    row = Halt(REFERENCE, time).rows([time])[0]
    np.testing.assert_allclose(row, REFERENCE.row(time), atol=1e-12)


@pytest.mark.parametrize("time", TIMES)
def test_a_halt_ends_at_rest_on_the_path(time):
    """It stands where the path is half of the halt's duration later, with the first squeeze."""
    halt = Halt(REFERENCE, time, 0.3)
    end = halt.rows([time + 0.3, time + 9.0])
    np.testing.assert_allclose(end[0], end[1], atol=1e-12)
    np.testing.assert_allclose(end[0, 7:19], 0.0, atol=1e-12)
    np.testing.assert_allclose(end[0, :7], REFERENCE.row(time + 0.15)[:7], atol=1e-12)
    assert end[0, FORCE][SQUEEZE] == REFERENCE.row(time)[FORCE][SQUEEZE]


@pytest.mark.parametrize("time", TIMES)
def test_twist_and_acceleration_are_derivatives(time):
    """Finite differences agree, across the boundary of segments as well."""
    halt, h = Halt(REFERENCE, time), 1e-5
    t = time + np.linspace(2 * h, 0.5, 60)
    before, now, after = (halt.rows(t + d) for d in (-h, 0.0, h))
    omega = rotation_vector(product(after[:, 3:7], conjugate(before[:, 3:7]))) / (2 * h)
    velocity = (after[:, :3] - before[:, :3]) / (2 * h)
    # differences of second order in h, of first order where the jerk jumps (60 1/s^3 times h)
    np.testing.assert_allclose(np.hstack([omega, velocity]), now[:, TWIST], atol=1e-6)
    slope = (after[:, TWIST] - before[:, TWIST]) / (2 * h)
    np.testing.assert_allclose(slope, now[:, ACCELERATION], atol=5e-3)
