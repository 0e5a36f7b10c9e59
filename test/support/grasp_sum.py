# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The wrench on a rigid object from its grasps, derived apart from the control law."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import Program, load_kernel, trace
from robot_dynamics.control.reference import ACCELERATION
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.spatial import Inertia, Rotation, Vector3

Array = NDArray[np.float64]


class GraspSum:
    """The sum of the grasps' wrenches on a rigid object, against its planned motion.

    Args:
        system: Arms and object as they are believed to be.
    """

    def __init__(self, system: GraspSystem) -> None:
        inertia = system.model.bodies[system.object_body].inertia
        grasps = np.concatenate([grasp[:3].ravel() for grasp in system.grasps])
        kernel = load_kernel(
            b"wrench_residual\0%d" % len(system.arms),
            lambda: residual_program(len(system.arms)),
            lanes=1,
        )
        block = np.concatenate([inertia.components(), system.model.gravity, grasps])
        self._kernel = kernel.bind(block)

    def held_body_wrench(self, wrenches: Array, pose: Array, twist: Array, row: Array) -> Array:
        """Return the wrenches of the object (1, 18); see `LawStep.held_body_wrenches`.

        Args:
            wrenches: By the arms on the object, in the grasp frames (k, 6).
            pose: Of the object in the world, x y z qx qy qz qw (7,).
            twist: Its angular velocity and velocity, world axes (6,).
            row: The reference row that is followed, for the acceleration.
        """
        residual, force = self._kernel(wrenches, pose, twist, row[ACCELERATION])
        return np.concatenate([np.zeros(3), force, np.zeros(6), residual])[None]


def residual_program(arms: int) -> Program:
    """Return the program of the residual for a number of arms.

    Inputs: wrenches (k, 6) in the grasp frames, pose (7,) of the object, twist (6,) and
    acceleration (6,) of its origin in world axes. Parameters: its inertia (10,) in its own frame,
    gravity (3,), and rotation and translation of each grasp frame in it, row by row (12 k,).
    Outputs, in the object's axes: residual (6,), moment about its origin and force; force (3,) of
    the grasps together.
    """

    def run(wrenches: Any, pose: Any, twist: Any, acceleration: Any, block: Any) -> dict[str, Any]:
        I, gravity = Inertia.of(block[:10]), Vector3.of(block[10:13])
        force, moment = Vector3.zero(), Vector3.zero()
        for i in range(arms):
            rows = [block[13 + 12 * i + 4 * j : 17 + 12 * i + 4 * j] for j in range(3)]
            axes, at = [Vector3.of(row[:3]) for row in rows], Vector3.of([row[3] for row in rows])
            m, f = (Vector3.of(wrenches[i][part]) for part in (slice(0, 3), slice(3, 6)))
            push = Vector3.of([axis.dot(f) for axis in axes])
            force = force + push
            moment = moment + Vector3.of([axis.dot(m) for axis in axes]) + at.cross(push)
        E = Rotation.from_quaternion(*pose[3:])
        omega, alpha = E * Vector3.of(twist[:3]), E * Vector3.of(acceleration[:3])
        a = E * (Vector3.of(acceleration[3:]) - gravity)
        # Newton's and Euler's equations about the body's origin, h = m c
        F = a * I.mass + alpha.cross(I.h) + omega.cross(omega.cross(I.h))
        N = I.I * alpha + omega.cross(I.I * omega) + I.h.cross(a)
        return {"residual": [*(moment - N), *(force - F)], "force": [*force]}

    inputs: dict[str, int | tuple[int, ...]] = {
        "wrenches": (arms, 6),
        "pose": 7,
        "twist": 6,
        "acceleration": 6,
    }
    return trace(run, name="wrench_residual", inputs=inputs, parameters=13 + 12 * arms)
