# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces of frictionless contact: LCP, both quadratic programs and closed forms agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from support.mechanisms import random_state, random_tree
from support.touching import at, corners, floating

from robot_dynamics.contact import complementarity
from robot_dynamics.contact.complementarity import linear_complementarity
from robot_dynamics.contact.equations import (
    METHODS,
    NoContactForces,
    contact_equations,
    contact_forces,
    reduced_contacts,
)
from robot_dynamics.contact.material import Material
from robot_dynamics.contact.points import Contacts, Inequality, PointContact, joint_limits
from robot_dynamics.contact.surfaces import cylinder, plane, sphere
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.model import (
    JointElement,
    Limits,
    LinkElement,
    LoopElement,
    Mechanism,
    pose,
)
from robot_dynamics.robot import Robot, load

ROOT = Path(__file__).resolve().parents[2]
G = 9.81
REST = np.zeros(6)


@pytest.mark.book("K1")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("push", [-30.0, 10.0, 40.0])
def test_one_contact_is_its_closed_form(method, push):
    """Off its centre: lambda = -d / M if d < 0, else the contact opens with d (11.10)."""
    m, Iy, x = 2.0, 0.006, 0.03
    foot = Contacts(floating(m), [PointContact("foot", "body", (x, 0.0, -0.1))])
    tau = np.array([0, 0.2, 0, 0, 0, push])
    found = contact_forces(contact_equations(foot, at(0, 0, 0.1), REST, tau), method)
    M, d = 1.0 / m + x * x / Iy, push / m - G - x * 0.2 / Iy
    assert_allclose(found.force, [max(-d / M, 0.0)], rtol=1e-12)
    assert_allclose(found.separation, [max(d, 0.0)], rtol=1e-12, atol=1e-13)
    assert found.unique


@pytest.mark.book("K1")
def test_methods_agree_where_contacts_depend_on_one_another():
    """Nine points of a face and a double one: T lambda and qdd are unique, lambda is not."""
    more = [(x, y, -0.1) for x in (-0.1, 0, 0.1) for y in (-0.1, 0, 0.1)]
    face = Contacts(floating(), corners((0.1, 0.1, 0.1), more=more))
    rng = np.random.default_rng(5)
    different = 0.0
    for _ in range(20):
        tau = rng.normal(size=6) * [2, 2, 0.5, 5, 5, 20]
        found = [
            contact_forces(contact_equations(face, at(0, 0, 0.1), REST, tau), m) for m in METHODS
        ]
        for one in found:
            # A quadratic program with a singular matrix ends by iterations, to 1e-10 of scaled d.
            assert_allclose(one.qdd, found[0].qdd, rtol=1e-7, atol=1e-7)
            assert_allclose(one.joint_force, found[0].joint_force, rtol=1e-7, atol=1e-7)
            assert not one.unique
            assert one.force.min() >= 0.0
            assert one.separation.min() > -1e-7
            assert abs(one.force @ one.separation) < 1e-6
            different = max(different, float(np.abs(one.force - found[0].force).max()))
    assert different > 1.0


@pytest.mark.book("K1")
@pytest.mark.parametrize("method", METHODS)
def test_a_disc_that_is_wedged_has_no_solution(method):
    """Between walls that close in on where it moves to; between straight ones it has (Ex 11.1)."""

    def slot(bend):
        walls = [
            cylinder((s * (bend - 0.1), 0, 0), (0, 0, 1), bend, inside=True) for s in (1.0, -1.0)
        ]
        return [
            PointContact(name, "body", surface=wall, radius=0.1)
            for name, wall in zip(("left", "right"), walls, strict=True)
        ]

    moving = np.array([0, 0, 0, 0, 1.0, 0])
    wedged = contact_equations(Contacts(floating(), slot(2.0)), at(0, 0, 0), moving, REST)
    assert_allclose(wedged.d, -1.0 / 1.9, rtol=1e-12)
    with pytest.raises(NoContactForces, match="'left', 'right'"):
        contact_forces(wedged, method)
    straight = [
        PointContact(name, "body", surface=plane((-s * 0.1, 0, 0), (s, 0, 0)), radius=0.1)
        for name, s in (("left", 1.0), ("right", -1.0))
    ]
    pushed = np.array([0, 0, 0, 7.0, 0, 0])
    free = contact_equations(Contacts(floating(), straight), at(0, 0, 0), moving, pushed)
    found = contact_forces(free, method)
    assert_allclose(found.joint_force, -pushed, atol=1e-8)
    assert not found.unique


