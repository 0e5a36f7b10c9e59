# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contacts of a scene in MuJoCo: reports, planes that follow points, hinges.

`TangentPlanes` stand for surfaces without a shape in MuJoCo: under each point of the object a
plane follows, tangent to the surface where the point is nearest to it, to first order: the
surface's function is divided by the length of its gradient there. Over a step a point moves by a
few hundredths of a millimetre, so that plane and surface differ by less than a thousandth of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics import spatial
from robot_dynamics.arrays import Array, cross, length
from robot_dynamics.compile import Kernel, Program, compile_program, trace
from robot_dynamics.compile.routine import Call, Matrix, routine
from robot_dynamics.contact.surfaces import PointFunction, gap_and_normal
from robot_dynamics.simulation.contact.environment_joints import EnvironmentJoint
from robot_dynamics.simulation.contact.report import (
    ContactMode,
    ContactReport,
    held,
)
from robot_dynamics.simulation.mujoco_arms import mode_of
from robot_dynamics.simulation.mujoco_model import surface_geoms, tangent_names
from robot_dynamics.simulation.scene import Scene
from robot_dynamics.spatial import Vector3

_IMPEDANCES = (1e-4, 0.9999)  # MuJoCo's bounds.


class MujocoContacts:
    """Observes contacts of the object with surfaces in MuJoCo.

    Args:
        engine: The module.
        model: MuJoCo's model of the scene.
        data: Its state.
        scene: The scene.
    """

    #: What changes from step to step.
    STATE = ("_impacts", "_pressed", "_count")

    def __init__(self, engine: Any, model: Any, data: Any, scene: Scene) -> None:
        self._engine, self._model, self._data = engine, model, data
        self._xpos = data.xpos  # a view, as of the engine
        self._kind = engine.mjtObj.mjOBJ_XBODY
        self._object = model.body(scene.model.bodies[scene.system.object_body].name).id
        self._surface_of = {
            model.geom(name).id: surface.name
            for surface in scene.surfaces
            for name in tangent_names(surface)
            or [part.name for part in surface_geoms(surface.name, surface.surface)]
        }
        self._cones = {
            surface.name: replace(surface.material.friction, torsion=0.0)
            for surface in scene.surfaces
        }
        self._impacts = {surface.name: 0 for surface in scene.surfaces}
        self._pressed: set[str] = set()
        self._count = 0

    @property
    def watches(self) -> bool:
        """Whether `stepped` observes anything."""
        return bool(self._surface_of)

    def stepped(self) -> None:
        """Count new touches after a step of the engine."""
        pressed: set[str] = set()
        count = self._data.ncon
        if count == self._count:  # who has come or gone changes the number
            return
        self._count = count
        if count:
            contact = self._data.contact
            geoms = contact.geom[contact.dist < 0.0].ravel().tolist()
            pressed = {self._surface_of[geom] for geom in geoms if geom in self._surface_of}
        for name in pressed - self._pressed:
            self._impacts[name] += 1
        self._pressed = pressed

    def surfaces(self) -> list[ContactReport]:
        """Return one report for each touching point of the surfaces."""
        data, wrench = self._data, np.zeros(6)
        found = []
        for i in range(data.ncon):
            one = data.contact[i]
            pair = (int(one.geom1), int(one.geom2))
            name = next((self._surface_of[g] for g in pair if g in self._surface_of), None)
            if name is None or one.dist >= 0.0:
                continue
            self._engine.mj_contactForce(self._model, data, i, wrench)
            # From the first geom to the second, in axes whose first row is the normal.
            sign = 1.0 if pair[0] in self._surface_of else -1.0
            n, t1, t2 = one.frame.reshape(3, 3)
            axes = np.array([sign * t1, t2, sign * n])
            force = np.array([wrench[1], sign * wrench[2], wrench[0]])
            rates = self._velocity(self._object, one.pos)
            cone = self._cones[name]
            used = cone.used_by_one([0.0, 0.0, 0.0, *force.tolist()])
            found.append(
                ContactReport(
                    name, mode_of(force[2] > 0.0, used), one.pos.copy(), axes, force, np.zeros(3),
                    axes[:2] @ rates[3:], 0.0, float(one.dist), cone, self._impacts[name],
                )
            )  # fmt: skip
        told = {one.name for one in found}
        rest = np.zeros(3)
        for name in self._impacts:
            if name not in told:
                found.append(
                    ContactReport(
                        name, ContactMode.OPEN, rest, np.eye(3), rest, rest, np.zeros(2), 0.0,
                        np.inf, self._cones[name], self._impacts[name],
                    )
                )  # fmt: skip
        return found

    def _velocity(self, body: int, point: Array) -> Array:
        """Return angular and linear velocity (6,) in world axes of a body's point."""
        result = np.zeros(6)
        self._engine.mj_objectVelocity(self._model, self._data, self._kind, body, result, 0)
        result[3:] += cross(result[:3], point - self._xpos[body])
        return result


