# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The result of a reader: a mechanism, the shapes of its links, and a diagnosis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.meshes import locate_mesh
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.by_value import ByValue
from robot_dynamics.model.elements import LoopElement, Mechanism


@dataclass(frozen=True, eq=False)
class Shape(ByValue):
    """A shape of a link's visual or collision geometry.

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
        folder: Folder that a relative address of its mesh refers to, if it is not the folder of
            the description: the parts of a world come from several folders.
    """

    link: str
    role: Literal["visual", "collision"]
    kind: Literal["box", "cylinder", "capsule", "sphere", "mesh"]
    pose: Array
    size: tuple[float, ...]
    mesh: str = ""
    color: tuple[float, float, float, float] | None = None
    folder: str = ""

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
class Transmission:
    """A transmission between actuators and joints, as stated in a file.

    Attributes:
        name: Its name; empty without one.
        kind: Its type as the file has it, for instance "SimpleTransmission".
        joints: Names of the joints.
        actuators: Names of the actuators.
        reductions: Turns of each actuator for one of its joint; 1 where none is stated.
        rotor_inertias: Inertia of each actuator's rotor about its own axis [kg m^2]; zero where
            none is stated.
    """

    name: str
    kind: str
    joints: tuple[str, ...]
    actuators: tuple[str, ...]
    reductions: tuple[float, ...]
    rotor_inertias: tuple[float, ...]

    @property
    def armature(self) -> float:
        """Rotor inertia reflected to the joint [kg m^2]: reduction squared times its own.

        Zero unless one actuator drives one joint.
        """
        if len(self.joints) != 1 or len(self.actuators) != 1:
            return 0.0
        # Not the square as a power, which would raise an error where a product is infinite.
        return self.reductions[0] * self.reductions[0] * self.rotor_inertias[0]


@dataclass(frozen=True, eq=False)
class Description(ByValue):
    """A description of a mechanism, as read from a file.

    Attributes:
        mechanism: Its links, joints and loop joints.
        shapes: The visual and collision shapes of its links.
        diagnosis: Warnings; a description has no errors.
        source: File it was read from; "<text>" for a text.
        mimics: For each joint that the file calls a mimic of another: the other joint's name,
            multiplier and offset [rad or m]. The mechanism has a coupling for each, of the
            mimicking joint's name.
        transmissions: Transmissions between actuators and joints; stated rotor inertias are the
            `armature` of the mechanism's joints.
        independent: Joints that the file proposes as independent coordinates.
        actuated: Driven joints according to the file; None if it does not say.
        folder: Folder that relative addresses of meshes refer to; empty if not known.
        places: Places of its elements, for messages of later checks; ignored when descriptions are
            compared.
    """

    mechanism: Mechanism
    shapes: tuple[Shape, ...] = ()
    diagnosis: Diagnosis = field(default_factory=Diagnosis)
    source: str = "<text>"
    mimics: dict[str, tuple[str, float, float]] = field(default_factory=dict)
    transmissions: tuple[Transmission, ...] = ()
    independent: tuple[str, ...] = ()
    actuated: tuple[str, ...] | None = None
    folder: str = ""
    places: Places = field(default_factory=lambda: Places(""), compare=False, repr=False)

    def locate(self, shape: Shape) -> Path:
        """Return the path of a mesh's file; the search is made by this call.

        Raises:
            ResourceNotFoundError: If it is not found; the message lists the searched folders.
            RobotDynamicsError: If the shape is not a mesh.
        """
        if shape.kind != "mesh":
            raise RobotDynamicsError(
                f"a shape of link {shape.link!r} is a {shape.kind}, expected a mesh with a file."
            )
        return locate_mesh(shape.mesh, shape.folder or self.folder)

    def with_loops(self, loops: Iterable[LoopElement]) -> Description:
        """Return the description with more loop joints."""
        return replace(self, mechanism=self.mechanism.with_loops(loops))
