# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Cones of wrenches, distances to them, and the planes that stand for them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import FrictionCone, WrenchLimits

POINT, FINGER = FrictionCone(0.5), FrictionCone(0.5, torsion=0.02)


def wrenches(count, seed=0):
    """Return wrenches in all directions; moments of a soft finger's size."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, 6)) * [0.04, 0.04, 0.04, 1.0, 1.0, 1.0]


def test_the_cone_is_coulombs():
    """A point holds mu f_z along the surface in every direction, and never pulls."""
    angles = np.linspace(0.0, 2.0 * np.pi, 37)
    rim = np.zeros((37, 6))
    rim[:, 3], rim[:, 4], rim[:, 5] = 0.5 * np.cos(angles), 0.5 * np.sin(angles), 1.0
    assert_allclose(POINT.distance(rim), 0.0, atol=1e-15)
    assert np.all(POINT.distance(rim + np.eye(6)[5] * 0.1) > 0.0)
    assert_allclose(POINT.used(rim), 1.0)
    assert POINT.distance([0, 0, 0, 0, 0, -3.0]) == -3.0
    assert POINT.used([0, 0, 0, 0, 0, -3.0]) == np.inf


def test_a_soft_finger_holds_twists_and_forces_on_an_ellipsoid():
    """All of one leaves nothing of the other; 3/5 of one leaves 4/5 of the other."""
    for moment, force in ((1.0, 0.0), (0.6, 0.8), (0.0, 1.0)):
        assert_allclose(FINGER.distance([0, 0, 0.02 * moment, 0.5 * force, 0, 1.0]), 0, atol=1e-15)


@pytest.mark.parametrize("cone", [POINT, FINGER])
def test_the_distance_is_that_to_the_nearest_wrench_of_the_surface(cone):
    """Against a search along the cone's ray in the plane of the wrench and the axis."""
    for w in wrenches(200):
        t, normal = float(np.linalg.norm(cone.tangential(w))), w[5]

        def gap(s, t=t, normal=normal):
            return np.hypot(cone.friction * s - t, s - normal)

        nearest = minimize_scalar(gap, bounds=(0.0, 20.0), method="bounded")
        found = float(cone.distance(w))
        assert abs(found) == pytest.approx(nearest.fun, abs=1e-5)  # the search's own accuracy
        assert (found > 0.0) == (t < cone.friction * normal)


@pytest.mark.parametrize(
    "limits",
    [
        POINT,
        FINGER,
        FrictionCone(0.0),
        FrictionCone(0.5, most=2.0),
        WrenchLimits((1.0, 1.0, 1.0), (2.0, 2.0, 2.0)),
    ],
)
def test_the_distance_of_one_wrench_is_that_of_many(limits):
    """Also where a number is none or infinite: no slip is missed there."""
    given = wrenches(300, seed=4) * 3.0
    found = [limits.distance_of_one(row) for row in given.tolist()]
    assert_allclose(found, limits.distance(given), rtol=1e-14, atol=1e-15)
    firm, odd = np.array([0.0, 0.0, 0.0, 0.0, 0.0, np.inf]), given[0].copy()
    assert limits.distance_of_one(firm.tolist()) == limits.distance(firm)
    for i in (3, 5):
        odd[i] = np.nan
        assert np.isnan(limits.distance_of_one(odd.tolist())) == np.isnan(limits.distance(odd))


@pytest.mark.parametrize("cone", [POINT, FINGER, FrictionCone(0.0)])
def test_the_used_friction_of_one_wrench_is_that_of_many(cone):
    """Also without a normal force, and without a tangential one."""
    given = wrenches(300, seed=5)
    given[:100, 5] = np.abs(given[:100, 5])
    given[:10, [2, 3, 4]] = 0.0
    given[90:110, 5] = 0.0
    given[105] = 0.0
    found = [cone.used_by_one(row) for row in given.tolist()]
    assert_allclose(found, cone.used(given), rtol=1e-14)


