# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A hybrid system of a grasp system is the same arms and the same object."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.mechanisms import two_arms

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.grasping import hybrid_system
from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.model import pose
from robot_dynamics.robot import Robot

CELL = two_arms((7, 6))


def test_arms_and_object_have_the_same_inertia():
    """Inertia matrices of arms and object are blocks of the closed-loop model's."""
    system = CELL.system
    hybrid = hybrid_system(system)
    q = CELL.start + 0.0
    whole = Robot(system.model).inertia_matrix(q)
    at = pose(q[system.object_q][:3], Rotation.from_quat(q[system.object_q][3:]).as_matrix())
    terms = hybrid.terms(q[system.q_index], np.zeros(13), at, np.zeros(6))
    assert hybrid.arms.joint_names == system.joint_names
    assert_allclose(terms.M, whole[np.ix_(system.v_index, system.v_index)], atol=1e-12)
    # The object's, moved to its centre of mass: I_O = I_C - m c x c x.
    body = system.model.bodies[system.object_body].inertia
    c = np.array(list(body.h)) / body.mass
    about = terms.I_B[:3, :3] + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
    assert_allclose(about, np.array(body.I.rows()), atol=1e-14)


def test_grasps_are_rigid_contacts_by_default():
    """The contact frames are the grasp frames; another number of contacts is refused."""
    system = CELL.system
    hybrid = hybrid_system(system)
    for contact, grasp in zip(hybrid.contacts, system.grasps, strict=True):
        assert contact.kind == "rigid"
        assert_allclose(contact.pose, grasp)
    with pytest.raises(ArgumentError, match="1 contacts for 2 arms"):
        hybrid_system(system, [Contact.of_kind("rigid", np.eye(4))])
