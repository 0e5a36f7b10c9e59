# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""External wrenches on the links of a simulated plant, and the poses of these links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.description.orientations import matrix_of_pose
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.arguments import checked_wrenches
from robot_dynamics.simulation.plant import ScenePlant


class Push(NamedTuple):
    """An external wrench on a link for some time.

    Attributes:
        link: Name of the link.
        wrench: About the link's origin, in its axes (6,), angular first [N m, N].
        end: Control tick at which it ends.
        ramp: Number of ticks before its end in which it falls to zero.
    """

    link: str
    wrench: Array
    end: int
    ramp: int

    def share(self, tick: int) -> float:
        """Return the share of it that acts in the control period after a tick."""
        left = self.end - tick
        return 0.0 if left <= 0 else min(1.0, left / self.ramp) if self.ramp else 1.0


class LinkPoses:
    """True poses of the links of a plant.

    Attributes:
        object: Name of the object's link.

    Args:
        plant: The plant.
    """

    def __init__(self, plant: ScenePlant) -> None:
        self._plant, self._robot = plant, Robot(plant.system.model)
        self.object = plant.system.model.bodies[plant.system.object_body].name

    def __call__(self, link: str) -> Array:
        """Return the pose (4, 4) of a link in the world.

        Raises:
            UnknownNameError: If there is no such link.
            ArgumentError: If the object has a joint.
        """
        plant, system = self._plant, self._plant.system
        if system.object_joint is not None:
            raise ArgumentError("the object has a joint; expected a rigid one.")
        there = plant.truth().object_pose
        if link == self.object:  # without a function that has to be compiled
            return matrix_of_pose(there)
        q = system.positions(plant.engine.sensed()[0])
        q[system.object_q] = there
        return self._robot.pose(link, q)


class Pushes:
    """External wrenches that act on a plant while it is simulated.

    Attributes:
        pose: Returns the pose (4, 4) of a link.

    Args:
        plant: The plant.
    """

    def __init__(self, plant: ScenePlant) -> None:
        self._model, self.pose = plant.system.model, LinkPoses(plant)
        self.reset()

    def reset(self) -> None:
        """End all of them."""
        self._pushes: list[Push] = []

    def add(self, pushes: Sequence[Push]) -> None:
        """Apply wrenches from the next control period on.

        Raises:
            RobotDynamicsError: If a link is unknown, or a number is not finite; none acts then.
        """
        for push in pushes:
            checked_wrenches(self._model, {push.link: push.wrench})
            self.pose(push.link)  # what this compiles is there from now on
        self._pushes.extend(pushes)

    def at(self, tick: int) -> Mapping[str, Array] | None:
        """Return the wrenches (6,) in world axes by link in the period after a tick, if any."""
        if not self._pushes:
            return None
        found: dict[str, Array] = {}
        for push in self._pushes:
            R = self.pose(push.link)[:3, :3]
            wrench = push.share(tick) * np.concatenate([R @ push.wrench[:3], R @ push.wrench[3:]])
            found[push.link] = found.get(push.link, np.zeros(6)) + wrench
        self._pushes = [push for push in self._pushes if push.end > tick + 1]
        return found
