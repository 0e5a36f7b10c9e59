# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The MuJoCo model of a grasp system has its masses, joints and grasps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.mujoco_model import addresses, mass_properties, mujoco_xml
from robot_dynamics.spatial import Inertia, Symmetric3, Vector3
from test.two_arms import two_arms

mujoco = pytest.importorskip("mujoco")

SYSTEM = two_arms()


@pytest.fixture(scope="module")
def compiled():
    """Return MuJoCo's model and data at the closed start."""
    model = mujoco.MjModel.from_xml_string(mujoco_xml(SYSTEM, 0.0002, 0.0004))
    data = mujoco.MjData(model)
    q = closed_configuration(SYSTEM, np.array([0.0, 0.0, 0.6, 0.0, 0.0, 0.0, 1.0]))
    q_at, _ = addresses(model, SYSTEM.model, SYSTEM.joint_names)
    data.qpos[q_at] = q[SYSTEM.q_index]
    name = SYSTEM.model.bodies[SYSTEM.object_body].joint.name
    at = int(model.joint(name).qposadr[0])
    x, y, z, qx, qy, qz, qw = q[SYSTEM.object_q]
    data.qpos[at : at + 7] = [x, y, z, qw, qx, qy, qz]
    mujoco.mj_forward(model, data)
    return model, data, q


def test_mass_properties_invert_the_inertia():
    """Mass, centre and inertia about it come back from the ten parameters."""
    about = np.array([[0.5, 0.01, 0.02], [0.01, 0.6, -0.03], [0.02, -0.03, 0.7]])
    inertia = Inertia.from_center_of_mass(2.0, Vector3(0.1, -0.2, 0.3), Symmetric3.of(about))
    mass, center, back = mass_properties(inertia)
    assert mass == 2.0
    assert_allclose(center, [0.1, -0.2, 0.3], atol=1e-15)
    assert_allclose(back, about, atol=1e-15)


def test_inertia_matrix_agrees(compiled):
    """MuJoCo's joint-space inertia matrix over the arms' joints is ours."""
    model, data, q = compiled
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    _, v_at = addresses(model, SYSTEM.model, SYSTEM.joint_names)
    ours = Robot(SYSTEM.model).inertia_matrix(q)[np.ix_(SYSTEM.v_index, SYSTEM.v_index)]
    # MuJoCo keeps inertias as principal axes: one eigen decomposition of rounding more.
    assert_allclose(full[np.ix_(v_at, v_at)], ours, rtol=1e-9, atol=1e-9)


def test_tool_and_grasp_sites_coincide(compiled):
    """At a closed configuration both sides of every weld are at one pose."""
    _, data, _ = compiled
    for arm in SYSTEM.arms:
        tool, grasp = data.site(f"{arm.name}_tool"), data.site(f"{arm.name}_grasp")
        assert_allclose(tool.xpos, grasp.xpos, atol=1e-9)
        turn = tool.xmat.reshape(3, 3).T @ grasp.xmat.reshape(3, 3)
        assert Rotation.from_matrix(turn).magnitude() < 1e-7  # acos near 1 loses half the digits
