# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The laws of contact as equations: their slopes are their derivatives, zero means fulfilled."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.simulation.contact.solver import Residual, contact_laws

ROWS = 2 + 4 * 3
FRICTION = np.array([0.5, 0.3, 0.0])


@pytest.fixture(scope="module")
def laws():
    """Return the laws of two rows that hold and three contacts with spin, one without friction."""
    return contact_laws(2, FRICTION, 4)


def test_slopes_are_derivatives(laws):
    """Wherever impulses are, on whichever side of the kinks: differences agree to 1e-6."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        A = rng.normal(size=(ROWS, ROWS))
        W, c, P = A @ A.T, rng.normal(size=ROWS), rng.normal(size=ROWS)
        touching = np.array([1.0, rng.integers(0, 2), 1.0])
        at = Residual._make(laws(W, c, P, P, touching))
        for direction in rng.normal(size=(3, ROWS)):
            h = 1e-7 * direction
            ends = [Residual._make(laws(W, c, P + s * h, P, touching)).F for s in (1, -1)]
            # The error of differences is that of W's size, some hundred, times 1e-9.
            assert_allclose(at.G @ direction, (ends[0] - ends[1]) / 2e-7, rtol=1e-6, atol=1e-5)


def test_zero_is_a_contact_at_rest(laws):
    """A normal impulse and no motion: nothing is left, and the modes say that it pushes."""
    W, P = np.eye(ROWS), np.zeros(ROWS)
    P[[2, 6, 10]] = 1.0
    P[3] = 0.4  # within 0.5 of the normal impulse
    at = Residual._make(laws(W, -W @ P, P, P, np.ones(3)))
    assert_allclose(at.F, 0.0, atol=1e-15)
    assert (at.normal > 0.0).all()
    assert (at.beyond[:2] < 0.0).all()


def test_what_may_not_push_has_no_impulse(laws):
    """Then F is the impulse itself, whatever the velocities are."""
    rng = np.random.default_rng(1)
    W, c, P = np.eye(ROWS), rng.normal(size=ROWS), rng.normal(size=ROWS)
    at = Residual._make(laws(W, c, P, P, np.zeros(3)))
    assert_allclose(at.F[2:], P[2:])
    assert_allclose(at.G[2:], np.eye(ROWS)[2:])
    assert (at.normal < 0.0).all()
