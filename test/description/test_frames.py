# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of a description."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics.description.frames import (
    link_poses_at_zero,
    path_to_root,
    rigid_piece,
    rotation_with,
    shortest_rotation,
)
from robot_dynamics.model import JointElement, pose


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_rotation_has_the_direction_as_a_column(rng, index):
    """It is a rotation, exact for coordinate axes."""
    for axis in (*np.eye(3), *-np.eye(3), *rng.normal(size=(20, 3))):
        R = rotation_with(axis, index)
        # A normalisation and a cross product.
        np.testing.assert_allclose(R[:, index], axis / np.linalg.norm(axis), atol=1e-15)
        np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-15)
        assert np.linalg.det(R) > 0
    assert set(np.abs(rotation_with((0, 1, 0))).ravel()) == {0.0, 1.0}


def test_the_shortest_rotation_turns_one_into_the_other(rng):
    """Its angle is the angle between the directions, also for opposite ones."""
    pairs = [*rng.normal(size=(20, 2, 3)), ((0, 0, 1), (0, 0, -2)), ((1, 2, 3), (1, 2, 3))]
    for a, b in pairs:
        a, b = np.array(a, dtype=float), np.array(b, dtype=float)
        R = shortest_rotation(a, b)
        cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        # Division by 1 + cosine costs digits for nearly opposite directions; none here are.
        np.testing.assert_allclose(R @ a / np.linalg.norm(a), b / np.linalg.norm(b), atol=1e-13)
        assert Rotation.from_matrix(R).magnitude() == pytest.approx(
            np.arccos(np.clip(cosine, -1, 1)), abs=1e-7
        )


def test_links_stand_where_placements_put_them(rng):
    """At zero every pose is the product of the placements; circles have none."""
    placements = [
        pose(rng.normal(size=3), Rotation.random(random_state=i).as_matrix()) for i in (1, 2)
    ]
    joints = [
        JointElement("one", "revolute", "a", "b", placements[0]),
        JointElement("two", "fixed", "b", "c", placements[1]),
        JointElement("circle", "fixed", "d", "d"),
    ]
    poses = link_poses_at_zero(["a", "b", "c", "d"], joints)
    assert set(poses) == {"a", "b", "c"}
    np.testing.assert_array_equal(poses["c"], placements[0] @ placements[1])


def test_paths_and_rigid_pieces():
    """A path leads inwards; fixed joints make one piece, whose name is the innermost link's."""
    joints = [
        JointElement("one", "revolute", "a", "b"),
        JointElement("two", "fixed", "b", "c"),
        JointElement("three", "fixed", "c", "d"),
    ]
    carrier = {joint.child: joint for joint in joints}
    assert [joint.name for joint in path_to_root("d", carrier)] == ["three", "two", "one"]
    assert [rigid_piece(link, carrier) for link in "abcd"] == ["a", "b", "b", "b"]
    circle = {"x": JointElement("x", "fixed", "y", "x"), "y": JointElement("y", "fixed", "x", "y")}
    assert len(path_to_root("x", circle)) == 2
