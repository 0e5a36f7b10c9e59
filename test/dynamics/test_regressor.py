# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Regressors of torques and energies, base parameters, and which parameters are physical."""

import numpy as np
import pytest
from dynamics.conftest import real_robot
from support.linkages import bricard, folding_arms, four_bar, random_truss, slider_crank
from support.mechanisms import in_units, random_state, random_tree

from robot_dynamics.dynamics.inertial_parameters import (
    from_log_cholesky,
    is_physical,
    log_cholesky,
    pseudo_inertia,
)
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.model import build
from robot_dynamics.robot import Robot

TOL = 1e-12  # relative: rounding of some hundred operations


def assert_near(ours, theirs, tolerance=TOL):
    """Check a relative difference in the largest norm."""
    assert np.shape(ours) == np.shape(theirs)
    assert np.abs(ours - theirs).max() <= tolerance * max(1.0, np.abs(theirs).max())


@pytest.mark.usefixtures("interpreted")
def test_real_robots_equal_pinocchio(real, rng):
    """The regressor of `computeJointTorqueRegressor`, column for column in its order."""
    import pinocchio

    robot, oracle = real
    q, qd, qdd = random_state(rng, robot.model)
    state = oracle.q_of(q), oracle.v_of(qd), oracle.v_of(qdd)
    theirs = pinocchio.computeJointTorqueRegressor(oracle.theirs, oracle.data, *state)
    first = [10 * oracle.theirs.getJointId(name) - 10 for name in robot.model.joint_names]
    columns = np.add.outer(first, np.arange(10)).ravel()
    assert_near(robot.inverse_dynamics_regressor(q, qd, qdd), theirs[oracle.at_v][:, columns])


@pytest.mark.usefixtures("interpreted")
def test_dynamics_and_energies_are_linear(tree, rng):
    """On trees with floating joints: torques and energies are regressors times parameters."""
    robot = Robot(tree[1])
    q, qd, qdd = random_state(rng, robot.model)
    pi = robot.inertial_parameters
    Y = robot.inverse_dynamics_regressor(q, qd, qdd)
    assert_near(Y @ pi, robot.inverse_dynamics(q, qd, qdd))
    for found, expected in zip(robot.energy_regressor(q, qd), robot.energies(q, qd), strict=True):
        assert_near(found @ pi, expected)
    # Other parameters, in the frames of links: what the robot with them does.
    other = pi * rng.uniform(0.5, 1.5, pi.size)
    assert_near(Y @ other, robot.with_inertial_parameters(other).inverse_dynamics(q, qd, qdd))
    assert_near(robot.with_inertial_parameters(other).inertial_parameters, other)


@pytest.mark.usefixtures("interpreted")
def test_a_payload_regressor_equals_a_body_at_the_frame(tree, rng):
    """A frame's regressor is that of a body that moves with it: the last body's own link."""
    robot = Robot(tree[1])
    state = random_state(rng, robot.model)
    name = robot.model.bodies[-1].name
    of_link = robot.inverse_dynamics_regressor(*state)[:, -10:]
    assert_near(robot.payload_regressor(name, *state), of_link)
    # The same mass on a frame elsewhere, as its inertia about the link's origin says.
    T = np.eye(4)
    T[:3, 3] = 0.1, -0.2, 0.3
    carrying = robot.with_frame("tool", name, T)
    point = np.array([2.0] + [0.0] * 9)
    about_link = [2.0, 0.2, -0.4, 0.6, 0.26, 0.04, 0.2, -0.06, 0.12, 0.1]
    assert_near(carrying.payload_regressor("tool", *state) @ point, of_link @ about_link)


@pytest.mark.parametrize("mechanism", [four_bar, slider_crank], ids=lambda f: f.__name__)
@pytest.mark.usefixtures("interpreted")
def test_regressors_of_closed_loops_give_efforts_along_motions(mechanism, rng):
    """Efforts along independent motions, and base parameters that have a part in them."""
    robot = Robot.from_mechanism(mechanism(), gravity=(0.3, -9.0, -2.0))
    base, pi = robot.base_parameters(), robot.inertial_parameters
    assert base.matrix.shape == (len(base.independent), pi.size)
    for _ in range(3):
        guess = robot.model.integrate(robot.assemble().q, 0.2 * rng.normal(size=robot.model.nv))
        state = robot.assemble(np.array(guess), velocities=rng.normal(size=robot.model.nv))
        form = robot.independent_form(state.q, state.qd)
        qdd = form.G @ rng.normal(size=form.G.shape[1]) + form.g
        Y = robot.closed_loop_regressor(state.q, state.qd, qdd)
        efforts = robot.closed_loop_inverse_dynamics(state.q, state.qd, qdd)
        assert_near(Y @ pi, form.G.T @ efforts.tau, 1e-9)
        assert_near(Y[:, base.independent] @ (base.matrix @ pi), Y @ pi, 1e-8)
    with pytest.raises(RobotDynamicsError, match="loops are open"):
        robot.closed_loop_regressor(state.q + 0.3, state.qd, qdd)


