# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Shapes against shapes: where they touch, and how robots move that touch with them."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.touching import at, floating

import robot_dynamics as rd
from robot_dynamics.contact.material import Material
from robot_dynamics.contact.points import Contacts, PointContact, vertices
from robot_dynamics.contact.shapes import ShapeContact, Solid, collision_solids, contacts_of
from robot_dynamics.description.load import load_description
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.model import JointElement, LinkElement, Mechanism, pose

mujoco = pytest.importorskip("mujoco", minversion="3.17")
from robot_dynamics.simulation.contact.manifolds import Manifolds  # noqa: E402

G = 9.81
CUBE = 0.1 * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
#: Each as high as its second number above its middle, and what it has below.
SOLIDS = {
    "sphere": (lambda link: Solid.sphere(link, 0.1), 0.1),
    "box": (lambda link: Solid.box(link, (0.2, 0.2, 0.2)), 0.1),
    "capsule": (lambda link: Solid.capsule(link, 0.1, 0.2), 0.2),
    "cylinder": (lambda link: Solid.cylinder(link, 0.1, 0.2), 0.1),
    "convex": (lambda link: Solid.convex(link, CUBE), 0.1),
    "plane": (Solid.plane, 0.0),
}
FLAT = ("box", "cylinder", "convex", "plane")


@pytest.mark.parametrize("lower", SOLIDS)
@pytest.mark.parametrize("upper", [kind for kind in SOLIDS if kind != "plane"])
def test_gaps_of_what_stands_above(upper, lower):
    """Gap, normal and number of points of two solids above each other, apart and pressed in.

    Hulls are in single precision in MuJoCo, 1e-8 of a decimetre.
    """
    robot = floating()
    (first, up), (second, low) = SOLIDS[upper], SOLIDS[lower]
    contact = ShapeContact("pair", first("body"), second("world"))
    manifolds = Manifolds(robot.model, [contact])
    nowhere = np.full((manifolds.count, 3), np.nan)
    for gap in (5e-3, 1e-7, -1e-7, -5e-4):
        q, v = at(0.0, 0.0, up + low + gap), np.array([0, 0, 0, 0, 0, 1.0])
        # The middle of a step is half a step above its start.
        seen = manifolds(q - np.eye(7)[2] * 5e-4, v, 1e-3, nowhere)
        near = seen[np.isfinite(seen[:, 0])]
        assert_allclose(near[:, 0], gap, atol=1e-8)
        assert_allclose(near[:, 4:], np.tile([0.0, 0.0, 1.0], (len(near), 1)), atol=1e-7)
        assert_allclose(near[:, 3], low + 0.5 * gap, atol=1e-8)
        # Two points of capsules on one line fall together.
        assert len(near) >= 3 if {upper, lower} <= set(FLAT) else len(near) <= 2
    far = manifolds(at(0.0, 0.0, up + low + 0.02), np.zeros(6), 0.0, nowhere)
    assert np.isinf(far[:, 0]).all()


APART = ("sphere", "capsule", "cylinder", "convex", "box")
PAIRS = [*itertools.combinations_with_replacement(APART, 2)]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_least_gaps_are_those_of_another_library(one, other):
    """Solids turned at random, 5 mm apart by coal, have that as their least gap.

    Both iterate, which leaves 2e-6 m.
    """
    coal = pytest.importorskip("coal")
    make = {
        "sphere": lambda: coal.Sphere(0.1),
        "box": lambda: coal.Box(0.2, 0.2, 0.2),
        "capsule": lambda: coal.Capsule(0.1, 0.2),
        "cylinder": lambda: coal.Cylinder(0.1, 0.2),
        "convex": lambda: coal.Box(0.2, 0.2, 0.2),
    }
    request = coal.DistanceRequest(True)
    request.gjk_tolerance, request.gjk_max_iterations = 1e-12, 1000
    generator = np.random.default_rng(3)
    for _ in range(5):
        fixed, turned = Rotation.random(2, random_state=int(generator.integers(1 << 31)))
        direction = generator.normal(size=3)
        place, found = 0.6 * direction / np.linalg.norm(direction), coal.DistanceResult()
        for _ in range(3):
            found.clear()
            coal.distance(
                make[one](), coal.Transform3s(turned.as_matrix(), place),
                make[other](), coal.Transform3s(fixed.as_matrix(), np.zeros(3)),
                request, found,
            )  # fmt: skip
            # To 5 mm apart, along the shortest way between them.
            apart = found.getNearestPoint1() - found.getNearestPoint2()
            place = place - apart * (1.0 - 5e-3 / np.linalg.norm(apart))
        solids = SOLIDS[one][0]("body"), SOLIDS[other][0]("world")
        at_rest = replace(solids[1], pose=pose((0, 0, 0), fixed.as_matrix()))
        manifolds = Manifolds(floating().model, [ShapeContact("pair", solids[0], at_rest)])
        nowhere = np.full((manifolds.count, 3), np.nan)
        seen = manifolds(np.array([*place, *turned.as_quat()]), np.zeros(6), 0.0, nowhere)
        nearest = seen[seen[:, 0].argmin()]
        assert_allclose(nearest[0], 5e-3, atol=2e-6)
        assert_allclose(nearest[4:], apart / np.linalg.norm(apart), atol=2e-3)


