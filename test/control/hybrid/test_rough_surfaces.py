# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Surfaces with friction: contacts make the drag, and its moment is no push by a lever."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.hybrid_control import (
    FOOT,
    REST,
    START,
    SYSTEM,
    Plan,
    Q,
    controller,
    pressing_wrenches,
    touching,
)  # fmt: skip

from robot_dynamics.manipulation.grasping import hybrid_system
from robot_dynamics.manipulation.hybrid import Environment
from robot_dynamics.manipulation.hybrid.touched_surfaces import Sliding
from robot_dynamics.model import pose

pytestmark = pytest.mark.usefixtures("interpreted")

SETTLED = 20  # ticks: the ramp is over


def rough_floor(friction):
    """Return the floor with friction where the foot touches it."""
    center = hybrid_system(SYSTEM).held.center
    foot = Sliding(friction, tuple(np.add(FOOT, center).tolist()))
    return Environment(touching().surfaces, sliding=(foot,))


def test_drag_does_not_count_as_a_push_by_its_lever():
    """Of 12 N and the drag of a friction of 0.4 at 0.1 m/s, 12 N are felt as the push.

    The foot is off the middle, where drag turns the box as a push would: a floor that is believed
    to be smooth is felt to be pushed with more than a tenth less.
    """
    velocity = np.array([0.1, 0.05, 0.0])
    drag = 0.4 * 12.0 * velocity / np.linalg.norm(velocity)
    measured, unexplained = [], []
    for environment in (rough_floor(0.4), touching()):
        control = controller(Plan(1, contact=12.0, velocity=velocity), environment=environment)
        control.start(Q, REST)
        step = control.update(SETTLED, Q, REST, pressing_wrenches(control, drag))
        measured.append(step.outputs.contact_force[0])
        unexplained.append(step.held_body_wrenches[0, 12:])
    # The speed over which friction comes up takes a twenty-thousandth away at 0.1 m/s.
    assert measured[0] == pytest.approx(12.0, abs=1e-3)
    assert_allclose(unexplained[0], 0.0, atol=1e-3)
    assert measured[1] < 10.8
    assert_allclose(unexplained[1][3:5], drag[:2], atol=1e-8)


def test_arms_make_up_for_what_a_surface_drags():
    """On a rough floor the contacts make the drag besides, as the planned motion has it."""
    velocity = np.array([0.1, -0.05, 0.0])
    torques = []
    for environment in (rough_floor(0.4), touching()):
        control = controller(Plan(1, contact=20.0, velocity=velocity), environment=environment)
        control.start(Q, REST)
        torques.append(control.update(SETTLED, Q, REST).torque)
    force = 0.4 * 20.0 * velocity / np.hypot(np.linalg.norm(velocity), 1e-3)
    drag = np.concatenate([np.cross(FOOT, force), force])
    J = hybrid_system(SYSTEM).terms(Q, REST, pose(START[:3]), np.zeros(6)).J_S
    expected = J.T @ control.distribution.share @ drag
    assert_allclose(torques[0] - torques[1], expected, atol=1e-8)
