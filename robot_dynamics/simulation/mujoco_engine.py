# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo as an independent engine: same masses, its own dynamics and contacts.

Its equalities are stiff springs, not constraints: grasps give way a little, which limits how well
the internal force can follow.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from operator import mul
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array, Mask, cross, length
from robot_dynamics.compile import load_kernel, trace
from robot_dynamics.compile.routine import Call, nothing
from robot_dynamics.description.orientations import rotation_of_quaternion
from robot_dynamics.errors import ArgumentError, optional_package
from robot_dynamics.manipulation.jointed_object.joint_space import world_triples
from robot_dynamics.scalar.functions import sqrt
from robot_dynamics.simulation.contact.report import ContactMode, ContactReport
from robot_dynamics.simulation.drives import drives_of
from robot_dynamics.simulation.engine import SceneEngine, Truth, copied, restore
from robot_dynamics.simulation.mujoco_arms import MujocoArms
from robot_dynamics.simulation.mujoco_contacts import (
    MujocoContacts,
    MujocoEnvironmentJoints,
    MujocoPads,
    TangentPlanes,
    add_to,
)
from robot_dynamics.simulation.mujoco_model import (
    POINT,
    UNBOUNDED,
    addresses,
    count_arms,
    mass_properties,
    mujoco_xml,
)
from robot_dynamics.simulation.mujoco_steps import LibraryCall, advance, in_turn
from robot_dynamics.simulation.rigid_engine import carrying_map
from robot_dynamics.simulation.scene import APART, Scene
from robot_dynamics.simulation.settings import PlantSettings

# MuJoCo keeps a constraint's time constant at two steps or more; less is not stable.
_STEPS_PER_TIME_CONSTANT = 2.0
_STIFFEST = 0.9999  # MuJoCo's largest impedance
_ROWS = ("rx", "ry", "rz", "x", "y", "z")


