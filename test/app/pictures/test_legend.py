# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Legend and clock of a scene."""

import numpy as np
import pytest

from robot_dynamics.app.pictures.legend import clock, legend
from robot_dynamics.app.pictures.shapes import (
    FORCE_COLOR,
    FORCE_SCALE,
    MOMENT_COLOR,
    MOMENT_SCALE,
    SURFACE_COLOR,
)
from robot_dynamics.app.pictures.visual_scene import Arrow, VisualBody, VisualScene

ARROWS = [
    Arrow("force", FORCE_COLOR, np.zeros((2, 3)), np.zeros((2, 3))),
    Arrow("moment", MOMENT_COLOR, np.zeros((2, 3)), np.zeros((2, 3))),
]


def scene(arrows=(), roles=(), **more):
    """Return a scene of two instants without meshes."""
    poses = np.tile(np.eye(4), (2, 1, 1))
    bodies = [VisualBody(role, role, [], poses) for role in roles]
    return VisualScene("x", np.array([0.0, 1.5]), bodies, arrows, **more)


def test_a_legend_states_the_scales():
    """Each length of an arrow is that of the force or moment beside it."""
    force, moment, *_ = legend(scene(ARROWS))
    assert (force.color, moment.color) == (FORCE_COLOR, MOMENT_COLOR)
    for entry, scale, unit in ((force, FORCE_SCALE, "N"), (moment, MOMENT_SCALE, "N m")):
        length, value = entry.text.partition(", ")[2].split(" m at ")
        assert float(length) == pytest.approx(scale * float(value.removesuffix(unit)))


def test_a_legend_has_only_what_occurs():
    """A robot alone has floor tiles; a mouse that pushes has an arrow."""
    assert [entry.text for entry in legend(scene())] == ["floor tile, 0.5 m"]
    assert len(legend(scene(), pushes=True)) == 2
    cones = legend(scene(ARROWS[:1], ("cone", "reference")))
    assert [entry.kind for entry in cones] == ["arrow", "patch", "patch", "patch", "patch"]
    surface, _ = legend(scene(roles=("surface",)))
    assert (surface.text, surface.color) == ("surface: surface", SURFACE_COLOR)


def test_a_clock_states_time_and_phase():
    """Without motion there is none."""
    phases = {"phases": ("lift", "carry"), "phase": np.array([0.0, 1.0])}
    assert clock(scene(**phases), 1) == "t = 1.50 s   carry"
    assert clock(scene(), 0) == "t = 0.00 s"
    still = VisualScene("x", np.zeros(1), [])
    assert clock(still, 0) == ""
