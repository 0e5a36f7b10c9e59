# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces of loop joints, and joint forces of their drives in the tree (section 8.4)."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.kinematics import body_velocities, joint_transforms
from robot_dynamics.dynamics.loop_frames import loop_frames
from robot_dynamics.dynamics.passive import passive_loop_force
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Force, Motion, Scalar


def loop_drive_matrix(
    model: Model, q: Sequence[Scalar], parameters: Parameters
) -> list[list[Scalar]]:
    """Return B (nv, drives): efforts u of the drives in loop joints act like tau_a = B u (8.28).

    The drives are named in `model.loop_drive_names`. The force of each is T_a u on the successor.
    T_a is not unique: another choice with the same work gives other bearing loads and multipliers,
    but the same motion.

    Args:
        model: The mechanism.
        q: Positions (nq,).
        parameters: The placements of the loop joints.
    """
    frames = list(loop_frames(model, joint_transforms(model, q), parameters, q))
    B: list[list[Scalar]] = [[0.0] * len(model.loop_drives) for _ in range(model.nv)]
    for drive, (loop, freedom) in enumerate(model.loop_drives):
        frame = frames[loop]
        direction = frame.joint.type.active_forces(frame.placement)[freedom]
        for index, value in frame.joint_forces(direction).items():
            B[index][drive] = value
    return B


def loop_joint_forces(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    multipliers: Sequence[Scalar],
    efforts: Sequence[Scalar],
    parameters: Parameters,
) -> list[Force]:
    """Return the force that each loop joint exerts on its successor: f = T_a tau + T lambda.

    Each is in the joint's frame on the successor and about its origin; the force on the
    predecessor is the opposite. Springs and dampers are part of it, Coulomb friction
    with `model.joint_friction`.

    Args:
        model: The mechanism.
        q: Positions (nq,).
        qd: Velocities (nv,).
        multipliers: lambda (n^c,), as forward dynamics returns them; couplings' come last.
        efforts: Efforts of the drives of `model.loop_drive_names` (drives,) [N m or N].
        parameters: The placements of the loop joints.
    """
    Xup = joint_transforms(model, q)
    v = body_velocities(model, Xup, qd, q)
    forces: list[Force] = []
    start = 0
    frames = list(loop_frames(model, Xup, parameters, q))
    for frame in frames:
        v_p, v_s = frame.ends(v, Motion.zero())
        force = passive_loop_force(frame.joint, frame.placement, v_s - v_p, model.joint_friction)
        T = frame.joint.type.constraints(frame.placement)
        for direction, multiplier in zip(T, multipliers[start : start + len(T)], strict=True):
            force = force + direction * multiplier
        start += len(T)
        forces.append(force)
    for (loop, freedom), effort in zip(model.loop_drives, efforts, strict=True):
        T_a = frames[loop].joint.type.active_forces(frames[loop].placement)
        forces[loop] = forces[loop] + T_a[freedom] * effort
    return forces


LOOP_DRIVES = Algorithm("loop_drives", loop_drive_matrix, "q -> B (nv, loop drives)")
LOOP_FORCES = Algorithm(
    "loop_forces", loop_joint_forces, "q, qd, multipliers, efforts -> f (loops, 6)"
)
