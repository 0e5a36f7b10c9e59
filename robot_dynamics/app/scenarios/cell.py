# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Systems of a scenario's cell: arms and object, contacts, surfaces, jointed objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array
from robot_dynamics.control.hybrid.surface_check import Grip, SurfaceRow
from robot_dynamics.description.description import Description
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.load import load_description, load_object
from robot_dynamics.description.orientations import rotation_of_rpy
from robot_dynamics.description.world import Part, place
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.contact_settings import (
    CONTACT_KINDS,
    ContactSettings,
    PartSettings,
    SurfaceSettings,
)
from robot_dynamics.manipulation.grasp_map import GraspMap, force_transform, middle_frame
from robot_dynamics.manipulation.grasping import ArmGrasp, grasp_system, hybrid_system
from robot_dynamics.manipulation.hybrid import (
    Contact,
    Environment,
    ForceDistribution,
    FrictionCone,
    HybridSystem,
)
from robot_dynamics.manipulation.hybrid.environment import (
    PUSHED,
    PoseFunction,
    coordinate_function,
    surface_functions,
)
from robot_dynamics.manipulation.hybrid.touched_surfaces import Guided, Sliding
from robot_dynamics.manipulation.jointed_object import JointedObjectSystem, jointed_object_system
from robot_dynamics.manipulation.settings import (
    CellSettings,
    ObjectJointSettings,
    ObjectSettings,
    PoseSettings,
    RobotSettings,
)
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, build
from robot_dynamics.model.elements import axis_frame, pose
from robot_dynamics.model.joints import joint_type
from robot_dynamics.model.moved_inertia import require_inertia
from robot_dynamics.spatial import Inertia
from robot_dynamics.spatial.vector3 import Symmetric3, Vector3, cross_products

_OBJECT_JOINT = "object_joint"


#: Settings with a pose: in the world, in the object or relative to the believed pose.
Placed = (
    PoseSettings
    | RobotSettings
    | ObjectSettings
    | ObjectJointSettings
    | SurfaceSettings
    | PartSettings
)


def pose_matrix(settings: Placed) -> Array:
    """Return the pose of some settings as a homogeneous matrix (4, 4)."""
    return pose(settings.xyz, rotation_of_rpy(settings.rpy))


def build_system(
    scenario: Scenario, link_mass_scale: float = 1.0, *, any_posture: bool = False
) -> GraspSystem:
    """Return the arms and the object of a scenario, as the controller's model has them.

    Args:
        scenario: The scenario.
        link_mass_scale: Mass and inertia of the arms' links over the described ones.
        any_posture: Whether postures may exceed joint limits.

    Raises:
        DescriptionError: If a description is refused.
        RobotDynamicsError: If they do not fit together; the message names the scenario.
    """
    try:
        return _grasp_system(scenario.cell, link_mass_scale, any_posture=any_posture)
    except DescriptionError:
        raise  # has its own places
    except RobotDynamicsError as error:
        where = scenario.source.rpartition(":")[0] or scenario.name
        raise RobotDynamicsError(f"{where}: {error}") from error


def _grasp_system(cell: CellSettings, link_mass_scale: float, *, any_posture: bool) -> GraspSystem:
    second = cell.object.joint
    held = [_warned(load_object(one.urdf)) for one in (cell.object, second) if one is not None]
    held_links = [one.mechanism.root for one in held]
    # At the origin: a floating part's positions are relative to its placement.
    floating = [Part(one, carrier="floating") for one in held]
    world = place([*placed_robots(cell), *floating])
    joint = None if second is None else loop_joint(second, (held_links[0], held_links[1]))
    arms = [
        ArmGrasp(
            arm.name,
            arm.tool,
            pose_matrix(arm.grasp),
            arm.posture,
            arm.load_share,
            arm.drives,
            arm.passive_joints,
            contact_of(arm.contact),
            arm.sensor_tool.mass,
            arm.sensor_tool.center,
            arm.sensor_frame,
        )
        for arm in cell.arms
    ]
    mechanism = world.mechanism
    require_inertia(build(mechanism))
    links = tuple(
        one if one.name in held_links else _scaled(one, link_mass_scale) for one in mechanism.links
    )
    system = grasp_system(
        replace(mechanism, links=links),
        held_links[0],
        arms,
        cell.gravity,
        joint,
        any_posture=any_posture,
    )
    if cell.object.mass is not None:
        system = system.with_object(mass=cell.object.mass)
    return system


