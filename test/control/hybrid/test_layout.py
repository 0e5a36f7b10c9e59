# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors of the law are laid out without gaps, as long as their parts."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.control.hybrid.law_inputs import Layout
from robot_dynamics.control.hybrid.step import HybridOutputs, OutputPart


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


def test_every_output_has_a_name():
    """Of one state and of many cells; a name without a part is an error."""
    layout = Layout(joints=14, directions=12, surfaces=2, arms=2, passive_joints=4)
    named = {name for name, part in vars(HybridOutputs).items() if isinstance(part, OutputPart)}
    assert named == layout.outputs.keys()
    one = np.arange(float(layout.size(layout.outputs)))
    many = np.stack([one, -one])
    for name, at in layout.outputs.items():
        part = getattr(HybridOutputs(one, layout.outputs), name)
        np.testing.assert_array_equal(part, one[at])
        rows = getattr(HybridOutputs(many, layout.outputs), name)
        np.testing.assert_array_equal(rows, [part, -part])
