# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds on efforts and constraint forces as rows, each with its name."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import linkages
from support.actuated import box_on_supports, driven

from robot_dynamics.dynamics.actuation import drives_of
from robot_dynamics.dynamics.force_bounds import BoundsBuilder
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.robot import Robot


def builder_of(robot, q):
    K, _ = robot.closure(q)
    ranked = constraint_rank(robot.model, K, length=0.5)
    drives = drives_of(robot.model, robot.loop_drives(q), 0.5)
    return BoundsBuilder(robot.model, drives, ranked), drives


@pytest.fixture
def four_bar():
    robot = Robot.from_mechanism(driven(linkages.four_bar("spherical"), "crank_joint", effort=3.0))
    return builder_of(robot, np.zeros(3))[0]


def test_limits_of_the_model_and_others(four_bar):
    """The model's limits bound both ways; those given take their place."""
    four_bar.limit_efforts({})
    four_bar.limit_efforts({"crank_joint": (-1.0, 2.0)})
    bounds = four_bar.done()
    assert_allclose(bounds.lower, [-3.0, -1.0])
    assert_allclose(bounds.upper, [3.0, 2.0])
    assert_allclose(bounds.rows, [[1.0, 0, 0, 0]] * 2)
    assert_allclose(bounds.scales, 0.5)
    assert bounds.names == ("the effort of 'crank_joint'",) * 2


def test_a_drive_without_limit_has_no_bound():
    """Unlimited drives give no row."""
    robot = box_on_supports()
    builder, _ = builder_of(robot, np.zeros(3))
    builder.limit_efforts({})
    assert builder.done().rows.shape == (0, 5)
    builder.limit_efforts({"slide.x": 4.0})
    assert builder.done().names == ("the effort of 'slide.x'",)


def test_unilateral_joints_push_only():
    """Their normal multipliers are not negative."""
    builder, _ = builder_of(box_on_supports(), np.zeros(3))
    builder.push_only()
    bounds = builder.done()
    assert bounds.names == ("the push of 'left.z'", "the push of 'right.z'")
    assert_allclose(bounds.rows, np.eye(5)[3:])
    assert_allclose(bounds.lower, 0.0)
    assert np.isposinf(bounds.upper).all()


def test_the_friction_pyramid_fills_98_percent_of_the_cone(four_bar, rng):
    """It lies within the cone, and holds all that is within 98 percent of it."""
    four_bar.keep_in_friction_cones({"pin": 0.6})
    bounds = four_bar.done()
    for _ in range(200):
        angle, normal = rng.uniform(0, 2 * np.pi), rng.uniform(0.1, 9.0)
        for part, inside in ((0.98, True), (1.001, False)):
            sideways = part * 0.6 * normal * np.array([np.cos(angle), np.sin(angle)])
            x = np.array([0.0, *sideways, normal])
            assert bool(np.all(bounds.excess(x) <= 0.0)) == inside
    assert np.max(bounds.excess(np.array([0.0, 0.0, 0.0, -1.0]))) > 0.0


def test_forces_and_what_is_held(four_bar):
    """A bound on a force is reached or not, to within a margin; excess has its unit."""
    four_bar.bound_forces({"pin.x": 5.0, "pin.z": (2.0, 3.0)})
    bounds = four_bar.done()
    assert_allclose(bounds.excess(np.array([9.0, -7.0, 0.0, 2.5])), [2.0, -0.5])
    assert bounds.held(np.array([0.0, 5.0, 0.0, 2.5]), 1e-9) == ("the force of 'pin.x'",)
    assert bounds.held(np.array([0.0, 4.9, 0.0, 2.5]), 1e-9) == ()


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda b: b.limit_efforts({"crank": 1.0}), UnknownNameError, "'crank'"),
        (lambda b: b.limit_efforts({"crank_joint": (2.0, 1.0)}), ArgumentError, "'crank_joint'"),
        (lambda b: b.limit_efforts({"crank_joint": np.nan}), ArgumentError, "largest value"),
        (lambda b: b.bound_forces({"pin.rz": 1.0}), UnknownNameError, r"'pin\.rz'"),
        (lambda b: b.bound_forces({"pin.z": (1, 2, 3)}), ArgumentError, r"'pin\.z'.*\(1, 2, 3\)"),
        (lambda b: b.keep_in_friction_cones({"pn": 1.0}), UnknownNameError, "mean 'pin'"),
        (lambda b: b.keep_in_friction_cones({"pin": -1.0}), ArgumentError, r"'pin'.*\b0\b"),
    ],
)
def test_wrong_bounds_are_refused_by_name(four_bar, ask, error, words):
    """Each is refused with its name."""
    with pytest.raises(error, match=words):
        ask(four_bar)


def test_a_joint_without_a_cone():
    """A support without friction has no cone."""
    builder, _ = builder_of(box_on_supports(), np.zeros(3))
    with pytest.raises(RobotDynamicsError, match=r"'left'.*friction"):
        builder.keep_in_friction_cones({"left": 0.5})
