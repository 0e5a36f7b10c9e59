# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints of URDF: their links, motion and limits."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping

import numpy as np

from robot_dynamics.description.joint_names import (
    joint_has_axis,
    known_type,
    parameter_names,
    stated_parameters,
)
from robot_dynamics.description.urdf_elements import read_origin
from robot_dynamics.description.xml_tags import Tag
from robot_dynamics.model.elements import JointElement, Limits, SafetyController
from robot_dynamics.model.joints import joint_type, tree_joint_names
from robot_dynamics.wording import counted

#: The types of URDF. Others of the joint library are read as well, with a warning.
JOINT_TYPES = ("fixed", "revolute", "continuous", "prismatic", "floating", "planar")
_ONE_DEGREE = ("revolute", "continuous", "prismatic")
_JOINT_TAGS = (
    "origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "calibration",
    "safety_controller",
)  # fmt: skip
_BOUNDS = ("velocity", "effort")
_FURTHER_BOUNDS = ("acceleration", "deceleration", "jerk")  # of URDF 1.2


def read_joint(tag: Tag, name: str) -> JointElement | None:
    """Return the joint of a `<joint>` tag, or None if its links are missing."""
    own = parameter_names(tag.element.get("type", ""))
    tag.check_attributes("name", "type", "independent", *own)
    tag.check_children(*_JOINT_TAGS)
    kind, parameters = _joint_kind(tag)
    placement = read_origin(tag)
    axis = _axis(tag, kind)
    if tag.child("limit") is None and kind in _ONE_DEGREE:
        what = "limits of velocity and effort" if kind == "continuous" else "limits"
        tag.warning(f"has no <limit>, its {what} are taken as infinite")
    limits = read_limits(tag, kind, parameters)
    damping, friction = _friction(tag)
    ends = [_link_of(tag, end) for end in ("parent", "child")]
    parent, child = ends
    if parent is None or child is None:
        return None
    return JointElement(
        name,
        kind,
        parent,
        child,
        placement,
        axis,
        limits,
        damping,
        friction,
        parameters=parameters,
        safety=_safety(tag, limits),
    )


def read_mimic(tag: Tag) -> tuple[str, float, float] | None:
    """Return the mimicked joint with multiplier and offset; None without `<mimic>`."""
    mimic = tag.child("mimic")
    if mimic is None:
        return None
    mimic.check_attributes("joint", "multiplier", "offset")
    other = mimic.text("joint")
    numbers = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    return None if other is None else (other, *numbers)


def _link_of(tag: Tag, end: str) -> str | None:
    """Return the link that a joint's `<parent>` or `<child>` names."""
    found = tag.child(end)
    if found is None:
        tag.error(f"has no <{end}>")
        return None
    return found.text("link")


def _joint_kind(tag: Tag) -> tuple[str, dict[str, float]]:
    """Return the type of a joint and its parameters; "fixed" after reporting an error."""
    kind = tag.text("type")
    if kind is None or kind in JOINT_TYPES:
        return kind or "fixed", {}
    parameters = stated_parameters(tag, kind)
    place, owner, names = tag.place, tag.owner, tree_joint_names()
    if parameters is None or (
        known_type(kind, parameters, names, tag.diagnosis, place, owner) is None
    ):
        return "fixed", {}
    tag.warning(f"{kind!r} is no joint type of URDF, other programs will not read it")
    return kind, parameters


def _axis(tag: Tag, kind: str) -> tuple[float, float, float]:
    """Return the unit vector of a joint's axis; x by default, as in URDF."""
    found = tag.child("axis")
    if found is None or not joint_has_axis(kind):
        return (1.0, 0.0, 0.0)
    found.check_attributes("xyz")
    before = tag.diagnosis.count
    vector = np.array(found.numbers("xyz", 3, None))
    length = float(np.linalg.norm(vector))
    if length < 1e-6:
        if tag.diagnosis.count == before:
            found.error("the axis is zero, expected a direction")
        return (1.0, 0.0, 0.0)
    # Files print directions with five or six digits; such deviations are not errors.
    if abs(length - 1.0) > 1e-4:
        found.warning(f"the axis has length {length:.6g}, it is taken as a unit vector")
    x, y, z = (vector / length).tolist()
    return (x, y, z)


