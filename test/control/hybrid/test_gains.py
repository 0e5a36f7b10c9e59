# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gains go into a block and come out of it, and follow from the settings."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.control.gains import servo_gains
from robot_dynamics.control.hybrid.gains import (
    HybridGains,
    acceleration_trend,
    hybrid_gains,
)
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.control.touch_settings import ContactForceSettings

LIMITS = {
    "lower": np.full(3, -np.inf), "upper": np.ones(3), "effort": np.array([10.0, 20.0, np.inf])
}  # fmt: skip


def gains(**contact):
    """Return the gains of three joints and two surfaces."""
    settings = ControlSettings(contact_force=ContactForceSettings(**contact))
    return hybrid_gains(settings, SafetySettings(), np.array([5.0, 6.0]), np.zeros(3), LIMITS)


def test_a_block_is_all_of_them():
    """Unpacked gains equal the packed ones; the numbers after them are left."""
    packed = gains()
    block = packed.pack()
    assert len(block) == HybridGains.size(3, 2)
    unpacked, rest = HybridGains.unpack([*block, 7.0], 3, 2)
    assert rest == [7.0]
    for f in fields(HybridGains):
        value = np.clip(getattr(packed, f.name), -1e18, 1e18)
        assert_allclose(np.ravel(getattr(unpacked, f.name)), np.ravel(value))
    assert np.all(np.isfinite(block))


def test_they_follow_the_settings():
    """Poles of the servo, half a period and the delay ahead, the part of the efforts."""
    found, servo = gains(), servo_gains(ControlSettings().object)
    assert (found.proportional, found.derivative) == (servo.proportional, servo.derivative)
    assert found.lead == pytest.approx(0.003)
    assert_allclose(found.effort, [9.5, 19.0, np.inf])
    assert found.gated == 1.0


def test_the_literal_law_has_no_limits():
    """It is not gated, and neither its error nor its integral is bounded."""
    literal = gains(law="literal")
    assert literal.gated == 0.0
    assert literal.contact_error == literal.contact_bound == np.inf
    assert replace(literal, gated=1.0) != literal


@pytest.mark.parametrize("delay", [0, 1, 2, 3])
def test_accelerations_that_change_evenly_are_expected_exactly(delay):
    """Of commands that act one after the other, the last of them for half a period yet."""
    sent = 0.3 * np.arange(7.0) - 1.0  # evenly; the last one is the command to come
    acting = np.append(sent[len(sent) - 1 - delay : -1], 0.5 * sent[-1])
    mean = acting.sum() / (delay + 0.5)
    last, change = sent[-2], sent[-2] - sent[-3]
    assert last + acceleration_trend(delay) * change == pytest.approx(mean, abs=1e-14)
