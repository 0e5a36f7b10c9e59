# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Soft contact with friction (11.8): the book's laws, and time steps against them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from support.touching import at, floating

import robot_dynamics as rd
from robot_dynamics.contact.material import Material
from robot_dynamics.contact.points import PointContact, vertices
from robot_dynamics.contact.shapes import ShapeContact, Solid
from robot_dynamics.contact.soft import (
    ContactSprings,
    displaced,
    friction_force,
    normal_force,
    normal_impulse,
    normal_slope,
    relaxed,
    tangential_slope,
)
from robot_dynamics.contact.solver import ContactProblem
from robot_dynamics.contact.surfaces import plane
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import JointElement, LinkElement, Mechanism, pose
from robot_dynamics.simulation.contact.compliant_contacts import move_patches, press
from robot_dynamics.simulation.contact.contact_arrays import (
    ContactLaws,
    ContactMemory,
    Rows,
    SoftSurfaces,
    StepEnd,
    StepRecords,
    StepStart,
    StepState,
    StepTrial,
)
from robot_dynamics.simulation.contact.report import ContactMode
from robot_dynamics.simulation.contact.terms import StepTerms

G, M = 9.81, 2.0
K, D, KT, DT, MU = 2e4, 80.0, 1e4, 40.0, 0.4
SOFT = Material(
    MU, stiffness=K, damping=D, tangential_stiffness=KT, tangential_damping=DT
)  # fmt: skip


def point_mass(angle=0.0, height=0.0, qd=(0, 0, 0, 0, 0, 0), material=SOFT, **how):
    """Return the simulation of a body that touches a slope with its centre: it does not turn."""
    slope = plane((0, 0, 0), (np.sin(angle), 0, np.cos(angle)))
    contact = PointContact("point", "body", surface=slope, material=material)
    return rd.Simulation(floating(M), contacts=[contact], q=at(0, 0, height), qd=qd, **how)


@pytest.mark.book("K5")
def test_the_laws_are_those_of_the_book():
    """(11.74) does not pull; (11.79) is within the cone; (11.77) keeps a patch that sticks."""
    depth, rate = np.array([1e-3, 1e-3, 0.0]), np.array([0.1, -1.0, -1.0])
    assert_allclose(normal_force(K, D, depth, rate), [K * 1e-3 + D * 0.1, 0.0, 0.0])
    x, v = np.array([1e-4, -2e-4]), np.array([0.01, 0.02])
    force, rate_x = friction_force(KT, DT, MU, 100.0, x, v)
    assert_allclose(force, -KT * x - DT * v)  # it sticks, and x' = v
    assert_allclose(rate_x, v)
    force, rate_x = friction_force(KT, DT, MU, 2.0, x, v)
    assert_allclose(np.linalg.norm(force), MU * 2.0)
    assert_allclose(DT * rate_x + KT * x + force, 0.0, atol=1e-15)  # (11.77)
    assert_allclose(relaxed(K, D, np.array([1e-3]), 2e-3), 1e-3 * np.exp(-K / D * 2e-3))
    assert_allclose(relaxed(K, 0.0, np.array([1e-3, 0.0]), 2e-3), 0.0)


def only(record, **fields):
    """Return a record of which a routine uses some fields."""
    return record(**{name: fields.get(name) for name in record._fields})


def law(start, least=0.0, damping=0.0, loss=0.0, most=np.inf, held=0.0):
    """Return the law of one contact that begins a step at a depth; see `normal_impulse`."""
    each = {"K": K, "D": damping, "most": most, "held": held, "loss": loss, "least": least}
    each |= {"start": start, "u": 0.0, "low": 0.0, "high": 0.0}
    return ContactSprings(**{name: np.array([value]) for name, value in each.items()})


