# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Wrist sensors: measuring frames, and weights of the tools that they carry."""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array, cross
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model import pose_of
from robot_dynamics.robot import Robot


class SensorFrames:
    """Transforms of wrenches from the frames of wrist sensors to tool frames.

    Args:
        system: Arms and object.

    Raises:
        RobotDynamicsError: If the sensor frame of an arm is not fixed to its tool.
    """

    def __init__(self, system: GraspSystem) -> None:
        self._model = system.model
        self._arms = {arm.name: (arm.tool, arm.sensor_frame or arm.tool) for arm in system.arms}
        for arm in system.arms:
            try:
                self.to_tool(arm.name, arm.sensor_frame)
            except ArgumentError as error:
                raise RobotDynamicsError(f"wrist sensor of arm {arm.name!r}: {error}") from None

    def default(self, arm: str) -> str:
        """Return the default measuring frame of an arm's sensor."""
        return self._arms[arm][1]

    def to_tool(self, arm: str, frame: str) -> Array | None:
        """Return the matrix (6, 6) that transforms wrenches, moment first, to an arm's tool frame.

        With axes R and origin p of the frame in the tool frame, a force f and a moment m become
        R f and R m + p x R f.

        Args:
            arm: Name of the arm.
            frame: Name of a link; the default frame if empty.

        Returns:
            The matrix; None if the frames coincide.

        Raises:
            ArgumentError: If no link has this name, or it moves relative to the tool.
        """
        tool, default = self._arms[arm]
        try:
            own, given = (self._model.link(name) for name in (tool, frame or default))
        except UnknownNameError:
            raise ArgumentError(
                f"its frame {frame or default!r} is no link; expected {tool!r} or a link fixed to "
                "it."
            ) from None
        if given.body != own.body:
            raise ArgumentError(
                f"its frame {given.name!r} moves relative to the tool; expected {tool!r} or a "
                "link fixed to it."
            )
        at = np.linalg.solve(pose_of(own.placement), pose_of(given.placement))
        if np.allclose(at, np.eye(4), rtol=0.0, atol=1e-12):
            return None
        R, p = at[:3, :3], at[:3, 3]
        matrix = np.zeros((6, 6))
        matrix[:3, :3] = matrix[3:, 3:] = R
        matrix[:3, 3:] = np.cross(p, R, axisb=0, axisc=0)
        return matrix


class ToolWeights:
    """Weights of tools as their wrist sensors measure them at rest.

    On a tool of mass m and centre c in its link's frame the arm exerts the force f = -R^T m g and
    the moment c x f, with R the axes of the link in the world.

    Attributes:
        any: Whether a sensor carries a tool with a mass.

    Args:
        system: Arms and object.
    """

    def __init__(self, system: GraspSystem) -> None:
        self._system = system
        self._carried = [
            (i, arm.tool, arm.sensor_tool_mass, np.array(arm.sensor_tool_center))
            for i, arm in enumerate(system.arms)
            if arm.sensor_tool_mass > 0.0
        ]
        self.any = bool(self._carried)
        self._gravity = np.array(system.model.gravity, dtype=float)
        if self.any:
            self._pose = Robot(system.model).pose
            self.wrenches(system.posture)  # compiled before arms move

    def wrenches(self, q: Array) -> Array:
        """Return the wrenches (k, 6) by the arms on their tools, in tool frames [N m, N].

        Args:
            q: Positions of the arm joints (na,).
        """
        found = np.zeros((len(self._system.arms), 6))
        if not self.any:
            return found
        at = self._system.positions(q)
        for i, tool, mass, center in self._carried:
            force = -mass * self._pose(tool, at)[:3, :3].T @ self._gravity
            found[i] = [*cross(center, force), *force]
        return found