@pytest.mark.parametrize(("one", "other"), [("box", "cylinder"), ("capsule", "convex")])
def test_several_points_do_not_leave_out_the_nearest(one, other):
    """Up to 4 mm apart and 2 mm deep the least gap is never more than that of another library.

    Where it is less MuJoCo's own points are 0.1 mm deeper.
    """
    coal = pytest.importorskip("coal")
    make = {
        "box": lambda: coal.Box(0.2, 0.2, 0.2),
        "cylinder": lambda: coal.Cylinder(0.1, 0.2),
        "capsule": lambda: coal.Capsule(0.1, 0.2),
        "convex": lambda: coal.Box(0.2, 0.2, 0.2),
    }
    first, second, found = make[one](), make[other](), coal.DistanceResult()
    request, fixed = coal.DistanceRequest(True), coal.Transform3s.Identity()
    solids = SOLIDS[one][0]("body"), SOLIDS[other][0]("world")
    manifolds = Manifolds(floating().model, [ShapeContact("pair", *solids)])
    nowhere, generator = np.full((manifolds.count, 3), np.nan), np.random.default_rng(3)
    for _ in range(60):
        turn = Rotation.random(random_state=int(generator.integers(1 << 31)))
        direction = generator.normal(size=3)
        place, wanted = 0.4 * direction / np.linalg.norm(direction), generator.uniform(-2e-3, 4e-3)
        for _ in range(8):
            found.clear()
            moved = coal.Transform3s(turn.as_matrix(), place)
            gap = coal.distance(first, moved, second, fixed, request, found)
            place = place * (1.0 - (gap - wanted) / np.linalg.norm(place))
        found.clear()
        moved = coal.Transform3s(turn.as_matrix(), place)
        gap = coal.distance(first, moved, second, fixed, request, found)
        seen = manifolds(np.array([*place, *turn.as_quat()]), np.zeros(6), 0.0, nowhere)
        assert seen[:, 0].min() < gap + 2e-5


def test_boxes_meet_in_all_directions():
    """Two cubes at random, pushed into each other until their corners or edges have met, touch.

    Gaps before that are those of the test above.
    """
    hull, box = (SOLIDS[kind][0]("body") for kind in ("convex", "box"))
    generator = np.random.default_rng(5)
    for _ in range(20):
        fixed, turned = Rotation.random(2, random_state=int(generator.integers(1 << 31)))
        frame = pose((0, 0, 0), fixed.as_matrix())
        pairs = [
            ShapeContact("hulls", hull, Solid.convex("world", CUBE, frame)),
            ShapeContact("boxes", box, Solid.box("world", (0.2, 0.2, 0.2), frame)),
        ]
        manifolds = Manifolds(floating().model, pairs)
        q = np.array([*generator.normal(size=3), *turned.as_quat()])
        q[:3] *= 0.4 / np.linalg.norm(q[:3])
        last = np.full((manifolds.count, 3), np.nan)
        while not (manifolds(q, np.zeros(6), 0.0, last)[:4, 0] < -1e-6).any():
            gap = manifolds(q, np.zeros(6), 0.0, last)[:4, 0].min()
            # Nearer by no more than what is between them.
            q[:3] *= 1.0 - max(min(gap, 5e-3), 2e-6) / np.linalg.norm(q[:3])
        seen = manifolds(q, np.zeros(6), 0.0, last)
        assert_allclose(seen[4:, 0].min(), seen[:4, 0].min(), atol=2e-5)


