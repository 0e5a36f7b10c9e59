# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pads of soft fingers: moments of an elastic foundation, the same in both plants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from support.contact_scenes import between_fingers
from support.plants import mujoco_plant

from robot_dynamics.contact.material import Material
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import Contact, FrictionCone
from robot_dynamics.simulation.contact.pad import Pad
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import ArmContact
from robot_dynamics.simulation.settings import PlantSettings

STILL = (0.0, 0.0)
PERIOD = 0.002
SQUEEZE, PAD = 30.0, Pad((0.01, 0.02), 1e5)
#: A sixth of a pad's largest moment, and two thirds, about x; tilts for which it has these.
MOMENTS = {0.15: 0.01125, 0.4: 0.06}


def of_foundation(tilt, half, stiffness, force):
    """Return the moment of springs that only push under a rigid plate, by sums over strips."""
    y = half * (np.arange(20000) + 0.5) / 10000 - half
    k = stiffness / len(y)

    def pressure(depth):
        return k * np.maximum(depth + np.tan(tilt) * y, 0.0)

    reach = half * np.tan(tilt) + 10.0 * force / stiffness
    depth = brentq(lambda d: pressure(d).sum() - force, -reach, reach, xtol=1e-16)
    return float(y @ pressure(depth))


@pytest.mark.parametrize("tilt", [1e-5, 2e-3, 7.4e-3, 7.6e-3, 0.02, 0.1])
def test_it_is_an_elastic_foundation(tilt):
    """Springs summed over the pad; an edge lifts off at 7.5 mrad. The largest tilts are sines."""
    for axis in range(2):
        pad = Pad(PAD.size if axis == 0 else PAD.size[::-1], PAD.stiffness)
        z = (0.0, -np.tan(tilt)) if axis == 0 else (np.tan(tilt), 0.0)
        moments = pad.moments((*z, 1.0), STILL, 15.0)
        assert_allclose(moments[axis], of_foundation(tilt, 0.02, 1e5, 15.0), rtol=1e-4)
        assert moments[1 - axis] == 0.0
        opposite = pad.moments((-z[0], -z[1], 1.0), STILL, 15.0)
        assert_allclose(opposite, np.negative(moments))


def test_the_force_is_at_the_edge_at_most():
    """Whatever the tilt; none without a force. The rate counts as a tilt of 2 ms."""
    assert_allclose(PAD.moments((0.0, -1.0, 0.0), STILL, 3.0)[0], 3.0 * 0.02, rtol=0.05)
    assert PAD.moments((0.0, -1.0, 0.0), STILL, 3.0)[0] < 3.0 * 0.02
    assert_allclose(PAD.moments((0.0, -1.0, 0.0), STILL, 0.0), 0.0, atol=1e-12)
    tilted, moving = PAD.moments((0, -1e-3, 1), STILL, 9.0), PAD.moments((0, 0, 1), (0.5, 0), 9.0)
    assert_allclose(moving, tilted)
    assert PAD.moments((0.0, 0.0, 1.0), STILL, 9.0) == [0.0, 0.0]


def test_only_soft_fingers_have_one():
    """And a pad has a size and a stiffness."""
    grasp = np.eye(4)
    with pytest.raises(ArgumentError, match="'frictional point' with a pad"):
        ArmContact(Contact.of_kind("frictional point", grasp), pad=PAD)
    for size, stiffness in (((0.0, 0.1), 1e5), ((0.1, 0.1), 0.0)):
        with pytest.raises(ArgumentError, match="expected positive"):
            Pad(size, stiffness)


def held(pad):
    """Return the box between two soft fingers with wrists and pads, and its start."""
    scene, start = between_fingers(
        Material(FrictionCone(0.5, 0.02)), "soft finger", gravity=(0, 0, 0), wrists=True
    )
    return replace(scene, contacts=tuple(replace(c, pad=pad) for c in scene.contacts)), start


def tipped(kind, pad, moment, periods, step=2e-4):
    """Return a plant whose wrists tip both fingers about x, against each other."""
    settings = PlantSettings(command_delay_periods=0, damping_scale=0.0, mujoco_step_s=step)
    plant = kind(*held(pad), PERIOD, settings)
    torque, tilts = np.array([SQUEEZE, moment, 0.0] * 2), []
    for _ in range(periods):
        measured = plant.step(torque)
        tilts.append([contact.tilt for contact in plant.contacts()])
    return plant, measured, np.array(tilts)


@pytest.fixture(params=[ScenePlant, mujoco_plant])
def kind(request):
    """Return a kind of plant."""
    if request.param is mujoco_plant:
        pytest.importorskip("mujoco")
    return request.param


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_finger_tips_until_its_pad_balances_it(kind, moment):
    """At rest the tilt is the one for which the pad has the moment of the wrist.

    The contact and the wrist's sensor show that moment; the point about which the finger tips is
    that of both. MuJoCo's point is a sphere of half a millimetre, which rolls: with the larger
    moment, where the pad turns back only little more with the tilt, that makes 0.9 % of it.
    """
    plant, measured, tilts = tipped(kind, PAD, moment, 500)
    assert_allclose(tilts[-1], np.arcsin(MOMENTS[moment]), rtol=1e-2)
    for contact, wrench in zip(plant.contacts(), measured.wrenches, strict=True):
        assert_allclose(contact.moment, [moment, 0.0, 0.0], atol=2e-3 * moment)
        assert_allclose(wrench[:3], [moment, 0.0, 0.0], atol=2e-3 * moment)


@pytest.mark.parametrize(("pad", "moment"), [(PAD, 0.65), (None, 0.05)])
def test_more_than_the_edge_bears_tips_it_over(kind, pad, moment):
    """The largest moment is 30 N at 20 mm, and that of a point is none."""
    _, _, tilts = tipped(kind, pad, moment, 60)
    assert (tilts.max(axis=0) > 0.8).all()


def test_both_plants_tip_alike():
    """On the way to rest as well; MuJoCo's error is of first order, 3.6 % at its usual step."""
    pytest.importorskip("mujoco")
    ours = tipped(ScenePlant, PAD, 0.15, 60)[2]
    for step, error in ((2e-4, 0.04), (5e-5, 0.01)):
        theirs = tipped(mujoco_plant, PAD, 0.15, 60, step)[2]
        assert np.abs(ours - theirs).max() < error * ours.max()


def test_the_books_have_the_work_of_pads():
    """Energy changes by the work of all; pads take the energy that they store and lose."""
    plant, _, _ = tipped(ScenePlant, PAD, 0.15, 150)
    books = plant.engine.books()
    assert_allclose(books.elastic, -plant.engine.books().drives, rtol=0.05)
    assert abs(plant.engine.energy() - books.total()) < 1e-2 * abs(books.drives)
