# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Centre of mass and forces of gravity: Pinocchio's, finite differences, virtual work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import linkages
from support.mechanisms import random_state

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import LinkElement
from robot_dynamics.robot import Robot


def test_equal_pinocchio_on_trees(tree, rng):
    """Mass, centre of mass, its velocity and Jacobian, and gravity are Pinocchio's."""
    from support.oracle import Pinocchio, pin

    mechanism, model = tree
    robot, oracle = Robot(model), Pinocchio.of_mechanism(mechanism, model)
    q, qd, _ = random_state(rng, model)
    their, data = oracle.theirs, oracle.data
    pin.centerOfMass(their, data, oracle.q_of(q), oracle.v_of(qd))
    assert_allclose(robot.total_mass, pin.computeTotalMass(their), rtol=1e-14)
    assert_allclose(robot.center_of_mass(q), data.com[0], atol=1e-13)
    assert_allclose(robot.center_of_mass_velocity(q, qd), data.vcom[0], atol=1e-12)
    J = pin.jacobianCenterOfMass(their, data, oracle.q_of(q))[:, oracle.at_v]
    assert_allclose(robot.center_of_mass_jacobian(q), J, atol=1e-12)
    g = pin.computeGeneralizedGravity(their, data, oracle.q_of(q))[oracle.at_v]
    assert_allclose(robot.gravity(q), g, atol=1e-11)


def test_a_replaced_inertia_moves_the_centre_of_mass(rng):
    """A replaced inertia of a variable body counts, without new machine code; gravity does the
    work that lifts the centre of mass.
    """
    robot = Robot.from_mechanism(
        linkages.four_bar(), variable=["coupler"], gravity=(1.0, 2.0, -9.0)
    )
    body = robot.model.bodies[robot.model.joint_index("coupler_joint")]
    heavy = replace(body.inertia, mass=4.0 * body.inertia.mass)
    changed = robot.replace(inertia={body.name: heavy})
    assert_allclose(changed.total_mass - robot.total_mass, 3.0 * body.inertia.mass)
    q, h = rng.normal(size=3), 1e-6
    for each in (robot, changed):
        J = each.center_of_mass_jacobian(q)
        for i, unit in enumerate(np.eye(3)):
            slope = (each.center_of_mass(q + h * unit) - each.center_of_mass(q - h * unit)) / (
                2 * h
            )
            assert_allclose(J[:, i], slope, atol=1e-9)
        weight = each.total_mass * np.array(each.model.gravity)
        assert_allclose(each.gravity(q), -J.T @ weight, atol=1e-12)
        assert_allclose(each.gravity(q), each.bias_forces(q, 0 * q), atol=1e-12)


def test_springs_are_not_gravity(rng):
    """They are in C, and not in g."""
    plain = linkages.four_bar()
    joints = tuple(replace(j, stiffness=5.0) for j in plain.joints)
    robot = Robot.from_mechanism(replace(plain, joints=joints))
    q = rng.normal(size=3)
    assert_allclose(robot.bias_forces(q, 0 * q) - robot.gravity(q), 5.0 * q, atol=1e-12)


def test_centres_of_mass_take_batches_and_out(tree, rng):
    """Leading dimensions, and `out`."""
    robot = Robot(tree[1])
    q, qd, _ = random_state(rng, robot.model, 4)
    for function, arguments in (
        (robot.center_of_mass, (q,)),
        (robot.center_of_mass_velocity, (q, qd)),
        (robot.center_of_mass_jacobian, (q,)),
        (robot.gravity, (q,)),
    ):
        result = function(*arguments)
        assert_allclose(result[2], function(*(x[2] for x in arguments)), atol=0)
        out = np.empty_like(result)
        assert function(*arguments, out=out) is out


def test_a_model_without_mass_has_no_centre_of_mass():
    """There is no centre of mass without mass, which is said."""
    plain = linkages.four_bar()
    links = tuple(LinkElement(link.name) for link in plain.links)
    robot = Robot.from_mechanism(replace(plain, links=links))
    assert robot.total_mass == 0.0
    for name in ("center_of_mass", "center_of_mass_jacobian", "centroidal_momentum_matrix"):
        with pytest.raises(RobotDynamicsError, match=r"four_bar.*mass"):
            getattr(robot, name)(np.zeros(3))
