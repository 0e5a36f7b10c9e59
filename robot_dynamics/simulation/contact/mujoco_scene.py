# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A scene with contacts as a MuJoCo model: connects, welds, small spheres on faces and surfaces.

Contacts are pairs by name: nothing else collides. Surfaces without a shape in MuJoCo are planes
that follow their points (`mujoco_tangents`). A finger's point is a small sphere on the tool
and its face a thin box on the object; points of the object are small spheres as well, and the
surfaces lie that much deeper, so that contact begins where the points are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from lxml import etree
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.hybrid import FrictionCone
from robot_dynamics.model import pose
from robot_dynamics.simulation.contact.mujoco_environment_joints import add_environment_joint
from robot_dynamics.simulation.contact.mujoco_tangents import tangent_names
from robot_dynamics.simulation.contact.scene import ContactScene, Material
from robot_dynamics.simulation.contact.surfaces import Cylinder, Hole, Plane, PointFunction, Sphere
from robot_dynamics.simulation.contact.terms import ContactTerms
from robot_dynamics.simulation.mujoco_model import (
    add_connects,
    add_internal_chains,
    add_tool,
    add_weld,
    axis_points,
    mujoco_tree,
)
from robot_dynamics.spatial import Vector3

Array = NDArray[np.float64]

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
#: Of what is rigid [N/m]: no contact in MuJoCo is harder.
HARDEST = 1e6
# Friction is to be as stiff as what is rigid: its regularisation over that of normals, MuJoCo's
# impratio, makes up for the small impedance.
_TANGENT_STIFFNESS = 1e7
# Time constant in steps with which friction stops a slip: the lift falls with it, the creep of
# what sticks grows.
_STEPS_OF_SLIP = 2.0


def mujoco_scene(scene: ContactScene, start: Array, step: float, stiffness_time: float) -> str:
    """Return the MJCF text of a scene.

    Args:
        scene: Arms, object, contacts and surfaces.
        start: Positions (nq,) at which the masses behind elastic contacts are taken, for their
            dampers.
        step: Integration step [s].
        stiffness_time: Time constant of what is rigid [s]; at least two steps.

    Raises:
        RobotDynamicsError: If something is not translated; it names it.
    """
    system = scene.system
    root, bodies = mujoco_tree(system, step)
    option = root.find("option")
    assert option is not None
    option.set("cone", "elliptic")
    option.set("impratio", repr(_TANGENT_STIFFNESS))
    held = bodies[system.object_body]
    pairs = etree.SubElement(root, "contact")
    equality, sensor = etree.SubElement(root, "equality"), etree.SubElement(root, "sensor")
    compliance = _Compliance(scene, start, step)
    add_internal_chains(system, bodies, equality, stiffness_time)
    place = 0
    for i, (arm, contact) in enumerate(zip(system.arms, scene.contacts, strict=True)):
        tool = add_tool(system, arm, bodies, sensor)
        frame = contact.contact.pose
        if contact.pushing:
            finger = scene.finger_frames[i]
            center = finger[:3, 3] - POINT * finger[:3, 2]
            _sphere(tool, f"{arm.name}_finger", center)
            size = [min(half, _ENDLESS) for half in contact.face]
            _geom(
                held, f"{arm.name}_face", "box", [*size, _THICKNESS],
                frame[:3, 3] + _THICKNESS * frame[:3, 2], frame[:3, :3],
            )  # fmt: skip
            _pair(pairs, arm.name, f"{arm.name}_finger", f"{arm.name}_face", contact.friction,
                  compliance.of([place], contact.material))  # fmt: skip
            place += 1
        elif contact.contact.kind == "rigid":
            add_weld(arm, equality, stiffness_time)
        elif contact.contact.kind in ("pin", "line"):
            on_axis = axis_points(2 if contact.contact.kind == "pin" else 0)
            ends = ((tool, scene.finger_frames[i], "tool"), (held, frame, "object"))
            add_connects(equality, arm.name, ends, on_axis, stiffness_time)
        else:
            raise RobotDynamicsError(
                f"{system.model.name}: in MuJoCo arm {arm.name!r} would hold by directions of the "
                "user's own, expected one of the named kinds."
            )
    world = root.find("worldbody")
    assert world is not None
    for surface in scene.surfaces:
        followed = tangent_names(surface)
        geoms = [] if followed else surface_geoms(surface.name, surface.surface)
        for part in geoms:
            _geom(world, part.name, part.kind, part.size, part.at, part.axes)
        for name in followed:
            body = etree.SubElement(world, "body", name=name, mocap="true")
            _geom(body, name, "plane", [0.0, 0.0, 1.0], np.zeros(3), np.eye(3))
        places = list(range(place, place + len(surface.points)))
        given = compliance.of(places, surface.material)
        cone = FrictionCone(surface.material.friction.friction)
        for j, point in enumerate(surface.points):
            name = f"{surface.name}_point{j}"
            _sphere(held, name, point)
            for other in [followed[j]] if followed else [part.name for part in geoms]:
                _pair(pairs, f"{name}_{other}", name, other, cone, given)
        place += len(places)
    if scene.environment_joints:
        x, y, z, *quaternion = start[system.object_q]
        there = pose((x, y, z), Rotation.from_quat(quaternion).as_matrix())
        sections = (equality, sensor, etree.SubElement(root, "tendon"))
        for one in scene.environment_joints:
            add_environment_joint(one, world, held, there, sections, stiffness_time)
    return etree.tostring(root, pretty_print=True).decode()


