# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From a guess to joint positions at which the arms' tools meet the grasps of the object."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.grasp_map import mean_grasp_distance
from robot_dynamics.manipulation.system import Arm, GraspSystem
from robot_dynamics.robot import Robot

Array = NDArray[np.float64]


class AssemblyError(RobotDynamicsError):
    """No joint positions were found at which an arm's tool meets its grasp.

    Attributes:
        arm: Name of the arm.
        position_gap: Distance [m] that remains.
        rotation_gap: Angle [rad] that remains.
    """

    def __init__(self, arm: str, position_gap: float, rotation_gap: float) -> None:
        self.arm, self.position_gap, self.rotation_gap = arm, position_gap, rotation_gap
        super().__init__(
            f"arm {arm!r} does not reach its grasp: {1e3 * position_gap:.1f} mm and "
            f"{np.degrees(rotation_gap):.2f} degrees remain; expected a pose within its reach and "
            "joint limits."
        )


def closed_configuration(
    system: GraspSystem,
    object_pose: Array,
    guess: Array | None = None,
    *,
    tolerance: float = 1e-12,
    iterations: int = 200,
    terms: Any = None,
) -> Array:
    """Return positions (nq,) with the object at a pose and all grasps closed.

    Damped Gauss-Newton steps on the position error of the loops, arm by arm, with the freedom
    that an arm has left pulled towards the guess; steps end at the joint limits.

    Args:
        system: Arms and object.
        object_pose: x y z qx qy qz qw of the object's body frame in the world (7,).
        guess: Arm positions to start from (na,); the arms' postures by default.
        tolerance: Largest error left [m and rad].
        iterations: Steps after which to give up.
        terms: `Robot.constraint_terms` of the system, if the caller has it already.

    Raises:
        AssemblyError: If an arm does not get there; it names the arm and the gap.
    """
    terms = terms or Robot(system.model).constraint_terms
    q = system.model.neutral()
    q[system.object_q] = object_pose
    start = system.posture if guess is None else np.asarray(guess, dtype=float)
    q[system.q_index] = start
    lower, upper = system.limits["lower"], system.limits["upper"]
    rest = np.zeros(system.model.nv)
    length = max(mean_grasp_distance(system.grasps), 0.1)
    for count in range(iterations):
        _, _, K, _, error, _ = terms(q, rest)
        if np.max(np.abs(error)) < tolerance:
            return q
        arm_q = q[system.q_index]
        for arm, at in zip(system.arms, system.arm_slices, strict=True):
            step = _arm_step(arm, K, error, start[at] - arm_q[at], length, count)
            arm_q[at] = arm_q[at] + step
        q[system.q_index] = np.clip(arm_q, lower, upper)
    _, _, _, _, error, _ = terms(q, rest)
    gaps = error.reshape(-1, 6)
    worst = max(system.arms, key=lambda arm: float(np.linalg.norm(gaps[arm.loop])))
    gap = gaps[worst.loop]
    if np.max(np.abs(gaps)) < 1e3 * tolerance:
        return q
    raise AssemblyError(worst.name, float(np.linalg.norm(gap[3:])), float(np.linalg.norm(gap[:3])))


def _arm_step(
    arm: Arm, K: Array, error: Array, toward_guess: Array, length: float, count: int
) -> Array:
    """Return a damped Newton step of one arm's joints, at most half a radian."""
    rows = slice(6 * arm.loop, 6 * arm.loop + 6)
    weight = np.array([length] * 3 + [1.0] * 3)  # rotations count as displacements of the grasps
    J = K[rows, arm.v_index] * weight[:, None]
    e = error[rows] * weight
    size = float(np.linalg.norm(e))
    damped = J @ J.T + min(1e-2, size * size) * np.eye(6)
    inverse = np.linalg.solve(damped, np.eye(6))
    step = -J.T @ (inverse @ e)
    # The pull towards the guess fades out, so that the last steps are Newton's.
    pull = 0.1 * 0.8**count * toward_guess
    step += pull - J.T @ (inverse @ (J @ pull))
    largest = float(np.max(np.abs(step), initial=0.0))
    return step if largest < 0.5 else step * (0.5 / largest)
