# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A robot by itself that a user steps: as `integrate` moves it, pushed, put back, refused."""

from __future__ import annotations

import numpy as np
import pytest
from support.linkages import turn
from support.motions import parallelogram, swinging_platform, turning_bricard, turning_four_bar

import robot_dynamics as rd
from robot_dynamics.model import JointElement, LinkElement, Mechanism, pose
from robot_dynamics.simulation.engine import SimulationError

# Powers of two: the same steps for `integrate`, to the last bit.
PERIOD, STEP = 2.0**-7, 2.0**-9


def arm(**options):
    """Return a tree of two hinges, with friction."""
    links = [LinkElement(n, 1.5, (0.2, 0.0, 0.0), np.diag([0.01, 0.02, 0.03])) for n in "ab"]
    joints = [
        JointElement("one", "revolute", "base", "a", damping=0.4, friction=0.3),
        JointElement("two", "revolute", "a", "b", pose((0.4, 0.0, 0.0)), damping=0.1),
    ]
    mechanism = Mechanism("arm", (LinkElement("base"), *links), tuple(joints))
    return rd.Robot.from_mechanism(mechanism, gravity=(0.0, -9.81, 0.0), **options)


@pytest.mark.parametrize("start", [turning_four_bar, swinging_platform, turning_bricard])
def test_it_moves_as_integrated(start):
    """Redundant constraints, other rows chosen on the way, a platform: the same to the last bit;
    energy keeps to 1e-12 of the kinetic energy, as that of `integrate` does at such steps.
    """
    robot, q, qd = start()
    tau = np.zeros(robot.model.nv)
    sim = rd.Simulation(robot, period=PERIOD, q=q, qd=qd, step=STEP)
    seen = [sim.observation, *(sim.step(tau) for _ in range(64))]
    run = rd.integrate(robot, q, qd, 0.5, outputs=64, step=STEP)
    assert np.array_equal([s.q for s in seen], run.q)
    assert np.array_equal([s.qd for s in seen], run.qd)
    assert np.array_equal([s.time for s in seen], run.t)
    kinetic, potential = robot.energies([s.q for s in seen], [s.qd for s in seen])
    assert np.ptp(kinetic + potential) < 1e-12 * kinetic.max()
    assert np.ptp([s.q[0] for s in seen]) > 0.05  # it moves


@pytest.mark.parametrize("joint_friction", [False, True])
def test_torques_and_friction_of_a_tree(joint_friction):
    """Friction acts where it is part of the robot's dynamics, as in `integrate`."""
    robot, tau = arm(joint_friction=joint_friction), np.array([1.0, -0.5])
    sim = rd.Simulation(robot, period=PERIOD, step=STEP)
    for _ in range(32):
        seen = sim.step(tau)
    run = rd.integrate(robot, [0, 0], [0, 0], 32 * PERIOD, tau=tau, outputs=32, step=STEP)
    assert np.array_equal(seen.q, run.q[-1])
    other = rd.integrate(arm(), [0, 0], [0, 0], 32 * PERIOD, tau=tau, outputs=32, step=STEP)
    assert (np.abs(seen.q - other.q[-1]).max() > 0.01) == joint_friction


@pytest.mark.parametrize("start", [turning_four_bar, turning_bricard, parallelogram])
def test_it_goes_on_from_a_state_bit_for_bit(start):
    """Also after other motions, past a singular configuration, and in another simulation."""
    robot, q, qd = start()
    commands = 0.5 * np.random.default_rng(0).standard_normal((60, robot.model.nv))
    sim, other = (rd.Simulation(robot, period=PERIOD, q=q, qd=qd) for _ in range(2))
    for tau in commands[:20]:
        sim.step(tau)
    state = sim.state
    first = [sim.step(tau) for tau in commands[20:]]
    sim.reset()
    assert np.array_equal(sim.observation.q, q)
    for again in (sim, other):
        again.state = state
        assert (
            again.state.plant.parts[0][2] == state.plant.parts[0][2]
        )  # by which steps are judged
        assert all(map(np.array_equal, again.observation, state.observation))
        for one, tau in zip(first, commands[20:], strict=True):
            found = again.step(tau)
            assert np.array_equal(one.q, found.q)
            assert np.array_equal(one.qd, found.qd)
            assert one.time == found.time


def test_it_is_named():
    """The names of its observations; a robot alone lacks some of them."""
    robot = arm()
    sim = rd.Simulation(robot, period=0.01)
    assert sim.joint_names == ("one", "two")
    assert sim.arms is robot
    assert (sim.scenario, sim.arm_names, sim.contacts) == (None, (), ())
    seen = sim.step([0.0, 0.0])
    assert (seen.time, seen.q.shape, seen.qd.shape) == (0.01, (2,), (2,))
    assert seen.wrenches.shape == (0, 6)
    assert seen.object_pose is None
    assert seen.object_twist is None


def test_a_closed_start_is_found():
    """Without positions loops are closed near the joints' zeros, at rest."""
    robot = swinging_platform().robot
    seen = rd.Simulation(robot).observation
    assert np.abs(robot.closure(seen.q)[1]).max() < 1e-9
    assert not seen.qd.any()


