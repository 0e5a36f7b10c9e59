# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The universal joint."""

import numpy as np
import pytest
from model.joints.cases import columns, moved
from scipy.spatial.transform import Rotation as ScipyRotation

from robot_dynamics.model.joints import Universal, verify


def test_its_parts_fit_together():
    """Transform, S, c_J, T, its rate and the residual agree by finite differences."""
    assert verify(Universal()) == []


def test_it_turns_about_x_and_then_about_y(rng):
    """E is the transpose of the intrinsic rotation x-y."""
    q = rng.normal(size=2)
    E = np.array(Universal().transform(q.tolist()).E.rows)
    np.testing.assert_allclose(E.T, ScipyRotation.from_euler("XY", q).as_matrix(), atol=1e-15)


def test_it_transmits_torque_as_hookes_joint_does():
    """Bent by an angle b it passes 1 / cos b of a torque about one shaft, at the right phase."""
    bend = 0.6
    X = Universal().transform([0.0, bend])  # input shaft: z of the predecessor, output: z here
    moment = columns(Universal().constraints(X))[:3, 0]  # on the output, normal to both axes
    input_shaft = np.array(X.E.rows)[:, 2]
    np.testing.assert_allclose(moment @ input_shaft, 1.0, atol=1e-15)
    np.testing.assert_allclose(moment @ [0, 0, 1], np.cos(bend), atol=1e-15)


def test_the_twist_is_measured_exactly():
    """The residual is the sine of the angle that the axes lack to a right one."""
    X = Universal().transform([0.3, -0.8])
    axis = columns(Universal().constraints(X))[:3, 0]
    off = moved(X, [*(0.4 * axis), 0, 0, 0])
    assert Universal().residual(off)[0] == pytest.approx(np.sin(0.4))
