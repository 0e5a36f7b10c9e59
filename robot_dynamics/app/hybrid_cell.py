# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contacts and surfaces of a scenario: as control believes in them, and as the plant has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from robot_dynamics.control.hybrid.surface_check import Grip, SurfaceRow
from robot_dynamics.control.settings import ReferenceSettings
from robot_dynamics.description.orientations import rotation_of_rpy
from robot_dynamics.manipulation.contact_settings import (
    CONTACT_KINDS,
    ContactSettings,
    PartSettings,
    SurfaceSettings,
)
from robot_dynamics.manipulation.grasp_map import GraspMap, force_transform, middle_frame
from robot_dynamics.manipulation.hybrid import (
    KINDS,
    Contact,
    Environment,
    ForceDistribution,
    FrictionCone,
    HybridSystem,
)
from robot_dynamics.manipulation.hybrid.environment import (
    PUSHED,
    PoseFunction,
    coordinate_function,
    surface_functions,
)
from robot_dynamics.manipulation.hybrid.from_grasps import hybrid_system
from robot_dynamics.manipulation.hybrid.touched_surfaces import Guided, Sliding
from robot_dynamics.manipulation.settings import CellSettings
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model.elements import pose

Array = NDArray[np.float64]


def hybrid_system_of(cell: CellSettings, system: GraspSystem) -> HybridSystem:
    """Return arms, object, contacts and surfaces as one hybrid system.

    Args:
        cell: The work cell.
        system: Its arms and object.
    """
    center = np.asarray(hybrid_system(system).held.center, dtype=float)
    return hybrid_system(system, environment=environment_of(cell, center))


def has_contacts(cell: CellSettings) -> bool:
    """Return whether the object touches surfaces, or an arm holds it otherwise than rigidly."""
    return bool(cell.surfaces) or any(arm.contact.kind != "rigid" for arm in cell.arms)


def surface_rows(cell: CellSettings) -> Mapping[str, slice]:
    """Return by name where the forces of each surface stand in a vector of all (C,)."""
    rows, start = {}, 0
    for surface in cell.surfaces:
        rows[surface.name] = slice(start, start + surface.rows)
        start += surface.rows
    return rows


def internal_size(cell: CellSettings) -> int:
    """Return the number of internal forces of a grasp: what contacts exert beyond a wrench."""
    exerted = [
        len(arm.contact.directions) if arm.contact.directions else len(KINDS[_kind(arm.contact)])
        for arm in cell.arms
    ]
    return sum(exerted) - 6


def environment_of(cell: CellSettings, center: Array) -> Environment:
    """Return all surfaces of a cell, in the order of `surface_rows`, and coordinates along them.

    Args:
        cell: The work cell.
        center: The object's centre of mass, in the object (3,) [m].
    """
    functions: list[PoseFunction] = []
    leaders: list[int] = []
    sliding: list[Sliding | Guided | None] = []
    for surface in cell.surfaces:
        frame, part = surface_frame(surface), part_frame(surface.part)
        first = len(functions) if surface.kind in PUSHED else -1
        functions += surface_functions(surface, frame, part, center)
        leaders += [first] * surface.rows
        sliding += [_sliding(surface), *[None] * (surface.rows - 1)]
    start = object_frame(cell)[:3, :3]
    return Environment(
        tuple(functions),
        tuple(coordinate_function(one, start, center) for one in cell.coordinates),
        tuple(leaders),
        tuple(sliding),
        own_coordinates=bool(cell.coordinates),
    )


def _sliding(surface: SurfaceSettings) -> Sliding | Guided | None:
    """Return the friction of a surface that is pushed on without sticking to it, or guides."""
    if surface.resists:
        return Guided(None if surface.kind == "hinge" else surface.part.xyz)
    if surface.kind not in PUSHED or surface.sticks or surface.friction == 0.0:
        return None
    return Sliding(surface.friction, surface.part.xyz)


class SurfaceFacts(NamedTuple):
    """What checks and monitors know of surfaces.

    Attributes:
        rows: What the functions of all surfaces are called.
        grips: Those that it is to stick to, by name.
    """

    rows: tuple[SurfaceRow, ...]
    grips: Mapping[str, Grip]


def surface_facts(cell: CellSettings) -> SurfaceFacts:
    """Return what checks and monitors know of the surfaces of a cell."""
    rows: list[SurfaceRow] = []
    grips = {}
    for surface in cell.surfaces:
        first = len(rows)
        if surface.sticks:
            grips[surface.name] = Grip(first, (first + 1, first + 2), surface.friction)
        components = _components(surface, object_frame(cell))
        for i in range(surface.rows):
            component, sign = components[i]
            pushed = surface.kind in PUSHED and i == 0
            unit, force = ("m", "N") if component >= 3 else ("rad", "N m")
            rows.append(SurfaceRow(surface.name, pushed, unit, force, component, sign))
    return SurfaceFacts(tuple(rows), grips)


