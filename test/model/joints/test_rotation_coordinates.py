# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rotation vectors against scipy, and the moment that does their work against differences."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation as ScipyRotation

from robot_dynamics.model.joints.rotation_coordinates import rotation_coordinates, rotation_moment
from robot_dynamics.spatial import Rotation, Transform, Vector3


def placement(rotation):
    return Transform(Rotation.of(rotation.as_matrix().T.tolist()), Vector3.zero())


@pytest.mark.parametrize("angle", [0.0, 1e-14, 1e-9, 1e-4, 0.3, 2.0, 3.1])
def test_vector_and_moment(angle):
    """At any angle below half a turn u is scipy's, and u rate times force is w times moment."""
    rng = np.random.default_rng(2)
    axis = rng.normal(size=3)
    rotation = ScipyRotation.from_rotvec(angle * axis / np.linalg.norm(axis))
    u = rotation_coordinates(placement(rotation))
    assert_allclose(u, rotation.as_rotvec(), atol=1e-14 if angle < 3 else 1e-12)

    w, force = rng.normal(size=3), rng.normal(size=3)
    h = 1e-5
    turned = [(rotation * ScipyRotation.from_rotvec(t * w)).as_rotvec() for t in (h, -h)]
    rate = (turned[0] - turned[1]) / (2 * h)
    # Order h^2, times the curvature near half a turn; nothing is lost where the angle vanishes.
    assert_allclose(
        w @ rotation_moment(placement(rotation), force.tolist()), rate @ force, atol=1e-8
    )


def test_isotropic_springs_pull_along_the_axis():
    """A force along u is a moment along u: the rotation is about its own axis."""
    u = np.array([0.3, -0.8, 1.1])
    moment = rotation_moment(placement(ScipyRotation.from_rotvec(u)), u.tolist())
    assert_allclose(moment, u, atol=1e-14)
