# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Scenes: arms and object, their contacts, surfaces and environment joints."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.contact.material import Material
from robot_dynamics.contact.points import Inequality, PlacedPoint, PointContact, placed
from robot_dynamics.contact.shapes import SeenPoint, ShapeContact, seen_points
from robot_dynamics.contact.surfaces import PointFunction
from robot_dynamics.dynamics.arguments import points_array
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.grasp_map import GraspMap, transmitted_force_map
from robot_dynamics.manipulation.hybrid import Contact, FrictionCone
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model import Model
from robot_dynamics.simulation.contact.environment_joints import EnvironmentJoint
from robot_dynamics.simulation.contact.pad import Pad
from robot_dynamics.spatial import Vector3

#: Kinds of contacts that can only push; all others hold, push or pull.
PUSHING = ("frictional point", "frictionless point", "soft finger")
#: Distance of a tool from its grasp at the start above which they are apart [m, rad].
APART = 1e-6


@dataclass(frozen=True)
class ArmContact:
    """Contact of an arm with the object.

    A pushing contact is a point of the arm on a plane face of the object: x and y of the contact's
    frame, its z axis into the object. While the point sticks, its place on the face does not
    change; when it slips, it moves over the face, and loses contact beyond the edge.

    Attributes:
        contact: Kind and frame in the object when tool and grasp coincide; the frame's origin is
            the point on the arm. Its limits are used by controllers only.
        material: Material of finger and object, for pushing contacts, with the true friction.
        face: Half lengths of the face along x and y of the contact's frame, about its origin [m].
        pad: Pad of a soft finger; None for a point, which tips freely.
        reach: Largest distance [m] and angle [rad] between tool and grasp at which a gripper, a
            rigid contact, takes hold of the object when it closes.
    """

    contact: Contact
    material: Material = field(default_factory=Material)
    face: tuple[float, float] = (np.inf, np.inf)
    pad: Pad | None = None
    reach: tuple[float, float] = (0.01, 0.1)

    def __post_init__(self) -> None:
        if not min(self.face) > 0.0:
            raise ArgumentError(f"a face of half lengths {self.face} m, expected positive ones.")
        if self.pad is not None and not self.contact.is_soft_finger:
            raise ArgumentError(
                f"a contact of the kind {self.contact.kind!r} with a pad, expected a soft finger."
            )

    @property
    def pushing(self) -> bool:
        """Whether it can only push."""
        return self.contact.kind in PUSHING

    def reaches(self, position: float, angle: float) -> bool:
        """Return whether a gripper takes hold, by distance [m] and angle [rad] from its grasp."""
        return position <= self.reach[0] and angle <= self.reach[1]

    @property
    def friction(self) -> FrictionCone:
        """Its true friction cone."""
        cone = self.material.friction
        if self.contact.kind == "frictionless point":
            return FrictionCone(0.0)
        if self.contact.kind == "soft finger":
            return cone
        return replace(cone, torsion=0.0)


@dataclass(frozen=True)
class SurfaceContact:
    """Points of the object that may touch a surface of the world.

    Attributes:
        name: Name of the surface.
        surface: A function of a point in the world, see `surfaces`.
        points: In the object's body frame (n, 3) [m]: one for a tip, corners for a face.
        material: Material of object and surface; its stiffness holds for each point, and torsion
            is not used.
    """

    name: str
    surface: PointFunction
    points: Array
    material: Material = field(default_factory=Material)

    def __post_init__(self) -> None:
        points = points_array(f"points that touch surface {self.name!r}", self.points)
        object.__setattr__(self, "points", points)


