# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of robots that touch: a quadruped beside MuJoCo, and two arms that push a box on a table.

    python -m benchmarks.contact_steps [--rounds 8]

The quadruped stands on 16 balls, four at each foot, and is pushed sideways: steps of 1 ms of one
call from Python each, in turns with `mujoco.mj_step` of the same model. The box is held by two
points of each palm and stands on its four corners, which slide: steps of several lengths beside
ones of 1/32 ms. Times are those of the thread's processor, the least of all rounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import robot_dynamics as rd
from robot_dynamics.contact.material import Material
from robot_dynamics.contact.points import PointContact, vertices
from robot_dynamics.contact.surfaces import plane
from robot_dynamics.model import JointElement, LinkElement, Mechanism, pose

Array = NDArray[np.float64]

LEGS = {"lf": (0.2, 0.15), "rf": (0.2, -0.15), "lb": (-0.2, 0.15), "rb": (-0.2, -0.15)}
LENGTH, BALL, FRICTION = 0.2, 0.01, 0.8  # of thigh and shank, of the feet's balls [m], mu
CORNERS = [(x, y, -LENGTH) for x in (-0.02, 0.02) for y in (-0.02, 0.02)]
BODY, HIP, THIGH, SHANK = 8.0, 0.5, 0.6, 0.3  # masses [kg]
BODY_INERTIA, HIP_INERTIA = (0.1, 0.2, 0.25), (1e-3, 1e-3, 1e-3)
STIFF, DAMP = 200.0, 1.0  # of the servos
STEP, PUSH = 1e-3, 3.0  # [s, N]


def rod(mass: float) -> tuple[float, float, float]:
    """Return the moments of inertia of a rod of a leg."""
    return (mass * LENGTH**2 / 12.0, mass * LENGTH**2 / 12.0, 1e-4)


def quadruped() -> tuple[rd.Robot, list[PointContact]]:
    """Return a robot with four legs of three joints, and the balls of its feet."""
    links = [LinkElement("world"), LinkElement("body", BODY, (0, 0, 0), np.diag(BODY_INERTIA))]
    joints = [JointElement("free", "floating", "world", "body")]
    feet: list[PointContact] = []
    middle = (0.0, 0.0, -0.5 * LENGTH)
    for leg, at in LEGS.items():
        hip, thigh, shank = (f"{leg} {part}" for part in ("hip", "thigh", "shank"))
        links += [
            LinkElement(hip, HIP, (0, 0, 0), np.diag(HIP_INERTIA)),
            LinkElement(thigh, THIGH, middle, np.diag(rod(THIGH))),
            LinkElement(shank, SHANK, middle, np.diag(rod(SHANK))),
        ]
        knee = pose((0.0, 0.0, -LENGTH))
        joints += [
            JointElement(f"{leg} 1", "revolute", "body", hip, pose((*at, 0.0)), (1.0, 0.0, 0.0)),
            JointElement(f"{leg} 2", "revolute", hip, thigh, pose((0, 0, 0)), (0.0, 1.0, 0.0)),
            JointElement(f"{leg} 3", "revolute", thigh, shank, knee, (0.0, 1.0, 0.0)),
        ]
        ball = PointContact(leg, shank, radius=BALL, material=Material(FRICTION))
        feet += vertices(ball, CORNERS)
    mechanism = Mechanism("quadruped", tuple(links), tuple(joints), ())
    return rd.Robot.from_mechanism(mechanism), feet


def quadruped_in_mujoco() -> Any:
    """Return the same model, with MuJoCo's contacts as they are by default but for round cones."""
    import mujoco

    def inertial(mass: float, moments: tuple[float, ...], z: float = 0.0) -> str:
        values = " ".join(map(str, moments))
        return f'<inertial pos="0 0 {z}" mass="{mass}" diaginertia="{values}"/>'

    def geom(place: tuple[float, ...]) -> str:
        at = " ".join(map(str, place))
        return f'<geom type="sphere" size="{BALL}" pos="{at}" friction="{FRICTION}"/>'

    half = -0.5 * LENGTH
    legs = "".join(
        f'<body pos="{x} {y} 0">{inertial(HIP, HIP_INERTIA)}<joint axis="1 0 0"/>'
        f'<body>{inertial(THIGH, rod(THIGH), half)}<joint axis="0 1 0"/>'
        f'<body pos="0 0 {-LENGTH}">{inertial(SHANK, rod(SHANK), half)}<joint axis="0 1 0"/>'
        f"{''.join(map(geom, CORNERS))}</body></body></body>"
        for x, y in LEGS.values()
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{STEP}" cone="elliptic"/><worldbody>'
        f'<geom type="plane" size="9 9 1" friction="{FRICTION}"/>'
        f'<body pos="0 0 {2 * LENGTH + BALL}">{inertial(BODY, BODY_INERTIA)}<freejoint/>{legs}'
        "</body></worldbody></mujoco>"
    )


