# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The length of a typical link."""

from __future__ import annotations

import pytest

from robot_dynamics.model.typical_length import typical_length


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_frames_that_should_coincide_do_not_count(unit):
    """Zeros, and rounding errors of zeros, are left out in any unit of length."""
    distances = [0.0, 2e-16, 0.3, 0.0, 0.5, 4.0]
    assert typical_length(unit * d for d in distances) == pytest.approx(0.5 * unit, rel=1e-15)


def test_without_distances_it_is_a_metre():
    """All joints in one point, or none at all, give no length."""
    assert typical_length([0.0, 0.0]) == typical_length([]) == 1.0
