# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Impacts: laws of restitution against closed forms, momentum, energy, articulated inertia."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from support.mechanisms import random_state, random_tree
from support.touching import at, corners, floating

from robot_dynamics.contact.impact import LAWS, impact, sticking_impact, struck
from robot_dynamics.contact.material import Material
from robot_dynamics.contact.points import Contacts, Inequality, PointContact, vertices
from robot_dynamics.contact.surfaces import plane, sphere
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.model import JointElement, LinkElement, Mechanism
from robot_dynamics.robot import Robot, load

ROOT = Path(__file__).resolve().parents[2]
UP_FIRST = np.eye(14)[2]  # the first of two bodies, up
FALLING = -np.eye(12)[5]


def two_bodies(inertia=(0.004, 0.006, 0.007)) -> Robot:
    """Return two free bodies of 2 and 3 kg without gravity."""
    bodies = {"first": 2.0, "second": 3.0}
    links = [LinkElement("world")]
    links += [LinkElement(name, m, (0, 0, 0), np.diag(inertia)) for name, m in bodies.items()]
    joints = [JointElement(f"free {name}", "floating", "world", name) for name in bodies]
    mechanism = Mechanism("two", tuple(links), tuple(joints))
    return Robot.from_mechanism(mechanism).replace(gravity=(0, 0, 0))


def on_each_other(point=(0.03, -0.02, -0.1), material=None) -> tuple[Contacts, np.ndarray]:
    """Return a point of the first body on the flat top of the second."""
    robot = two_bodies()
    top = plane((0, 0, 0.05), (0, 0, 1))
    one = PointContact("hit", "first", point, top, on="second", material=material or Material())
    return Contacts(robot, [one]), np.concatenate([at(0, 0, 0.15), at(0, 0, 0)])


@pytest.mark.book("K3")
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_two_bodies_part_at_e_times_their_speed(law, e):
    """(11.65): lambda, phi'+ = -e phi'-, momentum, and the energy (1 - e^2) phi'^2 / 2 M."""
    contacts, q = on_each_other(material=Material(0.0, restitution=e))
    robot = contacts.robot
    qd = np.random.default_rng(1).normal(size=12)
    qd[5], qd[11] = -3.0, 1.0
    n = np.array([-0.02, -0.03, 0.0, 0.0, 0.0, 1.0])  # moment r x n about each centre, and n
    I1, I2 = np.diag([0.004, 0.006, 0.007, 2, 2, 2]), np.diag([0.004, 0.006, 0.007, 3, 3, 3])
    M = n @ np.linalg.solve(I1, n) + n @ np.linalg.solve(I2, n)
    speed = n @ (qd[:6] - qd[6:])
    hit = impact(contacts, q, qd, law=law)
    assert_allclose(hit.impulse, -(1.0 + e) * speed / M, rtol=1e-12)  # (11.65)
    assert_allclose(hit.after, -e * hit.before, rtol=1e-12, atol=1e-12)
    assert_allclose(hit.energy_lost, 0.5 * (1 - e * e) * speed**2 / M, rtol=1e-11, atol=1e-12)
    kinetic = [robot.energies(q, v)[0] for v in (qd, hit.qd)]
    assert_allclose(kinetic[0] - kinetic[1], hit.energy_lost, rtol=1e-9, atol=1e-12)
    momenta = [robot.momentum(q, v) for v in (qd, hit.qd)]
    assert_allclose(momenta[1], momenta[0], atol=1e-12)
    assert not hit.simultaneous


@pytest.mark.book("K3")
def test_sliding_is_arrested():
    """(11.72): after an impact that sticks the points move together, but for e of the normal."""
    contacts, q = on_each_other(material=Material(1.0, restitution=0.3))
    qd = np.random.default_rng(2).normal(size=12)
    qd[5], qd[11] = -3.0, 1.0
    terms = contacts(q, qd)
    rows = np.vstack([terms.T[:, 0], terms.along[0]])
    hit = sticking_impact(contacts, q, qd)
    assert_allclose(rows @ hit.qd, [-0.3 * (rows @ qd)[0], 0.0, 0.0], atol=1e-12)
    H = contacts.robot.inertia_matrix(q)
    M = rows @ np.linalg.solve(H, rows.T)
    expected = -np.linalg.solve(M, (1.0 + np.array([0.3, 0, 0])) * (rows @ qd))  # (11.72)
    assert_allclose(hit.impulse[0], expected, rtol=1e-11)
    momenta = [contacts.robot.momentum(q, v) for v in (qd, hit.qd)]
    assert_allclose(momenta[1], momenta[0], atol=1e-12)
    assert_allclose(hit.friction_needed, np.hypot(*expected[1:]) / expected[0], rtol=1e-11)
    kinetic = [contacts.robot.energies(q, v)[0] for v in (qd, hit.qd)]
    assert_allclose(hit.energy_lost, kinetic[0] - kinetic[1], rtol=1e-9)
    stop = Inequality("stop", lambda p: p.point("first").z)
    with pytest.raises(ArgumentError, match="'stop' is an inequality, without tangents"):
        sticking_impact(Contacts(contacts.robot, [stop]), q, qd, closed=[0])


