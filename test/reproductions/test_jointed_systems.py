# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Systems of studies: the worked case is the paper's, and each change has its stated effect."""

import numpy as np
import pytest
from manipulation.jointed_object.cases import CASE, state_of, system_of
from numpy.testing import assert_allclose

from robot_dynamics.reproductions.joint_space import JointSpaceModel
from robot_dynamics.reproductions.jointed_systems import (
    misplaced,
    pliers,
    scaled,
    two_rods,
    worked_case,
)
from robot_dynamics.spatial import Rotation, Transform, Vector3


def test_the_shipped_case_is_the_worked_one():
    """Its matrices are those of the case whose outputs were computed independently."""
    setting = worked_case()
    q, qd, _ = state_of(CASE)
    assert_allclose(setting.start, q, atol=1e-9)
    ours = JointSpaceModel(setting.system).terms(q, qd)
    theirs = JointSpaceModel(system_of(CASE)).terms(q, qd)
    for name in ("D", "C", "H_A", "H_B_qd", "A", "A_dot_qd", "gap"):
        scale = np.abs(getattr(theirs, name)).max() + 1.0
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=0, atol=1e-9 * scale)


@pytest.mark.parametrize(("make", "constraints"), [(two_rods, 3), (pliers, 5)])
def test_objects_are_held_closed(make, constraints):
    """The start closes the object's joint, and the arms' limits are known."""
    setting = make()
    terms = JointSpaceModel(setting.system).terms(setting.start, 0.0 * setting.start)
    assert setting.system.constraints == constraints
    assert_allclose(terms.gap, 0.0, atol=1e-9)
    assert np.isfinite(setting.effort).all()


def test_scaled_inertias_scale_the_dynamics():
    """With all inertias times a factor, inertia and gravity torques are."""
    setting = worked_case()
    q = setting.start
    plain, heavy = (
        JointSpaceModel(system).terms(q, 0.0 * q)
        for system in (setting.system, scaled(setting, [1.2] * 12, [1.2] * 2))
    )
    assert_allclose(heavy.D, 1.2 * plain.D, rtol=1e-9, atol=1e-12)
    assert_allclose(heavy.C + heavy.H_A, 1.2 * (plain.C + plain.H_A), rtol=1e-9, atol=1e-12)
    one = JointSpaceModel(scaled(setting, [1.0] * 12, [1.0, 2.0])).terms(q, 0.0 * q)
    assert_allclose(one.D[:6, :6], plain.D[:6, :6], rtol=1e-9)
    assert_allclose(one.C, plain.C, rtol=1e-9, atol=1e-12)
    assert np.abs(one.D[6:, 6:] - plain.D[6:, 6:]).max() > 0.01


def test_misplaced_joints_open_by_what_they_are_misplaced():
    """A frame a millimetre off on one part opens the joint by a millimetre; A is elsewhere."""
    setting = worked_case()
    q = setting.start
    away = Transform(Rotation.identity(), Vector3.of([1e-3, 0.0, 0.0]))
    moved = misplaced(setting.system, [Transform.identity(), away])
    plain, wrong = (JointSpaceModel(s).terms(q, 0.0 * q) for s in (setting.system, moved))
    assert np.linalg.norm(wrong.gap) == pytest.approx(1e-3, rel=1e-6)
    assert_allclose(wrong.D, plain.D)
    assert np.abs(wrong.A - plain.A).max() > 1e-5
