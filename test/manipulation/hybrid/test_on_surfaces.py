# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motions that surfaces leave free, and forces estimated from a motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.manipulation.hybrid.decoupling_law import ObjectTerms
from robot_dynamics.manipulation.hybrid.touched_surfaces import (
    Guided,
    Sliding,
    SurfaceFriction,
    Surfaces,
)
from robot_dynamics.spatial import Symmetric3, Vector3

INERTIA = np.array([[0.03, 0.005, 0.0], [0.005, 0.04, -0.002], [0.0, -0.002, 0.05]])


def held():
    """Return an object that turns."""
    return ObjectTerms(
        3.0,
        Symmetric3.of(INERTIA.tolist()),
        Symmetric3.of(np.linalg.inv(INERTIA).tolist()),
        Vector3(0.3, -0.5, 0.2),
        Vector3(0.1, 0.0, 0.2),
        Vector3(0.0, 1.0, -9.0),
    )


def inertia():
    """Return the same object's I_B."""
    I_B = np.zeros((6, 6))
    I_B[:3, :3], I_B[3:, 3:] = INERTIA, 3.0 * np.eye(3)
    return I_B


@pytest.fixture
def gradients():
    """Return gradients of three surfaces."""
    return np.random.default_rng(1).standard_normal((3, 6))


def test_touched_surfaces_stay_touched_with_the_least_change(gradients):
    """The change is normal to the free directions, in the metric of the object's inertia."""
    rng = np.random.default_rng(2)
    wanted, rate = rng.standard_normal(6), rng.standard_normal(3)
    surfaces = Surfaces(gradients.tolist(), [1.0, 0.0, 1.0], held())
    got = np.array(surfaces.project(wanted.tolist(), rate.tolist()))
    E = gradients[[0, 2]]
    assert_allclose(E @ got, rate[[0, 2]], atol=1e-12)
    free = np.linalg.svd(E)[2][2:]  # motions along both
    assert_allclose(free @ inertia() @ (got - wanted), 0.0, atol=1e-12)


def test_without_touched_surfaces_motion_is_free(gradients):
    """Surfaces that are not touched, or not there, change nothing and take no force."""
    wanted = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    untouched = Surfaces(gradients.tolist(), [0.0] * 3, held())
    assert_allclose(untouched.project(wanted, [1.0] * 3), wanted)
    assert_allclose(untouched.wrench([5.0] * 3), 0.0)
    nothing = Surfaces([], [], held())
    assert nothing.project(wanted, []) == wanted
    assert nothing.forces(wanted, wanted) == []


def test_a_motion_tells_the_forces(gradients):
    """I_B a + Q_B = F - E_F^T f gives f back, also where the acceleration is of no account."""
    rng = np.random.default_rng(3)
    a, f = rng.standard_normal(6), rng.standard_normal(3)
    thing = held()
    F = inertia() @ a + thing.bias + gradients.T @ f
    surfaces = Surfaces(gradients.tolist(), [1.0] * 3, thing)
    assert_allclose(surfaces.forces(F.tolist(), a.tolist()), f, atol=1e-10)
    along = np.linalg.svd(gradients)[2][3:].T @ rng.standard_normal(3)
    assert_allclose(surfaces.forces(F.tolist(), (a + along).tolist()), f, atol=1e-10)


def test_surfaces_that_are_not_touched_bear_nothing(gradients):
    """Neither one that a touched one determines, nor one that would take a part of the force."""
    floor, wall = gradients[0], gradients[1]
    thing, a, f = held(), np.arange(6.0), 7.0
    F = inertia() @ a + thing.bias + f * floor
    E = [floor.tolist(), (-floor).tolist(), wall.tolist()]
    surfaces = Surfaces(E, [1.0, 0.0, 0.0], thing)
    assert_allclose(surfaces.forces(F.tolist(), a.tolist()), [f, 0.0, 0.0], atol=1e-10)


def rough(point=(0.05, 0.02, -0.15)):
    """Return the gradient of a floor that a point touches (6,), and how the object rubs on it."""
    normal = np.array([0.0, -0.6, 0.8])
    gradient = [*np.cross(point, normal), *normal]
    sliding = Sliding(0.4, tuple(point))
    twist = [0.2, 0.1, -0.3, 0.1, 0.08, 0.06]
    return gradient, SurfaceFriction.of((sliding,), Vector3.zero(), [gradient], twist)


