# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Damping and friction of the joints as a part of all dynamics, by one switch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import linkages
from support.mechanisms import plain_arm

from robot_dynamics.dynamics.passive import FRICTION_VELOCITY
from robot_dynamics.dynamics.vibration import vibrations
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import Robot, load
from robot_dynamics.simulation.integrators import integrate


def resistance(damping, friction, qd):
    """Return the joint forces of damping and Coulomb friction, smooth through rest."""
    return damping * qd + friction * qd / np.sqrt(qd**2 + FRICTION_VELOCITY**2)


def rubbing_four_bar():
    """Return a four-bar with damping and friction in all its joints, that of the loop as well."""
    plain = linkages.four_bar()
    joints = tuple(
        replace(j, damping=1.0 + i, friction=0.5 + i) for i, j in enumerate(plain.joints)
    )
    loops = tuple(replace(loop, damping=5.0, friction=2.0) for loop in plain.loops)
    return replace(plain, joints=joints, loops=loops)


def test_an_arm_with_and_without(rng):
    """Without the switch friction is data. With it inverse dynamics add it, forward dynamics
    subtract it, and nothing that is at rest changes.
    """
    plain = Robot.from_mechanism(plain_arm("arm"))
    robot = plain.replace(joint_friction=True)
    q, qd, tau = rng.normal(size=(3, robot.model.nv))
    friction = resistance(0.2, 0.1, qd)
    assert_allclose(robot.model.damping, 0.2)
    with_it, without = (r.inverse_dynamics(q, qd, tau) for r in (robot, plain))
    assert_allclose(with_it - without, friction, atol=1e-12)
    assert_allclose(
        robot.forward_dynamics(q, qd, tau),
        plain.forward_dynamics(q, qd, tau - friction),
        rtol=1e-8,
    )
    assert_allclose(robot.bias_forces(q, 0 * qd), plain.bias_forces(q, 0 * qd), rtol=0, atol=1e-12)
    assert_allclose(robot.gravity(q), plain.gravity(q), atol=0)
    # What is left to be added by the caller.
    assert_allclose(robot.damping_forces(qd), np.zeros(7), atol=0)
    assert_allclose(plain.damping_forces(qd), -0.2 * qd, atol=0)


def test_every_spanning_tree_moves_alike():
    """Friction is the same whether a joint is in the tree or closes the loop, and in all methods
    of closed-loop dynamics.
    """
    shared = ("crank_joint", "coupler_joint")
    one = Robot.from_mechanism(rubbing_four_bar(), joint_friction=True)
    other = Robot.from_mechanism(rubbing_four_bar(), joint_friction=True, spanning_tree=shared)
    assert [loop.name for loop in other.model.loops] == ["rocker_joint"]
    there = one.assemble([0.5, 1.0, 1.0], velocities={"crank_joint": 0.7})
    held = {name: there.q[i] for i, name in enumerate(shared)}
    also = other.assemble(held=held, velocities={"crank_joint": 0.7})
    at = [other.model.joint_index(name) for name in shared]
    a, b = (r.forward_dynamics(s.q, s.qd, 0 * s.qd) for r, s in ((one, there), (other, also)))
    assert_allclose(a[:2], b[at], rtol=1e-8)
    for robot, state, found in ((one, there, a), (other, also, b)):
        motion = robot.constrained_motion(
            state.q, state.qd, 0 * state.qd, method="maximal coordinates"
        )
        assert_allclose(motion.qdd, found, rtol=1e-8)
        efforts = robot.closed_loop_inverse_dynamics(
            state.q, state.qd, found, drives=["crank_joint"]
        ).efforts
        assert_allclose(efforts, [0.0], atol=1e-8)
    smooth = one.replace(joint_friction=False)
    dampers_of_the_loop = smooth.forward_dynamics(there.q, there.qd, 0 * there.qd)
    assert np.abs(dampers_of_the_loop - a).max() > 0.1 * np.abs(a).max()


def test_the_power_that_is_lost():
    """A four-bar that coasts loses the energy that its joints turn into heat, and is not said to
    conserve it.
    """
    robot = Robot.from_mechanism(rubbing_four_bar(), joint_friction=True)
    start = robot.assemble([0.5, 1.0, 1.0], velocities={"crank_joint": 0.7})
    H = robot.inertia_matrix(start.q)
    qdd = robot.forward_dynamics(start.q, start.qd, 0 * start.qd)
    plain = robot.replace(joint_friction=False)
    qd = start.qd
    # dE/dt = qd . (H qdd + C without friction), where the loop's damper is still in C.
    rate = qd @ (H @ qdd + plain.bias_forces(start.q, qd))
    joints = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.5, 2.5])
    pin_rate = np.sum(qd)
    pin = pin_rate * (resistance(0.0, 2.0, np.array([pin_rate])))[0]
    assert_allclose(rate, -qd @ resistance(*joints, qd) - pin, rtol=1e-7)
    motion = integrate(robot, start.q, start.qd, 0.02, outputs=4, order=4)
    energy = motion.kinetic + motion.potential
    assert np.all(np.diff(energy) < 0.0)
    assert not motion.conservative


def test_the_option_of_load(tmp_path):
    """`load` takes the switch, for `<dynamics>` of a URDF."""
    urdf = tmp_path / "hinge.urdf"
    urdf.write_text(
        """<robot name="hinge"><link name="base"/><link name="bob"><inertial><mass value="2"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="hinge" type="continuous"><parent link="base"/><child link="bob"/>
        <axis xyz="0 1 0"/><dynamics damping="0.5" friction="0.25"/></joint></robot>"""
    )
    for switch, expected in ((False, 0.0), (True, resistance(0.5, 0.25, np.array([2.0])))):
        robot = load(urdf, joint_friction=switch)
        assert_allclose(robot.bias_forces([0.0], [2.0]), expected, atol=1e-15)


def test_vibrations_are_those_of_the_dampers(rng):
    """Viscous friction damps small vibrations once, switch or not; Coulomb friction does not."""
    plain = Robot.from_mechanism(plain_arm("arm"))
    q = rng.uniform(-0.5, 0.5, 7)
    held = plain.gravity(q)
    poles = [
        vibrations(model, q, held).poles
        for model in (plain.model, plain.replace(joint_friction=True).model)
    ]
    assert_allclose(*poles, rtol=1e-9)
    smooth = vibrations(plain.model, q, held, damping=False)
    assert np.abs(np.sort(smooth.poles) - np.sort(poles[0])).max() > 0.1


@pytest.mark.parametrize("switch", ["yes", 1, 0.0])
def test_the_switch_is_a_switch(switch):
    """Something else than True or False is refused."""
    robot = Robot.from_mechanism(linkages.four_bar())
    for call in (
        lambda: robot.replace(joint_friction=switch),
        lambda: Robot.from_mechanism(linkages.four_bar(), joint_friction=switch),
    ):
        with pytest.raises(ArgumentError, match="joint_friction"):
            call()


def test_code_is_told_apart():
    """Robots that differ in the switch alone do not share machine code."""
    robot = Robot.from_mechanism(linkages.four_bar())
    assert robot.replace(joint_friction=True).model.structure_key != robot.model.structure_key
    assert robot.replace(gravity=(0, 0, 0)).model.structure_key == robot.model.structure_key


@pytest.fixture
def rng():
    return np.random.default_rng(2)
