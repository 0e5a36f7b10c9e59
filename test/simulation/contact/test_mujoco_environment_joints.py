# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's hinges and lines and ours bear the same."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.contact_scenes import free_body
from support.mechanisms import two_arms
from support.plants import mujoco_plant

from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.model import LinkElement, pose
from robot_dynamics.simulation.contact.environment_joints import EnvironmentJoint
from robot_dynamics.simulation.contact.report import ContactMode
from robot_dynamics.simulation.mujoco_contacts import MujocoEnvironmentJoints
from robot_dynamics.simulation.mujoco_model import mujoco_xml
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import ArmContact, Scene
from robot_dynamics.simulation.settings import PlantSettings

mujoco = pytest.importorskip("mujoco")

PERIOD = 0.002
CELL = two_arms()
SETTINGS = PlantSettings(command_delay_periods=0, damping_scale=0.0, friction_scale=0.0)


@pytest.mark.parametrize("kind", ["hinge", "line"])
@pytest.mark.parametrize("resisted", [False, True])
def test_two_arms_swing_a_box_alike(kind, resisted):
    """Forces and moments, in axes and signs, and the motion, over 0.1 s under constant torques.

    MuJoCo's integrator is of first order: 0.2 % of the motion, to which the threshold leaves a
    factor of two. Its forces are means of the control period, ours those of its last step, a
    millisecond later: 0.6 % of the largest, 150 N, while the box swings (measured), with the same
    factor. The holding parts are springs: with resistance they bear more, and give way by 11
    micrometres.
    """
    system = CELL.system
    at = pose(CELL.start[system.object_q][:3])
    part = pose((0.2, 0.1, -0.1), Rotation.from_rotvec([0.3, 0.2, 0.5]).as_matrix())
    against = {"hinge": (4.0, 3.0), "line": (20.0, 15.0)}[kind] if resisted else ()
    # The line's origin is elsewhere on it.
    frame = at @ part @ pose((0.0, 0.0, 0.3 if kind == "line" else 0.0))
    contacts = tuple(ArmContact(Contact.of_kind("rigid", g)) for g in system.grasps)
    scene = Scene(system, contacts, (), (EnvironmentJoint("door", kind, frame, part, *against),))
    ours = ScenePlant(scene, CELL.start, PERIOD, SETTINGS)
    theirs = mujoco_plant(scene, CELL.start, PERIOD, SETTINGS)
    assert_allclose(theirs.reset().wrenches, ours.reset().wrenches, atol=1e-9)
    torque = np.linspace(-2.0, 2.0, len(system.joint_names))
    for _ in range(50):
        mine, other = ours.step(torque), theirs.step(torque)
    moved = np.abs(mine.q - CELL.start[system.q_index]).max()
    assert moved > 0.01
    assert_allclose(other.q, mine.q, atol=0.004 * moved)
    one, two = ours.contacts()[-1], theirs.contacts()[-1]
    assert one.name == two.name == "door"
    assert one.state is two.state is ContactMode.HELD
    assert np.abs(one.force).max() > 5.0
    assert_allclose(two.force, one.force, atol=0.012 * np.abs(one.force).max())
    assert_allclose(two.moment, one.moment, atol=0.012 * np.abs(one.moment).max())
    assert_allclose(two.axes, one.axes)
    assert_allclose(two.point, one.point, atol=0.01 * moved)
    truth = theirs.truth()
    assert 0.0 < truth.closure_position < (1.5e-5 if resisted else 1e-5)
    assert truth.closure_rotation < 1e-5
    assert ours.truth().closure_position < 1e-12


def resisted(load, *environment_joints):
    """Return position and twist, linear first, and reports of a kilogram after 20 ms in MuJoCo.

    It is on hinges and lines, under a load [N] along z.
    """
    link = LinkElement("box", 1.0, (0.0, 0.0, 0.0), 0.01 * np.eye(3))
    scene = Scene(free_body(link, (0.0, 0.0, load)), (), (), environment_joints)
    start, step = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), 2e-4
    model = mujoco.MjModel.from_xml_string(mujoco_xml(scene, start, step, 2.0 * step))
    data = mujoco.MjData(model)
    box = model.joint("world_to_box")
    watched = MujocoEnvironmentJoints(mujoco, model, data, scene)
    for _ in range(100):
        mujoco.mj_step(model, data)
        watched.stepped()
    watched.take()
    return data.qpos[box.qposadr[0] :][:3], data.qvel[box.dofadr[0] :][:6], watched.reports()


@pytest.mark.parametrize("lines", [1, 2])
@pytest.mark.parametrize("friction", [6.0, 400.0])
def test_lines_resist_by_coulomb(lines, friction):
    """20 N along one line, or along an axis that two points are on: both resist, none rattles.

    Sticking gives way by 1e-4 of the free motion, over a few steps; sliding is off by 3e-4 where
    each line takes a carriage of 1e-4 of the mass along (measured).
    """
    along = [
        EnvironmentJoint(f"rail{i}", "line", np.eye(4), pose((0.0, 0.0, 0.1 - 0.2 * i)), friction)
        for i in range(lines)
    ]
    position, twist, reports = resisted(20.0, *along)
    total = min(lines * friction, 20.0)
    assert sum(-one.force[2] for one in reports) == pytest.approx(total, rel=1e-3)
    assert twist[2] == pytest.approx((20.0 - total) * 0.02, rel=6e-4, abs=4e-6)
    assert position[2] == pytest.approx((20.0 - total) * 0.02**2 / 2, rel=0.02, abs=1e-7)


@pytest.mark.parametrize("friction", [0.4, 400.0])
def test_a_hinge_resists_by_coulomb(friction):
    """A hinge along y, 0.1 m beside a kilogram under 10 N: 1 N m, against friction or less.

    It turns by 6 mrad: the lever is 0.1 m to rounding of that squared.
    """
    frame = pose((0.1, 0.0, 0.0), Rotation.from_euler("x", -90.0, degrees=True).as_matrix())
    _, twist, (report,) = resisted(10.0, EnvironmentJoint("door", "hinge", frame, frame, friction))
    resists = min(friction, 1.0)
    assert report.moment[2] == pytest.approx(-resists, rel=1e-3)
    rate = (1.0 - resists) / (0.01 + 0.1**2) * 0.02
    assert twist[4] == pytest.approx(rate, rel=1e-3, abs=4e-6)


@pytest.mark.parametrize("damping", [0.1, 30.0, 1e4, 1e8])
def test_no_damping_is_too_large(damping):
    """A load of 10 N on a damped line: 1e5 m/s by a step's formula is no danger.

    Damping is that of the step's end: with 30 N s/m a step of 0.2 ms is off by 0.6 % at most.
    """
    _, twist, (report,) = resisted(
        10.0, EnvironmentJoint("rail", "line", np.eye(4), np.eye(4), 0.0, damping)
    )
    ideal = -10.0 / damping * np.expm1(-damping * 0.02)
    assert twist[2] == pytest.approx(ideal, rel=6e-3, abs=4e-6)
    assert report.force[2] == pytest.approx(twist[2] / 0.02 - 10.0, abs=2e-3)  # Newton's mean
