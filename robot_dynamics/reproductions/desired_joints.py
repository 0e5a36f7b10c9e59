# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint positions and velocities for a desired motion of the object: feed-forward estimates."""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.reproductions.joint_space import JointSpaceModel, JointSpaceTerms
from robot_dynamics.reproductions.object_task import ObjectTask
from robot_dynamics.reproductions.parts_motion import PartPoses, PartsMotion
from robot_dynamics.reproductions.pseudovelocities import CompletedVelocities
from robot_dynamics.reproductions.reduced_order import ReducedOrderTerms

_STEPS = 20
_CLOSED = 1e-9  # rad, m: Newton's method is at rounding one step later


class DesiredJoints:
    """Follows a path of the object with the joints, by Newton's method from period to period.

    Redundant arms stay as near to their start as the object's motion allows.

    Args:
        model: The joint-space model.
        start: Joint positions from which the first instant is sought (n,).
    """

    def __init__(self, model: JointSpaceModel, start: Array) -> None:
        self._model, self._parts = model, PartPoses(model.system)
        self._posture = np.array(start, dtype=float)
        self._q = self._posture.copy()

    def at(self, motion: PartsMotion) -> tuple[Array, Array, JointSpaceTerms]:
        """Return positions (n,), velocities (n,) and the terms there, near the previous ones.

        Raises:
            RobotDynamicsError: If the arms cannot reach the object there.
        """
        still = np.zeros(len(self._q))
        q = self._q
        for _ in range(_STEPS):
            terms = self._model.terms(q, still)
            task = ObjectTask.of(ReducedOrderTerms.of(terms, CompletedVelocities.chosen(terms)))
            lacking = motion.error(self._parts.poses(terms), terms.centers)
            # Motions that the object's joint blocks are satisfied by closing it, not by the path.
            left = np.concatenate([lacking[0], task.second @ lacking[1], terms.gap])
            size = float(np.abs(left).max())
            # Less than a full step if far: the error is linear for small rotations only.
            share = min(1.0, 0.5 / max(size, 1e-9))
            q = q + self._step(task, share * lacking, share * terms.gap, self._posture - q)
            if size < _CLOSED:
                break
        else:
            raise RobotDynamicsError(
                f"the arms of {self._model.system.model.name} miss the path of the object by "
                f"{size:.3g} rad or m; expected a path within reach."
            )
        self._q = q
        terms = self._model.terms(q, still)
        reduced = ReducedOrderTerms.of(terms, CompletedVelocities.chosen(terms))
        qd = reduced.Sigma @ ObjectTask.of(reduced).pseudo(motion.velocity, still, still)
        return q, qd, self._model.terms(q, qd)

    @staticmethod
    def _step(task: ObjectTask, lacking: Array, gap: Array, joints: Array) -> Array:
        reduced = task.reduced
        bias = -reduced.Pi @ gap  # A dq = gap closes the object's joint
        return np.asarray(reduced.Sigma @ task.pseudo(lacking, joints, bias) - bias)
