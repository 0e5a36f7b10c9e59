# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The step of any scheme, rate and finish, against the same in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import DOP853, RK45
from support.motions import Motion, parallelogram, skew_four_bar, turning_four_bar

from robot_dynamics.errors import ArgumentError
from robot_dynamics.model.parameters import pack
from robot_dynamics.simulation.integrators.choice import choose
from robot_dynamics.simulation.runge_kutta import (
    ORDERS,
    ClosedMotion,
    JointForces,
    scheme_of_order,
    step_of,
)

OUTPUTS = ("q", "qd", "closure", "slip", "drift", "pivot", "margin")


@pytest.mark.parametrize("order", ORDERS)
def test_equals_the_scheme_in_numpy(order):
    """Stages, weights, projection and the smallest pivot are those of a loop over the table."""
    robot, q, qd = turning_four_bar()
    motion = ClosedMotion(robot.model, JointForces(3), (2, 3))
    rate, finish = motion.rate(), motion.projection()
    scheme, h, tau = scheme_of_order(order), 0.01, np.array([1.0, -0.5, 0.2])
    block = pack(robot.model)
    program = step_of(robot.model, scheme, rate, finish, OUTPUTS)
    found = dict(zip(OUTPUTS, program.evaluate(q, qd, tau, parameters=[*block, h]), strict=True))
    slopes, margins, pivots = [], [], []
    for row in scheme.A:
        at_q = q + h * sum((a * s[0] for a, s in zip(row, slopes, strict=True)), np.zeros(3))
        at_v = qd + h * sum((a * s[1] for a, s in zip(row, slopes, strict=True)), np.zeros(3))
        q_rate, qdd, closure, slip, pivot, margin = rate.evaluate(
            at_q, at_v, tau, parameters=block
        )
        if not slopes:
            assert_allclose(found["closure"], closure, atol=1e-15)
            assert_allclose(found["slip"], slip, atol=1e-15)
        slopes.append((q_rate, qdd))
        margins.append(margin)
        pivots.append(pivot)
    end_q = q + h * sum(b * s[0] for b, s in zip(scheme.b, slopes, strict=True))
    end_v = qd + h * sum(b * s[1] for b, s in zip(scheme.b, slopes, strict=True))
    new_q, new_v, _, drift, pivot, margin = finish.evaluate(end_q, end_v, tau, parameters=block)
    # Rounding of sums in another order.
    assert_allclose(found["q"], new_q, atol=1e-13)
    assert_allclose(found["qd"], new_v, atol=1e-12)
    assert_allclose(found["drift"], drift, atol=1e-14)
    assert_allclose(found["pivot"], min(*pivots, pivot), rtol=1e-12)
    assert_allclose(found["margin"], min(*margins, margin), rtol=1e-12)


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


def stepped(scheme, y, h):
    """Return y after one step of y' = i y (1 + 0.3 cos t)."""
    slopes = []
    for row, c in zip(scheme.A, scheme.c, strict=True):
        at = y + h * sum((a * k for a, k in zip(row, slopes, strict=True)), 0.0)
        slopes.append(1j * at * (1.0 + 0.3 * np.cos(c * h)))
    return y + h * sum(b * k for b, k in zip(scheme.b, slopes, strict=True))


@pytest.mark.parametrize("order", ORDERS)
def test_a_step_has_the_order(order):
    """Halving the step divides the error of a step by 2^(order + 1), time dependence included."""
    errors = []
    for h in (1.0, 0.5):
        exact = np.exp(1j * (h + 0.3 * np.sin(h)))
        errors.append(abs(stepped(scheme_of_order(order), 1.0 + 0.0j, h) - exact))
    # The next power is still felt at these steps, with which errors are far above rounding.
    assert_allclose(np.log2(errors[0] / errors[1]), order + 1, atol=0.7)


@pytest.mark.parametrize("order", ORDERS)
def test_stages_before_the_step_only(order):
    """The scheme is explicit and consistent: row i has i weights, and weights add up to one."""
    scheme = scheme_of_order(order)
    assert [len(row) for row in scheme.A] == list(range(len(scheme.b)))
    assert_allclose(sum(scheme.b), 1.0, atol=1e-15)


def test_stage_times_are_scipys():
    """The sums of the rows are the stage times of the tables that they come from."""
    assert_allclose(scheme_of_order(5).c, RK45.C, atol=1e-15)
    # Weights up to 50 that cancel.
    assert_allclose(scheme_of_order(8).c, DOP853.C, atol=1e-13)


def test_unknown_order():
    """The message says which orders there are."""
    with pytest.raises(ArgumentError, match="order 6, expected one of 4, 5, 8"):
        scheme_of_order(6)
