# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The damping of an elastic contact gives its restitution, for any mass and stiffness."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from robot_dynamics.errors import ArgumentError
from robot_dynamics.simulation.scene import dissipation, restitution_at


@pytest.mark.parametrize("e", [0.1, 0.3, 0.8])
@pytest.mark.parametrize(("mass", "stiffness"), [(2.0, 1e4), (0.3, 1e5)])
def test_an_impact_keeps_the_restitution(e, mass, stiffness):
    """Integrated with SciPy, m d'' = -k d (1 + D d'): it leaves at e v to the integrator's 1e-9.

    The factor of ten allows for the point where the force ends, found to its own tolerance.
    """
    speed = 0.07
    D = dissipation(e, speed)

    def rate(_, y):
        return [y[1], -stiffness * y[0] * (1.0 + D * y[1]) / mass]

    def out(_, y):
        return y[0]

    out.terminal, out.direction = True, -1
    end = solve_ivp(rate, (0, 1), [0.0, speed], events=out, rtol=1e-11, atol=1e-14)
    assert_allclose(-end.y[1, -1] / speed, e, rtol=1e-8)


@pytest.mark.parametrize("e", [0.05, 0.3, 0.57, 0.999])
def test_the_restitution_of_a_dissipation(e):
    """One function undoes the other, to the tolerance of root finding."""
    assert_allclose(restitution_at(0.2, dissipation(e, 0.2)), e, rtol=1e-7)


def test_the_limit_near_one():
    """Near e = 1 the dissipation is the usual 1.5 (1 - e) / v, to a part 1 - e of it."""
    assert_allclose(dissipation(0.999, 1.0), 1.5 * 0.001, rtol=2e-3)
    assert dissipation(1.0, 1.0) == 0.0
    assert restitution_at(1.0, 0.0) == 1.0
    # What the usual formula leaves at e = 0.3, as the module says.
    assert round(restitution_at(1.0, 1.5 * 0.7), 2) == 0.58


@pytest.mark.parametrize("e", [0.0, 1.1, np.nan])
def test_restitutions_without_a_damping_are_refused(e):
    """None has a restitution of zero, or above one."""
    with pytest.raises(ArgumentError, match="restitution"):
        dissipation(e, 0.1)
