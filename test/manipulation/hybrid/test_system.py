# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The terms of arms, object and contacts, and systems that are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from manipulation.hybrid.cases import NAMES, state_of, system_of
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.papers import CASES

from robot_dynamics.errors import ArgumentError, RobotDynamicsError


@pytest.mark.parametrize("name", NAMES)
def test_the_drift_is_a_derivative(name):
    """b3 is the rate of W_S^T v - S^T J qd at constant velocities, by finite differences."""
    case = CASES[name]
    system = system_of(case)
    q, qd, at, twist, _ = state_of(case)
    h = 1e-6

    def slip(t):
        moved = at.copy()
        moved[:3, :3] = Rotation.from_rotvec(t * twist[:3]).as_matrix() @ at[:3, :3]
        moved[:3, 3] += t * twist[3:]
        terms = system.terms(q + t * qd, qd, moved, twist)
        return terms.W_S.T @ twist - terms.J_S @ qd

    # Differences of terms up to 10 over 1e-6: rounding leaves 1e-8.
    assert_allclose(
        system.terms(q, qd, at, twist).drift, (slip(h) - slip(-h)) / (2 * h), atol=1e-6
    )


@pytest.mark.parametrize(
    ("place", "change", "words"),
    [
        (0, lambda q: q[:-1], "q has shape"),
        (1, lambda qd: qd[0], "qd has shape"),
        (1, lambda qd: qd * np.nan, "qd has entries that are not finite"),
        (2, lambda at: at[:3], "pose of the object has shape"),
        (2, lambda at: 2.0 * at, "no pose; expected .* of a rotation"),
        (2, lambda at: at * np.nan, "the pose of the object is no pose"),
        (2, lambda at: at + 0.1 * np.eye(4)[3] * np.eye(4)[[0]].T, "mm from its contact on"),
        (3, lambda twist: twist[0], "twist has shape"),
    ],
)
def test_states_that_do_not_fit_are_refused(place, change, words):
    """Wrong shapes, numbers that are none, and an object that the hands do not hold."""
    case = CASES[NAMES[0]]
    system, state = system_of(case), list(state_of(case)[:4])
    system.terms(*state)
    state[place] = change(state[place])
    with pytest.raises(ArgumentError, match=words):
        system.terms(*state)


def test_contacts_hold_at_the_worked_states():
    """S^T (v_h - v_C) = 0: the states are consistent (14)."""
    for name in NAMES:
        q, qd, at, twist, _ = state_of(CASES[name])
        terms = system_of(CASES[name]).terms(q, qd, at, twist)
        assert_allclose(terms.J_S @ qd, terms.W_S.T @ twist, atol=1e-9)


def test_the_object_may_have_its_frame_anywhere():
    """Moving the object's link frame, contacts and inertia with it, changes nothing."""
    case = CASES["Y3 two 7R rigid, plane, rpy"]
    system = system_of(case)
    q, qd, at, twist, _ = state_of(case)
    shift = np.eye(4)
    shift[:3, 3] = (0.1, -0.2, 0.3)
    held = replace(system.held, center=tuple(-shift[:3, 3]))
    contacts = tuple(replace(c, pose=np.linalg.inv(shift) @ c.pose) for c in system.contacts)
    moved = replace(system, held=held, contacts=contacts)
    one, two = system.terms(q, qd, at, twist), moved.terms(q, qd, at @ shift, twist)
    for name in ("W_S", "I_B", "Q_B", "drift"):
        assert_allclose(getattr(two, name), getattr(one, name), atol=1e-12)


def test_systems_that_are_refused():
    """Missing contacts and grasps without force closure are answered in one sentence."""
    system = system_of(CASES["Y2 three 6R frictional points, free"])
    with pytest.raises(ArgumentError, match="2 contacts for 3 tools"):
        replace(system, contacts=system.contacts[:2])
    two = replace(system, tools=system.tools[:2], contacts=system.contacts[:2])
    with pytest.raises(RobotDynamicsError, match="spans 5 of 6 directions"):
        two.require_force_closure()
