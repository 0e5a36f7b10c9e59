# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Products of derivatives with vectors, second derivatives, derivatives by parameters."""

from dataclasses import replace

import numpy as np
import pytest
from dynamics.joint_mechanisms import random_pose, world_poses
from dynamics.test_derivatives import (
    assert_near,
    by_differences_of_vector,
    closed_state,
)
from scipy.spatial.transform import Rotation
from support.linkages import bricard, four_bar, slider_crank
from support.mechanisms import random_state, random_tree

from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.model import LinkElement, LoopElement, build, pose
from robot_dynamics.robot import Robot

ROUNDING = 1e-10  # relative: factors of inertia matrices with condition numbers of some thousands


@pytest.mark.parametrize("tree", ["mixed chain", "floating base"], indirect=True)
@pytest.mark.usefixtures("interpreted")
def test_products_of_trees_equal_the_matrices(tree, rng):
    """Products along a direction and with weights are those with the matrices."""
    robot = Robot(tree[1])
    n = robot.model.nv
    q, qd, x = random_state(rng, robot.model)
    w, d = rng.normal(size=n), rng.normal(size=(3, n))
    matrices = robot.inverse_dynamics_derivatives(q, qd, x)
    product = sum(J @ v for J, v in zip(matrices, d, strict=True))
    assert_near(robot.inverse_dynamics_jvp(q, qd, x, *d), product, ROUNDING)
    for found, J in zip(robot.inverse_dynamics_vjp(q, qd, x, w), matrices, strict=True):
        assert_near(found, w @ J, ROUNDING)
    matrices = robot.forward_dynamics_derivatives(q, qd, x)[:3]
    product = sum(J @ v for J, v in zip(matrices, d, strict=True))
    qdd, multipliers = robot.forward_dynamics_jvp(q, qd, x, *d)
    assert_near(qdd, product, ROUNDING)
    assert multipliers.shape == (0,)
    for found, J in zip(robot.forward_dynamics_vjp(q, qd, x, w), matrices, strict=True):
        assert_near(found, w @ J, ROUNDING)


@pytest.mark.parametrize("mechanism", [slider_crank, four_bar], ids=lambda f: f.__name__)
@pytest.mark.usefixtures("interpreted")
def test_products_of_closed_loops_equal_the_matrices(mechanism, rng):
    """Products with derivatives of accelerations and of constraint forces, also of a batch."""
    robot, q, qd, tau = closed_state(mechanism(), rng)
    n, m = robot.model.nv, robot.model.constraint_count
    w, of_lambda, d = rng.normal(size=n), rng.normal(size=m), rng.normal(size=(3, n))
    found = robot.forward_dynamics_derivatives(q, qd, tau)
    qdd, multipliers = robot.forward_dynamics_jvp(q, qd, tau, *d)
    assert_near(qdd, sum(J @ v for J, v in zip(found[:3], d, strict=True)), ROUNDING)
    assert_near(multipliers, sum(J @ v for J, v in zip(found[3:], d, strict=True)), ROUNDING)
    gradients = robot.forward_dynamics_vjp(q, qd, tau, w, of_lambda)
    for of_qdd, of_force, ours in zip(found[:3], found[3:], gradients, strict=True):
        assert_near(ours, w @ of_qdd + of_lambda @ of_force, ROUNDING)
    states = [np.stack([x, x]) for x in (q, qd, tau)]
    for one, two in zip(gradients, robot.forward_dynamics_vjp(*states, w, of_lambda), strict=True):
        assert_near(two, np.stack([one, one]), ROUNDING)


@pytest.mark.usefixtures("interpreted")
def test_second_derivatives_are_rates_of_gradients(rng):
    """The rates of gradients along a direction, of an arm and of a closed loop, twice the same."""
    robot, q, qd, tau = closed_state(four_bar(), rng)
    n, m = robot.model.nv, robot.model.constraint_count
    w, d = rng.normal(size=n), rng.normal(size=(3, n))
    of_lambda, step = rng.normal(size=m), 1e-5

    def inverse(s):
        return robot.inverse_dynamics_vjp(q + s * d[0], qd + s * d[1], tau + s * d[2], w)

    def forward(s):
        state = q + s * d[0], qd + s * d[1], tau + s * d[2]
        return robot.forward_dynamics_vjp(*state, w, of_lambda)

    for found, gradient in (
        (robot.inverse_dynamics_hvp(q, qd, tau, w, *d), inverse),
        (robot.forward_dynamics_hvp(q, qd, tau, w, *d, of_lambda), forward),
    ):
        ends = gradient(step), gradient(-step)
        for ours, plus, minus in zip(found, *ends, strict=True):
            assert_near(ours, (plus - minus) / (2.0 * step), 1e-6)
    # All second derivatives by q, from a batch of directions: symmetric here.
    zero = np.zeros((n, n))
    H, *_ = robot.inverse_dynamics_hvp(q, qd, tau, w, np.eye(n), zero, zero)
    assert_near(H, H.T, ROUNDING)


