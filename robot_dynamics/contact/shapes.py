# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contact of convex bodies: spheres, boxes, capsules, cylinders, convex hulls, planes.

In every time step MuJoCo's collision detection finds up to eight contact points of two bodies,
each with its gap and its normal. Curved bodies have one point for each near place, flat faces the
corners of their intersection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.contact.material import Material, require_material
from robot_dynamics.description.description import Description, Shape
from robot_dynamics.description.meshes import read_mesh
from robot_dynamics.dynamics.arguments import (
    pose_matrix,
    positive_number,
    require_text,
    whole_number,
)
from robot_dynamics.errors import (
    ArgumentError,
    RobotDynamicsError,
    UnknownNameError,
    optional_package,
)
from robot_dynamics.model import Model

Kind = Literal["sphere", "box", "capsule", "cylinder", "convex", "plane"]

_SIZES = {"sphere": 1, "box": 3, "capsule": 2, "cylinder": 2, "convex": 0, "plane": 0}
_MOST_POINTS = 8


@dataclass(frozen=True, eq=False)
class Solid:
    """A convex body that is fixed to a link; see `Solid.sphere` and the other constructors.

    Attributes:
        link: The link or frame; the root link for bodies fixed to the world.
        kind: Its kind.
        size: Sphere: radius. Box: lengths along x, y, z. Capsule: radius, length of the
            cylindrical part. Cylinder: radius, length. [m]
        pose: Its pose in the link's frame (4, 4). All kinds except convex hulls are centred there.
            Capsules and cylinders are along z; planes are normal to z, which points into free
            space.
        points: Points of a convex hull (n, 3) [m], in the frame of `pose`; empty for other kinds.

    Raises:
        ArgumentError: If sizes, pose or points do not fit.
    """

    link: str
    kind: Kind
    size: tuple[float, ...] = ()
    pose: Array = field(default_factory=lambda: np.eye(4))
    points: Array = field(default_factory=lambda: np.empty((0, 3)))

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in _SIZES:
            raise ArgumentError(
                f"a solid on {self.link!r} is of kind {self.kind!r}, expected one of {[*_SIZES]}."
            )
        require_text(f"the link of a {self.kind}", self.link)
        try:
            size = tuple(positive_number("size", x) for x in self.size)
        except (TypeError, ArgumentError):
            size = (np.nan,)
        if len(size) != _SIZES[self.kind] or not all(0.0 < x < np.inf for x in size):
            raise ArgumentError(
                f"the {self.kind} on {self.link!r} has the size {self.size!r:.60}, expected "
                f"{_SIZES[self.kind]} positive numbers."
            )
        try:
            points = np.asarray(self.points, dtype=float)
        except (TypeError, ValueError):
            points = np.empty(0)
        if self.kind == "convex" and not (
            points.ndim == 2 and points.shape[1] == 3 and np.isfinite(points).all()
            and len(points) >= 4 and np.linalg.matrix_rank(points - points[0], tol=1e-9) == 3
        ):  # fmt: skip
            raise ArgumentError(
                f"the convex hull on {self.link!r} has points of shape {points.shape}, expected "
                "(n, 3): at least four finite points that are not in one plane."
            )
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "points", points)
        at = pose_matrix(f"pose of the {self.kind} on {self.link!r}", self.pose)
        object.__setattr__(self, "pose", at)

    @classmethod
    def sphere(cls, link: str, radius: float, pose: ArrayLike | None = None) -> Solid:
        """Return a sphere [m]."""
        return cls(link, "sphere", (radius,), _at(pose))

    @classmethod
    def box(cls, link: str, lengths: Sequence[float], pose: ArrayLike | None = None) -> Solid:
        """Return a box with these lengths along x, y and z [m]."""
        return cls(link, "box", lengths, _at(pose))  # type: ignore[arg-type]

    @classmethod
    def capsule(
        cls, link: str, radius: float, length: float, pose: ArrayLike | None = None
    ) -> Solid:
        """Return a capsule along z, whose cylindrical part has this length [m]."""
        return cls(link, "capsule", (radius, length), _at(pose))

    @classmethod
    def cylinder(
        cls, link: str, radius: float, length: float, pose: ArrayLike | None = None
    ) -> Solid:
        """Return a cylinder along z [m]."""
        return cls(link, "cylinder", (radius, length), _at(pose))

    @classmethod
    def convex(cls, link: str, points: ArrayLike, pose: ArrayLike | None = None) -> Solid:
        """Return the convex hull of points (n, 3) [m]."""
        return cls(link, "convex", (), _at(pose), points)  # type: ignore[arg-type]

    @classmethod
    def plane(cls, link: str, pose: ArrayLike | None = None) -> Solid:
        """Return an endless plane across z, which points into free space."""
        return cls(link, "plane", (), _at(pose))


def _at(pose: ArrayLike | None) -> Any:
    return np.eye(4) if pose is None else pose


