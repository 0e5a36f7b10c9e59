# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A ball bounces, a block slides to a stop, a rattleback reverses its spin.

python examples/contacts.py
"""

import matplotlib.pyplot as plt
import numpy as np

import robot_dynamics as rd
from robot_dynamics.contact import Material, PointContact, ellipsoid, vertices
from robot_dynamics.model import JointElement, LinkElement, Mechanism

G = 9.81


def free_body(mass: float, inertia: np.ndarray) -> rd.Robot:
    """Return one body that floats."""
    links = (LinkElement("world"), LinkElement("body", mass, (0.0, 0.0, 0.0), inertia))
    joint = JointElement("free", "floating", "world", "body")
    return rd.Robot.from_mechanism(Mechanism("one body", links, (joint,)))


def bouncing_ball() -> tuple[np.ndarray, np.ndarray]:
    """Simulate bounces, and compare their times with the closed form."""
    e, height, radius = 0.8, 1.0, 0.1
    ball = PointContact("ball", "body", radius=radius, material=Material(0.0, restitution=e))
    robot = free_body(2.0, 0.008 * np.eye(3))
    motion = rd.integrate(
        robot, [0, 0, height + radius, 0, 0, 0, 1.0], np.zeros(6), 4.3, contacts=[ball],
        order=4, step=0.05, outputs=215,
    )  # fmt: skip
    times = np.array([event.time for event in motion.events if event.kind == "impact"])[:20]
    first = np.sqrt(2.0 * height / G)
    expected = first + 2.0 * first * np.concatenate([[0.0], np.cumsum(e ** np.arange(1, 20))])
    print(f"20 bounces at their times to a nanosecond: {np.abs(times - expected).max() < 1e-9}")
    t = np.append(motion.t, times)  # outputs are between the bounces
    height = np.append(motion.q[:, 2] - radius, np.zeros(len(times)))
    return t[np.argsort(t)], height[np.argsort(t)]


def sliding_block() -> tuple[np.ndarray, np.ndarray]:
    """Simulate a block that slides on four corners until friction stops it."""
    mu, speed, half = 0.3, 1.0, (0.1, 0.1, 0.05)
    corners = [(x, y, -half[2]) for x in (-half[0], half[0]) for y in (-half[1], half[1])]
    face = vertices(PointContact("corner", "body", material=Material(mu)), corners)
    robot = free_body(2.0, np.diag([0.0083, 0.0083, 0.0133]))
    sim = rd.Simulation(
        robot, contacts=face, q=[0, 0, half[2], 0, 0, 0, 1.0], qd=[0, 0, 0, speed, 0, 0],
        period=0.01,
    )  # fmt: skip
    seen = [sim.observation, *(sim.step(np.zeros(6)) for _ in range(50))]
    way = seen[-1].q[0]
    off = abs(way - speed**2 / (2.0 * mu * G))
    print(f"the block stops after {way:.4f} m, at v^2 / (2 mu g) to a micrometre: {off < 1e-6}")
    return np.array([s.time for s in seen]), np.array([s.q[0] for s in seen])


def rattleback(spin: float) -> tuple[np.ndarray, np.ndarray]:
    """Spin an ellipsoid whose inertia is turned by 0.1 rad against its shape."""
    a, b, c, mass, turn = 0.2, 0.03, 0.02, 1.0, 0.1
    own = 0.2 * mass * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
    R = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1.0]])
    stone = PointContact("stone", "body", shape=ellipsoid(a, b, c), material=Material(1.0))
    sim = rd.Simulation(
        free_body(mass, R @ own @ R.T), contacts=[stone], q=[0, 0, c, 0.005, 0, 0, 1.0],
        qd=[0, 0, spin, 0, 0, 0], period=0.01, step=1e-3,
    )  # fmt: skip
    seen = [sim.observation, *(sim.step(np.zeros(6)) for _ in range(300))]
    return np.array([s.time for s in seen]), np.array([s.qd[2] for s in seen])


ball, block = bouncing_ball(), sliding_block()
stones = {spin: rattleback(spin) for spin in (2.0, -2.0)}
for spin, (_, rates) in stones.items():
    print(f"a rattleback that spins at {spin:+g} rad/s spins at {rates[-1]:+.1f} after 3 s")
figure, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
for ax, (t, y), title in zip(
    axes, (ball, block, stones[-2.0]),
    ("height of a ball [m]", "way of a block [m]", "spin of a rattleback [rad/s]"),
    strict=True,
):  # fmt: skip
    ax.plot(t, y)
    ax.set(title=title, xlabel="time [s]")
    ax.grid(alpha=0.3)
axes[2].plot(*stones[2.0], "--")
axes[2].legend(["from -2 rad/s", "from +2 rad/s"], loc="center right")
figure.savefig("contacts.png", dpi=110)
