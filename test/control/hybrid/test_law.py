# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled law is the law: equal to the one in NumPy, and exact under forward dynamics."""

from __future__ import annotations

import pytest
from support.exact_decoupling import worst
from support.hybrid_systems import GRASPS, SURFACES


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