def test_sticking_impacts_of_random_mechanisms_add_no_energy():
    """(11.72), but for one reduction of all e where it would add energy: then none is lost."""
    rng = np.random.default_rng(8)
    tree = random_tree(rng, ["floating", "revolute", "spherical"], chain=True)
    robot, reduced = Robot.from_mechanism(tree), 0
    for k in range(100):
        count = 1 + k % 2
        points = [PointContact(f"{i}", f"link{2 * i}", rng.normal(size=3)) for i in range(count)]
        contacts, (q, qd, _) = Contacts(robot, points), random_state(rng, robot.model)
        terms, closed = contacts(q, qd), range(count)
        qd = qd if terms.rate[0] < 0.0 else -qd
        e = rng.uniform(0.2, 1.0, count)
        hit = sticking_impact(contacts, q, qd, closed=closed, restitution=e)
        rows = [np.vstack([terms.T[:, i], terms.along[i]]) for i in closed]
        after, before = np.array([[row @ v for row in rows] for v in (hit.qd, qd)])
        assert_allclose(after[:, 1:], 0.0, atol=1e-10)
        ratio = -after[:, 0] / (e * before[:, 0])
        assert_allclose(ratio, ratio[0], rtol=1e-7)
        assert 0.0 <= ratio[0] <= 1.0 + 1e-9
        kinetic = [robot.energies(q, v)[0] for v in (qd, hit.qd)]
        assert_allclose(hit.energy_lost, kinetic[0] - kinetic[1], atol=1e-11 * kinetic[0])
        assert hit.energy_lost >= -1e-11 * kinetic[0]
        if ratio[0] < 1.0 - 1e-7:
            assert_allclose(hit.energy_lost, 0.0, atol=1e-11 * kinetic[0])
            reduced += 1
    assert reduced > 2


@pytest.mark.book("K3")
@pytest.mark.parametrize("mu", [0.05, 0.3, 2.0])
def test_a_spinning_ball_bounces_as_in_closed_form(mu):
    """Slip to the end takes mu lambda, or it stops rolling: of a ball 2/7 of it (Stronge)."""
    m, r, e, w, v, up = 2.0, 0.1, 0.6, 40.0, 1.0, 3.0
    inertia = 0.4 * m * r * r
    ball = PointContact("ball", "body", radius=r, material=Material(mu, restitution=e))
    contacts = Contacts(floating(m, (inertia,) * 3), [ball])
    hit = impact(contacts, at(0, 0, r), np.array([0, w, 0, v, 0, -up]), law="stronge")
    slip = v - w * r
    p = (1.0 + e) * m * up
    stopped = -slip * m * 2.0 / 7.0
    along = min(mu * p, stopped)
    assert_allclose(hit.impulse, p, rtol=1e-9)
    assert_allclose(hit.qd, [0, w - along * r / inertia, 0, v + along / m, 0, e * up], atol=1e-7)
    assert hit.energy_lost > 0.0


@pytest.mark.book("K3")
def test_energetic_restitution_of_a_rod_with_friction_gives_no_energy():
    """A slanting rod (Kane and Levinson): Stronge's law loses at least the bound, at any mu."""
    l, m = 0.5, 1.0
    for mu in (0.0, 0.1, 0.5, 1.0, 3.0):
        for angle in (0.2, 0.7, 1.2):
            robot = floating(m, (1e-3, m * l * l / 3.0, m * l * l / 3.0))
            tip = l * np.array([np.cos(angle), 0.0, -np.sin(angle)])
            hard = Material(mu, restitution=0.9)
            rod = Contacts(robot, [PointContact("tip", "body", tip, material=hard)])
            for slide in (-2.0, 0.1, 2.0):
                qd = np.array([0, 0, 0, slide, 0, -1.0])
                hit = impact(rod, at(0, 0, -tip[2]), qd, law="stronge")
                assert hit.energy_lost >= -1e-12
                assert hit.after[0] > -1e-12
                assert np.hypot(*hit.tangential[0]) <= mu * hit.impulse[0] * (1 + 1e-9)