@pytest.mark.book("K5")
def test_steps_are_the_laws_at_a_small_step():
    """Impulses are h f of the state in the middle of the step, or at its end."""
    h, depth, speed, after = 1e-6, 1e-3, 0.2, 0.1
    P = normal_impulse(law(depth, damping=D), 0, depth + 0.5 * h * (speed + after), h)
    assert_allclose(P / h, normal_force(K, D, np.array(depth), np.array(0.15)), rtol=1e-4)
    P = normal_impulse(law(depth, loss=5.0), 0, depth + 0.5 * h * (speed + after), h)
    assert_allclose(P / h, K * depth * (1.0 + 5.0 * 0.15), rtol=1e-3)
    # Of a long step it is the mean of the forces at both ends, the depth going on by mean speed.
    long, first, mean = 1e-2, depth - 0.5e-2 * speed, 0.5 * (speed + after)
    P = normal_impulse(law(first, -1.0, D), 0, first + long * mean, long)
    assert_allclose(P / long, K * (first + 0.5 * long * mean) + D * mean, rtol=1e-12)
    x, v = np.array([1e-4, -2e-4]), np.array([0.01, 0.02])
    for mu in (100.0, 0.01):
        force, rate = friction_force(KT, DT, mu, 50.0, x, v)
        moved = [displaced(KT, DT, one, f, h) for one, f in zip(x, force, strict=True)]
        assert_allclose((moved - x) / h, rate, rtol=2e-3)
    P = -h * KT * x - tangential_slope(KT, DT, h) * v
    assert_allclose(P / h, friction_force(KT, DT, 100.0, 50.0, x, v)[0], rtol=1e-3)


@pytest.mark.parametrize("least", [0.0, 1e-3])
@pytest.mark.parametrize("start", [-2e-3, 5e-4, 3e-3])
def test_impulses_of_springs_do_the_work_that_is_stored(start, least):
    """Over the way of a step, wherever it begins and ends; dampers only take."""
    h = 1e-3
    for end in np.linspace(-3e-3, 4e-3, 15):
        way = end - start
        stored = 0.5 * K * (max(end, least) ** 2 - max(start, least) ** 2)
        assert_allclose(normal_impulse(law(start, least), 0, end, h) * way / h, stored, atol=1e-13)
        for damper in ({"damping": D}, {"loss": 5.0}, {"damping": D, "most": 0.1 * D}):
            P = normal_impulse(law(start, least, **damper), 0, end, h)
            assert P * way / h >= stored - 1e-13


@pytest.mark.parametrize(
    "damper",
    [{}, {"damping": D}, {"loss": 5.0}, {"damping": D, "most": D / 2, "held": 0.1}],
)
def test_the_slope_of_an_impulse(damper):
    """It is its derivative, to that of differences."""
    h, off = 1e-3, 1e-9
    for start in (-2e-3, 5e-4, 3e-3):
        for end in np.linspace(-3e-3, 6e-3, 13) + 1e-5:
            of = law(start, 1e-3, **damper)
            ends = [normal_impulse(of, 0, end + d, h) for d in (off, -off)]
            by_way = (ends[0] - ends[1]) / (2.0 * off)
            assert_allclose(normal_slope(of, 0, end, h), 0.5 * h * by_way, rtol=1e-4, atol=1e-7)


def test_a_grazing_contact_does_not_spoil_other_rows():
    """Linearised at 1e-17 m of the depth of a step; other rows are lost beside much compliance."""
    h, start, rates = 1e-3, -1e-4, np.zeros(3)
    compliance, c, on = np.zeros(3), np.zeros(3), np.ones(1, dtype=bool)
    u = 2.0 * (start - 1e-17) / h
    step = only(
        StepRecords,
        terms=only(StepTerms, before=rates, after=rates),
        trial=StepTrial(h=h, start=StepStart(within=np.ones(1, dtype=bool)), springs=law(start)),
        problem=only(ContactProblem, compliance=compliance, c=c, touching=on),
    )
    press(step, 0, 0, u)
    assert on[0]
    assert 1.0 / (h * h * K) < compliance[0] < 1e3 / (h * h * K)
    assert_allclose(c[0], -u, rtol=1e-9)


