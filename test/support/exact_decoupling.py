# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How exactly forward dynamics return what the law was asked for, at random states."""

from __future__ import annotations

import numpy as np

from robot_dynamics.manipulation.hybrid import hybrid_torque, system_motion
from support.hybrid_step import law_of
from support.hybrid_systems import environment_of, state_of


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
