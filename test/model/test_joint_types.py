# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint models against finite differences and against each other."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation as ScipyRotation

from robot_dynamics.errors import UnknownNameError
from robot_dynamics.model.joint_types import JOINT_TYPES, Fixed, Floating, joint_type, turn
from robot_dynamics.spatial import Motion, Rotation, Transform, Vector3

MOVABLE = [JOINT_TYPES[name] for name in ("revolute", "prismatic", "floating")]
UNITS = np.eye(6).tolist()
# Central differences with this step are off by about step^2 and by rounding over step; both are
# below 1e-9 for numbers of size one.
STEP = 1e-5
CLOSE = 1e-9


def matrix_of(X):
    """Return a transform as its matrix (6, 6) on motion vectors."""
    return np.array([(X * Motion.of(unit)).components() for unit in UNITS], dtype=float).T


def cross_matrix(v):
    """Return `v x` as a matrix (6, 6)."""
    return np.array([v.cross(Motion.of(unit)).components() for unit in UNITS], dtype=float).T


def random_state(kind, random):
    """Return positions and velocities away from any special value."""
    q = random.normal(size=kind.nq).tolist()
    return kind.normalized(q), random.normal(size=kind.nv).tolist()


@pytest.mark.parametrize("kind", MOVABLE, ids=repr)
def test_transform_moves_with_the_joint_velocity(kind, rng):
    """dX_J/dt = -v_J x X_J along the motion that `position_rate` describes."""
    q, qd = random_state(kind, rng)
    rate = np.array(kind.position_rate(q, qd))

    def X_at(t):
        return matrix_of(kind.transform((np.array(q) + t * rate).tolist()))

    derivative = (X_at(STEP) - X_at(-STEP)) / (2 * STEP)
    expected = -cross_matrix(kind.velocity(qd)) @ X_at(0.0)
    np.testing.assert_allclose(derivative, expected, atol=CLOSE)


@pytest.mark.parametrize("kind", MOVABLE, ids=repr)
def test_integrate_agrees_with_position_rate(kind, rng):
    """A short step of `integrate` goes where `position_rate` points."""
    q, qd = random_state(kind, rng)
    ahead, behind = (
        np.array(kind.integrate(q, [sign * STEP * v for v in qd])) for sign in (1, -1)
    )
    np.testing.assert_allclose(
        (ahead - behind) / (2 * STEP), kind.position_rate(q, qd), atol=CLOSE
    )


@pytest.mark.parametrize("kind", MOVABLE, ids=repr)
def test_the_neutral_position_is_the_identity(kind):
    """At its neutral position a joint's frames coincide."""
    np.testing.assert_array_equal(matrix_of(kind.transform(kind.neutral())), np.eye(6))


@pytest.mark.parametrize("kind", JOINT_TYPES.values(), ids=repr)
def test_freedoms_and_constraints_make_six(kind):
    """T^T S = 0, and S and T together span the space."""
    S = np.array([s.components() for s in kind.motion_subspace]).reshape(-1, 6)
    T = np.array([t.components() for t in kind.constraint_subspace]).reshape(-1, 6)
    assert not (T @ S.T).any()
    assert len(S) == kind.nv
    assert np.linalg.matrix_rank(np.vstack([S, T])) == 6


def test_floating_step_is_exact_to_third_order(rng):
    """A step of constant body velocity is off by the cube of the step, in position alone."""
    kind = Floating()
    q, qd = random_state(kind, rng)
    wx, wy, wz = qd[:3]
    twist = np.array([[0, -wz, wy, qd[3]], [wz, 0, -wx, qd[4]], [-wy, wx, 0, qd[5]], [0, 0, 0, 0]])
    start = np.eye(4)
    start[:3, :3] = ScipyRotation.from_quat(q[3:]).as_matrix()
    start[:3, 3] = q[:3]
    errors = []
    for step in (0.1, 0.05):
        reached = kind.integrate(q, [step * v for v in qd])
        exact = start @ expm(step * twist)
        turned = ScipyRotation.from_quat(reached[3:]).as_matrix()
        # The series of `turn` is good to 1e-13 for steps below one radian.
        np.testing.assert_allclose(turned, exact[:3, :3], atol=1e-13)
        errors.append(np.abs(np.array(reached[:3]) - exact[:3, 3]).max())
    assert errors[0] / errors[1] == pytest.approx(8.0, rel=0.15)  # 2^3, plus the next order


