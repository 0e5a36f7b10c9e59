# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Springs, dampers and drives as the sparse matrix method needs them: joint by joint.

Only joints that have any are looked at, one by one: it is what the state decides about them alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.dynamics.joint_equations import LoopState
from robot_dynamics.dynamics.passive import passive_loop_force, tree_spring
from robot_dynamics.model import Model
from robot_dynamics.spatial import Motion, Rotation, Transform, Vector3

Array = NDArray[np.float64]


def tree_spring_forces(model: Model, q: Array) -> Array:
    """Return the joint forces (nv,) of the springs in tree joints at positions `q` (nq,)."""
    tau = np.zeros(model.nv)
    for body, at_q, at_v in zip(model.bodies, model.q_slices, model.v_slices, strict=True):
        if body.joint.elastic:
            tau[at_v] = tree_spring(body.joint, q[at_q].tolist())
    return tau


def loop_active_forces(model: Model, loops: LoopState, efforts: Array) -> Array:
    """Return what springs, dampers and drives of loop joints do to the successors (loops, 6).

    Args:
        model: The mechanism.
        loops: Where the loop joints are and how they move.
        efforts: Of the drives of `model.loop_drive_names` (drives,) [N m or N].
    """
    forces = np.zeros((len(model.loops), 6))
    for number, loop in enumerate(model.loops):
        if loop.elastic or loop.damped:
            vJ = Motion.of((loops.v_s[number] - loops.v_p[number]).tolist())
            X = _placement(loops, number)
            forces[number] = passive_loop_force(loop, X, vJ).components()
    for (number, freedom), effort in zip(model.loop_drives, efforts.tolist(), strict=True):
        if effort:
            T_a = model.loops[number].type.active_forces(_placement(loops, number))
            forces[number] += np.array((T_a[freedom] * effort).components(), dtype=float)
    return forces


def _placement(loops: LoopState, number: int) -> Transform:
    """Return sXp of one loop joint over floats."""
    E, r = loops.placements.E[number], loops.placements.r[number]
    return Transform(Rotation.of(E.tolist()), Vector3.of(r.tolist()))
