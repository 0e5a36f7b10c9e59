# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The object's motion is met whatever the pseudovelocities, and the rest as nearly as can be."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.jointed_object.cases import regular_states
from numpy.testing import assert_allclose

from robot_dynamics.reproductions.object_task import ObjectTask
from robot_dynamics.reproductions.pseudovelocities import CompletedVelocities, ConstantVelocities
from robot_dynamics.reproductions.reduced_order import ReducedOrderTerms


@pytest.mark.parametrize(
    ("kind", "joints"), [("spherical", (6, 6)), ("spherical", (7, 7)), ("revolute", (7, 6))]
)
def test_the_object_does_as_asked_and_joints_stay_near(kind, joints):
    """Accelerations are exact for the parts, keep the joint closed, and are nearest to a wish."""
    rng = np.random.default_rng(3)
    others = 0
    for _, terms, _, qd in regular_states(kind, joints, 20):
        own, V = rng.normal(size=len(qd)), rng.normal(size=(2, 6))
        qdd = accelerations(terms, CompletedVelocities.chosen(terms), V, own)
        size = max(1.0, np.abs(qdd).max())
        assert_allclose(terms.A @ qdd, -terms.A_dot_qd, atol=1e-9 * size)
        assert_allclose(terms.G[0] @ qdd + terms.G_dot_qd[0], V[0], atol=1e-9 * size)
        second = terms.G[1] @ qdd + terms.G_dot_qd[1] - V[1]
        assert_allclose(terms.joint_motions.T @ second, 0.0, atol=1e-9 * size)
        # Nearest: what is left to wish for cannot be had without moving the object.
        rows = np.vstack([terms.A, terms.G[0], terms.joint_motions.T @ terms.G[1]])
        basis = np.linalg.svd(rows)[2][len(rows) :]
        assert_allclose(basis @ (own - qdd), 0.0, atol=1e-9 * size)
        # Joint velocities give the same, unless the inverse of the task is damped.
        choice = ConstantVelocities.chosen(terms)
        sizes = np.linalg.svd(rows[len(terms.A) :] @ choice.inverse(terms)[1])[1]
        if sizes[-1] > 0.02 * sizes[0]:
            others += 1
            same = accelerations(terms, choice, V, own)
            assert_allclose(same, qdd, rtol=0, atol=1e-9 * size)
    assert others >= 2


def accelerations(terms, choice, parts, own):
    """Return the joint accelerations for accelerations of the parts, in a choice."""
    reduced = ReducedOrderTerms.of(terms, choice)
    z = ObjectTask.of(reduced).pseudo(parts - terms.G_dot_qd, own, reduced.drift)
    return reduced.joint_acceleration(z)