def servos(angles: Array, rates: Array) -> Array:
    """Return the torques of the legs' joints (12,), which keep them straight."""
    return -STIFF * angles - DAMP * rates


class Ours:
    """The quadruped of this package; `step` takes the push on its body along x and y.

    Args:
        period: Time of a call [s].
    """

    def __init__(self, period: float = STEP) -> None:
        self.robot, feet = quadruped()
        model = self.robot.model
        q = model.neutral()
        q[2] = 2 * LENGTH + BALL
        self.sim = rd.Simulation(self.robot, contacts=feet, q=q, period=period, step=STEP)
        names = [f"{leg} {i}" for leg in LEGS for i in (1, 2, 3)]
        self.q = [model.q_slices[model.joint_index(name)].start for name in names]
        self.v = [model.v_slices[model.joint_index(name)].start for name in names]
        self.push = model.v_slices[model.joint_index("free")].start + 3

    def torque(self, push: float) -> Array:
        """Return the joint forces of servos and push."""
        seen = self.sim.observation
        tau = np.zeros(self.robot.model.nv)
        tau[self.v] = servos(seen.q[self.q], seen.qd[self.v])
        tau[self.push : self.push + 2] = push
        return tau

    def step(self, tau: Array) -> None:
        """Go on by a step."""
        self.sim.step(tau)

    def feet(self) -> tuple[Array, Array]:
        """Return gaps (16,) and places (16, 2) of the balls."""
        found = self.sim.contacts
        return np.array([c.gap for c in found]), np.array([c.point[:2] for c in found])


class Theirs:
    """The quadruped in MuJoCo."""

    def __init__(self) -> None:
        import mujoco

        self._step = mujoco.mj_step
        self.model = quadruped_in_mujoco()
        self.data = mujoco.MjData(self.model)

    def torque(self, push: float) -> Array:
        """Return the joint forces of servos and push."""
        tau = np.zeros(self.model.nv)
        tau[6:] = servos(self.data.qpos[7:], self.data.qvel[6:])
        tau[:2] = push
        return tau

    def step(self, tau: Array) -> None:
        """Go on by a step."""
        self.data.qfrc_applied[:] = tau
        self._step(self.model, self.data)

    def feet(self) -> tuple[Array, Array]:
        """Return gaps (16,) and places (16, 2) of the balls."""
        places = self.data.geom_xpos[1:]
        return places[:, 2] - BALL, places[:, :2].copy()


