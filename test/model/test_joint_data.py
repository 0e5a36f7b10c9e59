# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Data of each freedom of a model's joints."""

from __future__ import annotations

import pytest

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import Joint, LoopJoint
from robot_dynamics.model.joints import Cylindrical, Fixed, Planar, PointOnPlane, Universal
from robot_dynamics.spatial import Transform

HERE = Transform.identity()


@pytest.mark.parametrize("field", ["damping", "friction", "stiffness", "rest", "active", "limits"])
def test_values_of_each_freedom_are_counted(field):
    """A tuple has one value for each freedom, in the tree and in loops."""
    with pytest.raises(RobotDynamicsError, match=rf"{field}.*'j'.*\b3\b"):
        Joint("j", Cylindrical(), **{field: (1.0, 2.0, 3.0)})
    with pytest.raises(RobotDynamicsError, match=rf"{field}.*'j'.*\b3\b"):
        LoopJoint("j", Cylindrical(), 0, 1, HERE, HERE, **{field: (1.0, 2.0, 3.0)})


def test_one_value_is_that_of_all_freedoms():
    """A number stands for as many as there are freedoms."""
    joint = LoopJoint("j", Cylindrical(), 0, 1, HERE, HERE, damping=0.5, active=(False, True))
    assert joint.of_each_freedom(joint.damping) == (0.5, 0.5)
    assert (joint.damped, joint.elastic, joint.driven) == (True, False, True)
    assert not LoopJoint("j", Fixed(), 0, 1, HERE, HERE).damped


def test_freedoms_have_names():
    """The joint's own for one freedom, directions where S is constant, numbers elsewhere."""
    assert Joint("j", Planar()).freedom_names == ("j.rz", "j.x", "j.y")
    assert Joint("j", Universal()).freedom_names == ("j.1", "j.2")
    assert Joint("j", Fixed()).freedom_names == ()
    assert LoopJoint("j", PointOnPlane(), 0, 1, HERE, HERE).freedom_names == ()


class Silent(Cylindrical):
    """A type of a user who did not say how positions follow from a placement."""

    has_coordinates = False


def test_springs_need_coordinates():
    """A type that does not tell its coordinates can have no spring, and all else."""
    Joint("j", Silent(), damping=1.0)
    with pytest.raises(RobotDynamicsError, match="'j'"):
        Joint("j", Silent(), stiffness=1.0)