def test_points_stay_in_their_slots():
    """The points of a box that turns about its normal go on in the slots that they had."""
    contact = ShapeContact("box", Solid.box("body", (0.2, 0.2, 0.1)), Solid.plane("world"))
    manifolds = Manifolds(floating().model, [contact])
    q, last, first = at(0, 0, 0.05), np.full((4, 3), np.nan), None
    for angle in np.linspace(0.0, 2.0 * np.pi, 100):
        q[3:] = Rotation.from_euler("z", angle).as_quat()
        last = manifolds(q, np.zeros(6), 0.0, last)[:, 1:4]
        own = Rotation.from_euler("z", -angle).apply(last)
        first = own if first is None else first
        assert_allclose(own, first, atol=1e-9)


@pytest.mark.parametrize("friction", [0.0, 100.0], ids=["slides", "rolls"])
def test_a_ball_runs_down_a_ball(friction):
    """Its force is m g (3 cos a - 2 cos a0), or (17 cos a - 10 cos a0) / 7 when it rolls.

    To first order in the step: 0.0017 m g at a quarter of a millisecond, and 0 once it has left.
    """
    R, r, start = 0.5, 0.1, 0.2
    robot = floating(1.0, [0.4 * r * r] * 3)
    contact = ShapeContact(
        "ball", Solid.sphere("body", r), Solid.sphere("world", R), Material(friction)
    )
    q = at((R + r) * np.sin(start), 0.0, (R + r) * np.cos(start))

    def worst(step):
        sim = rd.Simulation(robot, contacts=[contact], q=q, period=step, step=step)
        off = []
        while True:
            seen = sim.step(np.zeros(6))
            cosine = seen.q[2] / np.hypot(seen.q[0], seen.q[2])
            force = sim.contacts[0].force[2] / G
            expected = 3.0 * cosine - 2.0 * np.cos(start)
            if friction:
                expected = (17.0 * cosine - 10.0 * np.cos(start)) / 7.0
            if expected < -0.05:
                assert abs(force) < 1e-12
                return max(off)
            if expected > 0.05:
                off.append(abs(force - expected))

    coarse, fine = worst(1e-3), worst(2.5e-4)
    assert fine < 0.002
    assert fine < 0.3 * coarse


@pytest.mark.parametrize("lower", ["plane", "box"])
def test_a_cylinder_rolls_down_a_slope(lower):
    """With two thirds of the acceleration of a sliding body; it keeps its direction."""
    angle, r = 0.2, 0.1
    turn = Rotation.from_euler("y", angle).as_matrix()
    slope = Solid.plane("world", pose((0, 0, 0), turn))
    if lower == "box":
        slope = Solid.box("world", (4.0, 1.0, 0.1), pose(-0.05 * turn[:, 2], turn))
    contact = ShapeContact("cylinder", Solid.cylinder("body", r, 0.2), slope, Material(0.6))
    robot = floating(2.0, (0.01, 0.01, 0.5 * 2.0 * r * r))
    half = np.sqrt(0.5)
    q = np.array([*(r * turn[:, 2]), half, 0.0, 0.0, half])  # its axis along y
    sim = rd.Simulation(robot, contacts=[contact], q=q, period=0.01)
    for _ in range(30):
        seen = sim.step(np.zeros(6))
    way = turn.T @ (seen.q[:3] - q[:3])
    assert_allclose(way, [0.5 * (2.0 / 3.0) * G * np.sin(angle) * 0.3**2, 0.0, 0.0], atol=1e-6)
    pressing = [c.force[2] for c in sim.contacts if c.force[2] > 0.0]
    assert_allclose(sum(pressing), 2.0 * G * np.cos(angle), rtol=2e-4)  # first order
    assert len(pressing) == 2


