# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A scene as a MuJoCo model: bodies and hinges, a free object, equalities, small spheres on faces.

Grasps are weld equalities. Contacts are pairs by name: nothing else collides. A finger's point is
a small sphere on the tool and its face a thin box on the object; points of the object are small
spheres as well, and the surfaces lie that much deeper, so that contact begins where the points
are. Surfaces without a shape in MuJoCo are planes that follow their points (`TangentPlanes`).
Hinges and lines are connects at two points, or to a carriage on a rail. Their resistance is the
friction of tendons attached to the object itself: friction of an axle or a carriage of almost no
mass would give way. A line has one tendon along itself; a hinge has a couple of two tendons,
tangents of a circle about it, from a yoke that turns along.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from lxml import etree
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.contact.material import Material
from robot_dynamics.contact.surfaces import Cylinder, Hole, Plane, PointFunction, Sphere
from robot_dynamics.description.orientations import matrix_of_pose
from robot_dynamics.dynamics.position_limits import bounded_coordinates
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.hybrid import FrictionCone
from robot_dynamics.manipulation.system import Arm, GraspSystem
from robot_dynamics.model import WORLD, Body, Joint, LoopJoint, pose_of, transform_of
from robot_dynamics.simulation.contact.environment_joints import EnvironmentJoint
from robot_dynamics.simulation.contact.terms import SceneTerms
from robot_dynamics.simulation.scene import ArmContact, Scene, SurfaceContact
from robot_dynamics.simulation.stops import Stops
from robot_dynamics.spatial import Inertia, Transform, Vector3
from robot_dynamics.wording import exact

#: MuJoCo's impedance of rigid constraints: they yield by 1e-4 of a load's acceleration.
STIFF = "0.9999 0.9999 0.001"
_JOINTS = {"revolute": "hinge", "prismatic": "slide"}
_APART = 0.05  # of points on an axis from its middle [m]


#: Radius of the spheres that stand for points [m].
POINT = 5e-4
_THICKNESS = 5e-3  # half of a face's box [m]
_ENDLESS = 10.0  # half lengths of what has no end [m]
_BLOCK = 0.02  # half the thickness of walls around a hole [m]
#: Flats that stand for a round hole: it is wider by 1.2 thousandths of its radius between them.
_FLATS = 64
# Impedance of contacts. MuJoCo adds d / (1 - d) of the object's mass to what moves, and with an
# impedance near one, which is its default, a load presses nothing in: what slides, and is lifted
# by MuJoCo's convex friction, by mu times its speed, then leaves at once, and falls back.
_SPRING = 0.01
#: Stiffness of rigid contacts [N/m]: the largest in MuJoCo.
HARDEST = 1e6
# Friction is to be as stiff as what is rigid: its regularisation over that of normals, MuJoCo's
# impratio, makes up for the small impedance.
_TANGENT_STIFFNESS = 1e7
# Time constant in steps with which friction stops a slip: the lift falls with it, the creep of
# what sticks grows.
_STEPS_OF_SLIP = 2.0
#: Mass of the carriage that a point on a line is connected to [kg].
CARRIAGE = 1e-4
# Ends of tendons at the part, and the way they pull the object there: a tendon gets as much longer
# as a line's point moves, or, with both branches, as a hinge turns.
_PULLS = {
    "hinge": (
        (np.array([0.5, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])),
        (np.array([-0.5, 0.0, 0.0]), np.array([0.0, -1.0, 0.0])),
    ),
    "line": ((np.zeros(3), np.array([0.0, 0.0, 1.0])),),
}
_LONG = 100.0  # Of tendons [m]: no object comes to their other end.
_UNREACHED = 1e6  # a stop that no joint reaches [rad, m]
_WIDEST = 5.0  # range of a hinge with stops that closes a loop [rad]
#: Bound of the friction of what damps or is stuck [N, N m].
UNBOUNDED = 1e12


def axis_points(axis: int = 2) -> list[Array]:
    """Return two points (3,) of a frame: connects there leave the rotation about the axis."""
    return [side * _APART * np.eye(3)[axis] for side in (-1, 1)]


# Where parts of an object are held together, and loops of arms, along z of their joint.
_POINTS_OF_JOINTS = {"spherical": [np.zeros(3)], "revolute": axis_points()}