@pytest.mark.usefixtures("interpreted")
def test_derivatives_by_inertial_parameters_equal_differences(rng):
    """Accelerations and constraint forces by mass, first moment and inertia of every body."""
    robot, q, qd, tau = closed_state(slider_crank(), rng)
    pi = robot.inertial_parameters

    def motion(pi):
        found = robot.with_inertial_parameters(pi).closed_loop(q, qd, tau)
        return np.concatenate(found[:2])

    by_pi = by_differences_of_vector(motion, pi)
    found = robot.parameter_derivatives(q, qd, tau)
    assert_near(np.vstack(found), by_pi, 1e-6)


@pytest.mark.parametrize("kind", ["universal", "fixed"])
@pytest.mark.usefixtures("interpreted")
def test_poses_of_loop_joints(kind, rng):
    """Accelerations and constraint forces by small motions of a loop joint's frames."""
    tree = random_tree(rng, ["floating", "revolute", "prismatic", "revolute"], chain=True)
    q, *_ = random_state(rng, build(tree))
    held, grasp = world_poses(build(tree), q)[tree.links[-1].name], random_pose(rng)
    loop = LoopElement("grasp", kind, "base", tree.links[-1].name, held @ grasp, grasp)
    parts = replace(tree, loops=(loop,))
    robot = Robot.from_mechanism(parts)
    n = robot.model.nv
    closed = robot.assemble(q, velocities=rng.normal(size=n))
    q, qd, tau = closed.q, closed.qd, rng.normal(size=n)

    def motion(x):
        before, behind = (
            pose(part[3:], Rotation.from_rotvec(part[:3]).as_matrix()) for part in np.split(x, 2)
        )
        moved = replace(
            loop,
            predecessor_pose=loop.predecessor_pose @ before,
            successor_pose=loop.successor_pose @ behind,
        )
        other = Robot.from_mechanism(replace(parts, loops=(moved,)))
        return np.concatenate(other.closed_loop(q, qd, tau)[:2])

    found = robot.parameter_derivatives(q, qd, tau, "loops")
    assert found[0].shape == (n, 12)
    direction = rng.normal(size=12)
    by_direction = by_differences_of_vector(lambda s: motion(s * direction), np.zeros(1))
    assert_near(np.vstack(found) @ direction, by_direction[:, 0], 1e-6)


@pytest.mark.usefixtures("interpreted")
def test_derivatives_by_friction_equal_differences(rng):
    """Accelerations and constraint forces by damping and Coulomb friction of the joints."""
    parts = slider_crank()
    _, q, qd, tau = closed_state(parts, rng)
    n = len(qd)

    def robot(x):
        joints = [
            replace(joint, damping=abs(x[i]), friction=abs(x[n + i]))
            for i, joint in enumerate(parts.joints)
        ]
        parts_with = replace(parts, joints=tuple(joints))
        return Robot.from_mechanism(parts_with, joint_friction=True)

    x = rng.uniform(0.1, 0.3, 2 * n)
    by_x = by_differences_of_vector(
        lambda x: np.concatenate(robot(x).closed_loop(q, qd, tau)[:2]), x
    )
    assert_near(np.vstack(robot(x).parameter_derivatives(q, qd, tau, "friction")), by_x, 1e-6)
    with pytest.raises(UnknownNameError, match=r"parameters.*'mass'"):
        robot(x).parameter_derivatives(q, qd, tau, "mass")


@pytest.mark.usefixtures("interpreted")
def test_dependent_constraints_have_no_derivatives():
    """Their forces have no derivatives: a sentence, and NaN in a batch."""
    robot = Robot.from_mechanism(bricard())
    q, rest = robot.assemble().q, np.zeros(robot.model.nv)
    with pytest.raises(RobotDynamicsError, match="depend on one another here"):
        robot.forward_dynamics_vjp(q, rest, rest, rest)
    for method in (robot.forward_dynamics_vjp, robot.forward_dynamics_jvp):
        more = (rest,) if method == robot.forward_dynamics_vjp else (rest,) * 3
        with pytest.raises(ArgumentError, match=r"\btau\b.*finite"):
            method(q, rest, rest + np.nan, *more)
    batch = robot.forward_dynamics_vjp(np.stack([q, q]), rest, rest, rest)
    assert all(np.isnan(x).all() for x in batch)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
