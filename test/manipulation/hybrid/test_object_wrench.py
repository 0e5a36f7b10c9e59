# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The wrench that contacts must exert on the object."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.hybrid.cases import NAMES, state_of, system_of
from numpy.testing import assert_allclose
from support.papers import CASES

from robot_dynamics.manipulation.hybrid import ForceDistribution
from robot_dynamics.manipulation.hybrid.system_equation import object_wrench
from robot_dynamics.reproductions.yoshikawa_zheng.law import hybrid_torque


@pytest.mark.parametrize("name", NAMES)
def test_it_is_what_the_law_distributes(name):
    """The law's contact forces make it, with surfaces and without, for one state and for many."""
    system = system_of(CASES[name])
    q, qd, at, twist, _ = state_of(CASES[name])
    distribution = ForceDistribution.least(system)
    terms = system.terms(q, qd, at, twist)
    C = len(system.environment.surfaces)
    rng = np.random.default_rng(0)
    u2 = rng.normal(size=C)
    u3 = rng.normal(size=len(distribution.names))
    law = hybrid_torque(terms, distribution, rng.normal(size=6 - C), u2, u3)
    expected = system.constant_wrench_map @ law.contact_forces
    arguments = (system.held, system.arms.gravity, at[:3, :3], twist, law.object_acceleration)
    found = object_wrench(*arguments, terms.environment.E_F.T @ u2)
    assert_allclose(found, expected, atol=1e-9)
    many = [np.tile(part, (4,) + (1,) * np.ndim(part)) for part in arguments[2:]]
    pushed = np.tile(terms.environment.E_F.T @ u2, (4, 1))
    assert_allclose(object_wrench(*arguments[:2], *many, pushed), [expected] * 4, atol=1e-9)
