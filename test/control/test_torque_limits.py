# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torque limits: support is whole, then internal force, then motion, each in its direction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from robot_dynamics.control.torque_limits import (
    integrated,
    largest_scale,
    limited_torque,
    torque_limits,
    torque_range,
)

EFFORT = np.array([10.0, 20.0, 5.0])
VECTORS = arrays(float, 3, elements=st.floats(-40.0, 40.0))


def limited(support, internal, motion, previous=None, change=1e9):
    """Return the limited torque; the last one is that of before the scales by default."""
    previous = np.zeros(3) if previous is None else previous
    return limited_torque(support, [internal, motion], previous, EFFORT, change)


@given(VECTORS, VECTORS, VECTORS)
def test_no_limit_is_exceeded_and_order_is_kept(support, internal, motion):
    """Motion yields before the internal force does, and support never: by hand, joint by joint."""
    support = np.clip(support, -0.99 * EFFORT, 0.99 * EFFORT)
    found = limited(support, internal, motion)
    torque, (force_scale, motion_scale) = np.array(found.torque), found.scales
    # The room that joints at their limits have is 1e-9 of it, for each of the parts.
    assert (np.abs(torque) <= EFFORT * (1.0 + 3e-9)).all()
    expected = support + force_scale * internal + motion_scale * motion
    np.testing.assert_allclose(torque, expected, atol=1e-12)
    if motion_scale < 1.0:  # a little more would be too much
        more = support + force_scale * internal + (motion_scale + 1e-6) * motion
        assert (np.abs(more) > EFFORT * (1.0 - 1e-6)).any()
    if force_scale < 1.0:
        more = support + (force_scale + 1e-6) * internal
        assert (np.abs(more) > EFFORT * (1.0 - 1e-6)).any()


def test_the_rate_is_limited_from_the_last_torque():
    """The whole change is scaled: its direction stays."""
    previous = np.array([1.0, 2.0, 3.0])
    found = limited(np.array([3.0, 2.5, 3.0]), np.zeros(3), np.zeros(3), previous, 0.5)
    assert found.rate_scale == pytest.approx(0.25)
    np.testing.assert_allclose(found.torque, previous + 0.25 * np.array([2.0, 0.5, 0.0]))


def test_support_beyond_a_limit_is_told():
    """It is not scaled: the safety layer gives up instead."""
    found = limited(np.array([15.0, 1.0, 0.0]), np.ones(3), np.ones(3))
    assert found.support_torque_ratio == pytest.approx(1.5)
    assert found.scales[0] < 1e-6
    np.testing.assert_allclose(found.torque, [15.0, 1.0, 0.0], atol=1e-6)


def test_integrals_rest_while_something_is_held_back():
    """The gate is open only while nothing is scaled and the ramp is over."""
    free = limited(np.zeros(3), np.ones(3), np.ones(3))
    assert free.gate(1.0) == 1.0
    assert free.gate(0.99) == 0.0
    assert limited(np.zeros(3), np.zeros(3), 40.0 * np.ones(3)).gate(1.0) == 0.0


@pytest.mark.parametrize(
    ("value", "step", "gate", "expected"),
    [
        (1.0, 0.5, 1.0, 1.5),
        (1.0, 5.0, 1.0, 2.0),  # bounded
        (1.0, 0.5, 0.0, 1.0),  # would grow: rests
        (1.0, -0.5, 0.0, 0.5),  # shrinks
        (1.0, -5.0, 0.0, 0.0),  # no further than to nothing
        (-1.0, 0.25, 0.0, -0.75),
    ],
)
def test_an_integral_may_always_shrink(value, step, gate, expected):
    """While it is held back it grows no more, and it never leaves its bound of 2."""
    assert integrated(value, step, gate, 2.0) == pytest.approx(expected)


def test_the_kernel_equals_the_functions():
    """The kernel gives the numbers of the functions, the ramp on force and motion included."""
    rng = np.random.default_rng(0)
    kernel = torque_limits(3, 4)
    for _ in range(20):
        support, internal, motion, previous = rng.normal(size=(4, 3)) * 6.0
        value, step = rng.normal(size=(2, 4))
        bound, ramp = np.full(4, 1.5), rng.uniform()
        torque, integral, scales = kernel(
            support, internal, motion, previous, EFFORT, 8.0, ramp, value, step, bound
        )
        found = limited(support, ramp * internal, ramp * motion, previous, 8.0)
        np.testing.assert_allclose(torque, found.torque, atol=1e-12)
        expected = [*found.scales, found.rate_scale, found.support_torque_ratio]
        np.testing.assert_allclose(scales, expected, atol=1e-12)
        gate = found.gate(ramp)
        expected = [integrated(v, s, gate, 1.5) for v, s in zip(value, step, strict=True)]
        np.testing.assert_allclose(integral, expected, atol=1e-12)


def test_torque_away_from_a_limit_is_not_scaled():
    """A joint that stands at its limit by rounding does not stop it."""
    at = EFFORT * (1.0 + 1e-12)
    assert largest_scale(at, -np.ones(3), EFFORT) == 1.0


@given(VECTORS, VECTORS, VECTORS)
def test_each_part_has_what_the_ones_before_leave(internal, contact, motion):
    """Torques are within limits, and no scale below 1 could be larger by a thousandth."""
    support, parts = np.array([5.0, -3.0, 1.0]), [internal, contact, motion]
    found = limited_torque(support, parts, np.zeros(3), EFFORT, 1e9)
    total = support
    for part, scale in zip(parts, found.scales, strict=True):
        assert 0.0 <= scale <= 1.0
        if scale < 1.0:
            more = total + (scale + 1e-3) * part
            assert np.any(np.abs(more) > EFFORT * (1.0 - 1e-8))
        total = total + scale * part
    np.testing.assert_allclose(found.torque, total, atol=1e-9)
    assert np.all(np.abs(found.torque) <= EFFORT * (1.0 + 1e-8))
    assert found.gate(1.0) == float(min(found.scales) == 1.0)


@given(VECTORS, VECTORS)
def test_the_last_part_is_scaled_first(motion, posture):
    """Earlier parts stay unchanged; their gates do not see it."""
    support, still = np.array([5.0, -3.0, 1.0]), np.zeros(3)
    alone = limited_torque(support, [still, motion], still, EFFORT, 1e9)
    found = limited_torque(support, [still, motion, posture], still, EFFORT, 1e9)
    assert found.scales[:2] == alone.scales
    assert found.gate(1.0, 2) == alone.gate(1.0)
    moved = np.array(found.torque) - np.array(alone.torque)
    np.testing.assert_allclose(moved, found.scales[2] * posture, atol=1e-9)
    assert np.all(np.abs(found.torque) <= EFFORT * (1.0 + 1e-8))


def test_a_limited_rate_closes_the_gate():
    """The rate is part of the task, however many parts there are."""
    found = limited_torque([0.0] * 3, [[1.0, 0.0, 0.0], [3.0, 1.0, 0.0]], [0.0] * 3, EFFORT, 2.0)
    assert found.rate_scale == pytest.approx(0.5)
    np.testing.assert_allclose(found.torque, [2.0, 0.5, 0.0])
    assert found.gate(1.0, 1) == 0.0


@given(VECTORS, VECTORS, VECTORS, VECTORS)
def test_the_range_of_what_is_asked_for(support, internal, contact, motion):
    """The least and the largest sum, part after part."""
    parts = [internal, contact, motion]
    steps = support + np.cumsum(parts, axis=0)
    expected = [steps.min(axis=0), steps.max(axis=0)]
    np.testing.assert_allclose(torque_range(support, parts), expected, atol=1e-12)
