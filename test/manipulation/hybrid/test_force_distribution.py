# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contact forces from wrench and internal force, and back."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.hybrid.cases import NAMES, state_of, system_of
from manipulation.hybrid.grasps import around, facing, held_by
from numpy.testing import assert_allclose
from support.papers import CASES

from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.hybrid import ForceDistribution
from robot_dynamics.reproductions.yoshikawa_zheng.law import hybrid_torque
from robot_dynamics.reproductions.yoshikawa_zheng.system_motion import system_motion

GRASPS = [facing("rigid"), facing("soft finger"), around("frictional point", 3)]
MADE = [
    ForceDistribution.of_contacts,
    ForceDistribution.least,
    lambda system: (
        ForceDistribution.of_contacts(system, [0.7, 0.2, 0.1][: len(system.contacts)])
        if len(system.contacts) == 3
        else ForceDistribution.of_contacts(system, [0.7, 0.3])
    ),
]


@pytest.mark.parametrize("contacts", GRASPS)
@pytest.mark.parametrize("make", MADE)
def test_forces_make_their_wrench_and_give_the_internal_force_back(contacts, make):
    """For every way of sharing and every basis: W F = w, and recovery of F is f_IS."""
    system = held_by(contacts, center=(0.02, -0.01, 0.03))
    found = make(system)
    rng = np.random.default_rng(0)
    wrench = rng.normal(size=(20, 6))
    inside = rng.normal(size=(20, len(found.names)))
    forces = found.contact_forces(wrench, inside)
    assert_allclose(forces @ system.constant_wrench_map.T, wrench, atol=1e-12)
    assert_allclose(found.internal_force(forces), inside, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_the_law_is_exact_with_shares_and_named_internal_forces(name):
    """(38') to (40) with the arms sharing 70 to 30, or in such parts: the requested forces act."""
    system = system_of(CASES[name])
    q, qd, at, twist, _ = state_of(CASES[name])
    k = len(system.contacts)
    shares = np.linspace(2.0, 1.0, k) / np.linspace(2.0, 1.0, k).sum()
    distribution = ForceDistribution.of_contacts(system, shares.tolist())
    terms = system.terms(q, qd, at, twist)
    C = len(system.environment.surfaces)
    rng = np.random.default_rng(1)
    u1, u2 = rng.normal(size=6 - C), rng.normal(size=C)
    u3 = rng.normal(size=len(distribution.names))
    law = hybrid_torque(terms, distribution, u1, u2, u3)
    motion = system_motion(terms, law.torque)
    assert_allclose(motion.surface_forces, u2, atol=1e-8)
    assert_allclose(distribution.internal_force(motion.contact_forces), u3, atol=1e-8)


def test_a_users_basis_is_checked():
    """One that makes a wrench, depends on itself or has no left inverse of itself is refused."""
    system = held_by(facing("soft finger"))
    W = system.constant_wrench_map
    good = ForceDistribution.of_contacts(system)
    made = ForceDistribution.of(W, good.share, 3.0 * good.internal, good.recovery / 3.0)
    forces = np.random.default_rng(2).normal(size=8)
    assert_allclose(made.internal_force(forces), good.internal_force(forces) / 3.0, atol=1e-12)
    wrong = good.internal.copy()
    wrong[0, 1] += 0.1
    with pytest.raises(ArgumentError, match="column 2 of A"):
        ForceDistribution.of(W, good.share, wrong)
    with pytest.raises(ArgumentError, match="2 columns of A are"):
        ForceDistribution.of(W, good.share, good.internal[:, [0, 0]])
    with pytest.raises(ArgumentError, match=r"A\^L A = 1"):
        ForceDistribution.of(W, good.share, good.internal, 2.0 * good.recovery)
    with pytest.raises(ArgumentError, match=r"expected W W\^# W = W"):
        ForceDistribution.of(W, 0.5 * good.share, good.internal)
    with pytest.raises(ArgumentError, match="shapes"):
        ForceDistribution.of(W, good.share[:4], good.internal)
    with pytest.raises(ArgumentError, match="names"):
        ForceDistribution.of(W, good.share, good.internal, names=("squeeze",))


def test_any_left_inverse_gives_the_same_internal_force():
    """After the wrench is taken out, left inverses agree; before, they do not."""
    system = held_by(around("frictional point", 3))
    W, good = system.constant_wrench_map, ForceDistribution.of_contacts(system)
    other = np.linalg.pinv(good.internal) + np.random.default_rng(3).normal(size=(3, 6)) @ W
    forces = np.random.default_rng(4).normal(size=9)
    found = ForceDistribution.of(W, good.share, good.internal, other)
    assert_allclose(found.internal_force(forces), good.internal_force(forces), atol=1e-11)
    assert np.abs(other @ forces - good.internal_force(forces)).max() > 0.1


def test_grasps_without_closure_have_none():
    """Two points cannot be given a load about their line."""
    with pytest.raises(RobotDynamicsError, match="the rotation about"):
        ForceDistribution.of_contacts(held_by(facing("frictional point")))


@pytest.mark.parametrize("contacts", GRASPS)
def test_a_share_of_zero_bears_nothing_that_others_can(contacts):
    """Rigid contacts: the first takes the whole load; others take the part beyond it."""
    system = held_by(contacts, center=(0.02, -0.01, 0.03))
    k = len(system.contacts)
    found = ForceDistribution.of_contacts(system, [1.0, *[0.0] * (k - 1)])
    wrench = np.random.default_rng(0).normal(size=(20, 6))
    forces = found.contact_forces(wrench, np.zeros((20, len(found.names))))
    assert_allclose(forces @ system.constant_wrench_map.T, wrench, atol=1e-9)
    if contacts is GRASPS[0]:
        assert_allclose(forces[:, 6:], 0.0, atol=1e-6)
    with pytest.raises(ArgumentError, match=r"load shares are \[1\.1, -0\.1"):
        ForceDistribution.of_contacts(system, [1.1, -0.1, 0.0][:k])
