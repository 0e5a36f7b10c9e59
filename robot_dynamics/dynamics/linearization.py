# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Small motions near a state, in independent coordinates, with or without loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.independent import IndependentForm


class Linearization(NamedTuple):
    """Small motions of a mechanism near a state: dx/dt = A x + B u + (yd, ydd at the state).

    x = (dy, dyd) are the changes of the m independent positions and velocities, u the changes of
    the joint forces tau (nv,).

    Attributes:
        A: (2 m, 2 m).
        B: (2 m, nv), a column for each joint force in `tau`. Drives of the tree have `B[:,
            robot.model.active]`, drives in loop joints `B @ robot.loop_drives(q)`.
        ydd: Accelerations of the independent coordinates at the state (m,).
        G: All small motions from the independent ones (nv, m): dq = G dy.
        P: Additional effect of position changes on velocities (nv, m): dqd = G dyd + P dy.
        names: Names of the independent coordinates.
    """

    A: Array
    B: Array
    ydd: Array
    G: Array
    P: Array
    names: tuple[str, ...]


def with_controller(system: Linearization, by_q: Array, by_qd: Array) -> Linearization:
    """Return the linearisation of a system whose forces follow its motion.

    Args:
        system: The system without them.
        by_q: Derivative of the forces along velocities (nv, nv).
        by_qd: Derivative of the forces by velocities (nv, nv).
    """
    feedback = np.hstack([by_q @ system.G + by_qd @ system.P, by_qd @ system.G])
    return system._replace(A=system.A + system.B @ feedback)


def linearization(
    form: IndependentForm,
    H: Array,
    K: Array,
    qdd: Array,
    motion_q: Array,
    motion_qd: Array,
    rates_q: Array,
    rates_qd: Array,
    drift_q: Array,
) -> Linearization:
    """Return the linearisation of the equation of motion at a state.

    Args:
        form: The independent coordinates there.
        H: Joint-space inertia matrix (nv, nv).
        K: Constraints (n^c, nv).
        qdd: Accelerations (nv,).
        motion_q: Derivative of ID - K^T lambda by q (nv, nv).
        motion_qd: By qd (nv, nv).
        rates_q: Derivative of K qdd - k by q (n^c, nv).
        rates_qd: By qd (n^c, nv).
        drift_q: Derivative of K qd by q (n^c, nv).
    """
    G, independent = form.G, list(form.independent)
    n, m = G.shape
    dependent = np.setdiff1d(np.arange(n), independent)

    def following(rates: Array) -> Array:
        """Return motions (nv, ...) of only dependent coordinates that K maps to `rates`."""
        motion = np.zeros((n, rates.shape[1]))
        if len(dependent) and len(K):
            # Constraints may depend on one another: then their rates do as well.
            motion[dependent] = np.linalg.lstsq(K[:, dependent], rates, rcond=None)[0]
        return motion

    # K qd = 0 still holds while dq = G dy moves the mechanism.
    P = following(-drift_q @ G)
    # dqdd = G dydd + p: K dqdd = -(d/dq, d/dqd)(K qdd - k).
    p = following(-np.hstack([rates_q @ G + rates_qd @ P, rates_qd @ G]))
    # G^T removes changes of the multipliers, G^T K^T = 0; (dK)^T lambda is in motion_q.
    r = np.hstack([motion_q @ G + motion_qd @ P, motion_qd @ G])
    solve = np.linalg.solve(G.T @ H @ G, np.hstack([-G.T @ (H @ p + r), G.T]))
    A = np.vstack([np.hstack([np.zeros((m, m)), np.eye(m)]), solve[:, : 2 * m]])
    B = np.vstack([np.zeros((m, n)), solve[:, 2 * m :]])
    return Linearization(A, B, qdd[independent], G, P, form.names)
