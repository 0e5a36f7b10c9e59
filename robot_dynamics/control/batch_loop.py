# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A control law with the rules of its safety layer, over many cells at once.

Kernel and rules are the same as in `ControlLoop`, in the same order. A cell ends with the first
finding at which the safety layer of a single run would hand over to the fallback.
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array, Mask
from robot_dynamics.control.control_loop import ControlLoop
from robot_dynamics.control.fallback import within_rate
from robot_dynamics.control.faults import Finding
from robot_dynamics.control.gains import check_gains
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.hybrid.law_inputs import Layout
from robot_dynamics.control.hybrid.running_kernel import RunningKernel
from robot_dynamics.control.hybrid.step import ALL, HybridOutputs, HybridStep
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.control.step_check import COMPILED, NEVER, CellStep, StepFigures
from robot_dynamics.errors import ArgumentError

#: Control settings that may differ from cell to cell; of `internal_force` the bandwidth.
OWN_SETTINGS = ("object", "posture", "hand", "friction", "impedance", "internal_force")


class BatchLoop:
    """The law of a scenario with the rules for its steps, over N cells. Rows of arrays are cells.

    Attributes:
        law: Law of one cell.
        scales: Scales of internal force and motion by torque limits (N, 2), from 0 to 1.
        added_internal_force: Correction of the reference's internal force (N, m).
        rows: Rows of the reference by ticks.
        bytes_per_cell: Memory that a cell takes here.

    Args:
        loop: Control loop of one cell.
        count: N.

    Raises:
        ArgumentError: If the law has no batched form: contacts that slip, surfaces, arms with
            loops, or a law that is not derived from the hybrid one.
    """

    def __init__(self, loop: ControlLoop, count: int) -> None:
        law = loop.law
        name = type(law).__name__
        if not isinstance(law, HybridLaw) or type(law).update is not HybridLaw.update:
            raise ArgumentError(
                f"control law {name}: expected 'hybrid' or 'impedance' in a batch of cells."
            )
        if loop.controller is not None or law.senses:
            raise ArgumentError(
                "a controller of one's own, or a pose sensor: expected the scenario's law, with "
                "the object's pose from the joints, in a batch of cells."
            )
        layout = law.layout
        if layout.surfaces or layout.passive_joints or not law.grasp.rigid:
            raise ArgumentError(
                "a batch of cells has rigid grasps in free space; expected neither surfaces, nor "
                "contacts that slip, nor arms with loops."
            )
        self.law, self._loop, self._safety = law, loop, loop.safety
        self._ramp = law.ramp_ticks
        na, m = layout.joints, layout.internal
        check = self._safety.step_check
        self._sizes = (na, Layout.size(layout.memory), Layout.size(layout.outputs))
        self._blocks = np.zeros((count, len(law.running.tuned.block)))
        self._check_blocks = np.zeros((count, len(check.block)))
        self._first_memory = np.zeros((count, self._sizes[1]))
        self._first_torque = np.zeros((count, na))
        self._memory, self._last = self._first_memory.copy(), self._first_torque.copy()
        self._residuals = np.zeros((count, len(check.bodies), 11))
        self._scaled_since = np.full(count, NEVER)
        self.scales, self.added_internal_force = np.ones((count, 2)), np.zeros((count, m))
        self._checked_start: tuple[bytes, bytes] | None = None
        self._branches: dict[int, RunningKernel] = {}
        self.rows = np.array([law.row(tick) for tick in range(law.ticks + 1)])
        self.bytes_per_cell = 0

    def prepare(self, cell: int, settings: ControlSettings, q: Array, qd: Array) -> None:
        """Prepare the start of a cell.

        Args:
            cell: Its number.
            settings: Its control settings.
            q: Measured positions at the start (na,).
            qd: Measured velocities (na,).

        Raises:
            ArgumentError: If settings other than gains differ from the loop's.
            RobotDynamicsError: If gains or start are refused.
        """
        # Each start uses a fresh copy: a law searches for the object at its last pose.
        law, check = copy.copy(self.law), self._safety.step_check
        _require_gains_alone(cell, law.settings, settings)
        if settings != law.settings:  # whose own were checked when it was made
            check_gains(settings)
        law.settings = settings
        start = q.tobytes(), qd.tobytes()
        if start != self._checked_start:  # rigid grasps tell where the object is, whatever gains
            law.check_start(q, qd)
            self._checked_start = start
        last = law.hold_support(q)
        seen = law.start(q, qd, last)
        self._blocks[cell] = law.running.tuned.block
        self._safety.begin_checks(q, seen.pose)
        self._check_blocks[cell] = check.block
        self._first_memory[cell], self._first_torque[cell] = law.running.memory, last

    def share(self, cell: int, other: int) -> None:
        """Copy the start of another, prepared cell."""
        for rows in (self._blocks, self._check_blocks, self._first_memory, self._first_torque):
            rows[cell] = rows[other]

    def finish(self) -> None:
        """Bind the kernels, when all cells are prepared."""
        self._kernel = self.law.kernel.batch(self._blocks)
        self._check = self._safety.step_check.batch(self._check_blocks)
        arrays = [value for value in vars(self).values() if isinstance(value, np.ndarray)]
        self.bytes_per_cell = sum(
            value.nbytes for value in arrays if value is not self.rows
        ) // len(self._memory)
        self.bytes_per_cell += self._kernel.bytes_per_state + self._check.bytes_per_state
        self.begin(np.arange(len(self._memory)))

    def change(self, cells: NDArray[np.intp]) -> None:
        """Bind the kernels to cells that were prepared anew; `begin` must follow."""
        self._kernel.change(cells, self._blocks[cells])
        self._check.change(cells, self._check_blocks[cells])

    def begin(self, cells: NDArray[np.intp]) -> None:
        """Restart control in some cells."""
        self._memory[cells] = self._first_memory[cells]
        self._last[cells] = self._first_torque[cells]
        self._residuals[cells] = 0.0
        self._scaled_since[cells] = NEVER
        self.scales[cells], self.added_internal_force[cells] = 1.0, 0.0
        for cell in cells.tolist():
            self._branches.pop(cell, None)

    def update(
        self,
        own: slice,
        tick: NDArray[np.int64],
        q: Array,
        qd: Array,
        wrenches: Array,
        alive: Mask,
        rows: Array | None = None,
    ) -> tuple[Array, dict[int, Finding]]:
        """Return the torques (n, na) of a control instant, and the findings that end cells.

        Findings are by number among all cells.

        Args:
            own: The cells.
            tick: Control periods since the start of each (n,).
            q: Measured positions (n, na).
            qd: Measured velocities (n, na).
            wrenches: Measured grasp wrenches (n, k, 6).
            alive: Cells that run (n,).
            rows: Rows of the reference (n, w); of the law's plan by default.
        """
        safety, law, check = self._safety, self.law, self._safety.step_check
        ended: dict[int, Finding] = {}
        went = alive.copy()

        def end(i: int, found: Finding | None) -> None:
            if found is not None:
                ended[own.start + i], went[i] = found, False

        samples, model = safety.arms.measurement, safety.model
        for i in np.flatnonzero(went & ~samples.within(q, qd, wrenches)).tolist():
            end(i, next(samples.findings_of(q[i], qd[i], wrenches[i]), None))
        if tick.min() < model.ramp_periods:
            moves = (tick < model.ramp_periods) & ~model.at_rest(qd)
            for i in np.flatnonzero(went & moves).tolist():
                end(i, model.start_finding(qd[i]))

        same = bool((tick == tick[0]).all())
        first = int(tick[0])
        if rows is None:
            row = self.rows[min(first, len(self.rows) - 1)] if same else None
            if row is None:
                row = self.rows[np.minimum(tick, len(self.rows) - 1)]
        else:
            row = rows
        ramp = np.where(tick >= self._ramp, 1.0, tick / self._ramp)
        torque, memory, outputs = (np.empty((len(tick), size)) for size in self._sizes)
        sensors = law.running.sensed.with_wrenches
        self._kernel(
            own, q, qd, wrenches, sensors, row, self._memory[own], ramp,
            out=(torque, memory, outputs),
        )  # fmt: skip
        seen = HybridOutputs(outputs, law.layout.outputs)
        scales, effort_scale = seen.scales, seen.effort_scale[:, 0]
        if law.running.choice is not None:
            needed = went & (effort_scale < ALL) & (ramp == 1.0)
            if self._branches:
                numbers = range(own.start, own.stop)
                needed |= np.array([n in self._branches for n in numbers]) & went
            for i in np.flatnonzero(needed).tolist():
                here = row if row.ndim == 1 else row[i]
                branch = self._branches.get(own.start + i)
                if branch is None:
                    branch = self._branches[own.start + i] = law.running.branch(
                        self._blocks[own.start + i], law.settings
                    )
                step = branch.go_on(
                    q[i], qd[i], wrenches[i], here, self._memory[own.start + i].copy(),
                    float(ramp[i]),
                )  # fmt: skip
                torque[i], memory[i], outputs[i] = step.torque, step.memory, step.values
                self.added_internal_force[own.start + i] = step.added_internal_force
                if not branch.corrects_now:
                    del self._branches[own.start + i]

        figures = self._figures(own, tick, q, torque, seen)

        def cell(i: int) -> CellStep:
            """Return the step of a cell, as its single run has it."""
            number, here = own.start + i, row if row.ndim == 1 else row[i]
            added = self.added_internal_force[number]
            step = HybridStep(torque[i], memory[i], outputs[i], here, self.law.layout, added)
            numbers = StepFigures(*(values[i].item() for values in figures))
            return CellStep(step, torque[i], q[i], numbers, self._residuals[number], wrenches[i])

        for rule in check.rules:
            for i in np.flatnonzero(went & ~rule.kept(figures)).tolist():
                end(i, next(iter(rule.findings(cell(i))), None))
        sent = torque
        for i in np.flatnonzero(went & ~(figures.change <= check.largest_change)).tolist():
            sent[i] = within_rate(torque[i], self._last[own.start + i], check.largest_change)
        if went.all():
            self._memory[own], self._last[own], self.scales[own] = memory, sent, scales[:, :2]
        else:
            where = went[:, None]
            np.copyto(self._memory[own], memory, where=where)
            np.copyto(self._last[own], sent, where=where)
            np.copyto(self.scales[own], scales[:, :2], where=where)
        return sent, ended

    def _figures(
        self, own: slice, tick: NDArray[np.int64], q: Array, torque: Array, seen: HybridOutputs
    ) -> StepFigures:
        """Return the figures of the steps of some cells."""
        check = self._safety.step_check
        inputs = [torque, self._last[own], q, seen.values[:, self.law.layout.checked]]
        compiled = np.empty((len(q), COMPILED))
        if check.bodies:
            inputs.append(self._residuals[own])
            after = np.empty((len(q), len(check.bodies), 11))
            self._check(own, *inputs, out=(compiled, after))
            self._residuals[own] = after
        else:
            self._check(own, *inputs, out=(compiled,))
        task_scale = seen.task_scale[:, 0]
        low = ~(task_scale >= self._safety.settings.least_task_scale) & (tick >= self._ramp)
        since = self._scaled_since[own]
        np.copyto(since, NEVER, where=~low)
        np.minimum(since, tick, out=since, where=low)
        return StepFigures._make([*compiled.T[:-1], tick - since])


def _require_gains_alone(cell: int, common: ControlSettings, own: ControlSettings) -> None:
    """Refuse settings of a cell that differ in more than gains."""
    for name in vars(common):
        if name not in OWN_SETTINGS and getattr(common, name) != getattr(own, name):
            raise ArgumentError(
                f"cell {cell} has another control setting {name!r}; expected other gains alone: "
                f"{', '.join(OWN_SETTINGS)}."
            )
    for part, may in (("internal_force", {"bandwidth"}), ("posture", None)):
        before, after = getattr(common, part), getattr(own, part)
        for name in vars(before):
            changed = getattr(before, name) != getattr(after, name)
            if changed and (
                (may is not None and name not in may) or name == "singularity_avoidance"
            ):
                raise ArgumentError(
                    f"cell {cell} has another control setting '{part}.{name}'; expected the same "
                    "in all cells of a batch."
                )