def test_a_damper_stops_at_most():
    """It stops the motion into the surface within the step; further loads sink in as slowly."""
    h, mass, speed = 1e-3, 2.0, 0.3
    of = law(1e-3, damping=1e8, most=2.0 * mass / h)
    of.K[0] = 0.0
    stopped = 1e-3 + 0.5 * h * speed  # by the mean of this speed and none
    assert_allclose(normal_impulse(of, 0, stopped, h), mass * speed, rtol=1e-12)
    of.held[0], creeping = M * G * h, M * G * h / 1e8
    assert_allclose(normal_impulse(of, 0, 1e-3 + creeping, h), M * G * h, rtol=1e-6)


@pytest.mark.book("K5")
def test_a_body_rests_where_springs_bear_it():
    """On a slope below arctan(mu) it sinks and shifts by weight over stiffness, and sticks."""
    angle = np.arctan(MU) - 0.1
    sim = point_mass(angle, period=0.01, step=1e-3)
    for _ in range(100):
        seen = sim.step(np.zeros(6))
    n, t = (
        np.array([np.sin(angle), 0, np.cos(angle)]),
        np.array([np.cos(angle), 0, -np.sin(angle)]),
    )
    place = seen.q[:3]
    assert_allclose(place @ n, -M * G * np.cos(angle) / K, rtol=1e-8)
    # On its way down the patch slipped a little: what is left of x bears the weight.
    (contact,) = sim.contacts
    assert contact.state is ContactMode.STICKING
    assert_allclose(contact.force[2], M * G * np.cos(angle), rtol=1e-8)
    along = contact.axes[:2].T @ contact.force[:2]
    assert_allclose(along @ t, -M * G * np.sin(angle), rtol=3e-6)  # what is left of swinging
    assert_allclose(seen.qd, 0.0, atol=1e-6)


@pytest.mark.book("K5")
@pytest.mark.parametrize(("off", "moves"), [(-1e-3, False), (1e-3, True)])
def test_the_angle_of_repose_of_soft_contact(off, moves):
    """It sticks below arctan(mu) and slides above, with g (sin - mu cos)."""
    angle = np.arctan(MU) + off
    start = -M * G * np.cos(angle) / K / np.cos(angle)
    damped = dataclasses.replace(SOFT, tangential_damping=400.0)  # it does not swing
    sim = point_mass(angle, height=start, material=damped, period=0.01, step=1e-3)
    speeds = []
    for _ in range(200):
        seen = sim.step(np.zeros(6))
        speeds.append(np.linalg.norm(seen.qd[3:]))
    down = G * (np.sin(angle) - MU * np.cos(angle))
    if moves:
        assert_allclose(speeds[-1] - speeds[99], down, rtol=1e-3)  # over a second
    else:
        assert_allclose(speeds[-1], 0.0, atol=1e-9)


@pytest.mark.book("K5")
def test_steps_converge_to_the_book_as_a_differential_equation():
    """A body that is thrown along the floor: drop, slip, stick and swing, against solve_ivp."""
    start, end, v0 = 2e-3, 0.06, 0.5

    def rates(_, y):
        _, pz, vx, vz, x, z = y  # z: depth of the patch
        depth = -pz
        touches = depth >= z - 1e-12
        f = float(normal_force(K, D, np.array(depth), np.array(-vz))) if touches else 0.0
        along, rate = friction_force(KT, DT, MU, f, np.array([x, 0.0]), np.array([vx, 0.0]))
        z_rate = -vz if f > 0.0 else -K * z / D
        return [vx, vz, along[0] / M, f / M - G, rate[0], z_rate]

    y0 = [0.0, start, v0, 0.0, 0.0, 0.0]
    exact = solve_ivp(rates, (0.0, end), y0, rtol=1e-9, atol=1e-11, max_step=2e-5).y[:, -1]
    errors = []
    for step in (2e-4, 1e-4):
        sim = point_mass(height=start, qd=[0, 0, 0, v0, 0, 0], period=end, step=step)
        seen = sim.step(np.zeros(6))
        errors.append(np.abs(seen.q[[0, 2]] - exact[:2]).max())
    assert max(errors) < 1e-6  # of 20 mm along the floor, with kinks where it slips and sticks


