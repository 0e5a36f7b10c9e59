# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inspection of descriptions: tree, loops, mobility, and warnings."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics.app.output_files import OutputError, require_parent
from robot_dynamics.arrays import Array
from robot_dynamics.description.description import Description
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.frames import link_poses_at_zero, path_to_root
from robot_dynamics.description.load import load_description
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.model import WORLD, Limits, LoopElement, Model, joint_type
from robot_dynamics.model.couplings import CouplingElement
from robot_dynamics.model.elements import JointElement, Mechanism
from robot_dynamics.wording import counted, distance

# The algorithms are imported only for accepted files: a refusal does not wait for them.
if TYPE_CHECKING:
    from robot_dynamics.dynamics.assembly import AssemblyError
    from robot_dynamics.dynamics.mobility import Mobility
    from robot_dynamics.robot import Robot

_MATTERS = 1e-2  # share of the largest gap; smaller gaps are its consequences, and not named
_PATIENCE = 10.0  # s for closing loops
_MOST_LOOPS = 6  # that are named when they cannot be closed

#: Separator of name and value of a xacro argument, as in xacro and ros2 launch.
ASSIGNED = ":="
# More sentences of a kind than this are counted, not printed; --json has them all.
_MOST = 100
_MOST_TOOLS = 12
_OUTWARD = 0.99  # cosine from which an axis counts as pointing away from a joint
_ALONG = 1e-6  # a direction whose largest component is within this of 1 counts as an axis


