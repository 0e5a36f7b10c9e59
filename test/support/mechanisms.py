# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms for tests: random trees, arms, and arms that hold an object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    joint_transforms,
    link_pose,
)
from robot_dynamics.manipulation.grasping import ArmGrasp, grasp_system
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model import (
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    Model,
    build,
    joined,
    pose,
    transform_of,
)


def random_pose(rng, reach: float = 0.3) -> np.ndarray:
    """Return a pose (4, 4) of any orientation, some `reach` [m] away."""
    return pose(reach * rng.normal(size=3), Rotation.random(random_state=rng).as_matrix())


def random_link(rng, name: str) -> LinkElement:
    """Return a link of 1 to 3 kg whose inertia has three different principal moments."""
    parts = rng.uniform(0.01, 0.03, 3)
    axes = Rotation.random(random_state=rng).as_matrix()
    # Sums of two positive parts obey the triangle inequality.
    inertia = axes @ np.diag([parts[1] + parts[2], parts[0] + parts[2], parts[0] + parts[1]])
    return LinkElement(name, rng.uniform(1, 3), tuple(0.1 * rng.normal(size=3)), inertia @ axes.T)


def random_tree(rng, types: Sequence[str], *, chain: bool = False) -> Mechanism:
    """Return a tree with one joint of each type given, on parents drawn at random.

    Args:
        rng: Random numbers.
        types: Joint types, from the base outwards.
        chain: Whether each joint hangs on the one before it.
    """
    links = [LinkElement("base")] + [random_link(rng, f"link{i}") for i in range(len(types))]
    joints = []
    for i, kind in enumerate(types):
        parent = links[i if chain else rng.integers(0, i + 1)].name
        axis = rng.normal(size=3)
        axis = tuple(axis / np.linalg.norm(axis))
        joints.append(JointElement(f"joint{i}", kind, parent, f"link{i}", random_pose(rng), axis))
    return Mechanism("random", tuple(links), tuple(joints))


def in_units(mechanism: Mechanism, scale: float) -> Mechanism:
    """Return a tree with all lengths so many times as large; masses do not change."""

    def scaled(link: LinkElement) -> LinkElement:
        if not link.mass:
            return link
        center = tuple(scale * np.array(link.center))
        return replace(link, center=center, inertia=scale**2 * np.array(link.inertia))

    larger = np.outer([scale, scale, scale, 1.0], [1.0 / scale] * 3 + [1.0])
    joints = tuple(replace(j, placement=larger * j.placement) for j in mechanism.joints)
    return replace(mechanism, links=tuple(map(scaled, mechanism.links)), joints=joints)


def random_state(rng, model: Model, count: int | None = None) -> tuple[np.ndarray, ...]:
    """Return positions, velocities and accelerations (or forces): (nq,), (nv,), (nv,).

    With a `count` each has that many rows.
    """
    n = 1 if count is None else count
    q = rng.uniform(-2, 2, (n, model.nq))
    for body, at in zip(model.bodies, model.q_slices, strict=True):
        if body.joint.type.name == "floating":
            quaternion = rng.normal(size=(n, 4))
            q[:, at.start + 3 : at.stop] = quaternion / np.linalg.norm(
                quaternion, axis=1, keepdims=True
            )
    qd, qdd = rng.normal(size=(2, n, model.nv))
    return (q[0], qd[0], qdd[0]) if count is None else (q, qd, qdd)


def random_arm(rng, name: str, joints: int = 7) -> Mechanism:
    """Return an arm with placements of no structure; its tool link is called `<name>_tool`."""
    arm = random_tree(rng, ["revolute"] * joints, chain=True)
    tool = JointElement("tool_mount", "fixed", f"link{joints - 1}", "tool", random_pose(rng))
    links = (*arm.links, LinkElement("tool"))
    return replace(arm, links=links, joints=(*arm.joints, tool)).prefixed(f"{name}_")


def plain_arm(name: str, joints: int = 7) -> Mechanism:
    """Return an arm of common build: axes along z and y by turns, every second link 0.3 m long.

    It stands upright at zero; its tool link is called `<name>_tool`.
    """
    links, elements = [LinkElement("base")], []
    for i in range(joints):
        mass = 4.0 - 0.4 * i
        inertia = mass * np.diag([0.012, 0.011, 0.004])
        links.append(LinkElement(f"link{i}", mass, (0.01, 0.02, 0.08), inertia))
        height = 0.3 if i % 2 else 0.05
        axis = (0.0, 1.0, 0.0) if i % 2 else (0.0, 0.0, 1.0)
        parent = links[i].name
        elements.append(
            JointElement(
                f"joint{i}", "revolute", parent, f"link{i}", pose((0.0, 0.0, height)), axis,
                damping=0.2, friction=0.1,
            )
        )  # fmt: skip
    links.append(LinkElement("tool"))
    elements.append(JointElement("mount", "fixed", links[-2].name, "tool", pose((0.0, 0.0, 0.1))))
    return Mechanism(name, tuple(links), tuple(elements)).prefixed(f"{name}_")


BENT = (0.1, 0.5, -0.1, 1.2, 0.2, 0.9, 0.1)
OBJECT_POSE = np.array([0.5, 0.1, 0.6, 0.0, 0.0, 0.0, 1.0])


class Cell(NamedTuple):
    """Arms that hold an object, a start (nq,) with all grasps closed, and the tree behind it."""

    system: GraspSystem
    start: np.ndarray
    mechanism: Mechanism


