# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Exact decoupling at random states: every number of arms, contact, environment and arm."""

from __future__ import annotations

import numpy as np
import pytest
from support.hybrid_systems import GRASPS, SURFACES, environment_of, state_of

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import ForceDistribution
from robot_dynamics.reproductions.yoshikawa_zheng.law import hybrid_torque
from robot_dynamics.reproductions.yoshikawa_zheng.system_motion import system_motion


def worst(count, kind, joints, surfaces, states):
    """Return the largest relative error of u1, u2 and u3 over some states."""
    rng = np.random.default_rng([count, joints, surfaces, len(kind)])
    environment, largest = environment_of(surfaces), 0.0
    for _ in range(states):
        state = state_of(count, kind, joints, environment, rng)
        system, terms = state.system, state.terms
        distribution = ForceDistribution.least(system)
        u1, u2 = rng.standard_normal(6 - surfaces), 10.0 * rng.standard_normal(surfaces)
        u3 = 10.0 * rng.standard_normal(distribution.internal.shape[1])
        spare = rng.standard_normal(len(terms.h))
        law = hybrid_torque(terms, distribution, u1, u2, u3, spare)
        motion = system_motion(terms, law.torque)
        got = terms.environment
        s = got.E_P @ motion.object_acceleration + got.E_P_dot_v
        inside = distribution.internal_force(motion.contact_forces)
        moved = max(np.abs(motion.qdd).max(), np.abs(got.E_P_dot_v).max(), np.abs(u1).max())
        pushed = max(np.abs(motion.contact_forces).max(), np.abs(law.torque).max())
        errors = [np.abs(s - u1).max() / moved, np.abs(inside - u3).max() / pushed]
        errors.append(np.abs(motion.surface_forces - u2).max(initial=0.0) / pushed)
        largest = max(largest, *errors)
    return largest


@pytest.mark.parametrize("joints", [6, 7])
@pytest.mark.parametrize("surfaces", SURFACES)
@pytest.mark.parametrize(("count", "kind"), GRASPS)
def test_the_law_decouples_at_random_states(count, kind, surfaces, joints):
    """Forward dynamics return u1, u2 and u3 to 1e-9 of the accelerations and forces."""
    assert worst(count, kind, joints, SURFACES[surfaces], 4) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("joints", [6, 7])
@pytest.mark.parametrize("surfaces", SURFACES)
@pytest.mark.parametrize(("count", "kind"), GRASPS)
def test_the_law_decouples_at_a_thousand_states(count, kind, surfaces, joints):
    """The same over 1000 states of every combination."""
    assert worst(count, kind, joints, SURFACES[surfaces], 1000) < 1e-9


@pytest.mark.parametrize("name", ["motion", "contact_force", "internal_force", "joint_motion"])
@pytest.mark.parametrize("value", [5.0, [np.nan] * 6])
def test_requests_that_do_not_fit_are_refused(name, value):
    """Numbers are not spread over vectors, and nan is no request."""
    state = state_of(2, "rigid", 6, environment_of(1), np.random.default_rng(3))
    distribution = ForceDistribution.least(state.system)
    request = {
        "motion": np.zeros(5),
        "contact_force": np.zeros(1),
        "internal_force": np.zeros(distribution.internal.shape[1]),
        "joint_motion": np.zeros(12),
    }
    hybrid_torque(state.terms, distribution, **request)
    size = len(request[name])
    spoilt = {**request, name: value if np.ndim(value) == 0 and size > 1 else [np.nan] * size}
    with pytest.raises(ArgumentError, match=name):
        hybrid_torque(state.terms, distribution, **spoilt)
    with pytest.raises(ArgumentError, match="torque"):
        system_motion(state.terms, value)
