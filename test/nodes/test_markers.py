# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Markers are complete, and what they show has the right place, size and direction."""

import numpy as np
import pytest

pytest.importorskip("visualization_msgs", reason="ROS 2 is not installed")

from rclpy.serialization import serialize_message
from visualization_msgs.msg import Marker

from robot_dynamics.description.description import Shape
from robot_dynamics.nodes.display import (
    arrow,
    line,
    matrix_of,
    point_arrow,
    pose_vector,
    shape_marker,
)


def test_every_marker_is_a_message():
    """In the world's frame, with an orientation, and with fields of the right types."""
    made = [
        shape_marker("a", 1, Shape("", "visual", "capsule", np.eye(4), (0.1, 0.4))),
        arrow("b", 2, (1, 0, 0, 1)),
        line("c", (0, 1, 0, 0.5)),
    ]
    for marker in made:
        serialize_message(marker)
        assert (marker.header.frame_id, marker.pose.orientation.w) == ("world", 1.0)
    assert [marker.type for marker in made] == [Marker.CYLINDER, Marker.ARROW, Marker.LINE_STRIP]
    assert made[0].scale.z == pytest.approx(0.6)  # with its caps


def test_opacity_is_multiplied():
    """What is translucent already becomes more so."""
    ball = Shape("", "visual", "sphere", np.eye(4), (0.1,), color=(1, 0, 0, 0.5))
    assert shape_marker("a", 0, ball, alpha=0.5).color.a == 0.25


def test_an_arrow_ends_where_it_points():
    """And a short one is hidden: RViz complains of arrows without a length."""
    marker = arrow("a", 0, (1, 0, 0, 1))
    point_arrow(marker, np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 0.5]))
    assert marker.action == Marker.ADD
    assert [p.z for p in marker.points] == [2.5, 3.0]
    point_arrow(marker, np.zeros(3), np.zeros(3))
    assert marker.action == Marker.DELETE


def test_a_pose_comes_back_through_its_matrix():
    """Up to the sign of the quaternion, to a few roundings."""
    pose = np.array([1.0, 2.0, 3.0, 0.1, -0.7, 0.5, 0.5])
    pose[3:] /= np.linalg.norm(pose[3:])
    back = pose_vector(matrix_of(pose))
    assert np.allclose(back[:3], pose[:3], atol=0)
    assert abs(back[3:] @ pose[3:]) == pytest.approx(1.0, abs=1e-15)
