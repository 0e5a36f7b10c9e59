# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Systems of two arms with a jointed object that studies run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.description import load_description
from robot_dynamics.manipulation.jointed_object import JointedObjectSystem, jointed_object_system
from robot_dynamics.model import JointElement, LinkElement, Mechanism, pose
from robot_dynamics.resources import share_directory
from robot_dynamics.robot import Robot
from robot_dynamics.spatial import Inertia, Transform


@dataclass(frozen=True)
class Setting:
    """A system with its start.

    Attributes:
        system: Arms and object.
        start: Joint positions (n,), the object's joint closed.
        effort: Largest torques (n,); infinite without a limit in the description.
    """

    system: JointedObjectSystem
    start: Array
    effort: Array


def worked_case() -> Setting:
    """Return the worked case of the report's system: six joints an arm, a spherical joint."""
    arms = load_description(
        share_directory() / "config" / "studies" / "unseren_arms.urdf"
    ).mechanism
    first = LinkElement(
        "first_part", 1.784, (0.141, -0.092, 0.166),
        _symmetric(0.02618, -0.00013, 0.00143, 0.03045, 0.00025, 0.02781),
    )  # fmt: skip
    # Its link is at the object's joint.
    second = LinkElement(
        "second_part", 0.788, (-0.026, -0.078, 0.247),
        _symmetric(0.02441, 0.00156, -0.0011, 0.02934, 0.00094, 0.0294),
    )  # fmt: skip
    joint = JointElement(
        "object_joint", "spherical", "first_part", "second_part", pose((0.009, 0.121, -0.027))
    )
    held = Mechanism("object", (first, second), (joint,))
    grasps = (np.eye(4), pose((-0.135, -0.23, 0.09)))
    start = np.array(
        [-1.205, -0.905, -0.417, 0.881, 0.535, -0.55, -0.947, 0.388, 1.125, 0.318, 0.402, 0.32]
    )
    return _closed(jointed_object_system(arms, held, ("left_tool", "right_tool"), grasps), start)


def two_rods() -> Setting:
    """Return two arms of seven joints that hold two rods with a spherical joint between them."""
    rods = [
        LinkElement(f"{name}_rod", 1.5, (0.0, side * 0.1, 0.0), _rod(1.5, 0.2, 0.02))
        for name, side in (("left", 1.0), ("right", -1.0))
    ]
    joint = JointElement("ball", "spherical", "left_rod", "right_rod")
    return _held_by_dual_arm(Mechanism("rods", tuple(rods), (joint,)), np.zeros(3))


def pliers() -> Setting:
    """Return the same arms with a pair of pliers: a handle each, the hinge in front of them."""
    hinge = np.array([0.15, 0.0, 0.0])
    levers = []
    for name, side in (("left", 1.0), ("right", -1.0)):
        # From the hand at (0, side 0.2) through the hinge to the jaw on the other side.
        way = np.array([0.15, -side * 0.2, 0.0])
        turn = Rotation.from_euler("z", -side * np.arctan2(0.2, 0.15)).as_matrix()
        along_x = _rod(1.2, 0.4, 0.015)[[1, 0, 2]][:, [1, 0, 2]]
        inertia = turn @ along_x @ turn.T
        levers.append(LinkElement(f"{name}_lever", 1.2, tuple(-0.2 * way), inertia))
    joint = JointElement("hinge", "revolute", "left_lever", "right_lever")
    return _held_by_dual_arm(Mechanism("pliers", tuple(levers), (joint,)), hinge)


def scaled(
    setting: Setting, arms: Sequence[float] | Array, parts: Sequence[float] | Array
) -> JointedObjectSystem:
    """Return the system with inertias of the arms' bodies and of the parts multiplied.

    Args:
        setting: The system.
        arms: A factor for every body, in the order of the model.
        parts: A factor for each part.
    """
    system = setting.system
    bodies = {
        body.name: _times(body.inertia, factor)
        for body, factor in zip(system.arms.bodies, arms, strict=True)
    }
    model = system.arms.replace(inertia=bodies)
    bare = JointedObjectSystem(
        replace(model, variable=model.variable | set(bodies)),  # not compiled for each sample
        tuple(replace(part, inertia=_times(part.inertia, 0.0)) for part in system.parts),  # type: ignore[arg-type]
    )
    return bare.with_part_inertias(
        [_times(part.inertia, f) for part, f in zip(system.parts, parts, strict=True)]
    )


def misplaced(system: JointedObjectSystem, by: Sequence[Transform]) -> JointedObjectSystem:
    """Return the system with the frames of the object's joint elsewhere, on each part."""
    joint = system.joint
    moved = system.model.replace(
        predecessor_placement={joint.name: by[0].compose(joint.predecessor_placement)},
        successor_placement={joint.name: by[1].compose(joint.successor_placement)},
    )
    return JointedObjectSystem(moved, system.parts)


def _times(inertia: Inertia, factor: float) -> Inertia:
    return Inertia.of([factor * value for value in inertia.components()])


def _held_by_dual_arm(held: Mechanism, joint: Array) -> Setting:
    """Return the package's arms with an object whose joint is before the line of the hands."""
    arms = load_description(share_directory() / "urdf" / "dual_arm.urdf").mechanism
    quarter = np.pi / 2.0
    first, second = (
        pose(np.array([0.0, side, 0.0]) - joint, Rotation.from_euler("xyz", angles).as_matrix())
        for side, angles in (
            (0.2, [-quarter, 0.0, np.pi]),
            (-0.2, [-quarter, quarter, 0.0]),
        )
    )
    start = [-0.721279, -0.610955, 0.180993, 1.530891, 0.931656, 1.307267, 0.094625]
    start += [-1.877575, 0.68289, -0.241464, -1.530891, -1.300354, -1.629367, 1.633493]
    return _closed(
        jointed_object_system(arms, held, ("left_tool", "right_tool"), (first, second)),
        np.array(start),
    )


def _closed(system: JointedObjectSystem, guess: Array) -> Setting:
    start = Robot(system.model).assemble(guess).q
    return Setting(system, start, np.asarray(system.model.limits()["effort"]))


def _rod(mass: float, length: float, radius: float) -> Array:
    """Return the inertia (3, 3) of a round rod along y."""
    across = mass * (3.0 * radius**2 + length**2) / 12.0
    return np.diag([across, 0.5 * mass * radius**2, across])


def _symmetric(xx: float, xy: float, xz: float, yy: float, yz: float, zz: float) -> Array:
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