def test_a_box_falls_alike_on_corners_a_plane_and_a_box():
    """A tilted box drops, bounces and slides: by vertices, and by three pairs of shapes.

    Impacts are found from the gap at the middle of a step, which of corners is not the same
    function of time as of shapes: 1e-5 rad of that remain after a bounce.
    """
    half = (0.1, 0.06, 0.04)
    points = np.array(list(itertools.product(*[(-h, h) for h in half])))
    material, robot = Material(0.3, restitution=0.2), floating()
    box, hull = Solid.box("body", 2.0 * np.array(half)), Solid.convex("body", points)
    table = Solid.box("world", (2.0, 2.0, 0.2), pose((0, 0, -0.1)))
    ways = [
        vertices(PointContact("corner", "body", material=material), points),
        [ShapeContact("box", box, Solid.plane("world"), material)],
        [ShapeContact("hull", hull, Solid.plane("world"), material)],
        [ShapeContact("box", box, table, material, points=4)],
    ]
    tilt = Rotation.from_euler("xyz", [0.3, 0.2, 0.0]).as_quat()
    ends = []
    for contacts in ways:
        q = [0, 0, 0.15, *tilt]
        sim = rd.Simulation(robot, contacts=contacts, q=q, qd=[0, 0, 0, 0.5, 0.2, 0], period=0.01)
        energies = [sum(robot.energies(sim.observation.q, sim.observation.qd))]
        for _ in range(40):
            seen = sim.step(np.zeros(6))
            energies.append(sum(robot.energies(seen.q, seen.qd)))
        assert np.diff(energies).max() < 5e-6  # of 3.2 J: where it tips over an edge
        assert np.abs(seen.qd).max() < 1e-6
        ends.append(seen.q)
    for end in ends[1:]:
        assert_allclose(end, ends[0], atol=3e-5)
    assert abs(ends[0][0]) > 0.05  # it went somewhere


@pytest.mark.parametrize("speed", [10.0, 100.0, 300.0])
def test_a_bullet_bounces_off_a_thin_plate(speed):
    """A ball of 1 mm that goes by up to 75 mm in a step hits a plate of 1 mm at the right time.

    After that it has half the speed, and is where that leads to: times are right to 1e-9.
    """
    drop, period, r = 0.3, 0.2 / speed, 5e-4
    plate = Solid.box("world", (1.0, 1.0, 1e-3), pose((0, 0, -5e-4)))
    contact = ShapeContact("ball", Solid.sphere("body", r), plate, Material(restitution=0.5))
    start = {"q": at(0, 0, r + drop), "qd": [0, 0, 0, 0, 0, -speed]}
    robot = floating(1e-3, [1e-9] * 3)
    sim = rd.Simulation(robot, contacts=[contact], period=period, step=period / 3, **start)
    for _ in range(2):
        seen = sim.step(np.zeros(6))
    impact = np.sqrt(speed**2 + 2.0 * G * drop)
    time = 2.0 * period - (impact - speed) / G
    assert_allclose(seen.q[2], r + 0.5 * impact * time - 0.5 * G * time**2, atol=1e-9 * impact)
    assert sim.contacts[0].impacts == 1


def test_a_bullet_beside_a_plate_goes_on():
    """A body 1 mm above a thin plate, at 300 m/s, is neither stopped nor late."""
    plate = Solid.box("world", (1.0, 1.0, 1e-3), pose((0, 0, -5e-4)))
    contact = ShapeContact("ball", Solid.sphere("body", 5e-4), plate)
    q, qd = at(-1.0, 0, 1.6e-3), [0, 0, 0, 300.0, 0, 0]
    sim = rd.Simulation(floating(), contacts=[contact], q=q, qd=qd, period=1e-3)
    for _ in range(7):
        seen = sim.step(np.zeros(6))
    assert_allclose(seen.q[[0, 2]], [1.1, 1.6e-3 - 0.5 * G * 0.007**2], atol=1e-12)


