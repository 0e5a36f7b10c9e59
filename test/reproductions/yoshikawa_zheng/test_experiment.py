# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The experiments: the closed loop, and all setups."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.reproductions.yoshikawa_zheng.controller import LAWS
from robot_dynamics.reproductions.yoshikawa_zheng.experiment import (
    SOFT,
    WRONG,
    Setup,
    cases,
    experiment,
)
from robot_dynamics.reproductions.yoshikawa_zheng.robots import Inertias
from robot_dynamics.reproductions.yoshikawa_zheng.study import THRESHOLDS

PAPER = Inertias.of_paper()


def test_friction_on_the_wall_displaces_the_bar_by_what_the_gain_permits():
    """mu f_F = 0.1 N on 0.21 kg at 13000 1/s^2 is 0.037 mm, where nothing accelerates."""
    off = {}
    for law in ("damped", "integral"):
        record = experiment(Setup(1, "friction", PAPER, WRONG, friction=0.2, law=law))
        middle = (record.time > 0.2) & (record.time < 0.26)
        off[law] = np.mean(record.r_wanted[middle, 0] - record.r[middle, 0])
        assert not record.lost
    # The inertia changes along the path by a fifth.
    assert_allclose(off["damped"], 0.1 / 0.209 / 13000, rtol=0.3)
    # Friction that stays is integrated away: of the 15 time constants since the start nothing is.
    assert abs(off["integral"]) < 0.01 * off["damped"]


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
def test_the_literal_law_bounces_off_an_elastic_wall():
    """Its integral winds up without contact, and the arms lose the bar, as the warning said."""
    record = experiment(Setup(3, "literal", PAPER, SOFT, law="literal", stiffness=1e4))
    assert record.lost
    assert "bounces" in record.warnings[0]


def test_every_case_has_its_own_name_and_every_bar_a_case():
    """No case hides another one, and short versions hold every kind of bar too."""
    for quick in (False, True):
        setups = cases(quick)
        names = [(s.number, s.name, s.law) for s in setups]
        assert len(set(names)) == len(names)
        held = {(s.number, s.thresholds) for s in setups}
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