@dataclass(frozen=True, eq=False)
class ShapeContact:
    """Two solids that may touch.

    Attributes:
        name: Name of the contact; its points are numbered from 1 if there can be several.
        first: Solid on which the contact forces act; forces on the other are opposite.
        second: Other solid, on a link that moves relative to the first one's, or in the world.
        material: Friction and restitution of the two, and compliance of each point.
        points: Largest number of points, of which the deepest are kept. By default one for
            spheres, two for capsules, eight for two boxes, and four for others.

    Raises:
        ArgumentError: If both solids are planes, or the number of points is not from 1 to 8.
    """

    name: str
    first: Solid
    second: Solid
    material: Material = field(default_factory=Material)
    points: int = 0

    def __post_init__(self) -> None:
        require_text("the name of a contact", self.name)
        if not (isinstance(self.first, Solid) and isinstance(self.second, Solid)):
            raise ArgumentError(
                f"contact {self.name!r} is between {self.first!r:.40} and {self.second!r:.40}, "
                "expected two objects of type Solid."
            )
        kinds = {self.first.kind, self.second.kind}
        if kinds == {"plane"}:
            raise ArgumentError(
                f"contact {self.name!r} is between two planes, expected at most one plane."
            )
        require_material(self.name, self.material)
        usual = 1 if "sphere" in kinds else 2 if "capsule" in kinds else 4
        usual = _MOST_POINTS if kinds == {"box"} else usual
        given = whole_number(f"points of contact {self.name!r}", self.points, 0)
        object.__setattr__(self, "points", given or usual)
        if not 1 <= self.points <= _MOST_POINTS:
            raise ArgumentError(
                f"contact {self.name!r} has {self.points} points, expected 1 to {_MOST_POINTS}."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its points."""
        if self.points == 1:
            return (self.name,)
        return tuple(f"{self.name} {i + 1}" for i in range(self.points))


class SeenPoint(NamedTuple):
    """A point of a shape contact, whose place is found anew in every step.

    Attributes:
        body: The body of the first solid.
        base: The body of the second.
        slot: Its index among the points of all shape contacts.
    """

    body: int
    base: int
    slot: int


def seen_points(model: Model, contact: ShapeContact, first: int) -> list[SeenPoint]:
    """Return the points of a shape contact in terms of a model's bodies.

    Args:
        model: The mechanism.
        contact: The contact.
        first: Index of its first point among those of all shape contacts.

    Raises:
        UnknownNameError: If there is no such link.
        ArgumentError: If both solids belong to one body.
    """
    body, base = (model.link(solid.link).body for solid in (contact.first, contact.second))
    if body == base:
        raise ArgumentError(
            f"contact {contact.name!r} is between parts of one body, expected parts of two bodies."
        )
    return [SeenPoint(body, base, first + i) for i in range(contact.points)]


def collision_solids(description: Description, link: str) -> tuple[Solid, ...]:
    """Return the collision geometry of a link; for a mesh its convex hull.

    Raises:
        ArgumentError: If the description has another type.
        UnknownNameError: If there is no such link.
        RobotDynamicsError: If it has none, or an unreadable part; trimesh reads meshes.
    """
    _require_description(description)
    names = [one.name for one in description.mechanism.links]
    if link not in names:
        raise UnknownNameError("link", link, names)
    for problem in description.diagnosis.warnings:
        # Omitting one would be unnoticed.
        if (
            problem.element == f"link {link!r}"
            and "the <collision> is left out" in problem.message
        ):
            raise RobotDynamicsError(
                f"{problem.sentence()[:-1]}, expected all collision geometry of the link."
            )
    shapes = [s for s in description.shapes if s.link == link and s.role == "collision"]
    if not shapes:
        raise RobotDynamicsError(
            f"link {link!r} of {description.mechanism.name!r} has no collision geometry, expected "
            "at least one <collision>."
        )
    return tuple(_solid_of(description, shape) for shape in shapes)


def contacts_of(
    description: Description,
    pairs: Iterable[tuple[str | Solid, str | Solid]],
    material: Material | None = None,
) -> tuple[ShapeContact, ...]:
    """Return the shape contacts of pairs of links, from their collision geometry.

        cell = load_description("cell.urdf")
        touching = contacts_of(cell, [("left_finger", "cup"), ("cup", Solid.plane("world"))])
        sim = rd.Simulation(rd.load(cell), contacts=touching)

    Their names are like "cup on world"; several of one name are numbered, "cup on world (1)".

    Args:
        description: The robot's.
        pairs: Links that may touch each other, or solids instead.
        material: Material of all contacts.

    Raises:
        ArgumentError: If `pairs` are not pairs.
        RobotDynamicsError: As in `collision_solids`.
    """
    _require_description(description)
    if not isinstance(pairs, Iterable):
        raise ArgumentError(f"pairs are {pairs!r:.60}, expected pairs of links or solids.")
    found: dict[str, list[tuple[Solid, Solid]]] = {}
    for pair in pairs:
        two = isinstance(pair, (tuple, list)) and len(pair) == 2
        if not two or not all(isinstance(side, (str, Solid)) for side in pair):
            raise ArgumentError(f"a pair is {pair!r:.60}, expected two links or solids.")
        sides = [(p,) if isinstance(p, Solid) else collision_solids(description, p) for p in pair]
        name = " on ".join(p.link if isinstance(p, Solid) else p for p in pair)
        found.setdefault(name, []).extend((a, b) for a in sides[0] for b in sides[1])
    of = Material() if material is None else material
    return tuple(
        ShapeContact(name if len(both) == 1 else f"{name} ({i + 1})", a, b, of)
        for name, both in found.items()
        for i, (a, b) in enumerate(both)
    )


def _require_description(description: Description) -> None:
    if not isinstance(description, Description):
        raise ArgumentError(
            f"description is {description!r:.60}, expected a result of `load_description`."
        )


def _solid_of(description: Description, shape: Shape) -> Solid:
    """Return a solid of a shape."""
    if shape.kind != "mesh":
        return Solid(shape.link, shape.kind, shape.size, shape.pose)
    what = f"meshes such as {shape.mesh!r} of link {shape.link!r}"
    trimesh = optional_package("trimesh", what, "collision")
    parts = [part.mesh for part in read_mesh(description.locate(shape))]
    points = trimesh.util.concatenate(parts).convex_hull.vertices
    return Solid.convex(shape.link, np.asarray(points) * shape.size, shape.pose)
