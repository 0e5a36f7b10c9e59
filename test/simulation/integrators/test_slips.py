# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion from event to event with Coulomb friction: stops, slips, rolling, impacts, stick-slip."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from support.touching import at, corners, floating

import robot_dynamics as rd
from robot_dynamics.contact.material import Material
from robot_dynamics.contact.points import PointContact
from robot_dynamics.contact.surfaces import plane, sphere
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import JointElement, LinkElement, Mechanism, pose
from robot_dynamics.simulation.integrators.trajectory import IntegrationError

ROOT = Path(__file__).resolve().parents[3]
G = 9.81
HALF = (0.1, 0.1, 0.05)


def times_of(motion, kind):
    return np.array([event.time for event in motion.events if event.kind == kind])


def never_gains(motion):
    return np.diff(motion.energy).max() <= 1e-12 * np.abs(motion.energy).max()


@pytest.mark.parametrize(("angle", "order"), [(0.0, 5), (0.7, 4)])
def test_a_sliding_block_stops_where_and_when_it_should(angle, order):
    """v^2 / (2 mu g) and v / (mu g) to 1e-9, on four corners of which three would be enough."""
    mu, v = 0.3, np.array([np.cos(angle), np.sin(angle)])
    motion = rd.integrate(
        floating(), at(0, 0, 0.05), [0, 0, 0, *v, 0], 0.4, contacts=corners(HALF, Material(mu)),
        step=0.05, outputs=4, order=order,
    )  # fmt: skip
    assert_allclose(motion.q[-1], at(*(v / (2 * mu * G)), 0.05), atol=1e-9)
    assert_allclose(motion.qd[-1], 0.0, atol=1e-12)
    stops = times_of(motion, "stick")
    assert len(stops) == 4
    assert_allclose(stops, 1.0 / (mu * G), rtol=0, atol=1e-9)
    assert never_gains(motion)


def test_the_angle_of_repose_is_arctan_mu():
    """1e-7 below it a block rests, 1e-7 above it goes the way of the difference to 1e-5 of it."""
    mu, time = 0.4, 0.1
    for more in (-1e-7, 1e-7):
        angle = np.arctan(mu) + more
        q = [0.05 * np.sin(angle), 0, 0.05 * np.cos(angle), 0, np.sin(angle / 2), 0]
        q = np.array([*q, np.cos(angle / 2)])
        slope = plane((0, 0, 0), (np.sin(angle), 0, np.cos(angle)))
        motion = rd.integrate(
            floating(), q, np.zeros(6), time, contacts=corners(HALF, Material(mu), surface=slope),
            step=0.02, outputs=2, order=4,
        )  # fmt: skip
        way = 0.5 * G * (np.sin(angle) - mu * np.cos(angle)) * time**2
        found = np.linalg.norm(motion.q[-1, :3] - q[:3])
        assert_allclose(found, max(way, 0.0), rtol=1e-5, atol=1e-14)
        assert len(times_of(motion, "slip" if more > 0 else "stick")) == 4


def test_a_push_that_sets_in_within_a_step_starts_a_slip_at_its_time():
    """Twice the friction limit from 12.3 ms on: mu g from there, to 1e-12 s and 1e-9 m/s."""
    m, mu, begins = 2.0, 0.3, 0.0123

    def push(time, q, qd):
        return np.array([0.0, 0.0, 0.0, 2 * mu * m * G * (time >= begins), 0.0, 0.0])

    motion = rd.integrate(
        floating(m), at(0, 0, 0.05), np.zeros(6), 0.1, tau=push,
        contacts=corners(HALF, Material(mu)), step=0.05, outputs=2, order=4,
    )  # fmt: skip
    assert_allclose(times_of(motion, "slip"), 4 * [begins], rtol=0, atol=1e-12)
    assert_allclose(motion.qd[-1, 3], mu * G * (0.1 - begins), rtol=1e-9)


