# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The cell of a scenario whose object has two parts and a joint between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control.reference import Reference, plan_reference
from robot_dynamics.control.settings import (
    LAW_FACTS,
    ControlSettings,
    ReferenceSettings,
    SegmentSettings,
)
from robot_dynamics.description.load import load_description
from robot_dynamics.description.orientations import rotation_of_rpy
from robot_dynamics.description.world import Part, place
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.jointed_object import JointedObjectSystem, jointed_object_system
from robot_dynamics.manipulation.settings import CellSettings, ObjectJointSettings, ObjectSettings
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model import (
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    pose,
)
from robot_dynamics.model.elements import axis_frame
from robot_dynamics.model.joints import joint_type

NAME = "object_joint"


def tree_joint(settings: ObjectJointSettings, links: tuple[str, str]) -> JointElement:
    """Return the joint between the parts, as a joint from the first to the second."""
    at = pose(settings.xyz, rotation_of_rpy(settings.rpy))
    return JointElement(NAME, settings.type, *links, at, settings.axis)


def loop_joint(settings: ObjectJointSettings, links: tuple[str, str]) -> LoopElement:
    """Return the joint between the parts, as a joint that closes a loop between them.

    Its frame has the joint's axis along z, and where the parts coincide is its zero.
    """
    joint = tree_joint(settings, links)
    along = axis_frame(joint, joint_type(joint.type))
    return LoopElement(NAME, joint.type, *links, joint.placement @ along, along)


def jointed_system(cell: CellSettings, grasped: GraspSystem) -> JointedObjectSystem:
    """Return the arms and parts of a cell as Unseren's model has them: the object's joint alone.

    Args:
        cell: Robots, arms and object.
        grasped: The same as a grasp system, whose inertias of the parts are taken.

    Raises:
        RobotDynamicsError: If the object has no joint, or an arm is none of the report's.
    """
    grasped.require_plain_arms("the control of jointed objects")
    joint = cell.object.joint
    if joint is None or grasped.object_loop_joint is None:
        raise RobotDynamicsError(
            "control.law is 'jointed', but the object has no joint; expected cell.object.joint."
        )
    arms = place(placed_robots(cell)).mechanism
    parts = [_object_part(urdf) for urdf in (cell.object.urdf, joint.urdf)]
    links = (parts[0].name, parts[1].name)
    held = Mechanism("object", tuple(parts), (tree_joint(joint, links),))
    grasps = [pose(arm.grasp.xyz, rotation_of_rpy(arm.grasp.rpy)) for arm in cell.arms]
    tools = [arm.tool for arm in cell.arms]
    system = jointed_object_system(
        arms, held, (tools[0], tools[1]), (grasps[0], grasps[1]), cell.gravity
    )
    bodies = grasped.model.bodies
    return system.with_part_inertias([bodies[body].inertia for body in grasped.object_bodies])


def first_part(
    settings: ReferenceSettings, joint: ObjectJointSettings, pose: ArrayLike
) -> Reference:
    """Return what the first part does, with the force in the joint, until the fold is over too.

    Args:
        settings: Motion, fold and force.
        joint: The joint.
        pose: Of the first part at the start, x y z qx qy qz qw (7,).

    Raises:
        ArgumentError: If the settings do not fit together.
    """
    axes = len(joint_type(joint.type).rows)
    path, fold = (
        sum(one.duration_s for one in part) for part in (settings.segments, settings.fold)
    )
    rest = (SegmentSettings(fold - path),) if fold > path else ()
    longer = replace(settings, segments=(*settings.segments, *rest))
    return plan_reference(longer, pose, squeeze=np.zeros(axes))


def require_matching_law(
    held: ObjectSettings, control: ControlSettings, reference: ReferenceSettings
) -> None:
    """Check that a law for jointed objects has one, and no other law has.

    Raises:
        ArgumentError: If not.
    """
    jointed = held.joint is not None
    if jointed != control.law_facts.jointed:
        has = "a joint" if jointed else "no joint"
        expected = " or ".join(
            repr(name)
            for name, law in LAW_FACTS.items()
            if law.jointed == jointed and law.holds_object
        )
        raise ArgumentError(
            f"control.law is {control.law!r}, but cell.object has {has}; expected {expected}."
        )
    if reference.fold and not jointed:
        raise ArgumentError(
            "reference.fold moves a second part, but cell.object has no joint; expected none."
        )


def placed_robots(cell: CellSettings) -> list[Part]:
    """Return the robots of a cell, each where it stands."""
    return [
        Part(
            load_description(robot.urdf, locked=robot.locked),
            prefix=robot.prefix,
            xyz=robot.xyz,
            rpy=robot.rpy,
        )
        for robot in cell.robots
    ]


def joint_order(system: JointedObjectSystem) -> np.ndarray:
    """Return where the joints of arm after arm stand in the system's vectors."""
    return np.concatenate([part.v_index for part in system.parts])


def _object_part(urdf: str) -> LinkElement:
    links: Iterable[LinkElement] = load_description(urdf).mechanism.links
    only, *others = links
    if others:
        raise RobotDynamicsError(
            f"{urdf}: link {others[0].name!r} is another one beside {only.name!r}; expected one "
            "link: a part of an object is a single body."
        )
    return only
