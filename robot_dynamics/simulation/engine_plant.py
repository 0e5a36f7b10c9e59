# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The plant that our own closed-loop dynamics moves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import load_kernel
from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.grasp_map import GraspMap
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.observation import observation
from robot_dynamics.simulation.periodic_plant import PeriodicPlant
from robot_dynamics.simulation.plant import Truth
from robot_dynamics.simulation.schemes import CLASSICAL
from robot_dynamics.simulation.settings import PlantSettings
from robot_dynamics.simulation.singular_step import singular_step
from robot_dynamics.simulation.step import step_parameters, step_program
from robot_dynamics.simulation.step_stability import decay_rates, largest_step

Array = NDArray[np.float64]


class SimulationError(RobotDynamicsError):
    """The simulation cannot go on; the message says when and why."""


class EnginePlant(PeriodicPlant):
    """Arms, object and grasps, integrated with a fixed step; loops closed by projection.

    Args:
        system: Arms, object and grasps as they truly are.
        start: Positions (nq,) of the start, grasps closed.
        period: Control period [s].
        settings: Step, delay, friction, sensors.
        grasp_map: What is meant by the internal force; by default the wrench transmitted through
            the object.

    Raises:
        ArgumentError: If the control period is no whole number of steps, or the step is too long
            for the friction, springs and dampers of the joints.
    """

    def __init__(
        self,
        system: GraspSystem,
        start: Array,
        period: float,
        settings: PlantSettings,
        grasp_map: GraspMap | None = None,
    ) -> None:
        super().__init__(system, start, period, settings, grasp_map)
        self.substeps = settings.steps("step_s", period)
        self._robot = Robot(system.model)
        actuated = self.drives.v_index.tolist()
        kernel = load_kernel(
            b"step\0" + repr(actuated).encode() + system.model.structure_key,
            lambda: step_program(system.model, actuated),
            lanes=1,
        )
        self._step_length = period / self.substeps
        self._check_step(self._start)
        self._step = kernel.bind(step_parameters(system.model, self.drives, self._step_length))
        self._observe = observation(self._map)
        self.reset()

    def _begin(self) -> None:
        self._q, self._qd = self._start.copy(), np.zeros(self.system.model.nv)
        self._multipliers = self._resting_wrenches()
        self._closure = np.zeros(self.system.model.constraint_count)
        self._drift = np.zeros_like(self._closure)

    def _run(self, torque: Array) -> None:
        self._drift = np.zeros(len(self._drift))
        for _ in range(self.substeps):
            self._advance(torque)

    def _state(self) -> bytes:
        return self._q.tobytes() + self._qd.tobytes()

    def _seen(self) -> tuple[Array, Array, Array]:
        system = self.system
        wrenches = self._multipliers.reshape(-1, 6)
        return self._q[system.q_index], self._qd[system.v_index], wrenches

    def truth(self) -> Truth:
        """Return the present true state."""
        pose = self._q[self.system.object_q].copy()
        velocity = self._qd[self.system.object_v]
        twist, internal_force, gaps = self._observe(
            pose, velocity, self._multipliers, self._closure, self._drift
        )
        position, rotation, correction = gaps.tolist()
        return Truth(pose, twist, internal_force, position, rotation, correction, self._torque)

    def _check_step(self, start: Array) -> None:
        """Refuse a step at which friction, springs or dampers make the scheme unstable."""
        drives, friction = self.drives, np.zeros(self.system.model.nv)
        friction[drives.v_index] = drives.damping + drives.friction / drives.friction_velocity
        rates = decay_rates(self._robot, start, friction)
        longest = largest_step(CLASSICAL, rates, self._step_length)
        if longest < self._step_length:
            raise ArgumentError(
                f"an integration step of {self._step_length:g} s is too long for the friction, "
                f"springs and dampers of the joints, whose fastest motion has a rate of "
                f"{np.max(np.abs(rates)):.0f} 1/s; expected at most {longest:.2g} s."
            )

    def _advance(self, torque: Array) -> None:
        q, qd, multipliers, closure, drift, pivot = self._step(self._q, self._qd, torque)
        if not pivot >= SMALLEST_PIVOT:
            try:
                q, qd, multipliers, closure, drift = singular_step(
                    self._robot, self.drives, self._step_length, self._q, self._qd, torque
                )
            except (RobotDynamicsError, np.linalg.LinAlgError, ValueError) as error:
                raise SimulationError(
                    "the simulated motion grew without bound before "
                    f"{(self._tick + 1) * self.period:g} s ({str(error).rstrip('.')}); expected "
                    "torques that keep it bounded, or a shorter step."
                ) from error
        self._q, self._qd, self._multipliers, self._closure = q, qd, multipliers, closure
        self._drift = np.maximum(self._drift, np.abs(drift))

    def _resting_wrenches(self) -> Array:
        """Return the wrenches of arms on brakes, which statics leaves open: shared as declared."""
        bias = self._robot.bias_forces(self._q, self._qd)[self.system.object_v]
        return np.asarray(self._map.distribution @ bias)