def test_only_touched_surfaces_are_dragged_on():
    """Each with the force that it is pushed with; none without friction."""
    gradient, friction = rough()
    twice = SurfaceFriction(2 * friction.drag, dict.fromkeys(range(2), friction.sideways[0]))
    surfaces = Surfaces(2 * [gradient], [0.0, 1.0], held(), twice)
    assert_allclose(surfaces.drag([2.0, 3.0]), 3.0 * np.array(friction.drag[0]))
    assert Surfaces([gradient], [1.0], held()).drag([2.0]) == [0.0] * 6


@pytest.mark.parametrize("scale", [0.0, 1.0, 1.5])
@pytest.mark.parametrize("heavier", [0.0, 0.2])
def test_friction_and_weight_are_told_from_the_push(scale, heavier):
    """A push of 10 N on a plumb wall, with another friction and 20 % more weight than believed.

    Forces that no law binds count a hundredth of their effect: this part of a few newtons is left
    in the push, which on a wall that is taken to be smooth is off by a newton with the drag.
    """
    gradient, friction = rough()
    thing, a = replace(held(), gravity=Vector3(-9.0, 1.0, 0.75)), np.arange(6.0)
    assert np.dot(gradient[3:], list(thing.gravity)) == pytest.approx(0.0, abs=1e-12)
    weight = np.array([0.0, 0.0, 0.0, *(3.0 * np.array(list(thing.gravity)))])
    F = inertia() @ a + thing.bias - heavier * weight
    F += 10.0 * (np.array(gradient) + scale * np.array(friction.drag[0]))
    surfaces = Surfaces([gradient], [1.0], thing, friction)
    assert surfaces.forces(F.tolist(), a.tolist(), [10.0]) == pytest.approx([10.0], abs=0.1)
    smooth = Surfaces([gradient], [1.0], thing).forces(F.tolist(), a.tolist())
    assert scale == 0.0 or abs(smooth[0] - 10.0) > 0.9


def test_a_push_that_nothing_tells_from_weight_counts_as_the_push():
    """On a level floor below the centre of mass, and without any gravity."""
    normal = np.array([0.0, 0.0, 1.0])
    gradient = [0.0, 0.0, 0.0, *normal]
    sliding = SurfaceFriction.of(
        (Sliding(0.4, (0.0, 0.0, -0.1)),), Vector3.zero(), [gradient], [0.0] * 6
    )
    for g in (-9.81, 0.0):
        thing = replace(held(), gravity=Vector3(0.0, 0.0, g), omega=Vector3.zero())
        F = np.array(thing.bias) + 7.0 * np.array(gradient)
        surfaces = Surfaces([gradient], [1.0], thing, sliding)
        assert surfaces.forces(F.tolist(), [0.0] * 6, [7.0]) == pytest.approx([7.0], abs=1e-9)


def test_of_a_wrong_weight_a_leaning_wall_is_pushed_with_its_part():
    """20 % more weight on a wall that leans by 4 degrees: its part along the normal at most.

    A plumb wall is pushed with nothing of it, see above; a table, below, with all of it.
    """
    gradient, friction = rough()
    thing = replace(held(), gravity=Vector3(-9.0, 1.0, 0.0))
    weight = 0.2 * 3.0 * np.array(list(thing.gravity))
    F = thing.bias + 10.0 * np.array(gradient) - np.array([0.0, 0.0, 0.0, *weight])
    (found,) = Surfaces([gradient], [1.0], thing, friction).forces(F.tolist(), [0.0] * 6, [0.0])
    part = -np.dot(weight, gradient[3:])
    assert 0.3 < part < 0.4
    assert abs(found - 10.0) < part