class TangentPlanes:
    """Planes that follow the points of an object along surfaces without a shape.

    Args:
        model: MuJoCo's model of the scene.
        data: Its state.
        scene: The scene.
        object_q: Index of the object in MuJoCo's qpos.
        depth: Depth of the planes below the surface [m].
    """

    def __init__(self, model: Any, data: Any, scene: Scene, object_q: slice, depth: float) -> None:
        self._data, self._object_q, self._depth = data, object_q, depth
        self._at = [
            int(model.body(name).mocapid[0])
            for surface in scene.surfaces
            for name in tangent_names(surface)
        ]
        if self._at:
            self._feet = _compiled(list(_points(scene)))

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return bool(self._at)

    def follow(self) -> None:
        """Move the planes to the current points."""
        if not self._at:
            return
        x, (w, *v) = self._data.qpos[self._object_q][:3], self._data.qpos[self._object_q][3:]
        feet, normals = self._feet(x, Rotation.from_quat([*v, w]).as_matrix())
        for at, foot, n in zip(self._at, feet, normals, strict=True):
            self._data.mocap_pos[at] = foot - self._depth * n
            # The shortest turn of z to the normal, half a turn about x where that is opposite.
            turn = np.array([1.0 + n[2], -n[1], n[0], 0.0])
            size = np.linalg.norm(turn)
            self._data.mocap_quat[at] = turn / size if size > 1e-6 else [0.0, 1.0, 0.0, 0.0]


def _points(scene: Scene) -> Iterator[tuple[PointFunction, list[float]]]:
    """Yield surface and place in the object of each point that a plane follows."""
    for surface in scene.surfaces:
        if tangent_names(surface):
            for point in surface.points.tolist():
                yield surface.surface, point


def _compiled(points: list[tuple[PointFunction, list[float]]]) -> Any:
    """Return `(x, R) -> feet (k, 3), normals (k, 3)` of points of a body with that pose."""

    def run(x: Any, R: Any, _: Any) -> dict[str, Any]:
        found = []
        for surface, point in points:
            along = (sum(r * c for r, c in zip(row, point, strict=True)) for row in R)
            place = Vector3.of(x) + Vector3.of(list(along))
            gap, n = gap_and_normal(surface, place)
            found.append(([*(place - n * gap)], [*n]))  # the nearest place, to first order
        return {"feet": [foot for foot, _ in found], "normals": [n for _, n in found]}

    return compile_program(trace(run, "tangents", {"x": 3, "R": (3, 3)}), lanes=1).bind()


class MujocoPads:
    """Moments of the pads of soft fingers, passed to MuJoCo as applied torques.

    Attributes:
        any: Whether there is one.

    Args:
        model: MuJoCo's model of the scene.
        data: Its state, at the start.
        scene: The scene.
        wrenches: By the arms on the object in the last step, in tool frames (k, 6); is read.
    """

    #: What changes from step to step.
    STATE = ("axes",)

    def __init__(self, model: Any, data: Any, scene: Scene, wrenches: Array) -> None:
        arms = [scene.pushing[c] for c, _ in scene.pads]
        self.any, self._axes = bool(arms), np.zeros((len(arms), 3))
        if not arms:
            return
        held = model.body(scene.model.bodies[scene.system.object_body].name).id
        tools = [model.body(f"{scene.system.arms[i].name}_tool_frame").id for i in arms]
        # Views of MuJoCo's memory, which stays where it is: looked up once, as this is done in
        # every step of the engine.
        xmat, applied = data.xmat, data.xfrc_applied
        self._last, self._next = self._axes.copy(), self._axes.copy()
        read = [xmat[held], *(xmat[tool] for tool in tools), wrenches, self._last]
        written = [self._next, applied[held, 3:], *(applied[tool, 3:] for tool in tools)]
        program = _pads_program(scene, float(model.opt.timestep))
        self._find = compile_program(program, lanes=1).bind_arrays(None, read, written)
        self._find()
        self._axes[:] = self._next
        for torque in written[1:]:
            torque[:] = 0.0

    @property
    def axes(self) -> Array:
        """Axes of the fingers after the last step, in the frames of their contacts (p, 3)."""
        return self._axes

    @axes.setter
    def axes(self, axes: Array) -> None:
        self._axes[:] = axes

    @property
    def apply(self) -> Call:
        """Apply the moments over the next step of the engine."""
        return apply_pads.bind(self._find, self._axes, self._last, self._next)