@pytest.mark.parametrize("step", [1e-2, 3e-3])
def test_a_point_slides_on_through_walls_that_are_upright(step):
    """Around in a ball without gravity: v = v0 exp(-mu theta), wherever the normal points."""
    radius, speed, mu, duration = 0.5, 2.0, 0.2, 1.6
    axis = np.array([0.6, 0.3, 1.0])
    first = np.cross(axis, [0, 1.0, 0]) / np.linalg.norm(np.cross(axis, [0, 1.0, 0]))
    second = np.cross(axis / np.linalg.norm(axis), first)
    ball = sphere((0, 0, 0), radius, inside=True)
    motion = rd.integrate(
        floating(1.0).replace(gravity=(0, 0, 0)),
        at(*(radius * first)),
        [0, 0, 0, *(speed * second)],
        duration,
        contacts=[PointContact("p", "body", surface=ball, material=Material(mu))],
        step=step,
        outputs=8,
    )
    theta = np.log(1.0 + mu * speed * motion.t / radius) / mu
    place = radius * (np.outer(np.cos(theta), first) + np.outer(np.sin(theta), second))
    assert theta[-1] > np.pi  # the normal is horizontal twice
    assert_allclose(motion.q[:, :3], place, atol=1e-12)
    assert_allclose(np.linalg.norm(motion.qd, axis=1), speed * np.exp(-mu * theta), rtol=1e-11)
    assert [event.kind for event in motion.events] == ["closed", "slip"]


def test_a_ball_slides_and_then_rolls():
    """From 2 v / (7 mu g) on with 5/7 of its speed, to 1e-9; a ball with side spin curves."""
    mu, r, v, m = 0.2, 0.1, 1.0, 2.0
    I = 0.4 * m * r * r
    robot = floating(m, (I, I, I))
    ball = PointContact("ball", "body", radius=r, material=Material(mu))
    for spin in (0.0, 3.0):
        motion = rd.integrate(
            robot, at(0, 0, r), [spin, 0, 0, v, 0, 0], 0.4, contacts=[ball], step=0.02, outputs=4
        )
        slip = np.array([v, r * spin])  # of the ball's lowest point
        size = np.hypot(*slip)
        assert_allclose(times_of(motion, "stick"), 2 * size / (7 * mu * G), rtol=0, atol=1e-9)
        T = robot.pose("body", motion.q[-1])
        rolling = np.array([v, 0.0]) - 2 / 7 * slip
        assert_allclose((T[:3, :3] @ motion.qd[-1, 3:])[:2], rolling, atol=1e-9)
        assert never_gains(motion)


def test_a_rod_that_falls_over_slips_where_statics_says():
    """Its foot holds until |F| = mu N: the angle of both in closed form, to 1e-8 rad."""
    m, L, mu, start = 1.5, 0.8, 0.3, 0.2
    inertia = m * L * L / 12
    robot = floating(m, (inertia, inertia, 1e-4))
    foot = PointContact("foot", "body", (0, 0, -L / 2), material=Material(mu))

    def needed(a):
        w2, rate = 3 * G / L * (np.cos(start) - np.cos(a)), 1.5 * G / L * np.sin(a)
        F = m * L / 2 * (rate * np.cos(a) - w2 * np.sin(a))
        N = m * (G - L / 2 * (rate * np.sin(a) + w2 * np.cos(a)))
        return abs(F) - mu * N

    where = np.linspace(start, 1.5, 500)
    slips = brentq(needed, start, where[np.argmax([needed(a) > 0 for a in where])], xtol=1e-14)
    q = at(L / 2 * np.sin(start), 0, L / 2 * np.cos(start))
    q[4], q[6] = np.sin(start / 2), np.cos(start / 2)
    motion = rd.integrate(robot, q, np.zeros(6), 0.5, contacts=[foot], step=0.02, outputs=10)
    time = times_of(motion, "slip")[0]
    until = rd.integrate(robot, q, np.zeros(6), time, contacts=[foot], step=0.02, outputs=1)
    assert_allclose(2 * np.arctan2(until.q[-1, 4], until.q[-1, 6]), slips, atol=1e-8)
    assert_allclose(motion.energy[:4], motion.energy[0], rtol=1e-9)  # while it sticks
    assert never_gains(motion)


