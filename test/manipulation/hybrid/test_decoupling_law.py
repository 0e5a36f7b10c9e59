# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The arms' side of the law: exact away from singularities, damped and honest near them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.manipulation.hybrid.decoupling_law import DampedInverse

SAFE = 1e-4


def side(smallest, safe=SAFE):
    """Return an arm of seven joints with a Jacobian of a smallest singular value, and both."""
    rng = np.random.default_rng(4)
    root = rng.standard_normal((7, 7))
    H = root @ root.T + 7.0 * np.eye(7)
    U, V = (np.linalg.qr(rng.standard_normal((n, n)))[0] for n in (6, 7))
    J = U @ np.hstack([np.diag([1.0, 0.9, 0.8, 0.7, 0.6, smallest]), np.zeros((6, 1))]) @ V
    return DampedInverse(H.tolist(), J.tolist(), safe), H, J


def test_it_moves_as_is_wanted_with_the_least_change():
    """J qdd is as desired, and H (qdd - free) is in the range of J^T: (34) in the metric."""
    arms, H, J = side(0.5)
    rng = np.random.default_rng(5)
    wanted, free = rng.standard_normal(6), rng.standard_normal(7)
    push, missing = arms.inertial_torque(wanted.tolist(), free.tolist())
    qdd = np.array(arms.acceleration(free.tolist(), push))
    assert_allclose(J @ qdd, wanted, atol=1e-11)
    assert_allclose(missing, 0.0)
    spare = np.linalg.svd(J)[2][-1]
    assert_allclose(spare @ H @ (qdd - free), 0.0, atol=1e-11)


@pytest.mark.parametrize("smallest", [1e-2, 1e-4, 1e-8, 0.0])
def test_near_singularities_it_says_what_is_missing(smallest):
    """Missing motions are reported; joints stay slow, also at the singularity itself.

    The lost direction is that of a component of one per cent of the desired value.
    """
    arms, H, J = side(smallest)
    wanted = np.full(6, 0.4)
    push, missing = arms.inertial_torque(wanted.tolist(), [0.0] * 7)
    qdd = np.array(arms.acceleration([0.0] * 7, push))
    assert np.all(np.isfinite(qdd))
    assert_allclose(J @ qdd, wanted - missing, atol=1e-8)
    A = J @ np.linalg.solve(H, J.T)
    # Damped by s of the diagonal, no direction is driven by more than 1 / (2 sqrt(s A)).
    assert np.abs(qdd).max() < 0.5 / np.sqrt(1e-2 * SAFE * np.diag(A).min())
    if arms.pivot < 0.5 * SAFE:
        assert np.abs(missing).max() > 1e-3
    if arms.pivot > SAFE:
        assert_allclose(missing, 0.0)


def test_damping_sets_in_without_a_jump():
    """Across the pivot from which on it is damped, accelerations change by next to nothing."""
    found = []
    for safe in (0.999, 1.001):
        exact, _, _ = side(0.05)
        arms, _, _ = side(0.05, safe * float(exact.pivot))
        push, _ = arms.inertial_torque([0.4] * 6, [0.0] * 7)
        found.append(np.array(arms.acceleration([0.0] * 7, push)))
    assert_allclose(found[0], found[1], rtol=1e-4)