@dataclass(frozen=True)
class Inspection:
    """Result of inspecting a file.

    Attributes:
        file: As the user named it.
        description: The description, None if it was refused.
        errors: Reasons for refusal, one sentence each.
        warnings: Warnings, a sentence each.
        model: The numbered model, None if it was refused.
        mobility: Mobility, None if it was refused.
    """

    file: str
    description: Description | None
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    model: Model | None = None
    mobility: Mobility | None = None

    @property
    def ok(self) -> bool:
        """Whether the file was not refused."""
        return not self.errors and self.description is not None

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values; unknown values of a refused file are null or empty."""
        result: dict[str, Any] = {
            "file": self.file,
            "ok": self.ok,
            "errors": list(self.errors),
            "warnings": list(self.warnings),
        }
        # A program finds every key in every answer.
        result |= {key: [] for key in ("bodies", "joints", "loops", "redundant_constraints")}
        result |= dict.fromkeys(("n", "constraints", "rank", "mobility", "total_mass_kg"))
        if self.description is not None:
            mechanism = self.description.mechanism
            result["name"] = mechanism.name
            result["total_mass_kg"] = total_mass(mechanism)
            result["root"] = mechanism.root
            result["links"] = [
                {"name": link.name, "mass_kg": float(link.mass)} for link in mechanism.links
            ]
            result["ends"] = [
                {"name": name, "pose_at_zero": pose.tolist()}
                for name, pose in _tools(mechanism).items()
            ]
            result["joints"] = [_joint_as_json(joint) for joint in mechanism.joints]
            result["loops"] = [
                {
                    "name": loop.name,
                    "type": loop.type,
                    "links": [loop.predecessor, loop.successor],
                    **_limits_as_json(loop.limits),
                }
                for loop in mechanism.loops
            ]
            result["couplings"] = [
                {"name": c.name, "terms": dict(c.terms), "offset": float(c.offset)}
                for c in mechanism.couplings
            ]
        if self.model is not None:
            result["bodies"] = _bodies_as_json(self.model)
            result["n"] = self.model.nv
            result["constraints"] = self.model.constraint_count
        if self.mobility is not None:
            result["rank"] = self.mobility.rank
            result["mobility"] = self.mobility.mobility
            result["redundant_constraints"] = list(self.mobility.redundant)
            result["mobility_report"] = self.mobility.as_dict()
        return result

    def lines(self) -> Iterator[str]:
        """Yield the lines of a text for people; problems are not in it."""
        if self.description is None:
            return
        mechanism = self.description.mechanism
        moving = [joint for joint in mechanism.joints if joint.type != "fixed"]
        yield (
            f"{self.file}: {mechanism.name!r}, {counted(len(mechanism.links), 'link')}, "
            f"{counted(len(moving), 'movable joint')}, {total_mass(mechanism):.4g} kg"
        )
        yield from _tree(mechanism)
        yield from _tool_lines(mechanism)
        for loop in mechanism.loops:
            ends = f"{loop.predecessor} to {loop.successor}"
            yield f"  loop {loop.name} ({loop.type}){_ranges(loop)}: {ends}"
        for coupling in mechanism.couplings:
            yield f"  coupling {coupling.name}: {equation(coupling)}"
        if self.model is not None and self.model.nq:
            yield f"  q: {', '.join(_positions(self.model))}"
        if self.mobility is not None:
            yield from self.mobility.lines()


def inspect_file(
    path: str | Path,
    loops: str | Path | None = None,
    *,
    strict: bool = False,
    arguments: Mapping[str, object] | None = None,
) -> Inspection:
    """Inspect a description file, refused or not.

    A file is refused as well if its loops cannot be closed.

    Args:
        path: The file.
        loops: A YAML file with loop joints.
        strict: Whether warnings are reason enough to refuse.
        arguments: Values of the arguments of a xacro file.
    """
    try:
        description = load_description(path, loops=loops, strict=strict, arguments=arguments)
    except DescriptionError as error:
        found = [
            [p.sentence() for p in error.problems if p.severity == kind]
            for kind in ("error", "warning")
        ]
        return Inspection(str(path), None, tuple(found[0]), tuple(found[1]))
    return inspect_description(description, str(path), strict=strict)


def inspect_description(
    description: Description, path: str = "", *, strict: bool = False
) -> Inspection:
    """Inspect a description, for instance a world of several.

    Args:
        description: The description.
        path: Name in messages; its source by default.
        strict: Whether warnings are reason enough to refuse.
    """
    from robot_dynamics.contact import joint_limits
    from robot_dynamics.dynamics.assembly import AssemblyError
    from robot_dynamics.robot import Robot

    path = path or description.source
    warnings = [problem.sentence() for problem in description.diagnosis.warnings]
    model, report, errors = None, None, []
    try:
        robot = Robot.from_mechanism(description.mechanism)
        model = robot.model
        report = _mobility(robot, path, warnings)
        try:
            joint_limits(robot)
        except ArgumentError as error:
            warnings.append(f"{path}: {error}")
    except AssemblyError as error:
        errors = _open_loops(error, path, description, robot)
    except RobotDynamicsError as error:
        errors = [f"{path}: {error}"]
    if strict and len(warnings) > len(description.diagnosis.warnings):
        errors += warnings[len(description.diagnosis.warnings) :]
    return Inspection(path, description, tuple(errors), tuple(warnings), model, report)


def _mobility(robot: Robot, place: str, warnings: list[str]) -> Mobility:
    """Return the mobility of a robot; warnings are added to a list.

    Raises:
        AssemblyError: If the loops stay open by more than rounded numbers would explain.
    """
    from robot_dynamics.dynamics.assembly import generic
    from robot_dynamics.dynamics.scaling import CLOSED

    closed = robot.assemble(generic(robot.model), seconds=_PATIENCE)
    report = robot.mobility(closed.q)
    if closed.gap > CLOSED * closed.length:
        warnings.append(
            f"{place}: the loops close only to {distance(closed.gap)}, as with rounded numbers."
        )
    if report.constraints and report.mobility == 0:
        warnings.append(f"{place}: the loops leave no motion.")
    return report


def _open_loops(
    error: AssemblyError, path: str, description: Description, robot: Robot
) -> list[str]:
    """Return a sentence for each loop that cannot be closed, with the place where it is stated."""
    from robot_dynamics.dynamics.scaling import model_length

    length = model_length(robot.model)
    sizes = {name: gap.position + length * gap.rotation for name, gap in error.gaps.items()}
    order = sorted(sizes, key=lambda name: -sizes[name])
    sentences: list[str] = []
    for name in order:
        if sizes[name] < _MATTERS * max(sizes[order[0]], error.gap):
            break
        sentences.append(
            f"{description.places.loop(name) or path}: loop {name!r} cannot be closed, it stays "
            f"open by {error.gaps[name]} at best; expected ends that reach each other, within "
            "joint limits."
        )
    left = len(sentences) - _MOST_LOOPS
    if left > 0:
        sentences[_MOST_LOOPS:] = [f"{path}: {counted(left, 'more loop')} cannot be closed."]
    return sentences or [f"{path}: {error}"]


def equation(coupling: CouplingElement) -> str:
    """Return the relation of a gear as an equation: "finger_2 + 2 finger_1 = 0.1"."""
    text = ""
    for joint, factor in coupling.terms:
        if factor:
            sign = (" - " if text else "-") if factor < 0.0 else (" + " if text else "")
            size = "" if abs(factor) == 1.0 else f"{abs(factor):g} "
            text += f"{sign}{size}{joint}"
    return f"{text or '0'} = {coupling.offset + 0.0:g}"


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
    listed: set[str] = set()
    while pending:
        link, carrier, depth = pending.pop()
        if link in listed and carrier:  # joints that close loops are not part of the tree
            yield f"{'  ' * (depth + 1)}{link}  <- {_joint_text(carrier)}"
            continue
        listed.add(link)
        mass = f"{masses[link]:.4g} kg" if masses[link] else "no mass"
        carried = f"  <- {_joint_text(carrier)}" if carrier else ""
        yield f"{'  ' * (depth + 1)}{link}  [{mass}]{carried}"
        pending += [(joint.child, joint, depth + 1) for joint in reversed(children[link])]


def _tools(mechanism: Mechanism) -> dict[str, Array]:
    """Return the links that carry nothing, with their poses (4, 4) in the root's frame.

    Every joint is at its zero.
    """
    joints = mechanism.joints
    carried, carriers = {joint.child for joint in joints}, {joint.parent for joint in joints}
    names = [link.name for link in mechanism.links]
    poses = link_poses_at_zero(names, joints)
    return {name: poses[name] for name in names if name in poses and name in carried - carriers}


def _tool_lines(mechanism: Mechanism) -> Iterator[str]:
    """Yield the positions of links at the ends of the tree, and the directions of their axes."""
    tools = _tools(mechanism)
    if tools:
        yield f"  ends of the tree in {mechanism.root}, every joint at zero:"
    for name, at in list(tools.items())[:_MOST_TOOLS]:
        place = " ".join(f"{value + 0.0:.4g}" for value in np.round(at[:3, 3], 6))
        axes = ", ".join(f"{axis} {_direction(at[:3, i])}" for i, axis in enumerate("xyz"))
        yield f"    {name}: at {place} m; {axes}{_outward(mechanism, name)}"
    left = len(tools) - _MOST_TOOLS
    if left > 0:
        yield f"    and {left} more; --json lists all of them"


def _outward(mechanism: Mechanism, end: str) -> str:
    """Return in words which axis of an end points away from its last moving joint, if one does."""
    path = path_to_root(end, {joint.child: joint for joint in mechanism.joints})
    last = next((i for i, joint in enumerate(path) if joint.type != "fixed"), 0)
    relative = np.eye(4)  # pose of the end in the frame of that joint
    for joint in path[:last]:
        relative = joint.placement @ relative
    away = relative[:3, :3].T @ relative[:3, 3]
    axis = int(np.argmax(np.abs(away)))
    if not abs(away[axis]) > _OUTWARD * np.linalg.norm(away):
        return ""
    sign = "-" if away[axis] < 0.0 else "+"
    return f"; its {sign}{'xyz'[axis]} points away from {path[last].name}"


def _direction(vector: Array) -> str:
    """Return a direction in words: "along -y", or its components."""
    largest = int(np.argmax(np.abs(vector)))
    if abs(vector[largest]) > 1.0 - _ALONG:
        return f"along {'-' if vector[largest] < 0.0 else '+'}{'xyz'[largest]}"
    return f"along ({', '.join(f'{value + 0.0:.3g}' for value in np.round(vector, 6))})"


def _joint_text(joint: JointElement) -> str:
    text = f"{joint.name} ({joint.type}){_ranges(joint)}"
    limits, slides = joint.limits_of_each[0], joint.type == "prismatic"
    unit, force = ("m", "N") if slides else ("rad", "N m")
    if joint.type in ("revolute", "continuous", "prismatic"):
        most = [(limits.effort, force), (limits.velocity, f"{unit}/s")]
        stated = [f"{value:.3g} {of}" for value, of in most if math.isfinite(value)]
        text += f", at most {' and '.join(stated)}" if stated else ", no limits of the drive"
    return text


def _ranges(joint: JointElement | LoopElement) -> str:
    """Return words for the position limits of a joint, with directions if it has several."""
    kind = joint_type(joint.type, f"joint {joint.name!r}", **joint.parameters)
    limits = joint.limits if isinstance(joint.limits, tuple) else (joint.limits,) * kind.nv
    found = [
        f" {direction} {one.lower:.3g} to {one.upper:.3g} {'rad' if turns else 'm'}"
        for direction, turns, one in zip(kind.freedoms, kind.turning, limits, strict=True)
        if math.isfinite(one.lower) or math.isfinite(one.upper)
    ]
    return ",".join(found).replace("  ", " ")


def _joint_as_json(joint: JointElement) -> dict[str, Any]:
    return {
        "name": joint.name,
        "type": joint.type,
        "parent": joint.parent,
        "child": joint.child,
        **_limits_as_json(joint.limits),
    }


def _limits_as_json(limits: Limits | tuple[Limits, ...]) -> dict[str, Any]:
    """Return each limit, null if infinite; a list if the freedoms have limits of their own."""
    found: dict[str, Any] = {}
    for name in ("lower", "upper", "velocity", "effort"):
        each = limits if isinstance(limits, tuple) else (limits,)
        values = [value if math.isfinite(value := getattr(one, name)) else None for one in each]
        found[name] = values if isinstance(limits, tuple) else values[0]
    return found


def _positions(model: Model) -> Iterator[str]:
    """Yield the joints in the order of q, with the number of positions if it is not one."""
    for body, at in zip(model.bodies, model.q_slices, strict=True):
        count = at.stop - at.start
        yield body.joint.name if count == 1 else f"{body.joint.name} ({count} numbers)"


def _bodies_as_json(model: Model) -> list[dict[str, Any]]:
    names = [body.name for body in model.bodies]
    return [
        {
            "name": body.name,
            "parent": None if body.parent == WORLD else names[body.parent],
            "joint": body.joint.name,
            "freedoms": body.joint.type.nv,
            "mass_kg": float(body.inertia.mass),
        }
        for body in model.bodies
    ]


def inspect(options: argparse.Namespace) -> bool:
    """Inspect the files of a command line, and return whether all were accepted.

    Raises:
        OutputError: If options contradict each other, or the graph cannot be written.
    """
    files, arguments = _split(options.files)
    if len(files) > 1 and (options.loops or options.graph):
        raise OutputError("--loops and --graph are for one file, expected a single file.")
    if options.graph:
        require_parent(options.graph)
        from robot_dynamics.app.pictures.figures import require_figure
        from robot_dynamics.app.pictures.graph import DOT, write_graph

        if options.graph.suffix.lower() not in DOT:
            require_figure(options.graph)

    found = [
        inspect_file(
            file,
            options.loops,
            strict=options.strict,
            arguments=arguments if file.lower().endswith(".xacro") else None,
        )
        for file in files
    ]
    if options.json:
        reports = [inspection.as_json() for inspection in found]
        print(json.dumps(reports if len(reports) > 1 else reports[0], indent=2))
    else:
        for inspection in found:
            _show(inspection)
    described = found[0].description
    if options.graph and described is not None:
        write_graph(described.mechanism, options.graph)
    return all(inspection.ok for inspection in found)


def _split(given: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the files and the xacro arguments among the arguments of a command."""
    files = [word for word in given if ASSIGNED not in word]
    assigned = [word.partition(ASSIGNED) for word in given if ASSIGNED in word]
    for name, _, value in assigned:
        if not name:
            raise OutputError(f"{ASSIGNED}{value}: expected a name before {ASSIGNED}.")
    if not files:
        raise OutputError(
            "there is no file to inspect, expected one in addition to the xacro arguments."
        )
    if assigned and not any(file.lower().endswith(".xacro") for file in files):
        raise OutputError(
            f"{''.join(assigned[0])}: only .xacro files take arguments, expected one among the "
            "files."
        )
    return files, {name: value for name, _, value in assigned}


def _show(inspection: Inspection) -> None:
    for line in inspection.lines():
        print(line)
    sys.stdout.flush()
    for kind, sentences in (("error", inspection.errors), ("warning", inspection.warnings)):
        for sentence in _shortened(kind, sentences):
            print(f"{kind}: {sentence}", file=sys.stderr)


def _shortened(kind: str, sentences: Sequence[str]) -> Iterator[str]:
    """Yield the first sentences, and the number of the others."""
    yield from sentences[:_MOST]
    left = len(sentences) - _MOST
    if left > 0:
        yield f"... and {left} more {kind}s; --json lists all of them."
