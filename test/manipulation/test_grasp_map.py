# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Grasp maps: identities, statics of a held bar, and continuity of the basis."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.mechanisms import random_pose

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.grasp_map import (
    GraspMap,
    force_transform,
    mean_grasp_distance,
    middle_frame,
    transmitted_force_map,
)
from robot_dynamics.model import pose

TOL = 1e-13  # products of three six-by-six matrices of order one
SHARES = {2: (0.3, 0.7), 3: (0.2, 0.5, 0.3), 4: (0.25, 0.25, 0.4, 0.1)}


@pytest.fixture
def rng():
    return np.random.default_rng(2)


@pytest.fixture(params=SHARES)
def grasps(request, rng):
    return [random_pose(rng, 0.2) for _ in range(request.param)]


def orthonormal_map(grasps):
    """Return Yoshikawa and Zheng's maps: W^+ and an orthonormal basis of the null space (12)."""
    total = np.hstack([force_transform(grasp) for grasp in grasps])
    basis = np.linalg.svd(total)[2][6:].T
    return GraspMap(total, np.linalg.pinv(total), basis, basis.T, middle_frame(grasps))


@pytest.fixture(params=["transmitted", "orthonormal"])
def grasp_map(request, grasps):
    if request.param == "transmitted":
        return transmitted_force_map(grasps, SHARES[len(grasps)])
    return orthonormal_map(grasps)


def test_identities(grasp_map, grasps):
    """W W^# = 1, W A = 0, and recovery undoes A and does not see W^#: force parts add up."""
    k = len(grasps)
    total, spread = grasp_map.total, grasp_map.distribution
    inner, recover = grasp_map.internal, grasp_map.recovery
    assert_allclose(total @ spread, np.eye(6), atol=TOL)
    assert_allclose(total @ inner, 0.0, atol=TOL)
    assert_allclose(recover @ inner, np.eye(6 * (k - 1)), atol=TOL)
    assert_allclose(recover @ spread, 0.0, atol=TOL)
    assert_allclose(spread @ total + inner @ recover, np.eye(6 * k), atol=TOL)


def test_total_is_the_sum_of_forces_and_their_moments(grasp_map, grasps, rng):
    """The wrench on the object: forces add, and so do moments about the object's origin."""
    wrenches = rng.normal(size=(len(grasps), 6))
    force, moment = np.zeros(3), np.zeros(3)
    for grasp, wrench in zip(grasps, wrenches, strict=True):
        f = grasp[:3, :3] @ wrench[3:]
        force += f
        moment += grasp[:3, :3] @ wrench[:3] + np.cross(grasp[:3, 3], f)
    assert_allclose(grasp_map.total @ wrenches.ravel(), [*moment, *force], atol=TOL)


def test_internal_forces_do_no_work_on_the_object(grasp_map, rng):
    """A rigid motion of all grasps together meets no resistance of an internal force."""
    twist, force = rng.normal(size=6), rng.normal(size=grasp_map.internal.shape[1])
    grasp_motions = grasp_map.total.T @ twist
    assert abs(grasp_motions @ (grasp_map.internal @ force)) < 1e-12


def test_batches_of_wrenches(grasp_map, rng):
    """internal_force takes leading dimensions."""
    wrenches = rng.normal(size=(4, 3, grasp_map.total.shape[1]))
    forces = grasp_map.internal_force(wrenches)
    assert_allclose(forces[2, 1], grasp_map.recovery @ wrenches[2, 1], atol=TOL)


def bar():
    """Return a bar along y whose grasp frames look at each other along their z axes."""
    left = pose((0.0, 0.2, 0.0), Rotation.from_euler("x", 90, degrees=True).as_matrix())
    right = pose((0.0, -0.2, 0.0), Rotation.from_euler("x", -90, degrees=True).as_matrix())
    return [left, right]


def test_squeeze_is_positive_inwards():
    """Two arms that each push a bar with 30 N squeeze it with 30 N; pulling is negative."""
    maps = transmitted_force_map(bar(), (0.5, 0.5))
    push = np.array([0, 0, 0, 0, 0, 30.0])  # along z of each grasp frame, into the bar
    assert_allclose(maps.internal_force(np.tile(push, 2)), [0, 0, 0, 30, 0, 0], atol=1e-14)
    assert_allclose(maps.internal_force(np.tile(-push, 2)), [0, 0, 0, -30, 0, 0], atol=1e-14)
    assert_allclose(maps.frame[:3, 0], [0, -1, 0], atol=1e-15)  # from the first to the second