@pytest.mark.book("K1")
def test_contacts_of_a_tree_are_those_of_forward_dynamics():
    """With T lambda as joint forces, forward dynamics gives accelerations that nothing forbids."""
    rng = np.random.default_rng(2)
    kinds = ["floating", "revolute", "revolute", "prismatic"]
    robot = Robot.from_mechanism(random_tree(rng, kinds))
    q, qd, tau = random_state(rng, robot.model)
    items = []
    for i in range(4):
        point = rng.normal(size=3) * 0.2
        pose = robot.pose(f"link{i}", q)
        place = pose[:3, :3] @ point + pose[:3, 3]
        normal = rng.normal(size=3)
        items.append(PointContact(f"touch {i}", f"link{i}", point, plane(place, normal)))
    contacts = Contacts(robot, items)
    here = contacts(q, qd)
    with pytest.raises(ArgumentError, match=r"contact 'touch 0' opens at 1\.36 m/s"):
        contact_equations(contacts, q, qd, 20.0 * tau)
    equations = contact_equations(contacts, q, qd, 20.0 * tau, closed=contacts.names)
    found = contact_forces(equations)
    qdd = robot.forward_dynamics(q, qd, 20.0 * tau + found.joint_force)
    assert_allclose(found.qdd, qdd, rtol=1e-8, atol=1e-9 * np.abs(qdd).max())
    assert_allclose(here.T.T @ qdd + here.drift, found.separation, atol=1e-9 * np.abs(qdd).max())
    assert (found.force > 0.0).any()
    H = robot.inertia_matrix(q)
    assert_allclose(equations.M, here.T.T @ np.linalg.solve(H, here.T), rtol=1e-9)  # (11.35)


@pytest.mark.book("K1")
def test_loops_hold_while_a_contact_pushes():
    """A contact of a four-bar: M is the rest of the loop, and accelerations keep it closed."""
    robot = load(ROOT / "examples" / "four_bar.urdf")
    start = robot.assemble([-1.0, 0.5, -1.5], velocities={"crank_joint": 2.0})
    axis = robot.model.v_slices[0].start
    stop = Inequality("limit", lambda p: p.joint("crank_joint") + 1.0)
    limit = Contacts(robot, [stop])
    tau = np.zeros(robot.model.nv)
    tau[axis] = -50.0
    with pytest.raises(ArgumentError, match=r"phi of 'limit' is 0.\d+, expected at most 0.001"):
        contact_equations(limit, start.q, start.qd, tau)
    equations = contact_equations(limit, start.q, start.qd, tau, closed=[0])
    found = contact_forces(equations)
    motion = robot.constrained_motion(start.q, start.qd, tau + found.joint_force)
    assert_allclose(found.qdd, motion.qdd, rtol=1e-9, atol=1e-9)
    assert found.force[0] > 0.0
    assert_allclose(found.separation, 0.0, atol=1e-10)


@pytest.mark.book("K6")
def test_dependent_contacts_are_left_out():
    """Of a face with points within and double ones the corners are left; the motion is theirs."""
    more = [(0, 0, -0.1), (0.05, 0.02, -0.1), (0.1, 0.1, -0.1), (0.1, 0.0, -0.1)]
    face = Contacts(floating(), corners((0.1, 0.1, 0.1), more=more))
    rng = np.random.default_rng(6)
    for _ in range(10):
        tau = rng.normal(size=6) * [2, 2, 0.5, 5, 5, 20]
        every = contact_equations(face, at(0, 0, 0.1), REST, tau)
        kept = reduced_contacts(every)
        assert kept == [0, 1, 2, 3]
        few = contact_equations(face, at(0, 0, 0.1), REST, tau, kept)
        assert_allclose(contact_forces(few).qdd, contact_forces(every).qdd, atol=1e-9)
    edge = Contacts(
        floating(), corners((0.1, 0.0, 0.1), more=[(0.0, 0.0, -0.1), (0.07, 0.0, -0.1)])[1:]
    )
    assert len(reduced_contacts(contact_equations(edge, at(0, 0, 0.1), REST, REST))) == 2


