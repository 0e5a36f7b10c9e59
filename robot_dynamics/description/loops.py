# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loop joints in a YAML file beside an untouched URDF, read and written back.

    loops:
    - name: left_grasp
      type: fixed
      predecessor: {link: left_tool, xyz: [0, 0, 0.1], rpy: [0, 0, 0]}
      successor: {link: box, xyz: [-0.2, 0, 0]}

The pose of the joint's frame is given in each link; `rpy` are angles about fixed axes, as in URDF.
Constraint forces are those on the successor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import yaml

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.urdf_elements import rotation_of_rpy
from robot_dynamics.description.yaml_document import decode, read_yaml
from robot_dynamics.model.elements import Array, LoopElement, pose
from robot_dynamics.model.joints import loop_joint_names

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class LoopEnd:
    """One side of a loop joint as a file states it: pose of the joint's frame in a link.

    Attributes:
        link: Name of the link.
        xyz: Origin [m].
        rpy: Roll, pitch, yaw about fixed axes [rad].
    """

    link: str
    xyz: Triple = field(default=(0.0, 0.0, 0.0), metadata={"unit": "m"})
    rpy: Triple = field(default=(0.0, 0.0, 0.0), metadata={"unit": "rad"})
    place: str = field(default="", metadata={"place": True})

    def pose(self) -> Array:
        """Return the pose (4, 4) of the joint's frame in the link."""
        return pose(self.xyz, rotation_of_rpy(self.rpy))


@dataclass(frozen=True)
class LoopEntry:
    """A loop joint as a file states it."""

    name: str
    type: str
    predecessor: LoopEnd
    successor: LoopEnd
    place: str = field(default="", metadata={"place": True})

    def element(self) -> LoopElement:
        """Return the loop joint as an element of a mechanism."""
        return LoopElement(
            self.name,
            self.type,
            self.predecessor.link,
            self.successor.link,
            self.predecessor.pose(),
            self.successor.pose(),
        )


@dataclass(frozen=True)
class LoopDocument:
    """A file of loop joints."""

    loops: tuple[LoopEntry, ...]


def read_loops(path: str | Path, links: Collection[str] | None = None) -> tuple[LoopElement, ...]:
    """Return the loop joints of a YAML file.

    Args:
        path: The file, or a `package://` address.
        links: The names of the links there are; None if that is not to be checked.

    Raises:
        DescriptionError: With every problem: keys, types, link names, names used twice.
    """
    entries = decode(LoopDocument, read_yaml(path)).loops
    diagnosis = Diagnosis()
    seen: dict[str, str] = {}
    for entry in entries:
        element = f"loop joint {entry.name!r}"
        if entry.name in seen:
            diagnosis.error(
                entry.place, element, f"the name is already taken at {seen[entry.name]}"
            )
        seen.setdefault(entry.name, entry.place)
        if entry.type not in closing_types():
            diagnosis.unknown(entry.place, element, "loop joint type", entry.type, closing_types())
        if entry.predecessor.link == entry.successor.link:
            diagnosis.error(
                entry.place, element, f"both its ends are on link {entry.successor.link!r}"
            )
        for end in (entry.predecessor, entry.successor):
            if links is not None and end.link not in links:
                diagnosis.unknown(end.place, element, "link", end.link, links)
    diagnosis.raise_if_refused()
    return tuple(entry.element() for entry in entries)


def write_loops(loops: Iterable[LoopElement], path: str | Path) -> None:
    """Write loop joints in the form that `read_loops` takes.

    Poses come back to rounding: angles are printed with all their digits.
    """
    entries = [
        {
            "name": loop.name,
            "type": loop.type,
            "predecessor": _end(loop.predecessor, loop.predecessor_pose),
            "successor": _end(loop.successor, loop.successor_pose),
        }
        for loop in loops
    ]
    text = yaml.safe_dump({"loops": entries}, sort_keys=False, default_flow_style=None)
    Path(path).write_text(text, encoding="utf-8")


def closing_types() -> tuple[str, ...]:
    """Return the names of the joint types that can close a loop."""
    return loop_joint_names()


def rpy_of_rotation(matrix: Array) -> Triple:
    """Return roll, pitch and yaw [rad] about fixed axes of a rotation matrix (3, 3)."""
    horizontal = float(np.hypot(matrix[0, 0], matrix[1, 0]))
    pitch = float(np.arctan2(-matrix[2, 0], horizontal))
    if horizontal > 1e-9:
        roll = float(np.arctan2(matrix[2, 1], matrix[2, 2]))
        yaw = float(np.arctan2(matrix[1, 0], matrix[0, 0]))
    else:  # pitch of +-90 degrees: only the difference or sum of the others matters
        roll = float(np.arctan2(-matrix[1, 2], matrix[1, 1]))
        yaw = 0.0
    return roll, pitch, yaw


def _end(link: str, frame: Array) -> dict[str, object]:
    xyz = [float(x) for x in frame[:3, 3]]
    return {"link": link, "xyz": xyz, "rpy": [float(a) for a in rpy_of_rotation(frame[:3, :3])]}