def mujoco_xml(scene: Scene, start: Array, step: float, stiffness_time: float) -> str:
    """Return the MJCF text of a scene.

    Springs in joints are in it, friction of joints is not. Names: bodies and joints as in the
    model; for each arm the sites `<arm>_tool` and `<arm>_grasp`, welded to each other by a rigid
    grasp (`<arm>_weld`), and the sensors `<arm>_force` and `<arm>_moment` between the arm and the
    tool's site.

    Args:
        scene: Arms, object, contacts and surfaces.
        start: Positions (nq,) at which the masses behind elastic contacts are taken, for their
            dampers.
        step: Integration step [s].
        stiffness_time: Time constant with which rigid parts close errors [s]; at least two steps.

    Raises:
        RobotDynamicsError: If a part cannot be translated; it names the part.
    """
    stops = {item.name for item in Stops(scene.system.model, start).items}
    system, made = scene.system, _Translation(scene, step, stiffness_time, stops)
    for loop in _internal_chains(system):
        made.add_internal_chain(loop)
    tools = [made.add_tool(arm) for arm in system.arms]
    if not scene.holds_object:
        return made.text()
    held = made.bodies[system.object_body]
    contacts = _Contacts(made.root, held, scene, start, step)
    for i, (arm, contact) in enumerate(zip(system.arms, scene.contacts, strict=True)):
        if contact.pushing:
            contacts.add_finger(i, tools[i], contact)
        elif contact.contact.kind == "rigid":
            made.add_weld(arm)
        elif contact.contact.kind in ("pin", "line"):
            on_axis = axis_points(2 if contact.contact.kind == "pin" else 0)
            ends = (
                (tools[i], scene.finger_frames[i], "tool"),
                (held, contact.contact.pose, "object"),
            )
            made.add_connects(arm.name, ends, on_axis)
        else:
            raise RobotDynamicsError(
                f"{system.model.name}: in MuJoCo arm {arm.name!r} would hold by directions of the "
                "user's own, expected one of the named kinds."
            )
    if system.object_loop_joint is not None:
        made.add_object_joint(system.object_loop_joint)
    for surface in scene.surfaces:
        contacts.add_surface(made.bodies[WORLD], surface)
    if scene.environment_joints:
        there = matrix_of_pose(start[system.object_q])
        for one in scene.environment_joints:
            made.add_environment_joint(one, there)
    return made.text()


class _Contacts:
    """Adds the pairs of a scene's contacts, in the order of `Scene.touches`.

    Args:
        root: MuJoCo's model.
        held: Its object.
        scene: The scene.
        start: Positions (nq,) at the start.
        step: Integration step [s].
    """

    def __init__(
        self, root: etree._Element, held: etree._Element, scene: Scene, start: Array, step: float
    ) -> None:
        self._held, self._scene, self._place = held, scene, 0
        self._compliance = _Compliance(scene, start, step)
        if scene.touches:
            option = root.find("option")
            assert option is not None
            option.set("cone", "elliptic")
            option.set("impratio", repr(_TANGENT_STIFFNESS))
            self._pairs = etree.SubElement(root, "contact")

    def add_finger(self, index: int, tool: etree._Element, contact: ArmContact) -> None:
        """Add a finger's point on an arm's tool, and its face on the object."""
        scene, frame = self._scene, contact.contact.pose
        name, finger = scene.system.arms[index].name, scene.finger_frames[index]
        _sphere(tool, f"{name}_finger", finger[:3, 3] - POINT * finger[:3, 2])
        size = [min(half, _ENDLESS) for half in contact.face]
        _geom(
            self._held, f"{name}_face", "box", [*size, _THICKNESS],
            frame[:3, 3] + _THICKNESS * frame[:3, 2], frame[:3, :3],
        )  # fmt: skip
        given = self._compliance.of([self._place], contact.material)
        _pair(self._pairs, name, f"{name}_finger", f"{name}_face", contact.friction, given)
        self._place += 1

    def add_surface(self, world: etree._Element, surface: SurfaceContact) -> None:
        """Add a surface, and the points of the object that touch it."""
        followed = tangent_names(surface)
        geoms = [] if followed else surface_geoms(surface.name, surface.surface)
        for part in geoms:
            _geom(world, part.name, part.kind, part.size, part.at, part.axes)
        for name in followed:
            body = etree.SubElement(world, "body", name=name, mocap="true")
            _geom(body, name, "plane", [0.0, 0.0, 1.0], np.zeros(3), np.eye(3))
        places = list(range(self._place, self._place + len(surface.points)))
        given = self._compliance.of(places, surface.material)
        cone = FrictionCone(surface.material.friction.friction)
        for j, point in enumerate(surface.points):
            name = f"{surface.name}_point{j}"
            _sphere(self._held, name, point)
            for other in [followed[j]] if followed else [part.name for part in geoms]:
                _pair(self._pairs, f"{name}_{other}", name, other, cone, given)
        self._place += len(places)


