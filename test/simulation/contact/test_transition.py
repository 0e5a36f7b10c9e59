# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Approach, impact, force control, sliding and departure, on rigid and on elastic walls.

A gantry holds a box and moves it along x, where the wall is, and along z. Its controller knows one
axis at a time: a velocity servo until the force is felt, then u = f_d + K int(f_d - f) - b v.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.contact_scenes import BOX
from support.mechanisms import holding

from robot_dynamics.contact.material import Material
from robot_dynamics.contact.surfaces import plane
from robot_dynamics.control.hybrid.contact_damping import gain_warnings, normal_damping
from robot_dynamics.manipulation.hybrid import Contact, FrictionCone
from robot_dynamics.model import JointElement, LinkElement, Mechanism
from robot_dynamics.reproductions.yoshikawa_zheng.contact_phase import (
    ContactPhase,
    ContactPhaseSettings,
    Phase,
)
from robot_dynamics.reproductions.yoshikawa_zheng.law import ForceServo, ForceServoParameters
from robot_dynamics.simulation.contact.report import ContactMode
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import ArmContact, Scene, SurfaceContact
from robot_dynamics.simulation.settings import PlantSettings

PERIOD = 0.002
MASS = 3.5  # that moves along x: box, tip and cross beam
SPEED, FORCE, GAIN = 0.07, 5.0, 100.0  # the gain that is printed in the paper
SLIDE, LEAVE, END = 0.42, 0.58, 0.7  # [s]
WALLS = {"rigid": np.inf, "1e4 N/m": 1e4, "1e5 N/m": 1e5}


class Seen(NamedTuple):
    """Observations at the end of each period."""

    time: np.ndarray
    force: np.ndarray
    state: list[ContactMode]
    slip: np.ndarray
    gap: np.ndarray
    impacts: np.ndarray
    finite: bool


def gantry(stiffness):
    """Return the scene and its start, the wall 10 mm away."""
    inertia = 1e-3 * np.eye(3)
    links = (
        LinkElement("base"),
        LinkElement("cross", 1.0, (0.0, 0.0, 0.0), inertia),
        LinkElement("tip", 0.5, (0.0, 0.0, 0.0), inertia),
    )
    joints = (
        JointElement("x", "prismatic", "base", "cross", np.eye(4), (1.0, 0.0, 0.0)),
        JointElement("z", "prismatic", "cross", "tip", np.eye(4), (0.0, 0.0, 1.0)),
    )
    arm = Mechanism("gantry", links, joints)
    pose = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    cell = holding([arm], BOX, [np.eye(4)], [[0.0, 0.0]], (1.0,), pose)
    model = cell.system.model.replace(gravity=(0.0, 0.0, 0.0))
    material = Material(FrictionCone(0.3), stiffness, restitution=0.3, speed=SPEED)
    wall = SurfaceContact("wall", plane((0.06, 0, 0), (-1, 0, 0)), [[0.05, 0, 0]], material)
    held = ArmContact(Contact.of_kind("rigid", np.eye(4)))
    return Scene(replace(cell.system, model=model), (held,), (wall,)), cell.start


@cache
def touch_down(stiffness, *, literal):
    """Run approach, contact, slide and departure, and return the observations.

    Args:
        stiffness: Of the wall [N/m].
        literal: Whether the law is the printed one: no damping, no gate, no limits.
    """
    scene, start = gantry(stiffness)
    settings = PlantSettings(command_delay_periods=0, damping_scale=0.0)
    plant = ScenePlant(scene, start, PERIOD, settings)
    phase = ContactPhase(ContactPhaseSettings(touch=0.5, lost_after=0.1), PERIOD)
    damping = 0.0 if literal else normal_damping(MASS, GAIN, 0.5 * PERIOD).damping
    limits = {} if literal else {"error_limit": 5.0, "integral_limit": 3.0, "late": 1}
    servo = ForceServo(ForceServoParameters(GAIN, PERIOD, **limits), 1)
    measured, force, wanted_z, rows = plant.reset(), 0.0, 0.0, []
    for tick in range(round(END / PERIOD)):
        time = tick * PERIOD
        wanted = time < LEAVE
        phase.step(force, approaching=wanted)
        if phase.phase is Phase.CONTACT:
            gate = literal or force > 0.0
            push = servo.step([FORCE], [force], gate)[0] - damping * measured.qd[0]
        else:
            servo.reset()
            push = 60.0 * MASS * ((SPEED if wanted else -SPEED) - measured.qd[0])
        rate = 0.2 * min(max((time - SLIDE) / 0.04, 0.0), 1.0) if wanted else 0.0
        gathers = wanted and SLIDE < time < SLIDE + 0.04
        wanted_z += rate * PERIOD
        errors = 120.0 * (rate - measured.qd[1]) + 3000.0 * (wanted_z - measured.q[1])
        along = 2.5 * (errors + (5.0 if gathers else 0.0))
        measured = plant.step(np.array([push, along]))
        wall = plant.contacts()[-1]
        force = float(wall.force[2])
        slip = float(np.linalg.norm(wall.slip))
        rows.append((time + PERIOD, force, slip, wall.gap, wall.impacts, wall.state))
    *numbers, states = zip(*rows, strict=True)
    time, force, slip, gap, impacts = (np.array(values) for values in numbers)
    finite = bool(np.isfinite(plant.engine.state()[0]).all())
    return Seen(time, force, list(states), slip, gap, impacts, finite)


def settled(seen):
    """Return the time from first touch to the last force error above 2 %, before the slide."""
    before = seen.time < SLIDE
    first = seen.time[np.argmax(seen.force > 0.0)]
    wrong = seen.time[before & (seen.time >= first) & (np.abs(seen.force - FORCE) > 0.02 * FORCE)]
    return float(wrong[-1] - first)


@pytest.mark.parametrize("wall", WALLS)
def test_damped_and_gated_it_settles(wall):
    """Touching at 70 mm/s: at most three contacts, within 2 % after 0.3 s at the latest.

    Then it slides at 0.2 m/s with friction, the force within 10 %, and leaves when told to.
    """
    seen = touch_down(WALLS[wall], literal=False)
    assert settled(seen) < 0.25
    assert seen.impacts[-1] <= 3
    sliding = (seen.time > SLIDE + 0.06) & (seen.time < LEAVE)
    assert {s for s, at in zip(seen.state, sliding, strict=True) if at} == {ContactMode.SLIDING}
    assert_allclose(seen.slip[sliding], 0.2, rtol=0.1)  # an axis without a friction model
    assert_allclose(seen.force[sliding], FORCE, rtol=0.1)
    # It has left: 70 mm/s for 0.12 s, less what reversing takes.
    assert seen.state[-1] is ContactMode.OPEN
    assert seen.gap[-1] > 0.005
    assert seen.force[-1] == 0.0


@pytest.mark.parametrize("wall", WALLS)
def test_the_literal_law_bounces(wall):
    """Without damping, gate and limits the same gain does not settle, as it is warned of.

    No simulation ends by it: it bounces, winds up, or rings on the softer wall.
    """
    assert gain_warnings(MASS, GAIN, 0.0)
    seen = touch_down(WALLS[wall], literal=True)
    assert seen.finite
    assert settled(seen) > 0.25
    last = (seen.time > SLIDE - 0.05) & (seen.time < SLIDE)
    assert np.abs(seen.force[last] - FORCE).max() > 0.1 * FORCE
