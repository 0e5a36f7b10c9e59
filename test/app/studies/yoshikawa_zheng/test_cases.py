# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The cases that are run."""

from __future__ import annotations

from robot_dynamics.app.studies.yoshikawa_zheng.acceptance import THRESHOLDS
from robot_dynamics.app.studies.yoshikawa_zheng.cases import cases
from robot_dynamics.app.studies.yoshikawa_zheng.controller import LAWS


def test_every_case_has_its_own_name_and_every_threshold_a_case():
    """No case hides another one, and short versions hold every kind of threshold too."""
    for quick in (False, True):
        setups = cases(quick)
        names = [(s.number, s.name, s.law) for s in setups]
        assert len(set(names)) == len(names)
        held = {(s.number, s.thresholds) for s in setups if s.thresholds}
        assert held == set(THRESHOLDS)
    assert len(cases(True)) < len(cases()) / 2


def test_all_laws_are_run_or_one():
    """Every case is run with each of them; a user may ask for one."""
    every = [(s.number, s.name, s.law) for s in cases()]
    for law in LAWS:
        own = [(s.number, s.name, s.law) for s in cases(law=law)]
        assert own == [one for one in every if one[2] == law]
        assert len(own) * len(LAWS) == len(every)
        assert {s.number for s in cases(True, law)} == {1, 2, 3}
