# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loops of each arm, their drives, and their closure."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.linkage_arms import five_bar_arm, linkage_robot

from robot_dynamics.dynamics.assembly import AssemblyError
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.manipulation.grasping import assembled, linkage_of
from robot_dynamics.manipulation.system import arms_of
from robot_dynamics.model import LinkElement, Mechanism, joined
from robot_dynamics.robot import Robot


def test_an_object_is_taken_out_and_internal_chains_stay():
    """The arms of a cell are the arms as they would be without it: the same model."""
    free = Mechanism("held", (LinkElement("box", 1.0, inertia=np.eye(3)),))
    arm = five_bar_arm("arm0")
    for parts in ([arm, free], [free, arm]):  # the object's body last, and first
        kinds = ["floating" if part is free else "fixed" for part in parts]
        cell = joined("cell", [(p, np.eye(4), k) for p, k in zip(parts, kinds, strict=True)])
        model = Robot.from_mechanism(cell).model
        box = model.link("box").body
        found = Robot(arms_of(model, {box}, model.loops))
        alone = Robot.from_mechanism(arm)
        assert found.model.joint_names == alone.model.joint_names
        q = np.linspace(0.1, 0.8, 8)
        for a, b in zip(found.constraint_terms(q, q), alone.constraint_terms(q, q), strict=True):
            assert_allclose(a, b, atol=1e-12)


def test_loops_belong_to_the_arm_whose_joints_they_bind():
    """Near, fore, crank and rod are bound by the pin; turn and wrist are not."""
    model = linkage_robot(2).model
    for i in range(2):
        path = model.support(model.link(f"arm{i}_tool").body)
        bound = [model.joint_names[b] for b in linkage_of(model, path, model.loops)]
        assert sorted(bound) == [f"arm{i}_{name}" for name in ("crank", "fore", "near", "rod")]
    assert linkage_of(model, path, ()) == ()


def test_a_linkage_is_assembled_as_it_is_said_to_be():
    """Both ways in which the pin closes are found, each from near to it; none is invented."""
    robot = Robot.from_mechanism(five_bar_arm("arm0"))
    drives = dict.fromkeys((f"arm0_{n}" for n in ("turn", "roll", "bend", "twist")), 0.0)
    drives |= {"arm0_near": 0.1, "arm0_crank": -0.05}
    one = assembled(robot.model, drives, {})
    # The other way: fore and rod are mirrored about the line between their ends.
    two = assembled(robot.model, drives, {"arm0_fore": -1.5, "arm0_rod": 1.5})
    for q in (one, two):
        assert_allclose(robot.closure(np.array(q))[1], 0.0, atol=1e-10)
    fore = robot.model.joint_index("arm0_fore")
    assert abs(one[fore] - two[fore]) > 0.5
    with pytest.raises(UnknownNameError, match="arm0_elbow"):
        assembled(robot.model, drives, {"arm0_elbow": 0.0})
    with pytest.raises(AssemblyError, match="arm0_pin"):
        assembled(robot.model, {**drives, "arm0_near": 0.6, "arm0_crank": -0.6}, {})
