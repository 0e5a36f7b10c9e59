# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A law that only holds the arms up: no object, no reference; people move them by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.arm_model import ArmModel
from robot_dynamics.control.control_law import ControlLaw
from robot_dynamics.control.control_step import ControlStep, step_columns
from robot_dynamics.control.fallback import FallbackTorque
from robot_dynamics.control.reference import FORCE, POSE, Reference, reference_columns
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.control.start_check import check_joints
from robot_dynamics.manipulation.system import GraspSystem

Array = NDArray[np.float64]


class GravityLaw(ControlLaw):
    """Gravity compensation of the arms alone, with damping of their joints.

    It is what the fallback of the safety layer does without an object, from the start on: arms
    stay where they are put. The object is taken to stand where the scenario has it, and nothing
    depends on it.

    Args:
        system: Arms and object as they are believed to be.
        settings: Rate and start; the bandwidth of the posture is that of the damping.
        safety: Limits of torque and of its rate.
        reference: What is recorded as the object's reference: a pose at which it stays.
    """

    reference: Reference
    holds_object = False

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
        # At 0.5 rad/s an arm that is let go comes to rest within a second or two.
        damping = max(settings.posture.damping_ratio * settings.posture.bandwidth, 0.5)
        kind = replace(
            safety,
            fallback="gravity_compensation_with_damping",
            fallback_bandwidth=min(damping, 50.0),
        )
        self._torque = FallbackTorque(
            kind, self._support, self._arms.inertia, self._usable, system.arm_slices
        )
        self._last = np.zeros(len(system.joint_names))
        self._force = np.zeros(6 * (len(system.arms) - 1))

    @property
    def ticks(self) -> int:
        """Number of control periods of start and reference together."""
        return self.ramp_ticks + int(np.ceil(self.reference.duration / self._settings.period))

    @property
    def ramp_ticks(self) -> int:
        """Number of control periods of the start; nothing ramps in."""
        return max(1, round(self._settings.start.ramp_s / self._settings.period))

    @property
    def columns(self) -> dict[str, int]:
        """Width of each column that the law adds to a recording."""
        return step_columns(len(self._force))

    @property
    def internal_columns(self) -> slice:
        """Where a row of the reference has the internal force."""
        return FORCE

    def check_start(self, q: Array, qd: Array) -> None:
        """Refuse joints beyond their limits or in motion; where the hands are does not matter.

        Raises:
            StartError: With the joint, and by how much.
        """
        check_joints(self.system, self._settings.start, q, qd)

    def check_path(self, q: Array) -> None:
        """Check nothing: no path is followed."""

    def start(self, q: Array, qd: Array, last: Array | None = None) -> ControlStep:
        """Begin where the arms are; see `ControlLaw.start`."""
        self._last = self.hold_support(q) if last is None else np.array(last, dtype=float)
        return self._step(q, self._last)

    def update(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> ControlStep:
        """Return the step of a control instant; see `ControlLaw.update`."""
        self._last = self._torque.torque(q, qd, q, self._last, self._settings.period, held=False)
        return self._step(q, self._last)

    def hold(self, tick: int) -> None:
        """Change nothing: there is no reference that could be lost."""

    def hold_support(self, q: Array) -> Array:
        """Return the torque (na,) that holds the arms up at rest at positions `q` (na,)."""
        return self._arms.support(q)

    def references(self, times: Array) -> dict[str, Array]:
        """Return the columns of a recording that tell where the object is taken to be."""
        return reference_columns(self.reference.rows(times))

    def _support(self, q: Array, held: bool) -> Array:
        return self._arms.support(q)

    def _step(self, q: Array, torque: Array) -> ControlStep:
        row = self.reference.row(0.0)
        support = self.hold_support(q)
        load = float(np.max(np.abs(support) / self._usable))
        nothing = np.zeros(6)
        return ControlStep(
            torque=torque,
            memory=torque,
            pose=row[POSE],
            twist=nothing,
            error=nothing,
            closure=self._force,
            internal_force=self._force,
            support=support,
            scales=np.array([1.0, 1.0, 1.0, load, 1.0]),
            reference=row,
        )
