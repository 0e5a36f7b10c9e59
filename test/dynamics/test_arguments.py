# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors that are given by users."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.errors import ArgumentError


def test_sequences_and_single_numbers():
    """A list of integers becomes an array of floats, and a number an array of one."""
    assert finite_vector("q", [1, 2], 2).dtype == float
    assert_allclose(finite_vector("held value of 'a'", 0.5, 1), [0.5])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0], r"q has shape \(1,\), expected \(2,\)"),
        ([[1.0, 2.0]], r"q has shape \(1, 2\)"),
        ([1.0, np.inf], "q has entries that are not finite"),
    ],
)
def test_what_cannot_be_meant(values, words):
    """Wrong shapes and numbers that are none are named, with what was expected."""
    with pytest.raises(ArgumentError, match=words):
        finite_vector("q", values, 2)
