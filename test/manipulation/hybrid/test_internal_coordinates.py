# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Internal forces by name: the bodies that they push, and no effect on the object."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.hybrid.grasps import around, facing, frame
from numpy.testing import assert_allclose
from support.mechanisms import random_pose

from robot_dynamics.manipulation.grasp_map import transmitted_force_map
from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.manipulation.hybrid.contacts import wrench_map
from robot_dynamics.manipulation.hybrid.force_distribution import internal_coordinates
from robot_dynamics.model import pose

RIGID = {"squeeze", "shear y", "shear z", "twist", "bending y", "bending z"}


def of(contacts, shares=None):
    """Return names, A and A^L of contacts."""
    k = len(contacts)
    return internal_coordinates(contacts, shares or [1.0 / k] * k, 0.1)


@pytest.mark.parametrize(
    ("contacts", "names"),
    [
        (facing("rigid"), RIGID),
        (facing("soft finger"), {"squeeze", "twist"}),
        (facing("frictional point"), {"squeeze"}),
        (facing("frictionless point"), {"squeeze"}),
        (facing("pin"), {"squeeze", "shear y", "shear z", "bending y", "bending z"}),
        (around("frictional point", 3), {"squeeze 1-2", "squeeze 1-3", "squeeze 2-3"}),
    ],
)
def test_contacts_have_the_internal_forces_that_they_can_hold(contacts, names):
    """As many as W_S leaves, by name: fingers twist and do not bend, three points span a net."""
    found, A, left = of(contacts)
    assert set(found) == names
    W = wrench_map(contacts, np.zeros(3))
    assert A.shape == (W.shape[1], W.shape[1] - np.linalg.matrix_rank(W))
    assert_allclose(W @ A, 0.0, atol=1e-13)
    assert_allclose(left @ A, np.eye(len(found)), atol=1e-13)


def test_a_squeeze_of_one_newton_pushes_both_contacts_inwards_by_one():
    """Along their normals, at fingers as at points; shear and twist follow the same convention."""
    names, A, _ = of(facing("soft finger"))
    squeeze = A[:, names.index("squeeze")].reshape(2, 4)  # fx, fy, fz, mz
    assert_allclose(squeeze, [[0, 0, 1, 0], [0, 0, 1, 0]], atol=1e-13)
    twist = A[:, names.index("twist")].reshape(2, 4)
    # m_x of the first finger, whose normal is x, and its opposite at the other, along -x.
    assert_allclose(twist, [[0, 0, 0, 1], [0, 0, 0, 1]], atol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_two_rigid_grasps_have_the_transmitted_force(seed):
    """The same wrench, in the same frame, as the controller of rigid grasps."""
    rng = np.random.default_rng(seed)
    grasps, share = [random_pose(rng), random_pose(rng)], rng.uniform(0.2, 0.8)
    contacts = [Contact.of_kind("rigid", grasp) for grasp in grasps]
    names, A, left = of(contacts, [share, 1.0 - share])
    maps = transmitted_force_map(grasps, [share, 1.0 - share])
    order = [("twist", "bending y", "bending z", "squeeze", "shear y", "shear z").index(name)
             for name in names]  # fmt: skip
    assert_allclose(A, maps.internal[:, order], atol=1e-12)
    assert_allclose(left, maps.recovery[order], atol=1e-12)


@pytest.mark.parametrize("kind", ["rigid", "frictional point", "soft finger"])
@pytest.mark.parametrize("count", [3, 4, 5])
def test_a_virtual_linkage_squeezes_along_lines(kind, count):
    """A squeeze pushes at its two ends, inwards, by one newton and nowhere else."""
    rng = np.random.default_rng(count)
    contacts = [Contact.of_kind(kind, random_pose(rng)) for _ in range(count)]
    names, A, left = of(contacts)
    W = wrench_map(contacts, np.zeros(3))
    assert A.shape[1] == W.shape[1] - 6
    assert_allclose(W @ A, 0.0, atol=1e-11)
    assert_allclose(left @ A, np.eye(len(names)), atol=1e-11)
    d = contacts[0].directions.shape[1]
    squeezes = [name for name in names if name.startswith("squeeze")]
    assert len(squeezes) == 3 * count - 6
    for name in squeezes:
        i, j = (int(end) - 1 for end in name.split()[1].split("-"))
        forces = A[:, names.index(name)].reshape(count, d)
        line = contacts[j].pose[:3, 3] - contacts[i].pose[:3, 3]
        expected = np.zeros((count, 6))
        expected[i, 3:] = contacts[i].pose[:3, :3].T @ line / np.linalg.norm(line)
        expected[j, 3:] = contacts[j].pose[:3, :3].T @ -line / np.linalg.norm(line)
        found = [contacts[c].directions @ forces[c] for c in range(count)]
        assert_allclose(found, expected, atol=1e-11)


def test_moments_of_a_virtual_linkage_are_those_at_the_contacts():
    """A moment of one contact has no moment at the others: forces across the lines balance it."""
    contacts = around("rigid", 3)
    names, A, _ = of(contacts)
    for name in names:
        if name.startswith("moment"):
            axis, at = "xyz".index(name.split()[1]), int(name.split()[3]) - 1
            moments = A[:, names.index(name)].reshape(3, 6)[:, :3]
            expected = np.zeros((3, 3))
            expected[at, axis] = 1.0
            assert_allclose(moments, expected, atol=1e-12)


@pytest.mark.parametrize(
    "points",
    [
        [(-0.2, 0, 0), (0, 0, 0), (0.2, 0, 0)],
        [(0.1, 0.1, 0), (-0.1, 0.1, 0), (-0.1, -0.1, 0), (0.1, -0.1, 0)],
    ],
)
@pytest.mark.parametrize("kind", ["rigid", "frictional point"])
def test_contacts_in_a_line_or_a_plane_are_completed(points, kind):
    """Three in a row, and four in a plane, hold forces across that no line between them has."""
    contacts = [Contact.of_kind(kind, frame((0, 0, 1), at)) for at in points]
    W = wrench_map(contacts, np.zeros(3))
    names, A, left = of(contacts)
    assert A.shape[1] == W.shape[1] - np.linalg.matrix_rank(W, tol=1e-9)
    assert any(name.startswith("force") for name in names)
    assert_allclose(W @ A, 0.0, atol=1e-12)
    assert_allclose(left @ A, np.eye(len(names)), atol=1e-12)


def test_they_turn_with_the_object():
    """A grasp elsewhere on the object, moved as a whole, has the same coordinates."""
    moved = random_pose(np.random.default_rng(3))
    for contacts in (facing("soft finger"), around("frictional point", 3)):
        there = [Contact(moved @ c.pose, c.directions, c.kind) for c in contacts]
        names, A, _ = of(contacts)
        same, B, _ = of(there)
        assert names == same
        assert_allclose(np.abs(A), np.abs(B), atol=1e-12)


def test_one_contact_has_none():
    """A single grasp has no internal force, and that is no mistake."""
    names, A, left = of([Contact.of_kind("rigid", pose())])
    assert (names, A.shape, left.shape) == ((), (6, 0), (0, 6))
