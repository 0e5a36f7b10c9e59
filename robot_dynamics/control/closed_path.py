# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion of arms along a path of the object, with contacts closed at every point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgesv

from robot_dynamics.arrays import Array
from robot_dynamics.control.reference import POSE, TWIST
from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.manipulation.hybrid.grasp_kinematics import holonomic_rows
from robot_dynamics.manipulation.system import GraspSystem

_CLOSED = 1e-10  # gap [m, rad] at which contacts count as closed; far below what matters
_LARGEST_STEP = 0.3  # of a Newton step [rad or m]
_STEPS = 60  # of Newton's method; few but where tools have turned far in their contacts


class ClosedPath:
    """Arms and object; contacts, and internal chains of the arms, are closed at every point.

    They are closed by the smallest motion in the metric of inertia. Free directions of contacts do
    not change. A contact that blocks the rotation about one axis only, such as a soft finger,
    blocks a rate and not a position: the rotation follows from the velocities, see `advance`.

    Attributes:
        at: Positions of the model (nq,).
        rate: Its velocities (nv,).

    Args:
        system: Arms and object.
        terms: `Robot.constraint_terms` of its model.
        contacts: Contact of each arm with the object; rigid by default.
    """

    def __init__(
        self, system: GraspSystem, terms: Any, contacts: Sequence[Contact] | None = None
    ) -> None:
        self._system, self._terms = system, terms
        self.at = system.model.neutral()
        self.rate = np.zeros(system.model.nv)
        held = contacts or [Contact.of_kind("rigid", grasp) for grasp in system.grasps]
        counts = [len(loop.type.rows) for loop in system.model.loops]
        first = np.concatenate([[0], np.cumsum(counts)]).astype(int)
        chains = system.internal_chains
        own = [] if chains is None else list(range(first[chains], first[-1]))
        rows = sum(one.directions.shape[1] for one in held) + len(own)
        # Matrix from all rows of the constraints to those of the arms.
        self._rows = np.zeros((rows, first[-1]))
        self._holonomic = np.ones(rows)
        self._grasps: list[tuple[slice, Array]] = []
        row = 0
        for arm, contact in zip(system.arms, held, strict=True):
            S = contact.directions
            at = slice(row, row + S.shape[1])
            self._rows[at, first[arm.loop] : first[arm.loop] + 6] = S.T
            self._holonomic[at] = holonomic_rows(contact)
            self._grasps.append((at, S))
            row = at.stop
        self._rows[np.arange(row, rows), own] = 1.0
        na = len(system.every_v)
        self._matrix = np.zeros((na + rows, na + rows), order="F")
        self._inertia_at = np.ix_(system.every_v, system.every_v)
        self._error = np.zeros(rows)
        slices = system.model.q_slices, system.model.v_slices
        self._bodies = [(slices[0][b], slices[1][b]) for b in system.object_bodies]

    @property
    def position_rows(self) -> Array:
        """Matrix from all constraint rows to the positions that contacts block (r, n^c)."""
        return self._rows[self._holonomic > 0.0]

    @property
    def nonholonomic(self) -> bool:
        """Whether a contact blocks a rate and no position."""
        return not self._holonomic.all()

    def close(self, *rows: Array) -> bool:
        """Move the arms onto reference rows of the object's bodies; return if that was possible.

        Args:
            rows: For each body of the object a row (19 or more,).
        """
        system = self._system
        for (at_q, at_v), row in zip(self._bodies, rows, strict=True):
            self.at[at_q] = row[POSE]
            self.rate[at_v] = _body_velocity(row)
        for _ in range(_STEPS):
            H, _, K, _, error, _ = self._terms(self.at, self.rate)
            K, self._error = self._rows @ K, self._holonomic * (self._rows @ error)
            if np.abs(self._error).max(initial=0.0) < _CLOSED:
                self.rate[system.every_v] -= self._smallest_motion(H, K, K @ self.rate)
                return True
            step = self._smallest_motion(H, K, self._error)
            size = float(np.abs(step).max())
            if not math.isfinite(size):
                return False
            self.at[system.every_q] -= step * min(1.0, _LARGEST_STEP / size)
        return False

    def advance(self, step: float, acceleration: Array | None = None) -> None:
        """Predict the arms one time step ahead; `close` corrects the error.

        Args:
            step: Time step [s].
            acceleration: Acceleration of the arm joints (na,); zero by default.
        """
        system = self._system
        self.at[system.every_q] += step * self.rate[system.every_v]
        if acceleration is not None:
            self.at[system.q_index] += 0.5 * step * step * acceleration
            self.rate[system.v_index] += step * acceleration

    def gaps(self) -> Array:
        """Return the closure error of each arm, distance [m] and angle [rad] (k, 2).

        The closure error of internal chains of the arms counts as a distance.
        """
        open_by = [S @ self._error[at] for at, S in self._grasps]
        chains = float(np.linalg.norm(self._error[self._grasps[-1][0].stop :]))
        return np.array([[np.linalg.norm(e[3:]) + chains, np.linalg.norm(e[:3])] for e in open_by])

    def _smallest_motion(self, H: Array, K: Array, error: Array) -> Array:
        """Return the smallest motion of all joints, in the metric of H, that gives `error`."""
        na = len(self._system.every_v)
        matrix, own = self._matrix, K[:, self._system.every_v]
        matrix[:na, :na] = H[self._inertia_at]
        matrix[na:, :na] = own
        matrix[:na, na:] = own.T
        right = np.zeros(len(matrix))
        right[na:] = error
        if self._system.internal_chains is not None:  # a hinge in a plane has rows to spare
            try:
                return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-12)[0][:na])
            except np.linalg.LinAlgError:
                return np.full(na, np.nan)
        # Twice as fast as numpy.linalg.solve for such small matrices.
        _, _, solution, singular = dgesv(matrix, right)
        return np.full(na, np.nan) if singular else np.asarray(solution[:na])


def _body_velocity(row: Array) -> Array:
    """Return the object's velocity in its axes (6,), from a row in world axes."""
    x, y, z, w = row[3:7].tolist()
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return (row[TWIST].reshape(2, 3) @ R).reshape(6)
