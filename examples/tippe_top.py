# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A tippe top turns upside down by sliding friction, and keeps Jellett's constant.

It is a ball whose centre of mass is below its centre. For any force at its contact, the angular
momentum along the line from the centre of mass to the contact is constant; energy falls.

python examples/tippe_top.py
"""

import numpy as np
from scipy.spatial.transform import Rotation

import robot_dynamics as rd
from robot_dynamics.contact import Material, PointContact
from robot_dynamics.model import JointElement, LinkElement, Mechanism

RADIUS, MASS, BELOW = 0.02, 0.02, 0.006  # [m], [kg], centre of mass below the centre [m]
INERTIA = MASS * RADIUS**2 * np.diag([131.0 / 350.0, 131.0 / 350.0, 0.4])
SPIN, TILT, FRICTION = 155.0, 0.1, 0.3  # about the vertical [rad/s], of the axis [rad], mu


def spin(duration: float = 2.0, step: float = 2.5e-4) -> np.ndarray:
    """Return time, tilt [deg], spin about its own axis, Jellett's constant and energy (n, 5)."""
    links = (LinkElement("world"), LinkElement("top", MASS, (0.0, 0.0, 0.0), INERTIA))
    joint = JointElement("free", "floating", "world", "top")
    robot = rd.Robot.from_mechanism(Mechanism("tippe top", links, (joint,)))
    ball = PointContact(
        "ball", "top", (0.0, 0.0, BELOW), radius=RADIUS, material=Material(FRICTION)
    )
    height = RADIUS - BELOW * np.cos(TILT)
    q = [0, 0, height, np.sin(TILT / 2), 0, 0, np.cos(TILT / 2)]
    qd = [0, SPIN * np.sin(TILT), SPIN * np.cos(TILT), 0, 0, 0]
    sim = rd.Simulation(robot, contacts=[ball], q=q, qd=qd, period=0.01, step=step)
    seen, rows = sim.observation, []
    for _ in range(round(duration / sim.period)):
        R = Rotation.from_quat(seen.q[3:]).as_matrix()
        momentum = R @ INERTIA @ seen.qd[:3]
        to_contact = BELOW * R[:, 2] - np.array([0.0, 0.0, RADIUS])
        energy = sum(robot.energies(seen.q, seen.qd))
        tilt = np.degrees(np.arccos(R[2, 2]))
        rows.append((seen.time, tilt, seen.qd[2], -momentum @ to_contact, energy))
        seen = sim.step(np.zeros(6))
    return np.array(rows)


if __name__ == "__main__":
    time, tilt, own, jellett, energy = spin().T
    kept = np.abs(jellett / jellett[0] - 1.0).max()
    print(f"it stood {tilt[0]:.0f} degrees from upright, and stands {tilt[-1]:.0f}")
    print(f"its spin about its own axis went from {own[0]:.0f} to {own[-1]:.0f} rad/s")
    print(f"Jellett's constant is kept to a thousandth: {kept < 1e-3}")
    print(f"never more energy: {np.diff(energy).max() < 1e-12 * energy[0]}")

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
    axes[0].plot(time, tilt)
    axes[1].plot(time, own)
    axes[2].plot(time, jellett / jellett[0], label="Jellett's constant")
    axes[2].plot(time, energy / energy[0], label="energy")
    axes[2].legend()
    titles = "tilt [deg]", "spin about its own axis [rad/s]", "over what it was"
    for ax, title in zip(axes, titles, strict=True):
        ax.set(title=title, xlabel="time [s]")
        ax.grid(alpha=0.3)
    figure.savefig("tippe_top.png", dpi=100)
