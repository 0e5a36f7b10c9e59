# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Springs and dampers: forces are gradients of energies, and power goes where it should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dynamics.joint_mechanisms import (
    EVERY,
    random_joint,
    random_pose,
    random_state,
    random_tree,
    world_poses,
)
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.linkages import four_bar

from robot_dynamics.dynamics.forward import forward_dynamics
from robot_dynamics.dynamics.inverse import bias_forces, inverse_dynamics
from robot_dynamics.dynamics.kinematics import body_velocities, joint_transforms
from robot_dynamics.dynamics.loop_frames import loop_frames
from robot_dynamics.dynamics.passive import passive_forces, spring_energies
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import (
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    build,
    joint_type,
    pose,
)
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot
from robot_dynamics.spatial import Motion

# The last link is free of the others, so that any loop joint leaves motions of its own.
TYPES = ["revolute", "spherical", "universal", "planar", "floating"]
ENDS = {
    "two links": ("link3", "link4"),
    "base first": ("base", "link4"),
    "last": ("link3", "base"),
}


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def passive_at(model, q, qd):
    q, qd = list(q), list(qd)
    Xup = joint_transforms(model, q)
    v = body_velocities(model, Xup, qd, q)
    return np.array(passive_forces(model, Xup, v, qd, parameters_of(model), q))


def sprung(rng, kind, ends, **data):
    """Return a model of a random tree with a loop joint at a placement that closes it, and q."""
    type_ = joint_type(kind, **EVERY[kind])
    tree = random_tree(rng, TYPES)
    q, _, _ = random_state(rng, build(tree))
    poses = world_poses(build(tree), q)
    at = random_pose(rng)
    X = type_.transform(type_.integrate(type_.neutral(), rng.uniform(-1, 1, type_.nv).tolist()))
    moved = np.eye(4)
    moved[:3, :3], moved[:3, 3] = np.array(X.E.rows).T, list(X.r)
    to = np.linalg.inv(poses[ends[1]]) @ poses[ends[0]] @ at @ moved
    loop = LoopElement("loop", kind, *ends, at, to, EVERY[kind], **data)
    return build(tree.with_loops([loop])), q, at, to


def each(rng, kind):
    """Return stiffnesses, rests and dampings of a type's freedoms, all different."""
    nv = joint_type(kind, **EVERY[kind]).nv
    return {
        "stiffness": tuple(rng.uniform(1, 9, nv)),
        "rest": tuple(rng.uniform(-0.5, 0.5, nv)),
        "damping": tuple(rng.uniform(1, 9, nv)),
    }


def differentiated(model, q, function):
    """Return the derivatives of a function of positions along each velocity, by differences."""
    h = 1e-5
    result = []
    for unit in np.eye(model.nv):
        one, other = (model.integrate(list(q), (s * h * unit).tolist()) for s in (1, -1))
        result.append((function(one) - function(other)) / (2 * h))
    return np.array(result)


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("kind", EVERY)
def test_springs_are_gradients_and_dampers_dissipate(kind, ends, rng):
    """C5: tau_a of springs is minus the gradient of ½ k (x - x0)^2, x the joint's coordinates.

    The power of dampers is minus the sum of d times the squares of the freedoms' velocities. The
    mechanism moves along the joint's freedoms, where the coordinates are those of its positions.
    """
    data = each(rng, kind)
    model, q, *_ = sprung(rng, kind, ends, **data)
    (loop,) = model.loops

    def coordinates(there):
        (frame,) = loop_frames(
            model, joint_transforms(model, list(there)), parameters_of(model), list(there)
        )
        return np.array(loop.type.coordinates(frame.placement, data["rest"]))

    def energy(there):
        return 0.5 * np.array(data["stiffness"]) @ (coordinates(there) - data["rest"]) ** 2

    # Velocities that keep the loop closed.
    robot = Robot(model)
    K = robot.closure(np.array(q))[0] if model.constraint_count else np.zeros((0, model.nv))
    free = np.eye(model.nv) - np.linalg.pinv(K, rcond=1e-9) @ K
    still = passive_at(model, q, np.zeros(model.nv))
    slope = differentiated(model, q, energy)
    # Order h^2 = 1e-10 times third derivatives of an energy of ten or so.
    assert_allclose(free @ still, -free @ slope, atol=1e-6)

    qd = free @ rng.normal(size=model.nv)
    power = qd @ (passive_at(model, q, qd) - still)
    rates = rates_of(model, loop, q, qd)
    assert np.abs(rates).max() > 0.01
    assert_allclose(power, -np.array(data["damping"]) @ rates**2, rtol=1e-9)


