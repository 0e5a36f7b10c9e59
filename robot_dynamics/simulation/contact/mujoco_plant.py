# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo as an independent plant for scenes with contacts that push only, and surfaces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.manipulation.grasp_map import GraspMap
from robot_dynamics.simulation.contact.mujoco_contacts import MujocoContacts
from robot_dynamics.simulation.contact.mujoco_environment_joints import MujocoEnvironmentJoints
from robot_dynamics.simulation.contact.mujoco_scene import POINT, mujoco_scene
from robot_dynamics.simulation.contact.mujoco_tangents import TangentPlanes
from robot_dynamics.simulation.contact.report import ContactReport
from robot_dynamics.simulation.contact.scene import ContactScene
from robot_dynamics.simulation.mujoco_plant import MujocoPlant
from robot_dynamics.simulation.settings import PlantSettings

Array = NDArray[np.float64]


class MujocoContactPlant(MujocoPlant):
    """A scene in MuJoCo: its own dynamics, its own contacts.

    What holds gives way by 1e-4 of a load's acceleration, with a time constant of two steps; a
    point on a line takes a carriage of a tenth of a gram along. What
    pushes is a spring with a damper, that of the restitution with the masses at the start; what is
    rigid has `mujoco_scene.HARDEST`.

    Args:
        scene: Arms, object, contacts and surfaces as they truly are.
        start: Positions (nq,) of the start, tools at their grasps.
        period: Control period [s].
        settings: Step (`mujoco_step_s`), delay, friction, sensors.
        grasp_map: What is meant by the internal force; by default the wrench transmitted through
            the object.

    Raises:
        RobotDynamicsError: If MuJoCo is not installed, or something in the scene is not
            translated for it.
        ArgumentError: If the control period is no whole number of steps.
    """

    def __init__(
        self,
        scene: ContactScene,
        start: Array,
        period: float,
        settings: PlantSettings,
        grasp_map: GraspMap | None = None,
    ) -> None:
        self.scene = scene
        super().__init__(scene.system, start, period, settings, grasp_map)
        # What pushes has no closure: its gap may open.
        self._sites = [self._sites[i] for i in scene.holding]

    def _begin(self) -> None:
        super()._begin()
        self._tangents = TangentPlanes(self._model, self._data, self.scene, self._object_q, POINT)
        self._tangents.follow()
        self._mujoco.mj_forward(self._model, self._data)
        self._sum, self._count = np.zeros_like(self._wrenches), 0
        self._contacts = MujocoContacts(self._mujoco, self._model, self._data, self.scene)
        self._environment_joints = MujocoEnvironmentJoints(
            self._mujoco,
            self._model,
            self._data,
            self.scene.environment_joints,
            self.scene.model.bodies[self.system.object_body].name,
        )

    def _stepped(self) -> None:
        self._tangents.follow()
        super()._read_wrenches()
        self._sum += self._wrenches
        self._count += 1
        self._contacts.stepped()
        self._environment_joints.stepped()

    def _read_wrenches(self) -> None:
        """Take the mean over the period: a wrist feels a blow as that."""
        self._wrenches = self._sum / max(self._count, 1)
        self._sum, self._count = np.zeros_like(self._sum), 0
        self._environment_joints.take()

    def _openings(self) -> tuple[float, float]:
        """Return by how much what holds is open at most [m], [rad]."""
        arms, world = super()._openings(), self._environment_joints.openings()
        return max(arms[0], world[0]), max(arms[1], world[1])

    def _xml(self, step: float, stiffness_time: float) -> str:
        return mujoco_scene(self.scene, self._start, step, stiffness_time)

    def contacts(self) -> tuple[ContactReport, ...]:
        """Return what there is to say of each contact: arms, points, hinges and lines."""
        contacts = self._contacts
        return (
            *contacts.arms(self._wrenches), *contacts.surfaces(),
            *self._environment_joints.reports(),
        )  # fmt: skip