@pytest.mark.book("K6")
def test_a_contact_that_closes_faster_is_kept():
    """Walls at one place, of which two are bent towards the point: one of these is enough."""
    bent = cylinder((0, 0, 0.4), (0, 1, 0), 0.5, inside=True)
    flat = plane((0, 0, -0.1), (0, 0, 1))
    point = (0.0, 0.0, -0.1)
    walls = [
        PointContact("flat", "body", point, flat),
        PointContact("bent", "body", point, bent),
        PointContact("bent as well", "body", point, bent),
    ]
    moving = np.array([0, 0, 0, 1.0, 0, 0])
    for order in (walls, walls[::-1]):
        equations = contact_equations(Contacts(floating(), order), at(0, 0, 0), moving, REST)
        kept = reduced_contacts(equations)
        assert [equations.names[i] for i in kept] == [n for n in equations.names if "bent" in n][
            :1
        ]
        assert_allclose(contact_forces(equations).qdd[5], 1.0 / 0.5, rtol=1e-9)


def test_a_loop_tells_which_contact_binds():
    """The tip of a five-bar touches a plane by one arm and a flat ball by the other.

    The ball drops away from the plane: the plane alone is enough, whatever arm has it. How rows
    change with the velocity tells nothing of that by itself, as the loop asks for accelerations.
    """
    bar = {"mass": 1.0, "center": (0, 0, -0.5), "inertia": np.eye(3) * 1e-2}
    links = (
        LinkElement("world"),
        *(LinkElement(name, **bar) for name in ("a1", "a2", "b1", "b2")),
    )
    joints = tuple(
        JointElement(f"to {child}", "revolute", parent, child, pose(at), axis=(0, 1, 0))
        for parent, child, at in (
            ("world", "a1", (-0.3, 0, 0)), ("a1", "a2", (0, 0, -1)),
            ("world", "b1", (0.3, 0, 0)), ("b1", "b2", (0, 0, -1)),
        )
    )  # fmt: skip
    tip = pose((0, 0, -1), np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]]))
    loop = LoopElement("tip", "revolute", "a2", "b2", tip, tip)
    robot = Robot.from_mechanism(Mechanism("five-bar", links, joints, (loop,)))
    q = robot.assemble([0.9, -1.0, -0.7, 1.1]).q
    x, y, z, _ = robot.pose("a2", q) @ [0, 0, -1, 1]
    flat, round_ = plane((0, 0, z), (0, 0, 1)), sphere((x, y, z - 60.0), 60.0)
    for arms in (("a2", "b2"), ("b2", "a2")):
        on_plane = PointContact("plane", arms[0], (0, 0, -1), flat)
        on_ball = PointContact("ball", arms[1], (0, 0, -1), round_)
        contacts = Contacts(robot, [on_ball, on_plane])
        terms = contacts(q, np.zeros(4))
        K = robot.constraint_terms(q, np.zeros(4))[2]
        qd = 4.0 * null_space(np.vstack([K, terms.T.T]), rcond=1e-9)[:, 0]
        equations = contact_equations(contacts, q, qd, np.zeros(4))
        assert [equations.names[i] for i in reduced_contacts(equations)] == ["plane"]
        alone = contact_equations(contacts, q, qd, np.zeros(4), closed=["plane"])
        separation = equations.T.T @ contact_forces(alone).qdd + equations.drift
        assert separation.min() > -1e-12


