# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings of arms that carry random payloads, and a study of how well these are identified.

    PYTHONPATH=. python test/support/payloads.py [--gain SHARE] [--planned S] [COUNT] [CELL ...]

The object turns and moves along sines for five seconds; with a number of seconds as `excite` plans
it for torques, until no move is added. On this motion the torques and wrenches of any payload
follow from Newton's and Euler's equations in world axes, which share no code with the regressors;
joints have viscous friction, Coulomb friction, and at rest a force below that which stays. Sensors
have white noise. With a share such as 0.02, the torque constant of each drive is off by it, up or
down.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

import robot_dynamics as rd
from robot_dynamics.app.identification.payload_excitation import excite_payload
from robot_dynamics.app.scenarios.cell import build_system, pose_matrix
from robot_dynamics.control.reference import plan_reference
from robot_dynamics.control.settings import ReferenceSettings
from robot_dynamics.identification.held_object import HeldObject
from robot_dynamics.identification.motion import ArmKinematics, Noise, RecordedMotion

#: By cell its scenario and a factor of the amplitudes below, within its reach.
CELLS = {
    "our arms": ("lift_box", 1.0),
    "two Pandas": ("lift_box_panda", 1.0),
    "two UR5": ("two_ur5", 0.6),
}
NOISE = Noise(torque_gain=0.0)
SECONDS = 5.0
# Amplitudes of the object's displacement [m] and rotation vector [rad], and frequencies [Hz].
_MOVE, _TURN = np.array([0.03, 0.03, 0.06]), np.array([0.35, 0.35, 0.35])
_MOVES, _TURNS = np.array([0.5, 0.7, 0.6]), np.array([0.8, 0.6, 0.4])
_STUCK = 0.01  # speed below which joints stick [rad/s]


class Carried(NamedTuple):
    """Arms that carry an object, and their exact motion."""

    system: Any
    grasps: list
    period: float
    q: np.ndarray
    qd: np.ndarray
    torque: np.ndarray  # of the arms alone
    jacobians: list  # of the tools, world axes (N, 6, n)
    poses: list  # of the tools (N, 4, 4)
    pose: np.ndarray  # of the object (N, 4, 4)
    twist: np.ndarray  # of the object's origin, world axes
    acceleration: np.ndarray


def along_sines(scenario, period: float, size: float) -> np.ndarray:
    """Return poses (N, 4, 4) of the object along sines, with two more samples at each end."""
    time = period * np.arange(-2, round(SECONDS / period) + 2)[:, None]
    pose = np.tile(np.eye(4), (len(time), 1, 1))
    pose[:, :3, :3] = Rotation.from_rotvec(
        size * _TURN * (1.0 - np.cos(2.0 * np.pi * _TURNS * time)) / 2.0
    ).as_matrix()
    start = pose_matrix(scenario.cell.object)
    pose[:, :3, :3] = start[:3, :3] @ pose[:, :3, :3]
    pose[:, :3, 3] = start[:3, 3] + size * _MOVE * (1.0 - np.cos(2.0 * np.pi * _MOVES * time))
    return pose


def planned_poses(scenario, period: float, longest: float) -> np.ndarray:
    """Return poses (N, 4, 4) of the object as planned, with two more samples at each end."""
    plan = excite_payload(scenario, use="torques", share=1e-6, longest_s=longest)
    print("\n".join(plan.lines), flush=True)
    rows = plan_reference(ReferenceSettings(plan.segments), scenario.object_pose).rows(
        period * np.arange(-2, round(plan.duration / period) + 2)
    )
    pose = np.tile(np.eye(4), (len(rows), 1, 1))
    pose[:, :3, :3] = Rotation.from_quat(rows[:, 3:7]).as_matrix()
    pose[:, :3, 3] = rows[:, :3]
    return pose


