# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generalised inertia and Jacobians after base and passive joints are eliminated."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reproductions.unified.cases import state_of, system_of
from support.papers import CASES

CASE = CASES["S2 free-flying two 6R"]


@pytest.fixture
def parts():
    system = system_of(CASE)
    q, qd, _ = state_of(CASE, system)
    return system.terms(q, qd).parts


def whole_of(parts):
    return np.block([[parts.M_p, parts.M_ap], [parts.M_ap.T, parts.M_a]])


def test_the_generalised_inertia_is_a_schur_complement(parts):
    """M is the inverse of the driven block of the whole inertia's inverse."""
    p = len(parts.C_p)
    inverse = np.linalg.inv(whole_of(parts))
    # The condition of the whole inertia is 1e4.
    assert_allclose(np.linalg.inv(parts.M), inverse[p:, p:], rtol=1e-9)


def test_forces_on_the_object(parts):
    """H is [J_b J_q] H^-1 [J_b J_q]^T over base and arms together, and symmetric (48)."""
    J = np.hstack([parts.J_p, parts.J_a])
    expected = J @ np.linalg.solve(whole_of(parts), J.T)
    assert_allclose(parts.H, expected, atol=1e-10 * np.max(np.abs(expected)))
    assert_allclose(parts.H, parts.H.T, atol=1e-12 * np.max(np.abs(expected)))


def test_without_momentum_the_base_follows(parts):
    """V_b = -J_D qd keeps the momentum M_p V_b + M_ap qd at zero, and V_e = J qd (38), (41)."""
    rates = np.random.default_rng(0).normal(size=len(parts.C_a))
    base = -parts.disturbance_jacobian @ rates
    assert_allclose(parts.M_p @ base + parts.M_ap @ rates, 0.0, atol=1e-11)
    velocity = parts.J_p @ base + parts.J_a @ rates
    assert_allclose(velocity, parts.generalized_jacobian @ rates, atol=1e-12)


def test_inverse_dynamics_undo_forward_dynamics(parts):
    """The torques of (28) give the accelerations back, under any forces on base and tools."""
    rng = np.random.default_rng(1)
    qdd, force, f_e = (rng.normal(size=len(x)) for x in (parts.C_a, parts.C_p, parts.J_a))
    torque = parts.inverse_dynamics(qdd, force, f_e)
    again = parts.joint_accelerations(torque, force, f_e)
    assert_allclose(again, qdd, atol=1e-10)
    following = parts.following_accelerations(force, f_e, qdd)
    pushed = whole_of(parts) @ np.concatenate([following, qdd])
    applied = np.concatenate([force - parts.C_p, torque - parts.C_a])
    felt = np.hstack([parts.J_p, parts.J_a]).T @ f_e
    assert_allclose(pushed, applied - felt, atol=1e-9)
