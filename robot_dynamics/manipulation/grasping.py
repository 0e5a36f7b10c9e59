# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Construction of the closed-loop grasp system from a mechanism and its arms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import (
    ArgumentError,
    RobotDynamicsError,
    UnknownNameError,
    require_length,
)
from robot_dynamics.manipulation.hybrid.contacts import Contact
from robot_dynamics.manipulation.hybrid.environment import Environment
from robot_dynamics.manipulation.hybrid.system import HybridSystem
from robot_dynamics.manipulation.system import Arm, GraspSystem
from robot_dynamics.manipulation.wrist_sensors import SensorFrames
from robot_dynamics.model import (
    WORLD,
    LinkElement,
    LoopElement,
    LoopJoint,
    Mechanism,
    Model,
    build,
)
from robot_dynamics.robot import Robot
from robot_dynamics.spatial import Transform
from robot_dynamics.wording import outside

_ROUNDING = 1e-4  # by which a posture, rounded to few digits, can exceed a limit [rad or m]


@dataclass(frozen=True)
class ArmGrasp:
    """An arm and its grasp, for `grasp_system`; see `settings.ArmSettings`.

    Attributes:
        name: Its name.
        tool: The link that holds the object.
        grasp: Pose of the grasp in the object's link (4, 4).
        posture: Initial guess of its joint positions, or its drives', for the start.
        load_share: Its share of the object's load.
        drives: Names of the joints that move an arm with internal closed chains; empty for other
            arms, where all joints from base to tool have drives.
        passive_joints: Approximate positions of the other joints of its loops at the posture, by
            name; zero by default.
        contact: Contact of its tool with the object; rigid by default.
        sensor_tool_mass: Mass of the tool that its wrist sensor carries [kg].
        sensor_tool_center: Centre of that mass in the tool link's frame [m].
        sensor_frame: The link in whose frame the sensor measures; the tool link if empty.
    """

    name: str
    tool: str
    grasp: Array
    posture: Sequence[float]
    load_share: float
    drives: Sequence[str] = ()
    passive_joints: Mapping[str, float] = field(default_factory=dict)
    contact: Contact = field(default_factory=lambda: Contact.of_kind("rigid", np.eye(4)))
    sensor_tool_mass: float = 0.0
    sensor_tool_center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    sensor_frame: str = ""


