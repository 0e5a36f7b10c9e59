# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The published tests of contact simulators, small, against their closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import contact_scenes as scenes
from benchmarks.contact_engines import Ours, run
from benchmarks.contact_solvers import newton, problems_of
from robot_dynamics.contact.solver import pyramid_impulses, residuals
from robot_dynamics.errors import RobotDynamicsError

STEP = 2e-3


def error_of(scene, step=STEP):
    return scene.error(run(lambda: Ours(scene, step)))


@pytest.mark.parametrize("scene", [scenes.rolling, scenes.carried])
def test_a_box_is_pushed_over_balls_or_carries_them(scene):
    """Four balls roll on a box that slides, or under it: velocities of all by closed forms."""
    # Of first order in the first step, in which contacts take up their load.
    assert error_of(scene(2, 0.04)) < 2e-3


def test_a_stack_with_the_heaviest_on_top_stays():
    """Cubes of 1, 30 and 1000 kg on one another do not move, to rounding of 1e-11 of impulses."""
    assert error_of(scenes.stack((1.0, 30.0, 1000.0), 0.1)) < 1e-10


def test_a_rod_slides_on_its_tip():
    """Its middle as of one equation of motion, below the friction of Painleve's paradox."""
    coarse, fine = (error_of(scenes.rod(0.5), step) for step in (4e-3, 1e-3))
    assert fine < 0.5 * coarse < 5e-5


def test_a_rod_that_jams_sticks_at_once():
    """Beyond mu = 5/3: no force holds the tip up while it slides; an impulse stops it."""
    # Within the first step the tip still moves by half of it at 1 m/s; steps are cut to 0.125 ms.
    assert error_of(scenes.rod(2.0)) < 2e-4
    assert error_of(scenes.rod(2.0), 1e-4) < 5e-5


def test_palms_hold_a_box_from_the_squeeze_on_that_friction_needs():
    """1 % below it the box falls at 0.01 g, 1 % above it does not move."""
    scene = scenes.palms(0.1)
    fallen = 0.5 * 0.01 * scenes.G * 0.1**2
    assert error_of(scene) < 1e-6 * fallen


@pytest.mark.parametrize("scene", [scenes.bounce(1.0), scenes.bounces(1, 0.6)])
def test_bounces_without_loss_keep_their_energy(scene):
    """Contacts close within 1e-7 m, of which each bounce may lose m g."""
    assert error_of(scene, 4e-3) < 1e-8


def test_pyramids_that_lose_their_digits_say_so():
    """Eight corners slip between palms: pyramids by Lemke's method meet their laws or refuse."""
    refused = 0
    for problem in problems_of(scenes.palms(0.04)):
        W, c, mu = problem[:3]
        P = newton(problem, problem.before)()
        assert residuals(W @ P + c, P, mu).separation < 1e-11
        try:
            P = pyramid_impulses(W, c, mu, 4)
        except RobotDynamicsError:
            refused += 1
            continue
        u = W @ P + c
        assert u[::3].min() > -1e-9
        assert np.abs(P[::3] * u[::3]).max() < 1e-9
    assert refused < 8