def test_a_fast_rod_bounces_off_a_post():
    """A rod of half a metre that turns by 400 rad/s hits a thin ball, and turns back as fast."""
    links = (LinkElement("world"), LinkElement("body", 1.0, (0.25, 0, 0), np.eye(3) * 0.02))
    joint = JointElement("pin", "revolute", "world", "body", axis=(0, 0, 1))
    robot = rd.Robot.from_mechanism(Mechanism("rod", links, (joint,)))
    along = pose((0.25, 0, 0), Rotation.from_euler("y", 90, degrees=True).as_matrix())
    rod = Solid.capsule("body", 1e-3, 0.5, along)
    post = Solid.sphere("world", 1e-3, pose((0.0, 0.45, 0)))
    contact = ShapeContact("rod", rod, post, Material(0.0, restitution=1.0))
    speed, period = 400.0, 5e-3
    sim = rd.Simulation(robot, contacts=[contact], q=[0.0], qd=[speed], period=period)
    seen = sim.step(np.zeros(1))
    touches = 0.5 * np.pi - np.arcsin(2e-3 / 0.45)
    # Steps end at the impact to a ten-millionth of a metre.
    assert_allclose(seen.q[0], 2.0 * touches - speed * period, atol=1e-6)
    assert_allclose(seen.qd[0], -speed, rtol=1e-9)


def test_fast_plates_that_tumble_bounce_off_balls_without_loss():
    """Whatever they hit first, a face, an edge or a corner: each impact is met, and elastic."""
    generator = np.random.default_rng(1)
    robot = floating(1.0, [1.0] * 3)  # impacts change its spin little, or steps were too long
    ball, hits = Solid.sphere("world", 4e-3), 0
    for _ in range(20):
        plate = Solid.box("body", generator.uniform(4e-3, (8e-3, 0.06, 0.06)))
        contact = ShapeContact("plate", plate, ball, Material(0.0, restitution=1.0))
        direction, spin, off = generator.normal(size=(3, 3))
        direction *= 300.0 / np.linalg.norm(direction)
        turn = Rotation.random(random_state=int(generator.integers(1 << 31)))
        q = [*(0.01 * off - 7e-4 * direction), *turn.as_quat()]
        qd = [*(100.0 * spin), *turn.inv().apply(direction)]
        sim = rd.Simulation(robot, contacts=[contact], q=q, qd=qd, period=1.5e-3)
        before, seen = sum(robot.energies(q, qd)), sim.step(np.zeros(6))
        assert_allclose(sum(robot.energies(seen.q, seen.qd)), before, rtol=1e-9)
        hits += sim.contacts[0].impacts
    assert hits > 10


def test_two_fast_bodies_do_not_pass_each_other():
    """A thin plate and a cube, each at 150 m/s, that are equally heavy exchange their speeds."""
    robot = rd.Robot.from_mechanism(
        Mechanism(
            "two equal bodies",
            (LinkElement("world"), *(LinkElement(n, 1.0, (0, 0, 0), np.eye(3)) for n in "ab")),
            tuple(JointElement(f"free {n}", "floating", "world", n) for n in "ab"),
        )
    )
    plate, cube = Solid.box("a", (1e-3, 0.1, 0.1)), Solid.box("b", (0.01, 0.01, 0.01))
    contact = ShapeContact("both", plate, cube, Material(0.0, restitution=1.0))
    q = np.concatenate([at(-0.1003, 0, 0), at(0.1, 0, 0)])
    qd = [0, 0, 0, 150.0, 0, 0, 0, 0, 0, -150.0, 0, 0]
    sim = rd.Simulation(robot, contacts=[contact], q=q, qd=qd, period=1e-3)
    seen = sim.step(np.zeros(12))
    assert_allclose(seen.qd[[3, 9]], [-150.0, 150.0], rtol=1e-9)
    way = 150.0 * (2.0 * (0.2003 - 5.5e-3) / 300.0 - 1e-3)
    assert_allclose(seen.q[[0, 7]], [-0.1003 + way, 0.1 - way], atol=1e-9)


def test_fast_bodies_do_not_fall_through():
    """A ball that goes by three centimetres in a long step lies on the table afterwards."""
    table = Solid.box("world", (1.0, 1.0, 0.2), pose((0, 0, -0.1)))
    contact = ShapeContact("ball", Solid.sphere("body", 0.05), table)
    q, qd = at(0, 0, 0.105), [0, 0, 0, 0, 0, -30.0]
    sim = rd.Simulation(floating(), contacts=[contact], q=q, qd=qd, period=0.01, step=1e-3)
    for _ in range(5):
        seen = sim.step(np.zeros(6))
    assert_allclose(seen.q[:3], [0.0, 0.0, 0.05], atol=1e-9)
    assert_allclose(seen.qd, 0.0, atol=1e-9)