@pytest.mark.usefixtures("interpreted")
def test_directions_and_weights_that_are_not_finite(value, rng):
    """An error that names which, a row of NaN in a batch; NaN of inverse dynamics, as itself."""
    robot, q, qd, tau = closed_state(slider_crank(), rng)
    n, m = robot.model.nv, robot.model.constraint_count
    along = {name: np.zeros(n) for name in ("dq", "dqd", "dtau")}
    weights = {"weights": np.zeros(n), "lambda_weights": np.zeros(m)}
    for method, more in (
        (robot.forward_dynamics_jvp, along),
        (robot.forward_dynamics_vjp, weights),
        (robot.forward_dynamics_hvp, {**along, **weights}),
    ):
        for name, good in more.items():
            bad = np.where(np.arange(len(good)) == 1, value, good)
            with pytest.raises(ArgumentError, match=rf"^{name}\b.*finite"):
                method(q, qd, tau, **{**more, name: bad})
            rows = method(q, qd, tau, **{**more, name: np.stack([bad, good])})
            assert all(np.isnan(x[0]).all() and np.isfinite(x[1]).all() for x in rows)
    bad = np.array([value, 0.0, 0.0])
    assert np.isnan(robot.inverse_dynamics_jvp(q, qd, tau, bad, qd, tau)[:2]).all()
    with pytest.raises(ArgumentError, match="lambda_weights has shape"):
        robot.forward_dynamics_vjp(q, qd, tau, np.zeros(n), np.zeros(m + 1))


@pytest.mark.usefixtures("interpreted")
def test_trees_without_derivatives(rng):
    """A tip without mass is named, and so is NaN; no word of constraints."""
    chain = random_tree(rng, ["revolute"] * 2, chain=True)
    zero = np.zeros(2)
    light = replace(chain, links=(*chain.links[:-1], LinkElement(chain.links[-1].name)))
    for mechanism, q, sentence in (
        (light, zero, r"mass.*'link1'"),
        (chain, np.array([np.nan, 0.0]), r"\bq\b.*finite"),
    ):
        robot = Robot(build(mechanism))
        for method, more in (
            (robot.forward_dynamics_derivatives, ()),
            (robot.parameter_derivatives, ()),
            (robot.forward_dynamics_vjp, (zero,)),
            (robot.forward_dynamics_jvp, (zero,) * 3),
            (robot.forward_dynamics_hvp, (zero,) * 4),
        ):
            with pytest.raises(RobotDynamicsError, match=sentence):
                method(q, zero, zero, *more)
    with pytest.raises(RobotDynamicsError, match=r"mass.*'link1'"):
        Robot(build(light)).linearize(zero, zero, zero)
    with pytest.raises(ArgumentError, match="there are no constraints"):
        Robot(build(chain)).forward_dynamics_vjp(zero, zero, zero, zero, np.ones(7))


@pytest.mark.parametrize("kind", ["spherical", "floating"])
@pytest.mark.usefixtures("interpreted")
def test_second_derivatives_of_springs_that_turn_any_way(kind, rng):
    """Also where nothing has turned, about axes of the frame, and towards half a turn."""
    tree = random_tree(rng, [kind], chain=True)
    spring = replace(tree.joints[0], stiffness=2.0, rest=0.3)
    robot = Robot(build(replace(tree, joints=(spring,)), gravity=(0.0, 0.0, 0.0)))
    model, zero, step = robot.model, np.zeros(robot.model.nv), 1e-4
    for angle in (0.0, 1e-16, 1e-10, 1e-8, 1e-4, 0.3, 1.7, 3.0):
        for axis in (np.array([1.0, 0.0, 0.0]), np.array([0.6, -0.8, 0.0]), rng.normal(size=3)):
            q = np.array(model.neutral())
            half = 0.5 * angle
            q[-4:] = *(np.sin(half) * axis / np.linalg.norm(axis)), np.cos(half)
            w, d = rng.normal(size=(2, model.nv))

            def gradient(s, q=q, w=w, d=d):
                at = np.array(model.integrate(q.tolist(), (s * d).tolist()))
                return robot.inverse_dynamics_vjp(at, zero, zero, w)[0]

            (near, far) = (gradient(s) - gradient(-s) for s in (step, 2.0 * step))
            found, *_ = robot.inverse_dynamics_hvp(q, zero, zero, w, d, zero, zero)
            # Rounding over a length of 1e-8 below a turn of 1e-6, over 1e-4 in differences.
            assert_near(found, (8.0 * near - far) / (12.0 * step), 1e-6)
