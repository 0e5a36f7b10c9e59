# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Velocities and accelerations that open loops are refused, and rounding is not."""

from __future__ import annotations

import numpy as np
import pytest
from support.actuated import motion
from support.closed_loops import LINKAGES

from robot_dynamics.dynamics.assembly import AssemblyError
from robot_dynamics.dynamics.consistency import (
    require_consistent_acceleration,
    require_consistent_velocity,
)
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.robot import Robot


def checks(robot, q, qd, qdd, tolerance):
    """Run both checks on a state."""
    _, _, K, k, error, _ = robot.constraint_terms(q, qd)
    ranked = constraint_rank(robot.model, K, error, q)
    require_consistent_velocity(robot.model, ranked, K, q, qd, tolerance)
    require_consistent_acceleration(robot.model, ranked, K, k, q, qd, qdd, tolerance)


@pytest.mark.parametrize("speed", [0.0, 1e-6, 1.0, 100.0])
@pytest.mark.parametrize("name", LINKAGES)
def test_consistent_motions_pass(name, speed, rng):
    """Motions of forward dynamics pass at a tolerance of rounding, slow or fast."""
    robot = Robot.from_mechanism(LINKAGES[name])
    q, qd, _ = motion(robot, rng)
    qdd = robot.forward_dynamics(q, speed * qd, np.zeros(robot.model.nv))
    checks(robot, q, speed * qd, qdd, 1e-10)


@pytest.mark.parametrize("name", LINKAGES)
def test_motions_that_open_a_loop_are_refused_by_name(name, rng):
    """A thousandth too much in a direction that is blocked is refused, with a loop and a size."""
    robot = Robot.from_mechanism(LINKAGES[name])
    q, qd, qdd = motion(robot, rng)
    K, _ = robot.closure(q)
    blocked = K.T @ K @ rng.normal(size=robot.model.nv)
    off = 1e-3 * blocked / np.linalg.norm(blocked)
    names = {loop.name for loop in robot.model.loops}
    with pytest.raises(AssemblyError, match=r"velocities .* loops") as speeds:
        checks(robot, q, qd + off * np.linalg.norm(qd), qdd, 1e-6)
    with pytest.raises(AssemblyError, match="per second squared") as rates:
        checks(robot, q, qd, qdd + off * np.linalg.norm(qdd), 1e-6)
    for error in (speeds.value, rates.value):
        assert set(error.gaps) == names
        assert any(f"loop {name!r} would open by" in str(error) for name in names)
        assert error.gap > 0.0
