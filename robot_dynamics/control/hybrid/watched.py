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
from robot_dynamics.control.hybrid.named_forces import (
    contact_forces,
    internal_forces,
    surface_slices,
)
from robot_dynamics.control.hybrid.plan_check import ContactCheck
from robot_dynamics.control.hybrid.planned_forces import Columns, planned_wrenches
from robot_dynamics.control.hybrid.rows import HybridPlan
from robot_dynamics.control.hybrid.slip_monitor import SlipMonitor, SlipReport
from robot_dynamics.control.hybrid.slip_warning_filter import SlipWarningFilter
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.control.hybrid.surface_check import Grip, SurfaceRow
from robot_dynamics.control.hybrid.task_check import TaskOptions
from robot_dynamics.control.reference import FORCE

Array = NDArray[np.float64]

_ANYTHING = 1e6  # margin that stands for that of a contact which bears anything [N]


class WatchedStep(HybridStep):
    """A control step, and how safe the contacts are.

    Attributes:
        slip: What the monitor says.
    """

    __slots__ = ("slip",)

    def __init__(self, step: HybridStep, slip: SlipReport) -> None:
        added = step.added_internal_force
        super().__init__(step.torque, step.memory, step._found, step.reference, step._at, added)
        self.gave_way, self.slip = step.gave_way, slip

    @property
    def slip_margins(self) -> Array:
        """Distance of each contact that is watched to slip (w,) [N]."""
        return self.slip.margins

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
        grips: Surfaces that the object is to stick to, by name.
    """

    margin: float = 0.0
    may_slip: bool = False
    surfaces: tuple[SurfaceRow, ...] = ()
    grips: Mapping[str, Grip] = MappingProxyType({})


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
        limits = {
            arm.name: contact.limits
            for arm, contact in zip(self.system.arms, self.hybrid_system.contacts, strict=True)
            if contact.limits is not None
        }
        self._watched = [
            i for i, one in enumerate(self.hybrid_system.contacts) if one.limits is not None
        ]
        limits |= {name: grip.cone for name, grip in watched.grips.items()}
        # The margin is declared for contacts; a push on a surface is to stick, by however little.
        margins = [watched.margin] * len(self._watched) + [0.0] * len(watched.grips)
        self.monitor = SlipMonitor(limits, margins, self.period)
        # A plan that comes is looked at before it is followed; then what is measured tells.
        self._unplanned = SlipMonitor(limits, margins, self.period)
        self._watching = self.monitor
        self._slip_warnings = SlipWarningFilter(self.period)
        self.foreseen: tuple[str, ...] = ()
        self._surfaces = surface_slices(watched.surfaces)
        if limits:
            self.foreseen = self.monitor.expect(self._planned())

    @property
    def columns(self) -> dict[str, int]:
        """Width of each column that the law adds to a recording."""
        every = {**super().columns, "slip_margin": len(self.monitor.names)}
        return {name: width for name, width in every.items() if width}

    @property
    def metadata(self) -> dict[str, Any]:
        """As of `HybridController`, with contacts that are watched and what was said of slip."""
        # What was foreseen and came is told once.
        slips = self.foreseen or self._slip_warnings.told
        warnings = [*super().warnings, *slips]
        return {
            **super().metadata,
            "warnings": warnings,
            "slip_contacts": list(self.monitor.names),
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be known of the gains, and of slip: of danger now, or else of the plan."""
        return (*super().warnings, *(self._slip_warnings.present or self.foreseen))

    def check_path(self, q: Array) -> None:
        """Refuse a task that grasp, surfaces or arms cannot do; see `check_task`."""
        task = self._task
        options = TaskOptions(margin=task.margin, may_slip=task.may_slip)
        self.checked_task(q, task.surfaces, options, task.grips)

    @property
    def slip_contacts(self) -> tuple[str, ...]:
        """Names of the contacts that are watched."""
        return self.monitor.names

    @property
    def force_columns(self) -> dict[str, slice]:
        """Where references that come while control runs stand in a row's forces."""
        at, first = self.layout.reference, FORCE.start
        return {
            name: slice(at[name].start - first, at[name].stop - first)
            for name in ("contact", "wanted", "internal")
        }

    @property
    def surfaces(self) -> dict[str, slice]:
        """By name, where the forces on each surface stand among "contact"."""
        return self._surfaces

    def contact_forces(self, surface: str, wrench: Array) -> Array:
        """Return the forces on a surface of a wrench (6,) in its frame; see `named_forces`."""
        return contact_forces(self._task.surfaces[self._surfaces[surface]], wrench)

    def internal_forces(self, wrench: Array) -> Array:
        """Return the internal forces of a wrench (6,); see `named_forces`."""
        return internal_forces(self.distribution.names, wrench)

    def plan_checks(self, plan: HybridPlan) -> tuple[ContactCheck]:
        """Return a check of whether contacts and surfaces bear a plan, to be done in parts."""
        task = self._task
        check = ContactCheck(
            self.hybrid_system,
            self.distribution,
            plan,
            margin=-np.inf if task.may_slip else task.margin,
            surfaces=task.surfaces,
            grips=task.grips,
        )
        return (check,)

    def follow(self, reference: HybridPlan, tick: int) -> None:
        """Follow another reference from a tick on; see `HybridController.follow`."""
        super().follow(reference, tick)
        self._watching = self._unplanned

    def hold(self, tick: int) -> None:
        """Come to rest; from then on slip is judged by measured forces."""
        super().hold(tick)
        self._watching = self._unplanned

    def start(self, q: Array, qd: Array, last: Array | None = None) -> WatchedStep:
        """Begin anew, with the first reference; see `HybridController.start`."""
        self._watching = self.monitor
        self._slip_warnings.forget()
        return WatchedStep(super().start(q, qd, last), self._watching.step(0, None))

    def update(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> WatchedStep:
        """Return the step of a control instant; see `HybridController.update`."""
        step = super().update(tick, q, qd, wrenches)
        row = max(tick - self.ramp_ticks, 0)
        # Arms on their brakes do not squeeze: the first torque shows in measured forces only then.
        braked = tick <= 1 + self.settings.command_delay_periods
        known = wrenches is not None and not braked
        measured = None
        if known:
            on_arms = self._in_frames(step.measured_contact_forces[None])
            pushes = self._on_grips(step.contact_force[None], step.touched[None])
            measured = np.concatenate([on_arms, pushes], axis=1)[0]
        slip = self._watching.step(row, measured)
        self._slip_warnings.take(tick, slip)
        return WatchedStep(step, slip)

    def _planned(self) -> Array:
        """Return the wrenches (N, w, 6) that are planned of the contacts that are watched."""
        system = self.hybrid_system
        count = int(np.ceil(self.reference.duration / self.period)) + 1
        rows = self.reference.rows(np.arange(count) * self.period)
        internal = rows[:, Columns.of(len(system.environment.surfaces)).internal]
        forces = self.distribution.contact_forces(planned_wrenches(system, rows), internal)
        at = Columns.of(len(system.environment.surfaces))
        pushes = self._on_grips(rows[:, at.contact], rows[:, at.wanted])
        return np.concatenate([self._in_frames(forces), pushes], axis=1)

    def _on_grips(self, forces: Array, touched: Array) -> Array:
        """Return wrenches (N, g, 6) on surfaces to stick to, of forces on all of them (N, C).

        Where a surface is not touched nothing slips: it counts as pushed with any force.
        """
        found = np.zeros((len(forces), len(self._task.grips), 6))
        for i, grip in enumerate(self._task.grips.values()):
            found[:, i] = grip.wrenches(forces)
            found[touched[:, grip.normal] == 0.0, i] = [0.0, 0.0, 0.0, 0.0, 0.0, np.inf]
        return found

    def _in_frames(self, forces: Array) -> Array:
        """Return contact forces (N, d) as wrenches (N, w, 6) of the contacts that are watched."""
        result, start = [], 0
        for contact in self.hybrid_system.contacts:
            end = start + contact.directions.shape[1]
            result.append(forces[:, start:end] @ contact.directions.T)
            start = end
        if not self._watched:
            return np.zeros((len(forces), 0, 6))
        return np.stack([result[i] for i in self._watched], axis=1)
