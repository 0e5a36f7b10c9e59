# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Robots with contacts under `rd.Simulation`: they fall, bounce, slide, stick and stand."""

from __future__ import annotations

import copy
import dataclasses
import importlib.util
import itertools
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.mechanisms import random_state, random_tree
from support.touching import at, corners, floating

import robot_dynamics as rd
from robot_dynamics.contact import (
    Contacts,
    Inequality,
    Material,
    PointContact,
    ShapeContact,
    Solid,
    cable,
    disc,
    ellipsoid,
    joint_limits,
    plane,
    sphere,
    vertices,
)
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.model import (
    JointElement,
    Limits,
    LinkElement,
    LoopElement,
    Mechanism,
    pose,
)
from robot_dynamics.scalar.functions import absolute, sqrt
from robot_dynamics.simulation.contact.report import ContactMode
from robot_dynamics.simulation.engine import SimulationError

ROOT = Path(__file__).resolve().parents[3]
G = 9.81
HALF = (0.1, 0.1, 0.05)
FIXED = rd.Robot.from_mechanism(
    Mechanism(
        "fixed",
        (LinkElement("world"), LinkElement("body", 1.0)),
        (JointElement("weld", "fixed", "world", "body"),),
    )
)
TILTED = np.array([0, 0, 0.15, 0, np.sin(0.1), 0, np.cos(0.1)])


def on_slope(angle, mu, qd=None, duration=0.5, step=2.5e-4, more=()):
    """Return the simulation of a box on a slope after a time, and where it began."""
    slope = plane((0, 0, 0), (np.sin(angle), 0.0, np.cos(angle)))
    robot = floating()
    q = np.array([0.05 * np.sin(angle), 0, 0.05 * np.cos(angle), 0, 0, 0, 1.0])
    q[4], q[6] = np.sin(angle / 2), np.cos(angle / 2)
    contacts = corners(HALF, Material(mu), surface=slope, more=more)
    sim = rd.Simulation(robot, contacts=contacts, q=q, qd=qd, period=0.01, step=step)
    for _ in range(round(duration / sim.period)):
        sim.step(np.zeros(6))
    return sim, q


def test_a_sliding_block_stops_where_it_should():
    """v^2 / (2 mu g) to 1e-6 of a metre at steps of a quarter of a millisecond."""
    mu, v = 0.3, 1.0
    sim, q = on_slope(0.0, mu, [0, 0, 0, v, 0, 0], duration=0.5)
    seen = sim.observation
    assert_allclose(seen.q[0], v * v / (2 * mu * G), atol=1e-6)
    assert_allclose(seen.qd, 0.0, atol=1e-9)
    assert_allclose(seen.q[2:], q[2:], atol=1e-9)
    assert {c.state for c in sim.contacts} == {ContactMode.STICKING}
    assert_allclose(sum(c.force[2] for c in sim.contacts), 2.0 * G, rtol=1e-9)


def test_a_penetration_without_force_is_reported(caplog):
    """A point slides over the edge of a step of 2 mm: it is in the ground then, which is said."""

    def ground(p):
        beyond = p.x - 0.01
        return 1e-3 * (1.0 + beyond / (absolute(beyond) + 1e-12)) - p.z

    foot = PointContact("foot", "body", surface=ground)
    sim = rd.Simulation(floating(), contacts=[foot], qd=[0, 0, 0, 1.0, 0, 0])
    for _ in range(4):
        sim.step(np.zeros(6))
    assert not caplog.text
    for _ in range(4):
        sim.step(np.zeros(6))
    assert caplog.text.count("contact 'foot' is more than 1 mm deep") == 1
    assert "and does not push any more" in caplog.text
    caplog.clear()
    phi = Inequality("phi", lambda p: -ground(p.point("body")))
    sim = rd.Simulation(floating(), contacts=[phi], qd=[0, 0, 0, 1.0, 0, 0])
    for _ in range(8):
        sim.step(np.zeros(6))
    words = (
        "'phi' is below -0.001 .* any more; expected a phi in metres or radians, a shorter step"
    )
    assert re.search(words, caplog.text)


def test_a_coin_that_falls_flat_stays_on_the_floor(caplog):
    """Its lowest point goes round the rim by more than a millimetre in long steps, and pushes on.

    One point at a time does not make it lie flat: it rocks.
    """
    r, m = 0.012, 0.005
    coin = PointContact("coin", "body", shape=disc(r))
    robot = floating(m, m * r * r * np.array([0.25, 0.25, 0.5]))
    for step, seed in itertools.product((2e-3, 4e-3, 8e-3), range(4)):
        q = [0, 0, 0.3, *Rotation.random(random_state=seed).as_quat()]
        sim = rd.Simulation(robot, contacts=[coin], q=q, period=8e-3, step=step)
        for _ in range(100):
            seen = sim.step(np.zeros(6))
        assert seen.q[2] > -1e-3
    assert "contact 'coin' is more than 1 mm deep" in caplog.text
    assert "does not push any more" not in caplog.text


@pytest.mark.parametrize("stiffness", [np.inf, 1e4])
def test_a_surface_that_ends_is_told(caplog, stiffness):
    """Beyond the surface's end there is no square root: the gap is NaN from there on."""
    material = Material(0.0, stiffness=stiffness, restitution=0.5)
    foot = PointContact(
        "foot", "body", surface=lambda p: sqrt(0.01 - p.x) - 0.1 - p.z, material=material
    )
    sim = rd.Simulation(floating(), contacts=[foot], qd=[0, 0, 0, 1.0, 0, 0])
    for _ in range(2):
        sim.step(np.zeros(6))
    assert not caplog.text
    for _ in range(10):
        sim.step(np.zeros(6))
    assert caplog.text.count("contact 'foot' is not a number after") == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(sim.contacts[0].gap)


