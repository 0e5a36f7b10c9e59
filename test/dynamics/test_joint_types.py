# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""All joint types in trees: the algorithms agree with each other, the clock and Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from dynamics.joint_mechanisms import (
    CARRYING,
    EVERY,
    link_motions,
    random_state,
    random_tree,
    world_poses,
)
from numpy.testing import assert_allclose

from robot_dynamics.dynamics.energy import energies
from robot_dynamics.dynamics.forward import forward_dynamics
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.inverse import bias_forces, inverse_dynamics
from robot_dynamics.dynamics.jacobian import link_jacobian
from robot_dynamics.dynamics.kinematics import (
    body_velocities,
    joint_transforms,
    motion_subspaces,
)
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import build
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot
from robot_dynamics.scalar.derivatives import directional_derivative

TOL = 1e-12  # times the condition number where a system is solved


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.fixture(params=[0, 1, 2])
def model(request):
    """Return a tree of six or seven joints of different types; the three trees have them all."""
    rng = np.random.default_rng(request.param)
    names = np.random.default_rng(5).permutation(list(EVERY))
    types = [str(n) for n in names[7 * request.param : 7 * request.param + 7]]
    return build(random_tree(rng, types), gravity=(1.0, -2.0, -9.0))


def test_forward_dynamics_solves_the_equation_of_motion(model, rng):
    """ABA equals the solution of CRBA's H qdd = tau - C with RNEA's C."""
    q, qd, tau = random_state(rng, model)
    parameters = parameters_of(model)
    H = np.array(inertia_matrix(model, q, parameters))
    C = np.array(bias_forces(model, q, qd, parameters))
    qdd = np.array(forward_dynamics(model, q, qd, tau, parameters))
    dense = np.linalg.solve(H, tau - C)
    assert np.abs(qdd - dense).max() < TOL * np.linalg.cond(H) * np.abs(dense).max()
    back = inverse_dynamics(model, q, qd, qdd.tolist(), parameters)
    assert np.abs(np.array(back) - tau).max() < TOL * np.linalg.cond(H)


def test_the_inertia_matrix_is_made_of_unit_accelerations(model, rng):
    """Columns of H are inverse dynamics of one acceleration each, less the bias."""
    q, qd, _ = random_state(rng, model)
    parameters = parameters_of(model)
    C = np.array(bias_forces(model, q, qd, parameters))
    columns = [
        np.array(inverse_dynamics(model, q, qd, unit, parameters)) - C
        for unit in np.eye(model.nv).tolist()
    ]
    H = np.array(inertia_matrix(model, q, parameters))
    assert_allclose(H, np.array(columns).T, atol=1e-11)
    assert np.linalg.eigvalsh(H)[0] > 0.0


def test_velocities_and_accelerations_are_rates(model, rng):
    """Links move at the rate of their poses, and accelerate at the rate of their velocities."""
    q, qd, qdd = random_state(rng, model)
    h = 1e-5
    rate = np.array(model.position_rate(q, qd))

    def at(t):
        # Quaternions of this length are off by t^2, and mended.
        there = model.normalized((np.array(q) + t * rate).tolist())
        # To second order the positions follow the mean velocity.
        there2 = model.integrate(q, (t * (np.array(qd) + 0.5 * t * np.array(qdd))).tolist())
        now = (np.array(qd) + t * np.array(qdd)).tolist()
        return world_poses(model, there), link_motions(model, there2, now, qdd)

    here = link_motions(model, q, qd, qdd)
    poses = world_poses(model, q)
    (ahead, fast), (behind, slow) = at(h), at(-h)
    for name, motion in here.items():
        change = np.linalg.inv(poses[name]) @ (ahead[name] - behind[name]) / (2 * h)
        w, u = motion[:3], motion[3:6]
        skew = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        # Order h^2 and roundings 1e-16 / h, of numbers up to a hundred.
        assert_allclose(change[:3, :3], skew, atol=1e-7)
        assert_allclose(change[:3, 3], u, atol=1e-7)
        assert_allclose((fast[name] - slow[name])[:6] / (2 * h), motion[6:], atol=2e-6)


