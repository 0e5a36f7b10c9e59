# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The phase of a task in which free arms follow trajectories of others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robot_dynamics.control.task.free_arms import FreeArms
from robot_dynamics.control.task.free_phases import FreePhase
from robot_dynamics.control.task.joint_trajectory import (
    Code,
    JointGoal,
    JointLimits,
    JointPath,
    Motion,
    halted,
)
from robot_dynamics.control.task.phases import Now
from robot_dynamics.control.task_settings import OPERATOR_S, MoveSettings


class Follow(FreePhase):
    """Motion of free arms along received trajectories, until an operator ends it.

    Args:
        arms: The arms.
        settings: The settings.
        margin: Distance from the position limits [rad or m].

    Attributes:
        goals: Goals under way, by the name of their arm.
        touch_n: Force at a wrist beyond which the phase fails [N].
    """

    for_operator = True

    def __init__(self, arms: FreeArms, settings: MoveSettings, margin: float) -> None:
        super().__init__("move", arms, settings)
        self.touch_n, self.planned_s = settings.touch_n, OPERATOR_S
        system, limits = arms.system, arms.system.limits
        named = zip(system.arms, system.arm_slices, strict=True)
        self._slices = {arm.name: own for arm, own in named}
        self._limits = {
            arm: JointLimits(
                limits["lower"][own] + margin,
                limits["upper"][own] - margin,
                settings.velocity_fraction * limits["velocity"][own],
                system.joint_units[own],
            )
            for arm, own in self._slices.items()
        }
        self._forget()

    def _forget(self) -> None:
        self.goals: dict[str, JointGoal] = {}
        self._paths: dict[str, JointPath] = {}
        self._time = 0.0

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        self._forget()
        self._arms.rest(self._arms.q)

    def follow(self, goals: Mapping[str, JointGoal]) -> None:
        """Follow goals from now on, by the name of their arm; they replace earlier ones.

        Raises:
            JointTrajectoryError: If a path leaves the limits; none is followed then.
        """
        paths = {
            arm: goal.trajectory.begun(self._time, self._present(arm), self._limits[arm])
            for arm, goal in goals.items()
        }
        for arm, goal in goals.items():
            if arm in self.goals:
                self.goals[arm].cancel("another trajectory replaces it.")
            self._paths[arm], self.goals[arm] = paths[arm], goal

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        self._require_free(now, self.touch_n)
        self._time = now.time
        for arm, goal in list(self.goals.items()):
            path = self._paths[arm]
            if not goal.ended:
                desired = path.at(now.time)
                since_end = path.since(now.time) - path.duration
                goal.judge(since_end, desired, now.q[self._slices[arm]], self._limits[arm].units)
            if goal.ended:
                del self.goals[arm]
                if goal.code is not Code.SUCCESSFUL:
                    self._paths[arm] = halted(now.time, self._present(arm), self._limits[arm])
        q, qd, qdd = self._arms.q.copy(), np.zeros_like(now.q), np.zeros_like(now.q)
        for arm, path in self._paths.items():
            own = self._slices[arm]
            q[own], qd[own], qdd[own] = path.at(now.time, self._arms.ahead)
        self._arms.follow(q, qd, qdd)
        moving = any(path.since(now.time) < path.duration for path in self._paths.values())
        return not moving and now.time >= self.planned_s and self._arrived(now)

    def _present(self, arm: str) -> Motion:
        """Return the present reference of an arm."""
        own, path = self._slices[arm], self._paths.get(arm)
        if path is None:
            still = np.zeros(own.stop - own.start)
            return self._arms.q[own].copy(), still, still
        return path.at(self._time)