def stand(machine: Ours | Theirs, push: float, steps: int) -> float:
    """Take steps; return the processor time of the least of them [us], torques left out."""
    least = np.inf
    for _ in range(steps // 25):
        spent = 0
        for _ in range(25):
            tau = machine.torque(push)
            begin = time.thread_time_ns()
            machine.step(tau)
            spent += time.thread_time_ns() - begin
        least = min(least, spent / 25e3)
    return least


def compare_quadrupeds(rounds: int) -> None:
    """Print times of steps, penetration and slip of both."""
    import mujoco

    machines: dict[str, Ours | Theirs] = {"ours": Ours(), "MuJoCo": Theirs()}
    for machine in machines.values():
        stand(machine, 0.0, 500)
    us: dict[str, list[float]] = {name: [] for name in machines}
    for _ in range(rounds):
        for name, machine in machines.items():
            us[name].append(stand(machine, 0.0, 500))
    model, data = machines["MuJoCo"].model, machines["MuJoCo"].data  # type: ignore[union-attr]
    begin = time.thread_time_ns()
    mujoco.mj_step(model, data, 2000)
    inside = (time.thread_time_ns() - begin) / 2e6
    print(f"standing quadruped, 16 contacts, steps of {1e3 * STEP:g} ms, one call each:")
    for name, machine in machines.items():
        _, before = machine.feet()
        pushed = stand(machine, PUSH, 500)
        gaps, _ = machine.feet()
        stand(machine, 0.0, 1000)
        _, after = machine.feet()
        slip = np.linalg.norm(after - before, axis=1).max()
        print(
            f"  {name:8} {min(us[name]):6.1f} us a step, {np.median(us[name]):6.1f} in the median,"
            f" {pushed:6.1f} us pushed;"
            f" {1e6 * max(0.0, -gaps.min()):9.3g} um deep,"
            f" {1e6 * slip:9.3g} um off after a push of 0.5 s"
        )
    print(f"  MuJoCo without calls from Python: {inside:.1f} us a step")


def two_arms_and_a_box() -> tuple[Callable[[float], Any], Callable[[Any, float], Array], str]:
    """Return a factory of simulations of a step, the torque at a time, and the box's name."""
    engine: Any = rd.Simulation("tray")._plant.engine
    scene, start, box = engine.scene, engine.stepping.q, "tray"
    robot, system = rd.Robot(scene.model), scene.system
    material = Material(0.5)
    X = robot.pose(box, start)
    contacts: list[PointContact] = []
    tools = []
    for arm, grasp in zip(system.arms, system.grasps, strict=True):
        side = np.sign(grasp[1, 3])
        tool = robot.pose(arm.tool, start)
        points = []
        for x in (-0.03, 0.03):
            there = X @ [*(grasp[:3, 3] + [x, 0.0, 0.0]), 1.0]
            points.append((np.linalg.inv(tool) @ there)[:3])
        face = plane(grasp[:3, 3], (0.0, side, 0.0))
        palm = PointContact(arm.name, arm.tool, surface=face, on=box, material=material)
        contacts += vertices(palm, points)
        tools.append((arm.tool, side))
    corners = [(x, y, -0.05) for x in (-0.15, 0.15) for y in (-0.15, 0.15)]
    table = plane(X[:3, 3] - [0.0, 0.0, 0.05], (0.0, 0.0, 1.0))
    contacts += vertices(PointContact("table", box, surface=table, material=material), corners)
    hold = robot.bias_forces(start, np.zeros(robot.model.nv))
    damping = 10.0 * np.diag(robot.inertia_matrix(start)).copy()
    hold[system.object_v] = damping[system.object_v] = 0.0

    def simulation(step: float) -> Any:
        return rd.Simulation(robot, contacts=contacts, q=start, period=0.002, step=step)

    def torque(seen: Any, now: float) -> Array:
        tau = hold - damping * seen.qd
        for tool, side in tools:
            force = [25.0 * np.sin(10.0 * now), -40.0 * side, 0.0]
            tau += robot.external_forces(seen.q, {tool: [0, 0, 0, *force]}, "aligned")
        return tau

    return simulation, torque, box


def measure_box(rounds: int, duration: float = 0.5) -> None:
    """Print times and errors of several steps."""
    simulation, torque, box = two_arms_and_a_box()
    steps = [1.0 / 32.0, 0.125, 0.25, 0.5, 1.0, 2.0]
    paths, spent, residual = {}, dict.fromkeys(steps, np.inf), {}
    for around in range(rounds):
        for step in steps if around == 0 else steps[1:]:
            sim = simulation(1e-3 * step)
            seen, path, taken = sim.observation, [], 0
            for k in range(round(duration / sim.period)):
                tau = torque(seen, k * sim.period)
                begin = time.thread_time_ns()
                seen = sim.step(tau)
                taken += time.thread_time_ns() - begin
                path.append(sim.arms.pose(box, seen.q)[:3, 3])
            spent[step] = min(spent[step], 1e-9 * taken)
            paths[step] = np.array(path)
            gaps = [c.gap for c in sim.contacts]
            residual[step] = max(0.0, -min(gaps))
    exact = paths[steps[0]]
    way = np.ptp(exact, axis=0).max()
    print(f"two arms push a box on a table, 8 contacts, {1e3 * way:.1f} mm there and back:")
    for step in steps[1:]:
        off = np.abs(paths[step] - exact).max()
        print(
            f"  steps of {step:5.3f} ms: {duration / spent[step]:6.2f} x real time,"
            f" {1e6 * off:8.2f} um off at most, {1e9 * residual[step]:7.2g} nm deep"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    rounds = parser.parse_args().rounds
    compare_quadrupeds(rounds)
    measure_box(max(rounds // 2, 1))


if __name__ == "__main__":
    main()
