# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Unit quaternions against rotation vectors (section 4.5)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation as ScipyRotation

from robot_dynamics.model.joints.quaternion import rate, rotation, turn, turn_between, unit


def test_turning_keeps_quaternions_at_unit_length(rng):
    """A thousand turns leave the length at one to rounding, and agree with rotation vectors."""
    quaternion = [0.0, 0.0, 0.0, 1.0]
    reference = ScipyRotation.identity()
    for step in rng.normal(scale=0.2, size=(1000, 3)):
        quaternion = turn(quaternion, step.tolist())
        reference = reference * ScipyRotation.from_rotvec(step)
    assert abs(np.linalg.norm(quaternion) - 1.0) < 1e-15 * 10
    # A thousand roundings of 1e-16, in a random walk or in line.
    np.testing.assert_allclose(
        ScipyRotation.from_quat(quaternion).as_matrix(), reference.as_matrix(), atol=1e-12
    )


def test_the_rate_keeps_the_length_and_turns_with_the_velocity(rng):
    """p-dot is at right angles to p, and is the rate of change by a short turn (4.13)."""
    p, w = unit(rng.normal(size=4).tolist()), rng.normal(size=3)
    p_rate = rate(p, w.tolist())
    assert abs(np.dot(p, p_rate)) < 1e-15
    ahead, behind = (np.array(turn(p, (h * w).tolist())) for h in (1e-5, -1e-5))
    np.testing.assert_allclose((ahead - behind) / 2e-5, p_rate, atol=1e-9)


def test_the_turn_between_is_the_shortest(rng):
    """It is the rotation vector of q0^-1 q1, whichever of q1 and -q1 is given."""
    for _ in range(50):
        one, other = ScipyRotation.random(2, random_state=rng)
        q0, q1 = one.as_quat(), other.as_quat()
        expected = (one.inv() * other).as_rotvec()
        np.testing.assert_allclose(turn_between(q0, q1), expected, atol=1e-13)
        np.testing.assert_allclose(turn_between(q0, -q1), expected, atol=1e-13)


@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-6])
def test_small_turns_lose_nothing(size, rng):
    """Tiny turns come back with all their digits, and no turn is exactly zero."""
    q0 = unit(rng.normal(size=4).tolist())
    step = size * rng.normal(size=3)
    # Products of the quaternions round at 1e-16.
    np.testing.assert_allclose(turn_between(q0, turn(q0, step.tolist())), step, atol=5e-16)
    assert turn_between([0, 0, 0, 1.0], [0, 0, 0, 1.0]) == [0.0, 0.0, 0.0]


def test_unit_mends_the_length(rng):
    """The direction stays, the length becomes one."""
    p = rng.normal(size=4)
    np.testing.assert_allclose(unit((3 * p).tolist()), p / np.linalg.norm(p), atol=1e-15)


def test_algorithms_run_on_batches(rng):
    """Arrays are taken elementwise, zero turns among them."""
    q = rng.normal(size=(4, 7))
    q /= np.linalg.norm(q, axis=0)
    steps = 0.5 * rng.normal(size=(3, 7))
    steps[:, 3] = 0.0
    back = np.array(turn_between(list(q), turn(list(q), list(steps))))
    np.testing.assert_allclose(back, steps, atol=1e-12)


def test_another_length_is_divided_out(rng):
    """A quaternion of any length means the orientation of its direction."""
    quaternion = rng.normal(size=4)
    expected = ScipyRotation.from_quat(quaternion).as_matrix().T
    for length in (1.0, 2.0, 0.3):
        E = rotation((length * quaternion).tolist())
        assert_allclose(np.array(E.rows), expected, atol=1e-15)
