# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A grasp system as a MuJoCo model: bodies and hinges, a free object, and weld equalities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from lxml import etree
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.system import Arm, GraspSystem
from robot_dynamics.model import WORLD, Body, LoopJoint, Model, pose_of
from robot_dynamics.spatial import Inertia, Transform

Array = NDArray[np.float64]

#: MuJoCo's impedance of what is to be rigid: 1e-4 of a load's acceleration gives way.
STIFF = "0.9999 0.9999 0.001"
_JOINTS = {"revolute": "hinge", "prismatic": "slide"}
_APART = 0.05  # of points on an axis from its middle [m]


def axis_points(axis: int = 2) -> list[Array]:
    """Return two points (3,) of a frame: connects there leave the rotation about the axis."""
    return [side * _APART * np.eye(3)[axis] for side in (-1, 1)]


# Where parts of an object are held together, and loops of arms, along z of their joint.
_POINTS_OF_JOINTS = {"spherical": [np.zeros(3)], "revolute": axis_points()}


def mujoco_xml(system: GraspSystem, step: float, stiffness_time: float) -> str:
    """Return the MJCF text of a grasp system.

    Springs in joints are in it, friction is not. Names: bodies and joints as in the model; for
    each arm the sites `<arm>_tool` and `<arm>_grasp`, welded to each other, and the sensors
    `<arm>_force` and `<arm>_moment` between the arm and the tool's site.

    Args:
        system: Arms, object and grasps.
        step: Integration step [s].
        stiffness_time: Time constant with which the welds close errors [s]; at least two steps.

    Raises:
        RobotDynamicsError: If something in the model is not translated; it names it.
    """
    root, elements = mujoco_tree(system, step)
    equality = etree.SubElement(root, "equality")
    sensor = etree.SubElement(root, "sensor")
    add_internal_chains(system, elements, equality, stiffness_time)
    for arm in system.arms:
        add_tool(system, arm, elements, sensor)
        add_weld(arm, equality, stiffness_time)
    if system.object_loop_joint is not None:
        _add_object_joint(system.object_loop_joint, elements, equality, sensor, stiffness_time)
    return etree.tostring(root, pretty_print=True).decode()


def mujoco_tree(
    system: GraspSystem, step: float
) -> tuple[etree._Element, dict[int, etree._Element]]:
    """Return the root of a MuJoCo model with bodies and joints alone, and its bodies by index.

    Args:
        system: Arms, object and grasps.
        step: Integration step [s].

    Raises:
        RobotDynamicsError: If something in the model is not translated; it names it.
    """
    _require_translated(system)
    model = system.model
    root = etree.Element("mujoco", model=model.name)
    etree.SubElement(root, "compiler", angle="radian", autolimits="false", balanceinertia="true")
    etree.SubElement(
        root,
        "option",
        timestep=repr(step),
        gravity=_text(model.gravity),
        integrator="implicitfast",
        solver="Newton",
        iterations="50",
        tolerance="1e-14",
    )
    world = etree.SubElement(root, "worldbody")
    elements: dict[int, etree._Element] = {WORLD: world}
    for index, body in enumerate(model.bodies):
        elements[index] = _body(elements[body.parent], body)
    return root, elements


def add_tool(
    system: GraspSystem, arm: Arm, elements: dict[int, etree._Element], sensor: etree._Element
) -> etree._Element:
    """Add an arm's tool, its grasp on the object and its sensors; return the tool's body.

    Args:
        system: Arms, object and grasps.
        arm: The arm.
        elements: Bodies of the MuJoCo model by their index.
        sensor: Its sensors.
    """
    loop = system.model.loops[arm.loop]
    # A body of its own without mass, so that a sensor sees the grasp's force pass through it.
    tool = etree.SubElement(
        elements[loop.predecessor], "body", name=f"{arm.name}_tool_frame",
        **placement(loop.predecessor_placement),
    )  # fmt: skip
    etree.SubElement(tool, "site", name=f"{arm.name}_tool")
    etree.SubElement(
        elements[loop.successor], "site", name=f"{arm.name}_grasp",
        **placement(loop.successor_placement),
    )  # fmt: skip
    etree.SubElement(sensor, "force", name=f"{arm.name}_force", site=f"{arm.name}_tool")
    etree.SubElement(sensor, "torque", name=f"{arm.name}_moment", site=f"{arm.name}_tool")
    return tool


