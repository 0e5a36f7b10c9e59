# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The equations of all joints of a mechanism, tree and loop alike, over body accelerations.

Every joint constrains the motion of its successor relative to its predecessor, in the joint's
frame on the successor (sections 3.5 and 3.7). Joints of one type are evaluated in one go: the
scalars that joint types and spatial vectors work on are then arrays with one entry a joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.joint_layout import JointGroup, JointLayout, Placements
from robot_dynamics.dynamics.tree_recursion import solve_outwards
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import WORLD
from robot_dynamics.spatial import Force, Motion, Transform

# Dependence of freedoms at which half of all digits are lost.
_SINGULAR = 1e8


@dataclass(frozen=True)
class LoopState:
    """Loop joints at one state, everything in their frames on the successors.

    Attributes:
        placements: sXp of each, from its frame on the predecessor to its frame on the successor.
        of_predecessor: Matrices (loops, 6, 6) from the coordinates of the predecessor bodies.
        of_successor: The same of the successor bodies.
        v_p: Velocities of the predecessors (loops, 6).
        v_s: Velocities of the successors (loops, 6).
    """

    placements: Placements
    of_predecessor: Array
    of_successor: Array
    v_p: Array
    v_s: Array


@dataclass(frozen=True)
class JointEquations:
    """Constraints of the joints on the accelerations of bodies, at one state.

    With a the accelerations (6 N_B,) of all bodies in body coordinates, including -a_g, all joints
    are satisfied if K a = k, and then qdd = G a + g.

    Attributes:
        v: Velocities of the bodies (N_B, 6) in body coordinates.
        K: T^T P^T: one row for each constraint of the tree joints, then of the loop joints, then
            of the couplings (rows, 6 N_B).
        k: Right-hand side (rows,), without stabilisation.
        G: T_a^T P^T of the tree joints (nv, 6 N_B).
        g: Contribution of velocities and gravity to qdd (nv,).
        position_error: Position error of loop joints and couplings (n^c,).
        velocity_error: Their velocity error (n^c,).
        T: Directions of the constraint forces of joints, each in its joint's successor frame
            (rows less couplings, 6).
        T_a: Directions of the active forces of the tree joints, in the same frames (nv, 6).
        loops: Poses and motions of the loop joints.
    """

    v: Array
    K: csr_matrix
    k: Array
    G: csr_matrix
    g: Array
    position_error: Array
    velocity_error: Array
    T: Array
    T_a: Array
    loops: LoopState


def joint_equations(
    layout: JointLayout, gravity: Sequence[float], q: Array, qd: Array
) -> JointEquations:
    """Return the equations of all joints.

    Args:
        layout: The mechanism.
        gravity: Acceleration of gravity in the world (3,) [m/s^2].
        q: Positions (nq,).
        qd: Velocities (nv,).

    Raises:
        RobotDynamicsError: If a joint's freedoms depend on one another at these positions.
    """
    bodies, joints = layout.bodies, len(layout.predecessor)
    tree, loops = slice(0, bodies), slice(bodies, joints)
    T, T_a = np.zeros((layout.joint_rows, 6)), np.zeros((layout.nv, 6))
    rates, product = np.zeros(layout.joint_rows), np.zeros((joints, 6))
    vJ = np.zeros((bodies, 6))
    E, r = np.zeros((joints, 3, 3)), np.zeros((joints, 3))
    for group in layout.tree_groups:
        n, at, kind = len(group.joints), group.joints, group.kind
        positions, speeds = list(q[group.q]), list(qd[group.v])
        X = kind.transform(positions)
        Xup = Placements.of_transform(X.compose(layout.placements.at(at)), n)
        E[at], r[at] = Xup.E, Xup.r
        S = _stacked(kind.subspace(positions), n)
        vJ[at] = _stacked((kind.velocity(positions, speeds),), n)[:, 0]
        product[at] = _stacked((kind.velocity_product(positions, speeds),), n)[:, 0]
        T_a[group.v.T] = _active_directions(group, S)
        T[group.rows] = _stacked(kind.constraints(X), n) if kind.closes else _complement(S)

    # From each joint's predecessor to its successor's frame of the joint, and to that frame.
    across = Placements(E, r)
    X_p = np.empty((joints, 6, 6))
    X_p[tree] = Placements(E[tree], r[tree]).motion_matrices()
    X_s = np.empty((joints, 6, 6))
    X_s[tree] = np.eye(6)
    X_s[loops] = layout.successor_placements.motion_matrices()
    v = solve_outwards(layout.predecessor[tree], X_p[tree], vJ[:, :, None])[:, :, 0]
    if loops.start < loops.stop:
        over_loops = _loop_transforms(layout, across)
        E[loops], r[loops] = over_loops.E, over_loops.r
        X_p[loops] = over_loops.motion_matrices()
    with_base = np.vstack([v, np.zeros(6)])  # WORLD is the last one
    v_s = _times(X_s, with_base[layout.successor])
    v_p = _times(X_p, with_base[layout.predecessor])

    count = layout.joint_rows - layout.tree_rows + layout.couplings.shape[0]
    velocity_error, position_error = np.zeros(count), np.zeros(count)
    X_P = layout.predecessor_placements
    every = np.arange(joints - bodies)
    closing = across.at(every + bodies).compose(X_P.at(every).inverse())  # Eq 8.24
    placements = Placements.of_transform(closing, len(every))
    for group in layout.loop_groups:
        n, at = len(group.joints), group.joints
        X = placements.at(at - bodies)
        vJ_l = v_s[at] - v_p[at]
        T[group.rows] = _stacked(group.kind.constraints(X), n)
        T_rate = _stacked(group.kind.constraint_rates(X, Motion.of(list(vJ_l.T))), n)
        rates[group.rows] = np.einsum("nmi,ni->nm", T_rate, vJ_l)
        own = group.rows - layout.tree_rows
        velocity_error[own] = np.einsum("nmi,ni->nm", T[group.rows], vJ_l)
        for column, value in zip(own.T, group.kind.residual(X), strict=True):
            position_error[column] = value

    # Terms of a_J in addition to P^T a: v_s x v_p, and -a_g if the base is one of the bodies.
    rest = _crossed(v_s, v_p)
    still = np.array([0.0, 0.0, 0.0, *(-float(value) for value in gravity)])
    for ends, to_joint, sign in ((layout.successor, X_s, 1.0), (layout.predecessor, X_p, -1.0)):
        on_base = ends == WORLD
        rest[on_base] += sign * (to_joint[on_base] @ still)
    rest -= product  # a_J - c_J = S qdd

    joint, carried = layout.joint_of_row, layout.joint_of_freedom
    K = layout.over_bodies(joint, _rows_times(T, X_s[joint]), -_rows_times(T, X_p[joint]))
    G = layout.over_bodies(carried, T_a, -_rows_times(T_a, X_p[carried]))
    k = -np.einsum("ri,ri->r", T, rest[joint]) - rates
    g = np.einsum("ri,ri->r", T_a, rest[carried])
    C = layout.couplings
    if C.shape[0]:
        K, k = vstack([K, C @ G], format="csr"), np.concatenate([k, -(C @ g)])
        last = slice(-C.shape[0], None)
        position_error[last] = layout.coupling_positions @ q - layout.coupling_offsets
        velocity_error[last] = C @ qd
    state = LoopState(placements, X_p[loops], X_s[loops], v_p[loops], v_s[loops])
    return JointEquations(v, K, k, G, g, position_error, velocity_error, T, T_a, state)


