# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A row of dominoes: the first one is pushed, each pushes the next, and all come to rest.

python examples/dominoes.py
"""

import itertools

import numpy as np

import robot_dynamics as rd
from robot_dynamics.contact import Material, ShapeContact, Solid
from robot_dynamics.description import Description, Shape
from robot_dynamics.model import JointElement, LinkElement, Mechanism

COUNT, APART = 6, 0.05  # dominoes, and their distance [m]
SIZE, MASS = np.array([0.015, 0.05, 0.1]), 0.05
PUSH, PUSHED = [0, 0.008, 0, 0, 0, 0], 0.1  # wrench on the first [N m, N], its duration [s]
RATE, SHOWN = 50, 12  # pictures per second of the motion, and per second of the film
COLOR = (0.75, 0.35, 0.2)
DURATION = 1.0  # [s]
FILM = ""  # "dominoes.webp" makes a film of it, in slow motion, with the extra `view`


def row() -> tuple[Mechanism, list[ShapeContact], np.ndarray]:
    """Return the dominoes, their contacts, and their positions at the start."""
    x, y, z = SIZE**2
    inertia = MASS / 12.0 * np.diag([y + z, x + z, x + y])
    names = [f"domino {i + 1}" for i in range(COUNT)]
    links = [LinkElement("world"), *(LinkElement(n, MASS, (0, 0, 0), inertia) for n in names)]
    joints = [JointElement(f"free {n}", "floating", "world", n) for n in names]
    stones = [Solid.box(name, SIZE) for name in names]
    wood, floor = Material(0.3), Solid.plane("world")
    contacts = [ShapeContact(f"{s.link} on floor", s, floor, wood) for s in stones]
    for one, other in itertools.pairwise(stones):
        contacts.append(ShapeContact(f"{one.link} on {other.link}", one, other, wood, points=4))
    q = [[APART * i, 0, 0.5 * SIZE[2], 0, 0, 0, 1.0] for i in range(COUNT)]
    return Mechanism("dominoes", tuple(links), tuple(joints)), contacts, np.concatenate(q)


mechanism, contacts, q = row()
robot = rd.Robot.from_mechanism(mechanism)
sim = rd.Simulation(robot, contacts=contacts, q=q, period=0.005, step=5e-4)
seen, shown, energies, tipped = sim.observation, [], [], np.full(COUNT, np.inf)
for tick in range(round(DURATION / sim.period)):
    if tick % round(1.0 / RATE / sim.period) == 0:
        shown.append(seen.q)
    pushed = seen.time < PUSHED
    seen = sim.step(np.zeros(6 * COUNT), {"domino 1": PUSH} if pushed else None)
    if not pushed:
        energies.append(sum(robot.energies(seen.q, seen.qd)))
    lean = 2.0 * np.arcsin(seen.q.reshape(COUNT, 7)[:, 4])
    tipped = np.where((tipped == np.inf) & (lean > 0.05), seen.time, tipped)
print(f"each falls after the one before: {bool((np.diff(tipped) > 0.0).all())}")
print(f"the last of them leans after {tipped[-1]:.2f} s")
print(f"all lie: {lean.min() > 1.2}, at rest: {np.abs(seen.qd).max() < 1e-6}")
force = sum(c.force[2] for c in sim.contacts if "floor" in c.name)
weight = 9.81 * MASS * COUNT
print(f"the floor carries {force:.3f} N, their weight: {abs(force - weight) < 1e-6}")
print(f"never more energy: {np.diff(energies).max() < 1e-9}")

if FILM:
    from robot_dynamics.app.pictures.render import Camera, render_film, scene_of_robot

    shapes = [
        Shape(c.first.link, "visual", "box", np.eye(4), c.first.size, color=(*COLOR, 1.0))
        for c in contacts[:COUNT]
    ]
    described = Description(mechanism, tuple(shapes))
    scene = scene_of_robot(described, np.array(shown), np.arange(len(shown)) / RATE)
    render_film(scene, FILM, SHOWN, size=(480, 200), camera=Camera(-60.0, 12.0))
