# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Observations of contacts are in the stated frames."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.contact_scenes import BOX, between_fingers, on_surfaces, run
from support.mechanisms import two_arms, world_poses

from robot_dynamics.contact.material import Material
from robot_dynamics.contact.surfaces import plane
from robot_dynamics.manipulation.hybrid import Contact, FrictionCone
from robot_dynamics.model import pose
from robot_dynamics.simulation.contact.observed_contacts import ObservedContacts
from robot_dynamics.simulation.contact.report import ContactMode
from robot_dynamics.simulation.contact.time_stepping import TimeStepping
from robot_dynamics.simulation.scene import ArmContact, Scene, SurfaceContact, points_of_face

CELL = two_arms()


@pytest.fixture(scope="module")
def mixed():
    """Return a scene of a rigid grasp and a soft finger, and its motion."""
    contacts = tuple(
        ArmContact(Contact.of_kind(kind, grasp), Material(FrictionCone(0.5, 0.02)))
        for kind, grasp in zip(("rigid", "soft finger"), CELL.system.grasps, strict=True)
    )
    scene = Scene(CELL.system, contacts)
    motion = TimeStepping(scene)
    return scene, motion


def test_wrenches_make_the_joint_forces(mixed):
    """J^T P of all rows is the effect of the tools' wrenches on joints and object.

    Rows along which the soft finger exerts nothing are zero, so that the map can be undone.
    """
    scene, motion = mixed
    rng = np.random.default_rng(0)
    forces = rng.normal(size=len(motion.state.contacts.force))
    seen = ObservedContacts(motion.terms).look(CELL.start, np.zeros(len(motion.v)))
    wrenches = seen.wrenches(forces)
    poses = world_poses(scene.model, CELL.start)
    frame = poses[BOX.name]
    total = np.zeros(6)
    for arm, wrench in zip(scene.system.arms, wrenches, strict=True):
        R, p = poses[arm.tool][:3, :3], poses[arm.tool][:3, 3] - frame[:3, 3]
        total[3:] += R @ wrench[3:]
        total[:3] += R @ wrench[:3] + np.cross(p, R @ wrench[3:])
    rest = np.zeros(len(motion.v))
    J = motion.terms(CELL.start, rest, rest, rest, rest, 0.0).J
    assert_allclose((J.T @ forces)[scene.system.object_v], total, atol=1e-13)
    forces[6:] = [1.0, 0.2, 0.3, 0.0]
    assert_allclose(seen.forces(seen.wrenches(forces)), forces, atol=1e-13)


def test_openings_tell_distances_from_angles(mixed):
    """A grasp that is moved and turned apart is open by that."""
    scene, motion = mixed
    q = CELL.start.copy()
    q[scene.system.object_q.start] += 1e-3
    position, rotation = ObservedContacts(motion.terms).look(q, np.zeros(len(motion.v))).openings()
    assert_allclose((position, rotation), (1e-3, 0.0), atol=1e-12)
    v = np.zeros(len(motion.v))
    v[scene.system.object_v.start] = 2e-3
    turned = motion.terms.move(CELL.start, v)
    position, rotation = ObservedContacts(motion.terms).look(turned, v).openings()
    assert_allclose(rotation, 2e-3, rtol=1e-6)


def test_openings_are_of_closed_grasps_from_where_they_closed(mixed):
    """An open gripper leaves nothing open, and one that closed 1 mm beside its grasp is there."""
    scene, motion = mixed
    q, v = CELL.start.copy(), np.zeros(len(motion.v))
    q[scene.system.object_q.start] += 1e-3
    motion.start(q)
    contacts, seen = motion.state.contacts, ObservedContacts(motion.terms)
    contacts.loose[seen.rows(0)] = True
    assert seen.look(q, v, contacts).openings() == (0.0, 0.0)
    assert_allclose(seen.apart(0), (1e-3, 0.0), atol=1e-12)
    contacts.loose[:], contacts.rest[seen.rows(0)] = False, motion.terms.at(q, v).error
    assert seen.look(q, v, contacts).openings() == (0.0, 0.0)
    assert_allclose(seen.look(CELL.start, v, contacts).openings(), (1e-3, 0.0), atol=1e-12)


def test_reports_of_a_block_that_slides():
    """Forces, slip, gap and friction used are those of the corners, in the surface's axes."""
    corners = points_of_face(0.1, 0.1, pose((0.0, 0.0, -0.05)))
    floor = SurfaceContact(
        "floor", plane((0, 0, 0), (0, 0, 1)), corners, Material(FrictionCone(0.3))
    )
    scene = on_surfaces(floor)
    motion = TimeStepping(scene)
    motion.start(np.array([0, 0, 0.05, 0, 0, 0, 1.0]), np.array([0, 0, 0, 0.5, 0, 0]))
    run(motion, 0.01)
    now = ObservedContacts(motion.terms).look(motion.q, motion.v)
    reports = now.reports(motion.state.contacts.force, motion)
    assert [r.name for r in reports] == ["floor"] * 4
    assert {r.state for r in reports} == {ContactMode.SLIDING}
    total = sum(r.axes.T @ r.force for r in reports)
    assert_allclose(total, 2.0 * 9.81 * np.array([-0.3, 0, 1]), atol=1e-9)
    for r in reports:
        assert_allclose(r.axes[:2].T @ r.slip, motion.v[3:], atol=1e-12)
        assert_allclose(r.friction_used, 1.0, rtol=1e-9)
        assert_allclose((r.gap, r.point[2]), 0.0, atol=1e-12)


def test_reports_of_fingers():
    """Between soft fingers: the weight is shared, the squeeze is along the normals."""
    scene, start = between_fingers(Material(FrictionCone(0.8, 0.01)), "soft finger")
    motion = TimeStepping(scene)
    motion.start(start)
    force = np.zeros(8)
    force[scene.system.v_index] = 40.0
    run(motion, 0.01, force=force)
    now = ObservedContacts(motion.terms).look(motion.q, motion.v)
    for report, grasp in zip(
        now.reports(motion.state.contacts.force, motion), scene.system.grasps, strict=True
    ):
        assert report.state is ContactMode.STICKING
        assert_allclose(report.point, grasp[:3, 3], atol=1e-9)
        assert_allclose(report.axes, grasp[:3, :3].T, atol=1e-9)
        assert_allclose(
            report.axes.T @ report.force, 40.0 * grasp[:3, 2] + [0, 0, 9.81], atol=1e-6
        )
        assert_allclose(report.friction_used, 9.81 / (0.8 * 40.0), rtol=1e-6)
