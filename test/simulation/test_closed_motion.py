# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rate and projection with some of the constraints, against the solution at any rank."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.motions import Motion, parallelogram, skew_four_bar, turning_four_bar

from robot_dynamics.model.parameters import pack
from robot_dynamics.simulation.integrators.choice import choose
from robot_dynamics.simulation.runge_kutta import ClosedMotion, JointForces

TAU = np.array([3.0, -1.0, 0.5])


def programs_of(motion: Motion, rows, **options) -> ClosedMotion:
    """Return the programs of a linkage under joint forces."""
    return ClosedMotion(motion.robot.model, JointForces(3), rows, **options)


def evaluated(program, motion: Motion, extra=()):
    """Return the outputs of a program at the state of a motion, by name."""
    block = [*pack(motion.robot.model), *extra]
    values = program.evaluate(motion.q, motion.qd, TAU, parameters=block)
    return dict(zip(program.outputs, values, strict=True))


@pytest.mark.parametrize("start", [turning_four_bar, skew_four_bar])
def test_accelerations_of_chosen_rows_are_those_of_all(start):
    """Two independent rows of a loop with five give the accelerations that all five give (C4)."""
    motion = start()
    rows = choose(motion.robot, motion.q, 0.6).rows
    assert len(rows) == 2
    found = evaluated(programs_of(motion, rows).rate(), motion)
    expected = motion.robot.constrained_motion(*motion[1:], TAU)
    # Accelerations of 1e3 and condition numbers of tens.
    assert_allclose(found["qdd"], expected.qdd, atol=1e-9)
    assert found["position_error"].shape == (5,)


def test_projection_with_chosen_rows_closes_all():
    """A skew four-bar that is open by a little is closed in rows that were left out, too."""
    motion = skew_four_bar()
    rows = choose(motion.robot, motion.q, 0.6).rows
    change = np.array([1e-5, -2e-5, 1e-5])
    off = Motion(motion.robot, motion.q + change, motion.qd + 10.0 * change)
    end = evaluated(programs_of(off, rows).projection(), off)
    before = motion.robot.closure(off.q)[1]
    _, after = motion.robot.closure(end["q"])
    assert np.max(np.abs(before)) > 1e-6
    # What is left is of second order in 1e-5.
    assert np.max(np.abs(after)) < 1e-9
    *_, slip = motion.robot.constraint_terms(end["q"], end["qd"])
    # Velocities are projected where positions were: K turns by their correction after that.
    assert np.max(np.abs(slip)) < 3.0 * 1e-5 * np.max(np.abs(off.qd))


def test_velocity_projection_takes_kinetic_energy():
    """The projected velocity has no more energy in the metric of H where it was projected."""
    motion = skew_four_bar()
    rows = choose(motion.robot, motion.q, 0.6).rows
    rng = np.random.default_rng(2)
    H = motion.robot.inertia_matrix(motion.q)
    for _ in range(5):
        off = Motion(motion.robot, motion.q, motion.qd + rng.normal(size=3))
        end = evaluated(programs_of(off, rows).projection(), off)
        assert end["qd"] @ H @ end["qd"] < off.qd @ H @ off.qd
        # Exactly by the energy of what was taken away: the two are orthogonal.
        change = off.qd - end["qd"]
        assert_allclose(change @ H @ end["qd"], 0.0, atol=1e-10 * (off.qd @ H @ off.qd))


def test_stabilisation_adds_baumgartes_terms():
    """K qdd = k - 2 K qd / T - delta / T^2 (8.22)."""
    motion = turning_four_bar()
    change = np.array([1e-3, 0.0, 2e-3])
    off = Motion(motion.robot, motion.q + change, motion.qd + 50.0 * change)
    rate = evaluated(programs_of(off, (2, 3), stabilised=True).rate(), off, [0.1])
    _, _, K, k, gap, slip = motion.robot.constraint_terms(off.q, off.qd)
    expected = k - 20.0 * slip - 100.0 * gap
    assert_allclose((K @ rate["qdd"])[2:4], expected[2:4], atol=1e-9)


def test_margin_sees_a_constraint_that_vanishes():
    """Near its flat pose a parallelogram's closure across has no effect: angle squared, while
    the relative pivots see nothing.
    """
    motion = parallelogram()
    found = []
    for angle in (1e-2, 1e-3):
        near = Motion(motion.robot, np.array([angle, -angle, np.pi + angle]), motion.qd)
        rate = evaluated(programs_of(near, (2, 3)).rate(), near)
        assert rate["pivot"] > 0.1
        found.append(rate["margin"])
    assert_allclose(found[0] / found[1], 100.0, rtol=0.05)
