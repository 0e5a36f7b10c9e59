# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces of wrenches in frames that people know."""

import numpy as np
import pytest

from robot_dynamics.control.hybrid.named_forces import (
    contact_forces,
    internal_forces,
    surface_slices,
    wrench_components,
)
from robot_dynamics.control.hybrid.surface_check import SurfaceRow
from robot_dynamics.errors import ArgumentError

WALL = (SurfaceRow("wall"),)
FACE = (
    SurfaceRow("table"),
    SurfaceRow("table", False, "rad", "N m", 1, -1.0),
    SurfaceRow("table", False, "rad", "N m", 0),
)
TWO_ARMS = ("squeeze", "shear y", "shear z", "twist", "bending y", "bending z")


def test_surfaces_have_their_rows_one_after_the_other():
    """By name, in the order of the scenario."""
    assert surface_slices(WALL + FACE) == {"wall": slice(0, 1), "table": slice(1, 4)}


def test_a_wrench_is_the_forces_of_a_surface():
    """Its push, and the moments of a face, which have a sign of their own."""
    assert contact_forces(WALL, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 20.0])).tolist() == [20.0]
    found = contact_forces(FACE, np.array([0.3, 0.2, 0.0, 0.0, 0.0, 20.0]))
    assert found.tolist() == [20.0, -0.2, 0.3]


def test_forces_that_a_surface_cannot_exert_are_refused():
    """A force along a surface without friction; a pull at one that can only be pushed on."""
    with pytest.raises(ArgumentError, match="force x is 3, but surface 'wall' bears force z"):
        contact_forces(WALL, np.array([0.0, 0.0, 0.0, 3.0, 0.0, 20.0]))
    with pytest.raises(ArgumentError, match="pulls at surface 'wall'"):
        contact_forces(WALL, np.array([0.0, 0.0, 0.0, 0.0, 0.0, -1.0]))


def test_a_wrench_is_the_internal_forces_of_two_arms():
    """Each component by its name; palms squeeze and twist alone."""
    wrench = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert internal_forces(TWO_ARMS, wrench).tolist() == [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]
    palms = ("squeeze", "twist")
    assert internal_forces(palms, np.array([0.5, 0, 0, 30.0, 0, 0])).tolist() == [30.0, 0.5]
    with pytest.raises(ArgumentError, match=r"force y is 5, .* torque x, force x"):
        internal_forces(palms, np.array([0.0, 0.0, 0.0, 30.0, 5.0, 0.0]))


def test_of_more_arms_all_squeezes_are_one():
    """Moments between three arms have no component of one wrench."""
    names = ("squeeze a-b", "squeeze a-c", "moment x of a")
    assert internal_forces(names, np.array([0, 0, 0, 9.0, 0, 0])).tolist() == [9.0, 9.0, 0.0]


def test_internal_forces_of_two_arms_are_a_wrench():
    """Its components give the forces back; others are no wrench."""
    wrench = np.array([1.0, 0.0, 0.0, 4.0, 0.0, 0.0])
    for names in (TWO_ARMS, ("squeeze", "twist")):
        again = np.zeros(6)
        again[wrench_components(names)] = internal_forces(names, wrench)
        assert again.tolist() == wrench.tolist()
    assert wrench_components(("squeeze a-b", "moment x of a")) is None
    assert wrench_components(()) is None
