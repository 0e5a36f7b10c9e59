# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""When force is controlled instead of motion."""

from __future__ import annotations

import pytest

from robot_dynamics.errors import ArgumentError
from robot_dynamics.reproductions.yoshikawa_zheng.contact_phase import (
    ContactPhase,
    ContactPhaseSettings,
    Phase,
)


def test_contact_begins_at_its_threshold_and_outlives_a_bounce():
    """Small forces are not taken for a contact, and short gaps do not end one; long ones do."""
    contact = ContactPhase(ContactPhaseSettings(touch=0.1, lost_after=0.0045), period=1e-3)
    assert not contact.step(0.05, approaching=True)
    assert contact.step(0.2, approaching=True)
    for force in (0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 0.0):
        assert not contact.step(force, approaching=True)
        assert contact.phase is Phase.CONTACT
    assert contact.step(0.0, approaching=True)
    assert contact.phase is Phase.FREE


def test_contact_ends_when_it_is_no_longer_wanted():
    """Departure needs no loss of force, and force does not begin a contact then."""
    contact = ContactPhase(ContactPhaseSettings(touch=0.1), period=1e-3)
    contact.step(1.0, approaching=True)
    assert contact.step(1.0, approaching=False)
    assert contact.phase is Phase.FREE
    assert not contact.step(1.0, approaching=False)


def test_settings_that_are_refused():
    """A threshold of no force would see contact everywhere."""
    with pytest.raises(ArgumentError, match="expected positive numbers"):
        ContactPhaseSettings(touch=0.0)
