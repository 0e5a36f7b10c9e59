# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Plastic impacts: two bodies that meet, and mechanisms whose loops close in motion."""

import numpy as np
from numpy.testing import assert_allclose
from support.mechanisms import random_arm, random_link, random_pose

from robot_dynamics.dynamics.impact import plastic_impact
from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, build
from robot_dynamics.robot import Robot


def impact(model, q, qd):
    """Return the impact at a state."""
    H, _, K, _, gap, _ = Robot(model).constraint_terms(q, qd)
    return plastic_impact(model, H, K, gap, q, qd)


def test_two_carts_stick_together():
    """m1 v1 + m2 v2 = (m1 + m2) v, and half the reduced mass times the squared speed is lost."""
    links = (LinkElement("world"), LinkElement("one", 2.0), LinkElement("two", 3.0))
    joints = tuple(
        JointElement(name, "prismatic", "world", link, axis=(1, 0, 0))
        for name, link in (("rail1", "one"), ("rail2", "two"))
    )
    weld = LoopElement("weld", "fixed", "one", "two")
    model = build(Mechanism("carts", links, joints, (weld,)))
    found = impact(model, np.zeros(2), np.array([4.0, -1.0]))
    assert_allclose(found.qd, 1.0, rtol=1e-12)
    assert_allclose(found.energy_lost, 0.5 * 1.2 * 25.0, rtol=1e-12)
    # On the second cart, in the weld's frame: along x alone.
    assert_allclose(found.impulse, [0, 0, 0, 6.0, 0, 0], atol=1e-12)


def test_a_free_arm_catches_a_body():
    """Momentum stays and the weld holds by its impulse; a second weld changes nothing."""
    rng = np.random.default_rng(4)
    arm = random_arm(rng, "arm", 6)
    links = (LinkElement("world"), random_link(rng, "hull"), *arm.links, random_link(rng, "held"))
    joints = (
        JointElement("base", "floating", "world", "hull"),
        JointElement("mount", "fixed", "hull", arm.root, random_pose(rng)),
        *arm.joints,
        JointElement("drift", "floating", "world", "held"),
    )
    welds = tuple(LoopElement(name, "fixed", "arm_tool", "held") for name in ("weld", "again"))
    for loops in (welds[:1], welds):
        model = build(Mechanism("catch", links, joints, loops), gravity=(0, 0, 0))
        robot = Robot(model)
        start = model.integrate(model.neutral().tolist(), np.full(model.nv, 0.3).tolist())
        q = robot.assemble(np.array(start), limits=False).q
        qd = rng.normal(size=model.nv)
        found = impact(model, q, qd)
        H, _, K, *_ = robot.constraint_terms(q, qd)
        assert_allclose(K @ found.qd, 0.0, atol=1e-10)
        # Two ways through a matrix of condition 1e4.
        assert_allclose(H @ (found.qd - qd), K.T @ found.impulse, atol=1e-9)
        before, after = robot.momentum(q, qd), robot.momentum(q, found.qd)
        assert_allclose(after, before, atol=1e-10 * np.max(np.abs(before)))
        assert found.energy_lost > 0.0
        again = impact(model, q, found.qd)
        assert_allclose(again.qd, found.qd, atol=1e-10)
        assert abs(again.energy_lost) < 1e-9
