# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Scales of rows and columns, and the names of coordinates and constraints."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import linkages

from robot_dynamics.dynamics.scaling import (
    constraint_groups,
    constraint_scales,
    coordinate_names,
    coordinate_scales,
    coordinates_of,
    model_length,
    model_reach,
    tree_length,
)
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, build


def test_the_length_is_that_of_a_typical_link():
    """It is the median of the distances between joints; coincident ones do not count."""
    # Crank 0.3, coupler 0.8, and the pin 0.9 from the base and 0.6 from the rocker's joint.
    assert model_length(build(linkages.four_bar())) == pytest.approx(0.7)
    assert model_reach(build(linkages.four_bar())) == pytest.approx(0.3 + 0.8 + 0.9 + 0.6)


def test_the_length_of_the_tree_alone():
    """The place of a loop's cut does not matter: it may be a parameter of compiled code."""
    model = build(linkages.four_bar())
    assert tree_length(model) == pytest.approx(0.55)  # of crank and coupler
    moved = build(linkages.four_bar(ground=0.65))
    assert tree_length(moved) == tree_length(model)
    assert model_length(moved) != model_length(model)


def test_a_model_in_one_point_has_a_metre():
    """Without any distance the length is 1 m, so that nothing is divided by zero."""
    link = LinkElement("ball", 1.0, (0.0, 0.0, 0.0), np.eye(3))
    joint = JointElement("wrist", "spherical", "base", "ball")
    assert model_length(build(Mechanism("wrist", (LinkElement("base"), link), (joint,)))) == 1.0


def test_rotations_are_scaled():
    """Rows and coordinates of rotations get the length, those of displacements one."""
    model = build(linkages.slider_crank())
    assert_allclose(coordinate_scales(model, 0.5), [0.5, 0.5, 1.0])
    assert_allclose(constraint_scales(model, 0.5), [0.5, 0.5, 1.0, 1.0, 1.0])


def test_names_of_coordinates():
    """A joint with one freedom names its coordinate; others add the direction or the number."""
    model = build(linkages.stewart_platform())
    names = coordinate_names(model)
    assert len(set(names)) == model.nv
    assert names[:6] == tuple(f"platform_joint.{d}" for d in ("rx", "ry", "rz", "x", "y", "z"))
    assert {"leg0_joint.1", "leg0_joint.2", "rod0_joint"} <= set(names)
    assert coordinates_of(model, "platform_joint") == [0, 1, 2, 3, 4, 5]
    assert coordinates_of(model, "platform_joint.z") == [5]
    with pytest.raises(UnknownNameError, match="'rod1_joint'"):
        coordinates_of(model, "rod_1_joint")


def test_groups_are_the_loops():
    """Each loop joint owns its rows, in order and without a gap."""
    extra = LoopElement("extra", "point_on_plane", "base", "rod")
    model = build(linkages.slider_crank().with_loops([extra]))
    assert constraint_groups(model) == [("wrist", slice(0, 5)), ("extra", slice(5, 6))]
