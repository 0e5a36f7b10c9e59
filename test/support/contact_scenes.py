# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Scenes with contacts for tests: free bodies on surfaces, a body between two fingers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.contact.material import Material
from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model import JointElement, LinkElement, Mechanism, build, joined, pose
from robot_dynamics.simulation.scene import ArmContact, Scene
from support.mechanisms import holding

MASS = 2.0
BOX = LinkElement("box", MASS, (0.0, 0.0, 0.0), np.diag([0.010, 0.012, 0.014]))


def free_body(link: LinkElement = BOX, gravity=(0.0, 0.0, -9.81)) -> GraspSystem:
    """Return a body that floats, and no arms."""
    mechanism = joined("cell", [(Mechanism("held", (link,)), np.eye(4), "floating")])
    model = build(mechanism, gravity=gravity, variable={link.name})
    return GraspSystem(model, (), model.link(link.name).body)


def on_surfaces(*surfaces, link: LinkElement = BOX, gravity=(0.0, 0.0, -9.81)) -> Scene:
    """Return a body that floats, and surfaces."""
    return Scene(free_body(link, gravity), (), surfaces)


def between_fingers(
    material: Material,
    kind: str = "frictional point",
    gravity=(0.0, 0.0, -9.81),
    face=(np.inf, np.inf),
    link: LinkElement = BOX,
    wrists: bool = False,
    lifts: bool = False,
):
    """Return the box between two fingers that slide along x, towards each other, and its start.

    Forces on the joints of the fingers are the forces that they squeeze with. With wrists each
    finger tilts about its point: first about its own x axis, then about its own y axis. With lifts
    it also slides up.
    """
    # z of a grasp is into the box: along x on its left side.
    grasps = []
    for sign in (-1.0, 1.0):
        z = np.array([-sign, 0.0, 0.0])
        y = np.array([0.0, 1.0, 0.0])
        R = np.column_stack([np.cross(y, z), y, z])
        grasps.append(pose((sign * 0.05, 0.0, 0.0), R))
    fingers = []
    joints = {"slide": ("prismatic", (0.0, 0.0, 1.0))}
    if lifts:
        joints |= {"lift": ("prismatic", (1.0, 0.0, 0.0))}
    if wrists:
        joints |= {"tilt": ("revolute", (1.0, 0.0, 0.0)), "nod": ("revolute", (0.0, 1.0, 0.0))}
    for i in range(2):
        names = ["base", *(f"{name}_link" for name in list(joints)[:-1]), "tip"]
        links = [LinkElement("base")]
        links += [LinkElement(n, 0.3, (0.0, 0.0, 0.0), 1e-4 * np.eye(3)) for n in names[1:]]
        chain = tuple(
            JointElement(name, kind, parent, child, np.eye(4), axis)
            for (name, (kind, axis)), parent, child in zip(
                joints.items(), names[:-1], names[1:], strict=True
            )
        )
        fingers.append(Mechanism(f"finger{i}", tuple(links), chain).prefixed(f"finger{i}_"))
    rest = [[0.0] * len(joints)] * 2
    start = np.array([0, 0, 0, 0, 0, 0, 1.0])
    cell = holding(fingers, link, grasps, rest, (0.5, 0.5), start)
    system = replace(cell.system, model=cell.system.model.replace(gravity=gravity))
    contacts = tuple(
        ArmContact(Contact.of_kind(kind, grasp), material, face) for grasp in system.grasps
    )
    return Scene(system, contacts), cell.start


def run(motion, seconds: float, step: float = 2.5e-4, force=None, after=None) -> None:
    """Advance a motion, corrected after every eighth step; `after(motion)` is called each step."""
    nv = len(motion.v)
    force = np.zeros(nv) if force is None else force
    for i in range(round(seconds / step)):
        motion.advance(step, force)
        if i % 8 == 7:
            motion.correct()
        if after is not None:
            after(motion)
