# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A scene with contacts as a MuJoCo model: connects, welds, small spheres on faces and surfaces.

Contacts are pairs by name: nothing else collides. A finger's point is a small sphere on the tool
and its face a thin box on the object; points of the object are small spheres as well, and the
surfaces lie that much deeper, so that contact begins where the points are.
"""

from __future__ import annotations

import numpy as np
from lxml import etree
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.hybrid import FrictionCone
from robot_dynamics.simulation.contact.scene import ContactScene, Material
from robot_dynamics.simulation.contact.surfaces import Cylinder, Plane, PointFunction, Sphere
from robot_dynamics.simulation.contact.terms import ContactTerms
from robot_dynamics.simulation.mujoco_model import STIFF, add_tool, add_weld, mujoco_tree

Array = NDArray[np.float64]

_POINT = 5e-4  # radius of the spheres that stand for points [m]
_THICKNESS = 5e-3  # half of a face's box [m]
_ENDLESS = 10.0  # half lengths of what has no end [m]
_APART = 0.05  # of the two connects that make a pin or a line [m]
_TANGENT_STIFFNESS = 10.0  # of friction over that of normals, MuJoCo's impratio
# Time constant of rigid contacts over that of welds: sliding ones, which MuJoCo lifts by mu times
# their speed, fall back within it, the more quietly the longer it is.
_SOFTER = 5.0
# Half a period of a rigid bounce, in steps.
_STEPS_PER_BOUNCE = 20.0
# Impedance of elastic contacts. MuJoCo adds d / (1 - d) of the object's mass to what moves, and
# with an impedance near one, which is its default, a load presses nothing in: what slides, and is
# lifted by friction, then leaves the surface at once.
_SPRING = 0.01
# Time constant in steps with which friction on elastic surfaces stops a slip: the lift falls with
# it, the creep of what sticks grows.
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
    compliance = _Compliance(scene, start, step, stiffness_time)
    place = 0
    for i, (arm, contact) in enumerate(zip(system.arms, scene.contacts, strict=True)):
        tool = add_tool(system, arm, bodies, sensor)
        frame = contact.contact.pose
        if contact.pushing:
            finger = scene.finger_frames[i]
            center = finger[:3, 3] - _POINT * finger[:3, 2]
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
            axis = 2 if contact.contact.kind == "pin" else 0
            for side in (-1, 1):
                name, at = f"{arm.name}_{'before' if side < 0 else 'after'}", np.zeros(3)
                at[axis] = side * _APART
                for element, pose, end in (
                    (tool, scene.finger_frames[i], "tool"),
                    (held, frame, "object"),
                ):
                    point = _text(pose[:3, :3] @ at + pose[:3, 3])
                    etree.SubElement(element, "site", name=f"{name}_{end}", pos=point)
                etree.SubElement(
                    equality, "connect", site1=f"{name}_tool", site2=f"{name}_object",
                    solref=f"{stiffness_time!r} 1", solimp=STIFF,
                )  # fmt: skip
        else:
            raise RobotDynamicsError(
                f"{system.model.name}: in MuJoCo arm {arm.name!r} would hold by directions of the "
                "user's own, expected one of the named kinds."
            )
    world = root.find("worldbody")
    assert world is not None
    for surface in scene.surfaces:
        _surface(world, surface.name, surface.surface)
        places = list(range(place, place + len(surface.points)))
        given = compliance.of(places, surface.material)
        cone = FrictionCone(surface.material.friction.friction)
        for j, point in enumerate(surface.points):
            name = f"{surface.name}_point{j}"
            _sphere(held, name, point)
            _pair(pairs, name, name, surface.name, cone, given)
        place += len(places)
    return etree.tostring(root, pretty_print=True).decode()


class _Compliance:
    """What MuJoCo is told of a material.

    With an impedance d and solref (-k, -b) a contact's acceleration along its normal is
    (1 - d) of that without it less d (k r + b v) / d, where the force counts as that of the
    object's mass m alone: a spring of k m / (1 - d) with a damper of b m / (1 - d), and a mass of
    d m / (1 - d) that moves along while they push.
    """

    def __init__(
        self, scene: ContactScene, start: Array, step: float, stiffness_time: float
    ) -> None:
        self._scene, self._start = scene, start
        self._step, self._time = step, stiffness_time

    def of(self, places: list[int], material: Material) -> dict[str, str]:
        """Return attributes of contacts that are loaded together, by their places."""
        if material.elastic:
            return self._spring(places, material)
        if material.restitution > 0.0:
            k = (np.pi / (_STEPS_PER_BOUNCE * self._step)) ** 2
            b = 2.0 * damping_ratio(material.restitution) * np.sqrt(k)
            return {"solref": _text([-k, -b]), "solimp": STIFF}
        return {"solref": _text([_SOFTER * self._time, 1.0]), "solimp": STIFF}

    def _spring(self, places: list[int], material: Material) -> dict[str, str]:
        """Return those of a spring and a damper, of the restitution with the mass behind them."""
        system = self._scene.system
        part = (1.0 - _SPRING) / float(system.model.bodies[system.object_body].inertia.mass)
        k, n = material.stiffness, len(places)
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


def _surface(world: etree._Element, name: str, surface: PointFunction) -> None:
    """Add a surface to the world, by the radius of points deeper than it is."""
    if isinstance(surface, Plane):
        n = np.array(list(surface.normal), dtype=float)
        point = np.array(list(surface.point), dtype=float) - _POINT * n
        _geom(world, name, "plane", [0.0, 0.0, 1.0], point, _across(n))
    elif isinstance(surface, Sphere) and not surface.inside:
        center = np.array(list(surface.center), dtype=float)
        _geom(world, name, "sphere", [surface.radius - _POINT], center, np.eye(3))
    elif isinstance(surface, Cylinder) and not surface.inside:
        axis = np.array(list(surface.axis), dtype=float)
        point = np.array(list(surface.point), dtype=float)
        size = [surface.radius - _POINT, _ENDLESS]
        _geom(world, name, "cylinder", size, point, _across(axis))
    else:
        raise RobotDynamicsError(
            f"in MuJoCo surface {name!r} would be another one, expected a plane, a sphere or a "
            "cylinder that is touched from outside."
        )


def _across(z: Array) -> Array:
    """Return axes (3, 3) of which the third is given."""
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _sphere(parent: etree._Element, name: str, center: Array) -> None:
    _geom(parent, name, "sphere", [_POINT], center, np.eye(3))


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
