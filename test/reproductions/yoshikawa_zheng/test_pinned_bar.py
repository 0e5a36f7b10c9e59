# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two planar arms with a bar, by hand: the worked cases, and conservation of energy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.papers import CASES

from robot_dynamics.reproductions.yoshikawa_zheng.pinned_bar import (
    Bar,
    PlanarArm,
    bar_motion,
    hunt_crossley,
    joint_state,
    smooth_sign,
)

# The paper's robots and bar, from Table 1 by its formulas.
ARM = PlanarArm(1.3875296e-3, 2.716375e-4, 1.408e-5, 0.128, 0.063, (-0.13, 0.0), 1.0)
ARMS = (ARM, replace(ARM, base=(0.13, 0.0), elbow=-1.0))
BAR = Bar(0.03, 14.4e-5, pin=0.08, tip=0.03)
NAMES = ("P1 constrained, perfect", "P2 free, model x1.2")


@pytest.mark.parametrize("name", NAMES)
def test_the_worked_cases(name):
    """Positions of joints, motion and forces are those of the worked cases."""
    data, answer = CASES[name]["input"], CASES[name]["output"]
    r, rd = data["r"], data["rd"]
    q, qd = joint_state(ARMS, BAR, r, rd)
    assert_allclose(q, answer["q"], rtol=1e-10)
    assert_allclose(qd, answer["qd"], rtol=1e-10)
    wall = r[1] + BAR.tip * np.cos(r[2]) + (0.0 if data["constrained"] else 1.0)
    press = None if data["constrained"] else hunt_crossley(1e4, 0.0)
    motion = bar_motion(ARMS, BAR, r, rd, answer["tau"], wall, 0.0, press)
    # Torques with 12 digits move 1e-3 kg m^2: accelerations to 1e-10.
    assert_allclose(motion.rdd, answer["plant_rdd"], rtol=0, atol=1e-9)
    assert_allclose(motion.press, answer["plant_f_F"], atol=1e-11)
    assert_allclose(motion.pins, answer["plant_F_h"], rtol=0, atol=1e-11)
    assert_allclose(motion.squeeze, answer["plant_f_IS"], atol=1e-11)


def energy(r, rd):
    """Return the kinetic energy of arms and bar [J]."""
    (a1, b1, a2, b2), (da1, db1, da2, db2) = joint_state(ARMS, BAR, r, rd)
    total = 0.5 * BAR.mass * (rd[0] ** 2 + rd[1] ** 2) + 0.5 * BAR.moment * rd[2] ** 2
    for a, b, da, db in ((a1, b1, da1, db1), (a2, b2, da2, db2)):
        total += 0.5 * ARM.M11 * da**2 + 0.5 * ARM.M22 * db**2
        total -= ARM.R * np.cos(a - b) * da * db
    return total


def test_the_power_of_torques_is_the_rate_of_energy():
    """tau . qd = d/dt of the kinetic energy where nothing rubs, over random states."""
    rng = np.random.default_rng(0)
    h = 1e-6
    for _ in range(20):
        r = np.array([0.0, 0.14, 0.0]) + 0.01 * rng.standard_normal(3)
        rd, tau = 0.1 * rng.standard_normal(3), 0.1 * rng.standard_normal(4)
        rdd = np.array(bar_motion(ARMS, BAR, r, rd, tau, 1.0, 0.0, hunt_crossley(1e4, 0.0)).rdd)
        ends = [energy(r + t * rd + t * t / 2 * rdd, rd + t * rdd) for t in (h, -h)]
        _, qd = joint_state(ARMS, BAR, r, rd)
        # Energies of 1e-3 J and rounding 1e-19 over 1e-6, and second differences.
        assert_allclose((ends[0] - ends[1]) / (2 * h), tau @ qd, rtol=1e-6, atol=1e-9)


def test_walls_and_friction():
    """A wall never pulls, gives back less than it takes, and friction is odd."""
    press = hunt_crossley(1e4, 15.0)
    assert press(-1e-3, 0.1) == 0.0
    assert press(1e-3, -0.1) == 0.0
    assert press(1e-3, 0.02) > press(1e-3, -0.02) > 0.0
    assert_allclose(smooth_sign(2e-3, 1e-3), np.tanh(2.0), rtol=1e-15)
    assert_allclose([smooth_sign(x, 1e-3) for x in (-10.0, 10.0)], [-1.0, 1.0])
