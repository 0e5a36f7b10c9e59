# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms of random build that hold an object by contacts and touch planes with it."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.manipulation.hybrid import Contact, Environment, HybridSystem
from robot_dynamics.manipulation.passive_joints import PassiveJoints
from robot_dynamics.model import JointElement, LinkElement, Mechanism, pose
from robot_dynamics.robot import Robot
from support.linkage_arms import drives_of, linkage_robot, random_drives

GRASPS = [(2, "rigid"), (3, "rigid"), (2, "soft finger"), (3, "soft finger")]
GRASPS.append((3, "frictional point"))
SURFACES = {"free": 0, "plane": 1, "two planes": 2}
# Closer to singular than this a state is drawn again: rounding is amplified without bound there.
_REGULAR = 0.01
CORNER = (0.1, 0.05, -0.2)


LINKAGE = "five-bar"


@cache
def passive_joints_of(count):
    """Return the motion of the joints without drives of arms with linkages."""
    model = linkage_robot(count).model
    drives = [model.joint_index(name) for name in drives_of(count)]
    return PassiveJoints.of(model, drives, np.zeros(model.nq))


@cache
def arms_of(count, joints):
    """Return arms with joints in all directions, one set for all states."""
    rng = np.random.default_rng(100 * count + joints)
    links, elements = [LinkElement("world")], []
    for i in range(count):
        angle = 2 * np.pi * i / count
        parent, at = "world", pose((np.cos(angle), np.sin(angle), 0.0))
        for j in range(joints):
            name = f"arm{i}_{j}"
            R = Rotation.random(random_state=rng).as_matrix()
            I_C = R @ np.diag([0.02, 0.03, 0.04]) @ R.T
            links.append(LinkElement(name, 1.0 + rng.random(), tuple(0.05 * rng.random(3)), I_C))
            elements.append(JointElement(f"{name}_joint", "revolute", parent, name, at))
            turn = Rotation.random(random_state=rng).as_matrix()
            parent, at = name, pose(0.3 * rng.uniform(-1.0, 1.0, 3), turn)
        links.append(LinkElement(f"tool{i}"))
        elements.append(JointElement(f"tool{i}_joint", "fixed", parent, f"tool{i}", at))
    return Robot.from_mechanism(Mechanism("arms", tuple(links), tuple(elements)))


def environment_of(surfaces, own=False):
    """Return horizontal and upright planes that corners of the object touch, and the rest.

    Args:
        surfaces: Number of planes.
        own: Whether compiled control moves along these coordinates, and not as it chooses.
    """
    planes = (lambda at: at.point(CORNER).z - 0.1, lambda at: -at.point((0.2, 0.0, 0.1)).x)
    along = (lambda at: at.x.y, *(lambda at, i=i: at.roll_pitch_yaw()[i] for i in range(3)))
    rest = {0: (lambda at: at.x.x, lambda at: at.x.z), 1: (lambda at: at.x.x,), 2: ()}
    return Environment(planes[:surfaces], (*along, *rest[surfaces]), own_coordinates=own)


class HeldState(NamedTuple):
    """A system at a state that its contacts allow."""

    system: HybridSystem
    q: np.ndarray
    qd: np.ndarray
    pose: np.ndarray
    twist: np.ndarray
    robot: Robot

    @property
    def drives(self):
        """Positions and velocities of the joints with drives: all of arms without loops."""
        at = list(self.system.passive_joints.drives)
        return self.q[at], self.qd[at]

    @property
    def terms(self):
        """All terms there."""
        return self.system.terms(self.q, self.qd, self.pose, self.twist)


def state_of(count, kind, joints, environment, rng):
    """Return a system with its contacts where the tools happen to be, and its state.

    Args:
        count: Number of arms.
        kind: Of contacts.
        joints: Of each arm; `LINKAGE` for arms with a five-bar linkage and six drives.
        environment: Surfaces and coordinates.
        rng: Random numbers.
    """
    linked = joints == LINKAGE
    # Loops are closed by as many Newton steps as rates of tens of rad/s need.
    speed = 0.1 if linked else 1.0
    robot = linkage_robot(count) if linked else arms_of(count, joints)
    passive_joints = passive_joints_of(count) if linked else PassiveJoints.of_tree(robot.model)
    tools = tuple(f"arm{i}_tool" if linked else f"tool{i}" for i in range(count))
    own = (drives_of(count), passive_joints.assembled) if linked else ()
    while True:
        if linked:
            q = passive_joints.positions(random_drives(count, rng))
        else:
            q = rng.uniform(-np.pi, np.pi, robot.model.nq)
        at = pose(
            rng.uniform(-0.5, 0.5, 3), Rotation.from_rotvec(rng.uniform(-0.5, 0.5, 3)).as_matrix()
        )
        contacts = tuple(
            Contact.of_kind(kind, np.linalg.inv(at) @ robot.pose(tool, q) @ _turned(kind, rng))
            for tool in tools
        )
        held = LinkElement("held", 3.0, (0.02, -0.01, 0.03), np.diag([0.02, 0.03, 0.04]))
        system = HybridSystem(robot.model, tools, held, contacts, environment, *own)
        twist, rest = speed * rng.standard_normal(6), np.zeros(robot.model.nv)
        J = system.terms(q, rest, at, twist)
        sizes = np.linalg.svd(J.J_S, compute_uv=False)
        if sizes[-1] > _REGULAR * sizes[0]:
            break
    # The arms go with the object, and move besides as they can.
    wish = speed * rng.standard_normal(len(passive_joints.drives))
    yd = wish + np.linalg.pinv(J.J_S) @ (J.W_S.T @ twist - J.J_S @ wish)
    return HeldState(system, q, passive_joints.rates(q, yd), at, twist, robot)


def _turned(kind, rng):
    """Return a hand's turn (4, 4) from its grasp, about axes that a contact leaves free."""
    free = {"soft finger": (1.0, 1.0, 0.0), "frictional point": (1.0, 1.0, 1.0)}
    turn = 0.2 * rng.standard_normal(3) * free[kind] if kind in free else np.zeros(3)
    return pose((0.0, 0.0, 0.0), Rotation.from_rotvec(turn).as_matrix())
