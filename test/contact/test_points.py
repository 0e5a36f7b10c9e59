# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gaps, normals in joint space and their rates, against finite differences and each other."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import random_state, random_tree
from support.touching import at, floating

import robot_dynamics as rd
from robot_dynamics.contact.impact import impact, sticking_impact
from robot_dynamics.contact.material import Material
from robot_dynamics.contact.points import (
    Contacts,
    Inequality,
    PointContact,
    cable,
    disc,
    ellipsoid,
    joint_limits,
    outline,
    vertices,
)
from robot_dynamics.contact.surfaces import plane, sphere
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.model import JointElement, Limits, LinkElement, Mechanism
from robot_dynamics.robot import Robot
from robot_dynamics.spatial import Vector3

FLOOR = plane((0.1, 0.0, -0.2), (0.1, 0.2, 1.0))
SMALL = 1e-5
END = ("body", (0, 0, 0))  # of a cable


@pytest.fixture(scope="module")
def touching():
    """Return contacts of a floating branched tree: planes, spheres, its own links, a cable."""
    rng = np.random.default_rng(17)
    robot = Robot.from_mechanism(random_tree(rng, ["floating", "revolute", "spherical"]))
    items = [
        PointContact("tip", "link1", (0.1, 0.2, 0.3), FLOOR),
        PointContact("ball", "link2", (0.0, 0.1, 0.0), sphere((0.1, 0.2, 3.0), 0.5), radius=0.1),
        PointContact("self", "link2", (0.1, 0.0, 0.2), sphere((0, 0, 0.1), 0.2), on="link0"),
        cable("cable", 2.0, ("link2", (0.1, 0.0, 0.0)), ("base", (0.3, 0.0, 1.0))),
        Inequality("corner", lambda p: p.joint("joint1") - 0.1),
        PointContact("egg", "link1", (0.1, 0, 0), FLOOR, shape=ellipsoid(0.2, 0.1, 0.05)),
        PointContact("coin", "link2", (0.1, 0, 0), FLOOR, shape=disc(0.2, (1, 2, 0))),
    ]
    return Contacts(robot, items), rng


@pytest.mark.book("K1")
def test_normals_are_the_slopes_of_gaps_and_drift_is_their_rate(touching):
    """T^T qd and T^T qdd + Tdot^T qd are the first and second rate of phi (11.25, 11.30)."""
    contacts, rng = touching
    model = contacts.robot.model
    q, qd, qdd = random_state(rng, model)
    here = contacts(q, qd)

    def along(t):
        step = t * qd + 0.5 * t * t * qdd
        return np.array(model.integrate(q.tolist(), step.tolist())), qd + t * qdd

    gaps = [contacts(*along(s * SMALL)).gap for s in (-1, 1)]
    # Distances of curved surfaces are so to first order alone: their rate is that of the surface.
    flat = [0, 3, 4, 5, 6]
    assert_allclose(here.rate[flat], ((gaps[1] - gaps[0]) / (2 * SMALL))[flat], rtol=1e-7)
    rates = [contacts(*along(s * SMALL)).rate for s in (-1, 1)]
    second = here.T.T @ qdd + here.drift
    # A free body turns about its own axes: `integrate` takes a step at a constant rate of those.
    assert_allclose(second, (rates[1] - rates[0]) / (2 * SMALL), rtol=1e-6, atol=1e-6)


