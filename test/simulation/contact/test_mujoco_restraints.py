# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's hinges and lines and ours bear the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.mechanisms import two_arms

from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.model import pose
from robot_dynamics.simulation.contact import (
    ArmContact,
    ContactPlant,
    ContactScene,
    MujocoContactPlant,
    Restraint,
    Touch,
)
from robot_dynamics.simulation.settings import PlantSettings

pytest.importorskip("mujoco")

PERIOD = 0.002
CELL = two_arms()
SETTINGS = PlantSettings(command_delay_periods=0, damping_scale=0.0, friction_scale=0.0)


@pytest.mark.parametrize("kind", ["hinge", "line"])
@pytest.mark.parametrize("resisted", [False, True])
def test_two_arms_swing_a_box_alike(kind, resisted):
    """Forces and moments, in axes and signs, and the motion, over 0.1 s under constant torques.

    MuJoCo's integrator is of first order: parts in a hundred of the motion. Its forces are means
    of the control period, ours those of its last step, a millisecond later: 0.6 % of the largest,
    150 N, while the box swings (measured), to which the bar leaves a factor of two.
    """
    system = CELL.system
    at = pose(CELL.start[system.object_q][:3])
    part = pose((0.2, 0.1, -0.1), Rotation.from_rotvec([0.3, 0.2, 0.5]).as_matrix())
    against = {"hinge": (4.0, 3.0), "line": (20.0, 15.0)}[kind] if resisted else ()
    # The line's origin is elsewhere on it.
    frame = at @ part @ pose((0.0, 0.0, 0.3 if kind == "line" else 0.0))
    contacts = tuple(ArmContact(Contact.of_kind("rigid", g)) for g in system.grasps)
    scene = ContactScene(system, contacts, (), (Restraint("door", kind, frame, part, *against),))
    # Coulomb friction is of first order in the step in both, as it comes up at the start.
    step = 5e-5 if resisted else None
    settings = replace(SETTINGS, step_s=step, mujoco_step_s=step)
    ours = ContactPlant(scene, CELL.start, PERIOD, settings)
    theirs = MujocoContactPlant(scene, CELL.start, PERIOD, settings)
    assert_allclose(theirs.reset().wrenches, ours.reset().wrenches, atol=1e-9)
    torque = np.linspace(-2.0, 2.0, len(system.joint_names))
    for _ in range(50):
        mine, other = ours.step(torque), theirs.step(torque)
    moved = np.abs(mine.q - CELL.start[system.q_index]).max()
    assert moved > 0.01
    assert_allclose(other.q, mine.q, atol=0.01 * moved)
    one, two = ours.contacts()[-1], theirs.contacts()[-1]
    assert one.name == two.name == "door"
    assert one.state is two.state is Touch.HELD
    assert np.abs(one.force).max() > 5.0
    assert_allclose(two.force, one.force, atol=0.012 * np.abs(one.force).max())
    assert_allclose(two.moment, one.moment, atol=0.012 * np.abs(one.moment).max())
    assert_allclose(two.axes, one.axes)
    assert_allclose(two.point, one.point, atol=0.01 * moved)
    truth = theirs.truth()
    assert 0.0 < truth.closure_position < 1e-5
    assert truth.closure_rotation < 1e-5
    assert ours.truth().closure_position < 1e-12
