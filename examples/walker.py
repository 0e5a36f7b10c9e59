# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A machine with four five-bar legs drops onto its feet, stands, and is pushed.

python examples/walker.py
"""

import numpy as np

import robot_dynamics as rd
from robot_dynamics.contact import Material, PointContact, vertices
from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, pose

UPPER, LOWER, APART = 0.16, 0.25, 0.05  # lengths of a leg's links, half the hips' distance [m]
HIPS = {"left front": (0.2, 0.15), "right front": (0.2, -0.15),
        "left back": (-0.2, 0.15), "right back": (-0.2, -0.15)}  # fmt: skip
Y, SIDES = (0.0, 1.0, 0.0), {"fore": 1.0, "aft": -1.0}
STIFF, DAMP = 200.0, 2.0  # of the servos of the hips [N m/rad], [N m s/rad]
DROP, PUSH = 0.05, [0, 0, 0, 20.0, 30.0, 0]  # height [m], wrench for 0.2 s after 1 s [N m, N]


def rod(name: str, length: float, mass: float) -> LinkElement:
    """Return a link that hangs down from its joint."""
    across = mass * length**2 / 12.0
    inertia = np.diag([across, across, 1e-4])
    return LinkElement(name, mass, (0.0, 0.0, -0.5 * length), inertia)


def machine() -> tuple[rd.Robot, list[PointContact]]:
    """Return the machine, and two points of each foot."""
    links = [LinkElement("world"), LinkElement("body", 8.0, (0, 0, 0), np.diag([0.1, 0.2, 0.25]))]
    joints = [JointElement("free", "floating", "world", "body")]
    loops, feet = [], []
    along_y = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])  # z axis along y
    for leg, (x, y) in HIPS.items():
        for side, sign in SIDES.items():
            own = f"{leg} {side}"
            links += [rod(f"{own} upper", UPPER, 0.3), rod(f"{own} lower", LOWER, 0.2)]
            hip, knee = pose((x + sign * APART, y, 0.0)), pose((0.0, 0.0, -UPPER))
            joints += [
                JointElement(f"{own} hip", "revolute", "body", f"{own} upper", hip, Y),
                JointElement(f"{own} knee", "revolute", f"{own} upper", f"{own} lower", knee, Y),
            ]
        ankle = pose((0.0, 0.0, -LOWER), along_y)
        lower = [f"{leg} {side} lower" for side in SIDES]
        loops.append(LoopElement(f"{leg} ankle", "revolute", *lower, ankle, ankle))
        sole = PointContact(leg, lower[0], material=Material(0.8))
        feet += vertices(sole, [(0.0, dy, -LOWER) for dy in (-0.03, 0.03)])
    mechanism = Mechanism("walker", tuple(links), tuple(joints), tuple(loops))
    return rd.Robot.from_mechanism(mechanism), feet


def dropped(
    robot: rd.Robot, feet: list[PointContact], duration: float = 2.0
) -> tuple[np.ndarray, float, np.ndarray]:
    """Drop the machine and push it; return rows of figures, the closure error and the end q."""
    model = robot.model
    hips = [f"{leg} {side} hip" for leg in HIPS for side in SIDES]
    at = [model.q_slices[model.joint_index(name)].start for name in hips]
    moved = [model.v_slices[model.joint_index(name)].start for name in hips]
    guess = model.neutral()
    for name, i in zip(hips, at, strict=True):
        bend = 1.0 if "fore" in name else -1.0
        knee = model.q_slices[model.joint_index(name.replace("hip", "knee"))].start
        guess[i], guess[knee] = -0.6 * bend, 0.9 * bend
    q = np.array(robot.assemble(guess).q)
    q[2] += DROP - min((robot.pose(foot.link, q) @ [*foot.point, 1.0])[2] for foot in feet)
    target = q[at]

    sim = rd.Simulation(robot, contacts=feet, q=q, period=0.005, step=1e-3)
    closure, rows, seen = 0.0, [], sim.observation
    for _ in range(round(duration / sim.period)):
        tau = np.zeros(model.nv)
        tau[moved] = STIFF * (target - seen.q[at]) - DAMP * seen.qd[moved]
        pushed = 1.0 <= seen.time < 1.2
        seen = sim.step(tau, {"body": PUSH} if pushed else None)
        closure = max(closure, float(np.abs(robot.closure(seen.q)[1]).max()))
        rows.append((seen.time, seen.q[2], seen.q[0], sum(c.force[2] for c in sim.contacts)))
    return np.array(rows), closure, seen.q


if __name__ == "__main__":
    robot, feet = machine()
    rows, closure, _ = dropped(robot, feet)
    time, height, forward, force = rows.T
    weight = 9.81 * robot.total_mass
    print(f"it stands on {force[-1]:.1f} N, its weight is {weight:.1f} N")
    print(f"loops stayed closed to 1e-10 m: {closure < 1e-10}")

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
    axes[0].plot(time, height)
    axes[0].set(title="height of the body [m]")
    axes[1].plot(time, 1e3 * forward)
    axes[1].set(title="way of the body forward [mm]")
    axes[2].plot(time, force)
    axes[2].axhline(weight, color="0.6", lw=0.8, label=f"its weight, {weight:.0f} N")
    axes[2].set(title="force on all feet [N]", ylim=(0, 4 * weight))
    peak = int(force.argmax())
    axes[2].text(time[peak] + 0.05, 3.7 * weight, f"up to {force[peak]:.0f} N")
    for ax in axes:
        ax.axvspan(1.0, 1.2, color="0.9", label="pushed")
        ax.set(xlabel="time [s]")
        ax.grid(alpha=0.3)
    axes[2].legend()
    figure.savefig("walker.png", dpi=110)
