# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rows as points of a curve, against rotations that are differentiated numerically."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.reference import plan_reference
from robot_dynamics.control.settings import ReferenceSettings, SegmentSettings, TurnSettings
from robot_dynamics.control.streamed.curve import FADE, Points, hermite, points_of, powers, rows_of

RNG = np.random.default_rng(3)


def path():
    """Return a path that turns and moves."""
    turn = TurnSettings(axis=(1.0, 2.0, -0.5), degrees=80.0)
    segment = SegmentSettings(2.0, move=(0.1, -0.2, 0.3), rotate=turn)
    start = [0.3, 0.1, 0.5, 0.5, -0.5, 0.5, 0.5]
    return plan_reference(ReferenceSettings((segment,)), start)


def test_derivatives_of_points_are_those_of_the_values():
    """By central differences of a path whose twists come from elsewhere, in closed form."""
    h, t = 1e-4, np.linspace(0.3, 1.7, 8)
    before, now, after = (points_of(path().rows(t + d)) for d in (-h, 0.0, h))
    rate = (after.value - before.value) / (2.0 * h)
    second = (after.value - 2.0 * now.value + before.value) / h**2
    # Truncation is h^2 times a derivative of order one; rounding of seconds is 1e-16 / h^2.
    assert np.allclose(now.rate, rate, rtol=0.0, atol=1e-7)
    assert np.allclose(now.second, second, rtol=0.0, atol=1e-6)


def test_there_and_back():
    """Rows of points of rows are the same, also where quaternions have another length."""
    rows = path().rows(np.linspace(0.0, 2.0, 9))[:, :19]
    points = points_of(rows)
    assert np.allclose(rows_of(points), rows, rtol=0.0, atol=1e-14)
    scale = np.array([1.0] * 3 + [2.5] * 4)
    stretched = Points(*(scale * part for part in points))
    assert np.allclose(rows_of(stretched), rows, rtol=0.0, atol=1e-14)


def test_a_quaternion_that_grows_turns_nothing():
    """Of any smooth curve: its rows' own differences, for a quaternion of changing length."""
    c = RNG.normal(size=(4, 7)) * 0.3
    c[0, 6] += 2.0

    def at(t):
        return Points(
            powers(t, 4) @ c,
            powers(t, 3) @ (np.arange(1, 4)[:, None] * c[1:]),
            powers(t, 2) @ (np.array([[2.0], [6.0]]) * c[2:]),
        )

    h, t = 1e-4, np.linspace(0.2, 0.8, 5)
    rows = rows_of(at(t))
    values = [points_of(rows_of(at(t + d))).value for d in (-h, h)]
    assert np.allclose(points_of(rows).rate, (values[1] - values[0]) / (2.0 * h), atol=1e-6)
    rates = [points_of(rows_of(at(t + d))).rate for d in (-h, h)]
    assert np.allclose(points_of(rows).second, (rates[1] - rates[0]) / (2.0 * h), atol=1e-6)


def test_the_quintic_meets_both_ends():
    """In value, rate and second derivative."""
    ends = RNG.normal(size=(2, 3, 4))
    pieces = hermite(tuple(ends[0]), tuple(ends[1]), 0.7)
    for t, end in ((0.0, ends[0]), (0.7, ends[1])):
        for piece, expected in zip(pieces, end, strict=True):
            # Coefficients are of the size of 1 / 0.7^5.
            assert np.allclose(powers(np.array([t]), len(piece)) @ piece, expected, atol=1e-12)


def test_the_fade_is_smooth_at_both_ends():
    """From 1 to 0 without rate or second derivative."""
    for u, value in ((0.0, 1.0), (1.0, 0.0)):
        assert abs(FADE(u) - value) < 1e-14
        assert abs(FADE.deriv(1)(u)) < 1e-12
        assert abs(FADE.deriv(2)(u)) < 1e-12


def test_signs_of_quaternions_are_brought_together():
    """A pose has two of them."""
    rows = path().rows([0.5, 1.0])[:, :19]
    points = points_of(rows)
    flip = np.array([1.0] * 3 + [-1.0] * 4)
    turned = Points(*(flip * part for part in points))
    assert np.array_equal(turned.nearer_to(points).value, points.value)