def test_a_wrench_changes_the_momentum():
    """Without gravity the momentum in the world changes by the impulse and its moment; the pose is
    that of the start of the period, which is 1e-4 s long: so is the relative error, about.
    """
    links = [LinkElement(n, 1.5, (0.2, 0.1, 0.0), np.diag([0.01, 0.02, 0.03])) for n in "ab"]
    joints = [
        JointElement("free", "floating", "base", "a"),
        JointElement("hinge", "revolute", "a", "b", pose((0.4, 0.0, 0.1))),
    ]
    mechanism = Mechanism("floater", (LinkElement("base"), *links), tuple(joints))
    robot = rd.Robot.from_mechanism(mechanism, gravity=(0.0, 0.0, 0.0))
    robot = robot.with_frame("tip", "b", pose((0.3, 0.0, 0.0), turn("xyz", (0.3, 0.8, -0.4))))
    q = np.array(robot.model.integrate(robot.model.neutral().tolist(), [0.4, 0.7, 1, 2, -1, 1, 1]))
    sim = rd.Simulation(robot, period=1e-4, q=q)
    wrench = np.array([1.0, 2.0, -1.0, 5.0, -3.0, 4.0])
    seen = sim.step(np.zeros(7), {"tip": wrench})
    point, force = robot.pose("tip", q)[:3, 3], wrench[3:]
    expected = 1e-4 * np.concatenate([wrench[:3] + np.cross(point, force), force])
    np.testing.assert_allclose(robot.momentum(seen.q, seen.qd), expected, rtol=1e-3)


def test_a_step_too_long_for_friction_is_shortened_or_refused():
    """By default it is shortened; a stated one is refused, with one that is taken."""
    links = [LinkElement("a", 1.0, (0.1, 0.0, 0.0), np.diag([1e-4] * 3))]
    joints = [JointElement("one", "revolute", "base", "a", damping=200.0)]
    mechanism = Mechanism("stiff", (LinkElement("base"), *links), tuple(joints))
    robot = rd.Robot.from_mechanism(mechanism, joint_friction=True)
    sim = rd.Simulation(robot, period=2e-3, qd=[1.0])
    assert all(abs(sim.step([0.0]).qd[0]) < 1.0 for _ in range(20))
    with pytest.raises(rd.ArgumentError, match=r"too long for the friction.*expected at most"):
        rd.Simulation(robot, period=2e-3, step=1e-3)


@pytest.mark.parametrize(
    ("torque", "wrenches", "words"),
    [
        (np.zeros(3), None, r"torque has shape \(3,\), expected \(2,\)"),
        ("one", None, "torque is 'one', expected 2 numbers"),
        ([np.nan, 0.0], None, "torque has entries that are not finite"),
        ([0.0, 0.0], {"b": [1.0]}, "the wrench on 'b' has shape"),
        ([0.0, 0.0], {"c": [0.0] * 6}, "'c'"),
        ([0.0, 0.0], [0.0] * 6, "expected a mapping from links"),
        ([0.0, 0.0], {"base": [0.0] * 6}, "part of the world"),
        ([1e150, 0.0], None, "simulated motion ended at 0 s"),
    ],
)
def test_invalid_inputs_are_refused_and_change_nothing(torque, wrenches, words):
    """Wrong shapes, not finite, frames that are not there, unbounded motion."""
    sim = rd.Simulation(arm(), qd=[0.3, 0.2])
    before, expected = sim.state, rd.Simulation(arm(), qd=[0.3, 0.2]).step([0.0, 0.0])
    with pytest.raises(rd.RobotDynamicsError, match=words):
        sim.step(torque, wrenches)
    assert all(map(np.array_equal, sim.observation, before.observation))
    assert np.array_equal(sim.step([0.0, 0.0]).q, expected.q)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"q": [0.0]}, r"q has shape \(1,\), expected \(2,\)"),
        ({"qd": [0.0, np.inf]}, "qd has entries that are not finite"),
        ({"period": 0.0}, "period is 0.0, expected a positive number"),
        ({"step": "x"}, "step is 'x', expected a positive number"),
        ({"plant": "mujoco"}, "plant belongs to a scenario, expected none with a robot"),
        ({"overrides": ["a=1"]}, "overrides belongs to a scenario"),
    ],
)
def test_arguments_that_do_not_fit(options, words):
    """One sentence each."""
    with pytest.raises(rd.ArgumentError, match=words):
        rd.Simulation(arm(), **options)


def test_unsupported_arguments_are_refused():
    """Open loops, arguments of a robot with a scenario, states of others, derivatives."""
    robot, q, qd = turning_four_bar()
    with pytest.raises(rd.ArgumentError, match=r"Robot\.assemble"):
        rd.Simulation(robot, q=q + 0.1, qd=qd)
    with pytest.raises(rd.ArgumentError, match="period belongs to a robot"):
        rd.Simulation("lift_box", period=0.01)
    sim = rd.Simulation(robot, q=q, qd=qd)
    with pytest.raises(rd.ArgumentError, match="state is of another simulation"):
        sim.state = rd.Simulation(arm()).state
    with pytest.raises(rd.ArgumentError, match="expected one of a simulation"):
        sim.state = q
    with pytest.raises(rd.ArgumentError, match=r"Robot\.linearize"):
        sim.linearize(np.zeros(3))
    assert issubclass(SimulationError, rd.RobotDynamicsError)
