# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Model of the arms for the fallback: inertia, and support torque."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.robot.bound_model import quick_constraint_terms
from robot_dynamics.spatial import Inertia


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
