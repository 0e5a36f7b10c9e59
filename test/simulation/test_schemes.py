# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The tables are those of Runge-Kutta schemes of the order that they state."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import DOP853, RK45

from robot_dynamics.errors import ArgumentError
from robot_dynamics.simulation.runge_kutta import (
    DORMAND_PRINCE_5,
    DORMAND_PRINCE_8,
    SCHEMES,
    scheme_of_order,
)


def stepped(scheme, y, h):
    """Return y after one step of y' = i y (1 + 0.3 cos t)."""
    slopes = []
    for row, c in zip(scheme.A, scheme.c, strict=True):
        at = y + h * sum((a * k for a, k in zip(row, slopes, strict=True)), 0.0)
        slopes.append(1j * at * (1.0 + 0.3 * np.cos(c * h)))
    return y + h * sum(b * k for b, k in zip(scheme.b, slopes, strict=True))


@pytest.mark.parametrize("order", SCHEMES)
def test_a_step_has_the_order(order):
    """Halving the step divides the error of a step by 2^(order + 1), time dependence included."""
    errors = []
    for h in (1.0, 0.5):
        exact = np.exp(1j * (h + 0.3 * np.sin(h)))
        errors.append(abs(stepped(scheme_of_order(order), 1.0 + 0.0j, h) - exact))
    # The next power is still felt at these steps, with which errors are far above rounding.
    assert_allclose(np.log2(errors[0] / errors[1]), order + 1, atol=0.7)


@pytest.mark.parametrize("order", SCHEMES)
def test_stages_before_the_step_only(order):
    """The scheme is explicit and consistent: row i has i weights, and weights add up to one."""
    scheme = scheme_of_order(order)
    assert [len(row) for row in scheme.A] == list(range(len(scheme.b)))
    assert_allclose(sum(scheme.b), 1.0, atol=1e-15)


def test_stage_times_are_scipys():
    """The sums of the rows are the stage times of the tables that they come from."""
    assert_allclose(DORMAND_PRINCE_5.c, RK45.C, atol=1e-15)
    # Weights up to 50 that cancel.
    assert_allclose(DORMAND_PRINCE_8.c, DOP853.C, atol=1e-13)


def test_unknown_order():
    """The message says which orders there are."""
    with pytest.raises(ArgumentError, match="order 6, expected one of 4, 5, 8"):
        scheme_of_order(6)
