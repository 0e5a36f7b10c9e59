# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""System of two arms that hold the two parts of a jointed object (section 2 of the report)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms, link_pose
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import (
    WORLD,
    JointElement,
    LinkElement,
    LoopElement,
    LoopJoint,
    Mechanism,
    Model,
    build,
)
from robot_dynamics.model.elements import inverse_pose
from robot_dynamics.spatial import Inertia, Scalar, Transform

IntArray = NDArray[np.intp]

PART_PARAMETERS = 34  # numbers of a part that compiled programs take: inertia and two placements


@dataclass(frozen=True)
class ObjectPart:
    """One of the object's two bodies, and the arm that holds it.

    Attributes:
        name: Its link.
        body: Index of its body: the last body of the arm.
        placement: The transform from the body's frame to the link's.
        inertia: Its own inertia, in the link's frame.
        tool: The arm's link that holds it.
        tool_placement: The transform from the body's frame to the tool's, where the grasp wrench
            acts.
        v_index: Indices of the arm's joints in the velocities (N_i,), base to tip.
    """

    name: str
    body: int
    placement: Transform
    inertia: Inertia
    tool: str
    tool_placement: Transform
    v_index: IntArray

    def parameters(self) -> list[Scalar]:
        """Return inertia and placements (`PART_PARAMETERS`,), as `with_parameters` takes them."""
        return [
            *self.inertia.components(),
            *self.placement.components(),
            *self.tool_placement.components(),
        ]

    def with_parameters(self, values: Sequence[Scalar]) -> ObjectPart:
        """Return the part with another inertia and other placements (`PART_PARAMETERS`,)."""
        return replace(
            self,
            inertia=Inertia.of(values[:10]),
            placement=Transform.of(values[10:22]),
            tool_placement=Transform.of(values[22:34]),
        )


@dataclass(frozen=True)
class JointedObjectSystem:
    """Two arms, each with one part of the object, and the joint between the parts.

    Attributes:
        model: The arms, each with its part rigidly on its tool, and the object's joint as a loop
            joint from the first part to the second. Its constraint forces are those *on the
            second part by the first*, the report's f.
        parts: The parts held by the first and the second arm.
    """

    model: Model
    parts: tuple[ObjectPart, ObjectPart]

    @property
    def joint(self) -> LoopJoint:
        """The object's joint."""
        return self.model.loops[0]

    @property
    def constraints(self) -> int:
        """Number of constraints of the object's joint, c: three if it is spherical."""
        return len(self.joint.type.rows)

    @property
    def freedoms(self) -> int:
        """Degrees of freedom of the closed chain: n - c (19)."""
        return self.model.nv - self.constraints

    @cached_property
    def arms(self) -> Model:
        """Model of the arms with massless parts."""
        without = {}
        for part in self.parts:
            name = self.model.bodies[part.body].name
            own = part.placement.inverse_times(part.inertia)
            whole = self.model.bodies[part.body].inertia
            values = zip(whole.components(), own.components(), strict=True)
            without[name] = Inertia.of([a - b for a, b in values])
        return self.model.replace(inertia=without)

    def part_poses(self, q: Array) -> Array:
        """Return the poses (2, 4, 4) of the parts' links in the world at positions `q` (n,)."""
        X0 = body_transforms(self.arms, joint_transforms(self.arms, q.tolist()))
        return np.array([link_pose(self.model.link(part.name), X0) for part in self.parts])

    def with_part_inertias(self, inertias: Sequence[Inertia]) -> JointedObjectSystem:
        """Return the system with other inertias of the parts, each in its link's frame."""
        heavier = {}
        for part, inertia in zip(self.parts, inertias, strict=True):
            arm = self.arms.bodies[part.body]
            heavier[arm.name] = arm.inertia + part.placement.inverse_times(inertia)
        first, second = (
            replace(part, inertia=inertia)
            for part, inertia in zip(self.parts, inertias, strict=True)
        )
        return JointedObjectSystem(self.model.replace(inertia=heavier), (first, second))