def test_a_period_that_is_not_finished_is_told(monkeypatch):
    """After Ctrl-C within a period a simulation does not go on, until it is set back."""
    foot = PointContact("foot", "body", (0, 0, -0.1))
    sim = rd.Simulation(floating(), contacts=[foot], q=at(0, 0, 0.2))
    sim.step(np.zeros(6))
    state = sim.state
    after = sim.step(np.zeros(6)).q

    def interrupted():
        raise KeyboardInterrupt

    for set_back in (lambda: setattr(sim, "state", state), sim.reset):
        monkeypatch.setattr(sim._plant.engine.stepping, "correct", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sim.step(np.zeros(6))
        monkeypatch.undo()
        for on in (lambda: sim.step(np.zeros(6)), lambda: sim.state, lambda: sim.contacts):
            with pytest.raises(SimulationError, match=r"free body: period \d was not finished"):
                on()
        set_back()
        assert sim.contacts[0].gap > 0.0
        if sim.observation.time:
            assert (sim.step(np.zeros(6)).q == after).all()
    assert sim.observation.time == 0.0


def test_impulses_that_miss_the_laws_are_told(caplog):
    """Once: the solver ends where it is after so many sweeps."""
    foot = PointContact("foot", "body", (0, 0, -0.1))
    sim = rd.Simulation(floating(), contacts=[foot], q=at(0, 0, 0.2))
    sim.step(np.zeros(6))
    assert not caplog.text
    sim._plant.engine.stepping.state.error.part = 2e-6
    for _ in range(3):
        sim.step(np.zeros(6))
    assert caplog.text.count("impulses miss the laws of contact by 2e-06") == 1


@pytest.mark.parametrize(("mass", "told"), [(1.0, False), (1e-3, True)])
def test_light_bodies_under_heavy_ones_are_judged_by_their_velocities(mass, told, caplog):
    """A tonne slides on a plate: the impulse that moves a gram by 0.3 mm/s is 1e-7 of its own."""
    bodies = {"plate": mass, "load": 1000.0}
    links = [LinkElement(one, m, (0, 0, 0), 0.01 * m * np.eye(3)) for one, m in bodies.items()]
    joints = [JointElement(f"free {one}", "floating", "world", one) for one in bodies]
    robot = rd.Robot.from_mechanism(
        Mechanism("two", (LinkElement("world"), *links), tuple(joints))
    )
    material, top = Material(0.6), plane((0, 0, 0.05), (0, 0, 1))
    points = [(x, y, -0.05) for x, y in itertools.product((-0.1, 0.1), repeat=2)]
    floor = vertices(PointContact("floor", "plate", material=material), points)
    load = PointContact("load", "load", surface=top, on="plate", material=material)
    sim = rd.Simulation(
        robot,
        contacts=[*floor, *vertices(load, points)],
        q=[*at(0, 0, 0.05), *at(0, 0, 0.15)],
        qd=[*np.zeros(9), 0.3, 0.0, 0.0],
    )
    for _ in range(100):
        sim.step(np.zeros(12))
    assert ("impulses miss the laws of contact" in caplog.text) is told


def rod_on_its_leading_tip():
    """Painleve's rod: no finite forces satisfy the laws, an impulse stops its slip."""
    angle = 0.9  # to the vertical
    robot = floating(1.0, (1 / 12, 1 / 12, 1e-4))
    q = at(0.0, 0.0, 0.5 * np.cos(angle))
    q[4], q[6] = np.sin(angle / 2), np.cos(angle / 2)
    velocity = robot.pose("body", q)[:3, :3].T @ [-3.0, 0.0, 0.0]
    tip = PointContact("tip", "body", (0, 0, -0.5), material=Material(2.0))
    return robot, [tip], q, [0, 0, 0, *velocity]


def block_that_stops(**soft):
    """A block on the floor whose slip ends in the second period."""
    contacts = corners((0.1, 0.1, 0.1), Material(0.5, **soft))
    return floating(1.0), contacts, at(0.0, 0.0, 0.1), [0, 0, 0, 0.07, 0, 0]


def ball_that_bounces():
    """A ball that strikes the floor within the first period, with spin."""
    ball = PointContact("ball", "body", radius=0.05, material=Material(0.3, restitution=0.7))
    return floating(1.0), [ball], at(0.0, 0.0, 0.055), [0, 10.0, 0, 0, 0, -1.0]


@pytest.mark.parametrize(
    "case",
    [
        rod_on_its_leading_tip(),
        block_that_stops(),
        block_that_stops(stiffness=1e5, damping=100.0),
        ball_that_bounces(),
    ],
    ids=["painleve", "block", "soft block", "ball"],
)
def test_forces_are_the_means_that_change_the_momentum(case):
    """m (v1 - v0) / T = m g + the mean force, whatever happens within a period."""
    robot, contacts, q, qd = case
    period, m = 0.01, 1.0
    sim = rd.Simulation(robot, contacts=contacts, q=q, qd=qd, period=period)
    before = robot.pose("body", q)[:3, :3] @ qd[3:]
    for _ in range(10):
        state = sim.step(np.zeros(6))
        after = robot.pose("body", state.q)[:3, :3] @ state.qd[3:]
        force = sum(one.axes.T @ one.force for one in sim.contacts)
        # The energy balance changes velocities of the rod by less than 1e-7 m/s.
        assert_allclose(force, m * (after - before) / period + [0, 0, 9.81 * m], atol=1e-5)
        before = after


def test_the_angle_of_repose_is_arctan_mu():
    """Within 1e-6 of arctan(mu) the block rests on one side and slides on the other."""
    mu = 0.4
    angle = np.arctan(mu)
    still, q = on_slope(angle - 1e-6, mu, duration=0.2)
    assert_allclose(still.observation.q, q, atol=1e-9)
    moving, q = on_slope(angle + 1e-6, mu, duration=0.2)
    down = G * (np.sin(angle + 1e-6) - mu * np.cos(angle + 1e-6))
    way = np.linalg.norm(moving.observation.q[:3] - q[:3])
    assert_allclose(way, 0.5 * down * 0.2**2, rtol=1e-2)  # of 2e-7 m, summed over 800 steps
    assert {c.state for c in moving.contacts} == {ContactMode.SLIDING}


def test_pyramids_resist_more_between_their_tangents():
    """A block stops on v^2 / (2 mu g) along a tangent, and sqrt(2) sooner between two of them."""
    mu, v, one = 0.3, 0.8, np.array([1.0, 1.0]) / np.sqrt(2.0)
    ways = {}
    for name, direction in (("along", np.array([1.0, 0.0])), ("between", one)):
        contacts = corners(HALF, Material(mu))
        qd = [0, 0, 0, *(v * direction), 0]
        sim = rd.Simulation(
            floating(), contacts=contacts, q=at(0, 0, 0.05), qd=qd, period=0.01, cone="pyramid"
        )
        for _ in range(40):
            sim.step(np.zeros(6))
            assert max(sim.contact_residuals) < 1e-9
        ways[name] = sim.observation.q[:2] @ direction
    assert_allclose(ways["along"], v * v / (2 * mu * G), atol=1e-6)
    assert_allclose(ways["between"], ways["along"] / np.sqrt(2.0), atol=1e-6)
    with pytest.raises(UnknownNameError, match="unknown cone 'square'; expected one of round, py"):
        rd.Simulation(floating(), contacts=contacts, q=at(0, 0, 0.05), cone="square")
    with pytest.raises(ArgumentError, match="cone belongs to contacts"):
        rd.Simulation(floating(), cone="pyramid")


def test_residuals_exclude_approaching_bodies():
    """Residuals are of contacts that touch, not of speeds before contact."""
    mixed = [
        PointContact("near", "body", (0, 0, -0.1)),
        PointContact("far", "body", (0, 0, 0.3)),
    ]
    sim = rd.Simulation(floating(), contacts=mixed, q=at(0, 0, 0.3), qd=[0, 0, 0, 0, 0, -2.0])
    sim.step(np.zeros(6))
    assert max(sim.contact_residuals) == 0.0
    for _ in range(100):
        sim.step(np.zeros(6))
    assert sim.contacts[0].state is not ContactMode.OPEN
    assert max(sim.contact_residuals) < 1e-9


DOUBLED = [(0.1, 0.1, -0.05), (0.1, 0.1, -0.05), (-0.1, 0.1, -0.05)]
WITHIN = [(0.0, 0.0, -0.05), (0.03, -0.06, -0.05)]
EDGES = [(x, y, -0.05) for x in (-0.1, 0.1) for y in (-0.04, 0.0, 0.07)]  # two that are parallel


@pytest.mark.parametrize(
    ("mu", "more"), [(0.0, [*DOUBLED, *WITHIN, *EDGES]), (0.05, DOUBLED), (0.3, EDGES)]
)
def test_more_points_than_needed_change_nothing(mu, more):
    """A face with double corners, points on parallel edges and within moves as its corners do.

    It slides along without friction, is braked, and comes to a stop. Spinning bodies may
    differ: how corners share the load, and with it how the spin slows, is open.
    """
    start = [0, 0, 0, 0.2, 0, 0]
    (many, _), (plain, _) = (on_slope(0.1, mu, start, 0.15, more=points) for points in (more, ()))
    assert_allclose(many.observation.q, plain.observation.q, rtol=0, atol=1e-9)
    assert_allclose(many.observation.qd, plain.observation.qd, rtol=0, atol=1e-9)
    force = [sum(contact.force for contact in sim.contacts) for sim in (many, plain)]
    assert_allclose(*force, rtol=0, atol=1e-7)


def test_more_points_than_needed_strike_as_their_corners_do():
    """A tilted box without friction that falls on an edge of its face, bounces and tumbles."""
    motions = []
    for points in ((), [*DOUBLED, *EDGES]):
        contacts = corners(HALF, Material(0.0, restitution=0.4), more=points)
        sim = rd.Simulation(floating(), contacts=contacts, q=TILTED, period=0.01)
        motions.append([sim.step(np.zeros(6)).q for _ in range(25)])
        assert sum(c.impacts for c in sim.contacts) > 3
    assert_allclose(motions[1], motions[0], rtol=0, atol=1e-9)


def test_energy_never_grows():
    """A box that tumbles down on its corners, with friction and restitution, loses energy only."""
    robot = floating()
    cube = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.05, 0.05)]
    contacts = corners(HALF, Material(0.4, restitution=0.5), more=[c for c in cube if c[2] > 0])
    q = at(0, 0, 0.3)
    q[3:] = np.array([0.3, 0.5, 0.1, 0.8]) / np.linalg.norm([0.3, 0.5, 0.1, 0.8])
    sim = rd.Simulation(robot, contacts=contacts, q=q, qd=[3, 1, 2, 0.5, 0, 0], period=0.01)
    energy = [sum(robot.energies(q, np.array([3, 1, 2, 0.5, 0, 0])))]
    for _ in range(100):
        seen = sim.step(np.zeros(6))
        energy.append(float(sum(robot.energies(seen.q, seen.qd))))
    assert sum(c.impacts for c in sim.contacts) > 4
    # Steps are of second order: free flight itself keeps energy to about 1e-6 of it.
    assert np.diff(energy).max() < 1e-5 * energy[0]
    assert energy[-1] < 0.5 * energy[0]


