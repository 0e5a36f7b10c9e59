# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reports of the arms' contacts in MuJoCo."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile.routine import (
    Indices,
    Mask,
    Matrix,
    Tensor,
    Vector,
    new_record,
    routine,
    zeros,
)
from robot_dynamics.simulation.contact.report import ContactMode, ContactReport, held, tilt_of
from robot_dynamics.simulation.scene import Scene

# A contact whose friction is used to this part slides; MuJoCo's cones are met to its tolerance.
_EDGE = 0.99


class MovingBodies(NamedTuple):
    """Bodies in MuJoCo's memory (n)."""

    position: Matrix  #: Of their frames (n, 3) [m].
    rotation: Matrix  #: From their frames to the world (n, 9).
    twist: Matrix  #: Angular velocity, and velocity at the center of mass of their tree (n, 6).
    center: Matrix  #: Center of mass of the tree that begins with each body (n, 3) [m].
    root: Indices  #: First body of the tree of each body (n,).


class ArmFrames(NamedTuple):
    """Constants of the arms' contacts (k)."""

    held: int  #: Index of the object.
    tool: Indices  #: Of the arms' tools (k,).
    holds: Mask  #: Which contacts hold (k,).
    finger: Tensor  #: Poses of the contacts' frames in the tools (k, 4, 4).
    contact: Tensor  #: Poses of the contacts' frames in the object (k, 4, 4).


class SeenArms(NamedTuple):
    """The arms' contacts at a state (k)."""

    wrench: Matrix  #: By the arms on the object, in tool frames (k, 6); is read.
    point: Matrix  #: Where they are in the world (k, 3) [m].
    axes: Tensor  #: Tangents and normals in the world, as rows (k, 3, 3).
    #: Forces on the object along these axes (k, 3) [N]; along the finger's if a contact holds.
    force: Matrix
    moment: Matrix  #: Moments about the points (k, 3) [N m], along the axes of the forces.
    slip: Matrix  #: Velocities of the object relative to the arms along the axes (k, 3) [m/s].
    spin: Vector  #: Relative angular velocities about the normals (k,) [rad/s].
    gap: Vector  #: Distances [m] (k,).
    normal: Matrix  #: The fingers' z axes along the axes (k, 3).


class MujocoArms:
    """Observes the arms' contacts of a scene in MuJoCo.

    Args:
        model: MuJoCo's model of the scene.
        data: Its state.
        scene: The scene.
    """

    def __init__(self, model: Any, data: Any, scene: Scene) -> None:
        self._scene, arms = scene, scene.system.arms
        k = len(arms)
        bodies = MovingBodies(
            data.xpos, data.xmat, data.cvel, data.subtree_com, model.body_rootid.astype(np.int64)
        )
        frames = ArmFrames(
            model.body(scene.model.bodies[scene.system.object_body].name).id,
            np.array([model.body(f"{arm.name}_tool_frame").id for arm in arms], dtype=np.int64),
            np.array([i in scene.holding for i in range(k)]),
            np.array(scene.finger_frames),
            np.array([one.contact.pose for one in scene.contacts]),
        )
        self._seen = new_record(
            SeenArms, wrench=(k, 6), point=(k, 3), axes=(k, 3, 3), force=(k, 3), moment=(k, 3),
            slip=(k, 3), spin=k, gap=k, normal=(k, 3),
        )  # fmt: skip
        self._see = see_arms.bind(bodies, frames, self._seen)

    def reports(self, wrenches: Array) -> list[ContactReport]:
        """Return the reports of the arms' contacts.

        Args:
            wrenches: Wrenches by the arms on the object, in tool frames (k, 6).
        """
        scene, found = self._scene, []
        self._seen.wrench[:] = wrenches
        self._see()
        _, points, axes, forces, moments, slips, *rest = (array.copy() for array in self._seen)
        spins, gaps, normals = rest
        for i, (arm, contact) in enumerate(zip(scene.system.arms, scene.contacts, strict=True)):
            force, moment = forces[i], moments[i]
            if i in scene.holding:
                found.append(held(arm.name, points[i], axes[i], force, moment))
                continue
            used = contact.friction.used_by_one([*moment.tolist(), *force.tolist()])
            found.append(
                ContactReport(
                    arm.name, mode_of(force[2] > 0.0, used), points[i], axes[i], force, moment,
                    slips[i, :2], float(spins[i]), float(gaps[i]), contact.friction, 0,
                    tilt_of(normals[i]),
                )
            )  # fmt: skip
        return found


def mode_of(pressed: bool, used: float) -> ContactMode:
    """Return the mode of a contact that uses a part of its friction."""
    if not pressed:
        return ContactMode.OPEN
    return ContactMode.SLIDING if used > _EDGE else ContactMode.STICKING


@routine
def see_arms(bodies: MovingBodies, arms: ArmFrames, seen: SeenArms) -> None:
    """Write all but the wrenches."""
    o, position, rotation = arms.held, bodies.position, bodies.rotation
    twist, center, contact, finger = bodies.twist, bodies.center, arms.contact, arms.finger
    axes, point, wrench = seen.axes, seen.point, seen.wrench
    turn = zeros(3, 3)  # from the tool's axes to those in which forces are reported
    for i in range(len(point)):
        t = arms.tool[i]
        for r in range(3):
            point[i, r] = position[t, r]
            for c in range(3):
                point[i, r] += rotation[t, 3 * r + c] * finger[i, c, 3]
        for a in range(3):
            for r in range(3):
                axes[i, a, r] = 0.0
                for c in range(3):
                    axes[i, a, r] += rotation[o, 3 * r + c] * contact[i, c, a]
        seen.spin[i], seen.gap[i] = 0.0, 0.0
        for a in range(3):
            seen.slip[i, a], seen.normal[i, a] = 0.0, 0.0
            seen.gap[i] += contact[i, a, 2] * contact[i, a, 3]
            for c in range(3):
                along = 0.0
                for r in range(3):
                    along += axes[i, a, r] * rotation[t, 3 * r + c]
                seen.normal[i, a] += along * finger[i, c, 2]
                turn[a, c] = finger[i, c, a] if arms.holds[i] else along
        for r in range(3):
            one, other = (r + 1) % 3, (r + 2) % 3
            relative = 0.0
            for end in range(2):
                b = t if end == 1 else o
                root, sign = bodies.root[b], -1.0 if end == 1 else 1.0
                relative += sign * (
                    twist[b, 3 + r]
                    + twist[b, one] * (point[i, other] - center[root, other])
                    - twist[b, other] * (point[i, one] - center[root, one])
                )
            for a in range(3):
                seen.slip[i, a] += axes[i, a, r] * relative
            seen.spin[i] += axes[i, 2, r] * (twist[o, r] - twist[t, r])
            seen.gap[i] -= axes[i, 2, r] * (point[i, r] - position[o, r])
        for a in range(3):
            seen.force[i, a], seen.moment[i, a] = 0.0, 0.0
            for c in range(3):
                one, other = (c + 1) % 3, (c + 2) % 3
                about = wrench[i, c] - (
                    finger[i, one, 3] * wrench[i, 3 + other]
                    - finger[i, other, 3] * wrench[i, 3 + one]
                )
                seen.force[i, a] += turn[a, c] * wrench[i, 3 + c]
                seen.moment[i, a] += turn[a, c] * about