@pytest.mark.book("K1")
def test_a_normal_is_that_of_both_bodies(touching):
    """t = (J_sc - J_pc)^T n of link Jacobians at the contact (11.25); drift as (11.30) has it."""
    contacts, rng = touching
    robot = contacts.robot
    q, qd, _ = random_state(rng, robot.model)
    here = contacts(q, qd)
    place, n = here.place[2], here.axes[2, 2]

    def at_place(frame):
        pose = np.eye(4)
        pose[:3, 3] = place
        there = np.linalg.inv(robot.pose(frame, q)) @ pose
        return robot.with_frame("here", frame, there)

    jacobians = [at_place(link).jacobian("here", q, "aligned")[3:] for link in ("link2", "link0")]
    assert_allclose(here.T[:, 2], (jacobians[0] - jacobians[1]).T @ n, rtol=1e-12, atol=1e-13)

    # The same contact as a function of positions: distance of the point from the sphere's centre.
    def distance(p):
        between = p.point("link2", (0.1, 0.0, 0.2)) - p.point("link0", (0.0, 0.0, 0.1))
        return between.dot(between) ** 0.5 - 0.2

    same = Contacts(robot, [Inequality("same", distance)])(q, qd)
    assert_allclose(same.gap, here.gap[2:3], rtol=1e-12)
    assert_allclose(same.T[:, 0], here.T[:, 2], rtol=1e-11, atol=1e-12)
    assert_allclose(same.drift, here.drift[2:3], rtol=1e-10)


@pytest.mark.book("K1")
def test_a_rolling_ball_on_a_sphere_has_the_drift_of_its_circle():
    """A ball that slides about another keeps away by v^2 / (R + r): Ndot counts (11.10)."""
    over = PointContact("ball", "body", surface=sphere((0, 0, 0), 0.4), radius=0.1)
    here = Contacts(floating(), [over])(at(0.0, 0.0, 0.5), np.array([0, 0, 0, 3.0, 0, 0]))
    assert_allclose(here.drift, [9.0 / 0.5], rtol=1e-12)
    assert_allclose(here.place[0], [0, 0, 0.4], atol=1e-14)
    assert_allclose(here.along[0] @ [0, 0, 0, 3.0, 0, 0], [3.0, 0.0], atol=1e-14)


def test_limits_of_joints_are_inequalities():
    """Each side that a description limits is one, with the joint's rate."""
    links = (LinkElement("base"), LinkElement("slide", 2.0))
    limits = Limits(lower=-0.5, upper=1.0)
    joint = JointElement("rail", "prismatic", "base", "slide", axis=(1, 0, 0), limits=limits)
    robot = Robot.from_mechanism(Mechanism("rail", links, (joint,)))
    contacts = Contacts(robot, joint_limits(robot))
    assert contacts.names == ("rail lower", "rail upper")
    here = contacts(np.array([0.2]), np.array([3.0]))
    assert_allclose(here.gap, [0.7, 0.8])
    assert_allclose(here.rate, [3.0, -3.0])
    assert_allclose(here.drift, 0.0, atol=1e-15)


@pytest.mark.book("K6")
def test_an_outline_has_the_ends_and_corners_alone():
    """Two ends of an edge, corners of a polygon; points between and double ones are left out."""
    edge = np.array([[0, 0, 0], [0.5, 0, 0], [1.0, 0, 0], [0.2, 0, 0]])
    assert outline(edge) == [0, 2]
    angles = 2.0 * np.pi * np.arange(7) / 7
    heptagon = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    tilted = (
        np.vstack([heptagon, 0.5 * heptagon, [[0, 0, 0]]])
        @ np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    )
    assert outline(tilted + 5.0) == list(range(7))
    assert outline(np.ones((3, 3))) == [0]
    with pytest.raises(ArgumentError, match=r"4 points are up to .* m from a plane"):
        outline(np.vstack([np.eye(3), np.zeros(3)]))


def test_a_cable_whose_ends_meet_is_slack():
    """Its normal is zero there, not a quotient of zeros; it becomes taut a metre below."""
    rope = cable("rope", 1.0, ("body", (0, 0, 0)), ("world", (0, 0, 0)))
    terms = Contacts(floating(), [rope])(at(0, 0, 0), np.zeros(6))
    assert_allclose(terms.gap, 1.0)
    assert not terms.T.any()
    sim = rd.Simulation(floating(), contacts=[rope], q=at(0, 0, 0), period=0.01)
    for _ in range(60):
        seen = sim.step(np.zeros(6))
    assert_allclose(seen.q[:3], [0.0, 0.0, -1.0], atol=1e-9)


