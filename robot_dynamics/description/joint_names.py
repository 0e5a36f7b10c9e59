# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Names of joint types as files spell them, checked against the library of joints."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.joints import JOINT_TYPES, JointType, joint_type
from robot_dynamics.model.joints.registry import REVERSED

#: What other programs call the types that close loops.
ALIASES = {"6d": "fixed", "weld": "fixed", "3d": "spherical", "ball": "spherical"}


def known_type(
    name: str,
    parameters: Mapping[str, float],
    valid: Collection[str],
    diagnosis: Diagnosis,
    place: str,
    element: str,
    kind: str = "joint type",
) -> JointType | None:
    """Return the joint type of a name, or None after noting what is wrong with it.

    Args:
        name: The name, perhaps with "reversed " before it.
        parameters: What the type takes, such as `pitch`.
        valid: The names that make sense there.
        diagnosis: Where problems are noted.
        place: Where the name stands, for messages.
        element: Which element it belongs to, for messages.
        kind: What is named, for messages.
    """
    plain = name[len(REVERSED) :] if name.startswith(REVERSED) else name
    if plain not in valid:
        diagnosis.unknown(place, element, kind, plain, valid)
        return None
    try:
        return joint_type(name, **dict(parameters))  # type: ignore[arg-type]
    except RobotDynamicsError as error:
        diagnosis.error(place, element, str(error).rstrip("."))
        return None


def parameter_names(name: str) -> tuple[str, ...]:
    """Return what a joint type takes besides its name, for instance `pitch`; empty if unknown."""
    factory = JOINT_TYPES.get(name[len(REVERSED) :] if name.startswith(REVERSED) else name)
    if factory is None or not dataclasses.is_dataclass(factory):
        return ()
    return tuple(field.name for field in dataclasses.fields(factory))


def joint_has_axis(name: str) -> bool:
    """Return whether a description gives joints of this type an axis."""
    factory = JOINT_TYPES.get(name[len(REVERSED) :] if name.startswith(REVERSED) else name)
    return bool(getattr(factory, "has_axis", False))
