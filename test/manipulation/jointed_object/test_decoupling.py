# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compilable law is the readable one, and exact; the joint's force is told by the wrists."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.jointed_object.cases import OBJECT_JOINTS, regular_states
from numpy.testing import assert_allclose

from robot_dynamics.manipulation.jointed_object.decoupling import (
    PartsInverse,
    decoupled_torques,
    force_in_joint,
    kept_whole,
)
from robot_dynamics.reproductions.pseudovelocities import CompletedVelocities
from robot_dynamics.reproductions.reduced_order import ReducedOrderTerms, decoupled_law


def plain(terms):
    """Return the fields of terms as lists, as a trace has them."""
    return {name: getattr(terms, name).tolist() for name in terms.__dataclass_fields__}


def states(kind, joints, count):
    """Yield states away from singularities of the arms, with a wish for parts, joints, force."""
    rng = np.random.default_rng(3)
    for system, terms, q, qd in regular_states(kind, joints, count):
        reduced = ReducedOrderTerms.of(terms, CompletedVelocities.chosen(terms))
        if reduced.conditioning < 1e3:
            wish = rng.normal(size=(2, 6)), rng.normal(size=len(q)), rng.normal(size=len(terms.A))
            yield system, terms, qd, reduced, wish


@pytest.mark.parametrize("kind", OBJECT_JOINTS)
@pytest.mark.parametrize("joints", [(6, 6), (7, 6)])
def test_motion_and_force_are_what_is_asked_for(kind, joints):
    """In the closed chain, with the freedoms of the second part in the object's joint.

    nu_dot = tau_2 (47) and f = tau_1 (48), to 1e-9 of the largest of each.
    """
    seen = 0
    for _, terms, _, _, (parts, own, force) in states(kind, joints, 8):
        seen += 1
        law = decoupled_torques(
            plain(terms), PartsInverse.of(plain(terms), 1e-5), parts, own, force
        )
        qdd, f = terms.forward(np.sum([law.primary, law.push, law.moving], axis=0))
        assert_allclose(f, force, atol=1e-9 * np.abs(force).max())
        assert_allclose(qdd, law.acceleration, atol=1e-9 * np.abs(qdd).max())
        felt = np.einsum("hij,j->hi", terms.G, qdd) + terms.G_dot_qd
        assert_allclose(felt[0], parts[0], atol=1e-9 * np.abs(felt).max())
        # At the joint's point: its motions are along axes, or about them.
        way = terms.point - terms.centers[1]
        lacking = parts[1] - felt[1]
        lacking[3:] += np.cross(lacking[:3], way)
        assert_allclose(terms.joint_motions.T @ lacking, 0.0, atol=1e-9 * np.abs(felt).max())
        # The primary part alone lets nothing accelerate, and transmits nothing.
        at_rest, none = terms.forward(np.array(law.primary))
        swept = np.einsum("ij,j->i", terms.G[0], at_rest) + terms.G_dot_qd[0]
        assert_allclose(swept, 0.0, atol=1e-9 * max(1.0, np.abs(terms.G_dot_qd).max()))
        assert_allclose(none, 0.0, atol=1e-9 * np.abs(law.primary).max())
    assert seen >= 4


@pytest.mark.parametrize("kind", OBJECT_JOINTS)
def test_it_is_the_readable_law(kind):
    """With six joints an arm nothing is left to choose: the torques are those of (42) and (46)."""
    seen = 0
    for _, terms, _, reduced, (parts, own, force) in states(kind, (6, 6), 6):
        seen += 1
        whole = np.array(kept_whole(plain(terms), parts - terms.G_dot_qd, terms.A_dot_qd))
        motion = (whole + terms.G_dot_qd).reshape(-1)
        rows, rates = reduced.B, reduced.B_dot_qd
        # nu_dot of that motion: B qdd + B_dot qd.
        second = np.linalg.lstsq(terms.G[1].T, rows[6:].T, rcond=None)[0].T
        nu_dot = np.concatenate([motion[:6], second @ whole[1] + rates[6:]])
        expected = decoupled_law(reduced, nu_dot, force)
        law = decoupled_torques(
            plain(terms), PartsInverse.of(plain(terms), 1e-5), parts, own, force
        )
        size = np.abs(expected.torque).max()
        assert_allclose(law.primary, expected.primary, atol=1e-9 * size)
        assert_allclose(np.add(law.push, law.moving), expected.secondary, atol=1e-9 * size)
    assert seen >= 3


@pytest.mark.parametrize("kind", OBJECT_JOINTS)
def test_the_wrists_tell_the_force_in_the_joint(kind):
    """From wrenches at the tools alone, whatever the torques: no acceleration is measured."""
    rng = np.random.default_rng(9)
    for _, terms, _, _, _ in states(kind, (7, 6), 6):
        tau = 20.0 * rng.normal(size=len(terms.D))
        qdd, f = terms.forward(tau)
        told = force_in_joint(plain(terms), terms.grasp_wrenches(qdd, f))
        # Ten digits: accelerations of hundreds cancel.
        assert_allclose(told, f, atol=1e-10 * max(1.0, np.abs(qdd).max()))


def test_a_singular_arm_is_told_by_its_pivot():
    """Its Jacobian has lost a direction: the pivot is at rounding, else it is not."""
    system, terms, _, _, _ = next(states("spherical", (6, 6), 8))
    fields = plain(terms)
    assert PartsInverse.of(fields, 1e-5).smallest_pivot > 1e-6
    G = terms.G.copy()
    own = system.parts[1].v_index
    G[1][:, own[2]] = G[1][:, own[1]]
    assert PartsInverse.of({**fields, "G": G.tolist()}, 1e-5).smallest_pivot < 1e-12


@pytest.mark.parametrize("kind", OBJECT_JOINTS)
@pytest.mark.parametrize("left", [0.0, 1e-3])
def test_near_a_singularity_parts_lag_as_the_joint_allows(kind, left):
    """Joint changes and the parts' lag are the least that keep the parts together.

    An arm has lost a direction but for a share. The constraint of the object's joint is exact, and
    the motion is that of an optimisation with it, to 1e-6 of its size.
    """
    safe = 1e-3
    system, terms, _, _, (parts, own, _) = next(states(kind, (7, 6), 8))
    G, second = terms.G.copy(), system.parts[1].v_index
    G[1][:, second[2]] = G[1][:, second[1]] + left * G[1][:, second[2]]
    J = G.reshape(12, -1)
    C = np.hstack([-terms.L_s[0].T, terms.L_s[1].T])
    still = {**plain(terms), "G": G.tolist()}
    V = np.array(kept_whole(still, parts, np.zeros(len(C))))
    inverse = PartsInverse.of(still, safe)
    x = np.array(inverse.motion(V.tolist(), own.tolist()))
    V = V.reshape(12)
    assert inverse.smallest_pivot < 0.1 * safe
    assert_allclose(C @ (J @ x), C @ V, atol=1e-9 * np.abs(x).max())
    damping = safe * (1.0 - inverse.smallest_pivot / safe) ** 2
    weights = 1.0 / (damping * np.sum(J * J, axis=1))
    normal = np.eye(len(x)) + J.T * weights @ J
    A = C @ J
    KKT = np.block([[normal, A.T], [A, np.zeros((len(A), len(A)))]])
    least = np.linalg.solve(KKT, np.concatenate([own + J.T * weights @ V, C @ V]))[: len(x)]
    assert_allclose(x, least, rtol=0.0, atol=1e-6 * np.abs(least).max())
