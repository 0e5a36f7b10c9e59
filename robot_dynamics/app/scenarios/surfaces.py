# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The surfaces of a scenario where they truly are, as the plant simulates them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from robot_dynamics.app.scenarios.cell import pose_matrix
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array
from robot_dynamics.contact.material import Material
from robot_dynamics.contact.surfaces import PointFunction, cylinder, hole, plane, sphere
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.contact_settings import PartSettings, SurfaceSettings
from robot_dynamics.manipulation.hybrid import FrictionCone
from robot_dynamics.manipulation.hybrid.environment import ObjectPose, surface_functions
from robot_dynamics.model.elements import inverse_pose, pose
from robot_dynamics.simulation.contact.environment_joints import EnvironmentJoint
from robot_dynamics.simulation.scene import SurfaceContact, points_of_face
from robot_dynamics.spatial import Rotation, Vector3

#: Size of planes where they are drawn, and where links keep away from them [m].
PLANE_SIZE_M = 0.6
_RING = 4  # points around a peg at which it may touch its hole
_ON_IT = 1e-2  # that a hinge or a line may be off the object at the start, as stated [m, rad]
_PLACES = {"line": 2, "hinge": 3}  # functions that are lengths; the others are sines of angles


def true_surfaces(
    scenario: Scenario,
) -> tuple[tuple[SurfaceContact, ...], tuple[EnvironmentJoint, ...]]:
    """Return the surfaces of a scenario where they truly are: pushed ones, then hinges and lines.

    Args:
        scenario: The scenario.

    Raises:
        ArgumentError: If a surface cannot be simulated, or the object is off its hinge or line.
    """
    frames = {surface.name: pose_matrix(surface) for surface in scenario.cell.surfaces}
    for name, error in scenario.plant.surface_error.items():
        frames[name] = frames[name] @ pose_matrix(error)
    surfaces = tuple(
        SurfaceContact(
            surface.name,
            _function(surface, frames[surface.name]),
            _points(surface.part),
            Material(
                scaled_cone(FrictionCone(surface.friction), scenario.plant.surface_friction_scale),
                surface.stiffness,
                surface.restitution,
            ),
        )
        for surface in scenario.cell.surfaces
        if not surface.holds
    )
    environment_joints = tuple(
        _environment_joint(surface, frames[surface.name], pose_matrix(scenario.cell.object))
        for surface in scenario.cell.surfaces
        if surface.holds
    )
    return surfaces, environment_joints


def scaled_cone(cone: FrictionCone, scale: float) -> FrictionCone:
    """Return a cone with other friction, torsional friction included."""
    return replace(cone, friction=scale * cone.friction, torsion=scale * cone.torsion)


def _environment_joint(surface: SurfaceSettings, frame: Array, held: Array) -> EnvironmentJoint:
    """Return a hinge or a line with the object on it.

    The object starts at its believed pose. A hinge or a line whose true pose differs from the
    believed one is therefore also at a different place in the object.

    Args:
        surface: The believed hinge or line.
        frame: Its true pose in the world (4, 4).
        held: Pose of the object at the start (4, 4).
    """
    part = pose_matrix(surface.part)
    at = ObjectPose(Vector3.of(held[:3, 3].tolist()), Rotation.of(held[:3, :3].tolist()))
    functions = surface_functions(surface, pose_matrix(surface), part, np.zeros(3))
    off = np.array([function(at) for function in functions])
    lengths, sines = np.split(off, [_PLACES[surface.kind]])
    distance, sine = float(np.linalg.norm(lengths)), min(float(np.linalg.norm(sines)), 1.0)
    gaps = [
        f"{gap:.3g} {unit}"
        for gap, unit in ((distance, "m"), (np.arcsin(sine), "rad"))
        if gap > _ON_IT
    ]
    if gaps:
        raise ArgumentError(
            f"at the start the object is {' and '.join(gaps)} off {surface.kind} "
            f"{surface.name!r}, expected {_ON_IT:g} at most: it is on it from beginning to end."
        )
    if surface.friction:
        raise ArgumentError(
            f"surface {surface.name!r} is a {surface.kind} with a coefficient of friction "
            f"{surface.friction:g}, which the plant does not have; expected `resistance`."
        )
    on_it = frame
    if surface.kind == "line":
        there, axis = (held @ part)[:3, 3], frame[:3, 2]
        on_it = pose(frame[:3, 3] + axis * (axis @ (there - frame[:3, 3])), frame[:3, :3])
    against = surface.resistance
    return EnvironmentJoint(
        surface.name, surface.kind, frame, inverse_pose(held) @ on_it,
        against.friction, against.damping,
    )  # fmt: skip


def _points(part: PartSettings) -> Array:
    """Return the contact points of a part of the object, in the object (n, 3)."""
    frame, (x, y) = pose_matrix(part), part.size
    if part.kind == "point":
        return frame[None, :3, 3]
    if part.kind == "face":
        return points_of_face(x, y, frame.tolist())
    if part.kind == "edge":
        own = np.array([[x, 0.0, 0.0], [-x, 0.0, 0.0]])
    else:  # a peg of radius x, of whose length y is round; its axis points out of the object
        angles = 2.0 * np.pi * np.arange(_RING) / _RING
        ring = np.column_stack([x * np.cos(angles), x * np.sin(angles), np.zeros(_RING)])
        own = np.vstack([ring, ring - [0.0, 0.0, y]])
    return own @ frame[:3, :3].T + frame[:3, 3]


def _function(surface: SurfaceSettings, frame: Array) -> PointFunction:
    if surface.kind not in _FUNCTIONS:
        raise ArgumentError(
            f"surface {surface.name!r} is a {surface.kind}, which the plant does not have; "
            f"expected {', '.join(_FUNCTIONS)}."
        )
    at, axis = frame[:3, 3].tolist(), frame[:3, 2].tolist()
    return _FUNCTIONS[surface.kind](surface, at, axis)


_FUNCTIONS: dict[str, Callable[[SurfaceSettings, list[float], list[float]], PointFunction]] = {
    "plane": lambda surface, at, axis: plane(at, axis),
    "sphere": lambda surface, at, axis: sphere(at, surface.radius or 0.0, inside=surface.inside),
    "cylinder": lambda surface, at, axis: cylinder(
        at, axis, surface.radius or 0.0, inside=surface.inside
    ),
    "hole": lambda surface, at, axis: hole(at, axis, surface.radius or 0.0, surface.depth or 0.0),
}
