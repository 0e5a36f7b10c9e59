# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Well-known mechanisms with closed loops, built in a few lines each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, pose

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def turn(axes: str, angles) -> np.ndarray:
    """Return a rotation (3, 3) of Euler angles [rad]."""
    return Rotation.from_euler(axes, angles).as_matrix()


class Builder:
    """Collects links, joints and loops of a mechanism on a base called `base`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.links: list[LinkElement] = [LinkElement("base")]
        self.joints: list[JointElement] = []
        self.loops: list[LoopElement] = []

    def add(self, name, parent, kind="revolute", at=(0, 0, 0), axis=Z, rotation=None, **options):
        """Add a link called `name` on a joint called `name`_joint; passive unless told."""
        inertia = np.diag([0.02, 0.03, 0.04])
        self.links.append(LinkElement(name, 1.0, (0.1, 0.0, 0.02), inertia))
        options = {"active": False, **options}
        frame = pose(at, rotation)
        self.joints.append(
            JointElement(f"{name}_joint", kind, parent, name, frame, axis, **options)
        )

    def close(self, name, kind, predecessor, successor, at=None, to=None):
        """Close a loop between a point, or a frame, of one link and one of another."""
        frames = [
            f if isinstance(f, np.ndarray) and f.shape == (4, 4) else pose(f or (0, 0, 0))
            for f in (at, to)
        ]
        self.loops.append(LoopElement(name, kind, predecessor, successor, *frames))

    def done(self) -> Mechanism:
        return Mechanism(self.name, tuple(self.links), tuple(self.joints), tuple(self.loops))


def tilted(
    mechanism: Mechanism, rotation: np.ndarray, at=(0.0, 0.0, 0.0), kind: str = "fixed"
) -> Mechanism:
    """Return a mechanism whose base stands, or floats, in a room at another place and attitude."""
    from robot_dynamics.model import joined

    return joined(mechanism.name, [(mechanism, pose(at, rotation), kind)], root="room")


def four_bar(
    closure: str = "revolute", lengths: Sequence[float] = (0.3, 0.8, 0.6), ground: float = 0.9
) -> Mechanism:
    """Return crank, coupler and rocker in the x-y plane; the crank has a drive."""
    crank, coupler, rocker = lengths
    b = Builder("four_bar")
    b.add("crank", "base", active=True)
    b.add("coupler", "crank", at=(crank, 0, 0))
    b.add("rocker", "coupler", at=(coupler, 0, 0))
    b.close("pin", closure, "base", "rocker", (ground, 0, 0), (rocker, 0, 0))
    return b.done()


def turned_four_bar() -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """Return a four-bar linkage whose crank goes round, its pin's frame turned, and its states.

    They are positions (181, 3) around, for each way in which it can be assembled.

    In the pin's axes one entry of K passes zero where the linkage is nowhere near a dead point.
    """
    crank, coupler, rocker, ground = 0.474, 0.952, 0.653, 0.920
    b = Builder("four_bar")
    b.add("crank", "base", active=True)
    b.add("coupler", "crank", at=(crank, 0, 0))
    b.add("rocker", "base", at=(ground, 0, 0))
    R = turn("z", 5.81)
    b.close(
        "pin", "revolute", "coupler", "rocker", pose((coupler, 0, 0), R), pose((rocker, 0, 0), R)
    )
    angles = 5.65 + np.linspace(0.0, 2.0 * np.pi, 181)
    # From the crank's tip to the ground pivot, and the triangle on that, on either side.
    tip = crank * np.exp(1j * angles)
    away = ground - tip
    inside = np.arccos(
        (coupler**2 + np.abs(away) ** 2 - rocker**2) / (2.0 * coupler * np.abs(away))
    )
    assembled = []
    for side in (1.0, -1.0):
        direction = np.angle(away) + side * inside
        pin = tip + coupler * np.exp(1j * direction)
        rocking = np.angle(pin - ground)
        q = np.column_stack([angles, direction - angles, rocking])
        assembled.append(np.unwrap(q, axis=0))
    return b.done(), *assembled


def slider_crank(crank: float = 0.3, rod: float = 1.0) -> Mechanism:
    """Return a crank and rod in the x-y plane, and a slider along x."""
    b = Builder("slider_crank")
    b.add("crank", "base", active=True)
    b.add("rod", "crank", at=(crank, 0, 0))
    b.add("slider", "base", "prismatic", axis=X)
    b.close("wrist", "revolute", "rod", "slider", (rod, 0, 0))
    return b.done()


def random_truss(rng: np.random.Generator, nodes: int = 4) -> tuple[Mechanism, np.ndarray]:
    """Return a plane truss that cannot move, and its positions to rounding.

    Each node hangs on two bars from two others, the first two of which are fixed.
    """
    b, q = Builder("truss"), []
    points = rng.uniform(-1.0, 1.0, (nodes + 2, 2))
    carriers = [("base", 0.0, np.zeros(2))] * 2  # link, its direction and its origin
    for at, point in enumerate(points[2:], 2):
        ends = []
        for end, other in enumerate(rng.choice(at, 2, replace=False)):
            carrier, turned, origin = carriers[other]
            x, y, _ = turn("z", turned).T @ [*(points[other] - origin), 0.0]
            along = point - points[other]
            direction = np.arctan2(along[1], along[0])
            b.add(f"bar{at}_{end}", carrier, at=(x, y, 0.0))
            q.append(direction - turned)
            ends.append((np.hypot(*along), 0.0, 0.0))
            if end == 0:
                carriers.append((f"bar{at}_0", direction, points[other]))
        b.close(f"pin{at}", "revolute", f"bar{at}_0", f"bar{at}_1", *ends)
    return b.done(), np.array(q)


def folding_arms(a: float = 0.5, bar: float = 0.6) -> Mechanism:
    """Return the mechanism of Fig 8.2(a): two arms of two bars each between crank and ground.

    With the crank turned by an angle that is not zero both arms are held. At zero the crank's tip
    is on the ground pivot where the arms end: folded up, each can turn about it by itself. Bars
    longer than the crank are never stretched, so that zero is the only such angle.
    """
    b = Builder("folding_arms")
    b.add("crank", "base", active=True)
    for side in ("left", "right"):
        b.add(f"{side}_arm", "crank", at=(a, 0, 0))
        b.add(f"{side}_link", f"{side}_arm", at=(bar, 0, 0))
        b.close(
            f"{side}_pin", "sphere_in_cylinder", "base", f"{side}_link", (a, 0, 0), (bar, 0, 0)
        )
    return b.done()


def excavator(l1: float = 1.3, l2: float = 0.7) -> Mechanism:
    """Return the mechanism of Fig 8.3: an arm raised by a cylinder, with a second arm on it."""
    b = Builder("excavator")
    b.add("boom", "base")
    b.add("cylinder", "base", at=(l1, 0, 0))
    b.add("piston", "cylinder", "prismatic", axis=X, active=True)
    b.add("bucket", "boom", at=(1.1, 0, 0), active=True)
    b.close("pin", "revolute", "boom", "piston", (l2, 0, 0))
    return b.done()


def bricard(a: float = 0.4) -> Mechanism:
    """Return Bricard's linkage with three planes of symmetry: six hinges, each normal to the next.

    Neighbouring axes are `a` apart and turned by +-90 degrees by turns.
    """
    b = Builder("bricard")
    parent = "base"
    for i in range(5):
        twist = turn("x", (np.pi / 2) * (-1) ** i)
        b.add(f"link{i}", parent, at=(a, 0, 0), rotation=twist, active=i == 0)
        parent = f"link{i}"
    last = pose((a, 0, 0), turn("x", -np.pi / 2))
    b.close("hinge", "revolute", parent, "base", last, np.eye(4))
    return b.done()


def stewart_platform(base: float = 1.0, top: float = 0.5) -> Mechanism:
    """Return a platform on six legs: universal joint, driven slide, ball joint."""
    b = Builder("stewart_platform")
    b.add("platform", "base", "floating", at=(0, 0, 1.0))
    for i in range(6):
        low = np.radians(120 * (i // 2) + (20 if i % 2 else -20))
        high = np.radians(120 * (i // 2) + (50 if i % 2 else -50))
        foot = (base * np.cos(low), base * np.sin(low), 0.0)
        ball = (top * np.cos(high), top * np.sin(high), 0.0)
        b.add(f"leg{i}", "base", "universal", at=foot)
        b.add(f"rod{i}", f"leg{i}", "prismatic", at=(0, 0, 0.8), active=True)
        b.close(f"ball{i}", "spherical", f"rod{i}", "platform", None, ball)
    return b.done()


def delta_robot(rod_type: str = "universal") -> Mechanism:
    """Return a delta robot: three driven arms, six rods in pairs, a platform that never turns."""
    base, platform, arm, rod, half = 0.2, 0.06, 0.3, 0.7, 0.05
    b = Builder("delta_robot")
    for i in range(3):
        around = turn("z", 2 * np.pi * i / 3)
        b.add(
            f"arm{i}", "base", at=tuple(around @ [base, 0, 0]), axis=Y, rotation=around,
            active=True,
        )  # fmt: skip
        for side in (-1, 1):
            name = f"rod{i}{'lr'[side > 0]}"
            b.add(name, f"arm{i}", rod_type, at=(arm, side * half, 0))
            corner = tuple(around @ [platform, side * half, 0])
            if name == "rod0l":
                offset = -np.array(corner)
                b.add("platform", name, "spherical", at=(0, 0, -rod))
                b.add("plate", "platform", "fixed", at=tuple(offset))
            else:
                b.close(f"ball{i}{name[-1]}", "spherical", name, "plate", (0, 0, -rod), corner)
    return b.done()


def walking_leg() -> Mechanism:
    """Return a leg as Cassie's: hip of three drives, knee and tarsus, with two rods that steer.

    As in the Extended-URDF model of that leg, each rod is two halves welded in the middle (`6d`),
    with ball joints at both ends, so that it may spin idly about itself.
    """
    b = Builder("walking_leg")
    b.add("hip_yaw", "base", axis=Z, active=True)
    b.add("hip_roll", "hip_yaw", axis=X, active=True)
    b.add("thigh", "hip_roll", axis=Y, active=True)
    b.add("shin", "thigh", at=(0.0, 0, -0.12), axis=Y, active=True)
    b.add("tarsus", "shin", at=(0.0, 0, -0.45), axis=Y)
    b.add("foot", "tarsus", at=(0.0, 0, -0.41), axis=Y)
    b.add("servo", "tarsus", at=(0.06, 0.0, -0.06), axis=Y, active=True)
    # From the thigh to the back of the tarsus: keeps thigh and tarsus parallel, more or less.
    b.add("heel_rod_top", "thigh", "spherical", at=(-0.05, 0.03, 0.0))
    b.add("heel_rod_low", "tarsus", "spherical", at=(-0.12, 0.03, 0.02))
    b.close("heel_rod", "fixed", "heel_rod_top", "heel_rod_low", (0, 0, -0.28), (0, 0, 0.28))
    # From the servo to the foot: turns the foot about the ankle.
    b.add("toe_rod_top", "servo", "spherical", at=(0.05, 0.02, 0.0))
    b.add("toe_rod_low", "foot", "spherical", at=(0.05, 0.02, 0.0))
    b.close("toe_rod", "fixed", "toe_rod_top", "toe_rod_low", (0, 0, -0.18), (0, 0, 0.18))
    return b.done()


def with_turned_links(mechanism: Mechanism, rng) -> Mechanism:
    """Return a mechanism that is the same but for link frames, which are turned anyhow.

    Only for joints with an axis: the others lie in the link frame as their type says.
    """
    turned = {
        link.name: np.eye(4) if link.name == "base" else pose((0, 0, 0), random_rotation(rng))
        for link in mechanism.links
    }
    joints = tuple(
        replace(
            j,
            placement=turned[j.parent].T @ j.placement @ turned[j.child],
            axis=tuple(turned[j.child][:3, :3].T @ j.axis),
        )
        for j in mechanism.joints
    )
    loops = tuple(
        replace(
            lo,
            predecessor_pose=turned[lo.predecessor].T @ lo.predecessor_pose,
            successor_pose=turned[lo.successor].T @ lo.successor_pose,
        )
        for lo in mechanism.loops
    )
    return replace(mechanism, joints=joints, loops=loops)


def random_rotation(rng) -> np.ndarray:
    """Return a rotation (3, 3) drawn at random."""
    return Rotation.random(random_state=rng).as_matrix()
