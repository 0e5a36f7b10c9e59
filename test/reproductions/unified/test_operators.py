# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's stacked operators make the blocks of the joint-space inertia matrix."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reproductions.unified.cases import NAMES, state_of, system_of
from support.papers import CASES

from robot_dynamics.reproductions.unified import Operators


@pytest.mark.parametrize("name", NAMES)
def test_blocks_are_those_of_the_engine(name):
    """Inertia, bias and Jacobians are equal in every block, whatever the base."""
    case = CASES[name]
    system = system_of(case)
    q, qd, _ = state_of(case, system)
    theirs = system.terms(q, qd).parts
    ours = Operators.of(system, q, qd).partition(system)
    for field in fields(ours):
        expected = getattr(theirs, field.name)
        # Sums of a dozen products, of entries up to 1e3.
        size = max(1.0, np.max(np.abs(expected), initial=0.0))
        assert_allclose(getattr(ours, field.name), expected, atol=1e-12 * size)