def ball_that_spins(place, spin, velocity, mu=0.5, **how):
    """Return the simulation of a ball of 0.17 kg and 28.6 mm near a floor, and its radius."""
    r, m = 0.0286, 0.17
    contact = PointContact("ball", "body", radius=r, material=Material(mu))
    robot = floating(m, (0.4 * m * r * r,) * 3)
    qd = [*spin, *velocity]
    return rd.Simulation(robot, contacts=[contact], q=at(0, 0, r + place), qd=qd, **how), r


@pytest.mark.parametrize("step", [2.5e-4, 1e-3])
def test_a_spinning_ball_flies_a_parabola(step):
    """A ball at 3000 rpm, 78 or 314 mrad a step, flies a parabola and keeps its spin."""
    spin, velocity = [100.0, -280.0, 80.0], np.array([50.0, 3.0, 10.0])
    sim, r = ball_that_spins(0.0, spin, velocity, step=step)
    for _ in range(1000):
        seen = sim.step(np.zeros(6))
    fallen = np.array([0.0, 0.0, 0.5 * G * seen.time**2])
    start = np.array([0.0, 0.0, r])
    assert_allclose(seen.q[:3] + fallen, start + velocity * seen.time, rtol=1e-9)
    assert_allclose(seen.qd[:3], spin, rtol=1e-9)


