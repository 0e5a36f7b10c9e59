# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The phase in which grippers take hold of an object."""

from __future__ import annotations

from robot_dynamics.arrays import Array
from robot_dynamics.control.task.free_arms import FreeArms
from robot_dynamics.control.task.free_phases import Grasp, SqueezeWrenches
from robot_dynamics.control.task.grippers import Grippers
from robot_dynamics.control.task.phases import Now, PhaseFailed
from robot_dynamics.control.task_settings import GraspSettings


class GripperGrasp(Grasp):
    """Straight way to the grasps, where the grippers close; then the squeeze grows.

    Args:
        arms: The arms.
        settings: The settings.
        squeeze: Its squeeze.
        grippers: The grippers.
    """

    def __init__(
        self, arms: FreeArms, settings: GraspSettings, squeeze: SqueezeWrenches, grippers: Grippers
    ) -> None:
        super().__init__(arms, settings, squeeze)
        self._grippers = grippers

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        super().begin(now)
        own, search_s = self._settings, self._along.duration
        self._along = self._lines(own.touch_within_m, own.speed)
        self.planned_s += self._along.duration + own.close_s - search_s

    def ideal_wrenches(self) -> Array:
        """See `Grasp`."""
        return self.share * self.squeeze.wrenches

    def _search(self, now: Now) -> None:
        """Move to the grasps, and close there."""
        own, there = self._settings, self._along.duration
        self._arms.advance_tools(self._along.speeds(now.time))
        if now.time < there:
            self._require_free(now, own.touch_n)
            return
        self._grippers.close()
        if now.time < there + own.close_s:
            return
        if silent := self._grippers.silent:
            names = " and ".join(map(repr, silent))
            raise PhaseFailed(
                f"the gripper of arm {names} has not answered for {own.close_s:g} s; expected "
                "what it holds."
            )
        if empty := self._grippers.empty:
            names = " and ".join(map(repr, empty))
            raise PhaseFailed(
                f"arm {names} gripped nothing; expected the object within reach of its gripper."
            )
        self._touching = [True] * len(self._touching)
