# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torque limits are met by scaling whole parts, in the stated order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support.mechanisms import plain_arm

from robot_dynamics.control.hybrid.gains import hybrid_gains
from robot_dynamics.control.hybrid.limits import within_limits
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.manipulation.hybrid.decoupling_law import HybridTorqueParts
from robot_dynamics.model import build

MODEL = build(plain_arm("arm", 3))
EFFORT = np.array([10.0, 20.0, 5.0])


def limited(
    support, internal, contact, motion, *, posture=(0.0,) * 3, rate=np.inf, ramp=1.0, velocity=None
):  # fmt: skip
    """Return the limited torque of parts (3,), from the support."""
    gains = hybrid_gains(
        ControlSettings(), SafetySettings(effort_fraction=1.0, torque_rate=rate),
        np.zeros(0), np.zeros(3), MODEL.limits() | {"effort": EFFORT},
    )  # fmt: skip
    still = [0.0] * 3
    law = HybridTorqueParts(
        list(support), list(internal), list(contact), list(motion),
        list(posture), still, list(velocity or still), 1.0, [],
    )  # fmt: skip
    return within_limits([body.joint for body in MODEL.bodies], law, list(support), gains, ramp)


parts = st.lists(st.floats(-30.0, 30.0), min_size=3, max_size=3)


@settings(max_examples=200, deadline=None)
@given(parts, parts, parts)
def test_each_part_has_what_the_ones_before_leave(internal, contact, motion):
    """Torques are within limits, and no scale below 1 could be larger by a thousandth."""
    support = np.array([5.0, -3.0, 1.0])
    found = limited(support, internal, contact, motion)
    total = support
    for part, scale in zip(
        (internal, contact, motion), (found.squeeze, found.contact, found.motion), strict=True
    ):
        assert 0.0 <= scale <= 1.0
        if scale < 1.0:
            more = total + (scale + 1e-3) * np.array(part)
            assert np.any(np.abs(more) > EFFORT * (1.0 - 1e-8))
        total = total + scale * np.array(part)
    assert_allclose(found.torque, total, atol=1e-9)
    assert np.all(np.abs(found.torque) <= EFFORT * (1.0 + 1e-8))
    assert found.gate == float(found.squeeze == found.contact == found.motion == 1.0)
    steps = support + np.cumsum([internal, contact, motion], axis=0)
    assert_allclose([found.least, found.most], [steps.min(axis=0), steps.max(axis=0)], atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(parts, parts)
def test_posture_gives_way_first(motion, posture):
    """The task is what it is without it; posture has what fits, and stops no integral."""
    support, none = np.array([5.0, -3.0, 1.0]), [0.0] * 3
    alone = limited(support, none, none, motion)
    found = limited(support, none, none, motion, posture=posture)
    assert found.motion == alone.motion
    assert found.gate == alone.gate
    moved = np.array(found.torque) - np.array(alone.torque)
    assert_allclose(moved, found.posture * np.array(posture), atol=1e-9)
    assert np.all(np.abs(found.torque) <= EFFORT * (1.0 + 1e-8))


def test_the_rate_of_the_torque_is_limited_last():
    """The whole change is scaled; the support is where it starts from."""
    found = limited([0.0] * 3, [1.0, 0.0, 0.0], [0.0] * 3, [3.0, 1.0, 0.0], rate=1000.0)
    assert found.rate == pytest.approx(0.5)
    assert_allclose(found.torque, [2.0, 0.5, 0.0])
    assert found.gate == 0.0


def test_support_beyond_its_limit_is_told_and_sent():
    """It is never scaled: whoever sends it decides."""
    found = limited([12.0, 0.0, 0.0], [0.0] * 3, [0.0] * 3, [0.0] * 3)
    assert found.load == pytest.approx(1.2)
    assert_allclose(found.torque, [12.0, 0.0, 0.0])


def test_friction_is_compensated_for_what_is_wanted():
    """Damping and Coulomb friction of the joints at the wanted velocity, with the ramp."""
    found = limited(
        [0.0] * 3, [0.0] * 3, [0.0] * 3, [0.0] * 3, velocity=[1.0, 0.0, -1.0], ramp=0.5
    )
    coulomb = 0.1 / np.sqrt(1.0 + 0.05**2)
    assert_allclose(found.torque, 0.5 * np.array([1.0, 0.0, -1.0]) * (0.2 + coulomb))