def test_no_contacts_are_free_motion():
    """An empty list is none, for the time steps and for integration alike."""
    robot, q = floating(), at(0, 0, 0)
    motion = rd.integrate(robot, q, np.zeros(6), 0.1, contacts=[])
    assert_allclose(motion.q[-1], rd.integrate(robot, q, np.zeros(6), 0.1).q[-1], rtol=0)
    seen = rd.Simulation(robot, contacts=[], q=q, period=0.1).step(np.zeros(6))
    assert_allclose(seen.q, motion.q[-1], atol=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PointContact("foot", "body", (0, 0, np.nan)), "point of contact 'foot'"),
        (lambda: PointContact("foot", "body", radius=-0.1), "radius of contact 'foot' is -0.1"),
        (lambda: PointContact("a", "b", radius=0.1, shape=disc(0.1)), "a shape with radius 0.1 m"),
        (lambda: ellipsoid(0.1, 0.0, 0.1), "half axis of an ellipsoid is 0.0"),
        (lambda: ellipsoid(0.1, np.nan, 0.1), "half axis of an ellipsoid is nan"),
        (lambda: disc(0.1, (0, 0, 0)), r"axis of a disc is \(0, 0, 0\)"),
        (lambda: disc("wide"), "radius of a disc is 'wide'"),
        (lambda: Material(-0.1), "a contact has friction -0.1"),
        (lambda: Material(0.1, restitution=1.5), "restitution of a material is 1.5"),
        (
            lambda: Material(0.5, 0.3),  # meant as a restitution
            "stiffness 0.3 N/m has damping 0 N s/m and restitution 0, expected exactly one",
        ),
        (lambda: Material("rubber"), "friction of a material is 'rubber'"),
        (lambda: Material(0.1, restitution=None), "restitution of a material is None"),
        (lambda: cable("rope", 0.0, END, END), "length of cable 'rope' is 0.0"),
        (lambda: cable("rope", "1", END, END), "length of cable 'rope' is '1'"),
        (lambda: cable("rope", 1.0, "body", "ball"), "cable 'rope' is fixed to 'body'"),
        (lambda: cable("rope", 1.0, END, ("ball", (0, 0))), "cable 'rope' on 'ball' has shape"),
        (lambda: cable("rope", 1.0, END, END), "both ends of cable 'rope' are on 'body'"),
        (lambda: vertices(PointContact("face", "body"), [[0, 0]]), "shape"),
        (lambda: vertices(PointContact("face", "body"), "here"), "of contact 'face' are 'here'"),
        (lambda: vertices("face", [[0, 0, 0]]), "contact is 'face'"),
        (lambda: outline([[0, 0, np.nan]]), "points of a face"),
        (lambda: joint_limits("robot"), "robot is 'robot', expected a Robot"),
        (lambda: PointContact(3, "body"), "name of a contact is 3"),
        (lambda: PointContact("a", None), "link of contact 'a' is None"),
        (lambda: PointContact("a", "body", on=3), "link that contact 'a' is on is 3"),
        (lambda: PointContact("a", "body", radius="2 cm"), "radius of contact 'a' is '2 cm'"),
        (lambda: PointContact("a", "body", surface=3), "surface of contact 'a' is 3"),
        (lambda: PointContact("a", "body", shape=3), "shape of contact 'a' is 3"),
        (lambda: Inequality("x", 3), "phi of inequality 'x' is 3"),
        (lambda: Inequality(None, abs), "name of an inequality is None"),
        (lambda: Contacts("robot", [PointContact("a", "body")]), "robot is 'robot'"),
        (lambda: Contacts(floating(), []), "list of contacts is empty"),
        (lambda: Contacts(floating(), [PointContact("a", "body")] * 2), "2 contacts are named"),
        (lambda: Contacts(floating(), [PointContact("a", "body", on="body")]), "one body"),
        (lambda: Contacts(floating(), PointContact("a", "body")), "expected a list"),
        (lambda: Contacts(floating(), "floor"), "contacts are 'floor'"),
        (
            lambda: Contacts(floating(), [PointContact("a", "body"), ()]),
            r"contact 2 of 2 is a tuple of 0, expected a list of PointContact, .* with a star",
        ),
        (
            lambda: Contacts(floating(), ["a"]),
            "contact 1 of 1 is 'a', expected a list .*Contact.$",
        ),
        (lambda: PointContact("a", "body", material="rubber"), "the material 'rubber'"),
        (
            lambda: Inequality("x", lambda p: 1.0, restitution=-1.0),
            "restitution of inequality 'x' is -1",
        ),
    ],
)
def test_bad_contacts_are_refused(make, words):
    """With one sentence that has the expected value."""
    with pytest.raises(ArgumentError, match=words):
        make()


