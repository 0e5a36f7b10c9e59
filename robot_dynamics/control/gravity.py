# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A law that only holds the arms up: no object, no reference; people move them by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.arm_model import ArmModel
from robot_dynamics.control.control_law import SCALES, ControlLaw
from robot_dynamics.control.fallback import FallbackTorque
from robot_dynamics.control.gains import posture_gains
from robot_dynamics.control.reference import FORCE, POSE, Reference
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.control.start_check import check_joints
from robot_dynamics.manipulation.system import GraspSystem

Array = NDArray[np.float64]

_STILL: Array = np.zeros(6)
_NONE: Array = np.zeros(0)
_NO_WRENCHES: Array = np.zeros((0, 18))


class GravityStep(NamedTuple):
    """What a step of arms without an object is; see `control_law.LawStep`.

    Attributes:
        torque: The command (na,).
        support: What holds the arms up (na,).
        reference: The row that is recorded as the object's.
        scales: Nothing is limited: 1, 1, 1, the largest support over its limit, and 1.
        nothing: Zeros (6(k-1),), for forces that there are not.
    """

    torque: Array
    support: Array
    reference: Array
    scales: Array
    nothing: Array

    @property
    def pose(self) -> Array:
        """Where the object is taken to be (7,)."""
        return self.reference[POSE]

    @property
    def poses(self) -> tuple[Array]:
        """Where the object is taken to be."""
        return (self.pose,)

    @property
    def twist(self) -> Array:
        """Zero: it stands still (6,)."""
        return _STILL

    @property
    def error(self) -> Array:
        """Zero: there is no servo (6,)."""
        return _STILL

    @property
    def closure(self) -> Array:
        """Zero: nothing is held (6(k-1),)."""
        return self.nothing

    @property
    def internal_force(self) -> Array:
        """Zero: nothing is held (6(k-1),)."""
        return self.nothing

    @property
    def contact_force(self) -> Array:
        """None: there are no surfaces."""
        return _NONE

    @property
    def tilts(self) -> Array:
        """None: nothing is held."""
        return _NONE

    @property
    def slip_margins(self) -> Array:
        """None: nothing is held."""
        return _NONE

    @property
    def held_body_wrenches(self) -> Array:
        """None: no body is held (0, 18)."""
        return _NO_WRENCHES

    @property
    def task_scale(self) -> float:
        """1: there is no task."""
        return 1.0

    @property
    def support_torque_ratio(self) -> float:
        """The largest support over its limit."""
        return float(self.scales[3])

    def with_torque(self, torque: Array) -> GravityStep:
        """Return the step with the torque (na,) of another controller."""
        return self._replace(torque=torque)

    @property
    def recorded(self) -> tuple[Array, ...]:
        """The values of the columns of `GravityLaw.columns`."""
        return self.pose, _STILL, self.nothing, self.nothing, self.scales


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
    holds_object, held_bodies = False, 0

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
        force = len(self._force)
        return {
            "estimated_pose": 7,
            "estimated_twist": 6,
            "estimated_closure": force,
            "estimated_internal_force": force,
            "control_scales": len(SCALES),
        }

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
        """Check nothing, and return that no path is followed."""

    def start(self, q: Array, qd: Array, last: Array | None = None) -> GravityStep:
        """Begin where the arms are; see `ControlLaw.start`."""
        self._last = self.hold_support(q) if last is None else np.array(last, dtype=float)
        return self._step(q, self._last)

    def update(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> GravityStep:
        """Return the step of a control instant; see `ControlLaw.update`."""
        self._last = self._torque.torque(q, qd, q, self._last, self._settings.period, held=False)
        return self._step(q, self._last)

    def hold(self, tick: int) -> None:
        """Change nothing: there is no reference that could be lost."""

    def hold_support(self, q: Array) -> Array:
        """Return the torque (na,) that holds the arms up at rest at positions `q` (na,)."""
        return self._arms.support(q)

    def _support(self, q: Array, held: bool) -> Array:
        return self._arms.support(q)

    def _inertia(self, q: Array, held: bool) -> Array:
        return self._arms.inertia(q)

    def _step(self, q: Array, torque: Array) -> GravityStep:
        support = self.hold_support(q)
        load = float(np.max(np.abs(support) / self._usable))
        scales = np.array([1.0, 1.0, 1.0, load, 1.0])
        return GravityStep(torque, support, self._row, scales, self._force)
