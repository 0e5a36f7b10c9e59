# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a reader returns: a mechanism, the shapes of its links, and what was noticed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.model.elements import Array, LoopElement, Mechanism


@dataclass(frozen=True)
class Shape:
    """A piece of a link's looks or of its collision geometry.

    Attributes:
        link: Name of the link.
        role: "visual" or "collision".
        kind: "box", "cylinder", "capsule", "sphere" or "mesh".
        pose: Pose of the shape in the link (4, 4). Boxes and spheres are centred at it; cylinders
            and capsules also, along z.
        size: Box: lengths along x, y, z. Cylinder: radius, length. Capsule: radius, length of the
            cylindrical part. Sphere: radius. Mesh: scale factors along x, y, z. [m]
        mesh: Address of the mesh as the file states it; empty for other kinds.
        color: Red, green, blue, alpha in [0, 1], or None if none is stated.
    """

    link: str
    role: Literal["visual", "collision"]
    kind: Literal["box", "cylinder", "capsule", "sphere", "mesh"]
    pose: Array
    size: tuple[float, ...]
    mesh: str = ""
    color: tuple[float, float, float, float] | None = None

    def points(self) -> Array:
        """Return points (N, 3) in the link frame whose convex hull contains the shape.

        Empty for a mesh, whose file is not read.
        """
        if self.kind == "mesh":
            return np.empty((0, 3))
        half = {
            "box": lambda: 0.5 * np.array(self.size),
            "sphere": lambda: np.full(3, self.size[0]),
            "cylinder": lambda: np.array([self.size[0], self.size[0], 0.5 * self.size[1]]),
            "capsule": lambda: np.array(
                [self.size[0], self.size[0], 0.5 * self.size[1] + self.size[0]]
            ),
        }[self.kind]()
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
        corners = signs * half
        return np.asarray(corners @ self.pose[:3, :3].T + self.pose[:3, 3])


@dataclass(frozen=True)
class Description:
    """A description that was read.

    Attributes:
        mechanism: Its links, joints and loop joints.
        shapes: The visual and collision shapes of its links.
        diagnosis: What was noticed; there is no error in it.
        source: Where it was read from; "<text>" if from a text.
        mimics: For each joint that the file calls a mimic of another: the other joint's name,
            multiplier and offset [rad or m]. The mechanism has these joints as independent ones.
    """

    mechanism: Mechanism
    shapes: tuple[Shape, ...] = ()
    diagnosis: Diagnosis = field(default_factory=Diagnosis)
    source: str = "<text>"
    mimics: dict[str, tuple[str, float, float]] = field(default_factory=dict)

    def with_loops(self, loops: Iterable[LoopElement]) -> Description:
        """Return the description with more loop joints."""
        return replace(self, mechanism=self.mechanism.with_loops(loops))
