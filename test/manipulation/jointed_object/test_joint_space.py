# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joint-space model reproduces the worked cases, and is the closed-loop engine in disguise."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.jointed_object.cases import NAMES, SWAP, state_of, system_of, terms_of
from numpy.testing import assert_allclose
from support.papers import CASES, close_to

from robot_dynamics.robot import Robot


def in_report_order(f):
    return f if len(f) == 3 else f[SWAP]


@pytest.mark.parametrize("name", NAMES)
def test_terms_of_the_worked_cases(name):
    """D, C, H_A, H_B qd, A and A_dot qd are those of (24) to (30)."""
    terms, answer = terms_of(CASES[name]), CASES[name]["output"]
    rows = [0, 1, 2] if len(terms.A) == 3 else SWAP
    close_to(terms.D, answer["D"])
    close_to(terms.C, answer["C"])
    close_to(terms.H_A, answer["HA"])
    close_to(terms.H_B_qd, answer["HBqd"])
    close_to(terms.A[rows], answer["A"])
    close_to(terms.A_dot_qd[rows], answer["Adot_qd"])
    close_to(terms.point, answer["Q_cs"])


@pytest.mark.parametrize("name", NAMES)
def test_motion_and_forces_of_the_worked_cases(name):
    """Accelerations, the force between the halves, and both grasp wrenches are right."""
    case = CASES[name]
    terms, answer = terms_of(case), case["output"]
    qdd, f = terms.forward(state_of(case)[2])
    close_to(qdd, answer["qdd"])
    close_to(in_report_order(f), answer["f_cs2"])
    wrenches = terms.grasp_wrenches(qdd, f)[:, SWAP]
    close_to(wrenches[0], answer["f_c1"])
    close_to(wrenches[1], answer["f_c2"])
