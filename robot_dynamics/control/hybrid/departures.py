# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Changes from force control to motion control where the object leaves a surface."""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.followed import FollowedRows
from robot_dynamics.control.hybrid.law_kernel import LawKernel
from robot_dynamics.control.hybrid.planned_forces import object_motion
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.control.hybrid.torque_fade import TorqueFade
from robot_dynamics.control.reference import POSE, TWIST


class Departures:
    """Continues the path from the object's position when it leaves a surface.

    Args:
        kernel: System and layout.
        followed: Rows that the law follows.
        period: Control period [s].
    """

    def __init__(self, kernel: LawKernel, followed: FollowedRows, period: float) -> None:
        self._system, self._followed = kernel.system, followed
        self._touch = kernel.layout.reference["touch"]
        self._torque = kernel.layout.memory["torque"].start + kernel.order
        self._fade, self._leaving = TorqueFade(period), False

    def forget(self) -> None:
        """Reset for a start."""
        self._leaving = False
        self._fade.forget()

    def row(self, tick: int, row: Array, last: HybridStep) -> Array:
        """Return the row of a tick, changed if it leaves a surface that the last step touched."""
        if (last.touched > row[self._touch]).any():
            return self._depart(tick, last)
        return row

    def finish(self, tick: int, last: HybridStep, step: HybridStep, effort: Array) -> None:
        """Keep the torque of a step from jumping, and prepare the next row if a contact is lost.

        Args:
            tick: Control periods since the start.
            last: The step before.
            step: Its torque and memory may change.
            effort: Largest torques (na,).
        """
        if self._leaving:
            self._fade.begin(last.torque - step.torque)
        lost = not self._leaving and (last.touched > step.touched).any()
        self._fade.apply(step, effort, self._torque)
        self._leaving = False
        if lost:
            self._depart(tick, step)

    def _depart(self, tick: int, last: HybridStep) -> Array:
        """Return the row of a tick, with the path continued from the object's position.

        Motion normal to a touched surface was not controlled, so its distance from the path must
        not become an error at once. Controlled errors remain.
        """
        self._leaving = True
        rows = np.tile(self._followed.row(tick), (2, 1))  # planned, and seen
        rows[1, POSE], rows[1, TWIST] = last.pose, last.twist
        x, R, twist, _ = object_motion(rows, self._system.held.center)
        planned, here = (self._system.environment.terms(x[i], R[i], twist[i]) for i in range(2))
        left = last.touched > 0.0
        E_F = here.E_F[left]
        rate = np.linalg.pinv(E_F) @ E_F @ (twist[1] - twist[0])  # of the centre of mass
        rate[3:] -= np.cross(rate[:3], x[1] - last.pose[:3])
        behind = bool((planned.p[left] > 0.0).any())
        return self._followed.depart(tick, last.pose, last.error, rate, behind=behind)
