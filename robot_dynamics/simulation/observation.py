# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is told of the engine's state once a control period: one small kernel."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import Program, load_kernel, trace
from robot_dynamics.manipulation.grasp_map import GraspMap
from robot_dynamics.scalar.functions import absolute, maximum, sqrt
from robot_dynamics.scalar.linear_algebra import dot, times
from robot_dynamics.spatial import Motion, Rotation, Scalar

Array = NDArray[np.float64]


def observation_program(arms: int) -> Program:
    """Return the program that makes figures of a state.

    Inputs: pose of the object (7,), its velocity in body coordinates (6,), multipliers (6k,), and
    position errors of the grasps after and before the last projection (6k,). Outputs: the twist of
    the object's origin in world axes (6,), the internal force (6(k-1),), and gaps (3,): the
    largest distance [m] and angle [rad] between the sides of a grasp, and the largest error that
    was projected away. The parameters are the map that recovers the internal force.

    Args:
        arms: Their number, k.
    """
    rows, columns = 6 * (arms - 1), 6 * arms

    def run(
        pose: Any, velocity: Any, multipliers: Any, closure: Any, drift: Any, block: Any
    ) -> dict[str, Any]:
        E = Rotation.from_quaternion(*pose[3:])
        moving = Motion.of(velocity)
        recovery = [block[i * columns : (i + 1) * columns] for i in range(rows)]
        grasps = [closure[i : i + 6] for i in range(0, columns, 6)]
        return {
            "twist": [*E.inverse_times(moving.angular), *E.inverse_times(moving.linear)],
            "internal_force": times(recovery, multipliers),
            "gaps": [
                _largest([sqrt(dot(grasp[3:], grasp[3:])) for grasp in grasps]),
                _largest([sqrt(dot(grasp[:3], grasp[:3])) for grasp in grasps]),
                _largest([absolute(value) for value in drift]),
            ],
        }

    inputs = {
        "pose": 7,
        "velocity": 6,
        "multipliers": columns,
        "closure": columns,
        "drift": columns,
    }
    return trace(run, name="observation", inputs=inputs, parameters=rows * columns)


def observation(grasp_map: GraspMap) -> Any:
    """Return the compiled program for the grasps of a map."""
    arms = grasp_map.total.shape[1] // 6
    kernel = load_kernel(b"observation\0%d" % arms, lambda: observation_program(arms), lanes=1)
    return kernel.bind(grasp_map.recovery.ravel())


def _largest(values: list[Scalar]) -> Scalar:
    return reduce(maximum, values)