def test_a_contact_that_moves_nothing_is_refused():
    """One behind which nothing can give way has no M, and says so."""
    links = (LinkElement("base"), LinkElement("slide", 2.0))
    joint = JointElement("rail", "prismatic", "base", "slide", axis=(1, 0, 0), limits=Limits(0, 1))
    robot = Robot.from_mechanism(Mechanism("rail", links, (joint,)))
    items = [*joint_limits(robot), PointContact("below", "slide")]
    with pytest.raises(ArgumentError, match=r"'below' .* normal"):
        contact_equations(Contacts(robot, items), [0.0], [0.0], [0.0], closed=[0, 1, 2])
    for closed, words in (
        ([3], "closed contact 3, expected names, or places from 0 to 2"),
        ([0.5], "closed contact 0.5, expected names"),
        ("below", "closed is 'below', expected a list of names"),
        (3, "closed is 3, expected a list"),
        (["above"], "unknown contact 'above'; expected one of .* below"),
    ):
        with pytest.raises(RobotDynamicsError, match=words):
            contact_equations(Contacts(robot, items), [0.0], [0.0], [0.0], closed=closed)
    named, placed = (
        contact_equations(Contacts(robot, items), [0.0], [0.0], [0.0], closed=[closed])
        for closed in ("rail lower", 0)
    )
    assert named.names == placed.names == ("rail lower",)
    soft = PointContact("soft", "slide", material=Material(0.5, 1e4, 0.5))
    with pytest.raises(ArgumentError, match="'soft' has stiffness 10000 N/m"):
        contact_equations(Contacts(robot, [soft]), [0.0], [0.0], [0.0])
    with pytest.raises(ArgumentError, match="tau has entries that are not finite"):
        contact_equations(Contacts(robot, items[:1]), np.zeros(1), np.zeros(1), [np.nan])
    with pytest.raises(ArgumentError, match="equations are 3"):
        reduced_contacts(3)
    light = floating(0.0, (0.0, 0.0, 0.0))
    with pytest.raises(RobotDynamicsError, match="no inertia"):
        contact_equations(Contacts(light, [PointContact("p", "body")]), at(0, 0, 0), REST, REST)
    with pytest.raises(UnknownNameError, match="guess"):
        contact_forces(
            contact_equations(
                Contacts(floating(), [PointContact("p", "body")]), at(0, 0, 0), REST, REST
            ),
            "guess",
        )


def test_rounding_errors_of_lemke_are_noticed(monkeypatch):
    """Rounding may, among dependent contacts: the quadratic program takes over, or it says so."""
    normals = np.random.default_rng(3).normal(size=(3, 6))
    M, d = normals.T @ normals, -normals.T @ normals @ [1.0, 0.5, 2.0, 0.0, 1.0, 0.3]
    motion = M @ linear_complementarity(M, d)
    right = complementarity._lemke
    monkeypatch.setattr(complementarity, "_lemke", lambda A, b: right(A, b) + 0.1)
    assert_allclose(M @ linear_complementarity(M, d), motion, rtol=1e-7, atol=1e-8)
    with pytest.raises(RobotDynamicsError, match="has an error above"):
        complementarity.copositive_complementarity(M, d)


@pytest.mark.parametrize("seed", range(5))
def test_lemke_solves_what_can_be_solved(seed):
    """w = M z + d of random semidefinite problems, many of them degenerate."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        m, n = rng.integers(1, 12), rng.integers(1, 7)
        N = rng.normal(size=(n, m))
        N[:, rng.integers(0, m)] = N[:, 0]  # a double one
        # A d that some motion satisfies: then there is a solution.
        d = N.T @ rng.normal(size=n) * rng.integers(0, 2) + rng.exponential(size=m)
        d -= N.T @ rng.normal(size=n)
        M = N.T @ N
        z = linear_complementarity(M, d)
        w = M @ z + d
        assert z.min() >= 0.0
        assert w.min() >= -1e-8 * (1.0 + np.abs(d).max())
        assert abs(w @ z) <= 1e-8 * (1.0 + np.abs(z).max() * np.abs(d).max())
        assert np.linalg.matrix_rank(N[:, z > 0.0]) == np.sum(z > 0.0)  # basic