@routine
def add_to(total: Matrix, more: Matrix) -> None:
    """Add to a sum."""
    for i in range(len(total)):
        for k in range(total.shape[1]):
            total[i, k] += more[i, k]


@routine
def apply_pads(find: Call, axes: Matrix, last: Matrix, now: Matrix) -> None:
    """Find the axes of fingers now and their moments, from the axes a step ago."""
    for i in range(len(axes)):
        for k in range(3):
            last[i, k] = axes[i, k]
    find()
    for i in range(len(axes)):
        for k in range(3):
            axes[i, k] = now[i, k]


def _pads_program(scene: Scene, step: float) -> Program:
    """Return `(R, R_1, ..., R_p, wrenches, last) -> axes (p, 3), on_object (3,), on_1 ... on_p`.

    R (9,) and R_i (9,) are orientations of the object and of the pads' tools in the world;
    wrenches (k, 6) act on the object, in tool frames. Axes are the fingers' z in their contacts'
    frames, `last` (p, 3) the axes a step ago. Torques in world axes act on the object and the
    tools of p pads.
    """
    pads = [(scene.pushing[c], pad) for c, pad in scene.pads]

    def run(R: Any, *more: Any) -> dict[str, Any]:
        *turns, wrenches, last, _ = more
        of_object = spatial.Rotation.of([R[0:3], R[3:6], R[6:9]])  # to world axes
        axes, torques = [], []
        for (i, pad), turn, before in zip(pads, turns, last, strict=True):
            contact = spatial.Rotation.of(scene.contacts[i].contact.pose[:3, :3].tolist())
            finger = scene.finger_frames[i][:3, 2].tolist()
            tool = spatial.Rotation.of([turn[0:3], turn[3:6], turn[6:9]])
            to_world = of_object.compose(contact)
            axis = list(to_world.inverse_times(tool * Vector3.of(finger)))
            normal = to_world.inverse_times(tool * Vector3.of(wrenches[i][3:])).z
            rate = [(before[1] - axis[1]) / step, (axis[0] - before[0]) / step]
            m_x, m_y = pad.moments(axis, rate, normal)
            axes.append(axis)
            torques.append(to_world * Vector3(m_x, m_y, 0.0))
        on_object = sum(torques[1:], torques[0])
        on_tools = {f"on_{i}": [*-torque] for i, torque in enumerate(torques, 1)}
        return {"axes": axes, "on_object": [*on_object], **on_tools}

    p = len(pads)
    inputs: dict[str, int | tuple[int, ...]]
    inputs = {"R": 9, **{f"R_{i}": 9 for i in range(p)}}
    inputs |= {"wrenches": (len(scene.contacts), 6), "last": (p, 3)}
    return trace(run, "pads", inputs)


