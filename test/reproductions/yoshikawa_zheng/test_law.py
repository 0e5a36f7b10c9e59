# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The law reproduces the worked cases, and decouples motion, contact force and internal force."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.hybrid.cases import (
    NAMES,
    from_paper_order,
    in_paper_order,
    state_of,
    system_of,
    terms_of,
)
from numpy.testing import assert_allclose
from support.papers import CASES, close_to

from robot_dynamics.manipulation.hybrid import ForceDistribution
from robot_dynamics.reproductions.yoshikawa_zheng.law import hybrid_torque
from robot_dynamics.reproductions.yoshikawa_zheng.system_motion import system_motion

# Where arms have no freedom to spare, the law's joint accelerations are unique.
UNIQUE = ("Y1", "Y4")


def law_of(case, length=1.0):
    """Return system, terms, distribution, u3 and the law's answer of a case."""
    data, system, terms = case["input"], system_of(case), terms_of(case)
    distribution = ForceDistribution.least(system, length)
    w = from_paper_order(system, np.array(data["w_internal"]))
    u3 = np.linalg.lstsq(distribution.internal, w, rcond=None)[0]
    answer = hybrid_torque(terms, distribution, np.array(data["u1"]), np.array(data["u2"]), u3)
    return system, terms, distribution, u3, answer


@pytest.mark.parametrize("name", NAMES)
def test_the_worked_cases(name):
    """Desired motion, contact forces and torques are those of (34) to (37)."""
    case = CASES[name]
    data, answer = case["input"], case["output"]["law"]
    system, _, distribution, u3, law = law_of(case)
    *_, coordinates = state_of(case)
    rdd = coordinates.acceleration(law.object_acceleration, np.array(data["rd"]))
    close_to(rdd, answer["rdd_d"])
    close_to(in_paper_order(system, distribution.internal @ u3), answer["internal_part"])
    close_to(in_paper_order(system, law.contact_forces), answer["F_hSd"])
    if name.startswith(UNIQUE):
        close_to(law.qdd, answer["qdd_d"])
        close_to(law.torque, answer["tau"])


@pytest.mark.parametrize("length", [1.0, 0.2])
@pytest.mark.parametrize("name", NAMES)
def test_it_decouples(name, length):
    """Forward dynamics under the law return u1, u2 and u3 to 1e-9 (38) to (40)."""
    case = CASES[name]
    data = case["input"]
    _, terms, distribution, u3, law = law_of(case, length)
    motion = system_motion(terms, law.torque)
    environment = terms.environment
    s_rate = environment.E_P @ motion.object_acceleration + environment.E_P_dot_v
    size = 1e-9 * np.max(np.abs(motion.object_acceleration))
    assert_allclose(s_rate, data["u1"], rtol=0, atol=size)
    assert_allclose(motion.surface_forces, data["u2"], rtol=0, atol=1e-9 * 100.0)
    found = distribution.internal_force(motion.contact_forces)
    assert_allclose(found, u3, rtol=0, atol=1e-9 * 100.0)
