# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The reduced model agrees with the joint-space model for every choice of B."""

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
from support.papers import close_to

from robot_dynamics.reproductions.pseudovelocities import ConstantVelocities
from robot_dynamics.reproductions.reduced_order import ReducedOrderTerms

REDUNDANT = ("some joints", "completed")
# Inverses of matrices of condition 1e4 or so, twice.
TOL = 1e-9


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_worked_cases(example):
    """nu, B_dot qd and nu_dot are those of both examples."""
    terms, answer = terms_of(CASE), CASE["output"][example]
    _, qd, tau = state_of(CASE)
    reduced = ReducedOrderTerms.of(terms, EXAMPLES[example](system_of(CASE)))
    close_to((reduced.B @ qd)[ORDER], answer["nu"])
    close_to(reduced.B_dot_qd[ORDER], answer["Bdot_qd"])
    close_to(reduced.forward(tau)[0][ORDER], answer["nud"])


@pytest.mark.parametrize(
    ("choice", "kind", "joints"),
    [
        *((name, "spherical", (6, 6)) for name in CHOICES),
        *((name, kind, (6, 7)) for name in REDUNDANT for kind in ("spherical", "revolute")),
        ("completed", "fixed", (7, 7)),
        ("some joints", "prismatic", (4, 5)),
    ],
)
def test_every_choice_says_the_same(choice, kind, joints):
    """Sigma and Pi invert [A; B]; (38), (40) and (41) give the motion and force of (31)."""
    rng = np.random.default_rng(1)
    seen = 0
    for there, terms, _, qd in regular_states(kind, joints):
        reduced = ReducedOrderTerms.of(terms, CHOICES[choice](there, terms))
        if reduced.conditioning > 1e4:
            continue
        seen += 1
        A, B, Pi, Sigma = terms.A, reduced.B, reduced.Pi, reduced.Sigma
        size = np.max(np.abs(Sigma)) * reduced.conditioning * 1e-13
        assert_allclose(A @ Sigma, 0.0, atol=size)
        assert_allclose(B @ Pi, 0.0, atol=size)
        assert_allclose(Pi @ A + Sigma @ B, np.eye(len(qd)), atol=size)
        nu = reduced.B @ qd
        assert_allclose(Sigma @ nu, qd, atol=size * np.max(np.abs(nu)))
        tau = 10.0 * rng.normal(size=len(qd))
        nu_dot, f = reduced.forward(tau)
        expected, force = terms.forward(tau)
        assert_allclose(
            reduced.joint_acceleration(nu_dot), expected, atol=TOL * np.max(np.abs(expected))
        )
        assert_allclose(f, force, atol=1e-8 * max(1.0, np.max(np.abs(force))))
        again, force = reduced.forward(reduced.inverse(nu_dot, f))
        assert_allclose(again, nu_dot, atol=TOL * np.max(np.abs(nu_dot)))
    assert seen


def test_constant_combinations_change_nothing():
    """nu -> X nu leaves joint accelerations and force as they are."""
    rng = np.random.default_rng(2)
    terms = terms_of(CASE)
    tau = rng.normal(size=12)
    plain = ConstantVelocities.chosen(terms)
    mixed = ConstantVelocities(rng.normal(size=(9, 9)) @ plain.matrix)
    results = [ReducedOrderTerms.of(terms, choice) for choice in (plain, mixed)]
    one, two = (r.joint_acceleration(r.forward(tau)[0]) for r in results)
    assert_allclose(one, two, atol=1e-9 * np.max(np.abs(one)))
