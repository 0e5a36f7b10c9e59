# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loops inside a URDF, in the four spellings in use.

    <loop_joint name type><link1 link xyz rpy/><link2 link xyz rpy/></loop_joint>
    <loop_joint name type><parent link/><child link/><parent_origin xyz rpy/><child_origin/>
        <axis xyz frame/></loop_joint>
    <loop name type><predecessor link><origin/></predecessor><successor link><origin/></successor>
        <axis xyz/></loop>                                                         (URDF+)
    <constraint name type><parent link/><parent_origin/><parent_axis xyz/>
        <child link/><child_origin/><child_axis xyz/></constraint>        (proposed for urdfdom)

each with a `<limit>` as in a joint, and gears,

    <coupling name><predecessor link/><successor link/><ratio value/></coupling>           (URDF+)

Poses are poses of the loop joint's frame in the named link. The z axis of that frame is turned to
the joint axis `<axis>`. A child without an orientation has the orientation it has with every joint
of the tree at zero.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.description.frames import (
    link_poses_at_zero,
    path_to_root,
    rigid_piece,
    rotation_with,
    shortest_rotation,
)
from robot_dynamics.description.joint_names import (
    ALIASES,
    joint_has_axis,
    known_type,
    parameter_names,
    stated_parameters,
)
from robot_dynamics.description.urdf_elements import read_pose
from robot_dynamics.description.urdf_joints import read_limits
from robot_dynamics.description.xml_tags import Tag
from robot_dynamics.model.couplings import CouplingElement
from robot_dynamics.model.elements import JointElement, LoopElement, inverse_pose, pose
from robot_dynamics.model.joints import loop_joint_names

LOOP_TAGS = ("loop_joint", "loop", "constraint")
COUPLING_TAG = "coupling"
_ONE_DEGREE = ("revolute", "continuous", "prismatic", "helical")


_PARENT_CHILD = ("parent", "child", "parent_origin", "child_origin", "parent_axis", "child_axis")
_CHILDREN = {
    "loop_joint": ("link1", "link2", "axis", *_PARENT_CHILD),
    "constraint": ("axis", *_PARENT_CHILD),
    "loop": ("predecessor", "successor", "axis"),
}


@dataclass(frozen=True)
class _End:
    """One side of a loop joint as a tag states it.

    Attributes:
        link: Name of the link.
        pose: Pose of the joint's frame in the link (4, 4).
        turned: Whether the orientation is stated.
    """

    link: str
    pose: Array
    turned: bool


def read_loop(
    tag: Tag, links: Collection[str], joints: Mapping[str, JointElement]
) -> LoopElement | None:
    """Return the loop joint of a tag, or None after reporting an error.

    Args:
        tag: One of `LOOP_TAGS` with a name.
        links: Names of the existing links.
        joints: Tree joints, by the names of the links that they carry.
    """
    name = tag.element.get("name", "").strip()
    before = tag.diagnosis.error_count
    kind = tag.text("type")
    kind = ALIASES.get(kind.lower(), kind) if kind else None
    ends = _ends(tag, links)
    if kind is None or ends is None:
        return None
    tag.only_children(*_CHILDREN[tag.name], "limit", unused=("dynamics",))
    tag.check_attributes("name", "type", *parameter_names(kind))
    parameters = stated_parameters(tag, kind)
    valid = loop_joint_names()
    what = "loop joint type"
    if parameters is None or (
        known_type(kind, parameters, valid, tag.diagnosis, tag.place, tag.owner, what) is None
    ):
        return None
    first, second = ends
    if first.link == second.link:
        tag.error(f"both its ends are on link {first.link!r}")
        return None
    if rigid_piece(first.link, joints) == rigid_piece(second.link, joints):
        tag.error(f"links {first.link!r} and {second.link!r} are fixed to each other already")
        return None
    frames = _frames(tag, kind, first, second, links, joints)
    limits = read_limits(tag, kind, parameters)
    if tag.diagnosis.error_count > before:
        return None
    return LoopElement(
        name, kind, first.link, second.link, *frames, parameters=parameters, limits=limits
    )


def read_coupling(
    tag: Tag, links: Collection[str], joints: Mapping[str, JointElement]
) -> CouplingElement | None:
    """Return the gear of a `<coupling>` of URDF+, or None after reporting an error.

    The sum of joint positions from the last common link to the successor is `ratio` times the sum
    to the predecessor.
    """
    tag.only_children("predecessor", "successor", "ratio")
    ends = [_link_of(tag, end, links) for end in ("predecessor", "successor")]
    ratio_tag = tag.child("ratio")
    if ratio_tag is None:
        tag.error("<coupling> has no <ratio>")
    if ratio_tag is None or None in ends:
        return None
    ratio = ratio_tag.number("value")
    paths = [path_to_root(str(end), joints) for end in ends]
    common = {joint.name for joint in paths[0]} & {joint.name for joint in paths[1]}
    terms = []
    # The successor first: its joint is the dependent one.
    for path, factor in ((paths[1], 1.0), (paths[0], -ratio)):
        for joint in path:
            if joint.name in common or joint.type == "fixed":
                continue
            if joint.type not in _ONE_DEGREE:
                tag.error(f"joint {joint.name!r} is {joint.type}, only one degree can be coupled")
                return None
            terms.append((joint.name, factor))
    if len(terms) < 2:
        tag.error(f"no two joints lie between links {ends[0]!r} and {ends[1]!r}")
        return None
    return CouplingElement(tag.element.get("name", "").strip(), tuple(terms))


