# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The coordinated controller: the control step's kernel with its gains, reference and memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import load_kernel
from robot_dynamics.control.control_law import ControlLaw
from robot_dynamics.control.control_step import ControlStep, step_columns
from robot_dynamics.control.gain_ramp import RAMP_S, GainRamp, carried_over
from robot_dynamics.control.gains import check_gains, servo_gains
from robot_dynamics.control.halt import Halt
from robot_dynamics.control.law import LawGains, law_parameters, law_program
from robot_dynamics.control.preflight import check_reference
from robot_dynamics.control.reference import (
    FORCE,
    HasRows,
    Reference,
    looked_up,
    reference_columns,
)
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.control.start_check import check_start
from robot_dynamics.control.streamed.transition import Plan, Transition
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.grasp_map import (
    GraspMap,
    orthonormal_map,
    transmitted_force_map,
)
from robot_dynamics.manipulation.system import GraspSystem

Array = NDArray[np.float64]

_NEAR = 50  # rows of a plan that are looked up at once


class CoordinatedController(ControlLaw):
    """Yoshikawa and Zheng's controller for an object in free space, held by rigid grasps.

    It is not safe by itself: `safety.py` decides whether its inputs may be used and what to send
    instead. The reference starts when the ramp of the start is over.

    Args:
        system: Arms and object as they are believed to be.
        settings: Rate, servos and start.
        safety: Limits of torque and of its rate.
        reference: What the object is to do.

    Raises:
        RobotDynamicsError: If the servos do not bear the command delay, or arms have loops of
            their own.
    """

    reference: Reference
    follows = tunable = rigid_grasps = True

    def __init__(
        self,
        system: GraspSystem,
        settings: ControlSettings,
        safety: SafetySettings,
        reference: Reference,
    ) -> None:
        check_gains(settings)
        system.require_plain_arms("coordinated control")
        self.system, self.settings, self.reference = system, settings, reference
        self.safety = safety
        self.period = settings.period
        self.grasp_map = grasp_map(system, settings)
        self.gains = self._gains_of(settings, system.posture)
        self._retuning: GainRamp | None = None
        self.kernel = load_kernel(
            b"coordinated_law\0" + _layout(system) + system.model.structure_key,
            lambda: law_program(system),
            lanes=1,
        )
        self._law = self.kernel.bind(law_parameters(system, self.gains, self.grasp_map))
        self._force_size = 6 * (len(system.arms) - 1)
        self._no_wrenches = np.zeros((len(system.arms), 6))
        self._ramp_ticks = max(1, round(settings.start.ramp_s / self.period))
        count = int(np.ceil(reference.duration / self.period)) + 1
        self._reference_rows = self._rows_of(reference, np.arange(count) * self.period)
        self._rows = self._reference_rows
        # What came while control runs: its rows are looked up when they are near.
        self._passage: HasRows | None = None
        self._base = self._near_from = 0
        self._near = self._rows[:0]
        self._memory = np.zeros(6 + self._force_size + len(system.joint_names))

    @property
    def ticks(self) -> int:
        """Number of control periods of start and reference together."""
        return self._ramp_ticks + len(self._reference_rows) - 1

    @property
    def ramp_ticks(self) -> int:
        """Number of control periods over which the task ramps in."""
        return self._ramp_ticks

    @property
    def columns(self) -> dict[str, int]:
        """Width of each column that the law adds to a recording."""
        return step_columns(self._force_size)

    @property
    def metadata(self) -> dict[str, Any]:
        """Gains of the object's servo, which tell how much delay it bears."""
        servo = servo_gains(self.settings.object)
        return {"object_gains": [servo.proportional, servo.derivative, servo.integral]}

    def check_start(self, q: Array, qd: Array) -> None:
        """Refuse a start from afar or from motion; see `start_check.check_start`."""
        check_start(self.system, self.settings.start, self.reference.start, q, qd)

    def check_path(self, q: Array) -> None:
        """Refuse a reference that the arms cannot follow; see `preflight.check_reference`."""
        check_reference(self, self.safety, q)

    def start(self, q: Array, qd: Array, last: Array | None = None) -> ControlStep:
        """Forget integrals and say what is seen.

        The arms' present positions become the posture that they stay near.

        Args:
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).
            last: The torque that was sent last (na,), from which the torque's rate is limited;
                what holds arms and object up by default.
        """
        self._rows, self._passage = self._reference_rows, None
        if self._retuning is not None:
            self.settings, self._retuning = self._retuning.end, None
        self.gains = self._gains_of(self.settings, np.array(q, dtype=float))
        self._law = self.kernel.bind(law_parameters(self.system, self.gains, self.grasp_map))
        self._memory = np.zeros_like(self._memory)
        seen = self._evaluate(q, qd, self._no_wrenches, self._rows[0], 0.0)
        self._memory[-len(seen.support) :] = seen.support if last is None else last
        return seen

    def update(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> ControlStep:
        """Return the step of a control instant and remember it.

        Args:
            tick: Control periods since the start.
            q: Measured positions of the arm joints (na,); finite.
            qd: Measured velocities (na,); finite.
            wrenches: Measured grasp wrenches by the arms on the object (k, 6), angular first, in
                tool frames; without them the internal force is fed forward alone.
        """
        if self._retuning is not None:
            self._retune(self._retuning)
        row = self._row(max(tick - self._ramp_ticks, 0))
        ramp = min(1.0, tick / self._ramp_ticks)
        if wrenches is None:
            learned = self._memory[6 : 6 + self._force_size].copy()
            step = self._evaluate(q, qd, self._no_wrenches, row, ramp)
            # Nothing was measured: what was learned stays, and nothing is added to it.
            step.memory[6 : 6 + self._force_size] = learned
        else:
            step = self._evaluate(q, qd, wrenches, row, ramp)
        self._memory = step.memory
        return step

    def hold(self, tick: int) -> None:
        """Come to rest on the reference from a tick on, when it is not to be followed any more.

        The internal force stays what it is then. `start` begins the reference anew.

        Args:
            tick: Control periods since the start.
        """
        first = max(tick - self._ramp_ticks, 0)
        if self._passage is not None:
            self._continue_with(Halt(self._passage, (first - self._base) * self.period))
            return
        first = min(first, len(self._rows) - 1)
        halt = Halt(self.reference, first * self.period)
        count = int(np.ceil(halt.duration / self.period)) + 1
        rest = self._rows_of(halt, (first + np.arange(count)) * self.period)
        self._rows = np.concatenate([self._rows[:first], rest])

    @property
    def force_columns(self) -> dict[str, slice]:
        """Where references that come while control runs stand in a row's forces."""
        return {"internal": slice(0, self._force_size)}

    @property
    def internal_columns(self) -> slice:
        """Where a row of the reference has the internal force."""
        return FORCE

    @property
    def wrench_components(self) -> list[int] | None:
        """All of a wrench's, of two arms."""
        return list(range(6)) if self._force_size == 6 else None

    def internal_forces(self, wrench: Array) -> Array:
        """Return the internal forces of a wrench (6,) of two arms.

        Raises:
            ArgumentError: If there are more arms.
        """
        if self._force_size != len(wrench):
            raise ArgumentError(f"6 components, expected {self._force_size}.")
        return wrench

    def follow(self, plan: Plan, tick: int) -> None:
        """Follow another plan from a tick on, without a jump; `start` begins the reference anew.

        Args:
            plan: What the object is to do; its time 0 is now.
            tick: Control periods since the start.
        """
        first = max(tick - self._ramp_ticks, 0)
        source: HasRows = self.reference if self._passage is None else self._passage
        now = source.rows([(first - self._base) * self.period])[0]
        self._base = first
        self._continue_with(Transition(now, plan))

    def _continue_with(self, passage: HasRows) -> None:
        self._passage = passage
        self._near = self._near[:0]

    def _row(self, i: int) -> Array:
        """Return the row of a control period, counted from the end of the ramp."""
        if self._passage is None:
            return np.asarray(self._rows[min(i, len(self._rows) - 1)])
        if not 0 <= i - self._near_from < len(self._near):
            self._near_from = i
            times = (i - self._base + np.arange(_NEAR)) * self.period
            self._near = self._rows_of(self._passage, times)
        return np.asarray(self._near[i - self._near_from])

    def retune(self, settings: ControlSettings) -> None:
        """Go to other gains within a quarter of a second, while control runs or before it does.

        Only servos and the share of friction are taken from the settings.

        Args:
            settings: The new settings.

        Raises:
            GainError: If the sampled loop with its delay does not bear them; nothing changes then.
        """
        check_gains(settings)
        begin = self.settings
        end = replace(
            begin,
            object=settings.object,
            internal_force=replace(
                begin.internal_force, bandwidth=settings.internal_force.bandwidth
            ),
            posture=settings.posture,
            friction=settings.friction,
        )
        self._retuning = GainRamp(begin, end, round(RAMP_S / self.period))

    def _retune(self, ramp: GainRamp) -> None:
        """Take one step towards other gains; what integrals add to the torque stays."""
        before = self.gains
        self.settings = ramp.advance()
        self.gains = now = self._gains_of(self.settings, before.posture)
        end = self._gains_of(ramp.end, before.posture)
        pose, force = slice(0, 6), slice(6, 6 + self._force_size)
        memory = self._memory = self._memory.copy()
        memory[pose] = carried_over(memory[pose], before.integral, now.integral, end.integral)
        memory[force] = carried_over(
            memory[force], before.force_integral, now.force_integral, end.force_integral
        )
        self._law = self.kernel.bind(law_parameters(self.system, now, self.grasp_map))
        if ramp.over:
            self._retuning = None

    def _gains_of(self, settings: ControlSettings, posture: Array) -> LawGains:
        """Return the numbers of the law that settings ask for, near to a posture (na,)."""
        servo, self_motion = servo_gains(settings.object), settings.posture.bandwidth
        return LawGains(
            proportional=servo.proportional,
            derivative=servo.derivative,
            integral=servo.integral,
            force_integral=settings.internal_force.bandwidth,
            posture_proportional=self_motion**2,
            posture_derivative=2.0 * settings.posture.damping_ratio * max(self_motion, 1.0),
            period=self.period,
            friction_share=settings.friction.share,
            friction_velocity=settings.friction.velocity,
            torque_rate=self.safety.torque_rate,
            effort=self.safety.effort_fraction * self.system.limits["effort"],
            posture=posture,
        )

    def hold_support(self, q: Array) -> Array:
        """Return the torque (na,) that holds arms and object up at rest at positions `q` (na,)."""
        return self._evaluate(q, np.zeros_like(q), self._no_wrenches, self._rows[0], 0.0).support

    def references(self, times: Array) -> dict[str, Array]:
        """Return what was to be done at times (N,) [s], as columns of a recording."""
        return reference_columns(self.reference.rows(times))

    def _evaluate(
        self, q: Array, qd: Array, wrenches: Array, row: Array, ramp: float
    ) -> ControlStep:
        return ControlStep._make((*self._law(q, qd, wrenches, row, self._memory, ramp), row))

    def _rows_of(self, source: HasRows, times: NDArray[np.floating]) -> Array:
        # A command acts from its delay on, and is held for one period.
        ahead = (self.settings.command_delay_periods + 0.5) * self.period
        return looked_up(source, times, ahead)


def grasp_map(system: GraspSystem, settings: ControlSettings) -> GraspMap:
    """Return the maps of the internal force that the settings ask for."""
    if settings.internal_force.basis == "orthonormal":
        return orthonormal_map(system.grasps)
    return transmitted_force_map(system.grasps, [arm.load_share for arm in system.arms])


def _layout(system: GraspSystem) -> bytes:
    """Return what the kernel depends on besides the model: which joints belong to which arm."""
    return repr([(arm.loop, arm.v_index.tolist()) for arm in system.arms]).encode()
