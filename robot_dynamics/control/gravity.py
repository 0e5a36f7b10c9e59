# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gravity compensation: arms without an object hold themselves up; people move them by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.arm_model import ArmModel
from robot_dynamics.control.control_law import ControlLaw, LawStep
from robot_dynamics.control.fallback import FallbackTorque
from robot_dynamics.control.gains import posture_gains
from robot_dynamics.control.reference import POSE, Reference
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.control.start_check import check_joints
from robot_dynamics.manipulation.system import GraspSystem


class GravityLaw(ControlLaw):
    """Gravity compensation of the arms alone, with damping of their joints.

    The torque is the same as in the fallback `gravity_compensation_with_damping`, from the start
    on: the arms stay where they are put. The object's pose is recorded as in the scenario, and
    nothing depends on it.

    Args:
        system: Arms and object according to the model.
        settings: Rate and start; the bandwidth of the posture is the bandwidth of the damping.
        safety: Limits of torque and of its rate.
        reference: Constant pose that is recorded as the object's reference.
    """

    reference: Reference

    def __init__(
        self,
        system: GraspSystem,
        settings: ControlSettings,
        safety: SafetySettings,
        reference: Reference,
    ) -> None:
        self.system, self.reference = system, reference
        self._settings = settings
        self._arms = ArmModel(system)
        self._usable = safety.effort_fraction * system.limits["effort"]
        kind = replace(
            safety,
            fallback="gravity_compensation_with_damping",
            # Joints are damped as the posture is; see `posture_gains`.
            fallback_bandwidth=min(0.5 * posture_gains(settings.posture).derivative, 50.0),
        )
        self._torque = FallbackTorque(
            kind, self._support, self._inertia, self._usable, system.arm_slices
        )
        self._row = reference.row(0.0)
        self._last = np.zeros(len(system.joint_names))

    def check_start(self, q: Array, qd: Array) -> None:
        """Refuse joints beyond their limits or in motion; the hands may be anywhere.

        Raises:
            StartError: With the joint, and by how much.
        """
        check_joints(self.system, self._settings.start, q, qd)

    def start(self, q: Array, qd: Array, last: Array | None = None) -> LawStep:
        """Start at the present positions; see `ControlLaw.start`."""
        self._last = self.hold_support(q) if last is None else np.array(last, dtype=float)
        return self._step(q, self._last)

    def update(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> LawStep:
        """Return the step of a control period; see `ControlLaw.update`."""
        self._last = self._torque.torque(q, qd, q, self._last, self._settings.period, held=False)
        return self._step(q, self._last)

    def hold_support(self, q: Array) -> Array:
        """Return the torque (na,) that holds the arms up at rest at positions `q` (na,)."""
        return self._arms.support(q)

    def _support(self, q: Array, held: bool) -> Array:
        return self._arms.support(q)

    def _inertia(self, q: Array, held: bool) -> Array:
        return self._arms.inertia(q)

    def _step(self, q: Array, torque: Array) -> LawStep:
        support = self.hold_support(q)
        load = float(np.max(np.abs(support) / self._usable))
        scales = np.array([1.0, 1.0, 1.0, load, 1.0])
        return LawStep(torque, support, self._row, self._row[POSE], scales=scales)