@pytest.mark.parametrize(("cone", "sides"), [(POINT, 8), (POINT, 16), (FINGER, 8), (FINGER, 16)])
def test_planes_are_inside_and_give_away_what_they_say(cone, sides):
    """Admitted forces have the margin; refused ones are within the planes' error of the cone."""
    margin = 0.2
    w = wrenches(20000)
    w[:, 5] = np.abs(w[:, 5]) * 3.0
    facets = cone.facets(margin, sides)
    admitted = np.all(w @ facets.rows.T >= facets.lower, axis=1)
    assert 100 < admitted.sum() < len(w)
    assert cone.distance(w[admitted]).min() >= margin - 1e-12
    # With the friction that is left when the error is taken away, nothing is refused.
    tight = cone.facets(0.0, sides)
    refused = np.any(w @ tight.rows.T < -1e-12, axis=1)
    assert np.min(cone.used(w[refused])) >= 1.0 - tight.error
    # The error is not larger than it has to be: something is refused close to it.
    assert np.min(cone.used(w[refused])) < 1.0 - 0.8 * tight.error
    if cone is POINT:
        assert tight.error == pytest.approx(1.0 - np.cos(np.pi / sides))


def test_a_contact_without_friction_only_pushes():
    """Its distance is the normal force, its only plane that of no force."""
    smooth = FrictionCone(0.0)
    assert smooth.distance([0, 0, 0, 0, 0, 2.0]) == 2.0
    assert smooth.distance([0, 0, 0, 0.1, 0, 2.0]) == pytest.approx(-0.1)
    assert smooth.used([0, 0, 0, 0, 0, 2.0]) == 0.0
    assert smooth.used([0, 0, 0, 0.1, 0, 2.0]) == np.inf
    facets = smooth.facets(0.5)
    assert_allclose(facets.rows, [[0, 0, 0, 0, 0, 1.0]])
    assert_allclose(facets.lower, [0.5])


@pytest.mark.parametrize("cone", [POINT, FINGER, FrictionCone(0.0)])
def test_any_force_is_infinitely_firm(cone):
    """It stands for places that are not touched, and has a distance that is no NaN."""
    assert cone.distance([0, 0, 0, 0, 0, np.inf]) == np.inf


def test_a_fragile_object_limits_the_normal_force():
    """Near the largest force the distance is the rest of it, and a plane says so."""
    fragile = FrictionCone(0.5, most=10.0)
    assert fragile.distance([0, 0, 0, 0, 0, 9.0]) == pytest.approx(1.0)
    assert fragile.distance([0, 0, 0, 0, 0, 11.0]) == pytest.approx(-1.0)
    facets = fragile.facets(0.5)
    assert np.all(facets.rows @ [0, 0, 0, 0, 0, 9.4] >= facets.lower)
    assert not np.all(facets.rows @ [0, 0, 0, 0, 0, 9.6] >= facets.lower)


def test_boxes_bear_what_they_say():
    """Moments count at the length; directions without limit have no plane."""
    box = WrenchLimits(moment=(1.0, np.inf, np.inf), force=(np.inf, np.inf, 20.0), length=0.1)
    assert box.distance([0.9, 50, 0, 100, 0, 0]) == pytest.approx(1.0)
    assert box.distance([0, 0, 0, 0, 0, -21.0]) == pytest.approx(-1.0)
    assert box.used([0.5, 0, 0, 0, 0, 15.0]) == pytest.approx(0.75)
    facets = box.facets(0.5)
    assert facets.rows.shape == (4, 6)
    for w in wrenches(500) * 30.0:
        assert np.all(facets.rows @ w >= facets.lower) == (box.distance(w) >= 0.5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: FrictionCone(-0.1),
        lambda: FrictionCone(np.nan),
        lambda: FrictionCone(0.0, torsion=0.1),
        lambda: FrictionCone(0.5, most=0.0),
        lambda: WrenchLimits(force=(1.0, 0.0, 1.0)),
        lambda: POINT.facets(sides=2),
    ],
)
def test_invalid_friction_is_refused(make):
    """Numbers that describe no contact are refused with the expected ones."""
    with pytest.raises(ArgumentError, match="expected"):
        make()
