# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's robots as linkages with loops are its equations of motion."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.papers import CASES

from robot_dynamics.model import pose
from robot_dynamics.reproductions.yoshikawa_zheng.law import hybrid_torque
from robot_dynamics.reproductions.yoshikawa_zheng.robots import Hand, Inertias
from robot_dynamics.reproductions.yoshikawa_zheng.system_motion import system_motion

NAMES = ("P1 constrained, perfect", "P2 free, model x1.2")


def terms_of(hand, r, rd):
    """Return the terms of a hand at a state of the bar, and the bar's orientation."""
    c, s = np.cos(r[2]), np.sin(r[2])
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    q, qd = hand.joint_positions(r, rd)
    twist = np.array([0.0, 0.0, rd[2], rd[0], rd[1], 0.0])
    return hand.system.terms(q, qd, pose((r[0], r[1], 0.0), R), twist), R


def test_the_closed_form_has_the_values_of_table_1():
    """M11, M22 and R are those that the table gives."""
    for side in (0, 1):
        found = Inertias.of_paper().in_closed_form(side)
        assert_allclose(found, [1.3875296e-3, 2.716375e-4, 1.408e-5], rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_worked_cases(name):
    """M, h, the law's forces and torques of the linkages are those of the worked cases."""
    data, answer = CASES[name]["input"], CASES[name]["output"]
    r, rd = np.array(data["r"]), np.array(data["rd"])
    wall = 0.16 if data["constrained"] else None
    hand = Hand.of(Inertias.of_paper().scaled(data["param_scale"]), wall)
    terms, R = terms_of(hand, r, rd)
    assert_allclose(terms.M, answer["M"], atol=1e-14)
    assert_allclose(terms.h, answer["h"], atol=1e-14)
    u1 = np.array([*data["u1"], 0.0, 0.0, 0.0])
    u2 = np.array([data["u2"]] if data["constrained"] else [])
    law = hybrid_torque(terms, hand.distribution, u1, u2, np.array([data["u3"]]))
    assert_allclose(law.object_acceleration[[3, 4, 2]], answer["rdd_d"], atol=1e-12)
    in_world = law.contact_forces.reshape(2, 2) @ R[:2, :2].T
    assert_allclose(in_world.ravel(), answer["F_hSd"], atol=1e-11)  # 12 digits
    assert_allclose(law.torque, answer["tau"], atol=1e-11)
    # And with the law in the loop, what was wanted.
    motion = system_motion(terms, law.torque)
    assert_allclose(motion.object_acceleration, law.object_acceleration, atol=1e-9)
    assert_allclose(motion.surface_forces, u2, atol=1e-9)
    inside = hand.distribution.internal_force(motion.contact_forces)
    assert_allclose(inside, data["u3"], atol=1e-9)


def test_linkages_and_closed_form_agree_at_random_states():
    """G^T H G of the parallelogram with its loop is the paper's M, and so is h, anywhere."""
    rng = np.random.default_rng(0)
    inertias = Inertias.of_paper().drawn(3)
    hand = Hand.of(inertias, None)
    for _ in range(50):
        r = np.array([0.0, 0.14, 0.0]) + np.array([0.02, 0.01, 0.1]) * rng.uniform(-1, 1, 3)
        terms, _ = terms_of(hand, r, rng.standard_normal(3))
        q, _ = hand.joint_positions(r, np.zeros(3))
        model = hand.system.arms
        for side, name in enumerate(("left", "right")):
            a, b = (q[model.joint_index(f"{name}_{link}_joint")] for link in ("link0", "crank"))
            at = slice(2 * side, 2 * side + 2)
            da, db = terms.qd[at]
            M11, M22, R = inertias.in_closed_form(side)
            M = [[M11, -R * np.cos(a - b)], [-R * np.cos(a - b), M22]]
            h = R * np.sin(a - b) * np.array([-(db**2), da**2])
            assert_allclose(terms.M[at, at], M, atol=1e-15)
            assert_allclose(terms.h[at], h, atol=1e-12)


def test_inertias_are_drawn_within_their_part():
    """No parameter is off by more than requested, and they are off differently."""
    true, drawn = Inertias.of_paper(), Inertias.of_paper().drawn(1, 0.2)
    ratios = np.concatenate(
        [(drawn.mass / true.mass).ravel(), (drawn.moment / true.moment).ravel()]
    )
    assert np.all(np.abs(ratios - 1.0) <= 0.2)
    assert np.ptp(ratios) > 0.2
    assert_allclose(true.scaled(0.8).bar_mass, 0.024)
