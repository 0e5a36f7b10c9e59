# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Position limits of tree joints and loop joints: the same stops in every spelling."""

from __future__ import annotations

import numpy as np
import pytest
from dynamics.joint_mechanisms import CARRYING, EVERY, random_link, random_pose, random_state
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from scipy.spatial.transform import Rotation
from support.limited_four_bar import HIGH, LOW, TREES, angles, four_bar, positions

import robot_dynamics as rd
from robot_dynamics.contact.points import Contacts, joint_limits
from robot_dynamics.dynamics.position_limits import PositionLimits
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import (
    CouplingElement,
    JointElement,
    Limits,
    LinkElement,
    LoopElement,
    Mechanism,
    pose,
)
from robot_dynamics.robot import Robot

G = 9.81
Y, Z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@pytest.fixture(scope="module")
def start():
    """Return the angles of a four-bar at rest within its limits."""
    robot = four_bar(*TREES[0])
    found = robot.assemble([-1.0, 0.2874, -1.5195], held={"j1": -np.pi / 3})
    return angles(robot, found.q)


@pytest.mark.parametrize("tree", TREES[1:])
def test_a_limit_acts_the_same_in_every_spanning_tree(tree, start):
    """Impacts, states and energy are equal, whether the limited pin is in the tree or not."""
    motions = []
    for joints in (TREES[0], tree):
        robot = four_bar(*joints)
        assert ("pin" in robot.model.joint_names) == ("pin" in joints)
        limits = joint_limits(robot, restitution=1.0)
        assert [one.name for one in limits] == ["pin lower", "pin upper"]
        q = positions(robot, start)
        motion = rd.integrate(robot, q, np.zeros(3), 0.6, contacts=limits, step=5e-3, outputs=30)
        assert len(motion.events) >= 2
        assert_allclose(motion.energy, motion.energy[0], atol=1e-9)
        motions.append((np.array([angles(robot, q) for q in motion.q]), motion))
    (one, first), (other, second) = motions
    assert one[:, 3].min() > LOW - 1e-9
    assert one[:, 3].max() < HIGH + 1e-9
    assert_allclose(other, one, atol=1e-8)
    assert_allclose(
        [e.time for e in second.events], [e.time for e in first.events], rtol=0, atol=1e-8
    )


MUJOCO = """<mujoco><compiler angle="radian" inertiafromgeom="false" autolimits="false"/>
<option timestep="1e-4" gravity="0 0 -9.81" integrator="RK4"/><worldbody>
<site name="ground" pos="0.4 0 0"/>
<body><joint axis="0 1 0"/><inertial pos="0.1 0 0" mass="0.4" diaginertia="0.01 0.02 0.02"/>
<body pos="0.2 0 0"><joint axis="0 1 0"/>
<inertial pos="0.25 0 0" mass="1" diaginertia="0.01 0.02 0.02"/>
<body pos="0.5 0 0"><joint axis="0 1 0" limited="true" range="{} {}" solreflimit="1e-3 1"/>
<inertial pos="-0.2 0 0" mass="0.8" diaginertia="0.01 0.02 0.02"/>
<site name="end" pos="-0.4 0 0"/></body></body></body></worldbody>
<equality><connect site1="end" site2="ground" solref="1e-3 1" solimp="0.999 0.9999 1e-5"/>
</equality></mujoco>"""