def no_z(p):
    """Raise an error, as a function with a slip of the pen does."""
    return p.z - p["z"]


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (PointContact("a", "body", surface=no_z), "surface of contact 'a' fails .*subscriptable"),
        (PointContact("a", "body", surface=lambda r: r), "surface of contact 'a' returns Vector3"),
        (
            PointContact("a", "body", surface=lambda r: -r.z if r.x > 0 else 0),
            "'a' fails .*branch",
        ),
        (
            PointContact("a", "body", surface=lambda r: np.array([r.x, r.y, r.z])),
            r"surface of contact 'a' returns array\(",
        ),
        (
            PointContact("a", "body", surface=lambda r: np.array([-r.z])),
            "surface of contact 'a' returns array",
        ),
        (
            PointContact("a", "body", surface=lambda r: np.array(-r.z)),
            "surface of contact 'a' returns array",
        ),
        (PointContact("a", "body", shape=lambda d: None), "shape of contact 'a' returns None"),
        (
            PointContact("a", "body", shape=lambda d: Vector3(None, d.y, d.z)),
            r"shape of contact 'a' returns Vector3\(x=None",
        ),
        (
            Inequality("x", lambda p: np.array([p.point("body").z])),
            "phi of inequality 'x' returns array",
        ),
        (Inequality("x", no_z), "phi of inequality 'x' fails"),
        (Inequality("x", lambda p: None), "phi of inequality 'x' returns None"),
        (Inequality("x", lambda p: p.point("body", (0, 0)).z), r"point \(0, 0\) of 'body'"),
        (Inequality("x", lambda p: 1.0), "phi of inequality 'x' is the same at all positions"),
        (
            Inequality("x", lambda p: p.point("world", (0, 0, 0)).z),
            "'x' is the same at all positions",
        ),
    ],
)
def test_functions_that_fail_are_named(item, words):
    """The owner, the exception or the value returned, and the expected result."""
    with pytest.raises(
        ArgumentError, match=f"^[^\n]*{words}[^\n]*, expected [^\n]* function of a"
    ):
        Contacts(floating(), [item])


def test_states_that_are_none_are_refused():
    """Not the contact is to blame for a quaternion of zeros, or for numbers that are missing."""
    contacts, still = Contacts(floating(), [PointContact("a", "body")]), np.zeros(6)
    for q, qd, words in (
        (np.zeros(7), still, "quaternion x y z w of joint .* is zero"),
        (np.zeros(3), still, "q has shape"),
        (at(0, 0, 1), np.full(6, np.nan), "qd has entries"),
        ("here", still, "q is 'here'"),
    ):
        with pytest.raises(ArgumentError, match=words):
            contacts(q, qd)
    for wrong in (lambda: impact([], still, still), lambda: sticking_impact(3, still, still)):
        with pytest.raises(ArgumentError, match=r"expected Contacts\(robot"):
            wrong()


def test_undefined_normals_and_unknown_links_are_named():
    """A surface without a gradient gives no normal; a link that does not exist is named."""
    odd = PointContact("odd", "body", surface=lambda r: (r.z - 0.5) ** 0.5)
    with pytest.raises(ArgumentError, match="contact 'odd'"), np.errstate(all="ignore"):
        Contacts(floating(), [odd])(at(0, 0, 0.2), np.zeros(6))
    with pytest.raises(UnknownNameError, match="boddy"):
        Contacts(floating(), [PointContact("a", "boddy", surface=plane((0, 0, 0), (0, 0, 1)))])
