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
)

EFFORT = np.array([10.0, 20.0, 5.0])
VECTORS = arrays(float, 3, elements=st.floats(-40.0, 40.0))


def limited(support, internal, motion, previous=None, change=1e9):
    """Return the limited torque; the last one is that of before the scales by default."""
    previous = np.zeros(3) if previous is None else previous
    return limited_torque(support, internal, motion, previous, EFFORT, change)


@given(VECTORS, VECTORS, VECTORS)
def test_no_limit_is_exceeded_and_order_is_kept(support, internal, motion):
    """Motion yields before the internal force does, and support never: by hand, joint by joint."""
    support = np.clip(support, -0.99 * EFFORT, 0.99 * EFFORT)
    found = limited(support, internal, motion)
    torque = np.array(found.torque)
    # The room that joints at their limits have is 1e-9 of it, for each of the parts.
    assert (np.abs(torque) <= EFFORT * (1.0 + 3e-9)).all()
    expected = support + found.force_scale * internal + found.motion_scale * motion
    np.testing.assert_allclose(torque, expected, atol=1e-12)
    if found.motion_scale < 1.0:  # a little more would be too much
        more = support + found.force_scale * internal + (found.motion_scale + 1e-6) * motion
        assert (np.abs(more) > EFFORT * (1.0 - 1e-6)).any()
    if found.force_scale < 1.0:
        more = support + (found.force_scale + 1e-6) * internal
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
    assert found.force_scale < 1e-6
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


def test_what_is_compiled_is_what_is_read():
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
        np.testing.assert_allclose(
            scales,
            [found.force_scale, found.motion_scale, found.rate_scale, found.support_torque_ratio],
            atol=1e-12,
        )
        gate = found.gate(ramp)
        expected = [integrated(v, s, gate, 1.5) for v, s in zip(value, step, strict=True)]
        np.testing.assert_allclose(integral, expected, atol=1e-12)


def test_what_leads_away_from_a_limit_is_not_scaled():
    """A joint that stands at its limit by rounding does not stop it."""
    at = EFFORT * (1.0 + 1e-12)
    assert largest_scale(at, -np.ones(3), EFFORT) == 1.0