def rates_of(model, loop, q, qd):
    """Return the velocities of a loop joint's freedoms: v_J = S qd by least squares."""
    Xup = joint_transforms(model, list(q))
    (frame,) = loop_frames(model, Xup, parameters_of(model), list(q))
    v_p, v_s = frame.ends(body_velocities(model, Xup, list(qd), list(q)), Motion.zero())
    vJ = np.array((v_s - v_p).components())
    T_a = np.array([f.components() for f in loop.type.active_forces(frame.placement)])
    T = np.array([f.components() for f in loop.type.constraints(frame.placement)]).reshape(-1, 6)
    # T_a^T S = 1 and T^T S = 0 tell S.
    S = np.linalg.inv(np.vstack([T_a, T]))[:, : loop.type.nv]
    rates, *_ = np.linalg.lstsq(S, vJ, rcond=None)
    assert np.abs(S @ rates - vJ).max() < 1e-9
    return rates


@pytest.mark.parametrize("pitch", [-8.1, -4.0, -1.2, 0.4, 1.4, 1.8, 2.5, 4.6, 8.3])
def test_beyond_a_right_angle_a_loop_joint_pulls_as_a_tree_joint(pitch):
    """Springs at yaw, pitch and roll do the same in a loop as in the tree, at any pitch.

    The tree has the angles; between the frames of a loop joint other angles tell the same.
    """
    q, rest = [0.3, pitch, -2.4], (0.5, pitch - 0.15, -2.1)
    stiffness = (3.0, 5.0, 7.0)
    kind = joint_type("yaw_pitch_roll")
    links = (LinkElement("base"), LinkElement("body", 1.0, inertia=np.eye(3)))
    tree = JointElement("j", kind.name, "base", "body", stiffness=stiffness, rest=rest)
    model = build(Mechanism("tree", links, (tree,)))
    of_angles = passive_at(model, q, np.zeros(3))
    turned = Rotation.from_euler("ZYX", q).as_quat().tolist()
    ball = JointElement("j", "spherical", "base", "body")
    loop = LoopElement("loop", kind.name, "base", "body", stiffness=stiffness, rest=rest)
    closed = build(Mechanism("loop", links, (ball,), (loop,)))
    moment = passive_at(closed, turned, np.zeros(3))
    S = np.array([column.components() for column in kind.subspace(q)])[:, :3]
    # The moment's entries are those of 1 / cos(pitch) at most, ten here.
    assert_allclose(S @ moment, of_angles, atol=1e-12)
    energies = [
        sum(spring_energies(m, joint_transforms(m, at), parameters_of(m), at))
        for m, at in ((model, q), (closed, turned))
    ]
    assert_allclose(energies[1], energies[0], rtol=1e-12)


@pytest.mark.parametrize("pitch", [-1.2, 0.4, 1.8, 2.5, 4.6])
def test_drives_at_yaw_pitch_and_roll_beyond_a_right_angle(pitch):
    """Efforts do work on the angles with a pitch below 90 degrees: yaw and roll are as in the
    tree at any attitude, the pitch counts the other way round beyond.
    """
    kind = joint_type("yaw_pitch_roll")
    q = [0.3, pitch, -2.4]
    links = (LinkElement("base"), LinkElement("body", 1.0, inertia=np.eye(3)))
    ball = JointElement("j", "spherical", "base", "body")
    loop = LoopElement("loop", kind.name, "base", "body", active=True)
    robot = Robot(build(Mechanism("loop", links, (ball,), (loop,))))
    B = robot.loop_drives(Rotation.from_euler("ZYX", q).as_quat())
    S = np.array([column.components() for column in kind.subspace(q)])[:, :3]
    assert_allclose(S @ B, np.diag([1.0, np.sign(np.cos(pitch)), 1.0]), atol=1e-13)


def test_a_bushing_is_the_gradient_of_an_energy_made_with_scipy(rng):
    """Six stiffnesses between links that nothing constrains: a loop joint of no constraints."""
    data = each(rng, "floating")
    model, q, at, to = sprung(rng, "floating", ("link3", "link4"), **data)
    assert model.constraint_count == 0

    def energy(there):
        poses = world_poses(model, there)
        relative = np.linalg.inv(poses["link3"] @ at) @ poses["link4"] @ to
        turned = Rotation.from_matrix(relative[:3, :3]).as_rotvec()
        x = np.concatenate([turned, relative[:3, 3]]) - data["rest"]
        return 0.5 * np.array(data["stiffness"]) @ x**2

    found = passive_at(model, q, np.zeros(model.nv))
    # As above.
    assert_allclose(found, -differentiated(model, q, energy), atol=1e-6)