@pytest.mark.parametrize("slide", [-0.2, -0.7])
def test_slip_of_a_rod_stops_and_reverses_as_in_closed_form(slide):
    """Slip ends in compression or in restitution, and begins anew in the opposite direction."""
    l, m, e, mu, angle = 0.5, 1.0, 0.8, 0.2, 0.7
    inertia = m * l * l / 3.0
    x, z = l * np.cos(angle), -l * np.sin(angle)
    hard = Material(mu, restitution=e)
    rod = floating(m, (1e-3, inertia, inertia))
    contacts = Contacts(rod, [PointContact("tip", "body", (x, 0.0, z), material=hard)])
    hit = impact(contacts, at(0, 0, -z), np.array([0, 0, 0, slide, 0, -1.0]), law="stronge")

    Mn, Mt, Mnt = 1.0 / m + x * x / inertia, 1.0 / m + z * z / inertia, -x * z / inertia
    assert mu < Mnt / Mt  # friction cannot hold it
    first, then = Mn + mu * Mnt, Mn - mu * Mnt  # rates of v_n over p
    stops = -slide / (Mnt + mu * Mt)
    v = -1.0 + first * stops
    assert (v < 0.0) == (slide == -0.2)
    if v < 0.0:
        compression = (1.0 - v * v) / (2.0 * first) + v * v / (2.0 * then)
        after = -v / then + e * np.sqrt(2.0 * compression / then)
    else:
        left = e * e / (2.0 * first) - v * v / (2.0 * first)
        after = (-v + np.sqrt(v * v + 2.0 * then * left)) / then
    assert after > 0.0
    p, along = stops + after, mu * (stops - after)
    turn = (z * along - x * p) / inertia
    assert_allclose(hit.impulse, p, rtol=1e-12)
    assert_allclose(np.abs(hit.tangential[0]).max(), abs(along), rtol=1e-12)
    assert_allclose(hit.qd, [0, turn, 0, slide + along / m, 0, -1.0 + p / m], atol=1e-12)


def test_a_slider_that_can_only_move_aslant_bounces_or_jams():
    """One freedom, W of rank 1: qd+ = -e qd- sqrt((n - mu t) / (n + mu t)) of its axis n, t."""
    axis = np.array([1.5, 0.0, 1.0]) / np.hypot(1.5, 1.0)
    links = (LinkElement("world"), LinkElement("body", 2.0))
    joint = JointElement("slide", "prismatic", "world", "body", axis=tuple(axis))
    robot = Robot.from_mechanism(Mechanism("slider", links, (joint,)))
    for mu in (0.0, 0.3, 0.6, 0.7):
        contacts = Contacts(robot, [PointContact("tip", "body", material=Material(mu))])
        stopped = impact(contacts, [0.0], [-3.0], law="stronge", restitution=0.0)
        assert_allclose(stopped.qd, 0.0, atol=1e-9)
        if mu > axis[2] / axis[0]:
            with pytest.raises(RobotDynamicsError, match="jams"):
                impact(contacts, [0.0], [-3.0], law="stronge", restitution=0.5)
        else:
            hit = impact(contacts, [0.0], [-3.0], law="stronge", restitution=0.5)
            part = (axis[2] - mu * axis[0]) / (axis[2] + mu * axis[0])
            assert_allclose(hit.qd, 1.5 * np.sqrt(part), rtol=1e-9)


def test_least_slip_at_the_friction_that_just_holds_ends_soon():
    """Slip of 1e-8 m/s hardly grows there: its force is constant as soon as it has turned.

    An integration to the end would take 1e8 steps.
    """
    inertia, (x, y, z) = np.array([0.05, 0.2, 0.1]), (0.3, 0.2, -0.4)
    turning = np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])  # omega x r
    mobility = np.eye(3) + turning / inertia @ turning.T
    W = mobility[np.ix_([2, 0, 1], [2, 0, 1])]
    mu = np.linalg.norm(np.linalg.solve(W[1:, 1:], W[1:, 0]))
    point = PointContact("tip", "body", (x, y, z), material=Material(mu, restitution=1.0))
    contacts = Contacts(floating(1.0, inertia), [point])
    rng, q = np.random.default_rng(3), at(0, 0, -z)
    still = impact(contacts, q, [0, 0, 0, 0, 0, -1.0], law="stronge")
    for _ in range(20):
        slip = 1e-8 * rng.normal(size=2)
        hit = impact(contacts, q, [0, 0, 0, *slip, -1.0], law="stronge")
        assert_allclose(hit.qd, still.qd, atol=1e-6)