def test_the_power_balance_holds(model, rng):
    """The rate of the kinetic energy is the power of the joint forces, without gravity."""
    free = model.replace(gravity=(0.0, 0.0, 0.0))
    parameters = parameters_of(free)
    q, qd, tau = random_state(rng, free)
    qdd = np.array(forward_dynamics(free, q, qd, tau, parameters))
    h = 1e-5

    def energy(t):
        there = free.integrate(q, (t * (np.array(qd) + 0.5 * t * qdd)).tolist())
        v = np.array(qd) + t * qdd
        return 0.5 * v @ np.array(inertia_matrix(free, there, parameters)) @ v

    power = np.dot(tau, qd)
    scale = max(abs(power), energy(0.0) * np.abs(qdd).max())
    assert abs((energy(h) - energy(-h)) / (2 * h) - power) < 1e-7 * scale


@pytest.mark.parametrize(("count", "chain"), [(40, False), (100, False), (200, False), (60, True)])
def test_featherstones_relations_on_large_trees(rng, count, chain):
    """ID undoes FD, ID is affine in the acceleration, and power is the rate of the energy.

    Joints of every type, as many of each, on bodies drawn at random or in a chain. What rounding
    may leave is 1e-16 of the forces that the bodies at the tips make at the base, times some ten
    for each body.
    """
    every = list(EVERY) * (count // len(EVERY))
    types = [str(name) for name in rng.permutation(every)]
    model = build(random_tree(rng, types, chain=chain), gravity=(1.0, -2.0, -9.0))
    assert len(model.bodies) == count
    parameters = parameters_of(model)
    q, qd, tau = random_state(rng, model)
    _, x, y = random_state(rng, model)

    def inverse(acceleration):
        return np.array(inverse_dynamics(model, q, qd, list(acceleration), parameters))

    H = np.array(inertia_matrix(model, q, parameters))
    C = inverse(np.zeros(model.nv))
    qdd = np.array(forward_dynamics(model, q, qd, tau, parameters))
    size = max(np.abs(C).max(), (np.abs(H) @ np.abs(qdd)).max())
    assert_allclose(inverse(qdd), tau, rtol=0, atol=TOL * size)
    forces = [inverse(v) - C for v in (x, y, np.array(x) + y)]
    size = max(np.abs(C).max(), *(np.abs(f).max() for f in forces))
    assert_allclose(forces[0] + forces[1], forces[2], rtol=0, atol=TOL * size)
    assert_allclose(forces[0], H @ x, rtol=0, atol=TOL * size)

    def energy(moving):
        return energies(model, moving[: model.nq], moving[model.nq :], parameters)

    motion = [*model.position_rate(q, qd), *qdd.tolist()]
    (kinetic, potential), rates = directional_derivative(energy, [*q, *qd], motion)
    power = np.dot(tau, qd)
    size = max(abs(kinetic), abs(potential)) * max(np.abs(qd).max(), np.abs(qdd).max())
    assert abs(sum(rates) - power) < TOL * size


def test_jacobians_give_velocities(model, rng):
    """J qd is the velocity of every link."""
    q, qd, _ = random_state(rng, model)
    Xup = joint_transforms(model, q)
    v = body_velocities(model, Xup, qd, q)
    for link in model.links[1:]:
        J = np.array(link_jacobian(model, link, Xup, q))
        assert_allclose(J @ qd, (link.placement * v[link.body]).components(), atol=1e-12)


def test_differences_undo_steps(model, rng):
    """The difference of positions is the step that integrate takes, over the whole model."""
    q, qd, _ = random_state(rng, model)
    step = (0.3 * np.array(qd)).tolist()
    assert_allclose(model.difference(q, model.integrate(q, step)), step, atol=1e-10)


def test_compiled_equals_interpreted(rng):
    """Machine code of a tree with all types gives the numbers of plain floats."""
    types = [*CARRYING, "reversed rack_and_pinion", "reversed universal", "reversed planar"]
    robot = Robot(build(random_tree(rng, types)))
    model, parameters = robot.model, parameters_of(robot.model)
    q, qd, qdd = random_state(rng, model)
    tau = inverse_dynamics(model, q, qd, qdd, parameters)
    assert_allclose(robot.inverse_dynamics(q, qd, qdd), tau, rtol=1e-11, atol=1e-11)
    H = np.array(inertia_matrix(model, q, parameters))
    assert_allclose(robot.inertia_matrix(q), H, atol=1e-12)
    back = robot.tree_forward_dynamics(q, qd, tau)
    assert np.abs(back - qdd).max() < TOL * np.linalg.cond(H) * np.abs(qdd).max()


def test_positions_are_asked_for_where_they_are_needed(rng):
    """Without positions a constant S is served, and one that varies is refused by name."""
    constant = build(random_tree(rng, ["revolute", "planar", "helical"]))
    assert motion_subspaces(constant) == motion_subspaces(constant, [0.0] * constant.nq)
    varying = build(random_tree(rng, ["revolute", "universal"]))
    with pytest.raises(ArgumentError, match="'joint1'"):
        motion_subspaces(varying)


# Pinocchio's joint models, and where its variables are among ours. It has linear velocities first,
# and a planar joint of x, y, cos, sin.
def of_pinocchio(pin, kind):
    x, y = np.eye(3)[:2]
    cylinder = pin.JointModelComposite()
    cylinder.addJoint(pin.JointModelRZ())
    cylinder.addJoint(pin.JointModelPZ())
    return {
        "revolute": pin.JointModelRZ(),
        "prismatic": pin.JointModelPZ(),
        "helical": pin.JointModelHZ(0.15),
        "cylindrical": cylinder,
        "planar": pin.JointModelPlanar(),
        "spherical": pin.JointModelSpherical(),
        "yaw_pitch_roll": pin.JointModelSphericalZYX(),
        "universal": pin.JointModelUniversal(x, y),
        "floating": pin.JointModelFreeFlyer(),
    }[kind]


def their_positions(kind, q):
    return [q[1], q[2], np.cos(q[0]), np.sin(q[0])] if kind == "planar" else list(q)


ORDER = {"planar": [1, 2, 0], "floating": [3, 4, 5, 0, 1, 2]}


class Pinocchio:
    """The same bodies and joints in Pinocchio."""

    def __init__(self, pin, model):
        self.pin, self.model, other = pin, model, pin.Model()
        other.gravity = pin.Motion(np.array(model.gravity), np.zeros(3))
        self.rows, self.kinds = [], []
        for body, at in zip(model.bodies, model.v_slices, strict=True):
            E = np.array(body.placement.E.rows, dtype=float)
            place = pin.SE3(E.T, np.array(list(body.placement.r), dtype=float))
            kind = body.joint.type.name
            joint = other.addJoint(
                body.parent + 1, of_pinocchio(pin, kind), place, body.joint.name
            )
            mass = body.inertia.mass
            c = np.array(list(body.inertia.h)) / mass
            cx = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
            at_center = np.array(body.inertia.I.rows()) + mass * cx @ cx
            other.appendBodyToJoint(joint, pin.Inertia(mass, c, at_center), pin.SE3.Identity())
            own = range(at.start, at.stop)
            self.rows += [own[i] for i in ORDER.get(kind, range(len(own)))]
            self.kinds.append(kind)
        self.other, self.data = other, other.createData()

    def inverse_dynamics(self, q, qd, qdd):
        theirs = [
            x
            for kind, at in zip(self.kinds, self.model.q_slices, strict=True)
            for x in their_positions(kind, q[at])
        ]
        v, a = (np.array(x)[self.rows] for x in (qd, qdd))
        tau = self.pin.rnea(self.other, self.data, np.array(theirs), v, a)
        ours = np.empty(len(tau))
        ours[self.rows] = tau
        return ours


@pytest.mark.parametrize("seed", range(5))
def test_inverse_dynamics_of_all_joint_types_equal_pinocchio(seed):
    """Inverse dynamics of random chains and trees of all types that Pinocchio has."""
    pin = pytest.importorskip("pinocchio", exc_type=ImportError)
    rng = np.random.default_rng(seed)
    shared = [kind for kind in CARRYING if kind != "rack_and_pinion"]
    model = build(random_tree(rng, list(rng.permutation(shared)), chain=seed % 2 == 0))
    oracle = Pinocchio(pin, model)
    for _ in range(5):
        q, qd, qdd = random_state(rng, model)
        tau = inverse_dynamics(model, q, qd, qdd, parameters_of(model))
        theirs = oracle.inverse_dynamics(q, qd, qdd)
        assert np.abs(tau - theirs).max() < TOL * np.abs(theirs).max()
