# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint positions at which all tools meet their grasps on the object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.assembly import AssemblyError, Gap, assemble
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.grasp_map import mean_grasp_distance
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.robot.bound_model import quick_constraint_terms

_OFF = 0.01  # fraction of the largest gap from which an arm counts as out of reach too


class ReachError(RobotDynamicsError):
    """No joint positions were found at which every arm's tool meets its grasp.

    Attributes:
        arm: Name of the arm with the largest gap.
        arms: Names of all arms out of reach, largest gap first.
        gaps: Their remaining gaps, by name.
    """

    def __init__(self, gaps: Mapping[str, Gap]) -> None:
        self.arms, self.gaps = tuple(gaps), dict(gaps)
        self.arm = self.arms[0]
        remain = [f"{gap} remain" for gap in gaps.values()]
        if len(gaps) == 1:
            words = f"arm {self.arm!r} does not reach its grasp: {remain[0]}"
        else:
            names = " and ".join(map(repr, gaps))
            each = ", ".join(f"{r} of {n!r}" for n, r in zip(gaps, remain, strict=True))
            words = f"arms {names} do not reach their grasps: {each}"
        super().__init__(f"{words}; expected a pose within reach and joint limits.")


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

    The two parts of a jointed object are placed so that the frames of their joint coincide.

    From the guess, the search takes the smallest steps that close the loops: the self-motion of a
    redundant arm stays near the guess. Steps end at the joint limits.

    Args:
        system: Arms and object.
        object_pose: x y z qx qy qz qw of the object's body frame in the world (7,).
        guess: Arm positions to start from (na,); the arms' postures by default.
        tolerance: Largest remaining error [m and rad].
        iterations: Largest number of steps.
        terms: `Robot.constraint_terms` of the system, if the caller has it already.

    Raises:
        ReachError: If an arm does not reach its grasp; it names the arm and the gap.
    """
    terms = terms or quick_constraint_terms(system.model)
    q = system.positions(system.posture if guess is None else guess)
    q[system.object_q] = object_pose
    for body in system.object_bodies[1:]:
        q[system.model.q_slices[body]] = _carried(object_pose, system.second_part)
    rest = np.zeros(system.model.nv)

    def closure(positions: Array) -> tuple[Array, Array]:
        _, _, K, _, error, _ = terms(positions, rest)
        return K, error

    length = max(mean_grasp_distance(system.grasps), 0.1)
    try:
        found = assemble(
            system.model,
            closure,
            q,
            held=[system.model.bodies[body].joint.name for body in system.object_bodies],
            length=length,
            tolerance=tolerance / length,
            restarts=0,
            iterations=iterations,
        )
    except AssemblyError as error:
        gaps = {arm.name: error.gaps[system.model.loops[arm.loop].name] for arm in system.arms}
        sizes = {name: gap.position + length * gap.rotation for name, gap in gaps.items()}
        # Arms that can reach their grasps have closed them long before the last step.
        off = [name for name in sizes if sizes[name] > _OFF * max(sizes.values())]
        first = sorted(off, key=lambda name: -sizes[name])
        raise ReachError({name: gaps[name] for name in first}) from error
    return found.q


def _carried(pose: Array, relative: Array) -> Array:
    """Return the pose (7,) of a frame from its relative pose (4, 4) and the base pose (7,)."""
    turned = Rotation.from_quat(pose[3:])
    moved = pose[:3] + turned.apply(relative[:3, 3])
    return np.concatenate([moved, (turned * Rotation.from_matrix(relative[:3, :3])).as_quat()])