def directions_from_rest(M, mu) -> list[np.ndarray]:
    """Return the friction (2,) per normal impulse of all slips that begin in their direction."""

    def rate_across(angle):
        d = np.array([np.cos(angle), np.sin(angle)])
        rate = M[1:] @ [1.0, *(-mu * d)]
        return d[0] * rate[1] - d[1] * rate[0], d @ rate, d

    found, angles = [], np.linspace(0.01, 2.0 * np.pi + 0.01, 361)
    for a, b in itertools.pairwise(angles):
        if rate_across(a)[0] * rate_across(b)[0] < 0.0:
            root = brentq(lambda angle: rate_across(angle)[0], a, b, xtol=1e-15)
            _, growth, d = rate_across(root)
            found += [-mu * d] if growth > 0.0 else []
    return found


def integrated(M, v, mu, p) -> tuple[np.ndarray, float, list[str]]:
    """Return an impact with Coulomb friction up to a normal impulse p, of a reference.

    Integrated over x, dp = |slip| dx, in which slip that stops decays.

    Returns:
        y: Velocity (3,), impulse (3,), work of the normal force and of friction.
        compression: Work of the normal force until v_n = 0.
        course: "sticks" or "restarts" where slip is zero.
    """
    y, compression, course, friction = np.array([*v, *np.zeros(5)]), 0.0, [], None
    still = 1e-10 * abs(v[0])
    while True:
        if friction is None and np.hypot(*y[1:3]) <= 1.001 * still:
            y[1:3] = 0.0
            friction = -np.linalg.solve(M[1:, 1:], M[1:, 0])
            course.append("sticks" if np.hypot(*friction) <= mu else "restarts")
            if course == ["restarts"]:
                (friction,) = directions_from_rest(M, mu)

        def rates(x, y, friction=friction):
            slip = np.hypot(*y[1:3])
            f = [slip, *(-mu * y[1:3])] if friction is None else [1.0, *friction]
            return [*(M @ f), *f, y[0] * f[0], y[1:3] @ f[1:]]

        def stops(x, y, friction=friction):
            return still - np.hypot(*y[1:3]) if friction is None else -1.0

        events = [lambda x, y: y[3] - p, stops, lambda x, y: y[0]]
        events[0].terminal = events[1].terminal = True
        events[0].direction = events[1].direction = events[2].direction = 1.0
        found = solve_ivp(rates, (0.0, 1e12), y, "DOP853", events=events, rtol=1e-11, atol=1e-14)
        assert found.status == 1
        y = found.y[:, -1]
        if len(found.y_events[2]):
            compression = found.y_events[2][0, 6]
        if len(found.t_events[0]):
            return y, compression, course


def test_slip_that_turns_is_that_of_an_independent_integration():
    """An arm of four joints, W anisotropic: slip turns, sticks, or restarts in another direction.

    Impulses, velocities, Stronge's ratio of works e^2, and the energy that friction takes.
    """
    rng = np.random.default_rng(6)
    robot = Robot.from_mechanism(random_tree(rng, ["revolute"] * 4, chain=True))
    courses = []
    for k in range(80):
        mu, e = rng.uniform(0.1, 1.0), rng.uniform(0.2, 1.0)
        point = PointContact("tip", "link3", (0.1, -0.05, 0.1), material=Material(mu))
        contacts, q = Contacts(robot, [point]), random_state(rng, robot.model)[0]
        terms = contacts(q, np.zeros(4))
        rows = np.vstack([terms.T[:, 0], terms.along[0]])
        W = rows @ np.linalg.solve(robot.inertia_matrix(q), rows.T)
        # Small slip stops soon; every fifth begins without.
        v = np.array([-1.0, *(10.0 ** rng.uniform(-2.0, 0.0) * rng.normal(size=2) * (k % 5 > 0))])
        speed = 10.0 ** rng.uniform(-2.0, 1.0)
        qd = np.linalg.lstsq(rows, speed * v)[0]
        hit = impact(contacts, q, qd, law="stronge", closed=[0], restitution=e)
        P = np.append(hit.impulse, hit.tangential[0]) / speed
        y, compression, course = integrated(W, v, mu, P[0])
        assert_allclose(P, y[3:6], atol=2e-8 * P[0])
        assert_allclose(rows @ hit.qd / speed, y[:3], atol=1e-7)
        assert_allclose((compression - y[6]) / compression, e * e, rtol=1e-7)
        lost = -(1.0 - e * e) * compression - y[7]
        assert_allclose(hit.energy_lost / speed**2, lost, rtol=1e-7)
        courses += [*course] if course else ["slips"]
        if k % 5 and course:
            courses.append(f"{course[0]} later")
    assert courses.count("slips") > 30
    assert courses.count("sticks later") > 5
    assert courses.count("restarts later") > 4
    assert courses.count("restarts") > 10


