# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Beams as chains of elastic joints."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.dynamics.vibration import equilibrium, vibrations
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import build
from robot_dynamics.model.beam import beam
from robot_dynamics.robot import Robot

LENGTH, MASS, EI = 1.3, 2.0, 40.0
# Roots of 1 + cos(x) cosh(x) = 0.
ROOTS = np.array([1.8751040687, 4.6940911330, 7.8547574382])


@pytest.mark.parametrize("axis", ["y", "z"])
def test_frequencies_of_a_clamped_beam(axis):
    """Three modes of 20 joints are those of Euler and Bernoulli within half a percent."""
    model = build(beam("b", LENGTH, MASS, EI, axis=axis), gravity=(0, 0, 0))
    theory = ROOTS**2 * np.sqrt(EI * LENGTH / MASS) / (2.0 * np.pi * LENGTH**2)
    found = vibrations(model, model.neutral())
    assert_allclose(found.frequencies[:3], theory, rtol=5e-3)


def test_errors_fall_with_the_square_of_the_number():
    """Twice as many joints, a quarter of the error."""
    theory = ROOTS**2 * np.sqrt(EI * LENGTH / MASS) / (2.0 * np.pi * LENGTH**2)
    errors = []
    for joints in (10, 20):
        model = build(beam("b", LENGTH, MASS, EI, joints=joints), gravity=(0, 0, 0))
        errors.append(vibrations(model, model.neutral()).frequencies[:3] / theory - 1.0)
    assert_allclose(errors[1] / errors[0], 0.25, rtol=0.02)


def test_it_sags_like_a_beam():
    """Under a weight of its own that bends it little, the tip sags by w L^4 / (8 E I)."""
    model = build(beam("b", LENGTH, MASS, EI, axis="y"), gravity=(0.0, 0.0, -0.01))
    sagged = Robot(model).pose("b_tip", equilibrium(model, model.neutral()))
    # The chain's own error is of the order 1/20^2.
    assert_allclose(sagged[2, 3], -0.01 * MASS * LENGTH**3 / (8.0 * EI), rtol=5e-3)
    assert_allclose(sum(body.inertia.mass for body in model.bodies), MASS * 39.0 / 40.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"length": 0.0}, r"length.*\b0\.0\b"),
        ({"joints": 0}, r"'b'.*joints.*\b0\b"),
        ({"bending_stiffness": np.inf}, "bending_stiffness is inf"),
        ({"axis": "x"}, r"'b'.*axis.*'x'.*'y'.*'z'"),
    ],
)
def test_numbers_that_mean_no_beam(change, message):
    """They are refused by name."""
    arguments = {"length": 1.0, "mass": 1.0, "bending_stiffness": 1.0, **change}
    with pytest.raises(ArgumentError, match=message):
        beam("b", **arguments)
