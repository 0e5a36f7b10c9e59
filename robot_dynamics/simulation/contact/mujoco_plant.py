# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo as an independent plant for scenes with contacts that push only, and surfaces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.manipulation.grasp_map import GraspMap
from robot_dynamics.simulation.contact.mujoco_scene import mujoco_scene
from robot_dynamics.simulation.contact.report import ContactReport, Touch
from robot_dynamics.simulation.contact.scene import ContactScene
from robot_dynamics.simulation.mujoco_plant import MujocoPlant
from robot_dynamics.simulation.settings import PlantSettings

Array = NDArray[np.float64]


class MujocoContactPlant(MujocoPlant):
    """A scene in MuJoCo: its own dynamics, its own contacts.

    What holds gives way by 1e-4 of a load's acceleration, with a time constant of two steps; what
    pushes, of ten. MuJoCo's friction lifts what slides by mu times its speed: forces of rigid
    contacts that slide come and go, and are right in the mean. Elastic ones are springs with
    dampers, those of the restitution with the masses at the start.

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
        self._sum, self._count = np.zeros_like(self._wrenches), 0

    def _stepped(self) -> None:
        super()._read_wrenches()
        self._sum += self._wrenches
        self._count += 1

    def _read_wrenches(self) -> None:
        """Take the mean over the period: MuJoCo's sliding contacts open and close all the time."""
        self._wrenches = self._sum / max(self._count, 1)
        self._sum, self._count = np.zeros_like(self._sum), 0

    def _xml(self, step: float, stiffness_time: float) -> str:
        return mujoco_scene(self.scene, self._start, step, stiffness_time)

    def contacts(self) -> tuple[ContactReport, ...]:
        """Return forces of the arms, then of the surfaces; what slides is not told."""
        reports = []
        for i, (arm, frame) in enumerate(
            zip(self.system.arms, self.scene.finger_frames, strict=True)
        ):
            turn, point = frame[:3, :3].T, frame[:3, 3]
            moment, force = self._wrenches[i, :3], self._wrenches[i, 3:]
            moment = moment - np.cross(point, force)
            state = Touch.STICKING if i in self.scene.pushing else Touch.HELD
            reports.append(_report(arm.name, state, turn @ force, turn @ moment))
        for surface in self.scene.surfaces:
            normal = np.array([0.0, 0.0, self._pressed(surface.name)])
            state = Touch.STICKING if normal.any() else Touch.OPEN
            reports.append(_report(surface.name, state, normal, np.zeros(3)))
        return tuple(reports)

    def _pressed(self, name: str) -> float:
        """Return the force [N] by which the object is pressed on a surface."""
        total, wrench = 0.0, np.zeros(6)
        geom = self._model.geom(name).id
        for i in range(self._data.ncon):
            contact = self._data.contact[i]
            if geom in (contact.geom1, contact.geom2):
                self._mujoco.mj_contactForce(self._model, self._data, i, wrench)
                total += float(wrench[0])
        return total

    def surface_force(self, name: str) -> Array:
        """Return the force [N] by a surface on the object, in world axes (3,)."""
        total, wrench = np.zeros(3), np.zeros(6)
        geom = self._model.geom(name).id
        for i in range(self._data.ncon):
            contact = self._data.contact[i]
            if geom not in (contact.geom1, contact.geom2):
                continue
            self._mujoco.mj_contactForce(self._model, self._data, i, wrench)
            # From the first geom to the second, in axes whose first row is the normal.
            force = contact.frame.reshape(3, 3).T @ wrench[:3]
            total += force if contact.geom2 != geom else -force
        return total


def _report(name: str, state: Touch, force: Array, moment: Array) -> ContactReport:
    """Return what is known of a contact; the rest is zero."""
    rest = np.zeros(3)
    return ContactReport(
        name, state, rest, np.eye(3), force, moment, np.zeros(2), 0.0, 0.0, 0.0, 0
    )
