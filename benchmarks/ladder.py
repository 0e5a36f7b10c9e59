# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A ladder whose rails are chains: loops beside loops, of which no spanning tree makes short work.

Fig 8.4 of Featherstone's book, in space and properly constrained: both rails hang on the base, so
that the k-th loop passes 2 k joints, and every rung adds one freedom.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, Model, pose

Array = NDArray[np.float64]

LINK, RUNG = 0.3, 0.4
# Hinges lean to either side by turns, so that the ladder bends in two directions.
LEAN = np.radians(30.0)
# From the frame of a rail's link to that of its rung, whose z axis points to the other rail.
ACROSS = Rotation.from_euler("x", -np.pi / 2)


def axis_of(section: int) -> tuple[float, float, float]:
    """Return the axis of both hinges of a section."""
    return 0.0, float(np.sin(LEAN) * (-1) ** section), float(np.cos(LEAN))


def ladder(rungs: int) -> Mechanism:
    """Return a ladder: hinged rails, rungs on universal joints, ball joints at their far ends."""
    links, joints, loops = [LinkElement("base")], [], []
    rod = np.diag([0.001, 0.01, 0.01])
    for i in range(rungs):
        for side, y in (("left", 0.0), ("right", RUNG)):
            parent = f"{side}{i - 1}" if i else "base"
            at = pose((LINK, 0.0, 0.0)) if i else pose((0.0, y, 0.0))
            links.append(LinkElement(f"{side}{i}", 1.0, (LINK / 2, 0.0, 0.0), rod))
            hinge = f"{side}{i}_hinge"
            joints.append(JointElement(hinge, "revolute", parent, f"{side}{i}", at, axis_of(i)))
        across = pose((LINK, 0.0, 0.0), ACROSS.as_matrix())
        rung = LinkElement(f"rung{i}", 0.5, (0.0, 0.0, RUNG / 2), rod[::-1, ::-1])
        links.append(rung)
        joints.append(JointElement(f"rung{i}_joint", "universal", f"left{i}", rung.name, across))
        ends = pose((0.0, 0.0, RUNG)), pose((LINK, 0.0, 0.0))
        loops.append(LoopElement(f"ball{i}", "spherical", rung.name, f"right{i}", *ends))
    return Mechanism(f"ladder of {rungs}", tuple(links), tuple(joints), tuple(loops))


def bent(model: Model, angles: Array, rates: Array) -> tuple[Array, Array]:
    """Return positions (nq,) and velocities (nv,) of a ladder that keep it closed.

    While both hinges of every section turn alike, the rungs keep their direction in the world:
    their universal joints undo the turn of the rail.

    Args:
        model: The ladder.
        angles: Of the hinges of each section [rad].
        rates: Their rates [rad/s].
    """
    at = {name: slot.start for name, slot in zip(model.joint_names, model.q_slices, strict=True)}
    q, qd = np.zeros(model.nq), np.zeros(model.nv)
    turned, spin = Rotation.identity(), np.zeros(3)  # of the rail, in the world
    for i, (angle, rate) in enumerate(zip(angles, rates, strict=True)):
        spin = spin + rate * turned.apply(axis_of(i))
        turned = turned * Rotation.from_rotvec(angle * np.array(axis_of(i)))
        for side in ("left", "right"):
            q[at[f"{side}{i}_hinge"]], qd[at[f"{side}{i}_hinge"]] = angle, rate
        seen = turned * ACROSS  # the frame in which the rung has to point along y of the world
        d = seen.inv().apply([0.0, 1.0, 0.0])
        change = seen.inv().apply(np.cross([0.0, 1.0, 0.0], spin))
        # z of a universal joint's successor is (s2, -s1 c2, c1 c2) in its predecessor.
        rung = at[f"rung{i}_joint"]
        squared = d[1] ** 2 + d[2] ** 2
        q[rung : rung + 2] = np.arctan2(-d[1], d[2]), np.arcsin(d[0])
        qd[rung] = (d[1] * change[2] - d[2] * change[1]) / squared
        qd[rung + 1] = change[0] / np.sqrt(squared)
    return q, qd
