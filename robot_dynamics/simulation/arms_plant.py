# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms with empty hands: the plant for trying out what holds them up."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.periodic_plant import PeriodicPlant
from robot_dynamics.simulation.plant import Truth
from robot_dynamics.simulation.schemes import CLASSICAL
from robot_dynamics.simulation.settings import PlantSettings
from robot_dynamics.simulation.step import drive_forces
from robot_dynamics.simulation.step_stability import largest_step

Array = NDArray[np.float64]


class ArmsPlant(PeriodicPlant):
    """The arms of a system alone, integrated with a fixed step; the object stays where it is.

    The integration is in NumPy: this plant is for runs without a task, in which nothing is fast.
    Empty hands are light, and their friction may ask for shorter steps than `plant.step_s`.

    Args:
        system: Arms and object as they truly are.
        start: Positions (nq,) of the start.
        period: Control period [s].
        settings: Step, delay, friction, sensors.

    Raises:
        ArgumentError: If the control period is no whole number of steps, or another engine than
            ours is asked for.
        RobotDynamicsError: If arms have internal closed chains.
    """

    def __init__(
        self, system: GraspSystem, start: Array, period: float, settings: PlantSettings
    ) -> None:
        system.require_plain_arms("the plant of arms without an object")
        super().__init__(system, start, period, settings)
        if settings.engine != "engine":
            raise ArgumentError(
                f"plant.engine is {settings.engine!r}, which does not move arms without an "
                "object; expected 'engine'."
            )
        self._terms = Robot(system.model).constraint_terms
        self._packed = self.drives.pack().tolist()
        self._actuated = system.v_index.tolist()
        self.substeps = settings.steps("step_s", period)
        longest = largest_step(CLASSICAL, self._friction_rates(), period / self.substeps)
        self.substeps = max(self.substeps, math.ceil(period / longest * (1.0 - 1e-9)))
        self._length = period / self.substeps
        self.reset()

    def _friction_rates(self) -> Array:
        """Return the rates [1/s] at which joint friction, linearised, slows the arms down."""
        drives, v = self.drives, self.system.v_index
        H = np.asarray(self._terms(self._start, np.zeros(self.system.model.nv))[0])[np.ix_(v, v)]
        slope = drives.damping + drives.friction / drives.friction_velocity
        return -np.linalg.eigvals(np.linalg.solve(H, np.diag(slope))).astype(complex)

    def _begin(self) -> None:
        self._q, self._qd = self._start.copy(), np.zeros(self.system.model.nv)

    def _run(self, torque: Array) -> None:
        for _ in range(self.substeps):
            self._advance(torque)

    def _advance(self, torque: Array) -> None:
        """Make one step of the classical Runge-Kutta method."""
        model, h = self.system.model, self._length
        stages: list[tuple[Array, Array]] = []
        for fraction in (0.0, 0.5, 0.5, 1.0):
            dq, dv = stages[-1] if stages else (np.zeros(model.nq), np.zeros(model.nv))
            stages.append(
                self._slopes(self._q + fraction * h * dq, self._qd + fraction * h * dv, torque)
            )
        weights = np.array([1.0, 2.0, 2.0, 1.0]) * h / 6.0
        moved = self._q + weights @ np.array([s[0] for s in stages])
        self._q = np.array(model.normalized(moved.tolist()))
        self._qd = self._qd + weights @ np.array([s[1] for s in stages])

    def _slopes(self, q: Array, qd: Array, torque: Array) -> tuple[Array, Array]:
        """Return the rates of positions and velocities; the hands hold nothing."""
        model, v = self.system.model, self.system.v_index
        H, C, *_ = self._terms(q, qd)
        forces = drive_forces(model.nv, self._actuated, qd.tolist(), torque.tolist(), self._packed)
        qdd = np.zeros(model.nv)
        # Arms and object are different branches of the tree: without loops they do not couple.
        qdd[v] = np.linalg.solve(np.asarray(H)[np.ix_(v, v)], np.array(forces)[v] - C[v])
        return np.array(model.position_rate(q.tolist(), qd.tolist())), qdd

    def _state(self) -> bytes:
        return self._q.tobytes() + self._qd.tobytes()

    def _seen(self) -> tuple[Array, Array, Array]:
        system = self.system
        nothing = np.zeros((len(system.arms), 6))
        return self._q[system.q_index], self._qd[system.v_index], nothing

    def truth(self) -> Truth:
        """Return the present true state: nothing is held, so that no grasp is open."""
        pose = self._q[self.system.object_q].copy()
        force = np.zeros(len(self._map.recovery))
        return Truth(pose, np.zeros(6), force, 0.0, 0.0, 0.0, self._torque)
