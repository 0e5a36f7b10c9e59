# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of contacts: contents and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from support.contact_scenes import between_fingers, on_surfaces
from support.mechanisms import two_arms

from robot_dynamics.contact.material import Material, dissipation
from robot_dynamics.contact.surfaces import plane
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import Contact, FrictionCone
from robot_dynamics.model import pose
from robot_dynamics.simulation.scene import ArmContact, Scene, SurfaceContact, points_of_face

FLOOR = plane((0, 0, 0), (0, 0, 1))


def test_contacts_are_sorted_by_whether_they_open():
    """Grasps leave the model; contacts are sorted by whether they open, arms before points."""
    system = two_arms().system
    kinds = ("rigid", "soft finger")
    contacts = tuple(
        ArmContact(Contact.of_kind(kind, grasp), Material(FrictionCone(0.4, 0.01)))
        for kind, grasp in zip(kinds, system.grasps, strict=True)
    )
    table = SurfaceContact("table", FLOOR, np.eye(3), Material(FrictionCone(0.2, 0.1)))
    scene = Scene(system, contacts, (table,))
    assert scene.model.loops == ()
    assert (scene.holding, scene.pushing) == ((0,), (1,))
    assert [name for name, _, _ in scene.touches] == ["arm1", "table", "table", "table"]
    assert [cone.torsion for _, _, cone in scene.touches] == [0.01, 0.0, 0.0, 0.0]
    assert_allclose(scene.finger_frames[0], np.eye(4), atol=1e-15)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("frictional point", FrictionCone(0.4)),
        ("frictionless point", FrictionCone(0.0)),
        ("soft finger", FrictionCone(0.4, 0.02)),
    ],
)
def test_friction_is_that_of_the_kind(kind, expected):
    """A point has no torsion, whatever the material has; limits are of a controller alone."""
    own = FrictionCone(0.4, 0.02)
    material = ArmContact(Contact.of_kind(kind, np.eye(4)), Material(own))
    stated = ArmContact(Contact.of_kind(kind, np.eye(4), FrictionCone(0.9)), Material(own))
    assert material.friction == stated.friction == expected


def test_corners_of_a_face():
    """The corners of a rectangle across the frame's z axis."""
    corners = points_of_face(0.2, 0.1, pose((0, 0, 1.0)))
    assert_allclose(sorted(map(tuple, np.abs(corners))), [(0.2, 0.1, 1.0)] * 4)
    assert_allclose(corners.mean(axis=0), (0, 0, 1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Material(stiffness=-1.0),
        lambda: Material(restitution=1.5),
        lambda: Material(stiffness=1e4, restitution=0.0),
        lambda: SurfaceContact("floor", FLOOR, [[0.0, 0.0]]),
        lambda: SurfaceContact("floor", FLOOR, [[0.0, 0.0, np.nan]]),
        lambda: ArmContact(Contact.of_kind("soft finger", np.eye(4)), face=(0.0, 1.0)),
        lambda: Scene(two_arms().system, (ArmContact(Contact.of_kind("rigid", np.eye(4))),)),
    ],
)
def test_invalid_scenes_are_refused(make):
    """Negative stiffness, points in the plane, arms without contacts: one sentence each."""
    with pytest.raises(ArgumentError, match="expected"):
        make()


def test_scenes_without_arms_or_surfaces():
    """Either may be missing."""
    assert on_surfaces().touches == ()
    assert len(between_fingers(Material())[0].touches) == 2


@pytest.mark.parametrize("e", [0.01, 0.02, 0.0276, 0.1, 0.3, 0.8])
@pytest.mark.parametrize(("mass", "stiffness"), [(2.0, 1e4), (0.3, 1e5)])
def test_an_impact_keeps_the_restitution(e, mass, stiffness):
    """Integrated with SciPy, m d'' = -k d (1 + D d'): it leaves at e v to the integrator's 1e-9.

    The factor of ten allows for the point where the force ends, found to its own tolerance.
    """
    speed = 0.07
    D = dissipation(e, speed)

    def rate(_, y):
        return [y[1], -stiffness * y[0] * (1.0 + D * y[1]) / mass]

    def out(_, y):
        return y[0]

    out.terminal, out.direction = True, -1
    end = solve_ivp(rate, (0, 1), [0.0, speed], events=out, rtol=1e-11, atol=1e-14)
    assert_allclose(-end.y[1, -1] / speed, e, rtol=1e-8)


def restitution_at(speed, dissipation):
    """Return which part of an impact's speed [m/s] is left, for D [s/m]."""
    a = dissipation * speed
    if a == 0.0:
        return 1.0

    def rest(e):
        return a * (1.0 + e) - (np.log1p(a) - np.log1p(-e * a))

    return brentq(rest, 0.0, min(1.0, (1.0 - 1e-15) / a), xtol=1e-14)


@pytest.mark.parametrize("e", [0.05, 0.3, 0.57, 0.999, 0.99999])
def test_the_restitution_of_a_dissipation(e):
    """One function undoes the other, to the tolerance of root finding."""
    assert_allclose(restitution_at(0.2, dissipation(e, 0.2)), e, rtol=1e-7)


def test_the_limit_near_one():
    """Near e = 1 the dissipation is the usual 1.5 (1 - e) / v, to a part 1 - e of it."""
    assert_allclose(dissipation(0.999, 1.0), 1.5 * 0.001, rtol=2e-3)
    assert dissipation(1.0, 1.0) == 0.0
    assert restitution_at(1.0, 0.0) == 1.0
    # What the usual formula leaves at e = 0.3, as the module says.
    assert round(restitution_at(1.0, 1.5 * 0.7), 2) == 0.58


@pytest.mark.parametrize("e", [0.0, 1.1, np.nan])
def test_restitutions_without_a_damping_are_refused(e):
    """None has a restitution of zero, or above one."""
    with pytest.raises(ArgumentError, match="restitution"):
        dissipation(e, 0.1)
