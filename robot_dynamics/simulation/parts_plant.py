# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The plant of two arms that hold the parts of a jointed object.

Parts float, each in a grasp of its own, and the object's joint is one loop more. Grasp wrenches
and the force in the joint are then all multipliers: nothing of the formulation that the controller
works with is in them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.grasp_map import transmitted_force_map
from robot_dynamics.manipulation.jointed_object.joint_space import world_triples
from robot_dynamics.manipulation.system import Arm, GraspSystem
from robot_dynamics.model import LoopJoint, pose_of
from robot_dynamics.simulation.engine_plant import EnginePlant
from robot_dynamics.simulation.plant import Truth
from robot_dynamics.simulation.settings import PlantSettings

Array = NDArray[np.float64]


class PartsPlant(EnginePlant):
    """Arms, the parts of the object, and all loops between them, on the closed-loop engine.

    Args:
        system: Arms, parts and grasps as they truly are.
        start: Positions (nq,) of the start, all loops closed.
        period: Control period [s].
        settings: Step, delay, friction, sensors.

    Raises:
        ArgumentError: If the object has no joint, or the settings do not fit; see `EnginePlant`.
    """

    def __init__(
        self, system: GraspSystem, start: Array, period: float, settings: PlantSettings
    ) -> None:
        joint = joint_of_parts(system)
        names = system.internal_axes
        self._triples = [list(triple) for triple in world_triples(names)]
        # Rows of both grasps and of the joint: rotations, then translations.
        turns = [i for i, name in enumerate(names, 12) if name.startswith("r")]
        moves = [i for i in range(12, 12 + len(names)) if i not in turns]
        self._turns = [[0, 1, 2], [6, 7, 8], turns]
        self._moves = [[3, 4, 5], [9, 10, 11], moves]
        self._joint_frame = pose_of(joint.successor_placement)[:3, :3]
        super().__init__(system, start, period, settings)

    def truth(self) -> Truth:
        """Return the present true state; the object's pose is that of its first part."""
        (pose, twist), second = (self._motion_of(body) for body in self.system.object_bodies)
        force = self._multipliers[12:].copy()
        to_world = Rotation.from_quat(second[0][3:]).as_matrix() @ self._joint_frame
        for triple in self._triples:
            force[triple] = to_world @ force[triple]
        closure = self._closure
        return Truth(
            pose,
            twist,
            force,
            max(float(np.linalg.norm(closure[rows])) for rows in self._moves),
            max(float(np.linalg.norm(closure[rows])) for rows in self._turns),
            float(np.max(np.abs(self._drift))),
            self._torque,
            second,
        )

    def _seen(self) -> tuple[Array, Array, Array]:
        system = self.system
        wrenches = self._multipliers[:12].reshape(2, 6)
        return self._q[system.q_index], self._qd[system.v_index], wrenches

    def _resting_wrenches(self) -> Array:
        """Return the forces of arms on brakes, which statics leaves open: none in the joint."""
        system = self.system
        bias = self._robot.bias_forces(self._q, self._qd)
        wrenches = []
        for arm, body in zip(system.arms, system.object_bodies, strict=True):
            wrenches.append(carrying_map(system, arm) @ bias[system.model.v_slices[body]])
        return np.concatenate([*wrenches, np.zeros(len(system.internal_axes))])

    def _motion_of(self, body: int) -> tuple[Array, Array]:
        """Return pose (7,) and twist (6,) of a part's origin in world axes."""
        model = self.system.model
        pose = self._q[model.q_slices[body]].copy()
        R = Rotation.from_quat(pose[3:]).as_matrix()
        velocity = self._qd[model.v_slices[body]].reshape(2, 3)
        return pose, (velocity @ R.T).reshape(6)


def joint_of_parts(system: GraspSystem) -> LoopJoint:
    """Return the joint between the parts of an object.

    Raises:
        ArgumentError: If there is none.
    """
    if system.object_loop_joint is None:
        raise ArgumentError("the object has no joint; expected one of two parts.")
    return system.object_loop_joint


def carrying_map(system: GraspSystem, arm: Arm) -> Array:
    """Return the map (6, 6) from a wrench on the part in an arm's hand to the grasp's wrench."""
    grasp = pose_of(system.model.loops[arm.loop].successor_placement)
    return transmitted_force_map([grasp], [1.0]).distribution
