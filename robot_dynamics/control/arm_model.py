# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Model of the arms for the fallback: inertia, and support torque."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.robot.bound_model import quick_constraint_terms
from robot_dynamics.spatial import Inertia

_IN_HAND = 0.05  # gap of a grasp within which the object counts as held [rad or m]
_REDUNDANT = 1e-6  # singular value over the largest, of a constraint that another one contains


class ArmModel:
    """Arms of a grasp system without the object.

    Attributes:
        terms: `Robot.constraint_terms` of the system's model.

    Args:
        system: Arms and object.
    """

    def __init__(self, system: GraspSystem) -> None:
        self._system = system
        self.terms = quick_constraint_terms(system.model)
        # One evaluation gives both, and callers need both at the same positions.
        self._at: Array | None = None
        self._found: tuple[Array, Array] = (np.zeros((0, 0)), np.zeros(0))
        # For each arm the rows of its grasp, and the projector on what its contact blocks.
        self._grasps = np.array([range(6 * arm.loop, 6 * arm.loop + 6) for arm in system.arms])
        directions = [arm.contact.directions for arm in system.arms]
        self._blocked = np.stack([S @ S.T for S in directions])

    def inertia(self, q: Array) -> Array:
        """Return the joint-space inertia matrix (na, na) of the arms at positions `q` (na,)."""
        return self._inertia_and_bias(q)[0].copy()

    def support(self, q: Array) -> Array:
        """Return the torque (na,) that holds the arms up at rest at positions `q` (na,)."""
        return self._inertia_and_bias(q)[1].copy()

    def _inertia_and_bias(self, q: Array) -> tuple[Array, Array]:
        if self._at is not None and np.array_equal(q, self._at):
            return self._found
        system = self._system
        at = system.positions(q)
        H, C, _, _, _, _ = self.terms(at, np.zeros(system.model.nv))
        if system.internal_chains is None:
            v = system.v_index
            self._found = np.asarray(H)[np.ix_(v, v)], np.asarray(C)[v]
        else:  # G^T H G and G^T C, at rest (8.45)
            motions = system.motions(at)
            self._found = motions @ H @ motions.T, motions @ C
        self._at = np.array(q)
        return self._found

    def object_gap(self, q: Array, pose: Array) -> tuple[float, float]:
        """Return the largest gap of a contact, with the rigid object at a pose [m] [rad].

        Only displacements and rotations that the contact blocks count.

        Args:
            q: Positions of the arm joints (na,).
            pose: Pose of the object, x y z qx qy qz qw (7,).
        """
        system = self._system
        at = system.positions(q)
        at[system.object_q] = pose
        error = self.terms(at, np.zeros(system.model.nv))[4]
        gaps = self._blocked @ error[self._grasps][..., None]
        sizes = [(math.hypot(*gap[3:]), math.hypot(*gap[:3])) for gap in gaps[..., 0].tolist()]
        return max(distance for distance, _ in sizes), max(angle for _, angle in sizes)

    def inverse_inertia_with_object(self, q: Array, pose: Array) -> Array | None:
        """Return joint accelerations (na, na) for unit torques of arms that hold the object.

        With velocities `v = N y` that the grasps and internal closed chains allow, `K N = 0`, they
        are the rows and columns of the arm joints in `N (N^T H N)^-1 N^T`, as follows from (8.6).

        Args:
            q: Positions of the arm joints (na,).
            pose: Pose of the rigid object, x y z qx qy qz qw (7,).

        Returns:
            None if the object is elsewhere.
        """
        system = self._system
        at = system.positions(q)
        at[system.object_q] = pose
        H, _, K, _, error, _ = self.terms(at, np.zeros(system.model.nv))
        loops = [slice(6 * arm.loop, 6 * arm.loop + 6) for arm in system.arms]
        if not max(np.abs(error[loop]).max() for loop in loops) <= _IN_HAND:
            return None
        blocked = [
            arm.contact.directions.T @ K[loop]
            for arm, loop in zip(system.arms, loops, strict=True)
        ]
        rows = np.vstack([*blocked, K[6 * len(loops) :]])
        _, sizes, V = np.linalg.svd(rows)
        N = V[np.count_nonzero(sizes > _REDUNDANT * sizes[0]) :].T
        v = system.v_index
        return np.asarray(N[v] @ np.linalg.solve(N.T @ H @ N, N[v].T))


def with_load_in_hand(system: GraspSystem) -> GraspSystem:
    """Return the system with each arm's share of the object in the arm's last body.

    The support torque of these arms holds up arms and object. It does not depend on the control
    law or on its estimate of the object's pose.
    """
    model = system.model
    whole = system.object_loop_joint is None
    laden: dict[str, Inertia] = {}
    for arm in system.arms:
        loop = model.loops[arm.loop]
        body = model.bodies[loop.predecessor]
        object_inertia = model.bodies[loop.successor].inertia
        # From the object's frame to the grasp's, and to the frame of the arm's body.
        in_grasp: Inertia = loop.successor_placement * object_inertia
        in_body: Inertia = loop.predecessor_placement.inverse_times(in_grasp)
        # Each part of a jointed object is held by another hand.
        part = arm.load_share if whole else 1.0
        share = Inertia.of([part * value for value in in_body.components()])
        laden[body.name] = laden.get(body.name, body.inertia) + share
    return replace(system, model=model.replace(inertia=laden))
