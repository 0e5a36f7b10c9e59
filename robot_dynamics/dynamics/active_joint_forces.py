# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Springs, dampers and drives for the sparse matrix method, joint by joint.

Other joints are not evaluated.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.joint_equations import LoopState
from robot_dynamics.dynamics.passive import (
    acts_by_itself,
    passive_loop_force,
    tree_friction,
    tree_spring,
)
from robot_dynamics.model import Model
from robot_dynamics.spatial import Motion, Rotation, Transform, Vector3


class ActiveJoints:
    """The joints of a model that have springs, dampers or drives."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._nv, self._loops, self._drives = model.nv, model.loops, model.loop_drives
        self._sprung = [
            (body.joint, at_q, at_v)
            for body, at_q, at_v in zip(model.bodies, model.q_slices, model.v_slices, strict=True)
            if body.joint.elastic
        ]
        self._passive = [
            number
            for number, loop in enumerate(model.loops)
            if acts_by_itself(loop, model.joint_friction)
        ]

    def of_tree(self, q: Array, qd: Array) -> Array:
        """Return the joint forces (nv,) of springs in tree joints, and of friction if it counts.

        Args:
            q: Positions (nq,).
            qd: Velocities (nv,).
        """
        tau = np.zeros(self._nv)
        if self._model.joint_friction:
            tau += np.array(tree_friction(self._model, qd.tolist()), dtype=float)
        for joint, at_q, at_v in self._sprung:
            tau[at_v] += tree_spring(joint, q[at_q].tolist())
        return tau

    def of_loops(self, loops: LoopState, efforts: Array) -> Array:
        """Return forces of springs, dampers and drives of loop joints on successors (loops, 6).

        Args:
            loops: Poses and motions of the loop joints.
            efforts: Efforts of the drives of `model.loop_drive_names` (drives,) [N m or N].
        """
        forces = np.zeros((len(self._loops), 6))
        for number in self._passive:
            vJ = Motion.of((loops.v_s[number] - loops.v_p[number]).tolist())
            X = _placement(loops, number)
            forces[number] = passive_loop_force(
                self._loops[number], X, vJ, self._model.joint_friction
            ).components()
        for (number, freedom), effort in zip(self._drives, efforts.tolist(), strict=True):
            if effort:
                T_a = self._loops[number].type.active_forces(_placement(loops, number))
                forces[number] += np.array((T_a[freedom] * effort).components(), dtype=float)
        return forces


def _placement(loops: LoopState, number: int) -> Transform:
    """Return sXp of one loop joint over floats."""
    E, r = loops.placements.E[number], loops.placements.r[number]
    return Transform(Rotation.of(E.tolist()), Vector3.of(r.tolist()))