class _Compliance:
    """What MuJoCo is told of a material.

    With an impedance d and solref (-k, -b) a contact's acceleration along its normal is
    (1 - d) of that without it less d (k r + b v) / d, where the force counts as that of the
    object's mass m alone: a spring of k m / (1 - d) with a damper of b m / (1 - d), and a mass of
    d m / (1 - d) that moves along while they push.
    """

    def __init__(self, scene: ContactScene, start: Array, step: float) -> None:
        self._scene, self._start, self._step = scene, start, step

    def of(self, places: list[int], material: Material) -> dict[str, str]:
        """Return attributes of contacts that are loaded together, by their places.

        A spring and a damper, of the restitution with the mass behind them; what is rigid is
        pressed in by a micrometre a newton.
        """
        system = self._scene.system
        part = (1.0 - _SPRING) / float(system.model.bodies[system.object_body].inertia.mass)
        k, n = min(material.stiffness, HARDEST), len(places)
        c = 2.0 * damping_ratio(material.restitution) * np.sqrt(k * self._mass(places) / n)
        slip = _SPRING / (_STEPS_OF_SLIP * self._step)
        return {
            "solref": _text([-k * part, -c * part]),
            "solreffriction": _text([-1.0, -slip]),  # friction has no place to return to
            "solimp": _text([_SPRING, _SPRING, 1e-3]),
        }

    def _mass(self, places: list[int]) -> float:
        """Return the mass [kg] that moves along the mean normal, what holds held."""
        terms = ContactTerms(self._scene)
        rest = np.zeros(self._scene.model.nv)
        at = terms(self._start, rest, rest, rest, rest, 0.0)
        b, w = terms.holding, terms.width
        normal = np.mean([at.J[b + w * i] for i in places], axis=0)
        J = np.vstack([at.J[:b], normal])
        push = np.mean([at.HJ[b + w * i] for i in places], axis=0)
        W = J @ np.vstack([at.HJ[:b], push]).T
        coupled = W[:b, b]
        freed = coupled @ np.linalg.lstsq(W[:b, :b], coupled, rcond=1e-10)[0] if b else 0.0
        return 1.0 / float(W[b, b] - freed)


def damping_ratio(restitution: float) -> float:
    """Return zeta of a spring with a damper that only pushes, for a restitution.

    After Schwager and Poeschel (2007): e = exp(-z / s (pi - atan2(2 z s, s^2 - z^2))) with
    s^2 = 1 - z^2; what asks for more than zeta = 1 gets that, which leaves 0.135.
    """

    def kept(z: float) -> float:
        s = np.sqrt(1.0 - z * z)
        return float(np.exp(-z / s * (np.pi - np.arctan2(2.0 * z * s, s * s - z * z))))

    largest = 1.0 - 1e-6
    if restitution <= kept(largest):
        return 1.0
    return float(brentq(lambda z: kept(z) - restitution, 0.0, largest))


class Geom(NamedTuple):
    """A part of a surface: a shape of MuJoCo's with its sizes, its place and its axes (3, 3)."""

    name: str
    kind: str
    size: list[float]
    at: Array
    axes: Array


def surface_geoms(name: str, surface: PointFunction) -> list[Geom]:
    """Return what a surface is made of, by the radius of points deeper than it is.

    Round holes are rings of flats, which touch the circle.

    Raises:
        RobotDynamicsError: If it is not translated.
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
    raise RobotDynamicsError(
        f"surface {name!r} is no shape of MuJoCo's, expected a plane, a hole, or a sphere or a "
        "cylinder that is touched from outside."
    )


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
    """Return axes (3, 3) of which the third is given."""
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
        parent, "geom", name=name, type=kind, size=_text(size), pos=_text(at),
        quat=_text([w, x, y, z]), mass="0", contype="0", conaffinity="0",
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
        friction=_text(np.maximum(friction, 1e-5)), **given,
    )  # fmt: skip


def _text(values: object) -> str:
    return " ".join(repr(float(value)) for value in values)  # type: ignore[attr-defined]
