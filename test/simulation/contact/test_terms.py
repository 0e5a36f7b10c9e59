# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled terms of a step against finite differences, and against the robot's own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import two_arms

from robot_dynamics.contact.material import Material
from robot_dynamics.contact.surfaces import plane, sphere
from robot_dynamics.manipulation.hybrid import Contact, FrictionCone
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.contact.terms import SceneTerms
from robot_dynamics.simulation.scene import ArmContact, Scene, SurfaceContact

CELL = two_arms()
SMALL = 1e-6  # differences are good to about its square over rounding, 1e-10 and less


@pytest.fixture(scope="module")
def terms():
    """Return the terms of a pin, a soft finger and three points on two surfaces."""
    gamma = Material(FrictionCone(0.5, 0.02))
    contacts = tuple(
        ArmContact(Contact.of_kind(kind, grasp), gamma)
        for kind, grasp in zip(("pin", "soft finger"), CELL.system.grasps, strict=True)
    )
    surfaces = (
        SurfaceContact("table", plane((0, 0, 0.2), (0.1, 0.2, 1)), [[0.1, 0, 0], [0, 0.1, 0]]),
        SurfaceContact("ball", sphere((0.5, 0.3, 0.1), 0.2), [[0.0, 0.1, -0.1]]),
    )
    return SceneTerms(Scene(CELL.system, contacts, surfaces))


def state(rng):
    """Return a state near the start."""
    nv = CELL.system.model.nv
    move = 0.02 * rng.normal(size=nv)
    q = np.array(CELL.system.model.integrate(CELL.start.tolist(), move.tolist()))
    return q, rng.normal(size=nv), np.zeros(nv)


def test_rows_are_the_rates_of_gaps_and_places(terms):
    """J v is how gaps, and places along the tangents, change with q."""
    q, v, none = state(np.random.default_rng(0))
    here = terms(q, none, none, none, none, 0.0)
    ends = [terms(terms.move(q, s * SMALL * v), none, none, none, none, 0.0) for s in (1, -1)]

    def rate(name):
        return (getattr(ends[0], name) - getattr(ends[1], name)) / (2.0 * SMALL)

    rates = here.J @ v
    b, w = terms.holding, terms.width
    assert (b, w, terms.opening) == (5, 4, 4)
    of = rates[b:].reshape(-1, w)
    tolerance = {"rtol": 1e-6, "atol": 1e-7}
    assert_allclose(of[:, 0], rate("gaps"), **tolerance)
    along = np.einsum("cij,cj->ci", here.axes[:, :2], rate("places"))
    # The finger's place turns with the object's axes as well; on the face itself it does not.
    assert_allclose(of[1:, 1:3], along[1:], **tolerance)


def test_rows_of_closed_contacts(terms):
    """At the start, tools at their grasps, openings change as J says."""
    rng = np.random.default_rng(1)
    nv = CELL.system.model.nv
    v, none = rng.normal(size=nv), np.zeros(nv)
    here = terms(CELL.start, none, none, none, none, 0.0)
    assert_allclose(here.error, 0.0, atol=1e-14)
    assert_allclose(here.gaps[0], 0.0, atol=1e-14)
    ends = [terms(terms.move(CELL.start, s * SMALL * v), *[none] * 4, 0.0) for s in (1, -1)]
    rates = here.J @ v
    difference = (ends[0].error - ends[1].error) / (2.0 * SMALL)
    assert_allclose(rates[: terms.holding], difference, rtol=1e-6, atol=1e-8)
    places = (ends[0].places[0] - ends[1].places[0]) / (2.0 * SMALL)
    row = rates[terms.holding :][:4]
    assert_allclose([row[1], row[2], row[0]], places, rtol=1e-6, atol=1e-8)
    # The spin: how the finger's axes turn about the normal, in those of the contact.
    change = (ends[1].turns[1].T - ends[0].turns[1].T) @ here.turns[1] / (2.0 * SMALL)
    assert_allclose(row[3], 0.02 / 0.5 * change[1, 0], rtol=1e-6, atol=1e-8)


def test_free_motion_and_masses_are_the_robots(terms):
    """Without contact forces a step is that of forward dynamics in its middle."""
    rng = np.random.default_rng(2)
    q, v, none = state(rng)
    tau, h = rng.normal(size=len(v)), 1e-3
    step = terms(q, v, none, tau, none, h)
    robot = Robot(terms.scene.model)
    assert_allclose(step.q, terms.move(q, 0.5 * h * v), rtol=1e-14, atol=1e-14)
    assert_allclose(step.free, v + h * robot.forward_dynamics(step.q, v, tau), rtol=1e-10)
    H = robot.inertia_matrix(step.q)
    assert_allclose(step.HJ @ H, step.J, atol=1e-11 * np.abs(step.J).max() * np.linalg.cond(H))


def test_friction_of_joints_is_implicit(terms):
    """However large, it only stops: (H + h D) (v+ - v) = h (tau - C - D v)."""
    rng = np.random.default_rng(3)
    q, v, none = state(rng)
    drag = np.zeros(len(v))
    drag[CELL.system.v_index] = 1e6
    step = terms(q, v, none, none, drag, 1e-3)
    assert np.abs(step.free[CELL.system.v_index]).max() < 0.01  # (H v + h C) / (h D)
    robot = Robot(terms.scene.model)
    H, C = robot.inertia_matrix(step.q), robot.bias_forces(step.q, v)
    expected = v + np.linalg.solve(H + 1e-3 * np.diag(drag), 1e-3 * (-C - drag * v))
    assert_allclose(step.free, expected, rtol=1e-9, atol=1e-9)