@pytest.mark.book("K3")
@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_simultaneous_impacts_lose_energy_and_say_what_they_are(law):
    """A box that falls on four corners, each with its own restitution, two of them later ones."""
    rng = np.random.default_rng(4)
    contacts = Contacts(floating(), corners((0.1, 0.2, 0.05)))
    for _ in range(30):
        qd = rng.normal(size=6)
        qd[5] = -3.0
        hit = impact(contacts, at(0, 0, 0.05), qd, law=law, restitution=rng.uniform(size=4))
        assert hit.energy_lost >= -1e-12
        assert hit.after.min() >= -1e-12
        assert hit.impulse.min() >= 0.0
        change = hit.qd - qd
        assert_allclose(2.0 * change[5], hit.impulse.sum(), rtol=1e-12)
    flat = impact(contacts, at(0, 0, 0.05), np.array([0, 0, 0, 0, 0, -2.0]), restitution=0.5)
    assert flat.simultaneous
    assert_allclose(flat.qd, [0, 0, 0, 0, 0, 1.0], atol=1e-12)


@pytest.mark.book("K3")
@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_a_contact_that_opens_and_is_pushed_back_gives_no_energy(law):
    """A rod: one end hits the floor, the other rises until the impact turns it down again."""
    rod = floating(1.0, (0.01, 1.0 / 3.0, 1.0 / 3.0))
    ends = vertices(PointContact("end", "body"), [(-1, 0, 0), (1, 0, 0)])
    # v_z + w_y and v_z - w_y are the speeds of the ends, -1 and 0.1 m/s.
    qd = np.array([0, -0.55, 0, 0, 0, -0.45])
    hit = impact(Contacts(rod, ends), at(0, 0, 0), qd, law=law, restitution=1.0)
    assert_allclose(hit.before, [-1.0, 0.1], atol=1e-12)
    assert hit.impulse.min() > 0.0
    assert hit.energy_lost >= -1e-12
    assert hit.after.min() >= -1e-12
    if law == "newton":  # it loses none either; without the bound it would gain 0.015 J
        assert_allclose(hit.energy_lost, 0.0, atol=1e-12)


@pytest.mark.book("K3")
def test_a_ball_between_two_others_shows_that_laws_differ():
    """Newton's cradle of three: both laws conserve momentum and energy and differ in the rest."""
    links = [LinkElement("world")] + [LinkElement(f"b{i}", 1.0) for i in range(3)]
    joints = [
        JointElement(f"j{i}", "prismatic", "world", f"b{i}", axis=(1, 0, 0)) for i in range(3)
    ]
    robot = Robot.from_mechanism(Mechanism("cradle", tuple(links), tuple(joints)))
    items = [
        PointContact(f"{i}", f"b{i}", surface=sphere((0, 0, 0), 0.1), on=f"b{i - 1}", radius=0.1)
        for i in (1, 2)
    ]
    q, qd = np.array([0.0, 0.2, 0.4]), np.array([1.0, 0.0, 0.0])
    found = {
        law: impact(Contacts(robot, items), q, qd, restitution=1.0, law=law)
        for law in ("newton", "poisson")
    }
    for hit in found.values():
        assert hit.simultaneous
        assert_allclose(hit.qd.sum(), 1.0, rtol=1e-12)
        assert_allclose(hit.energy_lost, 0.0, atol=1e-12)
    assert_allclose(found["newton"].qd, [-1 / 3, 2 / 3, 2 / 3], rtol=1e-12)


