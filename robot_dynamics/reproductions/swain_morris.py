# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Common parts of the studies of Swain and Morris: a robot, its paths and servos, spectra.

The robot has two arms of six joints on a base, and a box that they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, pose
from robot_dynamics.reproductions.unified import UnifiedSystem

BASE, TOOLS = "base", ("left_tool", "right_tool")
#: Half of the base's edge, and of the held box's width between the tools [m].
BASE_HALF, BOX_HALF = 0.5, 0.3
_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
# Length [m] and mass [kg] of the link that each joint carries, and the joint's axis.
_LINKS = (
    (0.10, 6.0, _Z),
    (0.70, 9.0, _Y),
    (0.60, 6.0, _Z),
    (0.05, 2.0, _X),
    (0.05, 1.5, _Z),
    (0.10, 1.0, _X),
)
_THICK = 0.06  # radius of links [m]
#: Elbows outside, tools towards each other: close to holding the box in front of the base.
READY = np.array([0.9, 0.1, -1.5, 0.1, -1.0, 0.1])
#: The right arm's angles mirror the left's.
MIRROR = np.array([-1.0, 1.0, -1.0, -1.0, -1.0, -1.0])


def box(mass: float, *sides: float) -> Array:
    """Return the inertia (3, 3) of a box [kg m^2] about its centre."""
    squares = np.square(sides)
    return np.diag(mass / 12.0 * (squares.sum() - squares))


def two_armed(base: str, mass: float, loops: Sequence[LoopElement] = ()) -> Mechanism:
    """Return two arms on the front of a base, which is a cube.

    Args:
        base: The type of the joint between world and base.
        mass: Of the base [kg].
        loops: Springs between world and base.
    """
    edge = 2.0 * BASE_HALF
    links = [LinkElement("world"), LinkElement(BASE, mass, inertia=box(mass, edge, edge, edge))]
    joints = [JointElement("carrier", base, "world", BASE, active=False)]
    for side, y in (("left", BASE_HALF), ("right", -BASE_HALF)):
        parent, at = BASE, pose((BASE_HALF, y, 0.0))
        for i, (length, weight, axis) in enumerate(_LINKS, 1):
            name = f"{side}_link{i}"
            inertia = box(weight, length, 2.0 * _THICK, 2.0 * _THICK)
            links.append(LinkElement(name, weight, (0.5 * length, 0.0, 0.0), inertia))
            joints.append(JointElement(f"{side}_joint{i}", "revolute", parent, name, at, axis))
            parent, at = name, pose((length, 0.0, 0.0))
        links.append(LinkElement(f"{side}_tool"))
        joints.append(JointElement(f"{side}_flange", "fixed", parent, f"{side}_tool", at))
    return Mechanism("two_armed", tuple(links), tuple(joints), tuple(loops))


def held_box(mass: float) -> LinkElement:
    """Return a cube whose sides the tools hold."""
    edge = 2.0 * BOX_HALF
    return LinkElement("box", mass, inertia=box(mass, edge, edge, edge))


def grasps() -> list[Array]:
    """Return the poses (4, 4) of the tools in the box: from its left and from its right."""
    return [
        pose((0.0, side * BOX_HALF, 0.0), Rotation.from_euler("z", -side * 90.0, True).as_matrix())
        for side in (1.0, -1.0)
    ]


def held_at(system: UnifiedSystem, robot: Any, base: Array, there: Array) -> Array:
    """Return positions (nq,) with base and box at given coordinates, and the arms holding it.

    Args:
        system: The system with the box.
        robot: Its robot.
        base: Coordinates of the base's joint.
        there: x, y, z and quaternion of the box.
    """
    q = np.concatenate([base, READY, MIRROR * READY, there])
    held = [name for name in system.model.joint_names if name in ("carrier", "box_floats")]
    return np.asarray(robot.assemble(q, held=held).q)


def outline(robot: Any, q: Array) -> dict[str, Array]:
    """Return points (n, 3) to draw: both arms from shoulder to tool, base and box from above.

    Args:
        robot: Of a system with or without the box.
        q: Positions (nq,).
    """
    known = {link.name for link in robot.model.links}
    shapes = {}
    for side in ("left", "right"):
        names = [f"{side}_link{i}" for i in range(1, 7)] + [f"{side}_tool"]
        shapes[side] = np.array([robot.pose(name, q)[:3, 3] for name in names])
    for name, half in ((BASE, BASE_HALF), ("box", BOX_HALF)):
        if name in known:
            corners = half * np.array([[1, 1, 0], [-1, 1, 0], [-1, -1, 0], [1, -1, 0], [1, 1, 0]])
            there = robot.pose(name, q)
            shapes[name] = corners @ there[:3, :3].T + there[:3, 3]
    return shapes