def test_a_body_on_a_loop_s_hinge_turns_for_long():
    """Steadily, at 25 rad/s about a hinge beside it: nothing swings from step to step."""
    place = np.array([0.2, -0.1, 0.0])
    hinge = LoopElement("hinge", "revolute", "world", "body", successor_pose=pose(-place))
    links = [LinkElement("world"), LinkElement("body", 2.0, (0, 0, 0), np.eye(3) * 0.01)]
    free = JointElement("free", "floating", "world", "body")
    robot = rd.Robot.from_mechanism(
        Mechanism("hinged", tuple(links), (free,), (hinge,)), gravity=(0.0, 0.0, 0.0)
    )
    floor = PointContact("floor", "body", surface=plane((0, 0, -9), (0, 0, 1)))
    qd = [0, 0, 25.0, *np.cross([0, 0, 25.0], place)]
    sim = rd.Simulation(robot, contacts=[floor], q=at(*place), qd=qd, period=0.01, step=1e-3)
    for _ in range(200):
        seen = sim.step(np.zeros(6))
    assert_allclose(seen.qd, qd, atol=1e-9)


@pytest.mark.parametrize("step", [2.5e-4, 1e-3])
def test_a_box_sticks_on_a_table_that_turns(step):
    """At 5 rad/s, 0.2 m from the axis, with two thirds of the friction that there is."""
    rate, r, half = 5.0, 0.2, 0.02
    links = [LinkElement("world"), LinkElement("table", 1.0, (0, 0, 0), np.eye(3) * 1e3)]
    links.append(LinkElement("body", 1.0, (0, 0, 0), np.eye(3) * 3e-3))
    joints = [
        JointElement("turn", "revolute", "world", "table", axis=(0, 0, 1)),
        JointElement("free", "floating", "world", "body"),
    ]
    robot = rd.Robot.from_mechanism(Mechanism("turntable", tuple(links), tuple(joints)))
    feet = corners((0.05, 0.05, half), Material(0.8), on="table")
    qd = [rate, 0, 0, rate, 0, rate * r, 0]
    sim = rd.Simulation(
        robot, contacts=feet, q=[0.0, *at(r, 0, half)], qd=qd, period=0.01, step=step
    )
    for _ in range(200):
        seen = sim.step(np.zeros(7))
        assert all(c.state is not ContactMode.SLIDING for c in sim.contacts)
    assert_allclose(np.hypot(*seen.q[1:3]), r, atol=1e-6)
    turned = Rotation.from_rotvec([0, 0, seen.q[0]]).inv().apply(seen.q[1:4])
    assert_allclose(turned, [r, 0, half], atol=1e-6)


@pytest.mark.parametrize(("speed", "told"), [(300.0, False), (30000.0, True)])
def test_a_ball_bounces_many_times_in_a_step(speed, told, caplog):
    """Between plates 2 mm from it 37 times: all bounce. Where 3750 would be it is stopped."""
    r, lossless = 1e-3, Material(0.0, restitution=1.0)
    planes = [plane((0, 0, 0), (0, 0, 1)), plane((0, 0, 4e-3), (0, 0, -1))]
    contacts = [
        PointContact(f"plate {i}", "body", surface=p, radius=r, material=lossless)
        for i, p in enumerate(planes)
    ]
    robot = floating(1e-3, (4e-10,) * 3)
    sim = rd.Simulation(robot, contacts=contacts, q=at(0, 0, 2e-3), qd=[0, 0, 0, 0, 0, speed])
    for _ in range(5):
        seen = sim.step(np.zeros(6))
    assert abs(seen.q[2] - 2e-3) < 1.1e-3
    assert ("more than 300 impacts" in caplog.text) is told
    if told:
        assert abs(seen.qd[5]) < 1.0
    else:
        assert_allclose(abs(seen.qd[5]), speed, rtol=1e-3)  # gravity takes part
        assert sum(c.impacts for c in sim.contacts) == pytest.approx(1500, abs=5)


@pytest.mark.parametrize("speed", [1.0, 30.0])
@pytest.mark.parametrize("turns", [1.0, 2.0])
def test_a_fast_ball_rolls_on_and_stays_on_its_plane(speed, turns):
    """It rolls at once, or once friction has shared its spin: momentum about the floor stays."""
    r = 0.0286
    sim, r = ball_that_spins(0.0, [0, turns * speed / r, 0], [speed, 0, 0])
    lowest = []
    for _ in range(round(500 * speed * (turns - 1.0)) + 100):
        seen = sim.step(np.zeros(6))
        lowest.append(seen.q[2] - r)
    assert np.abs(lowest).max() < 1e-9
    rolls = (5.0 + 2.0 * turns) / 7.0 * speed
    assert_allclose(seen.qd[1] * r, rolls, rtol=1e-6)
    world = Rotation.from_quat(seen.q[3:]).apply(seen.qd[3:])
    assert_allclose(world, [rolls, 0.0, 0.0], rtol=1e-6, atol=1e-9)
    (contact,) = sim.contacts
    assert contact.state is ContactMode.STICKING
    assert contact.impacts == 0


def test_a_ball_rolls_and_two_links_touch_each_other():
    """After sliding a ball rolls on at 5/7 of its speed; on a slide that moves, at its own."""
    r, m = 0.1, 2.0
    inertia = 0.4 * m * r * r
    ball = PointContact("ball", "body", radius=r, material=Material(0.5))
    sim = rd.Simulation(
        floating(m, (inertia,) * 3), contacts=[ball], q=at(0, 0, r), qd=[0, 0, 0, 1.0, 0, 0]
    )
    for _ in range(150):
        seen = sim.step(np.zeros(6))
    assert_allclose(seen.qd[1], 5.0 / 7.0 / r, rtol=1e-4)
    assert sim.contacts[0].state is ContactMode.STICKING
    links = (
        LinkElement("world"),
        LinkElement("cart", 3.0),
        LinkElement("body", m, (0, 0, 0), inertia * np.eye(3)),
    )
    joints = (
        JointElement("rail", "prismatic", "world", "cart", axis=(1, 0, 0)),
        JointElement("free", "floating", "world", "body"),
    )
    both = rd.Robot.from_mechanism(Mechanism("cart", links, joints))
    on_cart = PointContact("ball", "body", radius=r, on="cart", material=Material(0.5))
    sim = rd.Simulation(both, contacts=[on_cart], q=[0, *at(0, 0, r)], qd=[1.0, *np.zeros(6)])
    for _ in range(150):
        seen = sim.step(np.zeros(7))
    momentum = 3.0 * seen.qd[0] + m * both.velocity("body", seen.q, seen.qd, "aligned")[3]
    assert_allclose(momentum, 3.0, rtol=1e-6)
    # It rolls: the lowest point moves with the cart.
    along = both.velocity("body", seen.q, seen.qd, "aligned")
    assert_allclose(along[3] - r * along[1], seen.qd[0], atol=1e-6)


