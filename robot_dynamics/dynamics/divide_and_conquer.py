# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics by assembly of halves: bodies with several handles (section 7.5, Eq 7.63).

A tree is cut at a joint into two parts of about half its size, and each part again. The parts are
assembled from single bodies; each is described by the accelerations of its handles, to which
joints are still to be attached, under forces on them. With one processor for each body this takes
time of order log N. On one processor it is slower than `forward`: use it as a check, and to study
parallel algorithms. All arrays are dense NumPy arrays in world coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.alternative_assembly import BodyAndJoint, bodies_in_world
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.spatial import Force

#: Joint to attach to a handle, and whether the handle is on its successor.
Handle = tuple[int, bool]


@dataclass(frozen=True)
class Subchain:
    """A part of a mechanism, described at its handles: a = Phi f + b (7.4).

    Attributes:
        handles: Its handles.
        Phi: Their inverse inertias (6 h, 6 h).
        b: Their accelerations without forces (6 h,).
        halves: The two parts it was assembled from, with the joint; None for a single body.
    """

    handles: tuple[Handle, ...]
    Phi: Array
    b: Array
    halves: Halves | None = None


@dataclass(frozen=True)
class Halves:
    """Assembly of two parts; gives the force in the joint from the external forces.

    Attributes:
        first: First part.
        second: Second part.
        joint: Joint between them.
        Phi: Inverse inertias of the handles of both (6 h, 6 h), without the joint.
        b: Their accelerations, with the joint's active force (6 h,).
        G: Accelerations of the handles under unit constraint forces of the joint (6 h, m).
        Y: G^T Phi G (m, m).
        z: T^T c - G^T b (m,).
        E: The joint's force on the handles (6 h, 6): plus on the successor, minus on the other.
    """

    first: Subchain
    second: Subchain
    joint: int
    Phi: Array
    b: Array
    G: Array
    Y: Array
    z: Array
    E: Array


def put_together(first: Subchain, second: Subchain, number: int, joint: BodyAndJoint) -> Subchain:
    """Return two parts as one, with a joint between a handle of each (7.57 to 7.63).

    Args:
        first: First part.
        second: Second part.
        number: Number of the joint in the handles.
        joint: The joint.

    Raises:
        RobotDynamicsError: If the joint blocks a motion that is already blocked.
    """
    handles, m = (*first.handles, *second.handles), len(first.b)
    Phi = np.zeros((6 * len(handles), 6 * len(handles)))
    Phi[:m, :m], Phi[m:, m:] = first.Phi, second.Phi
    E = np.zeros((6 * len(handles), 6))
    for sign, on_successor in ((1.0, True), (-1.0, False)):
        at = 6 * handles.index((number, on_successor))
        E[at : at + 6] = sign * np.eye(6)
    b = np.concatenate([first.b, second.b]) + Phi @ E @ joint.f
    G = E @ joint.T
    Y = G.T @ Phi @ G
    # Rows of one joint are comparable only after scaling each by its size.
    size = np.sqrt(np.diag(Y))
    if np.any(size == 0.0) or (len(Y) and np.linalg.cond(Y / np.outer(size, size)) > 1e14):
        raise RobotDynamicsError(f"joint {number} blocks motions that are blocked already.")
    z = joint.T.T @ joint.c - G.T @ b
    rest = [h for h in range(len(handles)) if handles[h][0] != number]
    keep = [6 * h + k for h in rest for k in range(6)]
    PhiA = Phi - Phi @ G @ np.linalg.solve(Y, G.T @ Phi)
    bA = b + Phi @ G @ np.linalg.solve(Y, z)
    halves = Halves(first, second, number, Phi, b, G, Y, z, E)
    return Subchain(tuple(handles[h] for h in rest), PhiA[np.ix_(keep, keep)], bA[keep], halves)


def divide_and_conquer(
    model: Model,
    q: Sequence[float],
    qd: Sequence[float],
    tau: Sequence[float],
    parameters: Parameters,
    external: Sequence[Force] | None = None,
) -> Array:
    """Return the accelerations (nv,) of a tree.

    Args:
        model: The mechanism, without rotors, with mass and inertia on every body; loops are left
            open.
        q: Positions (nq,).
        qd: Velocities (nv,).
        tau: Joint forces (nv,).
        parameters: Gravity and inertias.
        external: External forces on the bodies, each in its body's coordinates.

    Raises:
        RobotDynamicsError: If a body has no inertia, or a joint has a rotor.
    """
    joints = bodies_in_world(model, q, qd, tau, parameters, external)
    base = np.array([0.0, 0.0, 0.0, *-parameters.gravity], dtype=float)

    def single(body: int) -> Subchain:
        """Return one body, or the base, whose acceleration is known."""
        attached: list[Handle] = [(i, False) for i in model.tree.children(body)]
        if body == WORLD:
            size = 6 * len(attached)
            return Subchain(tuple(attached), np.zeros((size, size)), np.tile(base, len(attached)))
        attached.append((body, True))
        try:
            Phi = np.linalg.inv(joints[body].I)
        except np.linalg.LinAlgError:
            raise RobotDynamicsError(
                f"{model.name}: link {model.bodies[body].name!r} has no inertia, expected some."
            ) from None
        b, count = -Phi @ joints[body].p, len(attached)
        return Subchain(tuple(attached), np.tile(Phi, (count, count)), np.tile(b, count))

    def assembled(bodies: frozenset[int]) -> Subchain:
        """Return connected bodies as one part."""
        if len(bodies) == 1:
            return single(next(iter(bodies)))
        inside = [i for i in bodies if i != WORLD and model.bodies[i].parent in bodies]
        carried = {i: bodies & set(model.tree.subtree(i)) for i in inside}
        cut = min(inside, key=lambda i: (abs(2 * len(carried[i]) - len(bodies)), i))
        outer, inner = assembled(frozenset(carried[cut])), assembled(bodies - carried[cut])
        return put_together(inner, outer, cut, joints[cut])

    qdd = np.zeros(model.nv)

    def taken_apart(part: Subchain, f: Array) -> None:
        """Find the joints' accelerations inside a part from the forces on its handles."""
        halves = part.halves
        if halves is None:
            return
        handles = (*halves.first.handles, *halves.second.handles)
        forces = np.zeros((len(handles), 6))
        forces[[h for h in range(len(handles)) if handles[h][0] != halves.joint]] = f
        outside = forces.ravel()
        blocked = np.linalg.solve(halves.Y, halves.z - halves.G.T @ halves.Phi @ outside)
        joint = joints[halves.joint]
        a = halves.Phi @ (outside + halves.G @ blocked) + halves.b
        # E^T a is the acceleration across the joint, c + S qdd.
        across = halves.E.T @ a - joint.c
        qdd[model.v_slices[halves.joint]] = joint.active.T @ across
        forces = (outside + halves.E @ (joint.f + joint.T @ blocked)).reshape(-1, 6)
        count = len(halves.first.handles)
        taken_apart(halves.first, forces[:count])
        taken_apart(halves.second, forces[count:])

    taken_apart(assembled(frozenset(range(WORLD, len(joints)))), np.zeros((0, 6)))
    return qdd