def locked_joints(scenario: Scenario) -> set[str]:
    """Return the names of the robots' joints that the scenario locks."""
    return {robot.prefix + name for robot in scenario.cell.robots for name in robot.locked}


def true_system(scenario: Scenario, believed: GraspSystem | None = None) -> GraspSystem:
    """Return the arms and the object as the plant simulates them.

    They have the structure of the controller's system, and therefore share its compiled code;
    payload and grasps differ. Other link masses make another model.

    Args:
        scenario: The scenario.
        believed: `build_system(scenario)`, if the caller has it already.
    """
    plant = scenario.plant
    if believed is None or plant.link_mass_scale != 1.0:
        system = build_system(scenario, plant.link_mass_scale)
    else:
        system = believed
    if plant.object_mass_scale != 1.0:
        system = system.with_object(mass=system.object_mass * plant.object_mass_scale)
    if any(plant.object_center_error) or plant.object_inertia_scale != 1.0:
        own = system.model.bodies[system.object_body].inertia
        center = own.h * (1.0 / own.mass)
        about_center = own.I + cross_products(center, own.h, Vector3.zero())
        scaled = np.array(about_center.rows()) * plant.object_inertia_scale
        true = Inertia.from_center_of_mass(
            own.mass,
            center + Vector3.of(plant.object_center_error),
            Symmetric3.of(scaled.tolist()),
        )
        system = system.with_object(inertia=true)
    if any(plant.gravity_tilt):
        tilt = rotation_of_rpy((*plant.gravity_tilt, 0.0))
        gravity = tilt @ np.array(system.model.gravity)
        system = replace(system, model=system.model.replace(gravity=gravity.tolist()))
    if plant.grasp_error:
        errors = {name: pose_matrix(error) for name, error in plant.grasp_error.items()}
        system = system.with_grasp_error(errors)
    return system


def _scaled(link: LinkElement, scale: float) -> LinkElement:
    return replace(link, mass=scale * link.mass, inertia=scale * link.inertia)


def hybrid_system_of(cell: CellSettings, system: GraspSystem) -> HybridSystem:
    """Return arms, object, contacts and surfaces as one hybrid system.

    Args:
        cell: The work cell.
        system: Its arms and object.
    """
    center = np.asarray(hybrid_system(system).held.center, dtype=float)
    return hybrid_system(system, environment=environment_of(cell, center))


def has_contacts(cell: CellSettings) -> bool:
    """Return whether the object touches surfaces, or an arm holds it otherwise than rigidly."""
    return bool(cell.surfaces) or any(arm.contact.kind != "rigid" for arm in cell.arms)


def surface_rows(cell: CellSettings) -> Mapping[str, slice]:
    """Return the slice of each surface in the vector of all surface forces (C,), by name."""
    rows, start = {}, 0
    for surface in cell.surfaces:
        rows[surface.name] = slice(start, start + surface.rows)
        start += surface.rows
    return rows


def environment_of(cell: CellSettings, center: Array) -> Environment:
    """Return all surfaces of a cell, in the order of `surface_rows`, and coordinates along them.

    Args:
        cell: The work cell.
        center: The object's centre of mass, in the object (3,) [m].
    """
    functions: list[PoseFunction] = []
    touch_rows: list[int] = []
    sliding: list[Sliding | Guided | None] = []
    for surface in cell.surfaces:
        frame, part = pose_matrix(surface), pose_matrix(surface.part)
        first = len(functions) if surface.kind in PUSHED else -1
        functions += surface_functions(surface, frame, part, center)
        touch_rows += [first] * surface.rows
        sliding += [_sliding(surface), *[None] * (surface.rows - 1)]
    start = pose_matrix(cell.object)[:3, :3]
    return Environment(
        tuple(functions),
        tuple(coordinate_function(one, start, center) for one in cell.coordinates),
        tuple(touch_rows),
        tuple(sliding),
        own_coordinates=bool(cell.coordinates),
    )