def test_a_coin_falls_flat_onto_a_table_in_long_steps():
    """It comes to rest, and is never deeper than 0.5 mm on the way."""
    r, m = 0.012, 0.005
    table = Solid.box("world", (4.0, 4.0, 0.1), pose((0, 0, -0.05)))
    contact = ShapeContact("coin", Solid.cylinder("body", r, 0.002), table, Material(0.5))
    robot = floating(m, m * r * r * np.array([0.25, 0.25, 0.5]))
    for seed in range(8):
        q = [0, 0, 0.5, *Rotation.random(random_state=seed).as_quat()]
        sim = rd.Simulation(robot, contacts=[contact], q=q, period=8e-3, step=4e-3)
        for _ in range(150):
            seen = sim.step(np.zeros(6))
            assert min(c.gap for c in sim.contacts) > -5e-4
        assert abs(seen.q[2] - 1e-3) < 1e-6
        assert np.abs(seen.qd).max() < 1e-6


def test_a_box_slides_off_a_table():
    """Shapes have edges: it tips over the table's, turns and falls."""
    robot, table = floating(), Solid.box("world", (1.0, 1.0, 0.1), pose((0, 0, -0.05)))
    box = ShapeContact("box", Solid.box("body", (0.1, 0.1, 0.1)), table, Material(0.2), points=4)
    sim = rd.Simulation(
        robot, contacts=[box], q=at(0.4, 0, 0.05), qd=[0, 0, 0, 1.2, 0, 0], period=0.01
    )
    energies = []
    for _ in range(60):
        seen = sim.step(np.zeros(6))
        energies.append(sum(robot.energies(seen.q, seen.qd)))
    assert seen.q[0] > 0.8
    assert seen.q[2] < -0.8
    assert seen.qd[1] > 1.0  # over the edge, forwards
    assert np.diff(energies).max() < 2e-6


def two_bodies() -> rd.Robot:
    """Return two free bodies of 1 and 2 kg."""
    links = [LinkElement("world")]
    links += [
        LinkElement(n, m, (0, 0, 0), np.eye(3) * 1e-3 * m) for n, m in (("a", 1.0), ("b", 2))
    ]
    joints = [JointElement(f"free {n}", "floating", "world", n) for n in ("a", "b")]
    return rd.Robot.from_mechanism(Mechanism("two bodies", tuple(links), tuple(joints)))


def test_a_stack_stands_and_goes_on_from_a_state():
    """One box falls onto another on a table: weights add up, and states repeat bit for bit."""
    robot = two_bodies()
    a, b = (Solid.box(name, (0.1, 0.1, 0.1)) for name in "ab")
    table = Solid.box("world", (1.0, 1.0, 0.1), pose((0, 0, -0.05)))
    stack = [
        ShapeContact("a on table", a, table, points=4),
        ShapeContact("b on a", b, a, points=4),
    ]
    q = np.concatenate([at(0, 0, 0.05), at(0.03, 0.02, 0.155)])
    sim = rd.Simulation(robot, contacts=stack, q=q, period=0.01)
    sim.step(np.zeros(12))
    middle = sim.state
    for _ in range(19):
        seen = sim.step(np.zeros(12))
    assert np.abs(seen.qd).max() < 1e-9
    assert_allclose(seen.q.reshape(2, 7)[:, 2], [0.05, 0.15], atol=1e-9)
    forces = np.array([c.force[2] for c in sim.contacts]).reshape(2, 4).sum(axis=1)
    assert_allclose(forces, [3.0 * G, 2.0 * G], rtol=1e-9)
    assert [c.name for c in sim.contacts][3:5] == ["a on table 4", "b on a 1"]
    sim.state = middle
    for _ in range(19):
        again = sim.step(np.zeros(12))
    assert np.array_equal(again.q, seen.q)


