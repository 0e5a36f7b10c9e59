# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Projection: positions without the constraints on velocities alone, velocities with them."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from support import linkages
from support.mechanisms import random_state

from robot_dynamics.dynamics.closed_loop import closed_loop_terms, constraint_factors
from robot_dynamics.dynamics.projection import position_correction, velocity_correction
from robot_dynamics.model import build
from robot_dynamics.model.parameters import parameters_of


def corrections(mechanism, rng):
    """Return H, K, errors and corrections of an arbitrary state."""
    model = build(mechanism)
    q, qd, _ = random_state(rng, model)
    terms = closed_loop_terms(model, q.tolist(), qd.tolist(), parameters_of(model))
    factors = constraint_factors(terms.H, terms.loops.K)
    dq, dv = (
        position_correction(terms, factors, model.holonomic),
        velocity_correction(terms, factors),
    )
    errors = np.array(terms.loops.position_error), np.array(terms.loops.velocity_error)
    return model, np.array(terms.H), np.array(terms.loops.K), *errors, np.array(dq), np.array(dv)


def finger():
    """Return a body that rolls on a soft finger off its centre."""
    b = linkages.Builder("finger")
    b.add("body", "base", "floating")
    b.close("touch", "soft_finger", "base", "body", (0.3, 0.1, 0.0), (0.2, -0.1, 0.15))
    return b.done()


def test_corrections_take_the_errors_off(rng):
    """To first order the errors vanish: those of positions where there are any, all velocities."""
    model, _, K, position, velocity, dq, dv = corrections(finger(), rng)
    assert model.holonomic.tolist() == [False, True, True, True]
    assert_allclose(K[1:] @ dq, -position[1:], atol=1e-13)
    assert_allclose(K @ dv, -velocity, atol=1e-13)


def test_corrections_are_the_smallest(rng):
    """In the metric of H they are orthogonal to every motion that the constraints allow.

    With the torsion held at zero the correction of the positions would be larger.
    """
    _, H, K, position, _, dq, dv = corrections(finger(), rng)
    allowed = np.linalg.svd(K[1:])[2][3:]
    assert_allclose(allowed @ H @ dq, 0.0, atol=1e-12)
    assert_allclose(np.linalg.svd(K)[2][4:] @ H @ dv, 0.0, atol=1e-12)
    assert abs(K[0] @ dq) > 1e-3  # it does turn about the normal
    HK = np.linalg.solve(H, K.T)
    held = -HK @ np.linalg.solve(K @ HK, position)
    assert held @ H @ held > 1.001 * (dq @ H @ dq)


def test_factors_of_all_constraints_serve_positions(rng):
    """If all constraints are on positions, the factors of all serve."""
    mechanism = linkages.four_bar("sphere_in_cylinder")
    _, H, K, position, _, dq, _ = corrections(mechanism, rng)
    HK = np.linalg.solve(H, K.T)
    assert_allclose(dq, -HK @ np.linalg.solve(K @ HK, position), atol=1e-12)
