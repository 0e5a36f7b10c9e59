# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo as an independent plant under our controllers: same masses, its own dynamics and welds.

Its weld equalities are stiff springs, not constraints: the grasps give way a little, which bounds
how well the internal force can follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.grasp_map import GraspMap
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.simulation.mujoco_model import addresses, mass_properties, mujoco_xml
from robot_dynamics.simulation.periodic_plant import PeriodicPlant
from robot_dynamics.simulation.plant import Truth
from robot_dynamics.simulation.settings import PlantSettings

Array = NDArray[np.float64]

# MuJoCo keeps a constraint's time constant at two steps or more; less is not stable.
_STEPS_PER_TIME_CONSTANT = 2.0


class MujocoPlant(PeriodicPlant):
    """Arms, object and welded grasps in MuJoCo.

    Args:
        system: Arms, object and grasps as they truly are.
        start: Positions (nq,) of the start, grasps closed.
        period: Control period [s].
        settings: Step, delay, friction, sensors.
        grasp_map: What is meant by the internal force; by default the wrench transmitted through
            the object.

    Raises:
        RobotDynamicsError: If MuJoCo is not installed, or something in the model is not
            translated for it.
        ArgumentError: If the control period is no whole number of steps.
    """

    def __init__(
        self,
        system: GraspSystem,
        start: Array,
        period: float,
        settings: PlantSettings,
        grasp_map: GraspMap | None = None,
    ) -> None:
        super().__init__(system, start, period, settings, grasp_map)
        self._mujoco = _import_mujoco()
        self.substeps = settings.steps("mujoco_step_s", period)
        step = period / self.substeps
        xml = self._xml(step, _STEPS_PER_TIME_CONSTANT * step)
        self._model: Any = self._mujoco.MjModel.from_xml_string(xml)
        self._data: Any = self._mujoco.MjData(self._model)
        self._q_at, self._v_at = addresses(self._model, system.model, system.joint_names)
        names = (*system.joint_names, *system.passive_joint_names)
        _, self._friction_at = addresses(self._model, system.model, names)
        passive_joints = addresses(self._model, system.model, system.passive_joint_names)
        self._passive_q, self._passive_v = passive_joints
        joints = [
            (body.joint.name, at.start)
            for body, at in zip(system.model.bodies, system.model.q_slices, strict=True)
            if body.joint.type.nq == 1
        ]
        self._tree_from = [at for _, at in joints]
        self._tree_q, _ = addresses(self._model, system.model, tuple(name for name, _ in joints))
        self._object_q, self._object_v = self._free_body(system.object_body)
        self._sites = [
            (self._model.site(f"{arm.name}_tool").id, self._model.site(f"{arm.name}_grasp").id)
            for arm in system.arms
        ]
        self._sensor_at = [
            [int(self._model.sensor(f"{arm.name}_{kind}").adr[0]) for kind in ("moment", "force")]
            for arm in system.arms
        ]
        self.reset()

    def _xml(self, step: float, stiffness_time: float) -> str:
        """Return the model's text for a step and a time constant of what is rigid [s]."""
        return mujoco_xml(self.system, step, stiffness_time)

    def _free_body(self, index: int) -> tuple[slice, slice]:
        """Return where a free body of the model stands in qpos and qvel."""
        joint = self._model.joint(self.system.model.bodies[index].joint.name)
        q, v = int(joint.qposadr[0]), int(joint.dofadr[0])
        return slice(q, q + 7), slice(v, v + 6)

    def _begin(self) -> None:
        data, system = self._data, self.system
        self._mujoco.mj_resetData(self._model, data)
        # All of them: those that follow the drives in linkages stand where the loops are closed.
        data.qpos[self._tree_q] = self._start[self._tree_from]
        for body in system.object_bodies:
            x, y, z, qx, qy, qz, qw = self._start[system.model.q_slices[body]]
            data.qpos[self._free_body(body)[0]] = [x, y, z, qw, qx, qy, qz]
        self._mujoco.mj_forward(self._model, data)
        weight = self._carried_weight(system.object_body)
        self._wrenches = (self._map.distribution @ weight).reshape(-1, 6)

    def _run(self, torque: Array) -> None:
        data, drives = self._data, self.drives
        for _ in range(self.substeps):
            rate = data.qvel[self._friction_at]
            smooth = rate / np.sqrt(rate**2 + drives.friction_velocity**2)
            friction = drives.damping * rate + drives.friction * smooth
            data.qfrc_applied[self._friction_at] = torque - friction
            self._mujoco.mj_step(self._model, data)
            self._stepped()
        # mj_step leaves sensors and poses at the start of its last step.
        self._mujoco.mj_forward(self._model, data)
        self._read_wrenches()

    def _stepped(self) -> None:
        """Look at the engine after one of its steps."""

    def _state(self) -> bytes:
        return bytes(self._data.qpos.tobytes() + self._data.qvel.tobytes())

    def _seen(self) -> tuple[Array, Array, Array]:
        data = self._data
        return data.qpos[self._q_at].copy(), data.qvel[self._v_at].copy(), self._wrenches.copy()

    def truth(self) -> Truth:
        """Return the present true state."""
        position, rotation = self._openings()
        pose, twist = self._motion_of(self._object_q, self._object_v)
        return Truth(
            object_pose=pose,
            object_twist=twist,
            internal_force=self._map.internal_force(self._wrenches.ravel()),
            closure_position=position,
            closure_rotation=rotation,
            correction=0.0,
            torque=self._torque.copy(),
        )

    def passive_joints(self) -> tuple[Array, Array]:
        """Return true positions and velocities of the joints without drives, if there are any."""
        return self._data.qpos[self._passive_q].copy(), self._data.qvel[self._passive_v].copy()

    def _openings(self) -> tuple[float, float]:
        """Return by how much what holds is open at most [m], [rad]."""
        gaps = [self._gap(tool, grasp) for tool, grasp in self._sites]
        position = max((gap[0] for gap in gaps), default=0.0)
        return position, max((gap[1] for gap in gaps), default=0.0)

    def _motion_of(self, q: slice, v: slice) -> tuple[Array, Array]:
        """Return pose (7,) and twist (6,) in the world of a body, by its place in qpos, qvel."""
        x, y, z, qw, qx, qy, qz = self._data.qpos[q]
        rotation = _rotation_of(self._data.qpos[q][3:])
        velocity = self._data.qvel[v]  # linear in the world, angular in the body
        twist = np.concatenate([rotation @ velocity[3:], velocity[:3]])
        return np.array([x, y, z, qx, qy, qz, qw]), twist

    def _read_wrenches(self) -> None:
        data = self._data.sensordata
        for row, (moment, force) in zip(self._wrenches, self._sensor_at, strict=True):
            # From the child, which is the tool's frame, to its parent: the arm on the object.
            row[:3] = data[moment : moment + 3]
            row[3:] = data[force : force + 3]

    def _gap(self, tool: int, grasp: int) -> tuple[float, float]:
        data = self._data
        turn = data.site_xmat[tool].reshape(3, 3).T @ data.site_xmat[grasp].reshape(3, 3)
        skew = 0.5 * (turn - turn.T)
        sine = np.array([skew[2, 1], skew[0, 2], skew[1, 0]])
        distance = data.site_xpos[tool] - data.site_xpos[grasp]
        return float(np.linalg.norm(distance)), float(np.linalg.norm(sine))

    def _carried_weight(self, index: int) -> Array:
        """Return the wrench (6,) that holds a body up at rest, in its own frame."""
        model = self.system.model
        body = model.bodies[index]
        mass, center, _ = mass_properties(body.inertia)
        turn = self._data.xmat[self._model.body(body.name).id].reshape(3, 3)
        up = -mass * (turn.T @ np.array(model.gravity))
        return np.concatenate([np.cross(center, up), up])


def _rotation_of(quaternion: Array) -> Array:
    """Return the matrix (3, 3) of a quaternion w x y z, as MuJoCo orders it."""
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _import_mujoco() -> Any:
    try:
        import mujoco
    except ImportError as error:
        raise RobotDynamicsError(
            "the MuJoCo plant needs the package mujoco: pip install 'robot_dynamics[mujoco]'."
        ) from error
    return mujoco
