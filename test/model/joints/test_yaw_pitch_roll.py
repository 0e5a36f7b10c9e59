# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The spherical joint with yaw, pitch and roll."""

import numpy as np
import pytest
from model.joints.cases import columns
from scipy.spatial.transform import Rotation as ScipyRotation

from robot_dynamics.model.joints import YawPitchRoll, verify


def test_its_parts_fit_together():
    """Transform (4.7), S (4.8), c_J (4.9), T and residual agree by finite differences."""
    assert verify(YawPitchRoll()) == []


def test_the_angles_are_intrinsic_z_y_x(rng):
    """E is the transpose of the orientation z-y-x."""
    q = rng.normal(size=3)
    E = np.array(YawPitchRoll().transform(q.tolist()).E.rows)
    expected = ScipyRotation.from_euler("ZYX", q).as_matrix()
    np.testing.assert_allclose(E.T, expected, atol=1e-15)


@pytest.mark.parametrize("pitch", [-8.1, -2.0, -1.5, 0.0, 1.5, 2.0, 4.7, 7.0])
def test_two_triples_tell_a_placement(pitch):
    """Angles from the placement have a pitch below 90 degrees, and give the same placement."""
    kind, q = YawPitchRoll(), [0.4, pitch, -0.7]
    told = kind.told_by_placement(q)
    assert abs(told[1]) < np.pi / 2
    X = kind.transform(q)
    np.testing.assert_allclose(kind.transform(told).E.rows, X.E.rows, atol=1e-14)
    # Angles are the quotients of entries by the cosine of the pitch, a hundredth at least.
    np.testing.assert_allclose(kind.coordinates(X, told), told, atol=1e-13)


def test_it_is_singular_at_a_right_angle():
    """S loses a rank as the pitch goes to 90 degrees, in proportion to its cosine."""
    for angle in (1e-2, 1e-5, 1e-8):
        S = columns(YawPitchRoll().subspace([0.3, np.pi / 2 - angle, 0.5]))[:3]
        smallest = np.linalg.svd(S, compute_uv=False)[-1]
        np.testing.assert_allclose(smallest, np.sin(angle) / np.sqrt(2.0), rtol=1e-3)
