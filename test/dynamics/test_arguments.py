# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors that are given by users."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.dynamics.arguments import (
    finite_vector,
    pose_vector,
    positive_number,
    size_number,
)
from robot_dynamics.errors import ArgumentError, several_names


def test_sequences_and_single_numbers():
    """A list of integers becomes an array of floats, and a number an array of one."""
    assert finite_vector("q", [1, 2], 2).dtype == float
    assert_allclose(finite_vector("held value of 'a'", 0.5, 1), [0.5])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0], r"\bq\b.*\(1,\).*\(2,\)"),
        ([[1.0, 2.0]], r"\bq\b.*\(1, 2\)"),
        ([1.0, np.inf], r"\bq\b.*finite"),
    ],
)
def test_wrong_shapes_and_numbers_are_refused(values, words):
    """Wrong shapes and NaN are named, with the expected value."""
    with pytest.raises(ArgumentError, match=words):
        finite_vector("q", values, 2)


def test_text_instead_of_numbers_is_refused():
    """Text, or nothing, in the place of numbers is named, long text shortened."""
    with pytest.raises(ArgumentError, match=r"\bq\b.*'abc'.*\b2\b"):
        finite_vector("q", "abc", 2)
    with pytest.raises(ArgumentError, match=r"\bq\b.*'0'.*'1'.*\b2\b"):
        finite_vector("q", ("0", "1"), 2)
    with pytest.raises(ArgumentError, match=r"radius.*'1'.*\b0\b"):
        size_number("radius", "1")
    with pytest.raises(ArgumentError, match=r"\bq\b.*\.\.\..*\b2\b") as error:
        finite_vector("q", "x" * 1000, 2)
    assert len(str(error.value)) < 100


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "1", None, True])
def test_numbers_that_have_to_be_positive(value):
    """Zero, negative numbers and NaN are refused."""
    with pytest.raises(ArgumentError, match=r"length"):
        positive_number("length", value)
    assert positive_number("length", np.float64(2.0)) == 2.0


def test_a_string_is_no_list_of_names():
    """One name by itself is not read letter by letter; the message shows the right form."""
    assert several_names("drives", ["a", "b"]) == ("a", "b")
    with pytest.raises(ArgumentError, match="'crank'"):
        several_names("drives", "crank")
    for wrong in (3, ["a", 3], None):
        with pytest.raises(ArgumentError, match=r"^drives is .*list of names"):
            several_names("drives", wrong)


@pytest.mark.parametrize(
    ("length", "taken"), [(0.99901, True), (0.99899, False), (1.00099, True), (1.00101, False)]
)
def test_quaternions_of_poses_have_unit_length_to_printed_digits(length, taken):
    """It is divided out, in a copy."""
    given = np.array([1.0, 2.0, 3.0, 0.0, 0.6 * length, 0.0, 0.8 * length])
    if not taken:
        with pytest.raises(ArgumentError, match="start has a quaternion of length"):
            pose_vector("start", given)
        return
    expected = [1.0, 2.0, 3.0, 0.0, 0.6, 0.0, 0.8]
    assert_allclose(pose_vector("start", given), expected, rtol=1e-15)
    assert given[6] == 0.8 * length
