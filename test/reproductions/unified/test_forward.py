# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Table I, corrected, reproduces the worked cases and agrees with the closed-loop engine."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reproductions.unified.cases import (
    NAMES,
    random_states,
    random_unified,
    state_of,
    system_of,
)
from support.papers import CASES, close_to

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.reproductions.unified import forward_dynamics


@pytest.mark.parametrize("name", NAMES)
def test_the_worked_cases(name):
    """Every step of Table I has the figures of the cases."""
    case = CASES[name]
    answer, system = case["output"], system_of(case)
    q, qd, force = state_of(case, system)
    terms = system.terms(q, qd)
    parts = terms.parts
    if case["input"]["base"] == "fixed":
        close_to(parts.M_a, answer["Ma"])
    else:
        close_to(parts.M_p, answer["Mp"])
        close_to(parts.M, answer["M"])
        close_to(parts.C, answer["C"])
        close_to(parts.C_p, answer["Cp"])
        close_to(parts.disturbance_jacobian, answer["J_D"])
        close_to(parts.reduced_torque(np.array(case["input"]["T"]), force), answer["That"])
        assert_allclose(np.trace(parts.H), answer["trace_H"], rtol=1e-9)
        assert_allclose(np.linalg.slogdet(parts.H)[1], answer["logdet_H"], rtol=1e-8)
    close_to(parts.C_a, answer["Ca"])
    motion = forward_dynamics(terms, np.array(case["input"]["T"]), force)
    close_to(motion.open_acceleration, answer["Ve_open"])
    close_to(motion.object_acceleration, answer["Vo_dot"])
    close_to(motion.grasp_wrenches, answer["f_e"])
    close_to(motion.joint_accelerations, answer["qdd"])
    if "Vb_dot" in answer:
        close_to(motion.following_accelerations, answer["Vb_dot"])


def test_end_effectors_that_cannot_move_everywhere():
    """Two arms with four joints on a fixed base reach eight of twelve directions: refused."""
    rng = np.random.default_rng(4)
    system = random_unified(rng, "fixed", (4, 4))
    there, q, qd = next(random_states(rng, system, 1))
    with pytest.raises(RobotDynamicsError, match="expected rank 12"):
        forward_dynamics(there.terms(q, qd), np.zeros(8))