@pytest.mark.parametrize("kind", EVERY)
def test_springs_in_the_tree_are_gradients(kind, rng):
    """So are springs in tree joints of every type, several turns away from zero as well."""
    data = each(rng, kind)
    del data["damping"]
    mechanism = random_tree(rng, TYPES)
    joint = replace(random_joint(rng, "extra", kind, "link2", "end"), **data)
    links = (*mechanism.links, replace(mechanism.links[1], name="end"))
    model = build(replace(mechanism, links=links, joints=(*mechanism.joints, joint)))
    q, _, _ = random_state(rng, model)
    at = model.q_slices[model.joint_index("extra")]
    if model.bodies[model.joint_index("extra")].joint.type.nq == 1:
        q[at] = [17.0]
    type_ = joint_type(kind, **EVERY[kind])

    def energy(there):
        x = np.array(type_.coordinates_of(there[at])) - data["rest"]
        return 0.5 * np.array(data["stiffness"]) @ x**2

    Xup = joint_transforms(model, q)
    own = spring_energies(model, Xup, parameters_of(model), q)
    assert_allclose(sum(own), energy(q), rtol=1e-14)
    found = passive_at(model, q, np.zeros(model.nv))
    # As above, of an energy of a thousand.
    assert_allclose(found, -differentiated(model, q, energy), atol=1e-5)


def test_all_algorithms_know_the_springs(rng):
    """C, inverse and forward dynamics differ by the same amount from those without springs."""
    model, q, *_ = sprung(rng, "floating", ("link3", "base"), **each(rng, "floating"))
    plain = replace(model, loops=())
    _, qd, qdd = random_state(rng, model)
    parameters = parameters_of(model)
    expected = passive_at(model, q, qd)
    assert np.abs(expected).max() > 0.1
    of_plain = parameters_of(plain)
    C = np.array(bias_forces(model, q, qd, parameters))
    assert_allclose(C, np.array(bias_forces(plain, q, qd, of_plain)) - expected, atol=1e-12)
    tau = inverse_dynamics(model, q, qd, qdd, parameters)
    bare = np.array(inverse_dynamics(plain, q, qd, qdd, of_plain))
    assert_allclose(tau, bare - expected, atol=1e-12)
    # Times the condition of H, a few hundred.
    assert_allclose(forward_dynamics(model, q, qd, tau, parameters), qdd, atol=1e-11)
    robot = Robot(model)
    assert_allclose(robot.forward_dynamics(q, qd, tau), qdd, atol=1e-11)


def test_a_spring_knows_its_way_round():
    """A revolute loop joint is pulled to rest the short way, also across half a turn."""
    kind = joint_type("revolute")
    for angle in (3.0, -3.0):
        (found,) = kind.coordinates(kind.transform([angle]), (np.pi,))
        assert found == pytest.approx(angle % (2 * np.pi), abs=1e-15)


def test_springs_of_the_tree_need_positions():
    """Without positions, a spring in a joint of the tree is refused by its name."""
    mechanism = four_bar()
    joints = (replace(mechanism.joints[0], stiffness=1.0), *mechanism.joints[1:])
    model = build(replace(mechanism, joints=joints))
    Xup = joint_transforms(model, [0.1, 0.2, 0.3])
    v = body_velocities(model, Xup, [0.0] * 3)
    with pytest.raises(RobotDynamicsError, match="'crank_joint'"):
        passive_forces(model, Xup, v, [0.0] * 3, parameters_of(model))


