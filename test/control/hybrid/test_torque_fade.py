# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A jump of the torque becomes a smooth way."""

import numpy as np
import pytest

from robot_dynamics.control.hybrid.law_inputs import Layout
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.control.hybrid.torque_fade import TorqueFade

NOW, BEFORE, EFFORT = np.array([1.0, -2.0]), np.array([2.0, -2.5]), np.array([50.0, 50.0])


def sent(fade, effort=EFFORT):
    """Return the torque that is sent of NOW; the memory has it, in the order of the model."""
    layout = Layout(joints=2, directions=6, surfaces=0, arms=1)
    values = np.ones(layout.size(layout.outputs))
    step = HybridStep(NOW, np.zeros(4), values, np.zeros(0), layout, np.zeros(0))
    fade.apply(step, effort, np.array([3, 2]))
    if step.torque is not NOW:
        assert step.memory.tolist() == [0.0, 0.0, *step.torque[::-1]]
    return step.torque


def test_a_jump_fades():
    """It begins with the torque of before and is over after 0.1 s, 1.9 / 50 of it in a period."""
    fade = TorqueFade(0.002)
    assert sent(fade) is NOW
    fade.begin(BEFORE - NOW)
    way = np.array([sent(fade) for _ in range(50)])
    np.testing.assert_allclose(way[0], BEFORE)
    assert sent(fade) is NOW
    steps = np.abs(np.diff(np.vstack([way, NOW]), axis=0)).max()
    assert steps == pytest.approx(1.875 / 50, rel=0.01)


def test_limits_hold_and_support_stays():
    """The addition leads to the limits at most; a torque beyond them is not reduced."""
    fade = TorqueFade(0.002)
    fade.begin(BEFORE - NOW)
    assert sent(fade, np.array([1.5, 2.2])).tolist() == [1.5, -2.2]
    fade.begin(BEFORE - NOW)
    assert sent(fade, np.array([0.5, 1.0])).tolist() == [1.0, -2.0]


def test_forget_removes_the_remainder():
    """As at another start."""
    fade = TorqueFade(0.002)
    fade.begin(BEFORE - NOW)
    fade.forget()
    assert sent(fade) is NOW