class MujocoEngine(SceneEngine):
    """A scene in MuJoCo.

    Bilateral contacts give way by 1e-4 of a load's acceleration, with a time constant of two
    steps; a point on a line takes a carriage of a tenth of a gram along. Pushing contacts are
    springs with a damper for the restitution with the masses at the start; rigid ones have the
    stiffness `mujoco_model.HARDEST`.

    Wrist sensors show the force at the end of a control period; if contacts may open, its mean
    over the period, so that impacts are measured.

    Args:
        scene: Arms, object and their contacts, with their true properties.
        start: Positions (nq,) of the start: grasps that hold are closed, pushing contacts can be
            apart.
        period: Control period [s].
        settings: Step (`mujoco_step_s`) and friction.

    Raises:
        RobotDynamicsError: If MuJoCo is not installed, or a part of the scene is not translated
            for it.
        ArgumentError: If the control period is not a whole number of steps.
    """

    def __init__(self, scene: Scene, start: Array, period: float, settings: PlantSettings) -> None:
        self._mujoco = optional_package("mujoco", "plants with the engine 'mujoco'", "mujoco")
        system = scene.system
        self.scene, self.system, self._start = scene, system, start
        self.drives = drives = drives_of(system, settings)
        self.substeps = settings.steps("mujoco_step_s", period)
        step = period / self.substeps
        xml = mujoco_xml(scene, self._start, step, _STEPS_PER_TIME_CONSTANT * step)
        self._model: Any = self._mujoco.MjModel.from_xml_string(xml)
        count_arms(self._model, float(system.model.bodies[system.object_body].inertia.mass))
        self._data: Any = self._mujoco.MjData(self._model)
        # Views of MuJoCo's memory, which stays where it is.
        self._qpos, self._qvel = self._data.qpos, self._data.qvel
        self._applied, self._sensors = self._data.qfrc_applied, self._data.sensordata
        self._driven_at = addresses(self._model, system.joint_names)
        names = (*system.joint_names, *system.passive_joint_names)
        _, self._friction_at = addresses(self._model, names)
        self._smooth, dry = drives.friction, np.zeros(len(names))
        if settings.joint_friction == "coulomb":
            self._smooth, dry = dry, drives.friction
            self._rub(self._friction_at, dry)
        self._dry = dry[: len(system.joint_names)]
        self._passive_at = addresses(self._model, system.passive_joint_names)
        self._torque, self._pushed = np.zeros(len(names)), np.zeros(self._model.nv)
        self._drive = self._driving()
        joints = [
            (body.joint.name, at.start)
            for body, at in zip(system.model.bodies, system.model.q_slices, strict=True)
            if body.joint.type.nq == 1
        ]
        self._tree_from = [at for _, at in joints]
        self._tree_q, _ = addresses(self._model, tuple(name for name, _ in joints))
        self._bodies = system.object_bodies if scene.holds_object else ()
        self._places = [self._free_body(body) for body in self._bodies]
        self._tool_sites = [
            (self._model.site(f"{arm.name}_tool").id, self._model.site(f"{arm.name}_grasp").id)
            for arm in (system.arms if scene.holds_object else ())
        ]
        welds = scene.grippers if scene.holds_object else ()
        self._welds = {i: self._model.equality(f"{system.arms[i].name}_weld").id for i in welds}
        # Grasps move on the object where grippers close beside them.
        self._model.site_sameframe[[grasp for _, grasp in self._tool_sites]] = 0
        self._stated_sites = self._model.site_pos.copy(), self._model.site_quat.copy()
        first = int(self._model.sensor(f"{system.arms[0].name}_moment").adr[0])
        count = len(system.arms)
        # From the child, which is the tool's frame, to its parent: the arm on the object.
        self._felt = self._sensors[first : first + 6 * count].reshape(count, 6)
        self._sum = np.zeros((count, 6))  # of the readings after each step of a period
        self._calls = {
            name: LibraryCall(self._mujoco, name, self._model, self._data)
            for name in ("mj_step", "mj_step2", "mj_forward")
        }
        self._joint = (
            _MujocoObjectJoint(system.internal_axes, self._model) if self._jointed else None
        )

    def truth(self, torque: Array) -> Truth:
        """Return the true state, given the torque (na,) that was applied."""
        torque = torque.copy()
        if not self._bodies:  # no grasp is open, and the object stays where it is
            pose = self._start[self.system.object_q]
            nothing = np.zeros(len(self.system.internal_axes))
            return Truth.of(pose, np.zeros(6), nothing, (0.0, 0.0, 0.0), torque)
        position, rotation = self._openings()
        (pose, twist), *second = (self._motion_of(*place) for place in self._places)
        if self._joint is None:
            force = self.scene.grasp_map.internal_force(self._wrenches.ravel())
        else:
            force = self._joint.force.copy()
        gaps = position, rotation, 0.0
        return Truth.of(pose, twist, force, gaps, torque, second[0] if second else ())

    def passive_joints(self) -> tuple[Array, Array]:
        """Return positions and velocities of the joints without drives."""
        q_at, v_at = self._passive_at
        return self._data.qpos[q_at].copy(), self._data.qvel[v_at].copy()

    def contacts(self) -> tuple[ContactReport, ...]:
        """Return a report of each contact: arms, points, environment joints; empty if all hold."""
        if self.scene.rigid:
            return ()
        contacts, joints = self._contacts, self._environment_joints
        arms = self._arms.reports(self._wrenches)
        for arm, weld in self._welds.items():
            if not self._data.eq_active[weld]:
                gap, _ = _gap(self._data, *self._tool_sites[arm])
                arms[arm] = arms[arm]._replace(state=ContactMode.OPEN, gap=gap)
        return (*arms, *contacts.surfaces(), *joints.reports())

    @property
    def _jointed(self) -> bool:
        return self.scene.holds_object and self.system.object_loop_joint is not None

    def begin(self) -> None:
        """Return to the start, at rest."""
        data, system, scene = self._data, self.system, self.scene
        self._evaluated = False  # whether nothing has changed since `mj_forward`
        self._mujoco.mj_resetData(self._model, data)
        self._place_sites(self._stated_sites)
        # All of them: passive joints are where the internal closed chains are closed.
        data.qpos[self._tree_q] = self._start[self._tree_from]
        for body, (at, _) in zip(self._bodies, self._places, strict=True):
            x, y, z, qx, qy, qz, qw = self._start[system.model.q_slices[body]]
            data.qpos[at] = [x, y, z, qw, qx, qy, qz]
        self._mujoco.mj_forward(self._model, data)
        for arm, weld in self._welds.items():
            data.eq_active[weld] = max(_gap(data, *self._tool_sites[arm])) <= APART
        self._wrenches = self._resting_wrenches()
        self._sum[:] = 0.0
        if self._joint is not None:
            self._joint.force = np.zeros(len(system.internal_axes))
        if scene.rigid:
            self._bind(self._drive, [])
            return
        self._tangents = TangentPlanes(self._model, data, scene, self._places[0][0], POINT)
        self._tangents.follow()
        self._mujoco.mj_forward(self._model, data)
        self._pads = MujocoPads(self._model, data, scene, self._felt)
        self._arms = MujocoArms(self._model, data, scene)
        self._contacts = MujocoContacts(self._mujoco, self._model, data, scene)
        self._environment_joints = MujocoEnvironmentJoints(self._mujoco, self._model, data, scene)
        before = self._drive
        if self._pads.any:
            before = in_turn.bind(before, self._pads.apply)
        looks = (
            (self._tangents.any, self._tangents.follow),
            (self._contacts.watches, self._contacts.stepped),
            (self._environment_joints.any, self._environment_joints.stepped),
        )
        add = add_to.bind(self._sum, self._felt)
        self._bind(before, [add, *(look for any_, look in looks if any_)])

    def _bind(self, before: Call, after: Sequence[Call]) -> None:
        """Bind the steps of a period to what is done before and after each of them."""
        mj, after_step = self._calls, nothing.bind()
        for call in after:
            after_step = in_turn.bind(after_step, call)
        # What positions and velocities determine may be known since the end of the last period.
        self._advance = {
            evaluated: advance.bind(
                before, mj["mj_step2" if evaluated else "mj_step"], mj["mj_step"], after_step,
                mj["mj_forward"], self.substeps,
            )
            for evaluated in (False, True)
        }  # fmt: skip

    def run(self, time: float, torque: Array, wrenches: Mapping[str, Array] | None = None) -> None:
        """Advance by one control period; see `Engine.run`."""
        if wrenches:
            self._pushed[:] = self._push(wrenches)
            torque = torque + self._pushed[self._friction_at]
        self._torque[:] = torque
        self._advance[self._evaluated]()
        self._evaluated = True
        if wrenches:  # sensors have felt them
            self._applied[:] = self._pushed[:] = 0.0
        if self.scene.rigid:
            self._wrenches = self._felt.copy() if self._bodies else np.zeros_like(self._felt)
        else:
            self._wrenches = self._sum / self.substeps
            self._sum[:] = 0.0
            self._environment_joints.take()
        if self._joint is not None:
            self._joint.read(self._data)

    def _driving(self) -> Callable[[], Any]:
        """Return a function that applies torques, friction of the joints and external forces.

        Friction is the torque -c v with c = d + F / sqrt(v^2 + v_0^2). For joints so light that
        this would need a shorter step it is MuJoCo's damping c instead, which its integrator takes
        implicitly; that bends constraints more, an error of first order.
        """
        drives, at, nv = self.drives, self._friction_at.tolist(), int(self._model.nv)
        n, slow = len(at), drives.friction_velocity
        largest = drives.damping + self._smooth / slow
        inverse_inertia = self._model.dof_invweight0[self._friction_at]
        is_light = largest * inverse_inertia * self._model.opt.timestep > 1.0

        def run(qvel: Any, torque: Any, pushed: Any, block: Any) -> dict[str, Any]:
            # Products are outputs, so that none is fused: the bits are of separate operations.
            viscous, friction, least = block[:n], block[n : 2 * n], block[2 * n]
            applied, damping, products = list(pushed), [0.0] * nv, []
            for i, j in enumerate(at):
                rate = qvel[j]
                square = rate * rate
                products.append(square)
                if is_light[i]:
                    applied[j] = torque[i]
                    damping[j] = viscous[i] + friction[i] / sqrt(square + least)
                    continue
                damped, rubbed = viscous[i] * rate, friction[i] * (rate / sqrt(square + least))
                applied[j] = torque[i] - (damped + rubbed)
                products += [damped, rubbed]
            return {"applied": applied, "damping": damping, "products": products}

        inputs = {"qvel": nv, "torque": n, "pushed": nv}
        program = trace(run, "mujoco_drives", inputs, 2 * n + 1)
        kernel = load_kernel(b"mujoco_drives\0" + program.fingerprint, lambda: program, lanes=1)
        block = [*drives.damping, *self._smooth, slow**2]
        given = [self._qvel, self._torque, self._pushed]
        products = np.zeros(3 * n - 2 * int(is_light.sum()))
        return kernel.bind_arrays(block, given, [self._applied, self._model.dof_damping, products])

    def stick(self, joints: Mask) -> None:
        """Have these arm joints (na,) stuck; see `SticksJoints`: by dry friction without end."""
        self._rub(self._driven_at[1], np.where(joints, UNBOUNDED, self._dry))
        self._evaluated = False

    def grip(self, arm: int, closed: bool) -> bool:
        """Close or open the rigid grasp of an arm; see `Grips`."""
        data, model, (tool, grasp) = self._data, self._model, self._tool_sites[arm]
        closed = closed and self.scene.contacts[arm].reaches(*_gap(data, tool, grasp))
        if closed and not data.eq_active[self._welds[arm]]:
            held = int(model.site_bodyid[grasp])
            R = data.xmat[held].reshape(3, 3)
            turn = R.T @ data.site_xmat[tool].reshape(3, 3)
            model.site_pos[grasp] = R.T @ (data.site_xpos[tool] - data.xpos[held])
            self._mujoco.mju_mat2Quat(model.site_quat[grasp], turn.ravel())
        elif not closed:
            now_at = model.site_pos, model.site_quat
            for now, stated in zip(now_at, self._stated_sites, strict=True):
                now[grasp] = stated[grasp]
        data.eq_active[self._welds[arm]] = closed
        self._evaluated = False
        self._mujoco.mj_forward(model, data)
        return closed

    def place(self, pose: Array, twist: Array) -> None:
        """Put the object elsewhere; see `PlacesObject`."""
        data = self._data
        if any(data.eq_active[weld] for weld in self._welds.values()):
            raise ArgumentError("a gripper holds the object, expected open ones to place it.")
        q, v = self._places[0]
        x, y, z, qx, qy, qz, qw = pose
        data.qpos[q] = [x, y, z, qw, qx, qy, qz]
        turn = rotation_of_quaternion(pose[3:].tolist()).T
        data.qvel[v] = [*twist[3:], *turn @ twist[:3]]  # linear in the world, angular in the body
        self._evaluated = False
        self._mujoco.mj_forward(self._model, data)

    def _place_sites(self, places: tuple[Array, Array]) -> None:
        """Set places (n, 3) and quaternions (n, 4) of all sites."""
        self._model.site_pos[:], self._model.site_quat[:] = places

    def _rub(self, at: Any, friction: Array) -> None:
        """Set the dry friction [N m or N] of velocities, as stiff as equalities."""
        self._model.dof_solref[at, 0] = _STEPS_PER_TIME_CONSTANT * self._model.opt.timestep
        self._model.dof_solimp[at, :2] = _STIFFEST
        self._model.dof_frictionloss[at] = friction

    def _push(self, wrenches: Mapping[str, Array]) -> Array:
        """Return the joint forces (nv,) of external wrenches."""
        data, forces = self._data, np.zeros(self._model.nv)
        for name, wrench in wrenches.items():
            link = self.system.model.link(name)
            body = self._model.body(self.system.model.bodies[link.body].name).id
            R = data.xmat[body].reshape(3, 3)
            origin = data.xpos[body] + R @ np.array([*link.placement.r])
            self._mujoco.mj_applyFT(
                self._model, data, wrench[3:], wrench[:3], origin, body, forces
            )
        return forces

    def save(self) -> tuple[Any, ...]:
        """Return copies of the variables."""
        sites = self._model.site_pos.copy(), self._model.site_quat.copy()
        engine = {"data": copy.copy(self._data), "sites": sites}
        parts = [copied(self, ("_wrenches",)), engine]
        if self._joint is not None:
            parts.append(copied(self._joint, ("force",)))
        if not self.scene.rigid:
            parts.append(copied(self._pads, MujocoPads.STATE))
            parts.append(copied(self._contacts, MujocoContacts.STATE))
            parts.append(copied(self._environment_joints, MujocoEnvironmentJoints.STATE))
        return tuple(parts)

    def restore(self, saved: Sequence[Any]) -> None:
        """Set the variables that `save` returned."""
        own, engine, *rest = saved
        restore(self, own)
        self._place_sites(engine["sites"])
        self._evaluated = False
        self._mujoco.mj_copyData(self._data, self._model, engine["data"])
        parts: list[object] = [] if self._joint is None else [self._joint]
        parts += [] if self.scene.rigid else [self._pads, self._contacts, self._environment_joints]
        for part, values in zip(parts, rest, strict=True):
            restore(part, values)

    def state(self) -> tuple[Array, Array]:
        """Return all positions and velocities, as MuJoCo orders them."""
        return self._qpos, self._qvel

    def sensed(self) -> tuple[Array, Array, Array]:
        """Return positions and velocities of the arm joints, and grasp wrenches (k, 6)."""
        q_at, v_at = self._driven_at
        return self._qpos[q_at], self._qvel[v_at], self._wrenches.copy()

    def _free_body(self, index: int) -> tuple[slice, slice]:
        """Return the indices of a free body in qpos and qvel."""
        joint = self._model.joint(self.system.model.bodies[index].joint.name)
        q, v = int(joint.qposadr[0]), int(joint.dofadr[0])
        return slice(q, q + 7), slice(v, v + 6)

    def _openings(self) -> tuple[float, float]:
        """Return the largest opening of grasps and joints that hold [m], [rad]."""
        loose = [arm for arm, weld in self._welds.items() if not self._data.eq_active[weld]]
        gaps = [
            _gap(self._data, *self._tool_sites[arm])
            for arm in (self.scene.holding if self._tool_sites else ())
            if arm not in loose
        ]
        if self._joint is not None:
            gaps.append(self._joint.gap(self._data))
        if not self.scene.rigid:
            gaps.append(self._environment_joints.openings())
        return max((gap[0] for gap in gaps), default=0.0), max(
            (gap[1] for gap in gaps), default=0.0
        )

    def _motion_of(self, q: slice, v: slice) -> tuple[Array, Array]:
        """Return pose (7,) and twist (6,) in the world of a body at indices of qpos and qvel."""
        x, y, z, qw, qx, qy, qz = self._qpos[q].tolist()
        rotation = rotation_of_quaternion((qx, qy, qz, qw))
        velocity = self._qvel[v]  # linear in the world, angular in the body
        twist = np.concatenate([rotation @ velocity[3:], velocity[:3]])
        return np.array([x, y, z, qx, qy, qz, qw]), twist

    def _resting_wrenches(self) -> Array:
        """Return the wrenches (k, 6) of arms on brakes: the load shared, or each arm's part.

        Zero if an arm is apart from the object, which stands on a surface then.
        """
        system = self.system
        apart = any(_gap(self._data, *sites)[0] > APART for sites in self._tool_sites)
        if apart or not self._bodies:
            return np.zeros((len(system.arms), 6))
        if self._jointed:
            parts = zip(system.arms, self._bodies, strict=True)
            return np.array([carrying_map(system, arm) @ self._weight(b) for arm, b in parts])
        distribution = self.scene.grasp_map.distribution
        return np.asarray((distribution @ self._weight(system.object_body)).reshape(-1, 6))

    def _weight(self, index: int) -> Array:
        """Return the wrench (6,) that supports a body at rest, in its own frame."""
        model = self.system.model
        body = model.bodies[index]
        mass, center, _ = mass_properties(body.inertia)
        turn = self._data.xmat[self._model.body(body.name).id].reshape(3, 3)
        up = -mass * (turn.T @ np.array(model.gravity))
        return np.concatenate([np.cross(center, up), up])


