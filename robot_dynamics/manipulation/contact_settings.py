# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of contacts: of arms with the object, and of the object with surfaces of the world."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from robot_dynamics.errors import ArgumentError

Triple = tuple[float, float, float]
Wrench = tuple[float, float, float, float, float, float]

#: Kinds of contact: name in files, name in `manipulation.hybrid.KINDS`.
CONTACT_KINDS = {
    "rigid": "rigid",
    "soft_finger": "soft finger",
    "point": "frictional point",
    "frictionless_point": "frictionless point",
    "pin": "pin",
    "line": "line",
}
#: Number of forces by a surface on the object, by kinds of surface and touching part.
SURFACE_ROWS = {
    "plane": {"point": 1, "edge": 2, "face": 3},
    "sphere": {"point": 1},
    "cylinder": {"point": 1},
    "line": {"point": 2},
    "hole": {"axis": 4},
    "hinge": {"axis": 5},
}

#: Metadata of angles; the bounds catch values in degrees.
ANGLES = {"unit": "rad", "minimum": -6.2832, "maximum": 6.2832}


def number(default: float | None, unit: str, **bounds: Any) -> Any:
    """Return a dataclass field; for the bounds see `description.yaml_document`."""
    return field(default=default, metadata={"unit": unit, **bounds})


@dataclass(frozen=True)
class ContactSettings:
    """Contact of a tool with the object.

    Attributes:
        kind: "rigid"; "soft_finger", "point" and "frictionless_point", which can slip and only
            push, along the tool's z axis into the object; "pin", which turns about z; "line",
            which rolls about x; "own" with `directions`.
        friction: Coulomb's coefficient of a point or a soft finger.
        torsional_friction: Largest moment of a soft finger about its normal, per normal force [m].
        directions: Wrenches that a contact of the kind "own" can exert, each as moments x y z
            [N m], then forces x y z [N], in the grasp's frame.
        pad: Half lengths of a soft finger's pad along x and y of the grasp's frame [m]. The pad
            lies flat on the object; in the plant a moment turns it back when it tips. The default
            is the radius of an evenly pressed disc with this torsional friction, 3/2 of it over
            the friction, within the face.
        pad_stiffness: Stiffness of the pad along its normal [N/m]; it sets the moments only.
        face: Half lengths of the object's face along x and y of the grasp's frame [m]. A contact
            that slips beyond the edge is lost. Infinite by default.
    """

    kind: Literal["rigid", "soft_finger", "point", "frictionless_point", "pin", "line", "own"] = (
        "rigid"
    )
    friction: float = number(0.5, "", minimum=0.0, maximum=10.0)
    torsional_friction: float = number(0.01, "m", minimum=0.0, maximum=10.0)
    directions: tuple[Wrench, ...] = ()
    face: tuple[float, float] | None = field(default=None, metadata={"unit": "m", "above": 0.0})
    pad: tuple[float, float] | None = field(default=None, metadata={"unit": "m", "above": 0.0})
    pad_stiffness: float = number(1e5, "N/m", above=0.0)

    def __post_init__(self) -> None:
        if self.pad is not None and self.kind != "soft_finger":
            raise ArgumentError(
                f"a contact of kind {self.kind!r} has a pad; expected kind 'soft_finger', or no "
                "pad."
            )
        if (self.kind == "own") != bool(self.directions):
            raise ArgumentError(
                f"a contact of kind {self.kind!r} has {len(self.directions)} directions; expected "
                "at least one for kind 'own', and none for other kinds."
            )
        if self.kind == "soft_finger" and self.torsional_friction > 0.0 and not self.friction:
            raise ArgumentError(
                f"a soft finger has torsional_friction {self.torsional_friction:g} m and friction "
                "0; expected both positive, or torsional_friction 0."
            )

    @property
    def unilateral(self) -> bool:
        """Whether it can only push."""
        return self.kind in ("soft_finger", "point", "frictionless_point")


@dataclass(frozen=True)
class PartSettings:
    """The part of the object that touches a surface.

    Attributes:
        kind: A "point"; an "edge" along x or a "face" normal to z, on planes; an "axis" along z,
            in holes and hinges.
        xyz: Position of its frame in the object [m].
        rpy: Orientation [rad]; the frame's z axis points out of the object.
        size: Half lengths of an edge or a face along its x and y axes [m]: the contact points of
            the simulated object.
    """

    kind: Literal["point", "edge", "face", "axis"] = "point"
    xyz: Triple = (0.0, 0.0, 0.0)
    rpy: Triple = field(default=(0.0, 0.0, 0.0), metadata=ANGLES)
    size: tuple[float, float] = field(default=(0.05, 0.05), metadata={"unit": "m", "above": 0.0})


@dataclass(frozen=True)
class ResistanceSettings:
    """Resistance of a hinge or a line, independent of its load.

    Attributes:
        friction: Coulomb's [N m about a hinge, N along a line].
        damping: [N m s/rad, N s/m].
    """

    friction: float = number(0.0, "N m or N", minimum=0.0)
    damping: float = number(0.0, "N m s/rad or N s/m", minimum=0.0)


