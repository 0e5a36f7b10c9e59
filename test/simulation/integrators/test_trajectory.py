# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Results of a trajectory are computed from its states, and change with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose
from support.motions import turning_four_bar

from robot_dynamics.simulation.integrators import integrate


def test_figures_are_those_of_the_states():
    """Energies and errors are recomputed from q and qd by other functions of the robot."""
    motion = turning_four_bar()
    run = integrate(*motion, 0.2, outputs=4)
    H = motion.robot.inertia_matrix(run.q)
    assert_allclose(run.kinetic, 0.5 * np.einsum("ni,nij,nj->n", run.qd, H, run.qd), rtol=1e-12)
    for i in range(5):
        *_, gap, slip = motion.robot.constraint_terms(run.q[i], run.qd[i])
        assert run.closure_error[i] >= np.max(np.abs(gap[2:4])) * (1.0 - 1e-12)
        assert run.velocity_error[i] >= np.max(np.abs(slip[2:4])) * (1.0 - 1e-12)
    assert_allclose(run.energy, run.kinetic + run.potential)


def test_a_corrupted_trajectory_shows():
    """Energy that is changed by hand is a drift; a gap is the worst closure error."""
    run = integrate(*turning_four_bar(), 0.2, outputs=4)
    kinetic = run.kinetic.copy()
    kinetic[2] *= 1.01
    assert run.energy_drift < 1e-10
    assert replace(run, kinetic=kinetic).energy_drift > 1e-3
    gaps = run.closure_error.copy()
    gaps[3] = 0.5
    assert replace(run, closure_error=gaps).worst_closure_error == 0.5


def test_in_words():
    """One line has method, steps, closure, correction and energy."""
    words = str(integrate(*turning_four_bar(), 0.2, outputs=4))
    for part in ("projection, order 8", "200 steps", "0 rejected", "loops open by", "energy"):
        assert part in words
