# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Names of joint types as files spell them, checked against the library of joints."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Mapping
from inspect import Parameter, signature

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.xml_tags import Tag
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model.joints import JOINT_TYPES, JointType, joint_type
from robot_dynamics.model.joints.registry import REVERSED

#: Names of the types of loop joints in other programs.
ALIASES = {"6d": "fixed", "weld": "fixed", "3d": "spherical", "ball": "spherical"}
#: Units of the parameters of joint types, if known.
PARAMETER_UNITS = {"pitch": "m/rad", "radius": "m"}
_COLLECTING = (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)


def known_type(
    name: str,
    parameters: Mapping[str, float],
    valid: Collection[str],
    diagnosis: Diagnosis,
    place: str,
    element: str,
    kind: str = "joint type",
) -> JointType | None:
    """Return the joint type of a name, or None after reporting an error.

    Args:
        name: The name, perhaps with "reversed " before it.
        parameters: Parameters of the type, such as `pitch`.
        valid: Accepted names.
        diagnosis: Receives the problems.
        place: Place of the name, for messages.
        element: Its element, for messages.
        kind: Kind of the named element, for messages.
    """
    plain = name[len(REVERSED) :] if name.startswith(REVERSED) else name
    if plain not in valid:
        diagnosis.unknown(place, element, kind, plain, valid)
        return None
    wrong = _wrong_parameters(name, parameters)
    for message, hint in wrong:
        diagnosis.error(place, element, message, hint)
    if wrong:
        return None
    try:
        return joint_type(name, **dict(parameters))  # type: ignore[arg-type]
    except RobotDynamicsError as error:
        diagnosis.error(place, element, str(error).rstrip("."))
        return None


def parameter_names(name: str) -> tuple[str, ...]:
    """Return the names of a joint type's parameters, for instance `pitch`; empty if unknown."""
    return tuple(_parameters(name))


def stated_parameters(tag: Tag, name: str) -> dict[str, float] | None:
    """Return the parameters of a type in the attributes of a joint's tag.

    Parameters of other types are included, for `known_type` to refuse. None after reporting that
    one is not a number.

    Args:
        tag: The tag.
        name: Name of the joint type.
    """
    before = tag.diagnosis.error_count
    names = dict.fromkeys((*parameter_names(name), *PARAMETER_UNITS))
    found = {key: tag.number(key) for key in names if tag.element.get(key) is not None}
    return found if tag.diagnosis.error_count == before else None


def joint_has_axis(name: str) -> bool:
    """Return whether a description gives joints of this type an axis."""
    return bool(getattr(_factory(name), "has_axis", False))


def _parameters(name: str) -> dict[str, Parameter]:
    """Return the parameters of a joint type by their names; empty if it is unknown."""
    factory = _factory(name)
    return {} if factory is None else _signature(factory)


@functools.cache
def _signature(factory: Callable[..., JointType]) -> dict[str, Parameter]:
    return dict(signature(factory).parameters)


def _factory(name: str) -> Callable[..., JointType] | None:
    return JOINT_TYPES.get(name[len(REVERSED) :] if name.startswith(REVERSED) else name)


def _wrong_parameters(name: str, given: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return a message and a hint for each parameter that is missing, unknown or not a number."""
    wrong = []
    taken = _parameters(name)
    anything = any(p.kind is Parameter.VAR_KEYWORD for p in taken.values())
    for key, value in given.items():
        if key not in taken and not anything:
            said = str(UnknownNameError("parameter", key, taken))
            hint = said.partition("; ")[2].rstrip(".") if taken else "it takes none"
            wrong.append((f"joint type {name!r} has no parameter {key!r}", hint))
        elif not math.isfinite(value):
            wrong.append((f"the parameter {_words(key)} is {value}, expected a finite number", ""))
    for key, parameter in taken.items():
        needed = parameter.default is Parameter.empty and parameter.kind not in _COLLECTING
        if needed and key not in given:
            wrong.append((f"joint type {name!r} needs the parameter {_words(key)}", ""))
    return wrong


def _words(parameter: str) -> str:
    unit = PARAMETER_UNITS.get(parameter)
    return f"{parameter!r} in {unit}" if unit else repr(parameter)