def test_a_coin_rolls_in_its_circle():
    """Steady rolling of a thin disc, tilted by a: spin, precession and radius of closed form."""
    r, m, tilt, turn = 0.1, 1.0, 0.3, 2.0  # turn: rate of its path about the vertical [rad/s]
    A, C = 0.25 * m * r * r, 0.5 * m * r * r
    s, c = np.sin(tilt), np.cos(tilt)
    # Moments about the centre, the axis tilted by `tilt` from the horizontal, n its rate about it:
    # (C + m r^2) n turn c = A turn^2 s c - m g r s.
    spin = (A * turn**2 * s * c - m * G * r * s) / ((C + m * r * r) * turn * c)
    robot = floating(m, (A, A, C))
    edge = np.array([0.0, s, -c]) * -1.0  # from the contact to the centre
    axis = np.array([0.0, c, s])
    frame = np.stack([[1.0, 0, 0], np.cross(axis, [1.0, 0, 0]), axis], axis=1)
    rate = np.array([0, 0, turn]) + (spin - turn * s) * axis
    speed = np.cross(rate, r * edge)
    q = np.concatenate([r * edge, Rotation.from_matrix(frame).as_quat()])
    coin = PointContact("coin", "body", shape=disc(r), material=Material(2.0))
    qd = np.concatenate([frame.T @ rate, frame.T @ speed])
    energy, errors = float(sum(robot.energies(q, qd))), []
    for step in (5e-4, 2.5e-4):
        sim = rd.Simulation(robot, contacts=[coin], q=q, qd=qd, period=0.3, step=step)
        seen = sim.step(np.zeros(6))
        now = Rotation.from_quat(seen.q[3:]).as_matrix()[:, 2]
        errors.append(np.arcsin(now[2]) - tilt)
        # Steps are of first order where things roll, and lose energy.
        assert 0.0 < energy - sum(robot.energies(seen.q, seen.qd)) < 4.0 * step * energy
        assert max(sim.contact_residuals) < 1e-9
    assert abs(errors[0]) < 0.02
    assert abs(2.0 * errors[1] - errors[0]) < 1e-4  # extrapolated to steps of no length


def test_a_rattleback_turns_round():
    """An ellipsoid with turned inertia keeps one spin, and reverses the other, without gain."""
    turn = Rotation.from_euler("z", 0.1).as_matrix()
    own = 0.2 * np.diag([0.03**2 + 0.02**2, 0.2**2 + 0.02**2, 0.2**2 + 0.03**2])
    stone = PointContact("stone", "body", shape=ellipsoid(0.2, 0.03, 0.02), material=Material(1))
    spins = []
    links = (LinkElement("world"), LinkElement("body", 1.0, (0, 0, 0), turn @ own @ turn.T))
    joint = JointElement("free", "floating", "world", "body")
    robot = rd.Robot.from_mechanism(Mechanism("stone", links, (joint,)))
    for spin in (2.0, -2.0):
        q, qd = [0, 0, 0.02, 0.005, 0, 0, 1.0], [0, 0, spin, 0, 0, 0]
        sim = rd.Simulation(robot, contacts=[stone], q=q, qd=qd, period=0.01, step=1e-3)
        energy = []
        for _ in range(160):
            seen = sim.step(np.zeros(6))
            energy.append(float(sum(robot.energies(seen.q, seen.qd))))
        spins.append(seen.qd[2])
        assert np.diff(energy).max() < 1e-4 * energy[0]
    assert spins[0] > 1.9
    assert spins[1] > 1.5


@pytest.mark.slow
def test_a_walker_stands_for_long():
    """Four five-bar legs drop, are pushed and stand: 10^5 steps, loops closed to 1e-10."""
    spec = importlib.util.spec_from_file_location("walker", ROOT / "examples" / "walker.py")
    walker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(walker)
    _, closure, q = walker.dropped(*walker.machine(), duration=100.0)
    assert closure < 1e-10
    assert np.isfinite(q).all()


def test_a_closed_loop_comes_to_rest_on_its_limit():
    """A four-bar falls onto a stop: loops stay closed, the stop bears the load of statics."""
    robot = rd.load(ROOT / "examples" / "four_bar.urdf")
    start = robot.assemble([-1.0, 0.5, -1.5])
    tip = robot.pose("rocker", start.q)[:3, 3]
    floor = plane((0, 0, tip[2] - 0.02), (0, 0, 1))
    stop = PointContact("stop", "coupler", (0.0, 0.0, 0.0), surface=floor)
    gap = robot.pose("coupler", start.q)[2, 3] - tip[2] + 0.02
    assert gap > 0.0
    sim = rd.Simulation(robot, contacts=[stop], q=start.q, period=0.01, step=1e-3)
    for _ in range(100):
        seen = sim.step(-2.0 * sim.observation.qd)
        assert np.abs(robot.closure(seen.q)[1]).max() < 1e-9


