# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pseudovelocities: the report's examples, joints chosen by pivoting, and both together."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.jointed_object.cases import (
    CASE,
    CHOICES,
    EXAMPLES,
    ORDER,
    regular_states,
    state_of,
    system_of,
    terms_of,
)
from numpy.testing import assert_allclose
from support.papers import CASES, close_to

from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.reproductions.joint_space import JointSpaceModel
from robot_dynamics.reproductions.pseudovelocities import (
    CompletedVelocities,
    ConstantVelocities,
    PseudoVelocities,
)
from robot_dynamics.reproductions.reduced_order import ReducedOrderTerms
from robot_dynamics.reproductions.unseren_pseudovelocities import FirstExample, SecondExample


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_appendix_c(example):
    """Pi and Sigma are those of (C.9) to (C.18)."""
    terms, answer = terms_of(CASE), CASE["output"][example]
    Pi, Sigma = EXAMPLES[example](system_of(CASE)).inverse(terms)
    Sigma = Sigma[:, ORDER]
    close_to(Sigma[0], answer["Sigma_row0"])
    close_to(Sigma[6], answer["Sigma_row6"])
    close_to(Pi[6], answer["Pi_row6"])
    # Norms of twelve digits.
    assert_allclose(np.linalg.norm(Pi), answer["fro_Pi"], rtol=1e-9)
    assert_allclose(np.linalg.norm(Sigma), answer["fro_Sigma"], rtol=1e-9)


@pytest.mark.parametrize("choice", CHOICES)
def test_rates_of_pseudovelocities(choice):
    """B_dot qd is the derivative of B qd along qd."""
    case = CASE if "example" in choice else CASES["U2 spherical 6+7"]
    q, qd, _ = state_of(case)
    system = system_of(case)
    model, h = JointSpaceModel(system), 1e-5
    terms = model.terms(q, qd)
    chosen = CHOICES[choice](system, terms)
    before, after = (chosen.rows(model.terms(q + s * h * qd, qd)) @ qd for s in (-1, 1))
    # Central differences leave h^2 times third derivatives.
    assert_allclose((after - before) / (2 * h), chosen.rate(terms), atol=1e-7)


def test_analytic_inverses_are_inverses():
    """Pi and Sigma of appendix C are the blocks of the numerical inverse."""
    terms, system = terms_of(CASE), system_of(CASE)
    for example in EXAMPLES.values():
        ours, plain = example(system).inverse(terms), PseudoVelocities.inverse(
            example(system), terms
        )  # fmt: skip
        for a, b in zip(ours, plain, strict=True):
            assert_allclose(a, b, atol=1e-11 * np.max(np.abs(b)))


def test_examples_are_refused_where_they_do_not_apply():
    """Redundant arms, and joints that are not spherical, are answered in one sentence."""
    with pytest.raises(ArgumentError, match="a spherical joint and the arms 6 and 7 joints"):
        FirstExample(system_of(CASES["U2 spherical 6+7"]))
    with pytest.raises(ArgumentError, match="has a fixed joint"):
        SecondExample(system_of(CASES["U3 rigid (weld) 6+6"]))


def test_singular_choices_are_refused():
    """Pseudovelocities that say the same twice, or too few, are answered in one sentence."""
    terms = terms_of(CASE)
    rows = np.eye(9, 12)
    rows[1] = rows[0]
    with pytest.raises(RobotDynamicsError, match="singular at these positions"):
        ReducedOrderTerms.of(terms, ConstantVelocities(rows))
    with pytest.raises(ArgumentError, match="B has 8 rows, expected 9"):
        ReducedOrderTerms.of(terms, ConstantVelocities(rows[:8]))


def test_short_arms_cannot_follow_the_object():
    """Two arms with four and five joints cannot move their parts at will."""
    _, terms, *_ = next(regular_states("spherical", (4, 5)))
    with pytest.raises(RobotDynamicsError, match="in all directions"):
        CompletedVelocities.chosen(terms)