class _Translation:
    """A MuJoCo model under construction from a scene: bodies and joints.

    Attributes:
        root: The model.
        bodies: Its bodies, by the index of the scene's bodies.
        tendon: Its tendons.

    Args:
        scene: Arms and object.
        step: Integration step [s].
        stiffness_time: Time constant with which rigid parts close errors [s].
        stops: Names of the stops.

    Raises:
        RobotDynamicsError: If a part of the model cannot be translated; it names the part.
    """

    def __init__(
        self, scene: Scene, step: float, stiffness_time: float, stops: Collection[str]
    ) -> None:
        system = scene.system
        _require_translated(system)
        model, left_out = system.model, () if scene.holds_object else system.object_bodies
        self._scene, self._stops = scene, stops
        self._solref = f"{stiffness_time!r} 1"
        self.root = root = etree.Element("mujoco", model=model.name)
        etree.SubElement(
            root, "compiler", angle="radian", autolimits="false", balanceinertia="true"
        )
        etree.SubElement(
            root, "option", timestep=repr(step), gravity=exact(model.gravity),
            integrator="implicitfast", solver="Newton", iterations="50", tolerance="1e-14",
        )  # fmt: skip
        self.bodies = {WORLD: etree.SubElement(root, "worldbody")}
        for index, body in enumerate(model.bodies):
            if index not in left_out:
                self.bodies[index] = element = _body(self.bodies[body.parent], body)
                for ends in self._ranges(body.joint):
                    stiff = {"solreflimit": self._solref, "solimplimit": STIFF}
                    element[0].attrib.update({"limited": "true", "range": exact(ends), **stiff})
        self._equality = etree.SubElement(root, "equality")
        self.tendon = etree.SubElement(root, "tendon")
        self._sensor = etree.SubElement(root, "sensor")

    def text(self) -> str:
        """Return the MJCF text."""
        return etree.tostring(self.root, pretty_print=True).decode()

    def add_tool(self, arm: Arm) -> etree._Element:
        """Add an arm's tool, its grasp on the object and its sensors; return the tool's body."""
        loop = self._scene.system.model.loops[arm.loop]
        # A body of its own without mass, so that a sensor sees the grasp's force pass through it.
        tool = etree.SubElement(
            self.bodies[loop.predecessor], "body", name=f"{arm.name}_tool_frame",
            **placement(loop.predecessor_placement),
        )  # fmt: skip
        etree.SubElement(tool, "site", name=f"{arm.name}_tool")
        if self._scene.holds_object:
            etree.SubElement(
                self.bodies[loop.successor], "site", name=f"{arm.name}_grasp",
                **placement(loop.successor_placement),
            )  # fmt: skip
        self._add_sensors(arm.name, f"{arm.name}_tool")
        return tool

    def _add_sensors(self, name: str, site: str) -> None:
        """Add sensors of moment and force at a site, one after the other in MuJoCo's data."""
        for kind, word in (("torque", "moment"), ("force", "force")):
            etree.SubElement(self._sensor, kind, name=f"{name}_{word}", site=site)

    def add_weld(self, arm: Arm) -> None:
        """Weld an arm's tool to its grasp."""
        etree.SubElement(
            self._equality, "weld", name=f"{arm.name}_weld", site1=f"{arm.name}_tool",
            site2=f"{arm.name}_grasp", solref=self._solref, solimp=STIFF, torquescale="1",
        )  # fmt: skip

    def add_connects(
        self,
        name: str,
        ends: Sequence[tuple[etree._Element, Array, str]],
        places: Sequence[Array],
    ) -> None:
        """Connect points of two bodies: one for a ball joint, two along an axis for a hinge.

        Args:
            name: Prefix of the sites' names.
            ends: For each of the two a body, a frame (4, 4) in it, and the name of that end.
            places: Points in both frames (3,).
        """
        for i, place in enumerate(places):
            names = [f"{name}_{i}_{end}" for _, _, end in ends]
            for (element, frame, _), site in zip(ends, names, strict=True):
                at = frame[:3, :3] @ place + frame[:3, 3]
                etree.SubElement(element, "site", name=site, pos=exact(at))
            etree.SubElement(
                self._equality, "connect", site1=names[0], site2=names[1],
                solref=self._solref, solimp=STIFF,
            )  # fmt: skip

    def add_internal_chain(self, loop: LoopJoint) -> None:
        """Close a loop of an arm's own: a ball by a point, a hinge by two on its axis."""
        ends = (
            (self.bodies[loop.predecessor], pose_of(loop.predecessor_placement), "predecessor"),
            (self.bodies[loop.successor], pose_of(loop.successor_placement), "successor"),
        )
        self.add_connects(loop.name, ends, _POINTS_OF_JOINTS[loop.type.name])
        self._add_loop_stops(loop)

    def _ranges(self, joint: Joint | LoopJoint) -> Iterator[tuple[float, float]]:
        """Yield the positions between the stops of each bounded coordinate [rad or m]."""
        for one in bounded_coordinates(joint):
            low = one.lower if f"{one.name} lower" in self._stops else -_UNREACHED
            high = one.upper if f"{one.name} upper" in self._stops else _UNREACHED
            yield low, high

    def _add_loop_stops(self, loop: LoopJoint) -> None:
        """Stop a hinge that closes a loop by the longest chord between two points about its axis.

        Points at a distance r from the axis, an angle a apart, are 2 r sin(a / 2) apart, which
        grows up to half a turn. That angle is so large at the stop that the chord is shorter on
        the whole way to the other one.
        """
        for low, high in self._ranges(loop):
            if low == -_UNREACHED and high == _UNREACHED:
                continue
            place = f"in MuJoCo loop joint {loop.name!r} would have"
            if loop.type.name != "revolute":
                raise RobotDynamicsError(f"{place} position limits, expected them in hinges only.")
            if high - low > _WIDEST:
                raise RobotDynamicsError(
                    f"{place} a range of {high - low:.4g} rad, expected at most {_WIDEST:g} rad."
                )
            angle = max(0.5 * np.pi, 0.5 * (high - low) + 0.1)
            longest = 2.0 * _APART * np.sin(0.5 * angle)
            for end, at in (("lower", low + angle), ("upper", high - angle)):
                chord = etree.SubElement(
                    self.tendon, "spatial", name=f"{loop.name}_{end}", limited="true",
                    range=exact((0.0, longest)), solreflimit=self._solref, solimplimit=STIFF,
                )  # fmt: skip
                for side, body, frame, turn in (
                    ("predecessor", loop.predecessor, loop.predecessor_placement, at),
                    ("successor", loop.successor, loop.successor_placement, 0.0),
                ):
                    site = f"{loop.name}_{end}_{side}"
                    point = [_APART * np.cos(turn), _APART * np.sin(turn), 0.0, 1.0]
                    at_body = exact((pose_of(frame) @ point)[:3])
                    etree.SubElement(self.bodies[body], "site", name=site, pos=at_body)
                    etree.SubElement(chord, "site", site=site)

    def add_object_joint(self, joint: LoopJoint) -> None:
        """Add the joint between an object's parts, and sensors of the force that it transmits."""
        if joint.type.name not in _POINTS_OF_JOINTS:
            raise RobotDynamicsError(
                f"in MuJoCo the object's joint {joint.name!r} would be {joint.type.name}, "
                f"expected one of {', '.join(_POINTS_OF_JOINTS)}."
            )
        # A body of its own without mass, as for tools.
        first = etree.SubElement(
            self.bodies[joint.predecessor], "body", name="object_joint_frame",
            **placement(joint.predecessor_placement),
        )  # fmt: skip
        second, on_second = self.bodies[joint.successor], pose_of(joint.successor_placement)
        etree.SubElement(first, "site", name="object_joint_first")
        etree.SubElement(
            second, "site", name="object_joint_second", **placement(joint.successor_placement)
        )
        ends = ((first, np.eye(4), "first"), (second, on_second, "second"))
        self.add_connects("object_joint", ends, _POINTS_OF_JOINTS[joint.type.name])
        self._add_loop_stops(joint)
        self._add_sensors("object_joint", "object_joint_first")

    def add_environment_joint(self, environment_joint: EnvironmentJoint, pose: Array) -> None:
        """Add a hinge or a line, and sensors of its force.

        Args:
            environment_joint: The hinge or the line.
            pose: Pose of the object at the start (4, 4), where the carriage is.
        """
        world, body = self.bodies[WORLD], self.bodies[self._scene.system.object_body]
        name, frame, part = environment_joint.name, environment_joint.frame, environment_joint.part
        # A body of its own without mass, so that a sensor sees the force pass through it.
        at_frame = placement(transform_of(frame))
        base = etree.SubElement(world, "body", name=f"{name}_base", **at_frame)
        etree.SubElement(base, "site", name=f"{name}_base")
        other, places = base, axis_points()
        if environment_joint.kind == "line":
            along = np.linalg.inv(frame) @ pose @ part[:, 3]
            at = exact((0.0, 0.0, along[2]))
            other = etree.SubElement(base, "body", name=f"{name}_carriage", pos=at)
            etree.SubElement(other, "joint", name=f"{name}_rail", type="slide", axis="0 0 1")
            etree.SubElement(
                other, "inertial", mass=repr(CARRIAGE), pos="0 0 0", diaginertia="1e-8 1e-8 1e-8"
            )
            places = [np.zeros(3)]
        self.add_connects(name, ((other, np.eye(4), "world"), (body, part, "object")), places)
        self._add_sensors(name, f"{name}_base")
        if environment_joint.resists:
            if environment_joint.kind == "hinge":
                at_part = placement(transform_of(pose @ part))
                base = etree.SubElement(
                    world, "body", name=f"{name}_yoke", mocap="true", **at_part
                )
            self._add_tendons(environment_joint, base, body)

    def _add_tendons(
        self, environment_joint: EnvironmentJoint, base: etree._Element, body: etree._Element
    ) -> None:
        """Add the tendons along which it resists: one for friction, one for damping."""
        name, part = environment_joint.name, environment_joint.part
        pulls = _PULLS[environment_joint.kind]
        for i, (at, way) in enumerate(pulls):
            for parent, end, place in (
                (base, "far", at - _LONG * way),
                (body, "near", part[:3, :3] @ at + part[:3, 3]),
            ):
                etree.SubElement(parent, "site", name=f"{name}_{end}_{i}", pos=exact(place))
        for word, bound in (("friction", environment_joint.friction), ("damping", UNBOUNDED)):
            if getattr(environment_joint, word) == 0.0:
                continue
            spatial = etree.SubElement(
                self.tendon, "spatial", name=f"{name}_{word}", frictionloss=repr(float(bound)),
                solreffriction=self._solref, solimpfriction=STIFF,
            )  # fmt: skip
            for i in range(len(pulls)):
                if i:
                    etree.SubElement(spatial, "pulley", divisor="1")
                for end in ("far", "near"):
                    etree.SubElement(spatial, "site", site=f"{name}_{end}_{i}")


