# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The MuJoCo model of a grasp system has its masses, joints and grasps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.model.joints import joint_type
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.mujoco_model import addresses, mass_properties, mujoco_xml
from robot_dynamics.simulation.scene import Scene
from robot_dynamics.spatial import Inertia, Symmetric3, Vector3
from test.two_arms import two_arms

mujoco = pytest.importorskip("mujoco")

SYSTEM = two_arms()


def text_of(system):
    """Return the model's text, welds closing in two steps of 0.2 ms."""
    return mujoco_xml(Scene(system), system.model.neutral(), 0.0002, 0.0004)


@pytest.fixture(scope="module")
def compiled():
    """Return MuJoCo's model and data at the closed start."""
    model = mujoco.MjModel.from_xml_string(text_of(SYSTEM))
    data = mujoco.MjData(model)
    q = closed_configuration(SYSTEM, np.array([0.0, 0.0, 0.6, 0.0, 0.0, 0.0, 1.0]))
    q_at, _ = addresses(model, SYSTEM.joint_names)
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
    _, v_at = addresses(model, SYSTEM.joint_names)
    ours = Robot(SYSTEM.model).inertia_matrix(q)[np.ix_(SYSTEM.v_index, SYSTEM.v_index)]
    # MuJoCo keeps inertias as principal axes: one eigen decomposition of rounding more.
    assert_allclose(full[np.ix_(v_at, v_at)], ours, rtol=1e-9, atol=1e-9)


def test_reflected_inertia_is_armature():
    """A geared rotor adds the same to MuJoCo's diagonal as to ours."""
    bodies = list(SYSTEM.model.bodies)
    at = SYSTEM.model.joint_index(SYSTEM.joint_names[2])
    bodies[at] = replace(bodies[at], joint=replace(bodies[at].joint, armature=0.25))
    geared = replace(SYSTEM, model=replace(SYSTEM.model, bodies=tuple(bodies)))
    model = mujoco.MjModel.from_xml_string(text_of(geared))
    _, v_at = addresses(model, geared.joint_names)
    assert_allclose(model.dof_armature[v_at], np.eye(len(v_at))[2] * 0.25)


def with_joint(at, **values):
    """Return the system with a joint changed, by its place among the bodies."""
    bodies = list(SYSTEM.model.bodies)
    bodies[at] = replace(bodies[at], joint=replace(bodies[at].joint, **values))
    return replace(SYSTEM, model=replace(SYSTEM.model, bodies=tuple(bodies)))


def test_springs_pull_as_ours_do():
    """MuJoCo's passive force of a spring, with its rest, equals its part of our bias force."""
    at = SYSTEM.model.joint_index(SYSTEM.joint_names[1])
    sprung = with_joint(at, stiffness=35.0, rest=0.4)
    model = mujoco.MjModel.from_xml_string(text_of(sprung))
    data = mujoco.MjData(model)
    q_at, v_at = addresses(model, sprung.joint_names)
    q = closed_configuration(SYSTEM, np.array([0.0, 0.0, 0.6, 0.0, 0.0, 0.0, 1.0]))
    data.qpos[q_at] = q[SYSTEM.q_index]
    mujoco.mj_forward(model, data)
    none = np.zeros(SYSTEM.model.nv)
    ours = Robot(SYSTEM.model).bias_forces(q, none) - Robot(sprung.model).bias_forces(q, none)
    assert np.max(np.abs(ours)) > 1.0
    # The difference of our bias forces has their rounding.
    assert_allclose(data.qfrc_passive[v_at], ours[SYSTEM.v_index], atol=1e-12)


@pytest.mark.parametrize(("kind", "count"), [("revolute", 2), ("spherical", 1)])
def test_loops_of_arms_are_closed_by_connects(kind, count):
    """A ball is a point, a hinge two on its axis."""
    loops = SYSTEM.model.loops
    rod = replace(loops[0], name="rod", type=joint_type(kind))
    linked = replace(
        SYSTEM, model=replace(SYSTEM.model, loops=(*loops, rod)), internal_chains=len(loops)
    )
    text = text_of(linked)
    assert mujoco.MjModel.from_xml_string(text).neq == len(loops) + count
    assert text.count('site1="rod_') == count


def test_untranslatable_models_are_refused():
    """A loop that is no grasp, a spring at a free body: one sentence with the name."""
    grasp = SYSTEM.model.loops[0]
    prop = replace(grasp, name="prop")
    propped = replace(SYSTEM, model=replace(SYSTEM.model, loops=(*SYSTEM.model.loops, prop)))
    with pytest.raises(RobotDynamicsError, match=r"'prop' would close a loop, expected rigid"):
        text_of(propped)
    ball = replace(grasp, type=joint_type("spherical"))
    pinched = replace(SYSTEM, model=replace(SYSTEM.model, loops=(ball, *SYSTEM.model.loops[1:])))
    with pytest.raises(RobotDynamicsError, match=f"'{grasp.name}' would close a loop"):
        text_of(pinched)
    free = with_joint(SYSTEM.object_body, stiffness=3.0)
    with pytest.raises(RobotDynamicsError, match=r"floating joint '.*' would have a spring"):
        text_of(free)
    screw = with_joint(0, type=joint_type("helical", pitch=0.1))
    with pytest.raises(RobotDynamicsError, match=r"helical, expected .* revolute"):
        text_of(screw)


def test_tool_and_grasp_sites_coincide(compiled):
    """At a closed configuration both sides of every weld are at one pose."""
    _, data, _ = compiled
    for arm in SYSTEM.arms:
        tool, grasp = data.site(f"{arm.name}_tool"), data.site(f"{arm.name}_grasp")
        assert_allclose(tool.xpos, grasp.xpos, atol=1e-9)
        turn = tool.xmat.reshape(3, 3).T @ grasp.xmat.reshape(3, 3)
        assert Rotation.from_matrix(turn).magnitude() < 1e-7  # acos near 1 loses half the digits