def test_soft_boxes_that_part_go_on_bit_for_bit():
    """A point that is nowhere leaves nothing of the calls before in the rows of its slot."""
    robot, soft = two_bodies(), Material(0.5, stiffness=1e4, restitution=1.0)
    a, b = Solid.box("a", (0.4, 0.3, 0.2)), Solid.box("b", (0.1, 0.1, 0.1))
    corners = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
    contacts = [
        *vertices(PointContact("a", "a", material=soft), corners),
        ShapeContact("b", b, Solid.plane("world"), soft),
        ShapeContact("b on a", b, a, soft),
    ]
    q = [*at(0, 0, 0.4), *at(0.05, 0, 0.7)]
    qd = [1.0, 2.0, 3.0, 0.3, 0, 0, 5.0, 4.0, 3.0, 0, 0, -1.0]
    sim = rd.Simulation(robot, contacts=contacts, q=q, qd=qd, period=0.002)
    states, seen = [], []
    for _ in range(400):
        states.append(sim.state)
        seen.append(sim.step(np.zeros(12)).q)
    for k in range(0, 400, 4):
        sim.state = states[k]
        assert np.array_equal(sim.step(np.zeros(12)).q, seen[k]), k


def test_shapes_of_a_description():
    """Links touch with their collision geometry, meshes with their hulls."""
    text = """
    <robot name="cell"><link name="world"><collision><origin xyz="0 0 -0.1"/><geometry>
      <box size="1 1 0.2"/></geometry></collision></link>
    <link name="cup"><inertial><mass value="0.5"/>
      <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>
      <collision><geometry><cylinder radius="0.04" length="0.1"/></geometry></collision>
      <collision><origin xyz="0 0 0.07"/><geometry><sphere radius="0.04"/></geometry></collision>
    </link>
    <joint name="free" type="floating"><parent link="world"/><child link="cup"/></joint></robot>"""
    description = load_description(text)
    contacts = contacts_of(description, [("cup", "world"), ("cup", Solid.plane("world"))])
    assert [c.name for c in contacts] == [
        "cup on world (1)", "cup on world (2)", "cup on world (3)", "cup on world (4)",
    ]  # fmt: skip
    sim = rd.Simulation(rd.load(description), contacts=contacts[:2], q=at(0, 0, 0.05))
    for _ in range(5):
        sim.step(np.zeros(6))
    assert_allclose(sum(c.force[2] for c in sim.contacts), 0.5 * G, rtol=1e-9)
    wrong = text.replace('<sphere radius="0.04"/>', '<sphere radius="four"/>')
    with pytest.raises(RobotDynamicsError, match=r":7: link 'cup': radius has 'four'.* left out"):
        contacts_of(load_description(wrong), [("cup", "world")])
    with pytest.raises(UnknownNameError, match="saucer"):
        contacts_of(description, [("saucer", "world")])


def test_meshes_of_a_description(tmp_path):
    """A mesh touches with its convex hull, scaled as the description says."""
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((2.0, 2.0, 2.0)).export(tmp_path / "cube.stl")
    file = tmp_path / "cube.urdf"
    file.write_text(
        '<robot name="cube"><link name="cube"><collision><geometry><mesh filename="cube.stl" '
        'scale="0.1 0.1 0.05"/></geometry></collision></link></robot>'
    )
    (contact,) = contacts_of(load_description(file), [("cube", Solid.plane("world"))])
    assert contact.first.kind == "convex"
    assert_allclose(np.ptp(contact.first.points, axis=0), [0.2, 0.2, 0.1])
    (tmp_path / "cube.stl").write_text("no mesh")
    with pytest.raises(RobotDynamicsError, match=r"cube.stl: cannot be read as a mesh"):
        contacts_of(load_description(file), [("cube", Solid.plane("world"))])


