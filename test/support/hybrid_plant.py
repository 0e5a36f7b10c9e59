# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms that hold an object which touches planes, integrated by the closed-loop engine.

Contacts and planes are loop joints that hold in both directions: slip and lift-off are
another matter. It knows nothing of the hybrid formulation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.compile import load_kernel
from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.manipulation.hybrid import Contact, Environment
from robot_dynamics.manipulation.hybrid.contacts import KINDS
from robot_dynamics.model import LoopElement, build, pose
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.closed_loop_step import step_parameters, step_program
from robot_dynamics.simulation.drives import DriveParameters

# The loop joint of a contact, and its rows in the order of the kind's directions.
LOOPS = {
    "rigid": ("fixed", [0, 1, 2, 3, 4, 5]),
    "soft finger": ("soft_finger", [1, 2, 3, 0]),
    "frictional point": ("spherical", [0, 1, 2]),
}


@dataclass(frozen=True)
class Plane:
    """A plane through a point of the object, at the start.

    Attributes:
        point: Of the object, in its axes.
        normal: Out of free space, in the world.
    """

    point: tuple[float, float, float]
    normal: tuple[float, float, float]

    def frame(self, at):
        """Return the pose (4, 4) of the plane, its z axis along the normal, for an object's."""
        z = np.array(self.normal)
        x = np.cross(z, [0.0, 1.0, 0.0] if abs(z[1]) < 0.9 else [1.0, 0.0, 0.0])
        x /= np.linalg.norm(x)
        origin = at[:3, 3] + at[:3, :3] @ np.array(self.point)
        return pose(origin, np.column_stack([x, np.cross(z, x), z]))

    def function(self, at, center):
        """Return p of the object's pose: positive beyond the plane."""
        point = (np.array(self.point) - center).tolist()
        n, height = self.normal, float(np.dot(self.normal, self.frame(at)[:3, 3]))

        def p(there):
            touched = there.point(point)
            return touched.x * n[0] + touched.y * n[1] + touched.z * n[2] - height

        return p


class HybridPlant:
    """The plant of a cell.

    Args:
        cell: Arms and object, at the start (`support.mechanisms.Cell`).
        kind: Of all contacts.
        planes: That the object touches.
        step: Of integration [s].
    """

    def __init__(self, cell, kind, planes=(), step=2.5e-4):
        system = self.system = cell.system
        start = cell.start[system.object_q]
        at = pose(start[:3], Rotation.from_quat(start[3:]).as_matrix())
        name = system.model.bodies[system.object_body].name
        loop, order = LOOPS[kind]
        loops = [
            LoopElement(f"{arm.name}_contact", loop, arm.tool, name, np.eye(4), grasp)
            for arm, grasp in zip(system.arms, system.grasps, strict=True)
        ]
        loops += [
            LoopElement(
                f"plane{i}", "point_on_plane", cell.mechanism.links[0].name, name,
                plane.frame(at), pose(plane.point),
            )
            for i, plane in enumerate(planes)
        ]  # fmt: skip
        # Loops of the arms' own come last: forces of contacts and planes are found by their place.
        self.model = build(replace(cell.mechanism, loops=(*loops, *cell.mechanism.loops)))
        assert self.model.joint_names == system.model.joint_names
        self.contacts = tuple(Contact.of_kind(kind, grasp) for grasp in system.grasps)
        body = system.model.bodies[system.object_body].inertia
        center = np.array(list(body.h)) / body.mass
        self.environment = Environment(tuple(p.function(at, center) for p in planes))
        d = len(KINDS[kind])
        self.step = step
        arms = len(system.arms)
        self._of_contacts = np.concatenate([np.array(order) + d * i for i in range(arms)])
        self._of_planes = np.arange(d * arms, d * arms + len(planes))
        self._robot = Robot(self.model)
        self._tools = [arm.tool for arm in system.arms]
        self.q, self.qd = cell.start.copy(), np.zeros(self.model.nv)
        self.multipliers = np.zeros(self.model.constraint_count)

    @cached_property
    def _step(self):
        """One step of integration, compiled."""
        system, na = self.system, len(self.system.joint_names)
        drives = DriveParameters(system.v_index, np.full(na, 1e9), np.zeros(na), np.zeros(na), 1.0)
        actuated = system.v_index.tolist()
        kernel = load_kernel(
            b"hybrid plant" + repr(actuated).encode() + self.model.structure_key,
            lambda: step_program(self.model, actuated),
            lanes=1,
        )
        return kernel.bind(step_parameters(self.model, drives, self.step))

    def advance(self, torque):
        """Integrate one step under a torque."""
        self.q, self.qd, self.multipliers, _, _, pivot = self._step(self.q, self.qd, torque)
        assert pivot >= SMALLEST_PIVOT

    def moving(self, twist, rng):
        """Set the object's twist [omega; v of its origin], world axes, on its planes.

        The arms go with it, and move besides as they can; the twist becomes the nearest that the
        planes allow.
        """
        system, R = self.system, Rotation.from_quat(self.q[self.system.object_q][3:])
        wish = 0.3 * rng.standard_normal(self.model.nv)
        wish[system.object_v] = [*R.inv().apply(twist[:3]), *R.inv().apply(twist[3:])]
        _, _, K, *_ = self._robot.constraint_terms(self.q, np.zeros(self.model.nv))
        self.qd = wish - np.linalg.pinv(K) @ (K @ wish)

    def accelerate(self, torque):
        """Return the accelerations (nv,) under a torque, and take the forces for felt."""
        tau = np.zeros(self.model.nv)
        tau[self.system.v_index] = torque
        qdd, self.multipliers, pivot = self._robot.closed_loop(self.q, self.qd, tau)
        assert pivot >= SMALLEST_PIVOT
        return qdd

    @property
    def joints(self):
        """Positions and velocities of the arm joints."""
        return self.q[self.system.q_index], self.qd[self.system.v_index]

    @property
    def every_joint(self):
        """Positions and velocities of all joints of the arms, those without drives too."""
        return self.q[self.system.every_q], self.qd[self.system.every_v]

    @property
    def contact_forces(self):
        """By the arms on the object, in the order of the contacts' directions."""
        return self.multipliers[self._of_contacts]

    @property
    def surface_forces(self):
        """By the object on the planes, positive where it presses."""
        # Loop forces are those on the object, along the normal, which leads out of free space.
        return -self.multipliers[self._of_planes]

    @property
    def wrenches(self):
        """The readings of sensors in the tools' frames (k, 6)."""
        R = Rotation.from_quat(self.q[self.system.object_q][3:]).as_matrix()
        forces, found = self.contact_forces, []
        for contact, tool in zip(self.contacts, self._tools, strict=True):
            d = contact.directions.shape[1]
            own, forces = contact.directions @ forces[:d], forces[d:]
            turn = self._robot.pose(tool, self.q)[:3, :3].T @ R @ contact.pose[:3, :3]
            found.append(np.concatenate([turn @ own[:3], turn @ own[3:]]))
        return np.array(found)
