# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The step of any scheme, rate and finish, against the same in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.motions import turning_four_bar

from robot_dynamics.model.parameters import pack
from robot_dynamics.simulation.runge_kutta import (
    SCHEMES,
    ClosedMotion,
    JointForces,
    scheme_of_order,
    step_of,
)

OUTPUTS = ("q", "qd", "closure", "slip", "drift", "pivot", "margin")


@pytest.mark.parametrize("order", SCHEMES)
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