@dataclass(frozen=True)
class Scene:
    """Arms, object and their contacts, from which a plant is built.

    Internal closed chains of the arms and the joint between the parts of an object are bilateral,
    as in the system's model.

    Attributes:
        system: Arms, object and the poses of the arms' tools on it.
        contacts: Contact of each arm with the object, in the order of the arms; by default as
            the system states.
        surfaces: Surfaces that the object may touch.
        environment_joints: Hinges and lines that hold the object in the world.
        internal_force: Definition of the internal force; by default the wrench transmitted
            through the object. For an object with a joint it is the force in the joint.
        holds_object: Whether the arms hold the object; else they move alone, and it rests.
        stops: Position limits of joints that act as contacts; empty by default.

    Raises:
        ArgumentError: If there is not one contact for each arm, or an object with a joint is not
            held rigidly.
    """

    system: GraspSystem
    contacts: tuple[ArmContact, ...] = ()
    surfaces: tuple[SurfaceContact, ...] = ()
    environment_joints: tuple[EnvironmentJoint, ...] = ()
    internal_force: GraspMap | None = None
    holds_object: bool = True
    stops: tuple[Inequality, ...] = ()

    #: Only robots by themselves touch with shapes.
    shapes: ClassVar[tuple[ShapeContact, ...]] = ()

    def __post_init__(self) -> None:
        if not self.contacts:
            own = tuple(
                ArmContact(one, Material(one.limits))
                if isinstance(one.limits, FrictionCone)
                else ArmContact(one)
                for one in self.system.contacts
            )
            object.__setattr__(self, "contacts", own)
        if len(self.contacts) != len(self.system.arms):
            raise ArgumentError(
                f"{len(self.system.arms)} arms have {len(self.contacts)} contacts, expected one "
                "each."
            )
        if self.system.object_loop_joint is not None and not self.rigid:
            raise ArgumentError(
                "an object with a joint is held by contacts, or touches surfaces; expected rigid "
                "grasps, and nothing to touch."
            )

    def variant(self, system: GraspSystem) -> Scene:
        """Return the scene of a system that differs in gravity and the object's inertia alone."""
        own, bodies = copy(self), system.model.bodies
        vars(own)["system"] = system
        vars(own)["model"] = self.model.replace(
            gravity=system.model.gravity,
            inertia={one.name: one.inertia for one in bodies if one.name in self.model.variable},
        )
        return own

    @property
    def rigid(self) -> bool:
        """Whether all grasps are rigid, and there is no surface and no environment joint."""
        opens = any(one.contact.kind != "rigid" for one in self.contacts)
        return not (opens or self.surfaces or self.environment_joints)

    @cached_property
    def grasp_map(self) -> GraspMap:
        """Definition of the internal force."""
        shares = [arm.load_share for arm in self.system.arms]
        return self.internal_force or transmitted_force_map(self.system.grasps, shares)

    @cached_property
    def model(self) -> Model:
        """The model without the arms' grasps, with the environment joints as its last loops.

        The poses of environment joints are parameters.
        """
        model = self.system.model
        grasps = {arm.loop for arm in self.system.arms}
        loops = tuple(loop for i, loop in enumerate(model.loops) if i not in grasps)
        gone = {model.loops[i].name for i in grasps}
        held = tuple(one.loop(self.system.object_body) for one in self.environment_joints)
        come = {one.name for one in held}
        return replace(model, loops=(*loops, *held), variable=(model.variable - gone) | come)

    @cached_property
    def environment_joint_rows(self) -> tuple[slice, ...]:
        """Slices of the environment joints in the forces along all rows."""
        loops = self.model.loops
        first = sum(
            len(loop.type.rows) for loop in loops[: len(loops) - len(self.environment_joints)]
        )
        ends = first + np.cumsum([one.rows for one in self.environment_joints])
        return tuple(
            slice(int(end) - one.rows, int(end))
            for one, end in zip(self.environment_joints, ends, strict=True)
        )

    @cached_property
    def holding(self) -> tuple[int, ...]:
        """Indices of the arms that hold."""
        return tuple(i for i, c in enumerate(self.contacts) if not c.pushing)

    @cached_property
    def pushing(self) -> tuple[int, ...]:
        """Indices of the arms that only push."""
        return tuple(i for i, c in enumerate(self.contacts) if c.pushing)

    @cached_property
    def grippers(self) -> tuple[int, ...]:
        """Indices of the arms with rigid contacts, which can be open."""
        return tuple(i for i, c in enumerate(self.contacts) if c.contact.kind == "rigid")

    @cached_property
    def pads(self) -> tuple[tuple[int, Pad], ...]:
        """Indices into `pushing` of arms with a pad, and their pads."""
        found = [(c, self.contacts[i].pad) for c, i in enumerate(self.pushing)]
        return tuple((c, pad) for c, pad in found if pad is not None)

    @cached_property
    def points(self) -> tuple[PlacedPoint | Inequality, ...]:
        """Points of the object on surfaces of the world, then stops."""
        points = [
            PlacedPoint(self.system.object_body, Vector3.of(point), one.surface)
            for one in self.surfaces
            for point in one.points.tolist()
        ]
        return (*points, *self.stops)

    @cached_property
    def touches(self) -> tuple[tuple[str, Material, FrictionCone], ...]:
        """Name, material and friction of each contact that opens: arms, points, then stops."""
        arms = [
            (self.system.arms[i].name, self.contacts[i].material, self.contacts[i].friction)
            for i in self.pushing
        ]
        points = [
            (s.name, s.material, replace(s.material.friction, torsion=0.0))
            for s in self.surfaces
            for _ in s.points
        ]
        stops = [(one.name, one.material, one.material.friction) for one in self.stops]
        return (*arms, *points, *stops)

    @cached_property
    def finger_frames(self) -> list[Array]:
        """Pose (4, 4) of each contact's frame in its arm's tool."""
        return [
            np.linalg.inv(grasp) @ c.contact.pose
            for grasp, c in zip(self.system.grasps, self.contacts, strict=True)
        ]


