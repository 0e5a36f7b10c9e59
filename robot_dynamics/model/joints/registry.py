# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Registry of joint types by name, also of users' types."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model.joints.base import JointType
from robot_dynamics.model.joints.cylindrical import Cylindrical
from robot_dynamics.model.joints.edge_on_plane import EdgeOnPlane
from robot_dynamics.model.joints.fixed import Fixed
from robot_dynamics.model.joints.floating import Floating
from robot_dynamics.model.joints.helical import Helical
from robot_dynamics.model.joints.line_contact import LineContact
from robot_dynamics.model.joints.planar import Planar
from robot_dynamics.model.joints.point_on_line import PointOnLine
from robot_dynamics.model.joints.point_on_plane import PointOnPlane
from robot_dynamics.model.joints.prismatic import Prismatic
from robot_dynamics.model.joints.rack_and_pinion import RackAndPinion
from robot_dynamics.model.joints.reversed import reverse
from robot_dynamics.model.joints.revolute import Revolute
from robot_dynamics.model.joints.soft_finger import SoftFinger
from robot_dynamics.model.joints.spherical import Spherical
from robot_dynamics.model.joints.universal import Universal
from robot_dynamics.model.joints.yaw_pitch_roll import YawPitchRoll

#: Prefix of the names of types with reversed polarity.
REVERSED = "reversed "

JOINT_TYPES: dict[str, Callable[..., JointType]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "helical": Helical,
    "cylindrical": Cylindrical,
    "planar": Planar,
    "spherical": Spherical,
    "yaw_pitch_roll": YawPitchRoll,
    "universal": Universal,
    "rack_and_pinion": RackAndPinion,
    "floating": Floating,
    "fixed": Fixed,
    "point": Spherical,
    "soft_finger": SoftFinger,
    "line": LineContact,
    "point_on_plane": PointOnPlane,
    "edge_on_plane": EdgeOnPlane,
    "face_on_plane": Planar,
    "point_on_line": PointOnLine,
    "sphere_in_cylinder": PointOnLine,
}


def register(name: str, factory: Callable[..., JointType]) -> None:
    """Register a joint type under a name.

    Args:
        name: The name that descriptions use.
        factory: The class; its arguments are the `parameters` of a joint in a description.

    Raises:
        RobotDynamicsError: If the name is taken by another type, or cannot be used in a file.
    """
    if not name.strip() or name.startswith(REVERSED):
        raise RobotDynamicsError(
            f"joint type name {name!r} is empty or begins with {REVERSED!r}, expected another."
        )
    if JOINT_TYPES.get(name, factory) is not factory:
        raise RobotDynamicsError(
            f"joint type name {name!r} is taken by another type, expected a new name."
        )
    JOINT_TYPES[name] = factory


def joint_type(name: str, place: str = "", **parameters: Any) -> JointType:
    """Return the joint type of a name; "reversed NAME" for the other polarity.

    Args:
        name: One of `JOINT_TYPES`.
        place: Place of the name in a file, for messages.
        parameters: Parameters of the type, such as `pitch` [m/rad] or `radius` [m].

    Raises:
        UnknownNameError: If there is no such type; the message lists the known names.
        RobotDynamicsError: If parameters are missing, unknown or not numbers.
    """
    if name.startswith(REVERSED):
        return reverse(joint_type(name[len(REVERSED) :], place, **parameters))
    if name not in JOINT_TYPES:
        raise UnknownNameError("joint type", name, JOINT_TYPES, place)
    where = f"{place}: " if place else ""
    needed = (
        key
        for key, parameter in signature(JOINT_TYPES[name]).parameters.items()
        if parameter.default is Parameter.empty
        and parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    )
    missing = [key for key in needed if key not in parameters]
    if missing:
        listed = " and ".join(map(repr, missing))
        raise RobotDynamicsError(f"{where}joint type {name!r}: the parameter {listed} is missing.")
    try:
        return JOINT_TYPES[name](**parameters)
    except (TypeError, ValueError) as error:
        raise RobotDynamicsError(f"{where}joint type {name!r}: {_said(error)}") from error


def tree_joint_names() -> tuple[str, ...]:
    """Return the names of the types that can carry a body."""
    return tuple(n for n, kind in JOINT_TYPES.items() if getattr(kind, "carries", True))


def loop_joint_names() -> tuple[str, ...]:
    """Return the names of the types with constraints, which can close a loop."""
    return tuple(name for name in JOINT_TYPES if _constrains(JOINT_TYPES[name]))


def _constrains(kind: Callable[..., JointType]) -> bool:
    if kind is Floating:
        return False
    return getattr(kind, "residual", None) is not JointType.residual


def _said(error: Exception) -> str:
    text = str(error).replace("__init__()", "it")
    return text if text.endswith(".") else text + "."