def add_weld(arm: Arm, equality: etree._Element, stiffness_time: float) -> None:
    """Weld an arm's tool to its grasp, closing errors with a time constant [s]."""
    etree.SubElement(
        equality,
        "weld",
        site1=f"{arm.name}_tool",
        site2=f"{arm.name}_grasp",
        solref=f"{stiffness_time!r} 1",
        solimp=STIFF,
        torquescale="1",
    )


def add_connects(
    equality: etree._Element,
    name: str,
    ends: Sequence[tuple[etree._Element, Array, str]],
    places: Sequence[Array],
    stiffness_time: float,
) -> None:
    """Hold points of two bodies together: one for a ball, two along an axis for a hinge.

    Args:
        equality: Where MuJoCo's equalities stand.
        name: What sites are called, before their end's name.
        ends: For each of the two a body, a frame (4, 4) in it, and what that end is called.
        places: Points in both frames (3,).
        stiffness_time: Time constant [s].
    """
    for i, place in enumerate(places):
        names = [f"{name}_{i}_{end}" for _, _, end in ends]
        for (element, frame, _), site in zip(ends, names, strict=True):
            at = frame[:3, :3] @ place + frame[:3, 3]
            etree.SubElement(element, "site", name=site, pos=_text(at))
        etree.SubElement(
            equality, "connect", site1=names[0], site2=names[1],
            solref=f"{stiffness_time!r} 1", solimp=STIFF,
        )  # fmt: skip


def add_internal_chains(
    system: GraspSystem,
    elements: dict[int, etree._Element],
    equality: etree._Element,
    stiffness_time: float,
) -> None:
    """Close the loops that arms have of their own: a ball by a point, a hinge by two on its axis.

    Args:
        system: Arms, object and grasps.
        elements: Bodies of the MuJoCo model by their index.
        equality: Its equalities.
        stiffness_time: Time constant [s].
    """
    for loop in _internal_chains(system):
        ends = (
            (elements[loop.predecessor], pose_of(loop.predecessor_placement), "predecessor"),
            (elements[loop.successor], pose_of(loop.successor_placement), "successor"),
        )
        places = _POINTS_OF_JOINTS[loop.type.name]
        add_connects(equality, loop.name, ends, places, stiffness_time)


def _internal_chains(system: GraspSystem) -> tuple[LoopJoint, ...]:
    """Return the loops that arms have of their own."""
    return () if system.internal_chains is None else system.model.loops[system.internal_chains :]


def _add_object_joint(
    joint: LoopJoint,
    elements: dict[int, etree._Element],
    equality: etree._Element,
    sensor: etree._Element,
    stiffness_time: float,
) -> None:
    """Add the joint between an object's parts, and sensors of the force that it transmits."""
    if joint.type.name not in _POINTS_OF_JOINTS:
        raise RobotDynamicsError(
            f"in MuJoCo the object's joint {joint.name!r} would be {joint.type.name}, expected "
            f"one of {', '.join(_POINTS_OF_JOINTS)}."
        )
    # A body of its own without mass, as for tools.
    first = etree.SubElement(
        elements[joint.predecessor], "body", name="object_joint_frame",
        **placement(joint.predecessor_placement),
    )  # fmt: skip
    second, on_second = elements[joint.successor], pose_of(joint.successor_placement)
    etree.SubElement(first, "site", name="object_joint_first")
    etree.SubElement(
        second, "site", name="object_joint_second", **placement(joint.successor_placement)
    )
    places = _POINTS_OF_JOINTS[joint.type.name]
    ends = ((first, np.eye(4), "first"), (second, on_second, "second"))
    add_connects(equality, "object_joint", ends, places, stiffness_time)
    for kind, word in (("force", "force"), ("torque", "moment")):
        etree.SubElement(sensor, kind, name=f"object_joint_{word}", site="object_joint_first")