def belt_and_block(k, belt_speed):
    """Return a block on a spring that lies on a belt, which is too heavy to be slowed down."""
    links = (LinkElement("world"), LinkElement("belt", 1e9, (0, 0, 0), np.eye(3)))
    links += (LinkElement("lift", 1e-3, (0, 0, 0), np.eye(3)),)
    links += (LinkElement("block", 1.0, (0, 0, 0), np.eye(3)),)
    joints = (
        JointElement("belt", "prismatic", "world", "belt", pose((0, 0, 0)), (1.0, 0.0, 0.0)),
        JointElement("up", "prismatic", "world", "lift", pose((0, 0, 0)), (0.0, 0.0, 1.0)),
        JointElement("along", "prismatic", "lift", "block", pose((0, 0, 0)), (1.0, 0.0, 0.0)),
    )
    return rd.Robot.from_mechanism(Mechanism("belt", links, joints)), [0.0, 0.0, 0.0], belt_speed


@pytest.mark.parametrize("speed", [0.05, 1.0])
def test_a_force_across_turns_a_straight_slip(speed):
    """It grows from zero where a step begins; the slower slide would stop without it."""
    mu, end, growth = 0.3, 0.1, 400.0

    def rates(time, v):
        return [0.0, growth * time] - mu * G * np.array(v) / np.hypot(*v)

    exact = solve_ivp(rates, (0.0, end), [speed, 0.0], method="Radau", rtol=1e-11, atol=1e-13)
    links = [LinkElement("world"), LinkElement("x"), LinkElement("y"), LinkElement("body", 1.0)]
    pairs, axes = zip(["world", "x", "y"], ["x", "y", "body"], strict=True), np.eye(3)
    joints = [
        JointElement(f"to {b}", "prismatic", a, b, axis=tuple(axis))
        for (a, b), axis in zip(pairs, axes, strict=True)
    ]
    robot = rd.Robot.from_mechanism(Mechanism("slider", tuple(links), tuple(joints)))
    foot = PointContact("foot", "body", material=Material(mu))
    motion = rd.integrate(
        robot, np.zeros(3), [speed, 0.0, 0.0], end, contacts=[foot], step=0.05,
        tau=lambda t, q, qd: np.array([0.0, growth * t, 0.0]),
    )  # fmt: skip
    assert_allclose(motion.qd[-1][:2], exact.y[:, -1], atol=1e-8)


@pytest.mark.parametrize("below", [1e-3, 1e-2])
def test_a_ladder_slides_down_its_wall(below):
    """From rest a little below the angle at which friction at both ends holds it.

    Weight, wall and friction nearly cancel. Against the plane equation of motion, to a millionth
    of its motion, which is 0.3 and 3 mm.
    """
    length, m, mu, end = 2.0, 3.0, 0.3, 0.2
    inertia = m * length**2 / 12.0
    start = np.arctan((1.0 - mu * mu) / (2.0 * mu)) - below

    def rates(_, y):
        angle, rate = y
        c, s, l = np.cos(angle), np.sin(angle), 0.5 * length
        # Of x and z of the middle and of the angle: forces of the floor and of the wall.
        A = [[-m * l * s, mu, -1.0], [m * l * c, -1.0, -mu],
             [-inertia, -l * (c - mu * s), l * (mu * c + s)]]  # fmt: skip
        b = [m * l * c * rate**2, m * l * s * rate**2 - m * G, 0.0]
        return [rate, np.linalg.solve(A, b)[0]]

    exact = solve_ivp(rates, (0.0, end), [start, 0.0], rtol=1e-11, atol=1e-14).y[0, -1]
    q = np.array([0.5 * length * np.cos(start), 0.0, 0.5 * length * np.sin(start)])
    turn = Rotation.from_euler("y", start - 0.5 * np.pi).as_quat()
    wood = Material(mu)
    ends = [
        PointContact("foot", "body", (0, 0, -1.0), plane((0, 0, 0), (0, 0, 1)), material=wood),
        PointContact("top", "body", (0, 0, 1.0), plane((0, 0, 0), (1, 0, 0)), material=wood),
    ]
    robot = floating(m, (inertia, inertia, 1e-3))
    motion = rd.integrate(robot, [*q, *turn], np.zeros(6), end, contacts=ends, step=5e-3)
    moved = (
        0.5 * length * (np.array([np.cos(exact), np.sin(exact)]) - [np.cos(start), np.sin(start)])
    )
    assert_allclose(motion.q[-1][[0, 2]] - q[[0, 2]], moved, atol=1e-6 * np.abs(moved).max())
    assert abs(motion.q[-1][1]) < 1e-9  # it stays in its plane
    assert [event.kind for event in motion.events] == ["closed", "closed", "slip", "slip"]


