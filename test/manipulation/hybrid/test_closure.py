# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether pushing contacts hold an object, and how much they resist."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.hybrid.grasps import HALF, around, facing, frame
from scipy.optimize import nnls

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.hybrid import Contact, FrictionCone, WrenchLimits
from robot_dynamics.manipulation.hybrid.closure import largest_wrench, require_closure
from robot_dynamics.manipulation.hybrid.contacts import wrench_map

POINT = FrictionCone(0.5)
FINGER = FrictionCone(0.5, torsion=0.02)


@pytest.mark.parametrize(
    "contacts",
    [
        facing("rigid"),
        facing("rigid", WrenchLimits(force=(50.0, 50.0, 50.0))),
        facing("soft finger", FINGER),
        around("frictional point", 3, POINT),
        around("frictional point", 4, FrictionCone(0.1)),
    ],
)
def test_grasps_that_press_hold(contacts):
    """Rigid ones with and without limits, opposing fingers, and rings with any friction."""
    require_closure(contacts, 0.1)


def test_two_points_leave_the_rotation_about_their_line():
    """However large their friction is, the message names the rotation."""
    with pytest.raises(RobotDynamicsError, match=r"the rotation about \(-?1, 0, 0\) through"):
        require_closure(facing("frictional point", FrictionCone(10.0)), 0.1)


@pytest.mark.parametrize("tilt", [20.0, 26.0, 27.0, 40.0])
def test_fingers_hold_if_their_line_is_inside_both_cones(tilt):
    """Nguyen's theorem: with friction 0.5 each normal may be 26.6 degrees off the line."""
    turn = np.radians(tilt)
    # Polygons give some friction away, unless a corner is where the line is.
    contacts = [
        Contact.of_kind(
            "soft finger",
            frame((-side * np.cos(turn), np.sin(turn), 0.0), (side * HALF, 0.0, 0.0)),
            FINGER,
        )
        for side in (-1.0, 1.0)
    ]
    if tilt < 26.5 - 0.5:
        require_closure(contacts, 0.1, ("left", "right"))
    elif tilt > 26.57:
        with pytest.raises(RobotDynamicsError, match="no force closure") as error:
            require_closure(contacts, 0.1, ("left", "right"))
        assert f"{tilt:.3g} degrees at 'left', friction holds 26.6" in str(error.value)


def test_pushing_from_one_side_does_not_hold():
    """Three points under a tray span everything and cannot press: nothing holds it down."""
    below = [
        Contact.of_kind("frictional point", frame((0, 0, 1), at), POINT)
        for at in [(0.1, 0, 0), (-0.1, 0.1, 0), (-0.1, -0.1, 0)]
    ]
    with pytest.raises(RobotDynamicsError, match="no force closure"):
        require_closure(below, 0.1)
    # It carries any weight all the same, and holds against no pull.
    assert largest_wrench(below, [0, 0, 0, 0, 0, -1.0]) == np.inf
    assert largest_wrench(below, [0, 0, 0, 0, 0, 1.0]) == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_closure_is_that_wrenches_of_edges_span_everything(seed):
    """Against another test: some positive combination of all edges of the cones is no wrench."""
    rng = np.random.default_rng(seed)
    contacts = [
        Contact.of_kind("frictional point", frame(rng.normal(size=3), rng.normal(size=3)), POINT)
        for _ in range(5)
    ]
    W = wrench_map(contacts, np.zeros(3))
    angles = 2.0 * np.pi * np.arange(16) / 16 + np.pi / 16
    # Corners of the inscribed polygon are on the circle.
    edges = np.column_stack([0.5 * np.cos(angles), 0.5 * np.sin(angles), np.ones(16)])
    wrenches = np.hstack([W[:, 3 * i : 3 * i + 3] @ edges.T for i in range(5)])
    # Strictly positive combinations: 1 on each edge and more.
    _, residual = nnls(wrenches, -wrenches.sum(axis=1), maxiter=10000)
    try:
        require_closure(contacts, 1.0)
        closed = True
    except RobotDynamicsError:
        closed = False
    assert closed == (residual < 1e-8 * np.abs(wrenches).sum())


def test_the_largest_wrench_is_what_friction_and_limits_leave():
    """Fingers that press 20 N at most carry 2 mu 20 N, less if a margin is kept."""
    fingers = facing("soft finger", FrictionCone(0.5, torsion=0.02, most=20.0))
    weight = [0, 0, 0, 0, 0, -1.0]
    inscribed = np.cos(np.pi / 16)
    found = largest_wrench(fingers, weight)
    assert 20.0 * inscribed**2 <= found <= 20.0 + 1e-9
    assert largest_wrench(fingers, weight, margin=1.0) < found - 2.0
    assert np.isnan(largest_wrench(fingers, weight, margin=100.0))
    # The twist about their line is what both torsions hold.
    twist = largest_wrench(fingers, [1.0, 0, 0, 0, 0, 0])
    assert twist == pytest.approx(2 * 0.02 * 20.0, rel=0.05)
    assert largest_wrench(facing("soft finger", FINGER), weight) == np.inf