def test_energy_is_kept_with_springs_in_loops():
    """A four-bar swings between springs: one in the pin that closes it, one from rod to ground.

    The energy, springs made with scipy included, stays to the order of the integrator.
    """
    bar = four_bar("revolute")
    pin = replace(bar.loops[0], stiffness=3.0, rest=0.4)
    mount = LoopElement(
        "mount", "floating", "base", "coupler", np.eye(4), np.eye(4),
        stiffness=(0.0, 0.0, 2.0, 30.0, 20.0, 0.0), rest=(0.0, 0.0, 0.5, 0.1, 0.3, 0.0),
    )  # fmt: skip
    model = build(replace(bar, loops=(pin, mount)), gravity=(0.0, -9.81, 0.0))
    robot, bare = Robot(model), Robot(replace(model, loops=()))
    q = robot.assemble(np.array([1.0, -1.0, -1.5]), held={"crank_joint": 1.0}).q
    K = robot.closure(q)[0]
    qd = np.linalg.svd(K)[2][-1]
    assert_allclose(K @ qd, 0.0, atol=1e-12)

    def total(q, qd):
        poses = world_poses(model, q)
        pins = poses["base"][:3, :3].T @ poses["rocker"][:3, :3]
        turn = np.arctan2(pins[1, 0], pins[0, 0])
        away = poses["coupler"]
        x = [*Rotation.from_matrix(away[:3, :3]).as_rotvec(), *away[:3, 3]]
        stretch = np.array(x) - mount.rest
        springs = 0.5 * 3.0 * (turn - 0.4) ** 2 + 0.5 * np.array(mount.stiffness) @ stretch**2
        kinetic, potential = robot.energies(q, qd)
        # The masses' part is the energy of the same model without springs.
        _, weight = bare.energies(q, qd)
        assert potential - weight == pytest.approx(springs, rel=1e-12)
        return kinetic + potential

    def swing(h, steps):
        at, v, tau = q.copy(), qd.copy(), np.zeros(3)
        worst, fastest, start = 0.0, 0.0, total(at, v)
        for _ in range(steps):
            k1 = robot.forward_dynamics(at, v, tau)
            k2 = robot.forward_dynamics(at + h / 2 * v, v + h / 2 * k1, tau)
            k3 = robot.forward_dynamics(at + h / 2 * v + h * h / 4 * k1, v + h / 2 * k2, tau)
            k4 = robot.forward_dynamics(at + h * v + h * h / 2 * k2, v + h * k3, tau)
            at = at + h * v + h * h / 6 * (k1 + k2 + k3)
            v = v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            worst = max(worst, abs(total(at, v) - start))
            fastest = max(fastest, 0.5 * v @ robot.inertia_matrix(at) @ v)
        return worst / fastest

    coarse, fine = swing(4e-3, 250), swing(2e-3, 500)
    assert fine < 1e-7
    # Of fourth order: sixteen times less with half of the step.
    assert coarse / fine > 10.0


ARMS = """<mujoco><compiler angle="radian"/><option gravity="0.5 -1 -9"/><worldbody>{}</worldbody>
<tendon><spatial name="spring" stiffness="70" springlength="0">
<site site="left_end"/><site site="right_end"/></spatial></tendon></mujoco>"""
ARM = """<body name="{0}0" pos="{1} 0 0.1"><joint type="hinge" axis="0 0.6 0.8"/>
<inertial pos="0.1 0.02 0.1" mass="1.5" diaginertia="0.02 0.03 0.04"/>
<body name="{0}1" pos="0 0.1 0.4"><joint type="hinge" axis="1 0 0"/>
<inertial pos="0 0 0.2" mass="0.7" diaginertia="0.01 0.02 0.015"/>
<site name="{0}_end" pos="0.05 0.1 0.3"/></body></body>"""


def test_a_spring_between_two_arms_as_mujoco_has_it():
    """Accelerations under a spatial tendon of no length equal those of a bushing.

    Its three stiffnesses are equal and those of rotation zero: ½ k times the distance squared.
    """
    mujoco = pytest.importorskip("mujoco")
    sides = {"left": 0.3, "right": -0.2}
    links, joints = [LinkElement("base")], []
    for side, x in sides.items():
        links += [
            LinkElement(f"{side}0", 1.5, (0.1, 0.02, 0.1), np.diag([0.02, 0.03, 0.04])),
            LinkElement(f"{side}1", 0.7, (0.0, 0.0, 0.2), np.diag([0.01, 0.02, 0.015])),
        ]
        joints += [
            JointElement(
                f"{side}_a", "revolute", "base", f"{side}0", pose((x, 0, 0.1)), (0, 0.6, 0.8)
            ),
            JointElement(
                f"{side}_b", "revolute", f"{side}0", f"{side}1", pose((0, 0.1, 0.4)), (1, 0, 0)
            ),
        ]
    end = pose((0.05, 0.1, 0.3))
    spring = LoopElement(
        "spring", "floating", "left1", "right1", end, end, stiffness=(0, 0, 0, 70, 70, 70)
    )
    mechanism = Mechanism("arms", tuple(links), tuple(joints), (spring,))
    robot = Robot(build(mechanism, gravity=(0.5, -1.0, -9.0)))
    bare = Robot(replace(robot.model, loops=()))
    both = "".join(ARM.format(*side) for side in sides.items())
    peer = mujoco.MjModel.from_xml_string(ARMS.format(both))
    data = mujoco.MjData(peer)
    rng = np.random.default_rng(0)
    for _ in range(5):
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = rng.normal(size=(3, 4))
        mujoco.mj_forward(peer, data)
        found = robot.forward_dynamics(data.qpos, data.qvel, data.qfrc_applied)
        # Times the condition of H, some tens; MuJoCo's tendons are exact.
        assert_allclose(found, data.qacc, rtol=1e-9, atol=1e-9)
        _, potential = robot.energies(data.qpos, data.qvel)
        stretch = data.ten_length[0]
        _, weight = bare.energies(data.qpos, data.qvel)
        assert potential - weight == pytest.approx(35.0 * stretch**2, rel=1e-12)
