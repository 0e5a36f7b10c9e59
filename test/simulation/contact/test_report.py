# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Energy books add up their entries."""

from __future__ import annotations

from dataclasses import fields

from robot_dynamics.simulation.contact.report import ContactMode, EnergyBooks


def test_the_total_is_of_all_entries():
    """Each entry counts once, whatever is added later."""
    names = [field.name for field in fields(EnergyBooks)]
    books = EnergyBooks(**{name: 2.0**i for i, name in enumerate(names)})
    assert books.total() == 2.0 ** len(names) - 1.0


def test_states_have_names():
    """States are told in words that logs and plots can show."""
    assert [state.value for state in ContactMode] == ["held", "open", "sticking", "sliding"]
