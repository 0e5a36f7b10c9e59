# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The prismatic joint."""

import numpy as np
from model.joints.cases import columns

from robot_dynamics.model.joints import Prismatic, verify


def test_its_parts_fit_together():
    """Transform, S, T, steps and residual agree by finite differences."""
    assert verify(Prismatic()) == []


def test_it_moves_along_z():
    """S = e6, and the origin of the successor is at (0, 0, q)."""
    np.testing.assert_array_equal(columns(Prismatic().subspace([1.0])), np.eye(6)[:, [5]])
    assert list(Prismatic().transform([0.7]).r) == [0.0, 0.0, 0.7]