def test_a_block_on_a_belt_sticks_and_slips():
    """Times at which it sticks and slips, and where it is between, in closed form to 1e-8."""
    k, v, mu = 40.0, 0.3, 0.4
    robot, q, _ = belt_and_block(k, v)
    belt = PointContact(
        "block", "block", on="belt", surface=plane((0, 0, 0), (0, 0, 1)), material=Material(mu)
    )

    def spring(time, q, qd):
        return np.array([0.0, 0.0, -k * q[2]])

    motion = rd.integrate(
        robot, q, [v, 0, 0], 0.75, tau=spring, contacts=[belt], step=0.025, outputs=15
    )
    load = mu * 1.001 * G  # of block and lift
    x, w = load / k, np.sqrt(k)  # where friction holds it, and its frequency
    sticks = np.arcsin(v / (x * w)) / w
    at_stick = x * (1 - np.cos(w * sticks))
    slips = sticks + (x - at_stick) / v
    assert_allclose(times_of(motion, "stick"), sticks, rtol=0, atol=1e-8)
    assert_allclose(times_of(motion, "slip"), [0.0, slips], rtol=0, atol=1e-8)
    t = motion.t
    expected = np.where(
        t < sticks, x * (1 - np.cos(w * t)),
        np.where(t < slips, at_stick + v * (t - sticks), x + v / w * np.sin(w * (t - slips))),
    )  # fmt: skip
    assert_allclose(motion.q[:, 2], expected, atol=1e-8)


@pytest.mark.parametrize(("speed", "slides"), [(1.0, False), (6.0, True)])
def test_a_ball_bounces_with_friction(speed, slides):
    """It leaves with e of its speed, and slip that is stopped or has lost 7/2 mu (1 + e) v_n."""
    mu, e, r, m, h = 0.3, 0.6, 0.1, 2.0, 0.5
    I = 0.4 * m * r * r
    ball = PointContact("ball", "body", radius=r, material=Material(mu, restitution=e))
    down = np.sqrt(2 * G * h)
    motion = rd.integrate(
        floating(m, (I, I, I)), at(0, 0, h + r), [0, 0, 0, speed, 0, 0], 0.4, contacts=[ball],
        step=0.05, outputs=4,
    )  # fmt: skip
    assert_allclose(times_of(motion, "impact"), np.sqrt(2 * h / G), rtol=0, atol=1e-9)
    lost = mu * (1 + e) * down if slides else 2 / 7 * speed
    turn = motion.qd[-1, 1]
    assert_allclose(turn, lost * m * r / I, rtol=1e-9)
    assert_allclose(motion.events[0].after, e * down, rtol=1e-9)
    assert never_gains(motion)


