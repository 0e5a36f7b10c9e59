# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A scenario's controller behind its safety layer, for a plant in the same process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.scenario import Scenario, build_system
from robot_dynamics.control.coordinated import ControlStep, CoordinatedController
from robot_dynamics.control.fallback import FallbackTorque
from robot_dynamics.control.gains import check_gains
from robot_dynamics.control.preflight import check_reference
from robot_dynamics.control.safety import SafetyLayer
from robot_dynamics.control.start_check import check_start
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.plant import Measurement

Array = NDArray[np.float64]

_SUPPORT_LOAD = 3  # in ControlStep.scales: the largest support over its limit


class Pilot:
    """Controller and safety layer of a scenario; time counts control periods.

    Attributes:
        system: Arms and object, as they are believed to be.
        reference: What the object is to do.
        controller: The law.
        safety: What decides whether its torques are sent.

    Args:
        scenario: The scenario.

    Raises:
        RobotDynamicsError: If the scenario is refused.
    """

    def __init__(self, scenario: Scenario) -> None:
        check_gains(scenario.control)
        self._scenario = scenario
        self.system = system = build_system(scenario)
        self.reference = scenario.plan()
        self.controller = CoordinatedController(
            system,
            scenario.control,
            scenario.safety,
            self.reference,
            friction_velocity=scenario.plant.friction_velocity,
        )
        self._terms = Robot(system.model).constraint_terms
        self.safety = SafetyLayer(
            scenario.safety,
            {arm.name: arm.joints for arm in system.arms},
            system.limits,
            FallbackTorque(
                scenario.safety,
                self._support,
                self._inertia(),
                system.limits["effort"],
                system.arm_slices,
            ),
            period=scenario.control.period,
            unit_s=scenario.control.period,
            ramp_s=scenario.control.start.ramp_s,
            wrench_count=len(system.arms),
        )

    def start(self, measured: Measurement) -> None:
        """Check state and reference, and begin.

        Raises:
            StartError: If the arms are not at their grasps, or not at rest.
            PreflightError: If they cannot follow the reference from there.
        """
        control, safety = self._scenario.control, self._scenario.safety
        q, qd = measured.q, measured.qd
        check_start(self.system, control.start, self.reference.start, q, qd)
        check_reference(self.controller, safety, q, terms=self._terms)
        seen = self.controller.start(q, qd)
        self.safety.observe(0, q, qd, measured.wrenches)
        self.safety.start(0, seen.support)

    def update(self, measured: Measurement) -> tuple[Array, ControlStep]:
        """Return what to send (na,), and what the law saw and wanted."""
        tick, _, q, qd, wrenches = measured
        safety = self.safety
        fit = safety.observe(tick, q, qd, wrenches)
        step = self.controller.update(tick, q, qd, wrenches)
        torque = None
        if fit:
            # Named only where it is too large; the comparison is false for what is no number.
            support = None if step.scales[_SUPPORT_LOAD] <= 1.0 else step.support
            torque = safety.command(tick, step.torque, closure=step.closure, support=support)
        else:
            torque = safety.command(tick)
        return (np.zeros_like(q) if torque is None else torque), step

    def _inertia(self) -> Array:
        """Return the diagonal of the arms' inertia matrix in their posture (na,)."""
        system = self.system
        at = system.model.neutral()
        at[system.q_index] = system.posture
        H = self._terms(at, np.zeros(system.model.nv))[0]
        return np.asarray(np.diagonal(H)[system.v_index])

    def _support(self, q: Array, held: bool) -> Array:
        """Return what holds the arms up at rest (na,), with the object or without it."""
        if held:
            return self.controller.hold_support(q)
        system = self.system
        at = system.model.neutral()
        at[system.q_index] = q
        return np.asarray(self._terms(at, np.zeros(system.model.nv))[1][system.v_index])
