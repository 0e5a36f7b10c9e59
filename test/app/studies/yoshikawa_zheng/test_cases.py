# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The cases that are run."""

from __future__ import annotations

from robot_dynamics.app.studies.yoshikawa_zheng.acceptance import BARS
from robot_dynamics.app.studies.yoshikawa_zheng.cases import cases


def test_every_case_has_its_own_name_and_every_bar_a_case():
    """No case hides another one, and short versions hold every kind of bar too."""
    for quick in (False, True):
        setups = cases(quick)
        names = [(s.number, s.name, s.literal) for s in setups]
        assert len(set(names)) == len(names)
        held = {(s.number, s.bars) for s in setups if s.bars}
        assert held == set(BARS)
    assert len(cases(True)) < len(cases()) / 2


def test_both_laws_are_run():
    """Every case on the rigid wall is run with the printed law too; of the others, one."""
    for number in (1, 2, 3):
        laws = {s.literal for s in cases(True) if s.number == number}
        assert laws == {False, True}
