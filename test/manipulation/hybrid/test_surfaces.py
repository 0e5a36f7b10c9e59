# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Hypersurfaces that scenarios may name: signs, counts, and the motions that they leave."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics.manipulation.contact_settings import (
    SURFACE_ROWS,
    PartSettings,
    SurfaceSettings,
)
from robot_dynamics.manipulation.hybrid import Environment
from robot_dynamics.manipulation.hybrid.environment import surface_functions
from robot_dynamics.model import pose

RNG = np.random.default_rng(3)
FRAME = pose((0.3, -0.2, 0.9), Rotation.from_euler("xyz", [0.3, -0.5, 1.1]).as_matrix())
PART = pose((0.05, 0.02, -0.1), Rotation.from_euler("xyz", [2.0, 0.4, -0.7]).as_matrix())
CENTER = np.array([0.01, -0.03, 0.02])
RADIUS = 0.25


def surface(kind, part="point", **more):
    """Return settings of a surface, with the sizes that its kind needs."""
    radius = RADIUS if kind in ("sphere", "cylinder", "hole") else None
    depth = 0.1 if kind == "hole" else None
    return SurfaceSettings(
        "it", kind, (0.0, 0.0, 0.0), radius=radius, depth=depth, part=PartSettings(part), **more
    )


def terms(settings, part_in_surface):
    """Return environment terms with the part at a pose (4, 4) in the surface's frame, at rest."""
    functions = surface_functions(settings, FRAME, PART, CENTER)
    of_object = FRAME @ part_in_surface @ np.linalg.inv(PART)
    R = of_object[:3, :3]
    return Environment(functions).terms(of_object[:3, 3] + R @ CENTER, R, np.zeros(6)), of_object


def fitting(kind):
    """Return a pose of the part in the surface's frame at which it touches as it should."""
    down = np.diag([1.0, -1.0, -1.0])  # z out of the object, into the surface
    spin = Rotation.from_euler("z", 0.7).as_matrix()
    places = {
        "plane": (0.3, -0.1, 0.0),
        "sphere": (0.15, 0.0, 0.2),
        "cylinder": (0.15, 0.2, 0.7),
        "line": (0.0, 0.0, 0.4),
        "hole": (0.0, 0.0, -0.05),
        "hinge": (0.0, 0.0, 0.0),
    }
    return pose(places[kind], spin @ down)


@pytest.mark.parametrize(
    ("kind", "part"), [(kind, part) for kind in SURFACE_ROWS for part in SURFACE_ROWS[kind]]
)
def test_functions_vanish_where_the_object_touches(kind, part):
    """As many as declared, independent, and zero at a pose that touches as it should."""
    found, _ = terms(surface(kind, part), fitting(kind))
    assert len(found.p) == SURFACE_ROWS[kind][part]
    np.testing.assert_allclose(found.p, 0.0, atol=1e-14)
    assert np.linalg.matrix_rank(found.E_F, tol=1e-6) == len(found.p)


def motions_left(kind, part):
    """Return twists in the surface's frame about its origin that keep the contact (6, f)."""
    x, y, z = np.eye(3)
    still = np.zeros(3)
    turn_z, slide_z = np.concatenate([z, still]), np.concatenate([still, z])
    slide_x, slide_y = np.concatenate([still, x]), np.concatenate([still, y])
    left = {
        ("plane", "face"): [turn_z, slide_x, slide_y],
        ("plane", "edge"): [turn_z, slide_x, slide_y],
        ("plane", "point"): [turn_z, slide_x, slide_y],
        ("sphere", "point"): [np.concatenate([axis, still]) for axis in np.eye(3)],
        ("cylinder", "point"): [turn_z, slide_z],
        ("line", "point"): [turn_z, slide_z],
        ("hole", "axis"): [turn_z, slide_z],
        ("hinge", "axis"): [turn_z],
    }
    return np.array(left[kind, part]).T


@pytest.mark.parametrize(
    ("kind", "part"), [(kind, part) for kind in SURFACE_ROWS for part in SURFACE_ROWS[kind]]
)
def test_motions_along_a_surface_are_left_free(kind, part):
    """E_F is zero along motions that geometry says keep the contact, written down by hand."""
    found, of_object = terms(surface(kind, part), fitting(kind))
    R, origin = FRAME[:3, :3], FRAME[:3, 3]
    center = of_object[:3, 3] + of_object[:3, :3] @ CENTER
    for motion in motions_left(kind, part).T:
        omega = R @ motion[:3]
        v = R @ motion[3:] + np.cross(omega, center - origin)
        np.testing.assert_allclose(found.E_F @ [*omega, *v], 0.0, atol=1e-13)


@pytest.mark.parametrize(
    ("kind", "inside"),
    [("plane", False), *((kind, at) for kind in ("sphere", "cylinder") for at in (False, True))],
)
def test_free_space_is_negative(kind, inside):
    """The distance is negative in free space by as much as one is away from the surface."""
    at = fitting(kind)
    outward = np.array([0.0, 0.0, 1.0])
    if kind != "plane":
        arm = at[:3, 3] * [1.0, 1.0, kind == "sphere"]
        outward = arm / np.linalg.norm(arm) * (-1.0 if inside else 1.0)
    away = at.copy()
    away[:3, 3] += 0.01 * outward
    found, _ = terms(surface(kind, inside=inside), away)
    assert found.p[0] == pytest.approx(-0.01, abs=1e-12)
