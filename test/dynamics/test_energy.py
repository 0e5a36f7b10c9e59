# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Energies against the inertia matrix, the bias force (springs included) and a closed form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import random_state, random_tree

from robot_dynamics.model import (
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    build,
    pose,
)
from robot_dynamics.robot import Robot

TYPES = ["floating", "revolute", "universal", "prismatic", "spherical", "helical"]


@pytest.fixture(scope="module")
def robot():
    """Return a tree of various joints with rotors and springs, and a spring between two links."""
    rng = np.random.default_rng(2)
    tree = random_tree(rng, TYPES)
    options = {"helical": {"parameters": {"pitch": 0.3}}}
    joints = tuple(
        replace(
            j,
            armature=0.2 * (i % 2 == 1),
            stiffness=3.0 * (j.type in ("spherical", "prismatic")),
            **options.get(j.type, {}),
        )
        for i, j in enumerate(tree.joints)
    )
    spring = LoopElement("spring", "floating", "link1", "link3", stiffness=7.0, rest=0.2)
    tree = replace(tree, joints=joints, loops=(spring,))
    return Robot(build(tree, gravity=(0.3, -0.2, -9.81)))


@pytest.mark.book("B5")
def test_kinetic_energy_is_that_of_the_inertia_matrix(robot):
    """The sum over bodies and rotors is half qd^T H qd, for a batch of states."""
    q, qd, _ = random_state(np.random.default_rng(3), robot.model, 5)
    q = np.array([robot.model.normalized(row) for row in q.tolist()])
    kinetic, _ = robot.energies(q, qd)
    H = robot.inertia_matrix(q)
    assert_allclose(kinetic, 0.5 * np.einsum("ni,nij,nj->n", qd, H, qd), rtol=1e-12)


def test_potential_energy_has_the_slope_of_the_bias_force(robot):
    """Along each freedom, the energy grows by the work of gravity's joint force."""
    model = robot.model
    q, qd, _ = random_state(np.random.default_rng(4), model)
    q = np.array(model.normalized(q.tolist()))
    C = robot.bias_forces(q, np.zeros(model.nv))
    h = 1e-5
    slope = []
    for step in h * np.eye(model.nv):
        ends = [model.integrate(q.tolist(), (sign * step).tolist()) for sign in (1, -1)]
        high, low = (robot.energies(np.array(end), qd)[1] for end in ends)
        slope.append((high - low) / (2 * h))
    # Central differences: h^2 of truncation, and the rounding of 100 J over h.
    assert_allclose(slope, C, atol=1e-8 * np.max(np.abs(C)))


def test_a_pendulum_has_its_textbook_energies():
    """m l^2 w^2 / 2 and - m g l cos(angle)."""
    bob = LinkElement("bob", 2.0, (0.0, 0.0, -0.7), np.zeros((3, 3)))
    hinge = JointElement("hinge", "revolute", "base", "bob", pose((0, 0, 0)), (0.0, 1.0, 0.0))
    robot = Robot(build(Mechanism("pendulum", (LinkElement("base"), bob), (hinge,))))
    kinetic, potential = robot.energies([0.4], [3.0])
    assert_allclose(kinetic, 0.5 * 2.0 * 0.7**2 * 9.0, rtol=1e-14)
    assert_allclose(potential, -2.0 * 9.81 * 0.7 * np.cos(0.4), rtol=1e-14)
