# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The experiments' controller: its damping, its warning, and its phases."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from robot_dynamics.reproductions.yoshikawa_zheng.contact_phase import Phase
from robot_dynamics.reproductions.yoshikawa_zheng.controller import BarController, Law
from robot_dynamics.reproductions.yoshikawa_zheng.pinned_bar_plant import BarState
from robot_dynamics.reproductions.yoshikawa_zheng.robots import Inertias
from robot_dynamics.reproductions.yoshikawa_zheng.tasks import task


def test_the_literal_law_is_warned_of_and_the_damped_one_is_not():
    """The effective mass is that along the normal: 0.163 kg; 2.5 times it and K_IF is damping."""
    literal = BarController(Inertias.of_paper(), task(3), Law("literal"))
    assert literal.damping == 0.0
    assert "bounces on any elastic wall" in literal.warnings[0]
    damped = BarController(Inertias.of_paper(), task(3), Law("damped"))
    assert damped.warnings == ()
    assert_allclose(damped.mass, 0.163, atol=5e-4)
    assert_allclose(damped.damping, 2.5 * damped.mass * 100.0)


def test_touching_switches_to_force_and_the_end_back():
    """Along the wall, force is controlled from the threshold on until departure."""
    what = task(3)
    controller = BarController(Inertias.of_paper(), what, Law("damped"))

    def phase(time, press):
        wanted = what.wanted(time)
        assert np.all(
            np.isfinite(controller.torque(time, BarState(wanted.r, wanted.rd, press, 0.8)))
        )
        return controller.phase

    assert phase(0.05, 0.0) is Phase.FREE
    assert phase(0.09, 0.4) is Phase.CONTACT
    assert phase(0.40, 0.0) is Phase.CONTACT  # a bounce
    assert phase(0.72, 0.5) is Phase.FREE