def read_limits(tag: Tag, kind: str, parameters: Mapping[str, float]) -> Limits:
    """Return the limits of a joint or loop joint; zero limits are unlimited, with a warning.

    `<limit>` has one number of each kind, not enough for a joint with several degrees of freedom.
    """
    limit = tag.child("limit")
    if limit is None:
        return Limits()
    freedoms = joint_type(kind, tag.owner, **parameters).nv
    if freedoms != 1:
        if freedoms:
            what = f"a {kind} joint has {counted(freedoms, 'degree')} of freedom"
            limit.warning(f"<limit> of a <{tag.name}> is not used: {what}")
        return Limits()
    unit = "m" if kind.endswith("prismatic") else "rad"
    limit.check_attributes("lower", "upper", *_BOUNDS, *_FURTHER_BOUNDS)
    lower, upper = -math.inf, math.inf
    if kind != "continuous":
        stated = [side for side in ("lower", "upper") if limit.element.get(side) is not None]
        lower, upper = limit.number("lower", 0.0), limit.number("upper", 0.0)
        if not stated:
            limit.warning("has neither lower nor upper limit, both are taken as infinite")
            lower, upper = -math.inf, math.inf
        elif lower > upper:
            limit.warning(
                f"the lower limit {lower:g} {unit} is above the upper {upper:g} {unit}, "
                "they are taken the other way round"
            )
            lower, upper = upper, lower
        elif lower == upper:
            limit.warning(f"both limits are {lower:g} {unit}, the joint cannot move")
    bounds = [_bound(limit, name) for name in _BOUNDS]
    further = [
        math.inf if limit.element.get(name) is None else _bound(limit, name)
        for name in _FURTHER_BOUNDS
    ]
    return Limits(lower, upper, *bounds, *further)


def _bound(limit: Tag, name: str) -> float:
    """Return a limit of velocity or effort; infinite, with a warning, if it is not positive.

    The meaning of an effort of zero depends on the other joints: it gives no warning here.
    """
    if limit.element.get(name) is None:
        limit.warning(f"has no limit of {name}, it is taken as infinite")
        return math.inf
    before = limit.diagnosis.count
    value = limit.number(name)
    if value > 0.0:
        return value
    if limit.diagnosis.count == before and not (name == "effort" and value == 0.0):
        limit.warning(f"the limit of {name} is {value:g}, it is taken as infinite")
    return math.inf


def stated_as_effortless(tag: Tag) -> Tag | None:
    """Return the `<limit>` of a joint if it states an effort of zero."""
    if tag.element.get("type") not in _ONE_DEGREE:
        return None
    for limit in tag.children("limit"):
        with contextlib.suppress(ValueError):
            if float(limit.element.get("effort", "1")) == 0.0:
                return limit
    return None


def _friction(tag: Tag) -> tuple[float, float]:
    """Return a joint's viscous and Coulomb friction."""
    dynamics = tag.child("dynamics")
    if dynamics is None:
        return 0.0, 0.0
    dynamics.check_attributes("damping", "friction")
    values = []
    for name in ("damping", "friction"):
        value = dynamics.number(name, 0.0)
        if value < 0.0:
            dynamics.warning(f"{name} is {value:g}, taken as zero: it would feed energy in")
        values.append(max(value, 0.0))
    return values[0], values[1]


def _safety(tag: Tag, limits: Limits) -> SafetyController | None:
    """Return the soft limits of a joint's drive; None without any."""
    found = tag.child("safety_controller")
    if found is None:
        return None
    names = ("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity")
    found.check_attributes(*names)
    # URDF's default of both soft limits is zero, which has no meaning: they are infinite then.
    lower = found.number(names[0]) if found.element.get(names[0]) is not None else -math.inf
    upper = found.number(names[1]) if found.element.get(names[1]) is not None else math.inf
    if lower > upper:
        found.warning(
            f"the soft lower limit {lower:g} is above the soft upper limit {upper:g}, both are "
            "left out"
        )
        lower, upper = -math.inf, math.inf
    elif lower > limits.upper or upper < limits.lower:
        found.warning(
            f"the soft limits {lower:g} to {upper:g} lie outside the limits {limits.lower:g} to "
            f"{limits.upper:g}"
        )
    return SafetyController(lower, upper, found.number(names[2], 0.0), found.number(names[3], 0.0))
