# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Screws, displacements, inverse inertias, accelerations and planar vectors, by their matrices."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation as ScipyRotation

from robot_dynamics.spatial import Force, Inertia, Motion, Rotation, Symmetric3, Transform, Vector3
from robot_dynamics.spatial.planar import (
    planar_cross,
    planar_cross_force,
    planar_displacement,
    planar_inertia,
    planar_transform,
)

TOL = 1e-13  # a few dozen roundings of numbers of order one
PLANE = [2, 3, 4]  # the components of a spatial vector that a planar one has


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def some_motion(rng):
    return Motion.of(rng.normal(size=6).tolist())


def some_inertia(rng):
    a = rng.normal(size=(3, 3))
    return Inertia.from_center_of_mass(
        rng.uniform(1, 3),
        Vector3.of(rng.normal(size=3).tolist()),
        Symmetric3.of((a @ a.T).tolist()),
    )


def turned(vector, shift):
    """Return the transform to a frame at `shift`, turned by a rotation vector."""
    E = ScipyRotation.from_rotvec(vector).as_matrix().T
    return Transform(Rotation.of(E.tolist()), Vector3.of(list(shift)))


def columns(act, kind):
    return np.array([act(kind.of(row)).components() for row in np.eye(6).tolist()], dtype=float).T


@pytest.mark.book("S2")
def test_cross_products_satisfy_the_identities_of_table_2_3(rng):
    """u x v = -v x u, Jacobi, (u x v) . f = -v . (u x* f), and (Xv) x = X v x X^-1 (Table 2.3)."""
    u, v, w = (some_motion(rng) for _ in range(3))
    f, X = Force.of(rng.normal(size=6).tolist()), turned(rng.normal(size=3), rng.normal(size=3))
    assert_allclose(u.cross(v).components(), (-v.cross(u)).components(), atol=TOL)
    jacobi = u.cross(v.cross(w)) + v.cross(w.cross(u)) + w.cross(u.cross(v))
    assert_allclose(jacobi.components(), 0.0, atol=TOL)
    assert_allclose(u.cross(v).dot(f), -v.dot(u.cross_force(f)), rtol=0, atol=100 * TOL)
    moved = X * v.cross(X.inverse_times(w))
    assert_allclose((X * v).cross(w).components(), moved.components(), atol=100 * TOL)
    pushed = X * v.cross_force(X.inverse_times(f))
    assert_allclose((X * v).cross_force(f).components(), pushed.components(), atol=100 * TOL)


@pytest.mark.book("S4")
def test_rate_of_an_inertia(rng):
    """d/dt I = v x* I - I v x of a body that moves at v, by differences (2.13)."""
    inertia, v, probe = some_inertia(rng), some_motion(rng), some_motion(rng)
    h = 1e-6

    def after(t):
        # The body's frame is at the origin at t = 0: 0I = X^T I X of the frame at t.
        return turned(np.array(list(v.angular)) * t, np.array(list(v.linear)) * t).inverse_times(
            inertia
        )

    rate = (np.array((after(h) * probe).components()) - (after(-h) * probe).components()) / (2 * h)
    exact = v.cross_force(inertia * probe) - inertia * v.cross(probe)
    # Differences of order h^2, and roundings 1e-16 / h, of numbers of order ten.
    assert_allclose(rate, exact.components(), atol=1e-7)


@pytest.mark.book("S3")
def test_a_steady_spin_has_no_spatial_acceleration():
    """A disc that turns steadily about a fixed axis has a = 0; its points accelerate (2.11)."""
    from robot_dynamics.model import JointElement, LinkElement, Mechanism, build, pose
    from robot_dynamics.robot import Robot

    disc = LinkElement("disc", 1.0, (0.0, 0.0, 0.0), np.eye(3))
    axle = JointElement("axle", "revolute", "base", "disc", axis=(0.0, 0.0, 1.0))
    robot = Robot(build(Mechanism("m", (LinkElement("base"), disc), (axle,))))
    rim = robot.with_frame("rim", "disc", pose((0.5, 0, 0)))
    args = ("rim", [0.0], [2.0], [0.0])
    assert_allclose(rim.acceleration(*args), 0.0, atol=1e-15)
    assert_allclose(
        rim.acceleration(*args, classical=True), [0, 0, 0, -0.5 * 2.0**2, 0, 0], atol=1e-14
    )


@pytest.mark.book("S5")
def test_the_inverse_inertia_is_the_inverse_of_the_matrix(rng):
    """Phi is the inverse of the matrix of I (2.74)."""
    inertia = some_inertia(rng)
    I = columns(lambda m: inertia * m, Motion)
    Phi = columns(inertia.inverse_times, Force)
    assert_allclose(Phi @ I, np.eye(6), atol=TOL * np.linalg.cond(I))


@pytest.mark.book("S5")
def test_constrained_inverse_inertia(rng):
    """Phi of a body that moves in S has the rank and range of S, and is S (S^T I S)^-1 S^T."""
    inertia = some_inertia(rng)
    I, S = columns(lambda m: inertia * m, Motion), rng.normal(size=(6, 2))
    freedoms = [Motion.of(s) for s in S.T.tolist()]
    Phi = columns(lambda f: inertia.constrained_inverse_times(f, freedoms), Force)
    expected = S @ np.linalg.solve(S.T @ I @ S, S.T)
    assert_allclose(Phi, expected, atol=1e-12 * np.abs(expected).max())
    assert np.linalg.matrix_rank(Phi, tol=1e-9) == 2
    assert_allclose(Phi @ I @ S, S, atol=1e-11)  # what S allows, it inverts