def _sliding(surface: SurfaceSettings) -> Sliding | Guided | None:
    """Return the friction of a surface that is pushed on without sticking to it, or guides."""
    if surface.resists:
        return Guided(None if surface.kind == "hinge" else surface.part.xyz)
    if surface.kind not in PUSHED or surface.sticks or surface.friction == 0.0:
        return None
    return Sliding(surface.friction, surface.part.xyz)


class SurfaceFacts(NamedTuple):
    """Facts about surfaces for checks and monitors.

    Attributes:
        rows: Names and units of the functions of all surfaces.
        grips: Grips of the surfaces to which the object sticks, by name.
    """

    rows: tuple[SurfaceRow, ...]
    grips: Mapping[str, Grip]


def surface_facts(cell: CellSettings) -> SurfaceFacts:
    """Return the facts about the surfaces of a cell, for checks and monitors."""
    rows: list[SurfaceRow] = []
    grips = {}
    for surface in cell.surfaces:
        first = len(rows)
        if surface.sticks:
            grips[surface.name] = Grip(first, (first + 1, first + 2), surface.friction)
        components = _components(surface, pose_matrix(cell.object))
        for i in range(surface.rows):
            component, sign = components[i]
            pushed = surface.kind in PUSHED and i == 0
            unit, force = ("m", "N") if component >= 3 else ("rad", "N m")
            rows.append(SurfaceRow(surface.name, pushed, unit, force, component, sign))
    return SurfaceFacts(tuple(rows), grips)


def _components(surface: SurfaceSettings, held: Array) -> tuple[tuple[int, float], ...]:
    """Return component and sign of each of a surface's forces; see `SurfaceRow`.

    Args:
        surface: The surface.
        held: The object's pose at the start (4, 4): a hinge's part may point either way.
    """
    if surface.sticks:
        return (5, 1.0), (3, 1.0), (4, 1.0)
    if surface.kind == "plane" and surface.part.kind == "face":  # its z axis points into the plane
        return (5, 1.0), (1, -1.0), (0, 1.0)
    if surface.kind == "hinge":
        along = (
            pose_matrix(surface)[:3, :3].T @ held[:3, :3] @ pose_matrix(surface.part)[:3, :3]
        )[2, 2]
        sign = 1.0 if along > 0.0 else -1.0
        return *_COMPONENTS["hinge"], (1, sign), (0, -sign)
    return _COMPONENTS[surface.kind]


# Of the functions of each kind of surface, in their order; a peg's axis points into its hole.
# The axis about which an edge turns depends on its direction.
_COMPONENTS = {
    "plane": ((5, 1.0), (-1, 1.0)),
    "sphere": ((5, 1.0),),
    "cylinder": ((5, 1.0),),
    "line": ((3, 1.0), (4, 1.0)),
    "hole": ((3, 1.0), (4, 1.0), (1, -1.0), (0, 1.0)),
    "hinge": ((3, 1.0), (4, 1.0), (5, 1.0)),
}


def cone_of(settings: ContactSettings) -> FrictionCone:
    """Return the friction cone of a contact that can only push."""
    if settings.kind == "frictionless_point":
        return FrictionCone(0.0)
    torsion = settings.torsional_friction if settings.kind == "soft_finger" else 0.0
    return FrictionCone(settings.friction, torsion)


