# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled parts of a method fit together: the step is made of its rate and its finish."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.motions import turning_four_bar

from robot_dynamics.simulation.integrators.choice import Choice
from robot_dynamics.simulation.integrators.method import Kernels, Method
from robot_dynamics.simulation.runge_kutta import CLASSICAL

CHOICE = Choice((2, 3), (1, 2))


@pytest.mark.parametrize("name", ["projection", "stabilised", "independent"])
def test_a_chain_is_made_of_the_parts(name):
    """One link of the chain is the scheme over `rate`, ended by `finish`."""
    robot, q, qd = turning_four_bar()
    kernels = Kernels(robot.model, Method(name, CLASSICAL, 0.1), CHOICE)
    h, tau = 0.002, np.array([1.0, 0.0, 0.5])
    new_q, new_v, closure, slip, drift, margin = kernels.chain(h)(1, q, qd, tau)
    slopes = [kernels.rate(q, qd, tau)]
    for part in (0.5, 0.5, 1.0):
        q_rate, qdd, *_ = slopes[-1]
        slopes.append(kernels.rate(q + part * h * q_rate, qd + part * h * qdd, tau))
    weights = h * np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
    end_q = q + sum(w * s[0] for w, s in zip(weights, slopes, strict=True))
    end_v = qd + sum(w * s[1] for w, s in zip(weights, slopes, strict=True))
    expected = kernels.finish(end_q, end_v, tau)
    assert_allclose(new_q[0], expected[0], atol=1e-14)
    assert_allclose(new_v[0], expected[1], atol=1e-12)
    assert_allclose(drift[0], expected[2], atol=1e-14)
    assert_allclose(closure[0], slopes[0][2], atol=1e-15)
    assert_allclose(slip[0], slopes[0][3], atol=1e-15)
    assert_allclose(margin[0], min(*(s[5] for s in slopes), expected[3]), rtol=1e-9)


def test_only_independent_coordinates_tell_choices_apart():
    """Other methods share their code, whatever coordinates are dependent."""
    assert Method("independent", CLASSICAL, 0.1).choice(CHOICE) == CHOICE
    assert Method("projection", CLASSICAL, 0.1).choice(CHOICE) == Choice((2, 3), ())