def jointed_object_system(
    arms: Mechanism,
    held: Mechanism,
    tools: tuple[str, str],
    grasps: tuple[Array, Array],
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
) -> JointedObjectSystem:
    """Return the system of two arms that hold an object of two links and one joint.

    Args:
        arms: Both arms on one base, nothing else.
        held: The object: two links and the joint between them, of any type that can close a loop.
        tools: The links that hold the object's first link (the joint's parent) and its second.
        grasps: Pose (4, 4) of each tool link in the frame of the link that it holds.
        gravity: Acceleration of gravity [m/s^2].

    Raises:
        RobotDynamicsError: If the object is not two links and a joint, if a part has no mass, or
            if a joint belongs to no arm, or to both.
    """
    if len(held.joints) != 1 or len(held.links) != 2 or held.loops or held.couplings:
        raise RobotDynamicsError(
            f"object {held.name!r} has {len(held.links)} links, {len(held.joints)} joints, "
            f"{len(held.loops)} loops and {len(held.couplings)} couplings; expected two links and "
            "the joint between them."
        )
    joint = held.joints[0]
    names = (joint.parent, joint.child)
    elements = {link.name: link for link in held.links}
    for name in names:
        _require_mass(elements[name])
    carriers = [
        JointElement(f"{tool}_holds_{name}", "fixed", tool, name, inverse_pose(grasp))
        for tool, name, grasp in zip(tools, names, grasps, strict=True)
    ]
    if arms.loops or arms.couplings:
        raise RobotDynamicsError(
            f"{arms.name}: the arms have {len(arms.loops)} loops and {len(arms.couplings)} "
            "couplings; expected serial chains."
        )
    parts = (*arms.joints, *carriers)
    links = (*arms.links, *held.links)
    name = f"{arms.name}_with_{held.name}"
    if joint.type == "fixed":  # as a joint it would make one body of both arms' last ones
        weld = LoopElement(joint.name, "fixed", *names, joint.placement)
        model = build(Mechanism(name, links, parts, (weld,)), gravity=gravity, root=arms.root)
    else:
        tree = [part.name for part in parts]
        whole = Mechanism(name, links, (*parts, joint))
        model = build(whole, gravity=gravity, spanning_tree=tree, root=arms.root)
    first, second = (
        _object_part(model, end, tool) for end, tool in zip(names, tools, strict=True)
    )
    # Variable parameters: another object or grasp needs no new compilation.
    bodies = [model.bodies[part.body].name for part in (first, second)]
    model = replace(model, variable=frozenset((joint.name, *bodies)))
    for name, at in zip(model.joint_names, model.v_slices, strict=True):
        owners = sum(at.start in part.v_index for part in (first, second))
        if owners != 1:
            whose = "no arm" if owners == 0 else "both arms"
            raise RobotDynamicsError(
                f"{model.name}: joint {name!r} belongs to {whose}; expected each joint in one "
                "arm: lock it."
            )
        if at.stop != at.start + 1:
            raise RobotDynamicsError(
                f"{model.name}: joint {name!r} has {at.stop - at.start} degrees of freedom; "
                "expected one."
            )
    return JointedObjectSystem(model, (first, second))


def _object_part(model: Model, name: str, tool: str) -> ObjectPart:
    link, holder = model.link(name), model.link(tool)
    if link.body == WORLD:
        raise RobotDynamicsError(
            f"link {name!r} is held by {tool!r}, which is fixed to the world; expected the tool "
            "of an arm."
        )
    at = [model.v_slices[body].start for body in model.support(link.body)]
    return ObjectPart(
        name,
        link.body,
        link.placement,
        link.inertia,
        tool,
        holder.placement,
        np.array(at, dtype=np.intp),
    )


def _require_mass(link: LinkElement) -> None:
    if not link.mass > 0.0:
        raise RobotDynamicsError(
            f"link {link.name!r} has mass {link.mass:g} kg; expected a positive mass."
        )
