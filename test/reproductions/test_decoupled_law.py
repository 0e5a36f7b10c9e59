# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The decoupled law is exact: motion and force follow the servos."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.jointed_object.cases import (
    CASE,
    CHOICES,
    EXAMPLES,
    ORDER,
    regular_states,
    system_of,
    terms_of,
)
from numpy.testing import assert_allclose
from support.papers import close_to

from robot_dynamics.reproductions.reduced_order import ReducedOrderTerms, decoupled_law
from robot_dynamics.robot import Robot


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_law_of_the_worked_cases(example):
    """tau^p, tau^s and their effects are those of (42) to (46)."""
    terms, answer = terms_of(CASE), CASE["output"][example]
    reduced = ReducedOrderTerms.of(terms, EXAMPLES[example](system_of(CASE)))
    motion = np.zeros(9)
    motion[ORDER] = CASE["input"]["tau2s"]
    law = decoupled_law(reduced, motion, np.array(CASE["input"]["tau1s"]))
    close_to(law.primary, answer["tau_p"])
    close_to(law.secondary, answer["tau_s"])
    qdd, f = terms.forward(law.torque)
    close_to(qdd, answer["qdd_closed_loop"])
    close_to(f, CASE["input"]["tau1s"])


@pytest.mark.parametrize(
    ("choice", "kind", "joints"),
    [
        ("first example", "spherical", (6, 6)),
        ("completed", "spherical", (6, 7)),
        ("completed", "revolute", (7, 7)),
        ("some joints", "prismatic", (6, 7)),
        ("completed", "universal", (7, 6)),
        ("completed", "fixed", (7, 7)),
    ],
)
def test_motion_and_force_are_decoupled(choice, kind, joints):
    """In the engine nu_dot = tau_2 and f = tau_1, to 1e-9 of the largest of each (47), (48)."""
    rng = np.random.default_rng(1)
    seen = 0
    for there, terms, q, qd in regular_states(kind, joints, 20):
        reduced = ReducedOrderTerms.of(terms, CHOICES[choice](there, terms))
        if reduced.conditioning > 1e4:
            continue
        seen += 1
        c, n = terms.A.shape
        motion, force = rng.normal(size=n - c), 10.0 * rng.normal(size=c)
        law = decoupled_law(reduced, motion, force)
        engine = Robot(there.model).constrained_motion(q, qd, law.torque)
        nu_dot = reduced.B @ engine.qdd + reduced.B_dot_qd
        assert_allclose(nu_dot, motion, rtol=0, atol=1e-9 * max(1.0, np.abs(engine.qdd).max()))
        push = terms.A.T @ force
        K = Robot(there.model).constraint_terms(q, qd)[2]
        felt = -K.T @ engine.multipliers
        assert_allclose(felt, push, rtol=0, atol=1e-9 * np.abs(law.torque).max())
    assert seen >= 5
