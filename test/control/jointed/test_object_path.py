# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Paths of jointed objects: derivatives of themselves, and motions that the joint allows."""

from __future__ import annotations

import numpy as np
import pytest
from control.jointed.situations import AT_REST, POSES, SECOND, SYSTEM, path
from manipulation.jointed_object.cases import closed_states, random_system
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.control.jointed.object_path import ObjectPath
from robot_dynamics.control.settings import ReferenceSettings, SegmentSettings, TurnSettings
from robot_dynamics.errors import ArgumentError
from robot_dynamics.reproductions.joint_space import JointSpaceModel
from robot_dynamics.reproductions.parts_motion import PartPoses, parts_motion


def test_the_path_starts_where_the_arms_are():
    """At the start nothing is lacking and nothing moves."""
    start = parts_motion(path(), 0.0)[0]
    error = start.error(PartPoses(SYSTEM).poses(AT_REST), AT_REST.centers)
    assert_allclose(error, 0.0, atol=1e-12)
    assert_allclose(start.velocity, 0.0, atol=1e-12)


@pytest.mark.parametrize("degrees", [0.0, 1e-7, 3.0, 80.0, 100.0, 179.999])
def test_errors_of_orientation_are_rotation_vectors(degrees):
    """Of R_d R^T, for small and large turns of both parts."""
    start = parts_motion(path(), 0.0)[0]
    poses = PartPoses(SYSTEM).poses(AT_REST)
    turn = np.radians(degrees) * np.array([0.6, -0.8, 0.0])
    poses[0, :3, :3] = Rotation.from_rotvec(-turn).as_matrix() @ poses[0, :3, :3]
    error = start.error(poses, AT_REST.centers)
    # Near half a turn the angle itself has half of the digits.
    assert_allclose(error[0, :3], turn, atol=1e-12 if degrees < 90.0 else 1e-7)
    assert_allclose(error[1], 0.0, atol=1e-12)


def test_velocities_and_accelerations_are_derivatives():
    """Of positions and orientations, to the accuracy of central differences."""
    h, t = 1e-4, np.array([0.11, 0.2, 0.31, 0.45])
    way = path()
    before, here, after = parts_motion(way, t - h), parts_motion(way, t), parts_motion(way, t + h)
    turned = after.rotation @ before.rotation.transpose(0, 1, 3, 2)
    omega = Rotation.from_matrix(turned.reshape(-1, 3, 3)).as_rotvec().reshape(-1, 2, 3) / (2 * h)
    v = (after.position - before.position) / (2 * h)
    # h^2 times third derivatives of a motion of half a second.
    assert_allclose(here.velocity, np.concatenate([omega, v], axis=-1), atol=1e-6)
    rate = (after.velocity - before.velocity) / (2 * h)
    assert_allclose(here.acceleration, rate, atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "stretch"),
    [
        ("spherical", {"rotate": TurnSettings((1.0, 2.0, 0.5), 20.0)}),
        ("revolute", {"rotate": TurnSettings((0.0, 0.0, 1.0), 20.0)}),
        ("prismatic", {"move": (0.0, 0.0, 0.05)}),
    ],
)
def test_both_parts_agree_about_their_joint(kind, stretch):
    """The relative motion is one that the joint's constraint forces do no work on."""
    rng = np.random.default_rng(2)
    system, q, _ = next(closed_states(rng, random_system(rng, kind), 1))
    terms = JointSpaceModel(system).terms(q, 0 * q)
    first = ReferenceSettings(
        (SegmentSettings(0.5, move=(0.1, 0.0, 0.2), rotate=TurnSettings((1.0, 0.0, 0.0), 30.0)),)
    )
    # z of the joint is its axis: paths are in the axes of its frame.
    way = ObjectPath(
        system, system.part_poses(q), first, ReferenceSettings((SegmentSettings(0.5, **stretch),))
    )
    motion = parts_motion(way, 0.0)[0]
    assert_allclose(motion.error(PartPoses(system).poses(terms), terms.centers), 0.0, atol=1e-9)
    # With the directions of the forces carried along by the second part.
    for time in (0.2, 0.35):
        at = parts_motion(way, time)[0]
        turn = at.rotation[1] @ motion.rotation[1].T
        about = terms.point - terms.centers[1]
        arm = turn @ about
        point = at.position[1] + arm
        twist = at.velocity.copy()
        twist[:, 3:] += np.cross(twist[:, :3], point - at.position)
        relative = twist[1] - twist[0]
        L = terms.L_s[1].copy()
        L[:3] -= np.cross(about, L[3:], axisb=0, axisc=0)
        blocked = np.vstack([turn @ L[:3], turn @ L[3:]])
        assert_allclose(blocked.T @ relative, 0.0, atol=1e-9)
        assert np.linalg.norm(relative) > 0.05


def test_paths_that_open_the_joint_are_refused():
    """A spherical joint does not slide."""
    away = ReferenceSettings((SegmentSettings(0.5, move=(0.0, 0.0, 0.01)),))
    with pytest.raises(ArgumentError, match="opens the spherical joint 'object_joint'"):
        ObjectPath(SYSTEM, POSES, ReferenceSettings(), away)


def test_the_longer_part_rules_the_duration():
    """The path is over when both parts are."""
    assert path().duration == 0.5
    assert ObjectPath(SYSTEM, POSES, ReferenceSettings(), SECOND).duration == 0.4
