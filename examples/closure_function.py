# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A digger's boom raised by a hydraulic cylinder: loops closed by a user-defined closure function.

python examples/closure_function.py
"""

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

import robot_dynamics as rd
from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, pose

L1, L2 = 1.3, 0.7  # distances from the boom's hinge: cylinder's hinge, piston's pin [m]
SWING = 0.4  # duration of the swing [s]


def digger() -> Mechanism:
    """Return boom, cylinder, piston and bucket in the x-z plane."""
    y, x = (0.0, -1.0, 0.0), (1.0, 0.0, 0.0)

    def link(name: str, mass: float, center: float) -> LinkElement:
        return LinkElement(name, mass, (center, 0.0, 0.0), np.diag([0.1, 1.0, 1.0]) * mass / 10)

    return Mechanism(
        "digger",
        links=(
            LinkElement("base"),
            link("boom", 80.0, 0.6),
            link("cylinder", 12.0, 0.3),
            link("piston", 8.0, -0.3),
            link("bucket", 40.0, 0.4),
        ),
        joints=(
            JointElement("boom_hinge", "revolute", "base", "boom", axis=y, active=False),
            JointElement("cylinder_hinge", "revolute", "base", "cylinder", pose((L1, 0, 0)), y,
                         active=False),
            JointElement("piston_slide", "prismatic", "cylinder", "piston", axis=x),
            JointElement("bucket_hinge", "revolute", "boom", "bucket", pose((1.1, 0, 0)), y),
        ),
        loops=(
            # A ball: a revolute joint would block once more what is planar anyway.
            LoopElement("pin", "spherical", "boom", "piston", pose((L2, 0, 0))),
        ),
    )  # fmt: skip


def gamma(y):
    """Return the joints of the cylinder by the boom's angle: a triangle with sides L1 and L2."""
    (angle,) = y
    x, z = L2 * np.cos(angle) - L1, L2 * np.sin(angle)
    return {"cylinder_hinge": np.arctan2(z, x), "piston_slide": np.sqrt(x * x + z * z)}


robot = rd.Robot.from_mechanism(digger())
function = rd.ClosureFunction(
    ("boom_hinge",),
    gamma,
    lambda y: 0.1 < y[0] < 3.0,
    "0.1 to 3.0 rad: the pin beside the hinges",
)
explicit = robot.with_closure(function)
print(explicit)
found = explicit.check()
print(f"checked at {len(found.samples)} places: loops open by {found.gap:.1e} m at most")

# Forces of the cylinder and the bucket's drive that hold everything at rest.
y, rest = np.array([0.9, -0.5]), np.zeros(2)
effort = explicit.inverse_dynamics(y, rest, rest)
_, _, G, _ = explicit.derivatives(y, rest)
driven = robot.model.active
forces = np.zeros(robot.model.nv)
forces[driven] = np.linalg.solve(G[driven].T, effort)
for name, unit in (("piston_slide", "N"), ("bucket_hinge", "N m")):
    print(f"{name} holds {forces[robot.model.joint_index(name)]:.1f} {unit}")
print(f"acceleration then: {np.abs(explicit.forward_dynamics(y, rest, forces)).max():.1e}")

# A swing with the valves open: only (y, yd) is integrated, and loops cannot open.
nothing = np.zeros(robot.model.nv)


def rate(_, state):
    return np.concatenate([state[2:], explicit.forward_dynamics(state[:2], state[2:], nothing)])


run = solve_ivp(rate, (0.0, SWING), [*y, 0.0, 0.0], rtol=1e-9, atol=1e-9)
q, qd, *_ = explicit.derivatives(run.y[:2].T, run.y[2:].T)
_, gap = robot.closure(q)
kinetic, potential = robot.energies(q, qd)
energy = kinetic + potential
print(f"largest gap of a loop on the way: {np.abs(gap).max():.1e} m")
print(f"energy kept to {np.abs(energy - energy[0]).max() / kinetic.max():.1e}")

axes = Figure(figsize=(6.0, 3.4), layout="constrained").subplots()
for row in range(0, len(q), 4):
    color, at = str(0.8 - 0.8 * row / len(q)), q[row]
    pin, cylinder, bucket = (
        robot.pose(name, at)[:3, 3] for name in ("piston", "cylinder", "bucket")
    )
    axes.plot([0.0, bucket[0]], [0.0, bucket[2]], color=color, lw=3)
    axes.plot([cylinder[0], pin[0]], [cylinder[2], pin[2]], color=color, lw=1)
axes.set(title="boom and cylinder, from light to dark", aspect="equal")
axes.set(xlabel="x [m]", ylabel="z [m]")
axes.figure.savefig("closure_function.webp", dpi=80)
