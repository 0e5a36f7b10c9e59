# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Worked cases of three papers on arms that hold an object, and the mechanisms they speak of.

They follow Unseren (ORNL/TM-11752, 1991), Yoshikawa and Zheng (IJRR 12(3), 1993) and Swain and
Morris (2003). Their outputs were computed by independent code from a dense system in the
coordinates of every single body, and are given with twelve digits.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.model import JointElement, LinkElement, Mechanism, pose

# The digits given are worth 1e-12; systems of condition up to 1e4 take four of them.
RTOL = 1e-8
CASES = {
    case["name"]: case for case in json.loads(Path(__file__).with_name("papers.json").read_text())
}


def frame(xyz, rpy):
    """Return a pose (4, 4) of a translation and fixed-axes angles."""
    return pose(xyz, Rotation.from_euler("xyz", rpy).as_matrix())


def inertia(six):
    """Return the matrix (3, 3) of its upper triangle, row by row."""
    xx, xy, xz, yy, yz, zz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def arm(name, data, base, tool=None):
    """Return the links and joints of an arm on a link `base` at a pose; joints turn about z."""
    links, joints = [], []
    parent, at = base
    for i, joint in enumerate(data["joints"]):
        link = f"{name}{i}"
        links.append(
            LinkElement(link, joint["mass"], tuple(joint["com"]), inertia(joint["inertia"]))
        )
        placement = at @ frame(joint["xyz"], joint["rpy"])
        joints.append(JointElement(f"{name}q{i}", "revolute", parent, link, placement))
        parent, at = link, np.eye(4)
    links.append(tool or LinkElement(f"{name}tool"))
    tool_frame = frame(data["tool_xyz"], data["tool_rpy"])
    joints.append(JointElement(f"{name}t", "fixed", parent, links[-1].name, tool_frame))
    return links, joints


def unseren_arms(system):
    """Return both arms of one of Unseren's cases on one base."""
    links, joints = [LinkElement("world")], []
    for name, number in (("a", 1), ("b", 2)):
        base = ("world", frame(**system[f"base{number}"]))
        more_links, more_joints = arm(name, system[f"arm{number}"], base)
        links, joints = links + more_links, joints + more_joints
    return Mechanism("arms", tuple(links), tuple(joints))


def close_to(ours, theirs):
    """Check equality in the largest entry, to the accuracy of the printed digits."""
    theirs = np.asarray(theirs)
    assert_allclose(ours, theirs, rtol=0, atol=RTOL * np.max(np.abs(theirs)))
