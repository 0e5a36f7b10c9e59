# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Who carries how much."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.hybrid.cases import NAMES, system_of, terms_of
from manipulation.hybrid.grasps import around, facing
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from support.mechanisms import random_pose
from support.papers import CASES

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.grasp_map import transmitted_force_map
from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.manipulation.hybrid.contacts import wrench_map
from robot_dynamics.manipulation.hybrid.force_distribution import (
    right_inverse,
    shares_by_strength,
    shares_metric,
    torque_metric,
)


def share_map(contacts, shares, length=0.1):
    """Return W^# about the object's origin."""
    W = wrench_map(contacts, np.zeros(3))
    return W, right_inverse(W, shares_metric(contacts, shares, length), length)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_rigid_grasps_take_their_shares_of_every_wrench(count):
    """As the controller of rigid grasps has them, whatever length moments count at."""
    rng = np.random.default_rng(count)
    grasps = [random_pose(rng) for _ in range(count)]
    shares = shares_by_strength(rng.uniform(1.0, 3.0, count))
    contacts = [Contact.of_kind("rigid", grasp) for grasp in grasps]
    for length in (0.1, 1.0):
        _, share = share_map(contacts, shares, length)
        expected = transmitted_force_map(grasps, shares).distribution
        assert_allclose(share, expected, atol=1e-12)


@pytest.mark.parametrize("contacts", [facing("soft finger"), around("frictional point", 3)])
def test_others_are_as_near_to_them_as_they_can_be(contacts):
    """Every wrench is made; a search over the null space finds no sharing that is nearer."""
    k = len(contacts)
    shares = shares_by_strength([1.0, 2.0, 3.0][:k])
    W, share = share_map(contacts, shares)
    assert_allclose(W @ share, np.eye(6), atol=1e-12)
    Q = shares_metric(contacts, shares, 0.1)
    _, _, Vt = np.linalg.svd(W)
    wrench = np.array([0.1, -0.2, 0.05, 3.0, 1.0, -9.0])
    found = share @ wrench

    def cost(u):
        forces = found + Vt[6:].T @ u
        return forces @ Q @ forces

    best = minimize(cost, np.full(len(Vt) - 6, 0.3))
    assert cost(np.zeros(len(Vt) - 6)) <= best.fun + 1e-9


@pytest.mark.parametrize("name", NAMES[:4])
def test_strong_drives_carry_more(name):
    """By torque limits no other forces make the wrench with smaller torques over limits."""
    system, terms = system_of(CASES[name]), terms_of(CASES[name])
    W, limits = terms.W_S, np.linspace(1.0, 5.0, terms.J_S.shape[1])
    Q = torque_metric(terms.J_S, limits)
    share = right_inverse(W, Q, system.length)
    assert_allclose(W @ share, np.eye(6), atol=1e-9)
    forces = share @ np.array([0.1, -0.2, 0.05, 3.0, 1.0, -9.0])
    torque = terms.J_S.T @ forces / limits
    _, _, Vt = np.linalg.svd(W)
    others = terms.J_S.T @ Vt[6:].T / limits[:, None]
    # Optimal if no internal force lowers the sum of squares.
    assert_allclose(others.T @ torque, 0.0, atol=1e-9 * max(1.0, np.abs(torque).max()))


@pytest.mark.parametrize("shares", [(0.5, 0.4), (0.5, 0.3, 0.2), (1.2, -0.2)])
def test_shares_that_are_none_are_refused(shares):
    """They are not negative, one each, and one in sum."""
    with pytest.raises(ArgumentError, match=r"shares are .* with sum .*; expected 2, one for "):
        shares_metric(facing("rigid"), shares, 0.1)


def test_torques_are_shared_away_from_singularities_and_within_limits():
    """A contact force that needs no torque has no best share; limits are positive."""
    with pytest.raises(ArgumentError, match="singularity"):
        torque_metric(np.array([[1.0, 0.0], [1.0, 0.0]]), [1.0, 1.0])
    with pytest.raises(ArgumentError, match="expected positive"):
        torque_metric(np.eye(2), [1.0, 0.0])
