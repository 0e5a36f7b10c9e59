# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The hybrid controller with an eye on its contacts: slip is foreseen while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.hybrid.controller import HybridController
from robot_dynamics.control.hybrid.planned_forces import Columns, Sliding, planned_wrenches
from robot_dynamics.control.hybrid.slip_monitor import SlipMonitor, SlipReport
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.control.hybrid.surface_check import SurfaceRow
from robot_dynamics.control.hybrid.task_check import TaskOptions

Array = NDArray[np.float64]

_KEPT = 5  # warnings that are kept
_ANYTHING = 1e6  # margin that stands for that of a contact which bears anything [N]


class WatchedStep(HybridStep):
    """A control step, and how safe the contacts are.

    Attributes:
        slip: What the monitor says.
    """

    __slots__ = ("slip",)

    def __init__(self, step: HybridStep, slip: SlipReport) -> None:
        super().__init__(step.torque, step.memory, step._found, step.reference, step._at)
        self.slip = slip

    @property
    def recorded(self) -> tuple[Array, ...]:
        """The values of the columns of `WatchedController.columns`."""
        own = (*super().recorded, np.minimum(self.slip.ahead, _ANYTHING))
        return tuple(values for values in own if values.size)


class Watched(NamedTuple):
    """What a task is held to.

    Attributes:
        margin: Distance to its cone that each contact is to keep [N].
        may_slip: Whether contacts that will slip are warned of only.
        surfaces: What the surfaces' functions are called.
        sliding: Friction of surfaces, by the index of their function.
    """

    margin: float = 0.0
    may_slip: bool = False
    surfaces: tuple[SurfaceRow, ...] = ()
    sliding: Mapping[int, Sliding] = MappingProxyType({})


class WatchedController(HybridController):
    """A hybrid controller that refuses bad tasks, and watches its contacts.

    Attributes:
        monitor: It foresees slip.
        foreseen: What it says of the plan, in sentences.

    Args:
        watched: What the task is held to.
        arguments: Of `HybridController`.
        more: Likewise, by name.
    """

    def __init__(self, watched: Watched, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._task = watched
        self._slips: list[str] = []
        limits = {
            arm.name: contact.limits
            for arm, contact in zip(self.system.arms, self.hybrid_system.contacts, strict=True)
            if contact.limits is not None
        }
        self._watched = [
            i for i, one in enumerate(self.hybrid_system.contacts) if one.limits is not None
        ]
        self.monitor = SlipMonitor(limits, 0.0, self.period)
        self.foreseen: tuple[str, ...] = ()
        if limits:
            self.foreseen = self.monitor.expect(self._planned())

    @property
    def columns(self) -> dict[str, int]:
        """Width of each column that the law adds to a recording."""
        every = {**super().columns, "slip_margin": len(self._watched)}
        return {name: width for name, width in every.items() if width}

    @property
    def metadata(self) -> dict[str, Any]:
        """As of `HybridController`, with what was said of slip."""
        said = super().metadata
        return {**said, "warnings": [*said["warnings"], *self.foreseen, *self._slips]}

    def check_path(self, q: Array) -> None:
        """Refuse a task that grasp, surfaces or arms cannot do; see `check_task`."""
        task = self._task
        options = TaskOptions(margin=task.margin, may_slip=task.may_slip)
        self.checked_task(q, task.surfaces, task.sliding, options)

    def update(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> WatchedStep:
        """Return the step of a control instant; see `HybridController.update`."""
        step = super().update(tick, q, qd, wrenches)
        row = max(tick - self.ramp_ticks, 0)
        felt = None if wrenches is None else wrenches[self._watched]
        slip = self.monitor.step(row, felt)
        if slip.warnings and len(self._slips) < _KEPT and not self.foreseen:
            new = [f"at {tick * self.period:.3g} s: {said}" for said in slip.warnings]
            self._slips += new if not self._slips else []
        return WatchedStep(step, slip)

    def _planned(self) -> Array:
        """Return the wrenches (N, w, 6) that are planned of the contacts that are watched."""
        system = self.hybrid_system
        count = int(np.ceil(self.reference.duration / self.period)) + 1
        rows = self.reference.rows(np.arange(count) * self.period)
        internal = rows[:, Columns.of(len(system.environment.surfaces)).internal]
        forces = self.distribution.contact_forces(
            planned_wrenches(system, rows, self._task.sliding), internal
        )
        result, start = [], 0
        for contact in system.contacts:
            end = start + contact.directions.shape[1]
            result.append(forces[:, start:end] @ contact.directions.T)
            start = end
        return np.stack([result[i] for i in self._watched], axis=1)