@pytest.mark.parametrize("lever", [0.0, 0.005, 0.01, 0.05, 0.1])
def test_on_a_level_table_a_lever_does_not_tell_the_push_from_weight(lever):
    """A pad below the object, aside by a lever: the estimate is that of a smooth table.

    With the centre of mass 5 mm off, a moment of 0.1 N m, and weight that was not believed. What
    besides may act sideways changes 0.08 N, to which the threshold leaves a little.
    """
    point, normal = np.array([lever, 0.0, -0.09]), np.array([0.0, 0.0, -1.0])
    gradient = [*np.cross(point, normal), *normal]
    thing = replace(held(), gravity=Vector3(0.0, 0.0, -9.81), omega=Vector3.zero())
    friction = SurfaceFriction.of(
        (Sliding(0.4, tuple(point)),), Vector3.zero(), [gradient], [0.0] * 6
    )
    rough, smooth = (Surfaces([gradient], [1.0], thing, one) for one in (friction, None))
    weight = np.array([0.0, 0.0, 3.0 * 9.81])
    disturbances = (
        [*np.cross([0.005, 0.0, 0.0], weight), 0.0, 0.0, 0.0],
        [0.0, 0.1, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, *(0.1 * weight)],
    )
    for disturbance in disturbances:
        F = np.array(thing.bias) + 30.0 * np.array(gradient) + disturbance
        found, bar = (one.forces(F.tolist(), [0.0] * 6, [30.0])[0] for one in (rough, smooth))
        assert abs(found - bar) < 0.1


def test_the_estimate_hears_noise_no_louder_on_any_slope():
    """Noise of 0.4 N and 0.03 N m, from a level table to a wall, with pads below and aside.

    Unknowns cost certainty: at most 0.65 N of the push, where a smooth surface has 0.4 N.
    """
    rng = np.random.default_rng(4)
    noise = rng.standard_normal((40, 6)) * ([0.03] * 3 + [0.4] * 3)
    thing = replace(held(), gravity=Vector3(0.0, 0.0, -9.81), omega=Vector3.zero())
    for slope in np.radians([0.0, 5.0, 20.0, 45.0, 70.0, 90.0]):
        for lever in (0.0, 0.01, 0.05):
            point = np.array([lever, 0.0, -0.15])
            normal = np.array([np.sin(slope), 0.0, -np.cos(slope)])
            gradient = [*np.cross(point, normal), *normal]
            friction = SurfaceFriction.of(
                (Sliding(0.4, tuple(point)),), Vector3.zero(), [gradient], [0.0] * 6
            )
            surfaces = Surfaces([gradient], [1.0], thing, friction)
            still = np.array(thing.bias)
            heard = [surfaces.forces((still + n).tolist(), [0.0] * 6, [0.0])[0] for n in noise]
            assert np.std(heard) < 0.65, (slope, lever)


@pytest.mark.parametrize("point", [None, (0.05, 0.02, -0.15)])
@pytest.mark.parametrize("size", [0.0, 2.0, -3.0])
def test_resistance_is_separate_from_forces_of_hinges_and_lines(point, size):
    """Forces of a few newtons and newton metres, and a resistance of which nobody knows the size.

    It counts a hundredth of its effect, as above: that part of it is left in the forces.
    Where it is left out they are off by as much as it is.
    """
    turn, arm = Rotation.from_rotvec([0.4, -0.7, 0.2]).as_matrix(), np.array([0.05, 0.02, -0.15])
    x, y, z = turn.T
    E = np.array([[*np.cross(arm, axis), *axis] for axis in (x, y)])
    resisted = np.array([*np.cross(arm, z), *z])
    if point is None:
        tilts = [[*x, 0.0, 0.0, 0.0], [*y, 0.0, 0.0, 0.0]]
        E = np.vstack([E, resisted, tilts])
        resisted = np.array([*z, 0.0, 0.0, 0.0])
    f, thing, a = np.linspace(-5.0, 8.0, len(E)), held(), np.arange(6.0)
    F = inertia() @ a + thing.bias + E.T @ f + size * resisted
    one = (Guided(point), *[None] * (len(E) - 1))
    friction = SurfaceFriction.of(one, Vector3.zero(), E.tolist(), [0.0] * 6)
    assert friction.drag == [[0.0] * 6] * len(E)
    ones = [1.0] * len(E)
    found = Surfaces(E.tolist(), ones, thing, friction).forces(F.tolist(), a.tolist(), f.tolist())
    without = Surfaces(E.tolist(), ones, thing).forces(F.tolist(), a.tolist())
    off, before = (np.abs(np.array(one) - f).max() for one in (found, without))
    assert off < 0.1 * abs(size) + 1e-9
    assert before > 5.0 * off if size else before < 1e-9
