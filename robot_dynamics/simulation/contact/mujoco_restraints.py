# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Hinges and lines of a scene in MuJoCo: connects at two points, or to a carriage on a rail.

What they resist with is a force on the object, held for a step. MuJoCo's own friction of joints
would act on an axle or a carriage of next to no mass, and give way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from robot_dynamics.model import transform_of
from robot_dynamics.simulation.contact.report import ContactReport, held
from robot_dynamics.simulation.contact.restraints import Restraint
from robot_dynamics.simulation.mujoco_model import add_connects, axis_points, placement

Array = NDArray[np.float64]

#: Mass of the carriage that a point on a line is connected to [kg].
CARRIAGE = 1e-4


def add_restraint(
    restraint: Restraint,
    world: etree._Element,
    body: etree._Element,
    pose: Array,
    sections: tuple[etree._Element, etree._Element],
    stiffness_time: float,
) -> None:
    """Add a hinge or a line, and sensors of what passes through it.

    Args:
        restraint: The hinge or the line.
        world: MuJoCo's world.
        body: Its object.
        pose: The object's pose at the start (4, 4): the carriage stands there.
        sections: MuJoCo's equalities and sensors.
        stiffness_time: Time constant [s].
    """
    equality, sensor = sections
    name, frame, part = restraint.name, restraint.frame, restraint.part
    # A body of its own without mass, so that a sensor sees the force pass through it.
    base = etree.SubElement(world, "body", name=f"{name}_base", **placement(transform_of(frame)))
    etree.SubElement(base, "site", name=f"{name}_base")
    other, places = base, axis_points()
    if restraint.kind == "line":
        along = np.linalg.inv(frame) @ pose @ part[:, 3]
        at = " ".join(repr(float(x)) for x in (0.0, 0.0, along[2]))
        other = etree.SubElement(base, "body", name=f"{name}_carriage", pos=at)
        etree.SubElement(other, "joint", name=f"{name}_rail", type="slide", axis="0 0 1")
        etree.SubElement(
            other, "inertial", mass=repr(CARRIAGE), pos="0 0 0", diaginertia="1e-8 1e-8 1e-8"
        )
        places = [np.zeros(3)]
    ends = ((other, np.eye(4), "world"), (body, part, "object"))
    add_connects(equality, name, ends, places, stiffness_time)
    for kind, word in (("force", "force"), ("torque", "moment")):
        etree.SubElement(sensor, kind, name=f"{name}_{word}", site=f"{name}_base")


class MujocoRestraints:
    """Looks at the hinges and lines of a scene in MuJoCo.

    Args:
        model: MuJoCo's model of the scene.
        data: Its state.
        restraints: The hinges and lines.
        body: Name of the object's body.
    """

    def __init__(self, model: Any, data: Any, restraints: Sequence[Restraint], body: str) -> None:
        self._data, self._restraints = data, tuple(restraints)
        self._body = model.body(body).id
        self._first = int(model.body_dofadr[self._body])  # of the velocities of its free joint
        self._mass, self._inertia = float(model.body_mass[self._body]), model.body_inertia
        self._step = float(model.opt.timestep)
        self._at = [
            [int(model.sensor(f"{one.name}_{word}").adr[0]) for word in ("moment", "force")]
            for one in self._restraints
        ]
        self._sum, self._count = np.zeros((len(self._at), 6)), 0
        self._wrenches = np.zeros_like(self._sum)

    def stepped(self) -> None:
        """Look at the forces after a step of the engine."""
        for total, starts in zip(self._sum, self._at, strict=True):
            total += np.concatenate([self._data.sensordata[at : at + 3] for at in starts])
        self._count += 1
        self._resist()

    def _resist(self) -> None:
        """Let hinges and lines resist during the next step.

        As much as stops the object alone within the step, at most: no friction is too large.
        """
        data, body = self._data, self._body
        resisting = [one for one in self._restraints if one.resists]
        if not resisting:
            return
        velocity = data.qvel[self._first : self._first + 6]
        omega = data.xmat[body].reshape(3, 3) @ velocity[3:]
        principal = data.ximat[body].reshape(3, 3)
        exerted = np.zeros(6)  # force, and moment about the centre of mass
        for one in resisting:
            axis, force, moment = one.frame[:3, 2], np.zeros(3), one.frame[:3, 2]
            rate = float(axis @ omega)
            if one.kind == "line":
                place = self._place(one)
                force, moment = axis, np.cross(place - data.xipos[body], axis)
                rate = float(axis @ (velocity[:3] + np.cross(omega, place - data.xpos[body])))
            turned = principal.T @ moment
            mobility = force @ force / self._mass + turned @ (turned / self._inertia[body])
            amount = -min(one.drag(rate), 1.0 / (self._step * mobility)) * rate
            exerted += amount * np.concatenate([force, moment])
        data.xfrc_applied[body] = exerted

    def take(self) -> None:
        """Let the forces of a control period be the mean of its steps."""
        self._wrenches = self._sum / max(self._count, 1)
        self._sum, self._count = np.zeros_like(self._sum), 0

    def openings(self) -> tuple[float, float]:
        """Return by how much they are open at most [m], [rad]."""
        position = rotation = 0.0
        for one in self._restraints:
            off = one.frame[:3, :3].T @ (self._place(one) - one.frame[:3, 3])
            if one.kind == "line":
                position = max(position, float(np.hypot(*off[:2])))
                continue
            turned = self._data.xmat[self._body].reshape(3, 3) @ one.part[:3, 2]
            tilt = float(np.linalg.norm(np.cross(turned, one.frame[:3, 2])))
            position, rotation = max(position, float(np.linalg.norm(off))), max(rotation, tilt)
        return position, rotation

    def reports(self) -> list[ContactReport]:
        """Return what there is to say of each."""
        found = []
        for one, wrench in zip(self._restraints, self._wrenches, strict=True):
            axes, point = one.frame[:3, :3].T, self._place(one)
            # As at a wrist, what the base's parent exerts; about the part, where it is now.
            about = wrench.copy()
            about[:3] -= np.cross(axes @ (point - one.frame[:3, 3]), wrench[3:])
            exerted = np.zeros(6)
            exerted[list(one.components)] = about[list(one.components)]
            found.append(held(one.name, point, axes, exerted[3:], exerted[:3]))
        return found

    def _place(self, one: Restraint) -> Array:
        turn = self._data.xmat[self._body].reshape(3, 3)
        return np.asarray(self._data.xpos[self._body] + turn @ one.part[:3, 3])