def test_invalid_arguments_are_refused_in_a_sentence(monkeypatch, tmp_path):
    """Sizes, links, kinds and places of use."""
    ball, floor = Solid.sphere("body", 0.1), Solid.plane("world")
    with pytest.raises(ArgumentError, match=r"box on 'body' has the size .* 3 positive numbers"):
        Solid.box("body", (1.0, 1.0))
    with pytest.raises(ArgumentError, match="at least four"):
        Solid.convex("body", np.zeros((5, 3)))
    for make, words in (
        (lambda: Solid.box("body", 1.0), "size 1.0, expected 3"),
        (lambda: Solid.sphere("body", [0.1]), "expected 1 positive"),
        (lambda: Solid.sphere("body", "0.1"), "expected 1 positive"),
        (lambda: Solid.convex("body", [[0, 0, 0], [1, 0]]), "at least four"),
        (lambda: Solid.sphere("body", 0.1, "here"), "pose of the sphere on 'body'"),
        (lambda: Solid.sphere(None, 0.1), "link of a sphere is None"),
        (lambda: Solid("body", ["box"], (1, 1, 1)), r"on 'body' is of kind \['box'\]"),
        (lambda: ShapeContact(3, ball, floor), "name of a contact is 3"),
        (lambda: ShapeContact("c", ball, floor, points=2.5), "points of contact 'c' is 2.5"),
        (
            lambda: contacts_of(floating(), [("body", floor)]),
            "description is .*`load_description`",
        ),
        (lambda: collision_solids(floating(), "body"), "description is .*`load_description`"),
    ):
        with pytest.raises(ArgumentError, match=words):
            make()
    (tmp_path / "one.urdf").write_text('<robot name="one"><link name="one"/></robot>')
    with pytest.raises(ArgumentError, match="pairs are None"):
        contacts_of(load_description(tmp_path / "one.urdf"), None)
    for pair in (("one",), ("one", "one", "one"), "one", ("one", None)):
        with pytest.raises(ArgumentError, match=r"a pair is .*, expected two links or solids"):
            contacts_of(load_description(tmp_path / "one.urdf"), [pair])
    with pytest.raises(ArgumentError, match="two planes"):
        ShapeContact("c", floor, floor)
    hull = Solid.convex("body", 1e-6 * np.vstack([np.zeros(3), np.eye(3)]))
    words = r"^contact 'c': MuJoCo refuses a convex hull of 0.001 mm \([^\n]*\), expected larger"
    with pytest.raises(RobotDynamicsError, match=words):
        rd.Simulation(floating(), contacts=[ShapeContact("c", hull, floor)])
    with pytest.raises(ArgumentError, match="expected 1 to 8"):
        ShapeContact("c", ball, floor, points=9)
    with pytest.raises(ArgumentError, match="two objects of type Solid"):
        ShapeContact("c", ball, "floor")
    with pytest.raises(ArgumentError, match="parts of one body"):
        rd.Simulation(floating(), contacts=[ShapeContact("c", ball, ball)])
    corner = PointContact("c 1", "body")  # called as a point of the shapes is
    with pytest.raises(ArgumentError, match="2 contacts are named 'c 1'"):
        rd.Simulation(floating(), contacts=[ShapeContact("c", ball, floor, points=2), corner])
    contact = ShapeContact("ball", ball, floor)
    with pytest.raises(ArgumentError, match=r"'ball' is 50 mm deep .* expected 1 mm at most"):
        rd.Simulation(floating(), contacts=[contact], q=at(0, 0, 0.05))
    with pytest.raises(ArgumentError, match=r"1 of 1 contacts are ShapeContact"):
        Contacts(floating(), [contact])
    install = r"pip install 'robot_dynamics\[collision\]'"
    monkeypatch.setattr(mujoco, "__version__", "3.10.2")
    with pytest.raises(RobotDynamicsError, match=rf"3.17 or newer, and this is 3.10.2: {install}"):
        rd.Simulation(floating(), contacts=[contact], q=at(0, 0, 0.1))
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(RobotDynamicsError, match=install):
        rd.Simulation(floating(), contacts=[contact], q=at(0, 0, 0.1))


def test_a_shape_that_is_deep_pushes_and_is_told(caplog):
    """A ball that is put 10 mm into the floor is logged once, and comes out of it."""
    ball = ShapeContact("ball", Solid.sphere("body", 0.1), Solid.plane("world"))
    sim = rd.Simulation(floating(), contacts=[ball], q=at(0, 0, 0.1))
    sim._plant.engine.stepping.q[2] = 0.09
    for _ in range(100):
        seen = sim.step(np.zeros(6))
    assert caplog.text.count("contact 'ball' is more than 1 mm deep in something rigid") == 1
    assert "does not push" not in caplog.text
    assert seen.q[2] > 0.0999