@pytest.mark.book("K5")
def test_a_patch_relaxes_after_the_body_has_left():
    """z = z0 e^(-K t / D) from where the force became zero: the body flies meanwhile."""
    slow = Material(MU, stiffness=K, damping=400.0)
    sim = point_mass(height=0.0, qd=[0, 0, 0, 0, 0, -0.5], material=slow, period=1e-3, step=1e-4)
    motion, forces, left = sim._plant.engine.stepping, [], []
    for i in range(200):
        sim.step([0, 0, 0, 0, 0, 100.0 if i > 10 else 0.0])  # it is lifted off
        forces.append(sim.contacts[0].force[2])
        left.append(
            (bool(motion.state.contacts.pressed[0]), float(motion.state.surfaces.patch[0]))
        )
    assert min(forces) == 0.0
    free = [i for i in range(1, 200) if not left[i][0] and not left[i - 1][0] and left[i - 1][1]]
    assert len(free) > 10
    for i in free[:10]:
        assert_allclose(left[i][1] / left[i - 1][1], np.exp(-K / 400.0 * 1e-3), rtol=1e-9)


def test_a_body_falls_freely_into_a_patch_that_is_deeper():
    """The stored energy is the patch's; the body does not supply it."""
    slow = Material(MU, stiffness=K, damping=1e6)
    sim = point_mass(height=0.0, qd=[0, 0, 0, 0, 0, -0.1], material=slow, period=1e-3)
    motion, deep = sim._plant.engine.stepping, 5e-3
    motion.state.surfaces.patch[0] = deep
    account = motion.state.account
    account.energy[0] += 0.5 * K * deep**2
    account.lost[0] += 0.5 * K * deep**2
    for _ in range(10):
        seen = sim.step(np.zeros(6))
    assert seen.q[2] < -1e-3
    assert_allclose(seen.qd[5], -0.1 - 0.01 * G, rtol=1e-5)  # the patch relaxes by 1e-4


def test_energy_is_lost_by_soft_contacts():
    """Of a body that bounces on dampers and slips kinetic, potential and elastic energy shrink."""
    sim = point_mass(height=0.05, qd=[0, 0, 0, 1.0, 0.3, 0], period=0.005, step=2.5e-4)
    robot, apart = floating(M), []
    for _ in range(120):
        seen = sim.step(np.zeros(6))
        if seen.q[2] > 0.0:
            apart.append(float(sum(robot.energies(seen.q, seen.qd))))
    assert len(apart) > 20
    assert np.diff(apart).max() < 1e-6 * apart[0]


