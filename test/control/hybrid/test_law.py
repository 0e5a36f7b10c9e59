# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled law is the law: equal to the one in NumPy, and exact under forward dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from support.hybrid_step import law_of
from support.hybrid_systems import GRASPS, SURFACES, environment_of, state_of

from robot_dynamics.manipulation.hybrid import hybrid_torque, system_motion


def worst(count, kind, joints, surfaces, states, compiled=True):
    """Return the largest relative errors of u1, u2, u3 and of the torque over some states."""
    rng = np.random.default_rng([count, joints, surfaces, len(kind)])
    environment, law = environment_of(surfaces), law_of(count, kind, joints, surfaces, compiled)
    largest, differs = 0.0, 0.0
    for _ in range(states):
        state = state_of(count, kind, joints, environment, rng)
        u2 = 10.0 * rng.standard_normal(surfaces)
        u3 = 10.0 * rng.standard_normal(law.layout.internal)
        got = law.run(
            state,
            acceleration=rng.standard_normal(6),
            contact=u2,
            internal=u3,
        )
        terms, distribution = state.terms, got["distribution"]
        here = terms.environment
        R = state.pose[:3, :3]
        wanted = np.concatenate([R @ got["new_acceleration"][:3], R @ got["new_acceleration"][3:]])
        u1 = here.E_P @ wanted + here.E_P_dot_v
        free = -state.qd  # damping of self-motion, the only wish of bare gains
        plain = hybrid_torque(terms, R, distribution, u1, u2, u3, free)
        motion = system_motion(terms, got["torque"])
        s = here.E_P @ motion.object_acceleration + here.E_P_dot_v
        inside = distribution.internal_force(motion.contact_forces)
        moved = max(np.abs(motion.qdd).max(), np.abs(here.E_P_dot_v).max(), np.abs(u1).max())
        pushed = max(np.abs(motion.contact_forces).max(), np.abs(got["torque"]).max())
        errors = [np.abs(s - u1).max() / moved, np.abs(inside - u3).max() / pushed]
        errors.append(np.abs(motion.surface_forces - u2).max(initial=0.0) / pushed)
        largest = max(largest, *errors)
        differs = max(differs, np.abs(plain.torque - got["torque"]).max() / pushed)
    return largest, differs


@pytest.mark.parametrize(
    ("count", "kind", "surfaces", "joints"),
    [
        (2, "rigid", "free", 7),
        (3, "soft finger", "plane", 6),
        (3, "frictional point", "two planes", 7),
    ],
)
def test_it_is_the_law_of_numpy(count, kind, surfaces, joints):
    """Torques are those of `hybrid_torque`; forward dynamics return u1, u2 and u3.

    Both lose digits with the condition of J: states with a condition of 100 are among them.
    """
    largest, differs = worst(count, kind, joints, SURFACES[surfaces], 20)
    assert largest < 1e-9
    assert differs < 1e-10


@pytest.mark.parametrize("joints", [6, 7])
@pytest.mark.parametrize("surfaces", SURFACES)
@pytest.mark.parametrize(("count", "kind"), GRASPS)
def test_it_decouples_in_every_combination(count, kind, surfaces, joints):
    """The code that the kernels are traced from, over floats, at a state of each."""
    largest, differs = worst(count, kind, joints, SURFACES[surfaces], 1, compiled=False)
    assert largest < 1e-9
    assert differs < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("joints", [6, 7])
@pytest.mark.parametrize("surfaces", SURFACES)
@pytest.mark.parametrize(("count", "kind"), GRASPS)
def test_it_decouples_at_a_thousand_states(count, kind, surfaces, joints):
    """The same over 1000 states of every combination."""
    largest, differs = worst(count, kind, joints, SURFACES[surfaces], 1000)
    assert largest < 1e-9
    assert differs < 1e-10