def test_limits_of_joints_stop_them():
    """A slide bounces between both ends of its rail, and keeps its speed with e = 1."""
    links = (LinkElement("base"), LinkElement("slide", 2.0))
    limits = Limits(lower=-0.1, upper=0.3)
    joint = JointElement("rail", "prismatic", "base", "slide", axis=(1, 0, 0), limits=limits)
    robot = rd.Robot.from_mechanism(Mechanism("rail", links, (joint,)))
    sim = rd.Simulation(
        robot, contacts=joint_limits(robot, restitution=1.0), q=[0.0], qd=[1.0], period=0.01
    )
    for _ in range(200):
        seen = sim.step(np.zeros(1))
        assert -0.1 - 1e-9 <= seen.q[0] <= 0.3 + 1e-9
    assert_allclose(abs(seen.qd[0]), 1.0, rtol=1e-8)  # 1e-10 of each impulse is a shift
    # 0.3 m up, then 0.4 m each way: after 1.9 m it turns a third time at the top.
    assert_allclose(seen.q[0], 0.2, atol=1e-6)
    assert [c.impacts for c in sim.contacts] == [2, 3]


@pytest.mark.parametrize("cone", ["round", "pyramid"])
def test_a_point_slides_around_in_a_ball(cone):
    """Without gravity v = v0 exp(-mu theta), to second order, through normals of any direction.

    Round cones: pyramids resist more between their tangents.
    """
    radius, speed, mu, duration = 0.5, 2.0, 0.2, 1.6
    axis = np.array([0.6, 0.3, 1.0]) / np.sqrt(1.45)
    first = np.cross(axis, [0, 1.0, 0]) / np.linalg.norm(np.cross(axis, [0, 1.0, 0]))
    inside = sphere((0, 0, 0), radius, inside=True)
    bead = PointContact("bead", "body", surface=inside, material=Material(mu))
    qd = np.concatenate([np.zeros(3), speed * np.cross(axis, first)])
    off, left = [], speed * np.exp(-np.log(1.0 + mu * speed * duration / radius))
    for step in (1e-3, 5e-4):
        robot = floating(1.0).replace(gravity=(0, 0, 0))
        sim = rd.Simulation(
            robot, contacts=[bead], q=at(*(radius * first)), qd=qd, step=step, cone=cone
        )
        for _ in range(round(duration / sim.period)):
            seen = sim.step(np.zeros(6))
        off.append(abs(np.linalg.norm(seen.qd[3:]) - left))
    if cone == "pyramid":
        assert off[0] > 0.05 * left
        return
    assert off[0] < 1e-6
    assert_allclose(off[0] / off[1], 4.0, rtol=0.1)


@pytest.mark.parametrize("speed", [1.0, 4.0])
def test_a_ball_rolls_on_a_cart(speed):
    """With v^2 / r of 20 and 320 m/s^2 alike: it neither leaves the cart nor knocks on it."""
    radius = 0.05
    links = (
        LinkElement("world"),
        LinkElement("cart", 5.0, (0, 0, 0), np.eye(3)),
        LinkElement("ball", 1.0, (0, 0, 0), np.eye(3) * 0.4 * radius**2),
    )
    joints = (
        JointElement("rail", "prismatic", "world", "cart", axis=(1, 0, 0)),
        JointElement("free", "floating", "world", "ball"),
    )
    robot = rd.Robot.from_mechanism(Mechanism("cart", links, joints))
    model = robot.model
    q, qd = model.neutral(), np.zeros(model.nv)
    free = model.joint_index("free")
    q[model.q_slices[free].start + 2] = radius
    at_v = model.v_slices[free].start
    qd[[at_v + 1, at_v + 3]] = speed / radius, speed
    top = plane((0, 0, 0), (0, 0, 1))
    ball = PointContact("ball", "ball", (0, 0, 0), top, "cart", radius, material=Material(0.5))
    sim = rd.Simulation(robot, contacts=[ball], q=q, qd=qd)
    for _ in range(250):
        seen = sim.step(np.zeros(model.nv))
        assert sim.contacts[0].state is ContactMode.STICKING
    assert sim.contacts[0].impacts <= 1
    assert_allclose(sim.contacts[0].force[2], G, rtol=5e-3)
    assert_allclose(seen.qd[0], 0.0, atol=2e-4)  # with knocks 0.07 m/s


def test_a_contact_stays_closed_after_an_impact_while_its_row_turns_fast():
    """The tip of an arm of two links knocks and slides on, pressed by 5 of 130 to 190 m/s^2."""
    bar = {"mass": 1.0, "center": (0.25, 0, 0), "inertia": np.diag((0.001, 0.02, 0.02))}
    links = (LinkElement("world"), LinkElement("upper", **bar), LinkElement("lower", **bar))
    joints = (
        JointElement("shoulder", "revolute", "world", "upper", axis=(0, 1, 0)),
        JointElement("elbow", "revolute", "upper", "lower", pose((0.5, 0, 0)), axis=(0, 1, 0)),
    )
    robot = rd.Robot.from_mechanism(Mechanism("arm", links, joints))

    def slope(q):
        return -0.5 * np.array([np.cos(q[0]) + np.cos(q[0] + q[1]), np.cos(q[0] + q[1])])

    q0, normal = np.array([-0.6, -0.5]), np.array([0.0, 0.0, 1.0])
    J = slope(q0)
    qd0 = (25.0 * np.array([-J[1], J[0]]) / np.linalg.norm(J)) - 0.05 * J / (J @ J)
    height = -0.5 * (np.sin(q0[0]) + np.sin(q0.sum()))
    floor = plane((0, 0, height - 1e-4), normal)
    tip = PointContact("tip", "lower", (0.5, 0, 0), floor, material=Material(0.0))
    ends = []
    for step in (5e-4, 2.5e-4, 1e-5):
        sim = rd.Simulation(robot, contacts=[tip], q=q0, qd=qd0, step=step, period=5e-4)
        seen = sim.observation
        for k in range(30):
            angles, rates = np.cumsum(seen.q), np.cumsum(seen.qd)
            bend, J = 0.5 * np.sin(angles) @ rates**2, slope(seen.q)
            pressed = robot.inverse_dynamics(seen.q, seen.qd, -J * (5.0 + bend) / (J @ J))
            seen = sim.step(pressed)
            if k > 8:
                assert sim.contacts[0].state is ContactMode.SLIDING
                assert abs(sim.contacts[0].gap) < 1e-9  # with impacts in every step 1e-5
        assert sim.contacts[0].impacts == 1
        ends.append(seen.q)
    off = [np.abs(end - ends[2]).max() for end in ends[:2]]
    assert off[0] < 1.5e-5  # of second order: with impacts in every step 3e-5 ...
    assert off[1] < 5e-6  # ... and 1.7e-5


