# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The kernel of the hybrid law from one control period to the next: gains, inputs and memory."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.compile.differentiation import jacobian_times_vector
from robot_dynamics.control.hybrid.gains import HybridGains
from robot_dynamics.control.hybrid.internal_choice import InternalChoice
from robot_dynamics.control.hybrid.law_inputs import Layout
from robot_dynamics.control.hybrid.law_kernel import LawKernel, TunedKernel
from robot_dynamics.control.hybrid.payload_estimate import (
    AdaptedPayload,
    PayloadBounds,
    kept_at_start,
    payload_at_rest,
)
from robot_dynamics.control.hybrid.planned_forces import object_motion
from robot_dynamics.control.hybrid.sensed import SensorInputs
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.control.reference import POSE
from robot_dynamics.control.settings import ControlSettings

# Steps to locate the object at a start, and the change at which they end [m, rad].
_SEARCH, _FOUND = 20, 1e-14
_WHOLE: Array = np.array(1.0)  # factor of the task after the start, which NumPy need not convert


class RunningKernel:
    """A kernel with gains, measurements and the memory of the last step.

    A copy is independent.

    Args:
        kernel: The kernel.
        sensed: Measurements of sensors other than the arms' own.
        choice: Correction of the internal force; None for none.

    Attributes:
        sensed: Measurements of sensors other than the arms' own.
        choice: Correction of the internal force; None for none.
        estimated: Grasp wrenches (k, 6) that torques tell, for the payload alone while none are
            measured; None for none.
        tuned: Kernel with its current gains; see `tune`.
        memory: Inputs of the next step from the last one; see `Layout.memory`.
        last: The last step.
    """

    tuned: TunedKernel
    last: HybridStep

    def __init__(
        self, kernel: LawKernel, sensed: SensorInputs, choice: InternalChoice | None
    ) -> None:
        self._kernel, self.sensed, self.choice = kernel, sensed, choice
        self.memory = np.zeros(Layout.size(kernel.layout.memory))
        self.estimated: Array | None = None
        self._ramp = 0.0

    @property
    def corrects_now(self) -> bool:
        """Whether the internal force is corrected, or was until recently."""
        return self.choice is not None and not self.choice.idle

    def branch(self, block: Array, settings: ControlSettings) -> RunningKernel:
        """Return a separate kernel with another block of parameters, and a new correction."""
        other, kernel = copy(self), self._kernel
        other.choice = InternalChoice.of(
            kernel.system, kernel.distribution, settings, kernel.layout
        )
        other.tuned = kernel.with_block(self.tuned, block)
        return other

    def tune(self, gains: HybridGains, more: Sequence[Array]) -> None:
        """Take other gains, and the parameters that a derived law adds."""
        self.tuned = self._kernel.tuned(gains, more)

    def use(self, kernel: LawKernel, more: Sequence[Array]) -> None:
        """Use another kernel of the same step, with the present gains."""
        self._kernel = kernel
        self.tune(self.tuned.gains, more)

    def begin(
        self, q: Array, qd: Array, row: Array, last: Array | None, touch_tolerance: float
    ) -> HybridStep:
        """Reset the memory for a start, and return the step at rest.

        Args:
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).
            row: First row of the reference.
            last: Torque that was sent last (na,); the support by default.
            touch_tolerance: Distance up to which a surface to be touched counts as touched [m].
        """
        memory, layout = self.located(q, row), self._kernel.layout
        seen, at = self.evaluate(q, qd, None, row, memory, 0.0), layout.memory
        near = np.abs(seen.outputs.distance) <= touch_tolerance
        memory[at["twist"]] = seen.memory[at["twist"]]
        memory[at["touched"]] = row[layout.reference["touch"]] * near
        memory[at["torque"]][self._kernel.order] = seen.support if last is None else last
        self.memory, self.last = memory, seen
        return seen

    def begin_payload(self, *, same_object: bool) -> None:
        """Keep the estimate of the payload for a start, or forget it; see `kept_at_start`."""
        at = self._kernel.layout.memory["payload"]
        self.memory = self.memory.copy()
        self.memory[at] = kept_at_start(self.memory[at], same_object=same_object)

    @property
    def mass_ratio(self) -> float:
        """Mass of the object that the next step uses over the stated one."""
        state = self.memory[self._kernel.layout.memory["payload"]]
        return float(AdaptedPayload.of(state.tolist()).ratio) if len(state) else 1.0

    def weigh(self, q: Array, wrenches: Array, row: Array, bounds: PayloadBounds) -> bool:
        """Take the payload from wrenches (k, 6) of arms at rest; return whether it was taken.

        It is not if it is beyond its bounds, or the object touches a surface.
        """
        system, at = self._kernel.system, self._kernel.layout.memory["payload"]
        self.begin_payload(same_object=False)
        if row[self._kernel.layout.reference["touch"]].any():
            return False
        memory, still = self.located(q, row), np.zeros_like(q)
        outputs = self.evaluate(q, still, wrenches, row, memory, 0.0).outputs
        R = Rotation.from_quat(outputs.pose[3:]).as_matrix()
        used = payload_at_rest(
            outputs.held_body_wrenches[12:], R.T @ np.array([*system.arms.gravity]),
            system.held.mass, bounds,
        )  # fmt: skip
        if used is None:
            return False
        self.memory[at][: len(used)] = used
        return True

    def go_on(
        self, q: Array, qd: Array, wrenches: Array | None, row: Array, memory: Array, ramp: float
    ) -> HybridStep:
        """Return the step of a row from a memory, and remember it.

        Args:
            q: Measured positions of the arm joints (na,).
            qd: Measured velocities (na,).
            wrenches: Measured grasp wrenches (k, 6).
            row: Of the reference.
            memory: Of the step before.
            ramp: Factor of the task at the start.
        """
        self.memory = memory
        step = self.last = self.step(q, qd, wrenches, row, ramp)
        return step

    def step(
        self, q: Array, qd: Array, wrenches: Array | None, row: Array, ramp: float
    ) -> HybridStep:
        """Return the step of a row, with the internal force that contacts and drives need."""
        choice, memory = self.choice, self.memory
        self._ramp = ramp
        if choice is None:
            return self.evaluate(q, qd, wrenches, row, memory, ramp)
        chosen = row if choice.idle else choice.row(row, self.last.outputs.desired_wrench)
        step = self.evaluate(q, qd, wrenches, chosen, memory, ramp)
        if choice.idle and (ramp < 1.0 or step.fits):
            return step
        effort = self.tuned.effort
        other = choice.row_within(row, step, effort) if ramp == 1.0 else None
        if other is not None:
            step = self.evaluate(q, qd, wrenches, other, memory, ramp)
            step.internal_force_adapted = True
        choice.remember(step, effort)
        step.reference, step.added_internal_force = row, choice.added
        return step

    def evaluate(
        self, q: Array, qd: Array, wrenches: Array | None, row: Array, memory: Array, ramp: float
    ) -> HybridStep:
        """Return the step of a row from a memory, without correction of the internal force."""
        sensed, kernel = self.sensed, self._kernel
        if wrenches is None and self.estimated is not None:
            wrenches, sensors = self.estimated, sensed.with_estimates
        elif wrenches is None:
            wrenches, sensors = sensed.no_wrenches, sensed.without_wrenches
        else:
            sensors = sensed.with_wrenches
        factor = _WHOLE if ramp == 1.0 else ramp
        torque, after, values = self.tuned.step(
            q, qd, wrenches, sensors, row, memory, factor, *sensed.more
        )
        return HybridStep(torque, after, values, row, kernel.layout, kernel.no_force)

    def derivatives(
        self, q: Array, qd: Array, wrenches: Array, row: Array, memory: Array, ramp: float
    ) -> tuple[Array, Array]:
        """Return the derivatives of torque (na, c) and memory (w, c) of `evaluate`.

        The columns are, side by side, q (na), qd (na), wrenches (6 k) and the memory (w).
        """
        sensed, sizes = self.sensed, (len(q), len(qd), wrenches.size, len(memory))
        ends = np.cumsum(sizes)
        by_q, by_qd, by_wrench, by_memory = map(list, np.split(np.eye(ends[-1]), ends[:-1]))
        arms = [by_wrench[i : i + 6] for i in range(0, wrenches.size, 6)]
        values = [q, qd, wrenches, sensed.with_wrenches, row, memory, ramp, *sensed.more]
        still = [[0.0] * len(value) for value in (sensed.with_wrenches, row)]
        rates = jacobian_times_vector(
            self._kernel.program,
            [np.asarray(value, dtype=float).tolist() for value in values],
            [by_q, by_qd, arms, *still, by_memory, 0.0, *([0.0] * 13 for _ in sensed.more)],
            self.tuned.block.tolist(),
        )
        torque, after = (
            np.array([np.broadcast_to(rate, ends[-1]) for rate in rates[name]])
            for name in ("torque", "memory")
        )
        return torque, after

    def located(self, q: Array, row: Array) -> Array:
        """Return a memory at rest in which the object is where arms at `q` (na,) hold it."""
        system, at = self._kernel.system, self._kernel.layout.memory
        passive, still = list(system.passive_joints.indices), np.zeros(len(q))
        memory = np.zeros(Layout.size(at))
        memory[at["pose"]] = self.memory[at["pose"]]
        memory[at["payload"]] = self.memory[at["payload"]]
        memory[at["passive_joints"]] = self._kernel.joints(q)[passive]
        if not memory[at["pose"]].any():  # nothing was seen yet: begin where the plan does
            x = object_motion(row[None], system.held.center).x[0]
            memory[at["pose"]] = [*x, *row[POSE][3:]]
        for _ in range(_SEARCH):
            seen = self.evaluate(q, still, None, row, memory, 0.0)
            moved = np.abs(seen.memory[at["pose"]] - memory[at["pose"]]).max()
            memory[at["pose"]] = seen.memory[at["pose"]]
            if moved <= _FOUND:
                break
        return memory

    def at_rest(self, q: Array, row: Array) -> HybridStep:
        """Return the step at rest at positions `q` (na,)."""
        memory, still = self.located(q, row), np.zeros_like(q)
        return self.evaluate(q, still, None, row, memory, 0.0)

    def grip_support(self, q: Array, row: Array) -> Array:
        """Return the support with the last internal force of contacts that only push (na,)."""
        seen, holding = self.at_rest(q, row), self._kernel.holding
        if not holding.any():
            return seen.support
        return seen.support + seen.internal_force_torques @ (self._grip() - holding)

    def firmer_grip(self, q: Array, row: Array) -> Array:
        """Return the torque (na,) that makes the grip as firm as control may."""
        holding = self._kernel.holding
        if self.choice is None or not holding.any():
            return np.zeros(len(q))
        planned = self.last.reference[self._kernel.layout.reference["internal"]]
        sent = holding + self._ramp * (self._grip() - holding)
        firmest = self.choice.firmest(planned)
        return self.at_rest(q, row).internal_force_torques @ (firmest - sent)

    def _grip(self) -> Array:
        """Return the internal force that was desired last (m,)."""
        internal = self._kernel.layout.reference["internal"]
        return self.last.reference[internal] + self.last.added_internal_force
