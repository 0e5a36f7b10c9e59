# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The engine of robots by themselves: trees and closed loops, moved by the integrators."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.arguments import positive_number
from robot_dynamics.dynamics.passive import FRICTION_VELOCITY
from robot_dynamics.dynamics.scaling import model_length
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model.moved_inertia import require_inertia
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.engine import Engine, SimulationError
from robot_dynamics.simulation.integrators.choice import Choice
from robot_dynamics.simulation.integrators.fixed_steps import FixedSteps
from robot_dynamics.simulation.integrators.integrate import closed_start
from robot_dynamics.simulation.integrators.method import Method
from robot_dynamics.simulation.integrators.trajectory import Trouble
from robot_dynamics.simulation.runge_kutta import scheme_of_order
from robot_dynamics.simulation.stability import decay_rates, largest_step

#: Default of the period and of the longest integration step [s].
PERIOD, STEP = 2e-3, 1e-3
# More steps than this in a period are a mistake in the friction of a description.
_MOST_STEPS = 10_000
NO_WRENCHES = np.zeros((0, 6))  # at the wrists of a robot by itself


def start_of_robot(
    robot: Robot, q: ArrayLike | None, qd: ArrayLike | None
) -> tuple[tuple[Array, Array], Any]:
    """Return the state to start from, as `closed_start` does, and defaults for missing parts.

    Args:
        robot: The robot.
        q: Positions (nq,); by default joints at zero, or where `Robot.assemble` closes the loops.
        qd: Velocities (nv,); at rest by default.
    """
    model = robot.model
    at = robot.assemble().q if q is None and model.constraint_count else q
    at = model.neutral() if at is None else at
    return closed_start(robot, at, np.zeros(model.nv) if qd is None else qd)


def robot_forces(
    robot: Robot, q: Array, torque: Array, wrenches: Mapping[str, Array] | None
) -> Array:
    """Return the sum of joint forces (nv,) and of external wrenches in world axes."""
    return torque + robot.external_forces(q, wrenches, "aligned") if wrenches else torque


class RobotEngine(Engine):
    """Moves a robot by itself as `rd.integrate` does by default.

    Attributes:
        robot: The robot.
        period: The period [s].

    Args:
        robot: The robot.
        period: The period [s].
        q: Positions (nq,) at the start, loops closed; by default joints at zero, or where
            `Robot.assemble` closes the loops.
        qd: Velocities (nv,) there; at rest by default.
        step: Longest integration step [s]; by default 1 ms, or less if friction, springs and
            dampers of the joints require it.

    Raises:
        ArgumentError: If an argument does not fit, the start is open, or a stated step is too
            long for friction, springs and dampers.
        RobotDynamicsError: If a joint moves no inertia; it names the link that lacks it.
    """

    recovers: ClassVar[bool] = True

    def __init__(
        self,
        robot: Robot,
        period: float | None = None,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
        step: float | None = None,
    ) -> None:
        model = robot.model
        require_inertia(model)
        self.robot = robot
        self.period = PERIOD if period is None else positive_number("period", period)
        (q, qd), limit = start_of_robot(robot, q, qd)
        self.substeps = self._checked_substeps(q, step)
        method, h = Method("projection", scheme_of_order(8), 1.0), self.period / self.substeps
        at_rest = np.zeros(model.nv)
        self._steps = FixedSteps(robot, method, at_rest, h, q, limit, model_length(model))
        self._q, self._qd = q.copy(), qd.copy()
        self._start = self.save()

    def begin(self) -> None:
        """Return to the start."""
        self.restore(self._start)

    def run(self, time: float, torque: Array, wrenches: Mapping[str, Array] | None = None) -> None:
        """Advance by one period; see `Engine.run`."""
        before = self._steps.memory
        self._steps.force = robot_forces(self.robot, self._q, torque, wrenches)
        try:
            self._q, self._qd = self._steps.advance(time, 0, self.substeps, self._q, self._qd)
        except Trouble as trouble:
            self._steps.memory = before
            raise SimulationError(
                f"{self.robot.model.name}: the simulated motion ended at {trouble.time:.6g} s: "
                f"{trouble.reason}; expected torques that keep it bounded, or a shorter step."
            ) from trouble

    def sensed(self) -> tuple[Array, Array, Array]:
        """Return positions and velocities, and no wrenches."""
        return self._q, self._qd, NO_WRENCHES

    def save(self) -> tuple[Array, Array, tuple[Choice, float, int]]:
        """Return copies of positions and velocities, and the memory of the integrator."""
        return self._q.copy(), self._qd.copy(), self._steps.memory

    def restore(self, saved: Sequence[Any]) -> None:
        """Set the variables that `save` returned."""
        q, qd, self._steps.memory = saved
        self._q, self._qd = q.copy(), qd.copy()

    def _checked_substeps(self, q: Array, step: float | None) -> int:
        """Return a number of steps at which friction, springs and dampers are stable."""
        model = self.robot.model
        wish = STEP if step is None else positive_number("step", step)
        wish = self.period / max(1, math.ceil(self.period / wish * (1.0 - 1e-12)))
        friction = np.zeros(model.nv)
        if model.joint_friction:
            friction = model.damping + model.friction / FRICTION_VELOCITY
        joints = (*(body.joint for body in model.bodies), *model.loops)
        longest = wish
        if friction.any() or any(j.elastic or np.any(j.damping) for j in joints):
            without = Robot(model.replace(joint_friction=False))  # that is in `friction`
            rates = decay_rates(without, q, friction)
            longest = largest_step(scheme_of_order(8), rates, wish)
        steps = math.ceil(self.period / max(longest, 1e-300) * (1.0 - 1e-9))
        if (longest < wish and step is not None) or steps > _MOST_STEPS:
            raise ArgumentError(
                f"{model.name}: integration steps of {wish:g} s are too long for the friction, "
                f"springs and dampers of the joints; expected at most {longest:.2g} s"
                + ("." if steps <= _MOST_STEPS else ", and weaker ones: it would take minutes.")
            )
        return steps