def grasp_system(
    mechanism: Mechanism,
    object_link: str,
    arms: Sequence[ArmGrasp],
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    joint: LoopElement | None = None,
    *,
    any_posture: bool = False,
) -> GraspSystem:
    """Return the closed-loop system of arms that hold a link of a mechanism.

    Args:
        mechanism: Arms and the object. The object is on a floating joint; everything else is on
            the base or part of an arm.
        object_link: The object's root link.
        arms: The arms; at least one.
        gravity: Acceleration of gravity [m/s^2].
        joint: Joint from the object's root link to the root link of a second part, which floats
            too and is held by the second arm; None for a rigid object.
        any_posture: Whether postures can exceed joint limits.

    Raises:
        RobotDynamicsError: If a joint belongs to no arm or to two, if a posture has the wrong
            length or exceeds a joint limit, if the object, or a part, is not a single floating
            body, if an arm's loops do not close, or if its drives do not determine its motion.
    """
    names = [arm.name for arm in arms]
    if len(set(names)) != len(names) or not names:
        raise RobotDynamicsError(
            f"the arms are named {names}; expected at least one arm, each with its own name."
        )
    links = [object_link] * len(arms)
    if joint is not None:
        if len(arms) != 2:
            raise RobotDynamicsError(
                f"{len(arms)} arms hold an object of two parts; expected 2, one for each part."
            )
        links = [object_link, joint.successor]
    for link in links:
        carriers = [carrier for carrier in mechanism.joints if carrier.child == link]
        if not any(carrier.type == "floating" for carrier in carriers):
            found = " and ".join(carrier.type for carrier in carriers) or "no"
            raise RobotDynamicsError(
                f"object link {link!r} is carried by {found} joint; expected a floating joint."
            )
    loops = [
        LoopElement(f"{arm.name}_grasp", "fixed", arm.tool, link, np.eye(4), arm.grasp)
        for arm, link in zip(arms, links, strict=True)
    ]
    loops += [] if joint is None else [joint]
    tools = [link.name for link in mechanism.links if link.name not in links]
    for arm in arms:
        if arm.tool not in tools:
            raise UnknownNameError("link", arm.tool, tools, f"tool of arm {arm.name!r}")
    variable = {*links, *(loop.name for loop in loops)}
    # Grasps first: the index of an arm is the index of its grasp loop.
    internal_chains = len(loops) if mechanism.loops else None
    whole = replace(mechanism, loops=(*loops, *mechanism.loops))
    model = build(whole, gravity=gravity, variable=variable)
    if mechanism.couplings:
        gear = mechanism.couplings[0]
        raise RobotDynamicsError(
            f"coupling {gear.name!r} gears joints of an arm: "
            f"{', '.join(name for name, _ in gear.terms)}; expected arms without "
            "couplings: lock these under 'locked' of their robot, without its prefix."
        )
    objects = []
    for link in dict.fromkeys(links):
        body = model.link(link).body
        carrier = model.bodies[body]
        if carrier.parent != WORLD or carrier.placement != Transform.identity():
            raise RobotDynamicsError(
                f"object link {link!r} floats relative to another frame than the world's; "
                "expected a floating joint on the world link, at its origin."
            )
        objects.append(body)
    owner: dict[int, str] = {}
    result = []
    for index, arm in enumerate(arms):
        path = model.support(model.link(arm.tool).body)
        if not path:
            raise RobotDynamicsError(
                f"arm {arm.name!r}: no joint moves its tool {arm.tool!r}; expected a link at the "
                "end of the arm."
            )
        for body in path:
            own = model.bodies[body].joint
            if own.type.nv != 1:
                raise RobotDynamicsError(
                    f"arm {arm.name!r}: joint {own.name!r} is {own.type.name}; expected joints "
                    "with one degree of freedom between base and tool."
                )
            if body in owner:
                raise RobotDynamicsError(
                    f"joint {own.name!r} carries both arm {owner[body]!r} and arm {arm.name!r}; "
                    "expected arms without common joints: tools of different arms, or lock it."
                )
            owner[body] = arm.name
        linkage = linkage_of(model, path, model.loops[len(loops) :])
        for body in linkage:
            if owner.setdefault(body, arm.name) != arm.name:
                raise RobotDynamicsError(
                    f"loops bind joint {model.bodies[body].joint.name!r} to both arm "
                    f"{owner[body]!r} and arm {arm.name!r}; expected each loop within one arm."
                )
        driven = driven_bodies(model, arm.name, arm.drives, path, linkage)
        for own in (model.bodies[body].joint for body in driven):
            if not own.driven:
                raise RobotDynamicsError(
                    f"arm {arm.name!r}: joint {own.name!r} has no drive; expected one: a limit of "
                    "effort that is not zero."
                )
        posture = np.asarray(arm.posture, dtype=float)
        require_length(
            f"posture of arm {arm.name!r}",
            posture.tolist(),
            len(driven),
            "one a joint: " + ", ".join(model.bodies[b].joint.name for b in driven),
        )
        result.append(
            Arm(
                arm.name,
                tuple(model.bodies[b].joint.name for b in driven),
                np.array([model.q_slices[b].start for b in driven], dtype=np.intp),
                np.array([model.v_slices[b].start for b in driven], dtype=np.intp),
                arm.tool,
                index,
                arm.load_share,
                posture,
                tuple(model.bodies[b].joint.name for b in sorted({*path, *linkage} - set(driven))),
                arm.contact,
                arm.sensor_tool_mass,
                arm.sensor_tool_center,
                arm.sensor_frame,
            )
        )
    for i, name in enumerate(model.joint_names):
        if i not in owner and i not in objects:
            raise RobotDynamicsError(
                f"joint {name!r} belongs to no arm; expected joints of arms only: lock it under "
                "'locked' of its robot."
            )
    system = GraspSystem(
        model, tuple(result), objects[0], None if joint is None else len(arms), internal_chains
    )
    SensorFrames(system)
    if not any_posture:
        _require_posture(system)
    if internal_chains is None:
        return system
    near = {name: value for arm in arms for name, value in arm.passive_joints.items()}
    at_posture = dict(zip(system.joint_names, system.posture.tolist(), strict=True))
    return replace(system, assembled=assembled(system.arms_alone, at_posture, near))


def _require_posture(system: GraspSystem) -> None:
    """Check that the postures are within the limits of the joints."""
    limits, posture = system.limits, system.posture
    lower, upper = limits["lower"], limits["upper"]
    for i in np.flatnonzero(~((lower - _ROUNDING <= posture) & (posture <= upper + _ROUNDING))):
        name = system.joint_names[i]
        found = outside(posture[i], lower[i], upper[i], system.joint_units[i], digits=6)
        raise RobotDynamicsError(f"posture of joint {name!r} is {found}.")