def _ends(tag: Tag, links: Collection[str]) -> tuple[_End, _End] | None:
    """Return both sides of a loop joint, in any spelling; None after reporting problems."""
    # The documentation of Isaac Sim writes <link1> twice.
    sides = list(tag.children("link1", "link2"))
    if sides or (tag.name == "loop_joint" and not list(tag.children("parent", "child"))):
        if len(sides) != 2:
            tag.error(
                "expected <link1> and <link2>, or <parent> and <child>, found "
                f"{len(sides)} of them"
            )
            return None
        found: list[tuple[Tag, Tag | None]] = [(side, side) for side in sides]
    else:
        names = ("predecessor", "successor") if tag.name == "loop" else ("parent", "child")
        found = []
        for end in names:
            side = tag.child(end)
            if side is None:
                tag.error(f"has no <{end}>")
                return None
            origin = side.child("origin") if tag.name == "loop" else tag.child(f"{end}_origin")
            found.append((side, origin))
    ends = []
    for side, origin in found:
        side.only_children(*(("origin",) if tag.name == "loop" else ()))
        link = side.text("link")
        if link is not None and link not in links:
            side.diagnosis.unknown(side.place, side.owner, "link", link, links)
            link = None
        if origin is None:
            frame, turned = np.eye(4), False
        else:
            frame = read_pose(origin)
            turned = any(origin.element.get(a) is not None for a in ("rpy", "quat_xyzw"))
        ends.append(None if link is None else _End(link, frame, turned))
    first, second = ends
    return None if first is None or second is None else (first, second)


def _frames(
    tag: Tag,
    kind: str,
    first: _End,
    second: _End,
    links: Collection[str],
    joints: Mapping[str, JointElement],
) -> tuple[Array, Array]:
    """Return the joint's frame in both links, turned so that the axis of the joint is z."""
    one, two = first.pose, second.pose
    by_parent = tag.name != "loop" and tag.child("parent") is not None
    if by_parent and tag.name == "loop_joint" and not second.turned:
        # This spelling states one physical point in two links, and no orientations.
        at_zero = link_poses_at_zero(links, joints.values())
        if first.link in at_zero and second.link in at_zero:
            relative = inverse_pose(at_zero[second.link]) @ at_zero[first.link]
            two = pose(two[:3, 3], relative[:3, :3] @ one[:3, :3])
    axes = [_direction(tag, f"{end}_axis") for end in ("parent", "child")]
    axis_tag = tag.child("axis")
    if kind == "universal" and axes[0] is not None and axes[1] is not None:
        return one @ _turn(rotation_with(axes[0], 0)), two @ _turn(rotation_with(axes[1], 1))
    if not joint_has_axis(kind):
        return one, two
    if axes[0] is not None:
        turned = rotation_with(axes[0])
        on_child = turned if axes[1] is None else shortest_rotation(axes[0], axes[1]) @ turned
        return one @ _turn(turned), two @ _turn(on_child)
    if axis_tag is None:
        tag.warning("has no <axis>, it is taken as z of the frames stated")
        return one, two
    axis = _direction(tag, "axis")
    if axis is None:
        return one, two
    frame = axis_tag.element.get("frame", "parent" if by_parent else "joint")
    if frame == "parent":
        axis = one[:3, :3].T @ axis
    elif frame == "child":
        axis = two[:3, :3].T @ axis
    elif frame != "joint":
        axis_tag.error(f"frame is {frame!r}, expected parent, child or joint")
    turned = rotation_with(axis)
    return one @ _turn(turned), two @ _turn(turned)


def _turn(rotation: Array) -> Array:
    return pose(rotation=rotation)


def _direction(tag: Tag, name: str) -> Array | None:
    """Return the direction in a child tag; None if it is missing or zero."""
    found = tag.child(name)
    if found is None:
        return None
    before = tag.diagnosis.count
    vector = np.array(found.numbers("xyz", 3))
    if float(np.linalg.norm(vector)) < 1e-6:
        if tag.diagnosis.count == before:
            found.error("the axis is zero, expected a direction")
        return None
    return vector


def _link_of(tag: Tag, end: str, links: Collection[str]) -> str | None:
    found = tag.child(end)
    if found is None:
        tag.error(f"has no <{end}>")
        return None
    link = found.text("link")
    if link is not None and link not in links:
        found.diagnosis.unknown(found.place, found.owner, "link", link, links)
        return None
    return link