@pytest.mark.book("S7")
def test_displacement_of_a_transform(rng):
    """XtoV: X v = v, half of the differences of entries of X, to first order the motion (A.1)."""
    for size in (1.0, 1e-5):
        turn, shift = size * rng.normal(size=3), size * rng.normal(size=3)
        X = turned(turn, shift)
        v, dense = np.array(X.displacement().components()), columns(lambda m: X * m, Motion)  # noqa: B023
        at = [(1, 2, 2, 1), (2, 0, 0, 2), (0, 1, 1, 0), (4, 2, 5, 1), (5, 0, 3, 2), (3, 1, 4, 0)]
        entries = [0.5 * (dense[i, j] - dense[k, m]) for i, j, k, m in at]
        assert_allclose(v, entries, atol=TOL * size)
        assert_allclose(dense @ v, v, atol=TOL * size)
    assert_allclose(v, [*turn, *shift], atol=1e-9)  # second order in 1e-5
    straight = turned(np.zeros(3), shift).displacement()
    assert_allclose(straight.components(), [0, 0, 0, *shift], atol=1e-20)


@pytest.mark.book("S9")
def test_a_motion_is_a_screw_about_its_axis(rng):
    """A motion is a turn about its axis and a slide of pitch times as much along it (2.10)."""
    m = some_motion(rng)
    pitch, point = m.screw()
    assert_allclose(point.dot(m.angular), 0.0, atol=TOL)
    linear = point.cross(m.angular) + m.angular * pitch
    assert_allclose(list(linear), list(m.linear), atol=TOL)
    elsewhere = turned(rng.normal(size=3), rng.normal(size=3)) * m
    assert_allclose(elsewhere.screw()[0], pitch, atol=TOL)  # the pitch depends on no frame


def in_plane(rng):
    x, y, angle = rng.normal(size=3)
    return (x, y, angle), turned([0.0, 0.0, angle], [x, y, 0.0])


@pytest.mark.book("S6")
def test_planar_vectors_are_spatial_ones(rng):
    """Transforms, both cross products and inertias are those in space, less the zeros (2.16)."""
    place, X = in_plane(rng)
    v, u, f = rng.normal(size=(3, 3))
    V, U, F = np.zeros((3, 6))
    V[PLANE], U[PLANE], F[PLANE] = v, u, f
    spatial = (X * Motion.of(V.tolist())).components()
    assert_allclose(np.array(planar_transform(*place)) @ v, np.array(spatial)[PLANE], atol=TOL)
    cross = Motion.of(V.tolist()).cross(Motion.of(U.tolist())).components()
    assert_allclose(planar_cross(v, u), np.array(cross)[PLANE], atol=TOL)
    cross = Motion.of(V.tolist()).cross_force(Force.of(F.tolist())).components()
    assert_allclose(planar_cross_force(v, f), np.array(cross)[PLANE], atol=TOL)
    center = rng.normal(size=2)
    body = Inertia.from_center_of_mass(
        2.0, Vector3(*center, 0.0), Symmetric3.diagonal(0.1, 0.1, 0.3)
    )
    spatial = (body * Motion.of(V.tolist())).components()
    planar = np.array(planar_inertia(2.0, center, 0.3)) @ v
    assert_allclose(planar, np.array(spatial)[PLANE], atol=TOL)


@pytest.mark.book("S7", "S6")
def test_a_transform_keeps_its_planar_displacement(rng):
    """The planar XtoV is kept by its transform, and is the motion to first order."""
    place, _ = in_plane(rng)
    X = np.array(planar_transform(*place))
    v = np.array(planar_displacement(X.tolist()))
    assert_allclose(X @ v, v, atol=10 * TOL)
    small = 1e-6 * np.array(place)
    v = planar_displacement(planar_transform(*small))
    assert_allclose(v, small[[2, 0, 1]], atol=1e-11)


@pytest.mark.book("S6", "N2", "A3")
def test_round_off_in_a_far_frame():
    """With its origin 100 radii of gyration away a body's equation loses four digits (10.1)."""
    I = np.array(planar_inertia(1.0, (100.0, 10.0), 1.0))
    assert_allclose(I, [[10101, -10, 100], [-10, 1, 0], [100, 0, 1]], rtol=0, atol=0)
    assert np.linalg.cond(I) == pytest.approx(102050402, rel=1e-6)
    at = np.array([[1.0, -10.0, 100.0], [0, 1, 0], [0, 0, 1]])  # force at C to moment about O
    f = at @ [1.0, -1.0, 1.0]
    assert_allclose(f, [111, -1, 1])
    v = np.array(planar_transform(100.0, 10.0, 0.0))
    vO = np.linalg.solve(v, [1.0, 0.0, 0.0])
    bias = planar_cross_force(vO, (I @ vO).tolist())
    a = np.linalg.solve(I, f - bias)
    rest = np.linalg.solve(I, f)
    assert_allclose(rest, [1.0, 9.0, -99.0], rtol=1e-8)
    assert_allclose(a[0], 1.0, rtol=1e-7)
