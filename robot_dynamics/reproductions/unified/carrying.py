# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torques for an acceleration of the held object on a moving base.

Inverse dynamics (28) starts from joint accelerations. Here these follow from the object's
acceleration: arms follow it through the grasps (35), and the base follows under their reaction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.reproductions.unified.system import UnifiedTerms


@dataclass(frozen=True)
class Carrying:
    """Torques and motion for an acceleration of the object.

    Attributes:
        torque: Torques of the drives (a,).
        grasp_wrenches: f_e (6m,), by the end-effectors on the object, in their frames.
        object_acceleration: V_dot_o (6,), spatial, in the object's frame.
        joint_accelerations: Accelerations of the driven joints (a,).
        following_accelerations: Accelerations of base and passive joints (p,).
    """

    torque: Array
    grasp_wrenches: Array
    object_acceleration: Array
    joint_accelerations: Array
    following_accelerations: Array


def carrying(
    terms: UnifiedTerms,
    acceleration: Array,
    force: Array,
    *,
    internal: Array | None = None,
    relative: bool = False,
    length: float = 1.0,
) -> Carrying:
    """Return the torques that give the object an acceleration.

    Redundant arms use the least joint motion; arms with fewer joints, or in singular postures,
    achieve the nearest motion.

    Args:
        terms: The system at its state, with an object.
        acceleration: V_dot_o (6,), spatial, in the object's frame; with `relative` in addition to
            the acceleration of the object as a part of the base.
        force: Forces on base and passive joints (p,).
        internal: Grasp wrenches (6m,), whose internal part is added.
        relative: Whether the acceleration is relative to the base.
        length: Length [m] at which a moment counts like a force: grasp wrenches are the least.

    Raises:
        RobotDynamicsError: If there is no object.
    """
    parts, held = terms.parts, terms.held
    if held is None:
        raise RobotDynamicsError("the end-effectors hold no object, expected a held object.")
    W, M_o = held.W, held.M_o
    # V_o = B V_p with joints at rest: the grasps give B from J_p = W B.
    B = np.linalg.lstsq(W, parts.J_p, rcond=None)[0]
    R = B if relative else np.zeros_like(B)
    # V_dot_o = R V_dot_p + c, and (35): J_a qdd = W V_dot_o - J_p V_dot_p - J_dot v.
    arms = np.linalg.pinv(parts.J_a)
    A_p = arms @ (W @ R - parts.J_p)
    a_0 = arms @ (W @ acceleration - parts.J_dot_v)
    # The base under its own inertia, the arms', and the object's through J_p^T f_e = B^T W^T f_e.
    inertia = parts.M_p + parts.M_ap @ A_p + B.T @ M_o @ R
    rest = force - parts.C_p - parts.M_ap @ a_0 - B.T @ held.needed(acceleration)
    following = np.asarray(np.linalg.solve(inertia, rest), dtype=float)
    qdd = A_p @ following + a_0
    V_dot_o = R @ following + acceleration
    none = np.zeros(len(W))
    f_e = held.grasp_wrenches(V_dot_o, length, none if internal is None else internal)
    torque = parts.M_a @ qdd + parts.M_ap.T @ following + parts.C_a + parts.J_a.T @ f_e
    return Carrying(torque, f_e, V_dot_o, qdd, following)
