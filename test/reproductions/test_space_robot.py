# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The space robot: a short version of both kinds of base."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.reproductions import space_robot


def test_free_floating(floating):
    """Momentum is kept to 1e-9, the disturbance Jacobian has the base, and it does move."""
    outcome = floating
    assert outcome.ok, [str(check) for check in outcome.checks]
    assert any("in fast motion" in check.claim for check in outcome.checks)
    assert len(outcome.checks) == 8
    assert outcome.figures["base turned at the catch [degrees]"] > 1.0
    assert outcome.figures["energy lost in the catch [J]"] > 0.0
    assert outcome.figures["base speed at the end [mm/s]"] > 1.0  # the satellite's momentum


def test_free_flying(flying):
    """The momentum changes by the thrusters' wrench, and the base stays."""
    outcome = flying
    assert outcome.ok, [str(check) for check in outcome.checks]
    assert any("in fast motion" in check.claim for check in outcome.checks)
    assert outcome.figures["thrusters at most [N]"] > 0.1


def test_velocities_of_the_satellite_as_a_part_of_the_base():
    """Its frame moves with the base: the change of its pose over a short time."""
    rng = np.random.default_rng(0)
    q = np.zeros(26)
    q[[6, 25]] = 1.0
    q[19:22] = rng.normal(size=3)
    qd = np.zeros(24)
    qd[:6] = rng.normal(size=6)
    expected = [*qd[:3], *(qd[3:6] + np.cross(qd[:3], q[19:22]))]
    assert_allclose(space_robot.as_part_of_base(q, qd), expected)
    assert_allclose(space_robot.in_base(q)[:3, 3], q[19:22])


def test_products_of_motions():
    """v x v = 0, and the Jacobi identity."""
    a, b, c = np.random.default_rng(1).normal(size=(3, 6))
    cross = space_robot.motion_cross
    assert_allclose(cross(a, a), 0.0, atol=1e-15)
    total = cross(a, cross(b, c)) + cross(b, cross(c, a)) + cross(c, cross(a, b))
    assert_allclose(total, 0.0, atol=1e-14)


@pytest.mark.parametrize("base", ["floating", "flying"])
def test_it_is_drawn(base, request, tmp_path):
    """Six parts, each with something in it."""
    pytest.importorskip("matplotlib")
    outcome = request.getfixturevalue(base)
    seen = []

    def draw(figure):
        outcome.draw(figure)
        seen.append(figure)

    path = replace(outcome, draw=draw).plot(tmp_path / "space.png")
    assert path.stat().st_size > 50_000
    axes = seen[0].axes
    assert len(axes) == 6
    assert all(ax.get_lines() and ax.get_title(loc="left") for ax in axes)