def test_turning_keeps_quaternions_at_unit_length(rng):
    """A thousand turns leave the length at one to rounding, and agree with rotation vectors."""
    quaternion = [0.0, 0.0, 0.0, 1.0]
    reference = ScipyRotation.identity()
    for step in rng.normal(scale=0.2, size=(1000, 3)):
        quaternion = turn(quaternion, step.tolist())
        reference = reference * ScipyRotation.from_rotvec(step)
    assert abs(np.linalg.norm(quaternion) - 1.0) < 1e-15 * 10
    # A thousand roundings of 1e-16, in a random walk or in line.
    np.testing.assert_allclose(
        ScipyRotation.from_quat(quaternion).as_matrix(), reference.as_matrix(), atol=1e-12
    )


def test_floating_position_rate_keeps_the_quaternion_unit(rng):
    """The rate of the quaternion is at right angles to it."""
    q, qd = random_state(Floating(), rng)
    rate = Floating().position_rate(q, qd)
    assert abs(np.dot(q[3:], rate[3:])) < 1e-15 * 10


def displaced(twist):
    """Return the transform into a frame displaced by a rotation vector and a translation."""
    E = ScipyRotation.from_rotvec(twist[:3]).as_matrix().T
    return Transform(Rotation.of(E.tolist()), Vector3.of(twist[3:].tolist()))


def test_fixed_residual_is_the_displacement_to_first_order(rng):
    """For a small displacement the residual is that displacement, with a second-order error."""
    twist = rng.normal(size=6)
    errors = []
    for size in (1e-2, 1e-3):
        residual = np.array(Fixed().residual(displaced(size * twist)))
        errors.append(np.abs(residual - size * twist).max() / size)
    assert errors[0] < 0.1
    assert errors[1] < errors[0] / 8.0  # ten for a second-order error, less the next order
    assert not np.any(Fixed().residual(displaced(np.zeros(6))))


def test_fixed_residual_vanishes_only_when_closed(rng):
    """Up to a hundred degrees the residual is zero for no displacement but zero."""
    for _ in range(50):
        twist = rng.uniform(-1.0, 1.0, size=6)
        size = np.linalg.norm(twist)
        assert np.linalg.norm(Fixed().residual(displaced(twist))) > 0.05 * size


def test_fixed_residual_moves_with_the_relative_velocity(rng):
    """At closure d(delta)/dt = T^T v: velocities and positions speak of the same constraint."""
    twist = rng.normal(size=6)
    ahead, behind = (
        np.array(Fixed().residual(displaced(sign * STEP * twist))) for sign in (1, -1)
    )
    T = np.array([t.components() for t in Fixed().constraint_subspace])
    np.testing.assert_allclose((ahead - behind) / (2 * STEP), T @ twist, atol=CLOSE)


def test_types_compare_by_kind_and_unknown_names_are_explained():
    """Two objects of a type are equal, and a misspelt type says what was meant."""
    assert Fixed() == Fixed()
    assert Fixed() != Floating()
    assert joint_type("continuous") == joint_type("revolute")
    with pytest.raises(UnknownNameError, match="did you mean 'revolute'"):
        joint_type("revolut", "arm.urdf:3")


def test_open_types_cannot_close_loops_yet():
    """A type without a residual says so instead of closing a loop wrongly."""
    with pytest.raises(NotImplementedError, match="cannot close a loop"):
        joint_type("floating").residual(Transform.identity())