def test_forces_do_not_alternate_after_a_bounce():
    """A chain knocks on a plane, slips and sticks: friction was 11.5 N and 4.3 N by turns."""
    rng = np.random.default_rng(7)
    robot = rd.Robot.from_mechanism(
        random_tree(rng, ["floating", "revolute", "revolute"], chain=True)
    )
    q, qd, _ = random_state(rng, robot.model)
    point, normal = (0.05, 0.02, -0.03), np.array([0.1, 0.2, 1.0]) / np.sqrt(1.05)
    place = (robot.pose("link2", q) @ [*point, 1.0])[:3]
    wall = plane(place - 0.03 * normal, normal)
    tip = PointContact("tip", "link2", point, wall, material=Material(0.4, restitution=0.3))
    step = 2.5e-4
    sim = rd.Simulation(robot, contacts=[tip], q=q, qd=0.5 * qd, step=step, period=step)
    forces = []
    for _ in range(720):
        sim.step(np.zeros(robot.model.nv))
        forces.append(sim.contacts[0].force)
    assert sim.contacts[0].state is ContactMode.STICKING
    last = np.array(forces[-100:])
    alternating = np.abs(np.diff(last, n=2, axis=0)).max() / 4.0
    assert alternating < 2e-3 * last[:, 2].min()


@pytest.mark.parametrize("reverse", [False, True])
def test_unilateral_loop_joints_let_go(reverse):
    """A box on three of them moves as on three points: it is tipped, lifted off and lands."""
    feet = [(0.1, 0.0, -0.05), (-0.1, 0.1, -0.05), (-0.1, -0.1, -0.05)]
    turn = Rotation.from_euler("xyz", (0.05, -0.03, 0.0)).as_matrix()
    floor, normal = np.array((0.02, 0.0, -0.1)), turn[:, 2]
    loops = []
    for i, foot in enumerate(feet):
        ends = ["world", "body", pose(floor, turn), pose(foot)]
        kind = "point_on_plane"
        if reverse:
            ends, kind = [ends[k] for k in (1, 0, 3, 2)], f"reversed {kind}"
        loops.append(LoopElement(f"foot {i}", kind, *ends, unilateral=True))
    body = LinkElement("body", 2.0, (0, 0, 0), np.diag((0.004, 0.006, 0.007)))
    joint = JointElement("free", "floating", "world", "body")
    robot = rd.Robot.from_mechanism(
        Mechanism("table", (LinkElement("world"), body), (joint,), tuple(loops))
    )
    smooth = Material(0.0)
    points = [
        PointContact(f"foot {i}", "body", foot, plane(floor, normal), material=smooth)
        for i, foot in enumerate(feet)
    ]
    q = np.array([*(floor + 0.05 * normal), *Rotation.from_matrix(turn).as_quat()])
    both = rd.Simulation(robot, q=q), rd.Simulation(floating(), contacts=points, q=q)
    tau = {0: (0.3, 0, 0, 0, 0, 0), 50: (0, 0.2, 0, 0, 0, 30.0), 80: (0, 0, 0, 0, 0, 0)}
    seen, heights, pushing = [], [], []
    for k in range(250):
        now = np.array(tau[max(at for at in tau if at <= k)], dtype=float)
        seen = [sim.step(now).q for sim in both]
        assert_allclose(seen[0], seen[1], atol=1e-10)  # tangents do not matter
        heights.append(seen[0][2])
        pushing.append(sum(c.force[2] > 0.0 for c in both[0].contacts))
    assert {0, 3} <= {*pushing}
    assert max(heights) > q[2] + 0.01
    motion = rd.integrate(robot, q, np.zeros(6), 0.2, tau=[0, 0, 0, 0, 0, 30.0], outputs=2)
    lift = 30.0 / 2.0 * normal[2] - G  # the force is along the box's own axis
    assert_allclose(motion.q[-1][2] - q[2], 0.5 * lift * 0.2**2, rtol=1e-9)


def test_a_unilateral_loop_joint_of_another_type_is_refused():
    """The behaviour of its other rows in the open state is undefined."""
    body = LinkElement("body", 2.0, (0, 0, 0), np.eye(3))
    joint = JointElement("free", "floating", "world", "body")
    loop = LoopElement("touch", "spherical", "world", "body", unilateral=True)
    robot = rd.Robot.from_mechanism(
        Mechanism("one", (LinkElement("world"), body), (joint,), (loop,))
    )
    for simulate in (rd.Simulation, lambda r: rd.integrate(r, at(0, 0, 0), np.zeros(6), 1.0)):
        with pytest.raises(ArgumentError, match=r"'touch'.* spherical, expected point_on"):
            simulate(robot)


