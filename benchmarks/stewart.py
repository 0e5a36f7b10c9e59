# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A Stewart platform of 1 m size on six driven legs, for us and for Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from benchmarks.closed_loops import ClosedLoop, Peer, consistent
from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, build, pose
from robot_dynamics.robot import Robot

Array = NDArray[np.float64]

POSES, VELOCITIES = 8, 16
LEGS, BASE, TOP, HEIGHT = 6, 1.0, 0.5, 1.0
PLATFORM = LinkElement("platform", 20.0, (0.0, 0.0, 0.05), np.diag([1.0, 1.1, 1.9]))
LEG = LinkElement("leg", 3.0, (0.0, 0.0, 0.3), np.diag([0.1, 0.1, 0.005]))
ROD = LinkElement("rod", 1.0, (0.0, 0.0, -0.2), np.diag([0.03, 0.03, 0.001]))


def feet() -> list[tuple[tuple[float, float, float], tuple[float, float, float]]]:
    """Return the legs' points on the base, and their points on the platform."""
    points = []
    for leg in range(LEGS):
        low = np.radians(120 * (leg // 2) + (20 if leg % 2 else -20))
        high = np.radians(120 * (leg // 2) + (50 if leg % 2 else -50))
        foot = (BASE * np.cos(low), BASE * np.sin(low), 0.0)
        ball = (TOP * np.cos(high), TOP * np.sin(high), 0.0)
        points.append((foot, ball))
    return points


def stewart_platform() -> ClosedLoop:
    """Return the platform, states near its middle, and forces of its drives."""
    robot = Robot(build(mechanism()))
    return ClosedLoop("Stewart platform", robot, states_of(robot), peer_of())


def mechanism() -> Mechanism:
    """Return the platform: universal joints, slides and balls."""
    links = [LinkElement("base"), PLATFORM]
    joints, loops = [JointElement("free", "floating", "base", "platform")], []
    for leg, (foot, ball) in enumerate(feet()):
        links.append(LinkElement(f"leg{leg}", LEG.mass, LEG.center, LEG.inertia))
        links.append(LinkElement(f"rod{leg}", ROD.mass, ROD.center, ROD.inertia))
        joints.append(JointElement(f"foot{leg}", "universal", "base", f"leg{leg}", pose(foot)))
        joints.append(JointElement(f"slide{leg}", "prismatic", f"leg{leg}", f"rod{leg}"))
        ends = (np.eye(4), pose(ball))
        loops.append(LoopElement(f"ball{leg}", "spherical", f"rod{leg}", "platform", *ends))
    return Mechanism("Stewart platform", tuple(links), tuple(joints), tuple(loops))


def peer_of() -> Peer:
    """Return the same in Pinocchio: two hinges for a universal joint, six 3D constraints."""
    model = pin.Model()

    def add(parent: int, kind: object, at: object, name: str, link: LinkElement | None) -> int:
        joint = model.addJoint(parent, kind, at, name)
        if link is not None:
            inertia = pin.Inertia(link.mass, np.array(link.center), np.array(link.inertia))
            model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        return joint

    here = pin.SE3.Identity()
    platform = add(0, pin.JointModelFreeFlyer(), here, "free", PLATFORM)
    closures = []
    for leg, (foot, ball) in enumerate(feet()):
        at = pin.SE3(np.eye(3), np.array(foot))
        cross = add(0, pin.JointModelRX(), at, f"cross{leg}", None)
        lower = add(cross, pin.JointModelRY(), here, f"leg{leg}", LEG)
        rod = add(lower, pin.JointModelPZ(), here, f"rod{leg}", ROD)
        top = pin.SE3(np.eye(3), np.array(ball))
        closures.append((pin.ContactType.CONTACT_3D, rod, here, platform, top))
    return Peer(model, closures, floating=0)


def states_of(robot: Robot) -> list[tuple[Array, ...]]:
    """Return closed states with matching velocities, and forces of the drives."""
    rng, states = np.random.default_rng(0), []
    nv = robot.model.nv
    for _ in range(POSES):
        at = np.array([0.0, 0.0, HEIGHT]) + 0.1 * rng.uniform(-1, 1, 3)
        turn = Rotation.from_rotvec(0.15 * rng.uniform(-1, 1, 3))
        q = np.array([*at, *turn.as_quat()])
        for foot, ball in feet():
            x, y, z = at + turn.apply(ball) - foot
            # z of a universal joint's successor is (s2, -s1 c2, c1 c2) in its predecessor.
            q = np.append(q, [np.arctan2(-y, z), np.arctan2(x, np.hypot(y, z))])
            q = np.append(q, np.linalg.norm([x, y, z]))
        for qd in consistent(robot, q, rng.normal(size=(VELOCITIES, nv))):
            tau = np.zeros(nv)
            tau[8::3] = 100.0 * rng.normal(size=LEGS)
            states.append((q, qd, tau))
    return states