def test_a_box_that_falls_on_a_corner_comes_to_rest():
    """With impacts, slips and sticks of all corners on the way; energy is never gained."""
    q = at(0, 0, 0.16)
    q[3:] = np.array([0.1, 0.2, 0.0, 0.95]) / np.linalg.norm([0.1, 0.2, 0.0, 0.95])
    motion = rd.integrate(
        floating(), q, [0, 0, 0, 0.5, 0, 0], 0.8, contacts=corners(HALF, Material(0.5)),
        step=0.02, outputs=8, order=4, rest_speed=1e-2,
    )  # fmt: skip
    assert {"impact", "stick", "slip", "closed"} <= {event.kind for event in motion.events}
    assert_allclose(motion.q[-1, 2], 0.05, atol=1e-8)
    assert_allclose(motion.qd[-1], 0.0, atol=1e-8)
    assert np.diff(motion.energy).max() < 1e-7 * motion.energy[0]  # of the scheme of order 4


def thrown_box(seed, mu, e):
    """Return state and eight corners of a box that is thrown at random."""
    rng = np.random.default_rng(seed)
    q = np.array([0, 0, 0.3, *Rotation.random(random_state=rng).as_quat()])
    qd = np.array([*(3 * rng.normal(size=3)), *(0.5 * rng.normal(size=3))])
    high = [(x, y, 0.05) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    return q, qd, corners(HALF, Material(mu, restitution=e), more=high)


@pytest.mark.parametrize(
    ("seed", "mu", "e"),
    [
        (2, 0.4, 0.3),  # two corners that share a load begin to slip
        (4, 0.4, 0.3),  # one all but stops, its friction turns, and another gives way
        (63, 0.4, 0.3),  # one stops while another still slips against where both will go
        (679, 0.4, 0.3),  # two begin to slip one just after the other
        (108, 0.8, 0.0),  # rocks; the forces before do not lead to those at rest
        (223, 0.8, 0.0),  # stops, falls back and slips in ever smaller turns
    ],
)
def test_a_thrown_box_comes_to_rest(seed, mu, e):
    """In a bounded number of events: states at which sets were found anew without end."""
    q, qd, contacts = thrown_box(seed, mu, e)
    motion = rd.integrate(floating(), q, qd, 1.0, contacts=contacts, step=0.01, order=5)
    assert len(motion.events) < 400
    assert_allclose(motion.qd[-1], 0.0, atol=1e-9)
    assert np.diff(motion.energy).max() < 1e-8 * motion.energy[0]  # of the scheme of order 5


def test_a_thrown_box_moves_as_in_time_steps():
    """Of `rd.Simulation`, whose error of 1e-7 m falls with its steps; through 16 impacts."""
    q, qd, contacts = thrown_box(5, 0.4, 0.3)
    motion = rd.integrate(floating(), q, qd, 0.3, contacts=contacts, step=4e-3, outputs=30)
    assert len(times_of(motion, "impact")) >= 16
    sim = rd.Simulation(floating(), contacts=contacts, q=q, qd=qd, period=1e-4)
    for place in motion.q[1:, :3]:
        for _ in range(100):
            seen = sim.step(np.zeros(6))
        assert_allclose(seen.q[:3], place, atol=1e-6)


@pytest.mark.parametrize("below", [0.0, 1e-4])
def test_a_slip_that_comes_to_zero_within_a_step_is_seen(below):
    """Speeds (t - t0)^2 - below of a pushed block: it goes on if they touch zero, or sticks.

    It sticks from the first zero on, until the push exceeds friction at t0.
    """
    m, mu, t0, end = 2.0, 0.3, 0.125, 0.3

    def push(time, q, qd):
        return np.array([0.0, 0.0, 0.0, m * (mu * G + 2.0 * (time - t0)), 0.0, 0.0])

    motion = rd.integrate(
        floating(m), at(0, 0, 0.05), [0, 0, 0, t0**2 - below, 0, 0], end, tau=push,
        contacts=corners(HALF, Material(mu)), step=0.05, outputs=6, order=4,
    )  # fmt: skip
    after = (end - t0) ** 2
    assert_allclose(motion.qd[-1, 3], after, rtol=1e-9)
    if below:
        assert_allclose(times_of(motion, "stick"), t0 - np.sqrt(below), atol=1e-9)
        assert_allclose(times_of(motion, "slip")[4:], t0, atol=1e-9)


def test_a_closed_loop_lands_with_friction(interpreted):
    """A four-bar, one of whose constraints depends on others, falls on a pin: it stays closed."""
    robot = rd.load(ROOT / "examples" / "four_bar.urdf")
    start = robot.assemble([-1.0, 0.5, -1.5])
    floor = plane(robot.pose("coupler", start.q)[:3, 3] - [0, 0, 0.02], (0, 0, 1))
    pin = PointContact("pin", "coupler", surface=floor, material=Material(0.3, restitution=0.2))
    motion = rd.integrate(
        robot, start.q, start.qd, 0.2, contacts=[pin], step=1e-2, order=5, outputs=10
    )
    assert [event.kind for event in motion.events] == 4 * ["impact"] + ["closed", "stick"]
    height = robot.pose("coupler", motion.q[-1])[2, 3]
    assert_allclose(height, robot.pose("coupler", start.q)[2, 3] - 0.02, atol=1e-12)
    assert motion.worst_closure_error < 1e-12
    assert_allclose(motion.qd[-1], 0.0, atol=1e-9)
    assert np.diff(motion.energy).max() < 1e-9 * np.abs(motion.energy).max()  # of the scheme


@pytest.mark.parametrize("tilt", [0.2, 0.7, 1.0, 1.3])
@pytest.mark.parametrize("mu", [0.5, 1.5, 4.0])
def test_a_door_that_friction_locks_stops(tilt, mu):
    """Its edge strikes an inclined wall: it bounces, or stops where mu tan(tilt) > 1.

    It locks then: no impulses leave restitution, which is left out. It rests there without load.
    """
    links = (LinkElement("world"), LinkElement("door", 1.0, (0.25, 0, 0), 0.02 * np.eye(3)))
    robot = rd.Robot.from_mechanism(
        Mechanism("door", links, (JointElement("hinge", "revolute", "world", "door"),))
    )
    wall = plane((0.5, 0, 0), (np.sin(tilt), np.cos(tilt), 0))
    for e in (0.0, 0.5):
        material = Material(mu, restitution=e)
        edge = PointContact("edge", "door", (0.5, 0, 0), wall, material=material)
        motion = rd.integrate(robot, [0.05], [-1.0], 0.1, contacts=[edge], outputs=10)
        sim = rd.Simulation(robot, contacts=[edge], q=[0.05], qd=[-1.0], period=0.1)
        left = 0.0 if mu * np.tan(tilt) > 1.0 else e
        assert_allclose(motion.qd[-1], left, atol=1e-9)
        assert_allclose(sim.step([0.0]).qd, left, atol=1e-9)
        # The moment of the wall stops 0.0825 kg m^2; locked, normal and friction may cancel.
        assert sim.contacts[0].force[2] < 1e3


def test_jams_and_soft_contacts_are_refused():
    """Painleve's rod with much friction has no forces, which is said."""
    m, L, mu, a = 1.0, 1.0, 2.0, 0.9  # a: angle to the vertical; it slides on its leading tip
    inertia = m * L * L / 12
    robot = floating(m, (inertia, inertia, 1e-4))
    q = at(0, 0, L / 2 * np.cos(a))
    q[4], q[6] = np.sin(a / 2), np.cos(a / 2)
    foot = PointContact("tip", "body", (0, 0, -L / 2), material=Material(mu))
    R = robot.pose("body", q)[:3, :3]
    with pytest.raises(
        IntegrationError, match="contact 'tip': no contact forces satisfy the laws"
    ):
        rd.integrate(robot, q, [0, 0, 0, *(R.T @ [-3.0, 0, 0])], 0.1, contacts=[foot], order=4)
    soft = PointContact("tip", "body", material=Material(0.3, stiffness=1e4, restitution=0.5))
    with pytest.raises(ArgumentError, match="has stiffness 10000 N/m"):
        rd.integrate(robot, q, np.zeros(6), 0.1, contacts=[soft])