@pytest.mark.parametrize(
    "how", [{"tangential_stiffness": 0.0}, {"damping": -1.0}, {"tangential_damping": np.nan}]
)
def test_bad_materials_are_refused(how):
    """With one sentence."""
    with pytest.raises(ArgumentError, match=f"{next(iter(how))} of a material is"):
        Material(0.5, stiffness=1e4, restitution=0.5, **how)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"damping": 1.0}, "damping of a rigid material is 1, expected a finite"),
        ({"tangential_stiffness": 1e4}, "tangential_stiffness of a rigid material is 10000"),
        ({"stiffness": 1e4, "damping": 3.0, "restitution": 0.5}, "expected exactly one of them"),
        (
            {"stiffness": 1e4, "damping": 3.0, "tangential_damping": 1.0},
            "without tangential_stiffness",
        ),
        ({"friction": "0.5"}, "friction of a material is '0.5', expected a number"),
        ({"stiffness": True}, "stiffness of a material is True, expected a number"),
    ],
)
def test_ineffective_parameters_are_refused(how, words):
    """Dampers and springs of rigid contacts, two losses of one impact, and texts for numbers."""
    with pytest.raises(ArgumentError, match=words):
        Material(**how)


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.6, 0.0, 0.8)])
@pytest.mark.parametrize("shape", [False, True], ids=["point", "shape"])
def test_a_patch_turns_with_its_surface(axis, shape):
    """A slider that leans on its patch does so on a table that turns as on one at rest.

    Seen from the table there is the centrifugal force alone besides.
    """
    if shape:
        pytest.importorskip("mujoco", minversion="3.17")
    force, rate, sunk = 5.0, 4.0, 1e-3
    material = dataclasses.replace(SOFT, tangential_damping=200.0)  # it comes to rest
    links = [LinkElement("world"), LinkElement("table", 1.0, (0, 0, 0), np.eye(3) * 1e7)]
    links.append(LinkElement("slider", M, (0, 0, 0), np.eye(3) * 1e-3))
    low = pose((0, 0, -sunk))
    joints = (
        JointElement("turn", "revolute", "world", "table", axis=axis),
        JointElement("slide", "prismatic", "table", "slider", low, (1.0, 0.0, 0.0)),
    )
    mechanism = Mechanism("turntable", tuple(links), joints)
    contact: PointContact | ShapeContact = PointContact(
        "point", "slider", surface=plane((0, 0, 0), (0, 0, 1)), on="table", material=material
    )
    if shape:
        ball = Solid.sphere("slider", 0.1, pose((0, 0, 0.1)))
        contact = ShapeContact("point", ball, Solid.plane("table"), material)
    off = []
    for w in (0.0, rate):
        sim = rd.Simulation(
            rd.Robot.from_mechanism(mechanism, gravity=(0.0, 0.0, 0.0)),
            contacts=[contact],
            qd=[w, 0.0],
            period=0.005,
        )
        for _ in range(100):  # 1.9 turns
            seen = sim.step([0.0, force])
        (found,) = sim.contacts
        assert found.state is ContactMode.STICKING
        assert_allclose(found.force[2], K * sunk, rtol=1e-6)
        assert abs(seen.q[0] - 0.5 * w) < 1e-6
        off.append(seen.q[1])
    # Along x it is M w^2 (x - a_x (a_x x - a_z sunk)).
    across, along = rate**2 * (1.0 - axis[0] ** 2), rate**2 * axis[0] * axis[2] * sunk
    expected = [force / KT, (force + M * along) / (KT - M * across)]
    assert_allclose(off, expected, rtol=1e-6)  # what is left of its way there


