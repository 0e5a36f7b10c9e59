# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The longest step: closed forms, and what integration itself does on either side of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import linkages

from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.runge_kutta import CLASSICAL, DORMAND_PRINCE_8, SCHEMES
from robot_dynamics.simulation.step import decay_rates, largest_step

MASS, STIFFNESS, DAMPING = 2.0, 5e3, 30.0


def sledge(stiffness=0.0, damping=0.0, in_loop=False):
    """Return a body that slides, with a spring and a damper in its joint or beside it."""
    values = {"stiffness": stiffness, "rest": 0.1}
    links = (LinkElement("base"), LinkElement("body", MASS, inertia=np.eye(3)))
    slide = JointElement("slide", "prismatic", "base", "body", axis=(1.0, 0.0, 0.0))
    if not in_loop:
        return Robot.from_mechanism(Mechanism("sledge", links, (replace(slide, **values),)))
    strut = LoopElement(
        "strut", "floating", "base", "body",
        stiffness=(0.0, 0.0, 0.0, stiffness, 0.0, 0.0), damping=(0.0, 0.0, 0.0, damping, 0.0, 0.0),
    )  # fmt: skip
    return Robot.from_mechanism(Mechanism("sledge", links, (slide,), (strut,)))


def quadratic(mass, damping, stiffness):
    """Return the roots of m s^2 + d s + k."""
    return np.sort_complex(np.roots([mass, damping, stiffness]))


@pytest.mark.parametrize("in_loop", [False, True])
def test_rates_of_a_mass_on_a_spring(in_loop):
    """Springs and dampers of tree joints and of loop joints give the roots of the quadratic."""
    robot = sledge(STIFFNESS, DAMPING, in_loop)
    friction = np.zeros(1) if in_loop else np.array([DAMPING])
    rates = decay_rates(robot, np.array([0.3]), friction)
    # The slope of a linear spring by differences of 1e-5: its rounding over that.
    assert_allclose(np.sort_complex(rates), quadratic(MASS, DAMPING, STIFFNESS), rtol=1e-9)


def test_rates_of_a_closed_loop():
    """A torsion spring at a four-bar's crank oscillates with the inertia that the crank feels."""
    mechanism = linkages.four_bar()
    crank = replace(mechanism.joints[0], stiffness=300.0, rest=0.5)
    robot = Robot.from_mechanism(replace(mechanism, joints=(crank, *mechanism.joints[1:])))
    q = robot.assemble([0.5, -0.5, -1.0], held=["crank_joint"]).q
    form = robot.independent_form(q, np.zeros(3), ["crank_joint"])
    H, *_ = robot.constraint_terms(q, np.zeros(3))
    felt = float((form.G.T @ H @ form.G)[0, 0])
    # At rest the spring has no tension, so that its slope is the stiffness alone.
    assert_allclose(
        np.sort_complex(decay_rates(robot, q, np.zeros(3))),
        quadratic(felt, 0.0, 300.0),
        rtol=1e-8,
        atol=1e-6,
    )


@pytest.mark.parametrize(("in_loop", "damping"), [(False, 0.0), (True, 0.0), (True, 400.0)])
def test_longer_steps_grow_and_shorter_ones_do_not(in_loop, damping):
    """Integration stays bounded with the longest step and grows with half as much again."""
    robot = sledge(STIFFNESS, damping, in_loop)
    start = np.array([0.3])
    longest = largest_step(CLASSICAL, decay_rates(robot, start, np.zeros(1)), 1.0)
    reach = []
    for step in (longest, 1.5 * longest):
        q, qd = start.copy(), np.zeros(1)
        for _ in range(300):
            q, qd = classical_step(robot, q, qd, step)
        reach.append(abs(q[0] - 0.1 * (not in_loop)))
    assert reach[0] <= 0.31
    assert reach[1] > 1e3


def classical_step(robot, q, qd, h):
    """Return a state after a step of the classical scheme, by numbers alone."""

    def rate(y):
        return np.array([y[1], robot.forward_dynamics(y[:1], y[1:], np.zeros(1))[0]])

    y = np.array([q[0], qd[0]])
    k1 = rate(y)
    k2 = rate(y + h / 2 * k1)
    k3 = rate(y + h / 2 * k2)
    k4 = rate(y + h * k3)
    y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y[:1], y[1:]


def test_limits_of_the_classical_scheme():
    """Decay is followed to 2.785 and oscillation to 2.828 a step, less the margin of a tenth."""
    for rate, limit in ((-1.0, 2.7852936), (1.0j, np.sqrt(8.0))):
        assert_allclose(largest_step(CLASSICAL, np.array([rate]), 10.0), limit / 1.1, rtol=1e-6)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=lambda scheme: f"order {scheme.order}")
def test_motions_that_grow_may_grow(scheme):
    """What topples, or is at rest, sets no limit; a wish that is short enough is granted."""
    assert largest_step(scheme, np.array([3.0, 0.0]), 0.2) == 0.2
    assert largest_step(scheme, np.array([-1.0, 2.0j]), 0.01) == 0.01


def test_a_higher_order_bears_more():
    """The scheme of order 8 has a longer step on the axis of decay than the classical one."""
    decay = np.array([-1.0])
    assert largest_step(DORMAND_PRINCE_8, decay, 50.0) > 2.0 * largest_step(CLASSICAL, decay, 50.0)