@cache
def carried(cell: str, period: float = 0.002, planned: float = 0.0) -> Carried:
    """Return the exact motion of a cell of `CELLS`, in samples of a period [s].

    Args:
        cell: Its name.
        period: The period [s].
        planned: Duration after which `excite` adds no move [s]; 0 for motion along sines.
    """
    name, size = CELLS[cell]
    scenario = rd.load_scenario(name)
    system = build_system(scenario)
    grasps = [pose_matrix(arm.grasp) for arm in scenario.cell.arms]
    robot, model = rd.Robot(system.arms_alone), system.arms_alone
    index = [model.v_slices[model.joint_index(joint)].start for joint in system.joint_names]
    if planned:
        pose = planned_poses(scenario, period, planned)
    else:
        pose = along_sines(scenario, period, size)
    q, start = np.zeros((len(pose), model.nq)), pose_matrix(scenario.cell.object)
    first = 0
    for arm, grasp in zip(system.arms, grasps, strict=True):
        own = index[first : first + len(arm.joints)]
        first += len(arm.joints)
        q[:, own] = arm.posture
        away = Rotation.from_matrix(start[:3, :3].T @ pose[:, :3, :3]).as_rotvec()
        for share in (0.25, 0.5, 0.75, *[1.0] * 10):  # Newton's method, further and further
            part = np.tile(np.eye(4), (len(pose), 1, 1))
            part[:, :3, :3] = start[:3, :3] @ Rotation.from_rotvec(share * away).as_matrix()
            part[:, :3, 3] = start[:3, 3] + share * (pose[:, :3, 3] - start[:3, 3])
            wanted = part @ grasp
            for _ in range(4 if share < 1.0 else 1):
                at = robot.pose(arm.tool, q)
                turned = wanted[:, :3, :3] @ np.swapaxes(at[:, :3, :3], 1, 2)
                error = np.hstack(
                    [Rotation.from_matrix(turned).as_rotvec(), wanted[:, :3, 3] - at[:, :3, 3]]
                )
                J = robot.jacobian(arm.tool, q, axes="aligned")[:, :, own]
                q[:, own] += np.einsum("nij,nj->ni", np.linalg.pinv(J), error)
        assert np.abs(error).max() < 1e-9
    qd = np.gradient(q, period, axis=0)
    qdd = np.gradient(qd, period, axis=0)
    twist = np.empty((len(pose), 6))
    Rd = np.gradient(pose[:, :3, :3], period, axis=0)
    W = Rd @ np.swapaxes(pose[:, :3, :3], 1, 2)
    twist[:, :3] = 0.5 * np.stack(
        [W[:, 2, 1] - W[:, 1, 2], W[:, 0, 2] - W[:, 2, 0], W[:, 1, 0] - W[:, 0, 1]], axis=1
    )
    twist[:, 3:] = np.gradient(pose[:, :3, 3], period, axis=0)
    acceleration = np.gradient(twist, period, axis=0)
    inner = slice(2, -2)
    q, qd, qdd = q[inner], qd[inner], qdd[inner]
    jacobians, first = [], 0
    for arm in system.arms:
        own = index[first : first + len(arm.joints)]
        first += len(arm.joints)
        jacobians.append(robot.jacobian(arm.tool, q, axes="aligned")[:, :, own])
    return Carried(
        system,
        grasps,
        period,
        q[:, index],
        qd[:, index],
        robot.inverse_dynamics(q, qd, qdd)[:, index],
        jacobians,
        [robot.pose(arm.tool, q) for arm in system.arms],
        pose[inner],
        twist[inner],
        acceleration[inner],
    )