def test_a_pin_stops_as_in_mujoco(start):
    """MuJoCo limits it in its tree, while it closes the loop here: the same fall, and rest."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(MUJOCO.format(LOW, HIGH))
    data = mujoco.MjData(model)
    crank, coupler, _, pin = start
    data.qpos[:] = crank, coupler - crank, pin
    robot = four_bar(*TREES[0])
    q = positions(robot, start)
    limited = rd.Simulation(robot, contacts=joint_limits(robot), q=q)
    free = rd.Simulation(robot, q=q)
    for period in range(1, 151):
        seen, fallen = limited.step(np.zeros(3)), free.step(np.zeros(3))
        mujoco.mj_step(model, data, 20)
        at = angles(robot, seen.q)
        assert LOW - 1e-5 < at[3] < HIGH + 1e-5
        if period <= 80 or period > 140:  # in free fall, and at rest after the impact
            assert_allclose(at[[0, 3]], data.qpos[[0, 2]], atol=1e-4)
    assert_allclose(at[3], HIGH, atol=1e-6)
    assert angles(robot, fallen.q)[3] > HIGH + 0.1


BOUND = Limits(-0.2, 0.15)


def one_joint(kind, closes, limits=BOUND):
    """Return a body on a joint with limits, or on a floating joint with the same as loop joint."""
    rng = np.random.default_rng(8)
    body = random_link(rng, "body")
    at, options = random_pose(rng), {"limits": limits, "parameters": EVERY[kind]}
    links = (LinkElement("ground"), body)
    if not closes:
        joint = JointElement("joint", kind, "ground", "body", at, Z, **options)
        return Robot.from_mechanism(Mechanism("one", links, (joint,)))
    carrier = JointElement("carrier", "floating", "ground", "body", at)
    loop = LoopElement("joint", kind, "ground", "body", at, **options)
    return Robot.from_mechanism(Mechanism("one", links, (carrier,), (loop,)))


def floating_state(robot, q, qd):
    """Return the state of the floating joint of a body that is on another joint."""
    kind = robot.model.bodies[0].joint.type
    X, v = kind.transform(q.tolist()), kind.velocity(q.tolist(), qd.tolist())
    closed = Robot.from_mechanism(
        Mechanism(
            "free",
            (LinkElement("ground"), LinkElement("body", 1.0, inertia=np.eye(3))),
            (JointElement("carrier", "floating", "ground", "body"),),
        )
    )
    turned = np.array(X.E.rows, dtype=float).T
    at = closed.model.neutral()
    at[:3] = [float(x) for x in X.r]
    at[3:] = Rotation.from_matrix(turned).as_quat()
    return at, np.array(v.components(), dtype=float)


KINDS = [*(kind for kind in CARRYING if kind != "floating"), "reversed planar"]


@pytest.mark.parametrize("kind", KINDS)
def test_normals_of_limits_are_slopes_of_the_coordinates(kind):
    """Gap, rate and drift of tree joint and loop joint are equal, and differences of the gap."""
    tree, loop = one_joint(kind, False), one_joint(kind, True)
    own, other = (Contacts(robot, joint_limits(robot)) for robot in (tree, loop))
    assert own.names == other.names
    assert len(own.names) == 2 * tree.model.nv
    rng = np.random.default_rng(3)
    _, qd, _ = random_state(rng, tree.model)
    qd = np.array(qd)
    q = np.array(tree.model.integrate(tree.model.neutral().tolist(), (0.3 * qd).tolist()))
    here, there = own(q, qd), other(*floating_state(tree, q, qd))
    for terms in (here, there):
        coordinates = tree.model.bodies[0].joint.type.coordinates_of(q.tolist())
        assert_allclose(terms.gap[1::2], 0.15 - np.array(coordinates), atol=1e-12)
        assert_allclose(terms.gap[0::2] + terms.gap[1::2], 0.35, atol=1e-12)
    assert_allclose(there.rate, here.rate, atol=1e-10)
    h = 1e-6
    gaps = [
        own(np.array(tree.model.integrate(q.tolist(), (s * h * qd).tolist())), qd).gap
        for s in (1.0, -1.0)
    ]
    assert_allclose(here.rate, (gaps[0] - gaps[1]) / (2.0 * h), atol=1e-8)
    q, qd = floating_state(tree, q, qd)
    limits = PositionLimits(loop.model)
    assert_allclose(limits.loop_values(q), 0.15 - there.gap[1::2], atol=1e-12)
    K, _ = loop.closure(q)
    free = null_space(K) if len(K) else np.eye(6)
    assert_allclose(limits.loop_rates(q) @ free, -there.T[:, 1::2].T @ free, atol=1e-10)
    assert_allclose(limits.loop_values(np.stack([q, q]))[1], limits.loop_values(q), atol=1e-15)


@pytest.mark.parametrize("kind", ["planar", "universal", "spherical", "helical"])
def test_a_body_between_limits_moves_the_same_on_a_loop_joint(kind):
    """A body on a joint, or on a floating joint that the same joint closes, bounces alike."""
    ends = []
    tree = one_joint(kind, False)
    speed = 1.0 + 0.3 * np.arange(tree.model.nv)
    for closes in (False, True):
        robot = one_joint(kind, closes)
        state = tree.model.neutral(), speed
        q, qd = floating_state(tree, *state) if closes else state
        limits = joint_limits(robot, restitution=0.7)
        motion = rd.integrate(robot, q, qd, 0.5, contacts=limits, step=5e-3)
        assert motion.events
        ends.append((robot.pose("body", motion.q[-1]), [e.time for e in motion.events][:6]))
    assert_allclose(ends[1][0], ends[0][0], atol=1e-7)
    assert_allclose(ends[1][1], ends[0][1], atol=1e-8)


@pytest.mark.parametrize("loop", [False, True])
def test_a_slug_falls_on_its_limit_and_bounces(loop):
    """Times and speeds of bounces have a closed form; the free angle goes on at its speed."""
    e, h = 0.6, 0.1
    limits = (Limits(), Limits(-h, 0.3))
    links = (LinkElement("ground"), LinkElement("slug", 1.0, inertia=0.01 * np.eye(3)))
    if loop:
        carrier = JointElement("carrier", "floating", "ground", "slug")
        guide = LoopElement("guide", "cylindrical", "ground", "slug", limits=limits)
        robot = Robot.from_mechanism(Mechanism("slug", links, (carrier,), (guide,)))
        q, qd = robot.model.neutral(), np.array([0, 0, 2.0, 0, 0, 0])
    else:
        guide = JointElement("guide", "cylindrical", "ground", "slug", limits=limits)
        robot = Robot.from_mechanism(Mechanism("slug", links, (guide,)))
        q, qd = np.zeros(2), np.array([2.0, 0.0])
    stops = joint_limits(robot, restitution=e)
    assert [one.name for one in stops] == ["guide.z lower", "guide.z upper"]
    motion = rd.integrate(robot, q, qd, 0.4, contacts=stops, step=0.02)
    t1 = np.sqrt(2.0 * h / G)
    times = [event.time for event in motion.events[:2]]
    assert_allclose(times, [t1, t1 * (1.0 + 2.0 * e)], atol=1e-9)
    assert_allclose([x.after for x in motion.events[:2]], G * t1 * np.array([e, e * e]), rtol=1e-7)
    R = robot.pose("slug", motion.q[-1])[:3, :3]
    assert_allclose(np.arctan2(R[1, 0], R[0, 0]), 2.0 * motion.t[-1], atol=1e-9)
    sim = rd.Simulation(robot, contacts=joint_limits(robot), q=q, qd=qd)
    for _ in range(250):
        seen = sim.step(np.zeros(robot.model.nv))
    assert_allclose(robot.pose("slug", seen.q)[2, 3], -h, atol=1e-5)


def equivalent(kind, several):
    """Return a body on a joint of several freedoms, or on a chain of simple joints."""
    rng = np.random.default_rng(5)
    body, at = random_link(rng, "body"), random_pose(rng)
    chain = {
        "universal": (("revolute", (1, 0, 0)), ("revolute", Y)),
        "planar": (("prismatic", (1, 0, 0)), ("prismatic", Y), ("revolute", Z)),
        "yaw_pitch_roll": (("revolute", Z), ("revolute", Y), ("revolute", (1, 0, 0))),
        "cylindrical": (("revolute", Z), ("prismatic", Z)),
    }[kind]
    order = (1, 2, 0) if kind == "planar" else range(len(chain))  # of the joint's coordinates
    limits = [Limits(-0.15, 0.1 + 0.05 * i) for i in range(len(chain))]
    if several:
        joint = JointElement("joint", kind, "ground", "body", at, limits=tuple(limits))
        return Robot.from_mechanism(Mechanism("one", (LinkElement("ground"), body), (joint,)))
    links, joints, parent = [LinkElement("ground")], [], "ground"
    for i, (simple, axis) in enumerate(chain):
        name = "body" if i + 1 == len(chain) else f"part{i}"
        links.append(body if name == "body" else LinkElement(name))
        frame = at if i == 0 else np.eye(4)
        own = limits[order[i]]
        joints.append(JointElement(f"j{i}", simple, parent, name, frame, axis, limits=own))
        parent = name
    return Robot.from_mechanism(Mechanism("chain", tuple(links), tuple(joints)))


@pytest.mark.parametrize("kind", ["universal", "planar", "yaw_pitch_roll", "cylindrical"])
def test_a_joint_of_several_freedoms_stops_as_a_chain_of_joints(kind):
    """Its limits are those of hinges and slides one after the other."""
    ends = []
    for several in (True, False):
        robot = equivalent(kind, several)
        n = robot.model.nv
        qd = 0.8 + 0.2 * np.arange(n)
        if kind == "planar" and not several:
            qd = qd[[1, 2, 0]]
        limits = joint_limits(robot, restitution=0.8)
        motion = rd.integrate(robot, np.zeros(n), qd, 0.5, contacts=limits, step=5e-3)
        assert len(motion.events) >= 3
        ends.append(robot.pose("body", motion.q[-1]))
    assert_allclose(ends[0], ends[1], atol=1e-7)


def gripper(first, second, ratio=1.0):
    """Return two fingers that slide upwards, geared, with limits of their own."""
    links = (LinkElement("ground"), LinkElement("one", 1.0), LinkElement("two", 2.0))
    joints = (
        JointElement("one", "prismatic", "ground", "one", axis=Z, limits=first),
        JointElement("two", "prismatic", "ground", "two", axis=Z, limits=second),
    )
    gear = CouplingElement.gear("gear", "two", "one", ratio)
    return Robot.from_mechanism(Mechanism("gripper", links, joints, couplings=(gear,)))


@pytest.mark.parametrize(
    ("first", "second", "ratio", "end"),
    [
        (Limits(-0.1, 0.1), Limits(-0.3, 0.3), 2.0, -0.1),
        (Limits(-0.3, 0.3), Limits(-0.1, 0.1), 2.0, -0.05),
        (Limits(-0.1, 0.1), Limits(-0.1, 0.1), 1.0, -0.1),  # both at once
        (Limits(-0.3, 0.3), Limits(-0.1, 0.1), -2.0, -0.05),
    ],
)
def test_the_tighter_limit_of_geared_joints_counts(first, second, ratio, end):
    """Both fingers stop where one of them reaches its limit, whichever that is."""
    robot = gripper(first, second, ratio)
    limits = joint_limits(robot)
    push = np.array([-40.0, 0.0])
    motion = rd.integrate(
        robot, np.zeros(2), np.zeros(2), 0.5, tau=push, contacts=limits, step=0.01
    )
    assert_allclose(motion.q[-1], [end, ratio * end], atol=1e-8)
    sim = rd.Simulation(robot, contacts=limits, q=np.zeros(2))
    for _ in range(250):
        seen = sim.step(push)
    assert_allclose(seen.q, [end, ratio * end], atol=1e-5)
    found = robot.assemble([-1.0, -ratio])
    assert found.q[0] >= end - 1e-9


@pytest.mark.parametrize(
    ("kind", "limits", "closes", "words"),
    [
        ("revolute", Limits(-3.2, 3.1), True, "-3.2 to 3.1 rad.*6.2 rad"),
        ("revolute", Limits(-3.2, 3.1), False, None),
        ("revolute", Limits(-3.1, 3.1), True, None),
        ("revolute", Limits(lower=-1.0), True, None),
        ("cylindrical", (Limits(-4.0, 4.0), Limits()), True, "joint.rz.*6.2 rad"),
        ("cylindrical", (Limits(), Limits(-40.0, 40.0)), True, None),
        ("helical", Limits(-40.0, 40.0), True, None),
        ("yaw_pitch_roll", (Limits(), Limits(-2.0, 1.0), Limits()), True, "right angle"),
        ("yaw_pitch_roll", (Limits(), Limits(-2.0, 1.0), Limits()), False, None),
        ("spherical", Limits(-1.0, 0.5), False, None),
        ("spherical", Limits(-2.0, 1.9), False, "both sides"),
        ("spherical", (Limits(-2.0, 2.0), Limits(), Limits()), True, None),
        ("spherical", (Limits(-0.5, 0.4), Limits(), Limits()), True, "both sides"),
    ],
)
def test_a_range_that_no_placement_tells_is_refused(kind, limits, closes, words):
    """Frames tell an angle up to whole turns: a loop joint cannot have a range of more."""
    robot = one_joint(kind, closes, limits)
    if words is None:
        assert joint_limits(robot)
        return
    with pytest.raises(ArgumentError, match=words):
        joint_limits(robot)


def test_a_single_limit_of_a_loop_joint_holds_over_nearly_a_turn():
    """With a lower limit alone an angle counts from it upwards, beyond half a turn as well."""
    robot = one_joint("revolute", True, Limits(lower=-1.0))
    tree = one_joint("revolute", False, Limits(lower=-1.0))
    stops = Contacts(robot, joint_limits(robot))
    for angle in (-1.04, -1.0, 0.0, 3.0, 5.0):
        q, qd = floating_state(tree, np.array([angle]), np.zeros(1))
        assert_allclose(stops(q, qd).gap, [angle + 1.0], atol=1e-12)


def test_the_limits_of_a_unilateral_robot_keep_their_loops():
    """Loop joints that only push are taken out of the model; limits of the others still act."""
    robot = one_joint("cylindrical", True)
    mechanism = Mechanism(
        "one",
        (LinkElement("ground"), LinkElement("body", 1.0, inertia=0.1 * np.eye(3))),
        (JointElement("carrier", "floating", "ground", "body"),),
        (
            LoopElement("floor", "point_on_plane", "ground", "body", unilateral=True),
            LoopElement(
                "guide", "cylindrical", "ground", "body", pose((0, 0, 0.5)), pose((0, 0, 0.5)),
                limits=(Limits(-0.3, 0.3), Limits()),
            ),
        ),
    )  # fmt: skip
    robot = Robot.from_mechanism(mechanism)
    sim = rd.Simulation(robot, contacts=joint_limits(robot), q=robot.model.neutral())
    for _ in range(300):
        seen = sim.step([0, 0, 1.0, 0, 0, 0])
    R = robot.pose("body", seen.q)
    assert_allclose(np.arctan2(R[1, 0], R[0, 0]), 0.3, atol=1e-5)
    assert_allclose(R[2, 3], 0.0, atol=1e-5)
