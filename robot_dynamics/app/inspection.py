# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is in a description: its tree, its masses, and what deserves a look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robot_dynamics.description.description import Description
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.load import load_description
from robot_dynamics.model.elements import JointElement, Mechanism


@dataclass(frozen=True)
class Inspection:
    """What came of inspecting a file.

    Attributes:
        file: As the user named it.
        description: What it describes, None if it was refused.
        errors: Why it was refused, a sentence each.
        warnings: What deserves a look, a sentence each.
    """

    file: str
    description: Description | None
    errors: tuple[str, ...]
    warnings: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        result: dict[str, Any] = {
            "file": self.file,
            "ok": self.description is not None,
            "errors": list(self.errors),
            "warnings": list(self.warnings),
        }
        if self.description is None:
            return result
        mechanism = self.description.mechanism
        result["name"] = mechanism.name
        result["mass_kg"] = total_mass(mechanism)
        result["root"] = mechanism.root
        result["links"] = [
            {"name": link.name, "mass_kg": float(link.mass)} for link in mechanism.links
        ]
        result["joints"] = [_joint_as_json(joint) for joint in mechanism.joints]
        result["loops"] = [
            {"name": loop.name, "type": loop.type, "links": [loop.predecessor, loop.successor]}
            for loop in mechanism.loops
        ]
        return result

    def lines(self) -> Iterator[str]:
        """Yield the lines of a text for people; problems are not in it."""
        if self.description is None:
            return
        mechanism = self.description.mechanism
        moving = [joint for joint in mechanism.joints if joint.type != "fixed"]
        yield (
            f"{self.file}: {mechanism.name!r}, {len(mechanism.links)} links, "
            f"{len(moving)} movable joints, {total_mass(mechanism):.4g} kg"
        )
        yield from _tree(mechanism)
        for loop in mechanism.loops:
            yield f"  loop {loop.name} ({loop.type}): {loop.predecessor} to {loop.successor}"


def inspect_file(path: str | Path, *, strict: bool = False) -> Inspection:
    """Return what is in a description file, refused or not.

    Args:
        path: The file.
        strict: Whether warnings are reason enough to refuse.
    """
    try:
        description = load_description(path, strict=strict)
    except DescriptionError as error:
        found = [
            [p.sentence() for p in error.problems if p.severity == kind]
            for kind in ("error", "warning")
        ]
        return Inspection(str(path), None, tuple(found[0]), tuple(found[1]))
    warnings = tuple(problem.sentence() for problem in description.diagnosis.warnings)
    return Inspection(str(path), description, (), warnings)


def total_mass(mechanism: Mechanism) -> float:
    """Return the mass of all links [kg]."""
    return float(sum(link.mass for link in mechanism.links))


def _tree(mechanism: Mechanism) -> Iterator[str]:
    """Yield the links as an indented tree, each with the joint that carries it."""
    masses = {link.name: link.mass for link in mechanism.links}
    children: dict[str, list[JointElement]] = {name: [] for name in masses}
    for joint in mechanism.joints:
        children[joint.parent].append(joint)
    # Not recursive: a chain may be longer than Python's stack.
    pending: list[tuple[str, JointElement | None, int]] = [(mechanism.root, None, 0)]
    while pending:
        link, carrier, depth = pending.pop()
        mass = f"{masses[link]:.4g} kg" if masses[link] else "no mass"
        carried = f"  <- {_joint_words(carrier)}" if carrier else ""
        yield f"{'  ' * (depth + 1)}{link}  [{mass}]{carried}"
        pending += [(joint.child, joint, depth + 1) for joint in reversed(children[link])]


def _joint_words(joint: JointElement) -> str:
    words = f"{joint.name} ({joint.type})"
    limits = joint.limits_of_each[0]
    if joint.type in ("revolute", "prismatic"):
        words += f" {limits.lower:.3g} to {limits.upper:.3g}"
    if joint.type in ("revolute", "continuous", "prismatic"):
        words += f", at most {limits.effort:.3g} and {limits.velocity:.3g}/s"
    return words


def _joint_as_json(joint: JointElement) -> dict[str, Any]:
    result: dict[str, Any] = {
        "name": joint.name,
        "type": joint.type,
        "parent": joint.parent,
        "child": joint.child,
    }
    for name in ("lower", "upper", "velocity", "effort"):
        value = getattr(joint.limits_of_each[0], name)
        result[name] = value if abs(value) != float("inf") else None
    return result