def random_payload(rng, mass: float, size: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Return mass, centre and inertia about it of some masses in a box around the object."""
    m = mass * rng.uniform(0.6, 1.4)
    points = rng.uniform(-size, size, (8, 3)) + rng.uniform(-0.3, 0.3, 3) * size
    shares = rng.dirichlet(np.full(8, 4.0)) * m
    centre = shares @ points / m
    r = points - centre
    inertia = np.sum(shares) * np.eye(3) * 0.1 * size**2
    inertia += np.einsum("n,nij->ij", shares, _inertias(r))
    return m, centre, inertia


def _inertias(r):
    return np.einsum("nk,nk,ij->nij", r, r, np.eye(3)) - np.einsum("ni,nj->nij", r, r)


def record(arms: Carried, payload, rng, noise: Noise = NOISE) -> RecordedMotion:
    """Return noisy samples of arms that carry a payload (mass, centre, inertia about it).

    Drives give (1 +- `noise.torque_gain`) times the recorded torques, each with its own sign.
    """
    mass, centre, inertia = payload
    g = np.array(arms.system.model.gravity)
    R = arms.pose[:, :3, :3]
    c = R @ centre
    w, wd = arms.twist[:, :3], arms.acceleration[:, :3]
    of_centre = arms.acceleration[:, 3:] + np.cross(wd, c) + np.cross(w, np.cross(w, c))
    force = mass * (of_centre - g)
    I = R @ inertia @ np.swapaxes(R, 1, 2)
    moment = np.einsum("nij,nj->ni", I, wd) + np.cross(w, np.einsum("nij,nj->ni", I, w))
    moment += np.cross(c, force)  # about the object's origin
    count, k = len(arms.q), len(arms.jacobians)
    time = arms.period * np.arange(count)[:, None]
    shares = rng.dirichlet(np.full(k, 5.0))
    pull = sum(
        rng.normal(size=6) * [3.0] * 6 * np.sin(rng.uniform(0.0, 6.0) * time + rng.uniform(0, 6))
        for _ in range(4)
    ) + rng.normal(size=6) * [2, 2, 2, 10, 10, 10]
    torque, wrenches, start = arms.torque.copy(), np.empty((count, k, 6)), 0
    for i, (J, pose) in enumerate(zip(arms.jacobians, arms.poses, strict=True)):
        internal = pull if i == 0 else -pull / (k - 1)
        f = shares[i] * force + internal[:, 3:]
        at_origin = shares[i] * moment + internal[:, :3]
        arm_of_force = pose[:, :3, 3] - arms.pose[:, :3, 3]
        n = at_origin - np.cross(arm_of_force, f)
        own = slice(start, start + J.shape[2])
        start = own.stop
        torque[:, own] += np.einsum("nij,ni->nj", J, np.hstack([n, f]))
        back = np.swapaxes(pose[:, :3, :3], 1, 2)
        wrenches[:, i, :3] = np.einsum("nij,nj->ni", back, n)
        wrenches[:, i, 3:] = np.einsum("nij,nj->ni", back, f)
    limits = arms.system.limits["effort"]
    torque += _friction(arms.qd, 0.007 * limits, 0.007 * limits, rng)
    if noise.torque_gain > 0.0:
        torque /= 1.0 + noise.torque_gain * rng.choice([-1.0, 1.0], size=torque.shape[1])
    draw = rng.normal
    torque = torque + draw(size=torque.shape) * np.hypot(
        noise.torque, noise.torque_fraction * np.abs(torque)
    )
    return RecordedMotion(
        arms.period,
        arms.q + noise.position * draw(size=arms.q.shape),
        torque,
        wrenches + noise.wrench * draw(size=wrenches.shape),
    )


def _friction(qd, viscous, coulomb, rng):
    """Return friction (N, na); joints that stick have a force that stays the same meanwhile."""
    found = viscous * qd + coulomb * np.sign(qd)
    for j in range(qd.shape[1]):
        stuck = np.abs(qd[:, j]) < _STUCK
        bounds = np.concatenate([[0], np.flatnonzero(np.diff(stuck)) + 1, [len(stuck)]])
        for first, last in pairwise(bounds.tolist()):
            if stuck[first]:
                found[first:last, j] = rng.uniform(-1.0, 1.0) * coulomb[j]
    return found


def study(
    cell: str,
    count: int,
    sources=("torque", "wrench", "both"),
    noise: Noise = NOISE,
    planned: float = 0.0,
) -> dict:
    """Return errors and coverage for random payloads, by measured quantity; see `carried`."""
    arms = carried(cell, planned=planned)
    held = HeldObject(ArmKinematics(arms.system), arms.grasps, noise, 5.0)
    mass = held.prior[0]
    errors: dict[str, list] = {source: [] for source in sources}
    rng = np.random.default_rng(7)
    for _ in range(count):
        payload = random_payload(rng, mass, 0.15)
        motion = record(arms, payload, rng, noise)
        true = np.concatenate(
            [[payload[0]], payload[1], payload[2][[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]]
        )
        for source in sources:
            seen = motion
            if source == "torque":
                seen = RecordedMotion(motion.period, motion.q, motion.torque, None)
            if source == "wrench":
                seen = RecordedMotion(motion.period, motion.q, None, motion.wrenches)
            found = held.identify([seen])
            values, deviations = found.summary
            scores = (values - true) / deviations
            errors[source].append(
                [
                    abs(values[0] / true[0] - 1.0),
                    np.linalg.norm(values[1:4] - true[1:4]),
                    np.linalg.norm(values[4:] - true[4:]) / np.linalg.norm(true[4:]),
                    *scores,
                    found.fit.factor,
                    found.constrained,
                ]
            )
    return {source: np.array(rows) for source, rows in errors.items()}


def table(cell: str, found: dict) -> str:
    """Return the figures of a study, one line for each source."""
    lines = []
    for source, rows in found.items():
        scores, of_inertia = np.abs(rows[:, 3:7]), np.abs(rows[:, 7:13])
        figures = [f"{cell}, {source}, {len(rows)} payloads:"]
        for name, column, factor, unit in (
            ("mass", 0, 100.0, "%"),
            ("centre", 1, 1e3, "mm"),
            ("inertia", 2, 100.0, "%"),
        ):
            middle, high = factor * np.quantile(rows[:, column], [0.5, 0.95])
            figures.append(f"{name} {middle:.3f} {unit} (95th percentile {high:.3f}),")
        for name, values in (("mass and centre", scores), ("inertia", of_inertia)):
            inside = [100.0 * np.mean(values < bound) for bound in (1.0, 1.96)]
            figures.append(
                f"{name} within 1 and 1.96 deviations {inside[0]:.0f}, {inside[1]:.0f} %,"
            )
        figures.append(f"residual over noise {rows[:, 13].mean():.2f}")
        lines.append(" ".join(figures))
    return "\n".join(lines)


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--gain", type=float, default=0.0)
    options.add_argument("--planned", type=float, default=0.0)
    options.add_argument("count", type=int, nargs="?", default=100)
    options.add_argument("cells", nargs="*", default=[*CELLS])
    given = options.parse_args()
    for which in given.cells:
        sources = (
            ("torque", "both") if given.gain or given.planned else ("torque", "wrench", "both")
        )
        noise = replace(NOISE, torque_gain=given.gain)
        found = study(which, given.count, sources, noise, given.planned)
        print(table(which, found), flush=True)