def test_a_state_is_taken_up_bit_for_bit():
    """A simulation that is set back moves as it did; another's state is refused."""
    sim, _ = on_slope(0.1, 0.3, [0, 1.0, 2.0, 0.5, 0.2, 0], duration=0.05)
    state = sim.state
    first = [sim.step(np.zeros(6)).q for _ in range(20)][-1]
    sim.state = state
    assert (first == [sim.step(np.zeros(6)).q for _ in range(20)][-1]).all()
    sim.reset()
    assert sim.observation.time == 0.0
    rope, soft = (
        cable("rope", 0.6, ("body", (0, 0, 0)), ("world", (0, 0, 1))),
        Material(0.4, 1e4, 0.5),
    )
    coin = PointContact("coin", "body", shape=disc(0.05), material=soft)
    egg = PointContact("egg", "body", (0, 0, 0.1), shape=ellipsoid(0.1, 0.2, 0.1))
    sim = rd.Simulation(floating(), contacts=(c for c in (rope, coin, egg)), q=at(0, 0, 0.41))
    for _ in range(20):
        sim.step(np.zeros(6))
    pickled, copied = pickle.loads(pickle.dumps(sim)), copy.deepcopy(sim)
    ends = [[s.step(np.ones(6)).q for _ in range(50)][-1] for s in (sim, pickled, copied)]
    assert (ends[0] == ends[1]).all()
    assert (ends[0] == ends[2]).all()
    assert (pickled.reset().q == sim.reset().q).all()
    contacts = Contacts(floating(), [rope])
    again = pickle.loads(pickle.dumps(contacts))
    assert (again(ends[0], np.zeros(6)).gap == contacts(ends[0], np.zeros(6)).gap).all()
    other = rd.Simulation(floating(), contacts=[PointContact("other", "body")], q=at(0, 0, 1))
    with pytest.raises(ArgumentError, match=r"contacts, \['corner 1', .*, expected \['other'\]"):
        other.state = state
    with pytest.raises(ArgumentError, match=r"other contacts, none, expected \['other'\]"):
        other.state = rd.Simulation(floating()).state
    slower = rd.Simulation(
        floating(), contacts=[PointContact("other", "body")], q=at(0, 0, 1), period=0.01
    )
    with pytest.raises(ArgumentError, match=r"a period of 0.002 s, expected 0.01 s"):
        slower.state = other.state
    with pytest.raises(ArgumentError, match=r"a period of 0.002 s, expected 0.01 s"):
        rd.Simulation(floating(), period=0.01).state = rd.Simulation(floating()).state
    with pytest.raises(ArgumentError, match=r"other contacts, \['other'\], expected none"):
        rd.Simulation(floating()).state = other.state
    with pytest.raises(ArgumentError, match="of another simulation"):
        slower.state = dataclasses.replace(state, plant=None)


def test_a_copy_has_the_cone_of_its_original():
    """Pyramids let a ball slip along the diagonal with more friction than round cones."""
    foot = PointContact("foot", "body", material=Material(0.5))
    sim = rd.Simulation(floating(), contacts=[foot], qd=[0, 0, 0, 1, 1, 0], cone="pyramid")
    for copied in (pickle.loads(pickle.dumps(sim)), copy.deepcopy(sim)):
        copied.step(np.zeros(6))
        f = copied.contacts[0].force
        assert_allclose(np.abs(f[:2]), 0.5 * f[2], rtol=1e-6)


def test_a_function_without_a_module_is_copied():
    """Also by libraries that pickle such functions."""
    cloudpickle = pytest.importorskip("cloudpickle")
    hills = PointContact("hills", "body", surface=lambda r: -r.z)
    sim = rd.Simulation(floating(), contacts=[hills], q=at(0, 0, 0.1))
    for copied in (copy.deepcopy(sim), pickle.loads(cloudpickle.dumps(sim))):
        assert (copied.step(np.zeros(6)).q == copy.copy(sim).step(np.zeros(6)).q).all()


def test_states_of_other_kinds_of_contacts_are_refused():
    """Of the same names: their memories differ, and a soft depth would be wrong in a rigid one."""
    soft = Material(0.5, stiffness=1e4, restitution=0.5)
    shears = dataclasses.replace(soft, tangential_stiffness=1e4)
    feet = [corners(HALF, material) for material in (Material(), soft, shears)]
    plates = Solid.box("body", (0.2, 0.2, 0.1)), Solid.plane("world")
    feet.append((ShapeContact("corner", *plates, points=4),))
    sims = [rd.Simulation(floating(), contacts=each, q=at(0, 0, 0.05)) for each in feet]
    for one, other in itertools.permutations(sims, 2):
        with pytest.raises(ArgumentError, match="with other contacts"):
            one.state = other.state
    pyramids = rd.Simulation(floating(), contacts=feet[0], q=at(0, 0, 0.05), cone="pyramid")
    with pytest.raises(ArgumentError, match=r"with other contacts, .*pyramid"):
        sims[0].state = pyramids.state
    slippery = rd.Simulation(floating(), contacts=corners(HALF, Material(0.1)), q=at(0, 0, 1))
    slippery.state = sims[0].state  # of another friction it may be


def test_states_share_nothing():
    """A change of one observation does not reach other simulations or states."""
    one, other = (
        rd.Simulation(floating(), contacts=corners(HALF), q=at(0, 0, 0.05)) for _ in range(2)
    )
    other.state = state = one.state
    other.observation.q[:] = 99.0
    state.observation.qd[:] = 99.0
    assert_allclose(one.observation.q, at(0, 0, 0.05))
    assert_allclose(one.observation.qd, 0.0)


def test_many_points_are_simulated():
    """More than a recording of straight code takes at first."""
    points = np.random.default_rng(5).uniform(-0.1, 0.1, (200, 3)) * (1, 1, 0)
    one = PointContact("p", "body")
    sim = rd.Simulation(floating(), contacts=vertices(one, points), q=at(0, 0, 0.1))
    assert_allclose(sim.step(np.zeros(6)).qd[5], -G * sim.period, rtol=1e-9)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"step": 1e-30}, "expected at most 1000000 steps"),
        ({"q": at(0, 0, 0.04)}, "'corner 1' is 10 mm deep"),
        (
            {"contacts": [PointContact("a", "body", surface=lambda r: 0.0 * r.z)]},
            "contact 'a' has",
        ),
        (
            {"contacts": [PointContact("a", "body", surface=lambda r: (r.z - 1.0) ** 0.5)]},
            "contact 'a' has",
        ),
        ({"contacts": [PointContact("a", "body")] * 2}, "2 contacts.*'a'"),
        ({"robot": floating(0.0, (0, 0, 0))}, "inertia"),
        ({"robot": FIXED, "q": []}, "without degrees of freedom"),
        ({"qd": np.zeros(5)}, "qd"),
        ({"qd": np.full(6, np.nan)}, "qd"),
        ({"q": np.zeros(7)}, "quaternion x y z w of joint .* is zero"),
        (
            {"contacts": [Inequality("tilt", lambda p: p.point("body").z - 0.15)]},
            "phi of 'tilt' is -0.1, expected -0.001 or more",
        ),
    ],
)
def test_a_bad_start_is_refused(changes, words):
    """With one sentence."""
    how = {"contacts": corners(HALF), "q": at(0, 0, 0.05), "robot": floating(), **changes}
    with pytest.raises(RobotDynamicsError, match=words):
        rd.Simulation(how.pop("robot"), **how)