#: Coordinates (n,) of a path, their rates and accelerations at a time.
Path = Callable[[float], tuple[Array, Array, Array]]


def smooth(begin: float, duration: float, change: Array, start: Array | None = None) -> Path:
    """Return a path of fifth order from rest to rest: `start`, then `start + change`."""
    origin = np.zeros_like(change) if start is None else start

    def path(time: float) -> tuple[Array, Array, Array]:
        s = min(max((time - begin) / duration, 0.0), 1.0)
        rate = 30.0 * s**2 * (1.0 - s) ** 2 / duration
        acceleration = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / duration**2
        part = s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
        return origin + part * change, rate * change, acceleration * change

    return path


@dataclass(frozen=True)
class PoseServo:
    """Accelerations that bring a body to a pose, and along a path of it.

    Attributes:
        start: Pose (4, 4) at the path's zero.
        path: Rotation vector about a fixed axis [rad], then displacement [m], in the axes of
            `start`'s reference frame.
        frequency: Of the servo, critically damped [rad/s].
    """

    start: Array
    path: Path
    frequency: float

    def wanted(self, time: float) -> Array:
        """Return the pose (4, 4) at a time."""
        x, _, _ = self.path(time)
        pose = self.start.copy()
        pose[:3, :3] = Rotation.from_rotvec(x[:3]).as_matrix() @ self.start[:3, :3]
        pose[:3, 3] = self.start[:3, 3] + x[3:]
        return pose

    def acceleration(self, time: float, pose: Array, velocity: Array) -> Array:
        """Return the spatial acceleration (6,) in the body's coordinates.

        Args:
            time: Time [s].
            pose: Pose of the body (4, 4).
            velocity: Its spatial velocity (6,), in its coordinates.
        """
        _, rate, acceleration = self.path(time)
        R, wanted = pose[:3, :3], self.wanted(time)
        turn = Rotation.from_matrix(wanted[:3, :3] @ R.T).as_rotvec()
        error = np.concatenate([turn, wanted[:3, 3] - pose[:3, 3]])
        spin, speed = R @ velocity[:3], R @ velocity[3:]
        slip = rate - np.concatenate([spin, speed])
        w = self.frequency
        push = acceleration + 2.0 * w * slip + w * w * error  # of the point, in reference axes
        # Spatial: the rate of the velocity's components misses w x v of the point's acceleration.
        linear = R.T @ push[3:] - np.cross(velocity[:3], velocity[3:])
        return np.concatenate([R.T @ push[:3], linear])


_PADDING = 8  # of the record with zeros, which draws the peak finer


def spectrum(values: Array, interval: float) -> tuple[Array, Array]:
    """Return frequencies [Hz] and amplitudes of a record (m,), its mean taken off.

    Args:
        values: At equal intervals.
        interval: Between them [s].
    """
    window = np.hanning(len(values))
    size = _PADDING * len(values)
    amplitude = np.abs(np.fft.rfft((values - np.mean(values)) * window, size))
    frequencies = np.asarray(np.fft.rfftfreq(size, interval), dtype=float)
    return frequencies, np.asarray(2.0 * amplitude / np.sum(window))


def peak_near(values: Array, interval: float, frequency: float, width: float = 0.3) -> float:
    """Return the frequency [Hz] of the highest peak of a record near another frequency.

    Args:
        values: Values at equal intervals (m,).
        interval: Time between them [s].
        frequency: Centre of the search [Hz].
        width: Half-width of the search, as a share of the frequency.
    """
    f, amplitude = spectrum(values, interval)
    near = np.flatnonzero(np.abs(f - frequency) <= width * frequency)
    top = int(near[np.argmax(amplitude[near])])
    if not 0 < top < len(f) - 1:
        return float(f[top])
    # The window's peak is a parabola in its logarithm, near enough.
    a, b, c = np.log(amplitude[top - 1 : top + 2])
    return float(f[top] + 0.5 * (a - c) / (a - 2.0 * b + c) * (f[1] - f[0]))