@pytest.mark.usefixtures("interpreted")
def test_base_parameters_give_the_torques_of_all(rng):
    """36 of the UR5's 60; torques of all parameters from them alone."""
    robot, _ = real_robot("ur5")
    base = robot.base_parameters(seed=3)
    assert base.matrix.shape == (36, 60)
    state = random_state(rng, robot.model)
    Y = robot.inverse_dynamics_regressor(*state)
    assert_near(Y[:, base.independent] @ base.matrix, Y, 1e-8)


@pytest.mark.parametrize("scale", [0.001, 0.02, 1.0, 50.0, 1000.0])
@pytest.mark.usefixtures("interpreted")
def test_base_parameters_of_any_size(scale, rng):
    """As many in any unit of length, and at any size: they give the torques."""
    arm = in_units(random_tree(rng, ["revolute", "prismatic", "revolute"], chain=True), scale)
    for gravity in (9.81, 9.81 * scale):  # the same arm in other units, an arm of another size
        robot = Robot(build(arm, gravity=(0.0, 0.0, -gravity)))
        base, pi = robot.base_parameters(), robot.inertial_parameters
        assert len(base.independent) == 13
        q, qd, qdd = random_state(rng, robot.model)
        Y = robot.inverse_dynamics_regressor(q, qd, qdd)
        tau = Y @ pi
        found = Y[:, base.independent] @ (base.matrix @ pi)
        assert (np.abs(found - tau) <= 1e-8 * np.abs(tau).max()).all()


@pytest.mark.parametrize(("mechanism", "rank"), [(bricard, 22), (folding_arms, 13)])
@pytest.mark.usefixtures("interpreted")
def test_base_parameters_of_loops_at_any_seed(mechanism, rank):
    """Over the whole range of motion, so that no seed misses one that acts elsewhere."""
    robot = Robot.from_mechanism(mechanism(), gravity=(0.3, -9.0, -2.0))
    assert {len(robot.base_parameters(seed=seed).independent) for seed in range(2)} == {rank}


@pytest.mark.usefixtures("interpreted")
def test_base_parameters_of_what_cannot_move(rng):
    """There are none; and a seed that is none is refused."""
    robot = Robot.from_mechanism(random_truss(rng)[0])
    assert robot.base_parameters().matrix.shape == (0, robot.inertial_parameters.size)
    with pytest.raises(ArgumentError, match="seed is -1"):
        robot.base_parameters(seed=-1)


def test_parameters_of_positive_masses_are_physical(rng):
    """Masses at points: their pseudo-inertia; too small an inertia is none of positive masses."""
    points, masses = rng.normal(size=(6, 3)), rng.uniform(0.5, 2.0, 6)
    x = np.column_stack([points, np.ones(6)])
    J = np.einsum("k,ki,kj->ij", masses, x, x)
    I = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
    about = [I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]
    pi = np.array([masses.sum(), *(masses @ points), *about])
    assert_near(pseudo_inertia(pi), J)
    assert is_physical(pi)
    assert_near(from_log_cholesky(log_cholesky(pi)), pi, 1e-10)
    assert is_physical(from_log_cholesky(rng.normal(size=(50, 10)))).all()
    wrong = pi.copy()
    wrong[4] = wrong[6] + wrong[9] + 0.1  # Ixx > Iyy + Izz about the centre as well
    assert not is_physical(wrong)
    with pytest.raises(ArgumentError, match="no distribution of positive mass"):
        log_cholesky(wrong)
    # Exact masses at points, of which rounding makes either sign; and what is no number.
    for point in points:
        I = point @ point * np.eye(3) - np.outer(point, point)
        about = [I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]
        pi = np.array([1.0, *point, *about])
        assert is_physical(np.stack([pi, np.full(10, np.nan), np.zeros(10)])).tolist() == [
            True, False, False,
        ]  # fmt: skip
    with pytest.raises(ArgumentError, match="not finite"):
        log_cholesky(np.full(10, np.nan))
    with pytest.raises(ArgumentError, match=r"\(3,\).*\(\.\.\., 10\)"):
        is_physical(np.ones(3))
