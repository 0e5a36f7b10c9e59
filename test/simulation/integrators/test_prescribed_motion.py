# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints that move as prescribed functions of time, and the links that hang on them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import robot_dynamics as rd
from robot_dynamics.contact.points import PointContact
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.model import JointElement, LinkElement, Mechanism
from robot_dynamics.robot import Robot

AMPLITUDE, RATE, LENGTH = 0.2, 9.0, 0.5


@pytest.fixture(scope="module")
def pendulum():
    """Return a pendulum whose pivot slides up and down."""
    links = (
        LinkElement("base"),
        LinkElement("pivot", 1.0),
        LinkElement("bob", 2.0, (0.0, 0.0, -LENGTH)),
    )
    joints = (
        JointElement("lift", "prismatic", "base", "pivot", axis=(0.0, 0.0, 1.0)),
        JointElement("hinge", "revolute", "pivot", "bob", axis=(0.0, 1.0, 0.0)),
    )
    return Robot.from_mechanism(Mechanism("pendulum", links, joints))


def shaken(time):
    return -AMPLITUDE * RATE**2 * np.sin(RATE * time)


@pytest.mark.book("M11")
@pytest.mark.parametrize("method", ["projection", "adaptive"])
def test_a_pendulum_on_a_shaken_pivot(pendulum, method):
    """The pivot moves as told, and the angle obeys l angle'' = -(g + z'') sin(angle) - damping."""
    start = [0.0, 0.3], [AMPLITUDE * RATE, 0.0]
    motion = rd.integrate(
        pendulum, *start, 0.5, prescribed={"lift": shaken}, method=method, step=4e-3, outputs=20,
        tau=lambda t, q, qd: [77.0, -0.1 * qd[1]],
    )  # fmt: skip

    def closed_form(t, y):
        inertia = 2.0 * LENGTH**2
        swing = -2.0 * LENGTH * (9.81 + shaken(t)) * np.sin(y[0])
        return [y[1], (swing - 0.1 * y[1]) / inertia]

    expected = solve_ivp(
        closed_form, (0.0, 0.5), [0.3, 0.0], "DOP853", motion.t, rtol=1e-12, atol=1e-12
    ).y
    # Errors of steps of 1e-10 and less, of motions of order one.
    assert_allclose(motion.q[:, 0], AMPLITUDE * np.sin(RATE * motion.t), atol=1e-8)
    assert_allclose(motion.q[:, 1], expected[0], atol=1e-7)
    assert_allclose(motion.qd[:, 1], expected[1], atol=1e-6)


def test_invalid_prescriptions_are_refused(pendulum):
    """Unknown joints are named, and a function has to give one number for each freedom."""
    with pytest.raises(UnknownNameError, match="wheel"):
        rd.integrate(pendulum, [0, 0], [0, 0], 0.1, prescribed={"wheel": shaken})
    with pytest.raises(ArgumentError, match="prescribed\\['lift'\\] has shape"):
        rd.integrate(pendulum, [0, 0], [0, 0], 0.1, prescribed={"lift": lambda t: [1.0, 2.0]})
    floor = PointContact("floor", "bob", (0, 0, -LENGTH))
    with pytest.raises(ArgumentError, match="contacts and a prescribed motion of 'lift'"):
        rd.integrate(pendulum, [2, 0], [0, 0], 0.1, prescribed={"lift": shaken}, contacts=[floor])
    for wrong in (["lift"], {"lift": 1.0}):
        with pytest.raises(ArgumentError, match="expected a mapping from joints to functions"):
            rd.integrate(pendulum, [0, 0], [0, 0], 0.1, prescribed=wrong)
