# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms that follow their contacts."""

from __future__ import annotations

import numpy as np
import pytest
from control.hybrid.tasks import START, Forward, system_of
from numpy.testing import assert_allclose
from support.hybrid_systems import LINKAGE
from support.sampled_decoupling import cell_of

from robot_dynamics.compiled_model import CompiledModel
from robot_dynamics.control.hybrid.arm_path import follow_contacts
from robot_dynamics.control.hybrid.planned_forces import object_motion
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms, link_transform
from robot_dynamics.manipulation.hybrid import ForceDistribution, system_motion
from robot_dynamics.manipulation.hybrid.from_grasps import hybrid_system
from robot_dynamics.manipulation.hybrid.system_equation import object_wrench
from robot_dynamics.model import pose_of

TIMES = np.linspace(0.0, 2.0, 21)


def followed(kind, distance=0.15):
    """Return a system, its motion, contact forces, and the arms' path."""
    system = system_of(kind, None, ())
    motion = object_motion(Forward(distance, surfaces=0).rows(TIMES), system.held.center)
    distribution = ForceDistribution.of_contacts(system)
    inside = np.zeros((len(TIMES), len(distribution.names)))
    inside[:, distribution.names.index("squeeze")] = 20.0
    wrench = object_wrench(system.held, system.arms.gravity, motion.R, *motion[2:])
    forces = distribution.contact_forces(wrench, inside)
    return system, motion, forces, follow_contacts(system, motion, forces, TIMES, START)


@pytest.mark.parametrize("kind", ["rigid", "soft finger", "line"])
def test_tools_stay_at_their_contacts(kind):
    """Points stay together; tools that are held rigidly keep their orientation as well."""
    system, motion, _, path = followed(kind)
    assert len(path.q) == len(TIMES)
    for q, x in zip(path.q, motion.x, strict=True):
        X0 = body_transforms(system.arms, joint_transforms(system.arms, q.tolist()))
        for tool, contact in zip(system.tools, system.contacts, strict=True):
            there = pose_of(link_transform(system.arms.link(tool), X0))
            assert_allclose(there[:3, 3], x + contact.pose[:3, 3], atol=1e-8)
            if kind == "rigid":
                assert_allclose(there[:3, :3], contact.pose[:3, :3], atol=1e-8)
    assert np.all(path.freedom > 0.01)


@pytest.mark.parametrize("kind", ["rigid", "soft finger"])
def test_torques_are_those_of_the_system_equation(kind):
    """Applied to K X = B at the same state they make the planned motion and contact forces."""
    system, motion, forces, path = followed(kind)
    for i in (0, 7, 20):
        at = np.eye(4)
        at[:3, :3], at[:3, 3] = motion.R[i], motion.x[i]
        still = np.zeros(system.arms.nv)
        J = system.terms(path.q[i], still, at, motion.twist[i])
        qd = np.linalg.lstsq(J.J_S, J.W_S.T @ motion.twist[i], rcond=None)[0]
        terms = system.terms(path.q[i], qd, at, motion.twist[i])
        found = system_motion(terms, path.torque[i])
        assert_allclose(found.object_acceleration, motion.acceleration[i], atol=1e-6)
        assert_allclose(found.contact_forces, forces[i], atol=1e-5)


def test_out_of_reach_the_path_ends_with_what_is_left():
    """A metre ahead is further than the arms are long: some of it remains."""
    _, _, _, path = followed("rigid", 1.0)
    assert 5 < len(path.q) < len(TIMES)
    assert path.gaps.max() > 1e-3


def test_a_straight_arm_has_no_freedom():
    """Near its full reach an arm moves hardly at all along itself."""
    _, _, _, path = followed("rigid", 1.0)
    assert path.freedom[-1].min() < 0.5 * path.freedom[0].min()


def test_arms_with_loops_are_followed_by_their_drives():
    """Loops and contacts are closed all along, and torques are those of drives (12,)."""
    cell = cell_of(2, LINKAGE)
    system = hybrid_system(cell.system)
    times = np.linspace(0.0, 1.0, 6)
    rows = np.zeros((6, 19 + 6))
    rows[:, :7] = cell.start[cell.system.object_q]
    rows[:, 1] += 0.03 * times
    rows[:, 11] = 0.03
    motion = object_motion(rows, system.held.center)
    q = cell.start[cell.system.every_q]
    path = follow_contacts(system, motion, np.zeros((6, 12)), times, q)
    assert path.q.shape == (6, 16)
    assert path.torque.shape == (6, 12)
    assert np.all(path.freedom > 0.01)
    arms = CompiledModel(system.arms)
    for at, x in zip(path.q, motion.x, strict=True):
        assert_allclose(arms.closure(at)[1], 0.0, atol=1e-12)
        for tool, contact in zip(system.tools, system.contacts, strict=True):
            place = x - system.held.center + contact.pose[:3, 3]
            assert_allclose(arms.pose(tool, at)[:3, 3], place, atol=1e-8)
    assert np.abs(path.q[-1] - path.q[0]).max() > 0.05
    # As far as linkages reach: what is left of the contacts is told, as of other arms.
    far = object_motion(np.vstack([rows, rows + 0.3 * np.eye(25)[1]]), system.held.center)
    late = follow_contacts(system, far, np.zeros((12, 12)), np.linspace(0.0, 2.2, 12), q)
    assert len(late.q) == 6
    assert late.gaps.max() > 1e-3