class MujocoEnvironmentJoints:
    """Observes the hinges and lines of a scene in MuJoCo, and turns their yokes along.

    Args:
        engine: The module.
        model: MuJoCo's model of the scene.
        data: Its state.
        scene: The scene.
    """

    #: What changes from period to period.
    STATE = ("_wrenches", "_resisted")

    def __init__(self, engine: Any, model: Any, data: Any, scene: Scene) -> None:
        self._data, self._environment_joints = data, scene.environment_joints
        self._body = model.body(scene.model.bodies[scene.system.object_body].name).id
        first = int(model.jnt_qposadr[model.body_jntadr[self._body]])
        starts = [
            int(model.sensor(f"{one.name}_moment").adr[0]) for one in self._environment_joints
        ]
        # Views of moment and force, as of the engine.
        self._felt = [data.sensordata[at : at + 6].reshape(1, 6) for at in starts]
        self._of_tendons = int(engine.mjtConstraint.mjCNSTR_FRICTION_TENDON)
        self._resisting = {
            int(model.tendon(f"{one.name}_{word}").id): i
            for i, one in enumerate(self._environment_joints)
            for word in ("friction", "damping")
            if getattr(one, word) > 0.0
        }
        for one in self._environment_joints:
            if one.damping > 0.0:
                _damp(model, model.tendon(f"{one.name}_damping").id, one.damping)
        pose = data.qpos[first : first + 7]
        self._yokes = []
        for one in self._environment_joints:
            if one.resists and one.kind == "hinge":
                at = int(model.body(f"{one.name}_yoke").mocapid[0])
                turn = _compiled_yoke(one.part)
                self._yokes.append(
                    turn.bind_arrays(None, [pose], [data.mocap_pos[at], data.mocap_quat[at]])
                )
        self._before = -1, -1
        self._sum, self._count = np.zeros((len(self._felt), 6)), 0
        rows = [self._sum[i : i + 1] for i in range(len(self._felt))]
        self._adds = [add_to.bind(*pair) for pair in zip(rows, self._felt, strict=True)]
        self._wrenches = np.zeros_like(self._sum)
        self._resisted_sum = np.zeros(len(self._felt))
        self._resisted = np.zeros_like(self._resisted_sum)
        self._follow()

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return bool(self._felt)

    def stepped(self) -> None:
        """Record the forces after a step of the engine."""
        data = self._data
        for add in self._adds:
            add()
        if self._resisting:
            if (data.ne, data.nf) != self._before:  # rows of friction follow the equalities
                self._before = data.ne, data.nf
                self._rows = np.flatnonzero(data.efc_type == self._of_tendons)
                self._of_rows = [self._resisting[int(i)] for i in data.efc_id[self._rows]]
            forces = data.efc_force[self._rows].tolist()
            for i, force in zip(self._of_rows, forces, strict=True):
                self._resisted_sum[i] += force
        self._count += 1
        self._follow()

    def _follow(self) -> None:
        """Turn the yokes to the current pose of the object."""
        for turn in self._yokes:
            turn()

    def take(self) -> None:
        """Set the forces of a control period to the mean over its steps."""
        if not self._felt:
            return
        steps = max(self._count, 1)
        self._wrenches, self._resisted = self._sum / steps, self._resisted_sum / steps
        self._sum[:], self._resisted_sum[:], self._count = 0.0, 0.0, 0

    def openings(self) -> tuple[float, float]:
        """Return their largest closure errors [m], [rad]."""
        position = rotation = 0.0
        for one in self._environment_joints:
            off = one.frame[:3, :3].T @ (self._place(one) - one.frame[:3, 3])
            if one.kind == "line":
                position = max(position, float(np.hypot(*off[:2])))
                continue
            turned = self._data.xmat[self._body].reshape(3, 3) @ one.part[:3, 2]
            tilt = length(cross(turned, one.frame[:3, 2]))
            position, rotation = max(position, length(off)), max(rotation, tilt)
        return position, rotation

    def reports(self) -> list[ContactReport]:
        """Return a report of each."""
        found = []
        for one, wrench, resisted in zip(
            self._environment_joints, self._wrenches, self._resisted, strict=True
        ):
            axes, point = one.frame[:3, :3].T, self._place(one)
            # As at a wrist, what the base's parent exerts; about the part, where it is now.
            about = wrench.copy()
            about[:3] -= cross(axes @ (point - one.frame[:3, 3]), wrench[3:])
            exerted = np.zeros(6)
            exerted[list(one.components)] = about[list(one.components)]
            exerted[one.free] = resisted
            found.append(held(one.name, point, axes, exerted[3:], exerted[:3]))
        return found

    def _place(self, one: EnvironmentJoint) -> Array:
        turn = self._data.xmat[self._body].reshape(3, 3)
        return np.asarray(self._data.xpos[self._body] + turn @ one.part[:3, 3])


def _compiled_yoke(part: Array) -> Kernel:
    """Return `pose -> place (3,), turn (4,)` of a frame (4, 4) in a body, w x y z as in MuJoCo."""
    px, py, pz, pw = Rotation.from_matrix(part[:3, :3]).as_quat().tolist()

    def run(pose: Any, _: Any) -> dict[str, Any]:
        w, x, y, z = pose[3:]
        at = spatial.Rotation.from_quaternion(x, y, z, w).inverse_times(
            Vector3.of(part[:3, 3].tolist())
        )
        turn = [
            w * pw - x * px - y * py - z * pz,
            w * px + x * pw + y * pz - z * py,
            w * py - x * pz + y * pw + z * px,
            w * pz + x * py - y * px + z * pw,
        ]
        return {"place": [*(Vector3.of(pose[:3]) + at)], "turn": turn}

    return compile_program(trace(run, "yoke", {"pose": 7}), lanes=1)


def _damp(model: Any, tendon: int, damping: float) -> None:
    """Make a tendon damp by its rate at the end of the step, for any damping.

    MuJoCo's friction is f = -(a + b v) / R within its bound, with R = (1 - d) / d of the mobility
    A there. With h b = 1 and h R damping = 1 that is -damping (v + h a); d is bounded.
    """
    h, A = float(model.opt.timestep), float(model.tendon_invweight0[tendon])
    d = float(np.clip(1.0 - 1.0 / (1.0 + h * damping * A), *_IMPEDANCES))
    b = min(damping * A * (1.0 - d) / d, 1.0 / h)
    model.tendon_solimp_fri[tendon, :2] = d
    # Negative values are meant literally: stiffness, which friction does not have, and damping.
    model.tendon_solref_fri[tendon] = [-1.0, -b * d]