def _components(surface: SurfaceSettings, held: Array) -> tuple[tuple[int, float], ...]:
    """Return component and sign of each of a surface's forces; see `SurfaceRow`.

    Args:
        surface: The surface.
        held: The object's pose at the start (4, 4): a hinge's part may point either way.
    """
    if surface.sticks:
        return (5, 1.0), (3, 1.0), (4, 1.0)
    if surface.kind == "plane" and surface.part.kind == "face":  # its z axis points into the plane
        return (5, 1.0), (1, -1.0), (0, 1.0)
    if surface.kind == "hinge":
        along = (
            surface_frame(surface)[:3, :3].T @ held[:3, :3] @ part_frame(surface.part)[:3, :3]
        )[2, 2]
        sign = 1.0 if along > 0.0 else -1.0
        return *_COMPONENTS["hinge"], (1, sign), (0, -sign)
    return _COMPONENTS[surface.kind]


# Of the functions of each kind of surface, in their order; a peg's axis points into its hole.
# Which axis an edge turns about depends on where it points.
_COMPONENTS = {
    "plane": ((5, 1.0), (-1, 1.0)),
    "sphere": ((5, 1.0),),
    "cylinder": ((5, 1.0),),
    "line": ((3, 1.0), (4, 1.0)),
    "hole": ((3, 1.0), (4, 1.0), (1, -1.0), (0, 1.0)),
    "hinge": ((3, 1.0), (4, 1.0), (5, 1.0)),
}


def uncontrolled_environment_joints(cell: CellSettings, reference: ReferenceSettings) -> list[str]:
    """Return a sentence for each hinge or line that a reference leaves to position control.

    The object is on it all the time: where that is not known, arms work against it.
    """
    end = sum(segment.duration_s for segment in reference.segments)
    found = []
    for surface in cell.surfaces:
        controlled_until = 0.0
        touches = [one for one in reference.touches if one.surface == surface.name]
        for touch in sorted(touches, key=lambda one: one.from_s):
            if touch.from_s <= controlled_until:
                controlled_until = max(controlled_until, touch.until_s)
        if surface.holds and controlled_until < end:
            found.append(
                f"the object is on {surface.kind} {surface.name!r} from beginning to end, but "
                f"reference.touches does not have it from {controlled_until:g} s on; "
                "expected a touch "
                f"of it, or arms and {surface.kind} work against each other."
            )
    return found


def object_frame(cell: CellSettings) -> Array:
    """Return the pose (4, 4) of the object in the world at the start."""
    return pose(cell.object.xyz, rotation_of_rpy(cell.object.rpy))


def surface_frame(surface: SurfaceSettings) -> Array:
    """Return the pose (4, 4) of a surface's frame in the world."""
    return pose(surface.xyz, rotation_of_rpy(surface.rpy))


def part_frame(part: PartSettings) -> Array:
    """Return the pose (4, 4) of what touches a surface, in the object."""
    return pose(part.xyz, rotation_of_rpy(part.rpy))


def cone_of(settings: ContactSettings) -> FrictionCone:
    """Return what a contact that can only push bears."""
    if settings.kind == "frictionless_point":
        return FrictionCone(0.0)
    torsion = settings.torsional_friction if settings.kind == "soft_finger" else 0.0
    return FrictionCone(settings.friction, torsion)


def wrench_maps(system: HybridSystem, distribution: ForceDistribution) -> GraspMap:
    """Return the maps of a grasp of any contacts, over whole wrenches in the grasps' frames.

    What contacts cannot exert is no part of the internal force.
    """
    S = block_diag(*(contact.directions for contact in system.contacts))
    of_wrenches = np.linalg.pinv(S)
    to_center = np.eye(6)
    x, y, z = system.held.center
    to_center[:3, 3:] = -np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    frames = [contact.pose for contact in system.contacts]
    return GraspMap(
        np.hstack([force_transform(frame) for frame in frames]),
        S @ distribution.share @ to_center,
        S @ distribution.internal,
        distribution.recovery @ of_wrenches,
        middle_frame(frames),
    )


def _kind(settings: ContactSettings) -> str:
    return CONTACT_KINDS[settings.kind]


def contact_of(settings: ContactSettings) -> Contact:
    """Return how a tool holds the object, at the origin of the contact's frame."""
    if settings.kind == "own":
        return Contact.of_directions(np.array(settings.directions).T, np.eye(4))
    limits = cone_of(settings) if settings.unilateral else None
    return Contact.of_kind(_kind(settings), np.eye(4), limits)