def _loop_transforms(layout: JointLayout, across: Placements) -> Placements:
    """Return the transforms from the predecessor of each loop joint to its successor's frame.

    Poses are relative to the body that carries the cluster of loops, so that no precision is lost
    when it is far from the base. The rows of a pose are linear in the rows of the parent's pose.
    """
    bodies = layout.bodies
    E, r = across.E[:bodies], across.r[:bodies]
    local = np.zeros((bodies, 4, 4))  # pose of each body in its parent
    local[:, :3, :3], local[:, :3, 3], local[:, 3, 3] = np.swapaxes(E, 1, 2), r, 1.0
    steps = np.swapaxes(local, 1, 2)
    parent = layout.predecessor[:bodies].copy()
    first = parent == layout.tops
    own = np.where(first[:, None, None], steps[:, :, :3], 0.0)
    parent[first] = WORLD
    pose = np.swapaxes(solve_outwards(parent, steps, own), 1, 2)  # (N_B, 3, 4)
    pose = np.concatenate([pose, np.eye(3, 4)[None]])  # of the top itself, and of the base

    def from_top(ends: NDArray[np.intp]) -> Transform:
        at = np.where(ends == layout.loop_tops, -1, ends)
        placed = Placements(np.swapaxes(pose[at, :, :3], 1, 2), pose[at, :, 3])
        return placed.at(np.arange(len(at)))

    every = np.arange(len(layout.loop_tops))
    to_s, to_p = from_top(layout.successor[bodies:]), from_top(layout.predecessor[bodies:])
    X_S = layout.successor_placements.at(every)
    return Placements.of_transform(X_S.compose(to_s).compose(to_p.inverse()), len(every))


def _active_directions(group: JointGroup, S: Array) -> Array:
    """Return T_a^T = (S^T S)^-1 S^T (n, nv, 6); the choice changes no transmitted force."""
    try:
        T_a = np.asarray(np.linalg.solve(S @ np.swapaxes(S, 1, 2), S), dtype=float)
    except np.linalg.LinAlgError:
        T_a = np.full_like(S, np.inf)
    if not np.max(np.abs(T_a), initial=0.0) < _SINGULAR * max(1.0, np.max(np.abs(S), initial=0.0)):
        raise RobotDynamicsError(
            f"the freedoms of a {group.kind.name} joint depend on one another at these positions."
        )
    return T_a


def _complement(S: Array) -> Array:
    """Return directions (n, 6 - nv, 6) of forces that do no work on S (n, nv, 6)."""
    return np.asarray(np.linalg.svd(S)[2][:, S.shape[1] :], dtype=float)


def _stacked(vectors: Sequence[Motion] | Sequence[Force], count: int) -> Array:
    """Return vectors whose scalars are arrays (n,), or floats, as an array (n, vectors, 6)."""
    stack = np.empty((count, len(vectors), 6))
    for i, vector in enumerate(vectors):
        for j, value in enumerate(vector.components()):
            stack[:, i, j] = value
    return stack


def _times(matrices: Array, vectors: Array) -> Array:
    product: Array = np.einsum("nij,nj->ni", matrices, vectors)
    return product


def _rows_times(rows: Array, matrices: Array) -> Array:
    product: Array = np.einsum("ni,nij->nj", rows, matrices)
    return product


def _crossed(a: Array, b: Array) -> Array:
    """Return motions (n, 6) crossed with motions (2.31)."""
    product = Motion.of(list(a.T)).cross(Motion.of(list(b.T)))
    return np.stack(product.components(), axis=-1)