@pytest.mark.book("K4")
def test_an_impulse_on_a_handle_meets_its_articulated_inertia():
    """iota = I^A dv of a body that carries others (11.56), and dv = J dqd everywhere (11.59)."""
    rng = np.random.default_rng(5)
    kinds = ["floating", "revolute", "prismatic", "spherical"]
    robot = Robot.from_mechanism(random_tree(rng, kinds))
    q, qd, _ = random_state(rng, robot.model)
    iota = rng.normal(size=6)
    R = robot.pose("link0", q)[:3, :3]
    in_world = np.concatenate([R @ iota[:3], R @ iota[3:]])
    after = struck(robot, q, qd, {"link0": in_world})
    articulated = robot.articulated_bodies(q, np.zeros_like(qd), np.zeros_like(qd))[0][0]
    jump = robot.velocity("link0", q, after) - robot.velocity("link0", q, qd)
    assert_allclose(articulated @ jump, iota, rtol=1e-9, atol=1e-10)
    H = robot.inertia_matrix(q)
    u = robot.jacobian("link0", q).T @ iota  # (11.58)
    assert_allclose(H @ (after - qd), u, rtol=1e-9, atol=1e-10)  # (11.57)


@pytest.mark.book("K4")
def test_an_impulse_on_a_closed_loop_keeps_it_closed():
    """Loops stay closed: K qd+ = 0, and H dqd - u is a force of the loop alone."""
    robot = load(ROOT / "examples" / "four_bar.urdf")
    start = robot.assemble([-1.0, 0.5, -1.5], velocities={"crank_joint": 2.0})
    impulse = np.array([0, 0.3, 0, 2.0, 0.0, -1.0])
    after = struck(robot, start.q, start.qd, {"rocker": impulse})
    H, _, K, *_ = robot.constraint_terms(start.q, start.qd)
    assert_allclose(K @ after, 0.0, atol=1e-10)
    u = robot.jacobian("rocker", start.q, "aligned").T @ impulse
    rest = H @ (after - start.qd) - u
    by_loop = np.linalg.lstsq(K.T, rest, rcond=1e-10)[0]
    assert_allclose(K.T @ by_loop, rest, atol=1e-10)
    assert np.abs(after - start.qd).max() > 0.1


def test_bad_arguments_are_refused():
    """With one sentence each."""
    contacts, q = on_each_other()
    with pytest.raises(RobotDynamicsError, match="law"):
        impact(contacts, q, np.zeros(12), law="hope")
    with pytest.raises(ArgumentError, match="restitution is"):
        impact(contacts, q, np.zeros(12), restitution=1.5)
    for law in (impact, sticking_impact):
        with pytest.raises(ArgumentError, match="restitution is"):
            law(contacts, q, np.zeros(12), restitution=[0.1, 1.5])
        with pytest.raises(ArgumentError, match="restitution is"):
            law(contacts, q, np.zeros(12), restitution=np.full(9, 0.5))
        with pytest.raises(ArgumentError, match="closed contact 9"):
            law(contacts, q, np.zeros(12), closed=[9])
        with pytest.raises(ArgumentError, match="'hit' twice, expected it once"):
            law(contacts, q, np.zeros(12), closed=["hit", 0])
        apart, deep = q + 0.08 * UP_FIRST, q - 0.002 * UP_FIRST
        for where, words in ((apart, "80 mm apart"), (deep, "2 mm deep")):
            with pytest.raises(
                ArgumentError, match=f"'hit' is {words}, expected at most 1 mm: .* `closed`"
            ):
                law(contacts, where, FALLING)
        assert law(contacts, apart, FALLING, closed=[0]).impulse.any()
        assert_allclose(law(contacts, q, FALLING, closed=[]).qd, FALLING)
        assert law(contacts, q + 0.0009 * UP_FIRST, FALLING).impulse.any()
        soft = on_each_other(material=Material(0.5, 1e4, 0.5))
        with pytest.raises(ArgumentError, match=r"'hit' has stiffness 10000 N/m, .* instant"):
            law(*soft, FALLING)
    with pytest.raises(ArgumentError, match="qd"):
        impact(contacts, q, np.full(12, np.nan))
    with pytest.raises(ArgumentError, match=r"impulses are .* not finite"):
        struck(floating(), at(0, 0, 0), np.zeros(6), {"body": np.full(6, np.nan)})
    with pytest.raises(ArgumentError, match="robot is 3"):
        struck(3, at(0, 0, 0), np.zeros(6), {})
    with pytest.raises(UnknownNameError, match="law '3'"):
        impact(contacts, q, np.zeros(12), law=3)
    four = Contacts(floating(), corners((0.1, 0.1, 0.1)))
    with pytest.raises(ArgumentError, match="Stronge"):
        impact(four, at(0, 0, 0.1), np.zeros(6), law="stronge")
