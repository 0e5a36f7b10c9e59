# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Claims of the reproductions can fail: one per cent off in any term of a law's model is seen."""

from __future__ import annotations

import numpy as np
import pytest
from support.mutations import LAWS, failing, mutations

from robot_dynamics.reproductions.yoshikawa_zheng.controller import terms_at
from robot_dynamics.reproductions.yoshikawa_zheng.robots import Hand, Inertias

QUICK = ("yoshikawa-zheng", "flexible-link")


def marked(name, *more):
    """Return a case, a slow one if the study's systems take long."""
    marks = () if name in QUICK else (pytest.mark.slow,)
    return pytest.param(name, *more, marks=marks)


@pytest.mark.parametrize("name", [marked(name) for name in LAWS])
def test_right_models_keep_all_claims(name):
    """So that the failures below have the stated cause."""
    assert [str(check) for check in LAWS[name].checks() if not check.ok] == []


@pytest.mark.parametrize(("name", "term", "factor"), [marked(*case) for case in mutations()])
def test_a_wrong_term_fails_a_claim(name, term, factor):
    """By more than a hundredfold of the claim's tolerance."""
    found = failing(LAWS[name], term, factor)
    assert found
    assert max(check.value / check.limit for check in found) > 100.0


def test_terms_that_are_left_out_are_zero():
    """In a plane, without gravity, the bar's bias is zero, and so is the rate of x, y, phi."""
    hand = Hand.of(Inertias.of_paper(), None)
    terms = terms_at(hand, np.array([0.0, 0.14, 0.1]), np.array([0.5, 0.4, 2.0]))
    assert not terms.Q_B.any()
    assert not terms.environment.E_P_dot_v.any()
    assert not np.any(hand.system.arms.gravity)