def _require_translated(system: GraspSystem) -> None:
    """Refuse what the translation would leave out: MuJoCo would move another mechanism."""
    model = system.model
    place = f"{model.name}: in MuJoCo"
    for body in model.bodies:
        kind, name = body.joint.type.name, body.joint.name
        if kind not in (*_JOINTS, "floating"):
            raise RobotDynamicsError(
                f"{place} joint {name!r} would be {kind}, expected one of "
                f"{', '.join((*_JOINTS, 'floating'))}."
            )
        if kind == "floating" and body.joint.elastic:
            raise RobotDynamicsError(
                f"{place} the floating joint {name!r} would have a spring, expected springs in "
                f"{' and '.join(_JOINTS)} joints only."
            )
    grasps = {arm.loop for arm in system.arms}
    grasps |= set() if system.object_joint is None else {system.object_joint}
    own = {loop.name for loop in _internal_chains(system) if loop.type.name in _POINTS_OF_JOINTS}
    others = [loop.name for i, loop in enumerate(model.loops) if i not in grasps]
    others = [name for name in others if name not in own]
    others += [coupling.name for coupling in model.couplings]
    others += [
        model.loops[arm.loop].name
        for arm in system.arms
        if model.loops[arm.loop].type.name != "fixed"
    ]
    if others:
        raise RobotDynamicsError(
            f"{place} {others[0]!r} would close a loop, expected rigid grasps, and hinges and "
            "balls in loops of the arms' own."
        )


def _body(parent: etree._Element, body: Body) -> etree._Element:
    element = etree.SubElement(parent, "body", name=body.name, **placement(body.placement))
    kind = body.joint.type.name
    if kind == "floating":
        etree.SubElement(element, "freejoint", name=body.joint.name)
    else:
        joint = body.joint
        armature, stiffness, rest = (
            repr(float(joint.of_each_freedom(values)[0]))
            for values in (joint.armature, joint.stiffness, joint.rest)
        )
        etree.SubElement(
            element,
            "joint",
            name=joint.name,
            type=_JOINTS[kind],
            axis="0 0 1",
            pos="0 0 0",
            armature=armature,
            stiffness=stiffness,
            springref=rest,
        )
    mass, center, about_center = mass_properties(body.inertia)
    matrix = about_center
    six = [matrix[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    etree.SubElement(
        element, "inertial", mass=repr(mass), pos=_text(center), fullinertia=_text(six)
    )
    return element


def mass_properties(inertia: Inertia) -> tuple[float, Array, Array]:
    """Return mass [kg], centre of mass [m] and inertia about it (3, 3) [kg m^2]."""
    mass = float(inertia.mass)
    c = np.array(list(inertia.h), dtype=float) / mass
    about_origin = np.array(inertia.I.rows(), dtype=float)
    return mass, c, about_origin - mass * ((c @ c) * np.eye(3) - np.outer(c, c))


def placement(transform: Transform) -> dict[str, str]:
    """Return the attributes of a body or a site that stands there in its parent."""
    frame = pose_of(transform)
    x, y, z, w = Rotation.from_matrix(frame[:3, :3]).as_quat()
    return {"pos": _text(frame[:3, 3]), "quat": _text((w, x, y, z))}


def _text(values: object) -> str:
    return " ".join(repr(float(value)) for value in values)  # type: ignore[attr-defined]


def addresses(
    mujoco_model: object, model: Model, names: tuple[str, ...]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where joints stand in MuJoCo's qpos and qvel; there may be none."""
    joints = [mujoco_model.joint(name) for name in names]  # type: ignore[attr-defined]
    return (
        np.array([joint.qposadr[0] for joint in joints], dtype=np.intp),
        np.array([joint.dofadr[0] for joint in joints], dtype=np.intp),
    )