def depths(material, mass=1.0, height=0.0, corners=1, seconds=1.0, step=2.5e-4, period=None):
    """Return depth and speed of a body above a stiff floor over time, and its simulation."""
    points = [(0.0, 0.0, 0.0)]
    if corners == 4:
        points = [(x, y, 0.0) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    contact = PointContact("point", "body", surface=plane((0, 0, 0), (0, 0, 1)), material=material)
    robot = floating(mass, [0.01 * mass] * 3)
    sim = rd.Simulation(
        robot, contacts=vertices(contact, points), q=at(0, 0, height), step=step,
        period=period or step,
    )  # fmt: skip
    seen = [sim.step(np.zeros(6)) for _ in range(round(seconds / sim.period))]
    return np.array([-one.q[2] for one in seen]), np.array([one.qd[5] for one in seen]), sim


@pytest.mark.parametrize(
    ("mass", "stiffness", "step"),
    [(1, 1e10, 2.5e-4), (0.01, 1e7, 2.5e-4), (0.1, 1e7, 1e-3), (1, 1e5, 1e-2), (1, 1e8, 2.5e-4)],
)
@pytest.mark.parametrize("corners", [1, 4])
@pytest.mark.parametrize("damping", [None, 0.5, 2.0])
def test_a_body_stays_on_a_stiff_floor(mass, stiffness, step, corners, damping):
    """Placed on it, it never rises, and rests about as deep as it falls in a step at most."""
    damper = {"restitution": 0.3}
    if damping:
        damper = {"damping": damping * np.sqrt(stiffness * mass)}
    material = Material(MU, stiffness=stiffness, **damper)
    depth, speed, sim = depths(material, mass, corners=corners, step=step, seconds=400 * step)
    assert depth.min() > -1e-9
    assert depth[-1] < 2.0 * (mass * G / stiffness + G * step**2)
    assert abs(speed[-1]) < 1e-3 * G * step
    assert_allclose(sum(c.force[2] for c in sim.contacts), mass * G, rtol=1e-3)
    assert not any(c.impacts for c in sim.contacts)


@pytest.mark.parametrize("stiffness", [1e4, 1e6, 1e8, 1e10])
def test_springs_of_any_stiffness_give_back_what_they_took(stiffness):
    """Steps alone, which enter and leave anywhere: a falling body bounces to its old height."""
    material = Material(0.0, stiffness=stiffness, restitution=1.0)
    sim = depths(material, height=0.02, seconds=0.0)[2]
    motion = sim._plant.engine.stepping
    for _ in range(4000):
        motion.advance(2.5e-4, np.zeros(6))
        deep = max(-motion.q[2], 0.0)
        energy = (
            0.5 * motion.v[5] ** 2
            + G * motion.q[2]
            + 0.5 * motion.state.surfaces.used[0] * deep**2
        )
        assert abs(energy / (0.02 * G) - 1.0) < 1e-11  # 1e-13 seen
    assert motion.state.contacts.impacts[0] > 5


@pytest.mark.parametrize("stiffness", [1e5, 1e7, 1e8, 1e9, 1e10])
@pytest.mark.parametrize("e", [0.3, 0.6, 0.9])
def test_restitution_does_not_depend_on_stiffness(stiffness, e):
    """Also where no step resolves it, and wherever in one it is met."""
    for height in (0.1, 0.1003, 0.1007):
        speed = np.sqrt(2.0 * G * height)
        material = Material(0.0, stiffness=stiffness, restitution=e, speed=speed)
        _, speeds, _ = depths(material, height=height, seconds=0.2)
        # At 1e5 N/m gravity takes 0.05 of it, at others 0.025 is seen.
        assert abs(speeds.max() / speed - e) < (0.1 if stiffness == 1e5 else 0.05)


@pytest.mark.parametrize(("damping", "height"), [(1e5, 0.0), (1e6, 0.05)])
def test_a_damper_that_no_step_resolves_stops_and_creeps(damping, height):
    """It is met without a bounce, then sinks with m g / D."""
    depth, _, _ = depths(Material(MU, stiffness=1e4, damping=damping), height=height)
    start, relaxes = np.sqrt(2.0 * height / G), 1e4 / damping
    assert depth[round(start / 2.5e-4) + 2 :].min() > 0.0
    expected = G / 1e4 * (np.exp(-0.3 * relaxes) - np.exp(-relaxes))
    assert 0.8 < (depth[-1] - depth[1200]) / expected < 1.25


def test_tumbling_bodies_satisfy_the_laws_of_any_damper():
    """Also where a body comes to a patch that is relaxing, which pushes at once."""
    for damping in (1e2, 1e5, 1e8):
        material = Material(MU, stiffness=1e9, damping=damping)
        depth, _, sim = depths(material, height=0.05, corners=4, seconds=0.4)
        assert depth.max() < 1e-3
        assert sim._plant.engine.stepping.residual < 1e-9


def test_stiffness_as_it_is_resolved_is_part_of_the_state():
    """Of a box whose corners touch turned: another simulation goes on bit for bit."""
    contact = PointContact("c", "body", material=Material(MU, stiffness=1e9, restitution=0.3))
    box = vertices(contact, [(x, y, -0.05) for x in (-0.1, 0.1) for y in (-0.1, 0.1)])
    q = at(0, 0, 0.1)
    q[3:] = np.array([0.2, 0.1, 0.0, 1.0]) / np.linalg.norm([0.2, 0.1, 0.0, 1.0])
    first, second = (rd.Simulation(floating(), contacts=box, q=q) for _ in range(2))
    while not first._plant.engine.stepping.state.contacts.pressed.any():
        first.step(np.zeros(6))
    assert first._plant.engine.stepping.state.surfaces.used.max() < 1e9
    second.state = first.state
    for _ in range(50):
        one, other = first.step(np.zeros(6)), second.step(np.zeros(6))
        assert (one.q == other.q).all()


def test_stiffness_does_not_change_while_something_is_stored():
    """Effective masses do, where a box turns that touches; energy would with them."""
    sim = depths(Material(MU, stiffness=1e9, restitution=0.3), corners=4, seconds=0.0)[2]
    motion = sim._plant.engine.stepping
    motion.start(at(0, 0, 1e-3), np.array([2.0, 3.0, 0, 0, 0, -1.0]))
    used, pushed, kept = motion.state.surfaces.used.copy(), motion.state.contacts.pressed.copy(), 0
    for _ in range(2000):
        motion.advance(2.5e-4, np.zeros(6))
        both = motion.state.contacts.pressed & pushed
        assert (motion.state.surfaces.used == used)[both].all()
        kept += both.sum()
        used, pushed = motion.state.surfaces.used.copy(), motion.state.contacts.pressed.copy()
    assert kept > 100
    assert np.ptp(used) > 0.0
    # Nor does it grow where a body within has not been pushed, or above a patch that relaxes.
    for height, patch in ((-1e-3, 0.0), (1.0, 1e-3)):
        motion.start(at(0, 0, height))
        motion.state.surfaces.used[:], motion.state.surfaces.patch[:] = 1e3, patch
        motion.advance(2.5e-4, np.zeros(6))
        assert (motion.state.surfaces.used == 1e3).all()


def test_dampers_keep_their_part_of_the_critical_one():
    """If a step softens the springs, a body bounces as from springs that are resolved."""
    left = []
    for stiffness in (1e6, 1e8, 1e10):
        material = Material(0.0, stiffness=stiffness, damping=0.4 * np.sqrt(stiffness))
        left.append(depths(material, height=0.1, seconds=0.2)[1].max() / np.sqrt(0.2 * G))
    # Of an oscillator with 0.2 of the critical damper that pulls at no time: 0.57.
    assert_allclose(left, left[0], atol=0.1)
    assert 0.45 < left[0] < 0.7


def test_patches_relax_unless_the_body_is_deeper():
    """One that the body has left, one that it has not, one that is flat but for rounding."""
    patch = np.array([1e-3, 1e-3, 1e-14])
    gap, no, none = np.array([1.0, -0.8e-3, 1.0]), np.zeros(3, dtype=bool), np.zeros(0)
    step = only(
        StepRecords,
        terms=only(StepTerms, gaps=gap, patches=np.zeros((0, 2, 3))),
        state=StepState(
            contacts=ContactMemory(pressed=no, force=9),
            surfaces=SoftSurfaces(patch=patch, sheared=(0, 3)),
        ),
        laws=only(
            ContactLaws, damping=np.full(3, D), gives=no, shear_stiffness=none, shear_damping=none
        ),
        rows=Rows(0, 3),
        trial=StepTrial(
            h=1e-3,
            start=StepStart(within=~no),
            springs=ContactSprings(left=np.full(3, 0.5), shear=(0, 2)),
            end=StepEnd(rows=9),
        ),
    )
    move_patches(step)
    assert_allclose(patch, [0.25e-3, 0.8e-3, 0.0], rtol=1e-12)