def _internal_chains(system: GraspSystem) -> tuple[LoopJoint, ...]:
    """Return the loops that arms have of their own."""
    return () if system.internal_chains is None else system.model.loops[system.internal_chains :]


def _require_translated(system: GraspSystem) -> None:
    """Refuse parts that the translation would omit: MuJoCo would move another mechanism."""
    model = system.model
    place = f"{model.name}: in MuJoCo"
    for body in model.bodies:
        kind, name = body.joint.type.name, body.joint.name
        if kind not in (*_JOINTS, "floating"):
            raise RobotDynamicsError(
                f"{place} joint {name!r} would be {kind}, expected one of "
                f"{', '.join((*_JOINTS, 'floating'))}."
            )
        bounds = bounded_coordinates(body.joint)
        if kind == "floating" and (body.joint.elastic or bounds):
            extra = "position limits" if bounds else "a spring"
            raise RobotDynamicsError(
                f"{place} the floating joint {name!r} would have {extra}, expected them in "
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
    mass, center, matrix = mass_properties(body.inertia)
    six = [matrix[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    etree.SubElement(
        element, "inertial", mass=repr(mass), pos=exact(center), fullinertia=exact(six)
    )
    return element


def mass_properties(inertia: Inertia) -> tuple[float, Array, Array]:
    """Return mass [kg], centre of mass [m] and inertia about it (3, 3) [kg m^2]."""
    mass = float(inertia.mass)
    c = np.array(list(inertia.h), dtype=float) / mass
    about_origin = np.array(inertia.I.rows(), dtype=float)
    return mass, c, about_origin - mass * ((c @ c) * np.eye(3) - np.outer(c, c))


def placement(transform: Transform) -> dict[str, str]:
    """Return the attributes of a body or a site with this pose in its parent."""
    frame = pose_of(transform)
    x, y, z, w = Rotation.from_matrix(frame[:3, :3]).as_quat()
    return {"pos": exact(frame[:3, 3]), "quat": exact((w, x, y, z))}


def addresses(
    mujoco_model: Any, names: tuple[str, ...]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the indices of joints in MuJoCo's qpos and qvel; can be empty."""
    joints = [mujoco_model.joint(name) for name in names]
    return (
        np.array([joint.qposadr[0] for joint in joints], dtype=np.intp),
        np.array([joint.dofadr[0] for joint in joints], dtype=np.intp),
    )


class _Compliance:
    """Parameters of a material in MuJoCo.

    With an impedance d and solref (-k, -b) a contact's acceleration along its normal is (1 - d)
    times the acceleration without it, less d (k r + b v) / d, for a mass m: a spring of k m / (1 -
    d) with a damper of b m / (1 - d), and a mass of d m / (1 - d) that moves along while they
    push. Here m is the object's; see `count_arms`.
    """

    def __init__(self, scene: Scene, start: Array, step: float) -> None:
        self._scene, self._start, self._step = scene, start, step

    def of(self, places: list[int], material: Material) -> dict[str, str]:
        """Return attributes of contacts that are loaded together, by their places.

        A spring and a damper, of the restitution with the mass behind them; rigid contacts yield
        by a micrometre per newton.
        """
        system = self._scene.system
        part = (1.0 - _SPRING) / float(system.model.bodies[system.object_body].inertia.mass)
        k, n = min(material.stiffness, HARDEST), len(places)
        c = 2.0 * damping_ratio(material.restitution) * np.sqrt(k * self._mass(places) / n)
        slip = _SPRING / (_STEPS_OF_SLIP * self._step)
        return {
            "solref": exact([-k * part, -c * part]),
            "solreffriction": exact([-1.0, -slip]),  # friction has no place to return to
            "solimp": exact([_SPRING, _SPRING, 1e-3]),
        }

    def _mass(self, places: list[int]) -> float:
        """Return the mass [kg] that moves along the mean normal, with holding rows held."""
        terms = SceneTerms(self._scene)
        at = terms.at(self._start, np.zeros(self._scene.model.nv))
        b, w = terms.holding, terms.width
        normal = np.mean([at.J[b + w * i] for i in places], axis=0)
        J = np.vstack([at.J[:b], normal])
        push = np.mean([at.HJ[b + w * i] for i in places], axis=0)
        W = J @ np.vstack([at.HJ[:b], push]).T
        coupled = W[:b, b]
        freed = coupled @ np.linalg.lstsq(W[:b, :b], coupled, rcond=1e-10)[0] if b else 0.0
        return 1.0 / float(W[b, b] - freed)


def count_arms(model: Any, object_mass: float) -> None:
    """Give contacts the stiffness and damping of their materials, for moving bodies on both sides.

    MuJoCo's mass m of a contact combines both bodies, 1 / m = w_1 + w_2 with their
    `body_invweight0`, which are known after the model is compiled; see `_Compliance`.

    Args:
        model: MuJoCo's model of a scene; its pairs change.
        object_mass: Mass of the object [kg].
    """
    for pair in range(model.npair):
        geoms = [model.pair_geom1[pair], model.pair_geom2[pair]]
        mobility = model.body_invweight0[model.geom_bodyid[geoms], 0].sum()
        model.pair_solref[pair] *= mobility * object_mass


def damping_ratio(restitution: float) -> float:
    """Return zeta of a spring with a damper that only pushes, for a restitution.

    After Schwager and Poeschel (2007): e = exp(-z / s (pi - atan2(2 z s, s^2 - z^2))) with s^2 = 1
    - z^2; zeta is at most 1, with a restitution of 0.135.
    """

    def kept(z: float) -> float:
        s = np.sqrt(1.0 - z * z)
        return float(np.exp(-z / s * (np.pi - np.arctan2(2.0 * z * s, s * s - z * z))))

    largest = 1.0 - 1e-6
    if restitution <= kept(largest):
        return 1.0
    from scipy.optimize import brentq  # here, because importing it delays every start

    return float(brentq(lambda z: kept(z) - restitution, 0.0, largest))


class Geom(NamedTuple):
    """A part of a surface: a shape of MuJoCo's with its sizes, its place and its axes (3, 3)."""

    name: str
    kind: str
    size: list[float]
    at: Array
    axes: Array


def surface_geoms(name: str, surface: PointFunction) -> list[Geom]:
    """Return the geoms of a surface, deeper than it by the radius of points.

    Round holes are rings of flats, which touch the circle. Empty if MuJoCo has no shapes for it.
    """
    if isinstance(surface, Plane):
        n = _array(surface.normal)
        return [
            Geom(name, "plane", [0.0, 0.0, 1.0], _array(surface.point) - POINT * n, _across(n))
        ]
    if isinstance(surface, Sphere) and not surface.inside:
        center = _array(surface.center)
        return [Geom(name, "sphere", [surface.radius - POINT], center, np.eye(3))]
    if isinstance(surface, Cylinder) and not surface.inside:
        point, axes = _array(surface.point), _across(_array(surface.axis))
        return [Geom(name, "cylinder", [surface.radius - POINT, _ENDLESS], point, axes)]
    if isinstance(surface, Hole):
        mouth, axes = _array(surface.mouth), _across(_array(surface.axis))
        below = surface.depth + POINT + _BLOCK
        bottom = mouth - below * axes[:, 2]
        size = [surface.radius + _BLOCK, surface.radius + _BLOCK, _BLOCK]
        ring = _ring(name, mouth, axes, surface.radius, -below, -POINT)
        return [*ring, Geom(f"{name}_bottom", "box", size, bottom, axes)]
    return []


def _ring(
    name: str, middle: Array, axes: Array, radius: float, low: float, high: float
) -> list[Geom]:
    """Return the boxes around a round hole, between two heights along its axis."""
    found = []
    half = 0.5 * (high - low)
    width = (radius + 2.0 * _BLOCK) * np.tan(np.pi / _FLATS)
    for i in range(_FLATS):
        angle = 2.0 * np.pi * i / _FLATS
        out = axes @ [np.cos(angle), np.sin(angle), 0.0]
        at = middle + (radius + POINT + _BLOCK) * out + 0.5 * (low + high) * axes[:, 2]
        own = np.column_stack([out, np.cross(axes[:, 2], out), axes[:, 2]])
        found.append(Geom(f"{name}_{i}", "box", [_BLOCK, width, half], at, own))
    return found


def _array(vector: Vector3) -> Array:
    return np.array(list(vector), dtype=float)


def _across(z: Array) -> Array:
    """Return axes (3, 3) with a given third one."""
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _sphere(parent: etree._Element, name: str, center: Array) -> None:
    _geom(parent, name, "sphere", [POINT], center, np.eye(3))


def _geom(
    parent: etree._Element, name: str, kind: str, size: list[float], at: Array, axes: Array
) -> None:
    x, y, z, w = Rotation.from_matrix(axes).as_quat()
    etree.SubElement(
        parent, "geom", name=name, type=kind, size=exact(size), pos=exact(at),
        quat=exact([w, x, y, z]), mass="0", contype="0", conaffinity="0",
    )  # fmt: skip


def _pair(
    pairs: etree._Element,
    name: str,
    one: str,
    other: str,
    cone: FrictionCone,
    given: dict[str, str],
) -> None:
    condim = 1 if cone.friction == 0.0 else 4 if cone.torsion > 0.0 else 3
    friction = [cone.friction, cone.friction, cone.torsion, 0.0, 0.0]
    etree.SubElement(
        pairs, "pair", name=f"{name}_pair", geom1=one, geom2=other, condim=str(condim),
        friction=exact(np.maximum(friction, 1e-5)), **given,
    )  # fmt: skip


def tangent_names(surface: SurfaceContact) -> list[str]:
    """Return the names of the planes under a surface's points; empty if it has a shape."""
    if surface_geoms(surface.name, surface.surface):
        return []
    return [f"{surface.name}_tangent{j}" for j in range(len(surface.points))]