@dataclass(frozen=True)
class RobotScene:
    """A robot by itself with its possible contacts: the part of a scene without arms and object.

    Attributes:
        model: The robot's; its loops hold.
        items: Point contacts, inequalities and contacts of shapes.
    """

    model: Model
    items: tuple[PointContact | Inequality | ShapeContact, ...]

    # Properties of arms that hold an object.
    contacts: ClassVar[tuple[ArmContact, ...]] = ()
    holding: ClassVar[tuple[int, ...]] = ()
    pushing: ClassVar[tuple[int, ...]] = ()
    pads: ClassVar[tuple[tuple[int, Pad], ...]] = ()
    environment_joints: ClassVar[tuple[EnvironmentJoint, ...]] = ()

    @cached_property
    def shapes(self) -> tuple[ShapeContact, ...]:
        """The contacts of shapes among them."""
        return tuple(item for item in self.items if isinstance(item, ShapeContact))

    @cached_property
    def points(self) -> tuple[PlacedPoint | Inequality | SeenPoint, ...]:
        """Possible contacts, in terms of the model's bodies."""
        found: list[PlacedPoint | Inequality | SeenPoint] = []
        slot = 0
        for item in self.items:
            if isinstance(item, ShapeContact):
                found += seen_points(self.model, item, slot)
                slot += item.points
            else:
                found.append(placed(self.model, item))
        return tuple(found)

    @cached_property
    def touches(self) -> tuple[tuple[str, Material, FrictionCone], ...]:
        """Name, material and friction of each contact."""
        return tuple(
            (name, item.material, replace(item.material.friction, torsion=0.0))
            for item in self.items
            for name in (item.names if isinstance(item, ShapeContact) else (item.name,))
        )


def points_of_face(half_x: float, half_y: float, frame: Sequence[Sequence[float]]) -> Array:
    """Return the corners (4, 3) of a rectangle about the origin of a frame, across its z axis."""
    pose = np.asarray(frame, dtype=float)
    corners = [(x * half_x, y * half_y, 0.0, 1.0) for x in (-1, 1) for y in (-1, 1)]
    return np.asarray((pose @ np.array(corners).T).T[:, :3])