@dataclass(frozen=True)
class SurfaceSettings:
    """A surface of the world that the object can touch.

    Attributes:
        name: Its name.
        kind: A "plane" normal to the frame's z axis, which points into free space; a "sphere"
            about its origin; a "cylinder" about its z axis; a "line" along z; a "hole" along z,
            which points out of it; a "hinge" about z.
        xyz: Position of its frame in the world [m].
        rpy: Orientation of its frame [rad].
        radius: Radius of a sphere, a cylinder or a hole [m].
        inside: Whether the object is inside a sphere or a cylinder.
        depth: Depth of a hole [m].
        part: The part of the object that touches it.
        friction: Coulomb's coefficient.
        sticks: Whether a point sticks to a plane by friction and is pushed along it; else the
            object slides. It adds the two forces along x and y of the surface's frame.
        stiffness: Stiffness in the simulated plant [N/m]; infinite for a rigid surface. Lines and
            hinges are always rigid.
        restitution: Ratio of separating to approaching speed at an impact, in the plant.
        resistance: Resistance of a hinge or a line to the motion that it leaves free, in the
            plant. If there is resistance, control assumes an unknown size.
    """

    name: str
    kind: Literal["plane", "sphere", "cylinder", "line", "hole", "hinge"]
    xyz: Triple
    rpy: Triple = field(default=(0.0, 0.0, 0.0), metadata=ANGLES)
    radius: float | None = number(None, "m", above=0.0)
    inside: bool = False
    depth: float | None = number(None, "m", above=0.0)
    part: PartSettings = field(default_factory=PartSettings)
    friction: float = number(0.0, "", minimum=0.0, maximum=10.0)
    sticks: bool = False
    stiffness: float = number(1e5, "N/m", above=0.0, infinite=True)
    restitution: float = number(0.3, "", minimum=0.0, maximum=1.0)
    resistance: ResistanceSettings = field(default_factory=ResistanceSettings)

    def __post_init__(self) -> None:
        parts = SURFACE_ROWS[self.kind]
        if self.part.kind not in parts:
            raise ArgumentError(
                f"surface {self.name!r} is a {self.kind} with a part of kind {self.part.kind!r}; "
                f"expected {' or '.join(map(repr, parts))}."
            )
        for key, kinds in _SIZES.items():
            given, needed = getattr(self, key) is not None, self.kind in kinds
            if given != needed:
                raise ArgumentError(
                    f"surface {self.name!r} is a {self.kind} {'with' if given else 'without'} a "
                    f"{key}; expected a {key} for {' and '.join(kinds)} only."
                )

        if self.sticks and (self.kind, self.part.kind) != ("plane", "point"):
            raise ArgumentError(
                f"surface {self.name!r}: `sticks` is set for a {self.part.kind} on a {self.kind}; "
                "expected a point on a plane."
            )

        if self.resists and not self.holds:
            raise ArgumentError(
                f"surface {self.name!r} is a {self.kind} with a resistance; expected `resistance` "
                "for line and hinge only, `friction` for other kinds."
            )

    @property
    def resists(self) -> bool:
        """Whether it resists the motion that it leaves free."""
        return self.resistance.friction > 0.0 or self.resistance.damping > 0.0

    @property
    def holds(self) -> bool:
        """Whether its forces have both signs, so that the object cannot leave it."""
        return self.kind in ("line", "hinge")

    @property
    def rows(self) -> int:
        """Number of forces by it on the object, and of motions that it blocks."""
        if self.sticks:
            return 3
        return SURFACE_ROWS[self.kind][self.part.kind]


@dataclass(frozen=True)
class CoordinateSettings:
    """A coordinate of the object that is controlled along surfaces: an s_j of the user.

    Attributes:
        along: A direction of the world; the coordinate is the position of `point` along it [m].
        point: A point of the object [m].
        about: An axis of the world; the coordinate is the rotation of the object about it since
            the start [rad].
    """

    along: Triple | None = None
    point: Triple = (0.0, 0.0, 0.0)
    about: Triple | None = None

    def __post_init__(self) -> None:
        given = [one for one in (self.along, self.about) if one is not None]
        if len(given) != 1:
            raise ArgumentError(
                f"a coordinate has {'both `along` and' if given else 'neither `along` nor'} "
                "`about`; expected one of them."
            )
        if not any(given[0]):
            raise ArgumentError(
                f"a coordinate has the direction {given[0]}; expected a vector that is not zero."
            )
        if self.about is not None and any(self.point):
            raise ArgumentError(
                "a coordinate `about` an axis has a `point`; expected `point` for `along` only: "
                "all points turn alike."
            )


_SIZES = {"radius": ("sphere", "cylinder", "hole"), "depth": ("hole",)}
