# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What MuJoCo's contacts are told as: states, forces, slips and gaps, like those of our plant."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.simulation.contact.mujoco_scene import surface_geoms
from robot_dynamics.simulation.contact.mujoco_tangents import tangent_names
from robot_dynamics.simulation.contact.report import ContactReport, Touch, held
from robot_dynamics.simulation.contact.scene import ContactScene

Array = NDArray[np.float64]

# A contact whose friction is used to this part slides; MuJoCo's cones are met to its tolerance.
_EDGE = 0.99


class MujocoContacts:
    """Looks at contacts of a scene in MuJoCo.

    Args:
        engine: The module.
        model: MuJoCo's model of the scene.
        data: Its state.
        scene: The scene.
    """

    def __init__(self, engine: Any, model: Any, data: Any, scene: ContactScene) -> None:
        self._engine, self._model, self._data, self._scene = engine, model, data, scene
        self._tools = [model.body(f"{arm.name}_tool_frame").id for arm in scene.system.arms]
        self._object = model.body(scene.model.bodies[scene.system.object_body].name).id
        self._surface_of = {
            model.geom(name).id: surface.name
            for surface in scene.surfaces
            for name in tangent_names(surface)
            or [part.name for part in surface_geoms(surface.name, surface.surface)]
        }
        self._impacts = {surface.name: 0 for surface in scene.surfaces}
        self._pressed: set[str] = set()

    def stepped(self) -> None:
        """Count who has come anew after a step of the engine."""
        geoms = self._data.contact.geom[self._data.contact.dist < 0.0].ravel().tolist()
        pressed = {self._surface_of[geom] for geom in geoms if geom in self._surface_of}
        for name in pressed - self._pressed:
            self._impacts[name] += 1
        self._pressed = pressed

    def arms(self, wrenches: Array) -> list[ContactReport]:
        """Return what there is to say of the arms' contacts.

        Args:
            wrenches: By the arms on the object, in tool frames (k, 6).
        """
        scene, data = self._scene, self._data
        R = data.xmat[self._object].reshape(3, 3)
        found = []
        for i, (arm, contact) in enumerate(zip(scene.system.arms, scene.contacts, strict=True)):
            finger, tool = scene.finger_frames[i], self._tools[i]
            turn, at = data.xmat[tool].reshape(3, 3), finger[:3, 3]
            point = data.xpos[tool] + turn @ at
            axes = (R @ contact.contact.pose[:3, :3]).T
            moment, force = wrenches[i, :3] - np.cross(at, wrenches[i, 3:]), wrenches[i, 3:]
            if i in scene.holding:
                # In the finger's own axes: the two are the same while it holds.
                own = finger[:3, :3].T
                found.append(held(arm.name, point, axes, own @ force, own @ moment))
                continue
            force, moment = axes @ turn @ force, axes @ turn @ moment
            rates = self._velocity(self._object, point) - self._velocity(tool, point)
            place = axes @ (point - data.xpos[self._object]) - (
                contact.contact.pose[:3, :3].T @ contact.contact.pose[:3, 3]
            )
            used = float(contact.friction.used(np.concatenate([moment, force])))
            pressed = force[2] > 0.0
            found.append(
                ContactReport(
                    arm.name, _state(pressed, used), point, axes, force, moment,
                    axes[:2] @ rates[3:], float(axes[2] @ rates[:3]), -float(place[2]),
                    used if force.any() else 0.0, 0,
                )
            )  # fmt: skip
        return found

    def surfaces(self) -> list[ContactReport]:
        """Return what there is to say of each surface: one report for each point that touches."""
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
            mu = float(one.friction[0])
            used = float(np.hypot(*force[:2])) / (mu * force[2]) if force[2] > 0.0 else 0.0
            found.append(
                ContactReport(
                    name, _state(force[2] > 0.0, used), one.pos.copy(), axes, force, np.zeros(3),
                    axes[:2] @ rates[3:], 0.0, float(one.dist), used, self._impacts[name],
                )
            )  # fmt: skip
        told = {one.name for one in found}
        rest = np.zeros(3)
        for name in self._impacts:
            if name not in told:
                found.append(
                    ContactReport(
                        name, Touch.OPEN, rest, np.eye(3), rest, rest, np.zeros(2), 0.0, np.inf,
                        0.0, self._impacts[name],
                    )
                )  # fmt: skip
        return found

    def _velocity(self, body: int, point: Array) -> Array:
        """Return angular and linear velocity (6,) in world axes of a body's point."""
        result = np.zeros(6)
        kind = self._engine.mjtObj.mjOBJ_XBODY
        self._engine.mj_objectVelocity(self._model, self._data, kind, body, result, 0)
        result[3:] += np.cross(result[:3], point - self._data.xpos[body])
        return result


def _state(pressed: bool, used: float) -> Touch:
    if not pressed:
        return Touch.OPEN
    return Touch.SLIDING if used > _EDGE else Touch.STICKING