class _MujocoObjectJoint:
    """The joint between the parts of an object, in MuJoCo.

    Args:
        names: Components of its force, as `GraspSystem.internal_axes`.
        model: MuJoCo's model.

    Attributes:
        force: By the first part on the second (c,), triples along world axes.
    """

    def __init__(self, names: tuple[str, ...], model: Any) -> None:
        self._rows = [_ROWS.index(name) for name in names]
        self._triples = [list(triple) for triple in world_triples(names)]
        self._hinge = "rx" in names  # it keeps its axis; a ball keeps no angle
        sites = ("object_joint_first", "object_joint_second")
        self._sites = tuple(model.site(name).id for name in sites)
        self._sensors = [
            model.sensor(f"object_joint_{kind}").adr[0] for kind in ("moment", "force")
        ]
        self.force = np.zeros(len(names))

    def read(self, data: Any) -> None:
        """Update `force`."""
        first, second = (data.site_xmat[site].reshape(3, 3) for site in self._sites)
        # By the first part on the second, in the axes of the joint's frame on the second.
        wrench = [second.T @ first @ data.sensordata[i : i + 3] for i in self._sensors]
        self.force = np.concatenate(wrench)[self._rows]
        for triple in self._triples:
            self.force[triple] = second @ self.force[triple]

    def gap(self, data: Any) -> tuple[float, float]:
        """Return its opening [m], [rad]."""
        apart, _ = _gap(data, *self._sites)
        axes = (data.site_xmat[site].reshape(3, 3)[:, 2] for site in self._sites)
        return apart, length(cross(*axes)) if self._hinge else 0.0


def _gap(data: Any, one: int, other: int) -> tuple[float, float]:
    """Return distance [m] and angle [rad] between two sites."""
    turns, places = data.site_xmat, data.site_xpos
    # Half the sum of the cross products of their rows is minus the axis times the sine.
    a, b = turns[one].tolist(), turns[other].tolist()
    sine = [0.0] * 3
    for k in range(0, 9, 3):
        for i in range(3):
            j = (i + 1) % 3
            sine[(i + 2) % 3] += 0.5 * (a[k + j] * b[k + i] - a[k + i] * b[k + j])
    cosine = 0.5 * (sum(map(mul, a, b)) - 1.0)
    apart = math.dist(places[one].tolist(), places[other].tolist())
    return apart, math.atan2(math.hypot(*sine), cosine)
