# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors of the law are laid out without gaps, as long as their parts."""

from __future__ import annotations

import pytest

from robot_dynamics.control.hybrid.law_inputs import Layout


@pytest.mark.parametrize("name", ["reference", "memory", "outputs", "sensors"])
@pytest.mark.parametrize("surfaces", [0, 2])
def test_parts_follow_one_another(name, surfaces):
    """Each part begins where the one before it ends; the last one ends with the vector."""
    layout = Layout(joints=14, directions=12, surfaces=surfaces, arms=2)
    parts = getattr(layout, name)
    end = 0
    for part in parts.values():
        assert part.start == end
        end = part.stop
    assert layout.size(parts) == end
    assert layout.internal == 6
