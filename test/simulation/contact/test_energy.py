# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""No contact gives energy, and steps are of second order where surfaces are curved."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.touching import at, corners, floating

import robot_dynamics as rd
from robot_dynamics.contact.material import Material
from robot_dynamics.contact.points import PointContact, disc
from robot_dynamics.contact.shapes import ShapeContact, Solid
from robot_dynamics.contact.surfaces import sphere
from robot_dynamics.model import JointElement, LinkElement, Mechanism

G = 9.81
STEPS = (1e-3, 5e-4)


def growth(sim, periods):
    """Return by how much energy grows in a period at most, and all energies."""
    model, seen = sim.arms, sim.observation
    energy = [float(sum(model.energies(seen.q, seen.qd)))]
    for _ in range(periods):
        seen = sim.step(np.zeros(model.model.nv))
        energy.append(float(sum(model.energies(seen.q, seen.qd))))
    return np.diff(energy).max(), np.array(energy)


@pytest.mark.parametrize(
    ("seed", "e", "mu"),
    [(0, 0.0, 0.0), (1, 0.0, 0.5), (2, 0.5, 0.3), (3, 1.0, 1.5), (6, 0.0, 1.5)],
)
def test_a_heap_of_shapes_never_gains(seed, e, mu):
    """A ball, a box, a capsule, a cylinder and a hull fall on a heap and tumble."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(10, 3))
    solids = [
        Solid.sphere("ball", 0.05),
        Solid.box("box", (0.1, 0.08, 0.06)),
        Solid.capsule("capsule", 0.03, 0.08),
        Solid.cylinder("cylinder", 0.04, 0.08),
        Solid.convex("hull", 0.05 * points / np.linalg.norm(points, axis=1)[:, None]),
    ]
    inertia = np.diag([1e-3, 1.2e-3, 0.8e-3])
    links = [LinkElement("world")] + [LinkElement(s.link, 1.0, (0, 0, 0), inertia) for s in solids]
    joints = [JointElement(f"{s.link} free", "floating", "world", s.link) for s in solids]
    robot = rd.Robot.from_mechanism(Mechanism("heap", tuple(links), tuple(joints)))
    pairs = [(s, Solid.plane("world")) for s in solids] + list(combinations(solids, 2))
    material = Material(mu, restitution=e)
    contacts = [ShapeContact(f"{a.link} {b.link}", a, b, material) for a, b in pairs]
    q, qd = [], []
    for i in range(5):
        turn = Rotation.random(random_state=rng).as_quat()
        q += [*rng.uniform(-0.04, 0.04, 2), 0.1 + 0.12 * i, *turn]
        qd += [*(5.0 * rng.normal(size=3)), *(0.5 * rng.normal(size=3))]
    sim = rd.Simulation(robot, contacts=contacts, q=q, qd=qd)
    most, energy = growth(sim, 200)
    assert most < 1e-12 * energy[0]  # rounding; 4e-16 measured
    assert sum(c.impacts for c in sim.contacts) > 5


def test_a_box_on_its_corners_never_gains():
    """It tumbles on a plane, in long steps as well."""
    high = [(x, y, 0.05) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    contacts = corners((0.1, 0.1, 0.05), Material(0.4, restitution=0.5), more=high)
    start = at(0, 0, 0.3)
    start[3:] = np.array([0.3, 0.5, 0.1, 0.8]) / np.linalg.norm([0.3, 0.5, 0.1, 0.8])
    for step in (2.5e-4, 2e-3):
        sim = rd.Simulation(
            floating(), contacts=contacts, q=start, qd=[3, 1, 2, 0.5, 0, 0], step=step
        )
        most, energy = growth(sim, 300)
        # At rest positions are corrected by 1e-12 m.
        assert most < 1e-10 * energy[0]


def test_a_ball_rolls_down_a_ball_to_second_order():
    """Its force is m g (17 cos a - 10 cos a0) / 7, that of a step in its middle."""
    R, r, start = 0.5, 0.1, 0.2
    robot = floating(1.0, [0.4 * r * r] * 3)
    ball = PointContact(
        "ball", "body", surface=sphere((0, 0, 0), R), radius=r, material=Material(100.0)
    )
    q = at((R + r) * np.sin(start), 0.0, (R + r) * np.cos(start))
    for step in STEPS:
        sim = rd.Simulation(robot, contacts=[ball], q=q, period=0.005, step=step)
        off = []
        while True:
            seen = sim.step(np.zeros(6))
            x, _, z = robot.model.integrate(seen.q, -0.5 * step * seen.qd)[:3]
            expected = (17.0 * z / np.hypot(x, z) - 10.0 * np.cos(start)) / 7.0
            if expected < 0.1:
                break
            off.append(abs(sim.contacts[0].force[2] / G - expected))
        # Measured: 7e-5 and 2e-6; 6e-3 where normals are taken not to turn.
        assert max(off) < 150.0 * step**2


def test_a_coin_rolls_to_second_order():
    """Steady rolling of a tilted disc keeps its tilt; to first order it is 2e-2 off."""
    r, tilt, turn = 0.1, 0.3, 2.0
    A, C = 0.25 * r * r, 0.5 * r * r
    s, c = np.sin(tilt), np.cos(tilt)
    spin = (A * turn**2 * s * c - G * r * s) / ((C + r * r) * turn * c)
    edge, axis = np.array([0.0, -s, c]), np.array([0.0, c, s])
    frame = np.stack([[1.0, 0, 0], np.cross(axis, [1.0, 0, 0]), axis], axis=1)
    rate = np.array([0, 0, turn]) + (spin - turn * s) * axis
    q = np.concatenate([r * edge, Rotation.from_matrix(frame).as_quat()])
    qd = np.concatenate([frame.T @ rate, frame.T @ np.cross(rate, r * edge)])
    coin = PointContact("coin", "body", shape=disc(r), material=Material(2.0))
    off = []
    for step in STEPS:
        sim = rd.Simulation(
            floating(1.0, (A, A, C)), contacts=[coin], q=q, qd=qd, period=0.01, step=step
        )
        most, energy = growth(sim, 30)
        now = Rotation.from_quat(sim.observation.q[3:]).as_matrix()[:, 2]
        off.append(abs(np.arcsin(now[2]) - tilt))
        assert most < 1e-12 * energy[0]
        assert energy[0] - energy[-1] < 10.0 * step**2 * energy[0]
    assert off[0] < 1e-4
    assert off[1] < 0.3 * off[0]
