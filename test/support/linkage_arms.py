# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms with a five-bar linkage each, as palletising robots have: six drives, eight joints."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.manipulation.grasping import ArmGrasp, grasp_system
from robot_dynamics.model import (
    JointElement,
    Limits,
    LinkElement,
    LoopElement,
    Mechanism,
    joined,
    pose,
)
from robot_dynamics.robot import Robot
from support.mechanisms import Cell

# In the order of the model, which is that of the drives' torques.
DRIVES = ("turn", "near", "crank", "roll", "bend", "twist")
POSTURE = (0.1, 0.15, -0.1, 0.2, 0.9, -0.2)
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
UNLIMITED = Limits()
_ACROSS = Rotation.from_euler("x", -90, degrees=True).as_matrix()  # z along y


def five_bar_arm(
    name: str,
    scale: float = 1.0,
    closure: str = "sphere_in_cylinder",
    limits: Limits = UNLIMITED,
) -> Mechanism:
    """Return a turning base, a five-bar linkage in a vertical plane, and a wrist of three joints.

    The linkage: `near` and `crank` are driven, `fore` on the one and `rod` on the other meet in a
    pin. At zero it is closed, `near`, `crank` and `rod` upright and `fore` level.

    Args:
        name: Prefix of links and joints; the tool is "<name>_tool".
        scale: Of all lengths of the linkage.
        closure: The pin: in the plane two constraints count, of a hinge's five as well.
        limits: Of the pin, if it is a hinge.
    """
    s = scale
    bodies = [  # name, parent, place on it, axis, mass, centre
        ("turn", "base", (0, 0, 0.1), Z, 3.0, (0.0, 0.02, 0.05)),
        ("near", "turn", (0, 0, 0.1), Y, 2.0, (0.01, 0.03, 0.15 * s)),
        ("fore", "near", (0, 0, 0.35 * s), Y, 1.5, (0.1 * s, 0.0, 0.02)),
        ("crank", "turn", (-0.14 * s, 0, 0.1), Y, 0.7, (0.0, -0.02, 0.1 * s)),
        ("rod", "crank", (0, 0, 0.2 * s), Y, 0.4, (0.01, 0.0, 0.07 * s)),
        ("roll", "fore", (0.25 * s, 0, 0), X, 0.8, (0.05, 0.0, 0.01)),
        ("bend", "roll", (0.1, 0, 0), Y, 0.6, (0.03, 0.01, 0.0)),
        ("twist", "bend", (0.08, 0, 0), X, 0.3, (0.02, 0.0, 0.01)),
    ]
    links, joints = [LinkElement("base")], []
    for body, parent, at, axis, mass, centre in bodies:
        inertia = mass * np.diag([0.012, 0.011, 0.008])
        links.append(LinkElement(body, mass, centre, inertia))
        joints.append(
            JointElement(body, "revolute", parent, body, pose(at), axis, active=body in DRIVES)
        )
    links.append(LinkElement("tool"))
    joints.append(JointElement("mount", "fixed", "twist", "tool", pose((0.06, 0.0, 0.0))))
    pin = LoopElement(
        "pin", closure, "fore", "rod",
        pose((-0.14 * s, 0, 0), _ACROSS), pose((0, 0, 0.15 * s), _ACROSS), limits=limits,
    )  # fmt: skip
    return Mechanism(name, tuple(links), tuple(joints), (pin,)).prefixed(f"{name}_")


@cache
def linkage_robot(count: int) -> Robot:
    """Return several such arms on one base, each of another size."""
    arms = [five_bar_arm(f"arm{i}", 1.0 + 0.1 * i) for i in range(count)]
    parts = []
    for i, arm in enumerate(arms):
        angle = 2.0 * np.pi * i / count
        turn = Rotation.from_euler("z", angle + np.pi).as_matrix()
        parts.append((arm, pose((0.8 * np.cos(angle), 0.8 * np.sin(angle), 0.0), turn), "fixed"))
    return Robot.from_mechanism(joined("arms", parts))


def drives_of(count: int) -> tuple[str, ...]:
    """Return the names of the drives of `linkage_robot`, in the order of the model."""
    names = {f"arm{i}_{drive}" for i in range(count) for drive in DRIVES}
    return tuple(name for name in linkage_robot(count).model.joint_names if name in names)


def random_drives(count: int, rng) -> np.ndarray:
    """Return positions of the drives of `linkage_robot` at which its linkages close."""
    linked = np.array([name.endswith(("_near", "_crank")) for name in drives_of(count)])
    return np.where(linked, 0.15, 0.8) * rng.uniform(-1.0, 1.0, len(linked))


def linkage_cell(count: int, held: LinkElement, grasps, **pin) -> Cell:
    """Return arms around an object, each with its base where its tool meets its grasp.

    Args:
        count: Number of arms.
        held: The object, at (0.5, 0.1, 0.6) m.
        grasps: Poses (4, 4) in it.
        pin: Closure and limits, see `five_bar_arm`.
    """
    object_pose = np.array([0.5, 0.1, 0.6, 0.0, 0.0, 0.0, 1.0])
    frame = pose(object_pose[:3])
    parts, arm_grasps, follow = [], [], {}
    for i in range(count):
        arm = five_bar_arm(f"arm{i}", 1.0 + 0.1 * i, **pin)
        robot = Robot.from_mechanism(arm)
        names = [f"arm{i}_{drive}" for drive in DRIVES]
        at_posture = dict(zip(names, POSTURE, strict=True))
        q = robot.assemble(np.zeros(8), held=at_posture).q
        follow |= dict(zip(robot.model.joint_names, q, strict=True))
        base = frame @ grasps[i] @ np.linalg.inv(robot.pose(f"arm{i}_tool", q))
        parts.append((arm, base, "fixed"))
        arm_grasps.append(
            ArmGrasp(f"arm{i}", f"arm{i}_tool", grasps[i], POSTURE, 1.0 / count, names)
        )
    parts.append((Mechanism("held", (held,)), np.eye(4), "floating"))
    mechanism = joined("cell", parts)
    system = grasp_system(mechanism, held.name, arm_grasps)
    start = system.model.neutral()
    for name, value in follow.items():
        start[system.model.q_slices[system.model.joint_index(name)]] = value
    start[system.object_q] = object_pose
    return Cell(system, start, mechanism)
