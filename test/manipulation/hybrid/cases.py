# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Yoshikawa and Zheng's worked cases as systems, and the paper's coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation
from support.papers import CASES, arm, frame, inertia

from robot_dynamics.manipulation.hybrid import Contact, Environment, HybridSystem
from robot_dynamics.model import LinkElement, Mechanism, build, pose
from robot_dynamics.scalar.functions import sin

NAMES = [name for name in CASES if name.startswith("Y")]
KIND_OF = {"rigid": "rigid", "pcf": "frictional point", "soft": "soft finger"}


@dataclass(frozen=True)
class Coordinates:
    """The paper's r = [x; phi] at a state: orientation R, T and its rate (4), (7)."""

    R: np.ndarray
    T: np.ndarray
    T_dot: np.ndarray

    @classmethod
    def of(cls, orient, r, rd):
        (a, b, c), (da, db, dc) = r[3:], rd[3:]
        if orient == "zyz":
            R = Rotation.from_euler("ZYZ", r[3:]).as_matrix()
            sa, ca, sb, cb = np.sin(a), np.cos(a), np.sin(b), np.cos(b)
            T_r = np.array([[0, -sa, ca * sb], [0, ca, sa * sb], [1, 0, cb]])
            rate = np.array(
                [
                    [0, -ca * da, -sa * da * sb + ca * cb * db],
                    [0, -sa * da, ca * da * sb + sa * cb * db],
                    [0, 0, -sb * db],
                ]
            )
        else:
            R = Rotation.from_euler("xyz", r[3:]).as_matrix()
            sb, cb, sc, cc = np.sin(b), np.cos(b), np.sin(c), np.cos(c)
            T_r = np.array([[cc * cb, -sc, 0], [sc * cb, cc, 0], [-sb, 0, 1]])
            rate = np.array(
                [
                    [-sc * dc * cb - cc * sb * db, -cc * dc, 0],
                    [cc * dc * cb - sc * sb * db, -sc * dc, 0],
                    [-cb * db, 0, 0],
                ]
            )
        # To [omega; v] from [x; phi].
        T, T_dot = np.zeros((6, 6)), np.zeros((6, 6))
        T[:3, 3:], T[3:, :3], T_dot[:3, 3:] = T_r, np.eye(3), rate
        return cls(R, T, T_dot)

    def acceleration(self, twist_rate, rd):
        """Return r's second derivative of the rate of the twist."""
        return np.linalg.solve(self.T, twist_rate - self.T_dot @ rd)


def environment_of(case):
    """Return surfaces and coordinates of a case, functions of r through the pose."""
    orient, kind = case["input"]["system"]["orient"], case["input"]["system"]["env"]

    def angles(at):
        return at.zyz() if orient == "zyz" else at.roll_pitch_yaw()

    def position(i):
        return lambda at: tuple(at.x)[i]

    def angle(i):
        return lambda at: angles(at)[i]

    x, y, z = (position(i) for i in range(3))
    first, second, third = (angle(i) for i in range(3))
    if kind == "none":
        return Environment((), (x, y, z, first, second, third))
    if kind == "plane":
        return Environment((z,), (x, y, first, second, third))
    return Environment(
        (
            lambda at: z(at) - 0.3 * x(at) * x(at) + 0.1 * sin(y(at)),
            lambda at: second(at) - 0.2 * x(at) * first(at),
        ),
        (
            x,
            lambda at: y(at) + 0.1 * z(at) * z(at),
            first,
            lambda at: third(at) + 0.3 * x(at),
        ),
    )


def system_of(case):
    """Return the system of a case."""
    data = case["input"]["system"]
    links, joints, tools = [LinkElement("world")], [], []
    for name, arm_data, base in zip("abc", data["arms"], data["bases"], strict=False):
        more_links, more_joints = arm(name, arm_data, ("world", frame(**base)))
        links, joints = links + more_links, joints + more_joints
        tools.append(f"{name}tool")
    arms = build(Mechanism("arms", tuple(links), tuple(joints)), gravity=data["g"])
    held = LinkElement("held", data["obj"]["mass"], inertia=inertia(data["obj"]["inertia"]))
    contacts = tuple(
        Contact.of_kind(KIND_OF[g["type"]], frame(g["xyz"], g["rpy"])) for g in data["grasps"]
    )
    return HybridSystem(arms, tuple(tools), held, contacts, environment_of(case))


def state_of(case):
    """Return q, qd, the object's pose and twist, and the paper's coordinates there."""
    data = case["input"]
    r, rd = np.array(data["r"]), np.array(data["rd"])
    coordinates = Coordinates.of(data["system"]["orient"], r, rd)
    twist = coordinates.T @ rd
    return (
        np.array(data["q"]), np.array(data["qd"]), pose(r[:3], coordinates.R), twist, coordinates
    )  # fmt: skip


def terms_of(case):
    """Return the terms of a case at its state."""
    q, qd, at, twist, _ = state_of(case)
    return system_of(case).terms(q, qd, at, twist)


def in_paper_order(system, forces):
    """Return contact forces (d,) with forces before moments in each contact."""
    result, start = [], 0
    for contact in system.contacts:
        d = contact.directions.shape[1]
        own = forces[start : start + d]
        moments = np.linalg.norm(contact.directions[3:], axis=0) == 0.0
        result += [*own[~moments], *own[moments]]
        start += d
    return np.array(result)


def from_paper_order(system, forces):
    """Return the inverse of `in_paper_order`."""
    order = in_paper_order(system, np.arange(len(forces), dtype=float)).astype(int)
    result = np.empty(len(forces))
    result[order] = forces
    return result