def linkage_of(model: Model, path: Sequence[int], loops: Sequence[LoopJoint]) -> tuple[int, ...]:
    """Return the bodies of all loops that share joints with the path to a tool, ascending.

    Args:
        model: The arms.
        path: The bodies from the base to the tool.
        loops: Loop joints within arms.
    """
    clusters = model.tree.clusters([(loop.predecessor, loop.successor) for loop in loops])
    bound = {body for one in clusters if set(one.bodies) & set(path) for body in one.bodies}
    return tuple(sorted(bound))


def driven_bodies(
    model: Model, arm: str, drives: Sequence[str], path: Sequence[int], linkage: Sequence[int]
) -> tuple[int, ...]:
    """Return the bodies whose joints move an arm, in the order of its drives.

    Args:
        model: The arms.
        arm: Name of the arm.
        drives: Names of its drives; empty for an arm without loops, where every joint has one.
        path: The bodies from the base to its tool.
        linkage: The bodies of its loops.

    Raises:
        RobotDynamicsError: If drives are missing, duplicate, or given for an arm without loops.
        UnknownNameError: If a drive is no joint of the arm.
    """
    if not drives and not linkage:
        return tuple(path)
    if not drives:
        raise RobotDynamicsError(
            f"arm {arm!r} has internal closed chains and no `drives`; expected the names of the "
            "joints that determine its motion."
        )
    if not linkage:
        raise RobotDynamicsError(
            f"arm {arm!r} has no internal closed chains and {len(drives)} `drives`; expected "
            "none: all of its joints have drives."
        )
    bodies = {model.bodies[body].joint.name: body for body in (*path, *linkage)}
    for name in drives:
        if name not in bodies:
            raise UnknownNameError("drive", name, bodies, f"arm {arm!r}")
        freedoms = model.bodies[bodies[name]].joint.type.nv
        if freedoms != 1:
            raise RobotDynamicsError(
                f"drive {name!r} has {freedoms} degrees of freedom; expected a joint with one."
            )
    if len(set(drives)) != len(drives):
        twice = next(name for i, name in enumerate(drives) if name in drives[:i])
        raise RobotDynamicsError(
            f"arm {arm!r}: drive {twice!r} is listed {drives.count(twice)} times; expected once."
        )
    return tuple(bodies[name] for name in drives)


def assembled(
    arms: Model, drives: Mapping[str, float], near: Mapping[str, float]
) -> tuple[float, ...]:
    """Return positions (nq,) that close the internal closed chains of the arms.

    Args:
        arms: The arms alone.
        drives: Positions of their drives, by name.
        near: Approximate positions of other joints, by name; zero by default.

    Raises:
        UnknownNameError: If the arms have no joint of a name.
        AssemblyError: If the loops do not close near these positions.
    """
    guess = arms.neutral()
    for name, value in {**near, **drives}.items():
        guess[arms.q_slices[arms.joint_index(name)]] = value
    found = Robot(arms).assemble(guess, held=list(drives), restarts=0, tolerance=1e-12)
    return tuple(found.q.tolist())


def hybrid_system(
    system: GraspSystem,
    contacts: Sequence[Contact] | None = None,
    environment: Environment | None = None,
) -> HybridSystem:
    """Return arms, object, contacts and surfaces as one hybrid system.

    Args:
        system: Arms and object, with the grasp poses.
        contacts: Contact of each arm with the object; the system's by default.
        environment: Surfaces that the object touches; none by default.

    Raises:
        ArgumentError: If the number of contacts differs from the number of arms.
    """
    if contacts is None:
        contacts = system.contacts
    if len(contacts) != len(system.arms):
        raise ArgumentError(
            f"{len(contacts)} contacts for {len(system.arms)} arms; expected one for each arm."
        )
    body = system.model.bodies[system.object_body]
    mass, h = float(body.inertia.mass), np.array(list(body.inertia.h), dtype=float)
    center = h / mass
    about_origin = np.array(body.inertia.I.rows(), dtype=float)
    inertia = about_origin - mass * ((center @ center) * np.eye(3) - np.outer(center, center))
    arms = system.arms_alone
    drives: tuple[str, ...] = ()
    if system.internal_chains is not None:  # in the order of the model
        drives = tuple(name for name in arms.joint_names if name in system.joint_names)
    return HybridSystem(
        arms,
        tuple(arm.tool for arm in system.arms),
        LinkElement(body.name, mass, tuple(center.tolist()), inertia),
        tuple(contacts),
        environment or Environment(),
        drives,
        system.assembled,
    )