def holding(
    arms: Sequence[Mechanism],
    held: LinkElement,
    grasps: Sequence[np.ndarray],
    postures: Sequence[Sequence[float]],
    shares: Sequence[float],
    object_pose: np.ndarray = OBJECT_POSE,
) -> Cell:
    """Return arms that hold an object.

    Each arm's base stands where its tool meets its grasp in the posture given.
    """
    names = [f"arm{i}" for i in range(len(arms))]
    frame = pose(object_pose[:3], Rotation.from_quat(object_pose[3:]).as_matrix())
    parts = []
    for arm, grasp, posture in zip(arms, grasps, postures, strict=True):
        tool = arm.links[-1].name
        at_posture = dict(zip((j.name for j in arm.joints), posture, strict=False))
        fixed = arm.locked({n: p for n, p in at_posture.items() if n in _movable(arm)})
        base = frame @ grasp @ np.linalg.inv(_pose_in_root(fixed, tool))
        parts.append((arm, base, "fixed"))
    parts.append((Mechanism("held", (held,)), np.eye(4), "floating"))
    mechanism = joined("cell", parts)
    system = grasp_system(
        mechanism,
        held.name,
        [
            ArmGrasp(name, arm.links[-1].name, grasp, posture, share)
            for name, arm, grasp, posture, share in zip(
                names, arms, grasps, postures, shares, strict=True
            )
        ],
    )
    q = system.model.neutral()
    q[system.q_index] = system.posture
    q[system.object_q] = object_pose
    return Cell(system, q, mechanism)


def two_arms(joints: Sequence[int] = (7, 7)) -> Cell:
    """Return two arms of common build that hold a box from both sides."""
    box = LinkElement("box", 5.0, (0.01, -0.02, 0.03), np.diag([0.06, 0.05, 0.04]))
    grasps = [
        pose((0.0, side * 0.15, 0.0), Rotation.from_euler("x", side * np.pi / 2).as_matrix())
        for side in (1, -1)
    ]
    arms = [plain_arm(f"arm{i}", n) for i, n in enumerate(joints)]
    return holding(arms, box, grasps, [BENT[:n] for n in joints], (0.5, 0.5))


def random_cell(rng, joints: Sequence[int], shares: Sequence[float]) -> Cell:
    """Return arms without structure that hold an object without symmetry."""
    arms = [random_arm(rng, f"arm{i}", n) for i, n in enumerate(joints)]
    grasps = [random_pose(rng, 0.2) for _ in joints]
    postures = [rng.uniform(-1, 1, n) for n in joints]
    object_pose = np.concatenate([rng.normal(size=3), Rotation.random(random_state=rng).as_quat()])
    return holding(arms, random_link(rng, "held"), grasps, postures, shares, object_pose)


def closed_by_grasps(system: GraspSystem, q: np.ndarray, poses: dict[str, np.ndarray]):
    """Return the system with its grasps moved to where the arms' tools are at positions `q`.

    Args:
        system: Arms and object.
        q: Positions (nq,).
        poses: Pose (4, 4) of each arm's tool in the world, by the arm's name.
    """
    pose_q = q[system.object_q]
    frame = pose(pose_q[:3], Rotation.from_quat(pose_q[3:]).as_matrix())
    moved = {
        system.model.loops[arm.loop].name: transform_of(np.linalg.inv(frame) @ poses[arm.name])
        for arm in system.arms
    }
    return replace(system, model=system.model.replace(successor_placement=moved))


def consistent_velocity(H: np.ndarray, K: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Return the velocity (nv,) nearest to `qd` in the metric of H that keeps the loops closed."""
    HK = np.linalg.solve(H, K.T)
    return qd - HK @ np.linalg.lstsq(K @ HK, K @ qd, rcond=1e-12)[0]


def weld(name: str, predecessor: str, successor: str, at: np.ndarray, to: np.ndarray):
    """Return a fixed loop joint between a frame of one link and a frame of another."""
    return LoopElement(name, "fixed", predecessor, successor, at, to)


def closed_loop_mechanism(rng, mechanism: Mechanism, pairs: Sequence[tuple[str, str]]):
    """Return a model whose loops are closed at a random state, and that state's positions (nq,).

    Args:
        rng: Random numbers.
        mechanism: The tree.
        pairs: Predecessor and successor links of the fixed loop joints.
    """
    tree = build(mechanism)
    q, _, _ = random_state(rng, tree)
    world = world_poses(tree, q)
    loops = []
    for i, (p, s) in enumerate(pairs):
        at = random_pose(rng)
        loops.append(weld(f"loop{i}", p, s, at, np.linalg.inv(world[s]) @ world[p] @ at))
    return build(mechanism.with_loops(loops)), q


def world_poses(model: Model, q: np.ndarray) -> dict[str, np.ndarray]:
    """Return the pose (4, 4) of every link at positions `q` (nq,), by name."""
    X0 = body_transforms(model, joint_transforms(model, q.tolist()))
    return {link.name: np.array(link_pose(link, X0)) for link in model.links}


def _movable(arm: Mechanism) -> set[str]:
    return {joint.name for joint in arm.joints if joint.type != "fixed"}


def _pose_in_root(mechanism: Mechanism, link: str) -> np.ndarray:
    """Return the pose of a link of a mechanism without movable joints in its root."""
    carrier = {joint.child: joint for joint in mechanism.joints}
    frame = np.eye(4)
    while link in carrier:
        frame = carrier[link].placement @ frame
        link = carrier[link].parent
    return frame
