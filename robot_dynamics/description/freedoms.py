# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Properties of the freedoms of loop joints in files: springs, dampers, drives, limits."""

from __future__ import annotations

from typing import Any

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.model.elements import Limits, LoopElement, bounded
from robot_dynamics.model.joints import JointType, loop_joint_names
from robot_dynamics.wording import counted

#: Properties of the freedoms of a loop joint: names of keys and fields.
OF_FREEDOMS = ("limits", "damping", "friction", "active", "stiffness", "rest")
#: The properties that act on the links.
FORCES = ("stiffness", "damping", "active")

UNLIMITED = Limits()


def loop_types(entry: Any) -> tuple[str, ...]:
    """Return the types of a loop joint: without constraints it needs a force or a limit."""
    acts = any(_stated(getattr(entry, name)) for name in FORCES) or bounded(entry.limits)
    return (*loop_joint_names(), *(("floating",) if acts else ()))


def check_freedoms(entry: Any, kind: JointType | None, diagnosis: Diagnosis, element: str) -> None:
    """Report values of freedoms that a loop joint does not have.

    Args:
        entry: The loop joint as stated in the file, with its place.
        kind: Its type; None if unknown.
        diagnosis: Receives the problems.
        element: The loop joint, for messages.
    """
    if kind is None:
        return
    for name in OF_FREEDOMS:
        values = getattr(entry, name)
        if isinstance(values, tuple) and len(values) != kind.nv:
            freedoms = f"{counted(kind.nv, 'degree')} of freedom"
            diagnosis.error(
                entry.place,
                element,
                f"{name} has {len(values)} values, expected {kind.nv}: a {kind.name} joint has "
                f"{freedoms}",
            )
        elif kind.nv == 0 and name in FORCES and _stated(values):
            diagnosis.error(
                entry.place,
                element,
                f"{name} is given, expected none: a {kind.name} joint does not move",
            )


def freedoms_as_yaml(loop: LoopElement) -> dict[str, object]:
    """Return the stated properties of a loop joint's freedoms."""
    found: dict[str, object] = {}
    default = LoopElement("", "", "", "")
    for name in OF_FREEDOMS:
        values = getattr(loop, name)
        if values != getattr(default, name):
            each = values if isinstance(values, tuple) else (values,)
            plain = [_plain(value) for value in each]
            found[name] = plain if isinstance(values, tuple) else plain[0]
    return found


def _stated(values: Any) -> bool:
    return any(values) if isinstance(values, tuple) else bool(values)


def _plain(value: Limits | float | bool) -> object:
    if isinstance(value, Limits):
        return {k: float(v) for k, v in vars(value).items() if v != getattr(UNLIMITED, k)}
    return bool(value) if isinstance(value, bool) else float(value)