def wrench_maps(system: HybridSystem, distribution: ForceDistribution) -> GraspMap:
    """Return the grasp maps of contacts of any kind, over whole wrenches in the grasps' frames.

    The internal force has only components that the contacts can exert.
    """
    S = block_diag(*(contact.directions for contact in system.contacts))
    of_wrenches = np.linalg.pinv(S)
    to_center = np.eye(6)
    x, y, z = system.held.center
    to_center[:3, 3:] = -np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    frames = [contact.pose for contact in system.contacts]
    return GraspMap(
        np.hstack([force_transform(frame) for frame in frames]),
        S @ distribution.share @ to_center,
        S @ distribution.internal,
        distribution.recovery @ of_wrenches,
        middle_frame(frames),
    )


def contact_of(settings: ContactSettings) -> Contact:
    """Return the contact of a tool with the object, at the origin of the contact's frame."""
    if settings.kind == "own":
        return Contact.of_directions(np.array(settings.directions).T, np.eye(4))
    limits = cone_of(settings) if settings.unilateral else None
    return Contact.of_kind(CONTACT_KINDS[settings.kind], np.eye(4), limits)


def tree_joint(settings: ObjectJointSettings, links: tuple[str, str]) -> JointElement:
    """Return the joint between the parts, as a joint from the first to the second."""
    at = pose_matrix(settings)
    return JointElement(_OBJECT_JOINT, settings.type, *links, at, settings.axis)


def loop_joint(settings: ObjectJointSettings, links: tuple[str, str]) -> LoopElement:
    """Return the joint between the parts, as a joint that closes a loop between them.

    Its frame has the joint's axis along z; its zero is at coinciding parts.
    """
    joint = tree_joint(settings, links)
    along = axis_frame(joint, joint_type(joint.type))
    return LoopElement(_OBJECT_JOINT, joint.type, *links, joint.placement @ along, along)


def jointed_system(cell: CellSettings, grasped: GraspSystem) -> JointedObjectSystem:
    """Return the arms and parts of a cell as Unseren's model has them: the object's joint alone.

    Args:
        cell: Robots, arms and object.
        grasped: The same as a grasp system, from which the inertias of the parts are taken.

    Raises:
        RobotDynamicsError: If the object has no joint, or an arm is not of the report's kind.
    """
    grasped.require_plain_arms("the control of jointed objects")
    joint = cell.object.joint
    if joint is None or grasped.object_loop_joint is None:
        raise RobotDynamicsError(
            "control.law is 'jointed', but the object has no joint; expected cell.object.joint."
        )
    arms = place(placed_robots(cell)).mechanism
    require_inertia(build(arms))
    parts = [_object_part(urdf) for urdf in (cell.object.urdf, joint.urdf)]
    links = (parts[0].name, parts[1].name)
    held = Mechanism("object", tuple(parts), (tree_joint(joint, links),))
    grasps = [pose_matrix(arm.grasp) for arm in cell.arms]
    tools = [arm.tool for arm in cell.arms]
    system = jointed_object_system(
        arms, held, (tools[0], tools[1]), (grasps[0], grasps[1]), cell.gravity
    )
    bodies = grasped.model.bodies
    return system.with_part_inertias([bodies[body].inertia for body in grasped.object_bodies])


def placed_robots(cell: CellSettings) -> list[Part]:
    """Return the robots of a cell at their poses, with locked joints fixed.

    Raises:
        DescriptionError: If the description of a robot is refused.
    """
    return [
        Part(
            _warned(load_description(robot.urdf, locked=robot.locked)),
            prefix=robot.prefix,
            xyz=robot.xyz,
            rpy=robot.rpy,
        )
        for robot in cell.robots
    ]


def _warned(description: Description) -> Description:
    description.diagnosis.issue_warnings(description.source)
    return description


def joint_order(system: JointedObjectSystem) -> np.ndarray:
    """Return indices of the joints, arm after arm, in the system's vectors."""
    return np.concatenate([part.v_index for part in system.parts])


def _object_part(urdf: str) -> LinkElement:
    links: Iterable[LinkElement] = _warned(load_object(urdf)).mechanism.links
    only, *others = links
    if others:
        raise RobotDynamicsError(
            f"{urdf}: link {others[0].name!r} is another one beside {only.name!r}; expected one "
            "link: a part of an object is a single body."
        )
    return only
