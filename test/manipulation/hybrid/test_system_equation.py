# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""K X = B reproduces the worked cases: every grasp, two and three arms, on surfaces and free."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from manipulation.hybrid.cases import NAMES, in_paper_order, state_of, system_of, terms_of
from numpy.testing import assert_allclose
from support.papers import CASES, close_to

from robot_dynamics.manipulation.hybrid import surface_masses, system_matrix
from robot_dynamics.reproductions.yoshikawa_zheng.system_motion import right_side, system_motion


@pytest.mark.parametrize("name", NAMES)
def test_the_worked_cases(name):
    """Accelerations, contact and surface forces are those of X."""
    case = CASES[name]
    system, terms = system_of(case), terms_of(case)
    *_, coordinates = state_of(case)
    answer = case["output"]["forward"]
    motion = system_motion(terms, np.array(case["input"]["tau"]))
    close_to(motion.qdd, answer["qdd"])
    rd = np.array(case["input"]["rd"])
    close_to(coordinates.acceleration(motion.object_acceleration, rd), answer["rdd"])
    close_to(in_paper_order(system, motion.contact_forces), answer["F_hS"])
    if answer["f_F"]:
        close_to(motion.surface_forces, answer["f_F"])


@pytest.mark.parametrize("name", NAMES)
def test_the_determinant_of_the_worked_cases(name):
    """K's determinant is the case's, but for the paper's T on rows and columns."""
    case = CASES[name]
    K = system_matrix(terms_of(case))
    *_, coordinates = state_of(case)
    log_T = np.linalg.slogdet(coordinates.T)[1] / np.log(10.0)
    found = np.linalg.slogdet(K)[1] / np.log(10.0) + 2.0 * log_T
    assert_allclose(found, case["output"]["detK_log10"], atol=1e-8)
    assert len(right_side(terms_of(case), np.array(case["input"]["tau"]))) == len(K)


def test_the_mass_along_a_surface_is_what_a_force_on_it_has_to_accelerate():
    """Without the surface, 1 N along its normal changes the acceleration along it by 1 / m."""
    terms = terms_of(CASES["Y3 two 7R rigid, plane, rpy"])
    masses = surface_masses(terms)
    E_F = terms.environment.E_F
    none = replace(terms.environment, E_F=np.zeros((0, 6)), E_F_dot_v=np.zeros(0))
    rng = np.random.default_rng(0)
    tau = rng.standard_normal(len(terms.h))
    free = system_motion(replace(terms, environment=none), tau).object_acceleration
    pushed = system_motion(
        replace(terms, environment=none, Q_B=terms.Q_B - E_F[0]), tau
    ).object_acceleration
    # Differences of accelerations of size 100.
    assert_allclose(E_F @ (pushed - free), 1.0 / masses, rtol=1e-9)
