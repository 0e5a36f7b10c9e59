# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms lift a box off a table, put it down, pick it up again; then one hand lets go.

python examples/put_down.py
"""

from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator

import robot_dynamics as rd
from robot_dynamics.contact import Material, Solid, contacts_of
from robot_dynamics.description import Part, Shape, place
from robot_dynamics.model import pose

FILM = ""  # "put_down.webp" makes a film, with the extra `view`
URDF = "package://robot_dynamics/urdf/"
X, HALF, TOP = 0.62, 0.15, 0.6  # place of the box, half its height, height of the table [m]
POSTURE = [-0.721279, -0.610955, 0.180993, 1.530891, 0.931656, 1.307267, 0.094625,
           -1.877575, 0.68289, -0.241464, -1.530891, -1.300354, -1.629367, 1.633493]  # fmt: skip
# The z axes of the tools point into the box.
TURNS = {"left_tool": np.array([[-1.0, 0, 0], [0, 0, -1], [0, -1, 0]]),
         "right_tool": np.array([[0, -1.0, 0], [0, 0, 1], [-1, 0, 0]])}  # fmt: skip
SIDES = {"left_tool": 1.0, "right_tool": -1.0}
WEIGHT = 98.1  # of the box [N]
PERIOD, RATE = 0.002, 15  # control period [s], pictures per second
RESTING, FALLING = 2.2, 3.22  # times at which it stands, and falls [s]
# Time [s], height of the hands above their grasps on the table [m], distance of each palm from the
# box [m], squeeze [N], and the share of the weight that the arms carry.
PLAN = np.array([
    (0.0, 0.0, 0.02, 0.02, 0, 0), (0.3, 0.0, 0.0, 0.0, 0, 0), (0.4, 0.0, 0.0, 0.0, 150, 0),
    (0.5, 0.0, 0.0, 0.0, 150, 1), (1.0, 0.2, 0.0, 0.0, 150, 1), (1.5, 0.0, 0.0, 0.0, 150, 1),
    (1.6, 0.0, 0.0, 0.0, 150, 0), (1.7, 0.0, 0.0, 0.0, 0, 0), (1.9, 0.0, 0.02, 0.02, 0, 0),
    (2.2, 0.0, 0.02, 0.02, 0, 0), (2.4, 0.0, 0.0, 0.0, 0, 0), (2.5, 0.0, 0.0, 0.0, 150, 0),
    (2.6, 0.0, 0.0, 0.0, 150, 1), (3.0, 0.1, 0.0, 0.0, 150, 1), (3.1, 0.1, 0.0, 0.0, 150, 1),
    (3.2, 0.1, 0.0, 0.15, 0, 0), (4.0, 0.1, 0.0, 0.15, 0, 0),
])  # fmt: skip


def cell() -> rd.Description:
    """Return two arms, a box and a table in one world."""
    arms, box = (rd.load_description(URDF + name) for name in ("dual_arm.urdf", "box.urdf"))
    world = place([Part(arms), Part(box, xyz=(X, 0.0, TOP + HALF), carrier="floating")])
    top = pose((X, 0.0, TOP - 0.02))
    table = [
        Shape("world", role, "box", top, (0.5, 0.7, 0.04), color=(0.5, 0.5, 0.55, 1.0))
        for role in ("visual", "collision")
    ]
    return replace(world, shapes=(*world.shapes, *table))


def plan(arms: rd.Robot, time: np.ndarray) -> CubicSpline:
    """Return positions of the arms over time that bring the palms to their planned places."""
    of = PchipInterpolator(PLAN[:, 0], PLAN[:, 1:4])
    q, found = np.array(POSTURE), []
    for lift, *apart in of(time):
        targets = {}
        for (tool, side), off in zip(SIDES.items(), apart, strict=True):
            place_of = (X, side * (0.2 + off), TOP + HALF + lift)
            targets[tool] = pose(place_of, TURNS[tool])
        q = arms.inverse_kinematics(targets, q0=q).q
        found.append(q)
    return CubicSpline(time, np.array(found))


def main() -> None:
    """Lift, put down, lift again and drop the box."""
    world, arms = cell(), rd.load(URDF + "dual_arm.urdf")
    robot = rd.load(world)
    model = robot.model
    pads = [Solid.box(tool, (0.1, 0.1, 0.02), pose((0, 0, -0.01))) for tool in SIDES]
    pairs = [*((pad, "box") for pad in pads), ("box", "world")]
    contacts = contacts_of(world, pairs, Material(0.8))

    wanted = plan(arms, np.arange(0.0, PLAN[-1, 0] + 0.01, 0.025))
    loads = PchipInterpolator(PLAN[:, 0], PLAN[:, 4:])
    joints = [model.joint_index(name) for name in arms.model.joint_names]
    at = [model.q_slices[i].start for i in joints]
    moved = [model.v_slices[i].start for i in joints]
    of_box = model.v_slices[model.joint_index("world_to_box")]
    start = model.neutral()
    start[at] = wanted(0.0)
    sim = rd.Simulation(robot, contacts=contacts, q=start, period=PERIOD, step=5e-4)

    seen, shown, highest, energies = sim.observation, [], 0.0, []
    for tick in range(round(PLAN[-1, 0] / PERIOD)):
        if tick % round(1.0 / RATE / PERIOD) == 0:
            shown.append(seen.q)
        t, q, qd = seen.time, seen.q[at], seen.qd[moved]
        squeeze, share = loads(t)
        servo = 900.0 * (wanted(t) - q) + 60.0 * (wanted(t, 1) - qd)
        torque = arms.inverse_dynamics(q, qd, wanted(t, 2) + servo)
        for tool, side in SIDES.items():
            force = [0, 0, 0, 0, -side * squeeze, 0.5 * share * WEIGHT]
            torque = torque + arms.jacobian(tool, q, "aligned").T @ force
        tau = np.zeros(model.nv)
        tau[moved] = torque
        seen = sim.step(tau)
        height, speed = robot.pose("box", seen.q)[2, 3] - TOP - HALF, seen.qd[of_box]
        highest = max(highest, height)
        if tick + 1 == round(RESTING / PERIOD):
            report("put down", sim, speed)
        if seen.time > FALLING:
            energies.append(WEIGHT * height + kinetic(speed))
    print(f"lifted by {highest:.2f} m")
    report("dropped", sim, speed)
    print(f"never more energy in the fall: {np.diff(energies).max() < 1e-6}")

    if FILM:
        from robot_dynamics.app.pictures.render import Camera, render_film, scene_of_robot

        scene = scene_of_robot(world, np.array(shown), np.arange(len(shown)) / RATE)
        render_film(scene, FILM, RATE, size=(400, 300), camera=Camera(35.0, 15.0))


def report(when: str, sim: rd.Simulation, speed: np.ndarray) -> None:
    """Print whether the box rests on the table with its whole weight."""
    force = sum(c.force[2] for c in sim.contacts if c.name.startswith("box on world"))
    rests = np.abs(speed).max() < 1e-6 and abs(force - WEIGHT) < 1e-6
    print(f"{when}: it rests on the table with its weight of {WEIGHT:.1f} N: {rests}")


def kinetic(speed: np.ndarray) -> float:
    """Return the kinetic energy of the box."""
    return 0.5 * float(speed**2 @ [0.2083333, 0.15, 0.2083333, 10.0, 10.0, 10.0])


if __name__ == "__main__":
    main()