def test_transmitted_force_is_the_definition(rng):
    """For two arms it is (1 - a_1) F_1 - a_1 F_2, both moved to the middle."""
    grasps = bar()
    maps = transmitted_force_map(grasps, (0.3, 0.7))
    wrenches = rng.normal(size=(2, 6))
    to_middle = np.linalg.inv(maps.frame)
    moved = []
    for grasp, wrench in zip(grasps, wrenches, strict=True):
        there = to_middle @ grasp
        f = there[:3, :3] @ wrench[3:]
        moved.append([*(there[:3, :3] @ wrench[:3] + np.cross(there[:3, 3], f)), *f])
    expected = 0.7 * np.array(moved[0]) - 0.3 * np.array(moved[1])
    assert_allclose(maps.internal_force(wrenches.ravel()), expected, atol=TOL)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
def test_shares_carry_the_load(share):
    """An arm of share a carries that part of any load, whatever the internal force."""
    maps = transmitted_force_map(bar(), (share, 1.0 - share))
    weight = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 50.0])
    first = (maps.distribution @ weight)[:6]
    # In axes of the first grasp frame the object's z axis is y.
    assert_allclose(first[3:], [0.0, 50.0 * share, 0.0], atol=1e-13)


def test_a_single_arm_has_no_internal_force():
    """One grasp leaves nothing inside: maps of no columns, and the whole load for the arm."""
    (grasp, _) = bar()
    maps = transmitted_force_map([grasp], (1.0,))
    assert maps.internal.shape == (6, 0)
    assert maps.internal_force(np.ones(6)).shape == (0,)
    assert_allclose(maps.total @ maps.distribution, np.eye(6), atol=TOL)


@pytest.mark.parametrize("shares", [(0.5, 0.6), (1.0,), (0.2, 0.3, 0.5)])
def test_shares_that_do_not_add_up_are_refused(shares):
    """Shares must be one for each arm and add up to 1."""
    with pytest.raises(RobotDynamicsError, match=r"load shares .* expected 2, .* sum 1"):
        transmitted_force_map(bar(), shares)


def test_orthonormal_basis_is_that_of_the_paper(grasps):
    """W^+ is the Moore-Penrose inverse and A has orthonormal columns (12)."""
    maps = orthonormal_map(grasps)
    assert_allclose(maps.internal.T @ maps.internal, np.eye(6 * (len(grasps) - 1)), atol=TOL)
    assert_allclose(maps.distribution @ maps.total, (maps.distribution @ maps.total).T, atol=TOL)


def test_middle_frame_stands_between_the_grasps(rng):
    """Origin in the middle, x from the first to the last grasp, right-handed axes."""
    for _ in range(20):
        grasps = [random_pose(rng), random_pose(rng)]
        frame = middle_frame(grasps)
        a, b = (grasp[:3, 3] for grasp in grasps)
        assert_allclose(frame[:3, 3], 0.5 * (a + b), atol=1e-15)
        assert_allclose(frame[:3, 0], (b - a) / np.linalg.norm(b - a), atol=1e-15)
        assert_allclose(frame[:3, :3].T @ frame[:3, :3], np.eye(3), atol=1e-14)
        assert_allclose(np.linalg.det(frame[:3, :3]), 1.0, rtol=1e-14)


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_middle_frame_is_not_moved_by_rounding(axis, rng):
    """Grasps on an axis of the object, off by rounding, have the frame of the exact ones."""
    direction = np.eye(3)["xyz".index(axis)]
    exact = middle_frame([pose(-0.2 * direction), pose(0.2 * direction)])
    for _ in range(20):
        off = 1e-12 * rng.normal(size=(2, 3))
        near = middle_frame([pose(-0.2 * direction + off[0]), pose(0.2 * direction + off[1])])
        assert_allclose(near, exact, atol=1e-10)


def test_grasps_at_one_point_keep_the_axes_of_the_object():
    """Without a line between the grasps the object's axes serve."""
    assert_allclose(middle_frame([pose((1.0, 2.0, 3.0))] * 2), pose((1.0, 2.0, 3.0)))


def test_mean_grasp_distance():
    """The declared length of a bar of 0.4 m is 0.2 m."""
    assert_allclose(mean_grasp_distance(bar()), 0.2)
