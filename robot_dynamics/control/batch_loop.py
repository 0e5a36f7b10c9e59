# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A control law and its safety layer over many cells at once.

The law's kernel and the checks are those of `ControlLoop`, in its order. A cell in which the
safety layer would hand over to the fallback ends there: its finding is kept, and it is left alone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.checks import StepFigures
from robot_dynamics.control.control_loop import ControlLoop
from robot_dynamics.control.fallback import within_rate
from robot_dynamics.control.faults import Finding
from robot_dynamics.control.gains import check_gains
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.hybrid.law_inputs import Layout
from robot_dynamics.control.hybrid.running_kernel import RunningKernel
from robot_dynamics.control.hybrid.step import ALL
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.errors import ArgumentError

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Control settings that may differ from cell to cell; of `internal_force` the bandwidth.
OWN_SETTINGS = ("object", "posture", "hand", "friction", "impedance", "internal_force")
_NEVER = np.iinfo(np.int64).max


class BatchLoop:
    """The law of a scenario with its checks, over N cells. Rows of arrays are cells.

    Attributes:
        law: Of one cell.
        scales: What limits leave of internal force and motion (N, 2), from 0 to 1.
        added_internal_force: What control added to the reference (N, m).
        findings: Why cells ended, by their numbers.
        bytes_per_cell: Of memory that a cell takes here.
        bound: Whether `finish` has bound the kernels.

    Args:
        loop: Of one cell.
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
        self._at, self._ramp = layout.outputs, law.ramp_ticks
        na, m = layout.joints, layout.internal
        check = self._safety.step_check
        self._sizes = (na, Layout.size(layout.memory), Layout.size(self._at))
        self._blocks = np.zeros((count, len(law.block)))
        self._check_blocks = np.zeros((count, len(check.block)))
        self._first_memory = np.zeros((count, self._sizes[1]))
        self._first_torque = np.zeros((count, na))
        self._memory, self._last = self._first_memory.copy(), self._first_torque.copy()
        self._residuals = np.zeros((count, len(check.bodies), 11))
        self._scaled_since = np.full(count, _NEVER)
        self.scales, self.added_internal_force = np.ones((count, 2)), np.zeros((count, m))
        self._checked_start: tuple[bytes, bytes] | None = None
        self._branches: dict[int, RunningKernel] = {}
        self.findings: dict[int, Finding] = {}
        table = [law.row(tick) for tick in range(law.ticks + 1)]
        #: Rows of the reference by ticks.
        self.rows = np.array(table)
        #: Where everything stands in them.
        self.row_columns = dict(law.row_columns)
        self.bytes_per_cell, self.bound = 0, False

    def prepare(self, cell: int, settings: ControlSettings, q: Array, qd: Array) -> None:
        """Prepare the start of a cell.

        Args:
            cell: Its number.
            settings: Its gains.
            q: Measured positions at the start (na,).
            qd: Measured velocities (na,).

        Raises:
            ArgumentError: If settings differ from those of the loop in more than gains.
            RobotDynamicsError: If they or the start are refused.
        """
        # Each start is the first one: what a law saw before is where it looks for the object.
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
        self._blocks[cell] = law.block
        self._safety.begin_checks(q, seen.pose)
        self._check_blocks[cell] = check.block
        self._first_memory[cell], self._first_torque[cell] = law.memory, last

    def share(self, cell: int, other: int) -> None:
        """Let a cell start as another one does, which is prepared."""
        for rows in (self._blocks, self._check_blocks, self._first_memory, self._first_torque):
            rows[cell] = rows[other]

    def finish(self) -> None:
        """Bind the kernels, when all cells are prepared."""
        self._kernel = self.law.batch(self._blocks)
        self._check = self._safety.step_check.batch(self._check_blocks)
        self.bound = True
        arrays = [value for value in vars(self).values() if isinstance(value, np.ndarray)]
        self.bytes_per_cell = sum(
            value.nbytes for value in arrays if value is not self.rows
        ) // len(self._memory)
        self.bytes_per_cell += self._kernel.bytes_per_state + self._check.bytes_per_state
        self.begin(np.arange(len(self._memory)))

    def change(self, cells: NDArray[np.intp]) -> None:
        """Bind the kernels to cells that have been prepared anew; they have to begin then."""
        self._kernel.change(cells, self._blocks[cells])
        self._check.change(cells, self._check_blocks[cells])

    def begin(self, cells: NDArray[np.intp]) -> None:
        """Begin control anew in some cells."""
        self._memory[cells] = self._first_memory[cells]
        self._last[cells] = self._first_torque[cells]
        self._residuals[cells] = 0.0
        self._scaled_since[cells] = _NEVER
        self.scales[cells], self.added_internal_force[cells] = 1.0, 0.0
        for cell in cells.tolist():
            self._branches.pop(cell, None)
            self.findings.pop(cell, None)

    def update(
        self,
        own: slice,
        tick: NDArray[np.int64],
        q: Array,
        qd: Array,
        wrenches: Array,
        alive: Mask,
        rows: Array | None = None,
    ) -> tuple[Array, Mask]:
        """Return the torques (n, na) of a control instant, and which cells end in it (n,).

        Args:
            own: Which cells.
            tick: Control periods since the start of each (n,).
            q: Measured positions (n, na).
            qd: Measured velocities (n, na).
            wrenches: Measured grasp wrenches (n, k, 6).
            alive: Which of them are looked at.
            rows: Rows of the reference (n, w); those of the law's plan by default.
        """
        safety, law = self._safety, self.law
        ended = np.zeros(len(tick), dtype=bool)

        def end(where: Mask, finding: Callable[[int], Finding | None]) -> None:
            """End the cells that are not what was expected."""
            for i in np.flatnonzero(where & alive & ~ended).tolist():
                found = finding(i)
                if found is not None:
                    self.findings[own.start + i] = found
                    ended[i] = True

        lower, upper = safety.measurement.lower, safety.measurement.upper
        at = 0
        for values in (q, qd, wrenches.reshape(len(tick), -1)):
            bounds = slice(at, at + values.shape[1])
            good = (lower[bounds] <= values) & (values <= upper[bounds])
            if not good.all():
                bad = ~good.all(axis=1)
                end(bad, lambda i: self._measurement_finding(q[i], qd[i], wrenches[i]))
            at = bounds.stop
        if tick.min() < safety.ramp_periods and np.abs(qd).max() > safety.start_speed:
            fast = (np.abs(qd) > safety.start_speed).any(axis=1) & (tick < safety.ramp_periods)
            end(fast, lambda i: safety.model_finding(qd[i]))

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
        self._kernel(
            own, q, qd, wrenches, law.sensors, row, self._memory[own], ramp,
            out=(torque, memory, outputs),
        )  # fmt: skip
        scales = outputs[:, self._at["scales"]]
        effort_scale = outputs[:, self._at["checked_scales"].start]
        if law.corrects:
            needed = alive & ~ended & (effort_scale < ALL) & (ramp == 1.0)
            if self._branches:
                numbers = range(own.start, own.stop)
                needed |= np.array([n in self._branches for n in numbers]) & alive & ~ended
            for i in np.flatnonzero(needed).tolist():
                here = row if row.ndim == 1 else row[i]
                branch = self._branches.get(own.start + i)
                if branch is None:
                    branch = self._branches[own.start + i] = law.branch(
                        self._blocks[own.start + i]
                    )
                step = branch.go_on(
                    q[i], qd[i], wrenches[i], here, self._memory[own.start + i].copy(),
                    float(ramp[i]),
                )  # fmt: skip
                torque[i], memory[i], outputs[i] = step.torque, step.memory, step.values
                self.added_internal_force[own.start + i] = step.added_internal_force
                if not branch.corrects_now:
                    del self._branches[own.start + i]

        figures = self._figures(own, q, torque, outputs)
        self._judge(own, tick, end, figures, q, torque, outputs)
        went = alive & ~ended
        sent = torque
        hasty = went & ~(figures[:, 1] <= safety.largest_change)
        for i in np.flatnonzero(hasty).tolist():
            sent[i] = within_rate(torque[i], self._last[own.start + i], safety.largest_change)
        if went.all():
            self._memory[own], self._last[own], self.scales[own] = memory, sent, scales[:, :2]
        else:
            where = went[:, None]
            np.copyto(self._memory[own], memory, where=where)
            np.copyto(self._last[own], sent, where=where)
            np.copyto(self.scales[own], scales[:, :2], where=where)
        return sent, ended

    def why_ended(self, cell: int) -> tuple[str, str]:
        """Return in short, and in a sentence, why a cell has ended."""
        found = self.findings[cell]
        return found.cause.value, str(found)

    def _figures(self, own: slice, q: Array, torque: Array, outputs: Array) -> Array:
        """Return `StepFigures` of each cell and what follows them; see `_step_program`."""
        check, at = self._safety.step_check, self._at
        inputs = [torque, self._last[own], outputs[:, at["error"]]]
        if at["closure"].stop > at["closure"].start:
            inputs.append(outputs[:, at["closure"]])
        if check.proximity:
            inputs += [q, outputs[:, at["pose"]]]
        figures = np.empty((len(q), len(StepFigures._fields) + 1))
        if not check.bodies:
            self._check(own, *inputs, out=(figures,))
            return figures
        measured = outputs[:, at["held_body_wrenches"]]
        after = np.empty((len(q), len(check.bodies), 11))
        inputs += [measured[:, None, :], self._residuals[own]]
        self._check(own, *inputs, out=(figures, after))
        self._residuals[own] = after
        return figures

    def _judge(
        self,
        own: slice,
        tick: NDArray[np.int64],
        end: Callable[[Mask, Callable[[int], Finding | None]], None],
        figures: Array,
        q: Array,
        torque: Array,
        outputs: Array,
    ) -> None:
        """End cells whose step is beyond limits, in the order of `SafetyLayer.command`."""
        check, at, settings = self._safety.step_check, self._at, self._safety.settings
        excess, _, turned, moved, angle, distance, margin, wrench_excess, _ = figures.T
        bad = ~(margin >= 0.0)
        if bad.any() and check.proximity:
            proximity = check.proximity
            pose = outputs[:, at["pose"]]
            end(bad, lambda i: proximity.finding(q[i], pose[i]))
        bad = ~(wrench_excess <= 0.0)
        if bad.any():
            measured = outputs[:, at["held_body_wrenches"]]
            body = check.bodies[0]
            end(
                bad,
                lambda i: body.finding(
                    measured[i],
                    self._residuals[own.start + i, 0],
                    check.motion(StepFigures(*figures[i, :-1].tolist())),
                ),
            )
        bad = ~(excess <= 0.0)
        if bad.any():
            end(bad, lambda i: check.torque_finding(torque[i]))
        bad = ~((distance <= settings.closure_warning_m) & (angle <= settings.closure_warning_rad))
        if bad.any():
            closure = outputs[:, at["closure"]]
            end(bad, lambda i: next(check.closure_findings(closure[i]), None))
        bad = ~((turned <= settings.tracking_limit_rad) & (moved <= settings.tracking_limit_m))
        if bad.any():
            end(bad, lambda i: check.tracking_finding(float(turned[i]), float(moved[i])))
        _, task_scale, ratio = outputs[:, at["checked_scales"]].T
        task_scale = np.where(tick >= self._ramp, task_scale, 1.0)
        low = ~(task_scale >= settings.least_task_scale)
        since = self._scaled_since[own]
        if low.any() or (since != _NEVER).any():
            since[~low] = _NEVER
            np.minimum(since, tick, out=since, where=low)
            long = low & (tick - since > self._safety.scaled_for)
            end(long, lambda i: check.scaled_finding(float(task_scale[i])))
        bad = ~(ratio <= 1.0)
        if bad.any():
            support = outputs[:, at["support"]]
            end(bad, lambda i: check.support_finding(support[i]))

    def _measurement_finding(self, q: Array, qd: Array, wrenches: Array) -> Finding | None:
        return self._safety.measurement.first_beyond(q, qd, wrenches)


def _require_gains_alone(cell: int, common: ControlSettings, own: ControlSettings) -> None:
    """Refuse settings of a cell that are more than other gains."""
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
