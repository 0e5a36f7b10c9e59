# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Prediction of slip: contact, time and margin.

The *planned* wrenches give the distance of every contact to its friction cone over the reference;
*measured* wrenches give the present distance. Their difference is a disturbance that is assumed to
last: the predicted margin is the planned one plus this difference.

Contacts of arms with the object are monitored, and surfaces to which the object must stick: all
contacts with a friction cone and a wrench in their frame.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag

from robot_dynamics.arrays import Array
from robot_dynamics.control.control_law import ObjectPlan
from robot_dynamics.control.hybrid.planned_forces import planned_wrenches
from robot_dynamics.control.hybrid.step import HybridStep, SlipReport
from robot_dynamics.control.hybrid.task_check import TaskOptions
from robot_dynamics.control.reference import row_columns
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import ContactLimits, ForceDistribution, HybridSystem

_MOST = 20  # warnings that are kept
_OVER_S = (
    0.5  # without danger, after which it is over: margins cross their threshold back and forth
)
_ROUNDING = 1e-6  # a squeeze that is as small as can be leaves the margin to within this [N]


class SlipMonitor:
    """Monitors the margins of contacts over a reference.

    Args:
        watched: Friction limits of the contacts, by name.
        margin: Smallest acceptable distance to them, of all or of each (k,) [N].
        period: Control period [s].
        horizon_s: Length of the prediction [s].
    """

    def __init__(
        self,
        watched: Mapping[str, ContactLimits],
        margin: ArrayLike,
        period: float,
        horizon_s: float = 0.5,
    ) -> None:
        least = np.broadcast_to(np.asarray(margin, dtype=float), len(watched))
        if not (np.all(least >= 0.0) and period > 0.0 and horizon_s >= 0.0):
            raise ArgumentError(
                f"slip is watched with margins of {least.tolist()} N, every {period:g} s, "
                f"{horizon_s:g} s ahead; expected a positive period and nothing negative."
            )
        self.names, self._limits = tuple(watched), tuple(watched.values())
        self._margin, self._period = least, period
        self._least = (least - _ROUNDING).tolist()
        self._never = np.full(len(self.names), np.inf)
        self._ahead = round(horizon_s / period)
        self._plan(np.full((1, len(self.names)), np.inf))

    def expect(self, wrenches: ArrayLike) -> tuple[str, ...]:
        """Take the planned wrenches, a row a period, and return warnings about them.

        Args:
            wrenches: On the object, in each contact's frame (N, k, 6).
        """
        planned = np.asarray(wrenches, dtype=float)
        if planned.ndim != 3 or planned.shape[1:] != (len(self.names), 6) or not len(planned):
            raise ArgumentError(
                f"planned wrenches have shape {planned.shape}, expected (N, {len(self.names)}, 6)."
            )
        self._plan(self._distances(planned))
        return tuple(
            self._sentence(
                i,
                f"{self._period * np.argmax(short):.3g} s after the reference's start",
                self._planned[:, i].min(),
            )
            for i, short in enumerate((self._planned < self._margin - _ROUNDING).T)
            if short.any()
        )

    def step(self, tick: int, wrenches: Sequence[Sequence[float]] | None = None) -> SlipReport:
        """Return the margins of the contacts at a row of the plan.

        Args:
            tick: Row of the plan; the last one stays.
            wrenches: Measured wrenches on the object, in each contact's frame (k, 6); by default
                those of the plan.
        """
        first = min(max(tick, 0), len(self._planned) - 1)
        planned, lowest = self._planned_rows[first], self._lowest_rows[first]
        now = planned if wrenches is None else self._distances_now(wrenches)
        # Margins are infinite for contacts that cannot slip, or are not measured.
        unplanned = [
            b - a if math.isfinite(a) and math.isfinite(b) else 0.0
            for a, b in zip(planned, now, strict=True)
        ]
        ahead = [
            min(low + more, present)
            for low, more, present in zip(lowest, unplanned, now, strict=True)
        ]
        if all(a >= b for a, b in zip(ahead, self._least, strict=True)):
            return SlipReport(np.array(now), np.array(ahead), self._never, ())
        return self._danger(first, np.array(now), np.array(ahead), np.array(unplanned))

    def _danger(self, first: int, now: Array, ahead: Array, unplanned: Array) -> SlipReport:
        """Return when margins become too small, from a row of the plan on."""
        least = self._margin - _ROUNDING
        short = self._planned[first : first + self._ahead + 1] + unplanned < least
        short[0] |= now < least
        when = np.where(short.any(axis=0), self._period * np.argmax(short, axis=0), np.inf)
        warnings = tuple(
            self._sentence(
                int(i), f"in {when[i]:.3g} s" if when[i] > 0.0 else "now", float(ahead[i])
            )
            for i in np.flatnonzero(np.isfinite(when))
        )
        return SlipReport(now, ahead, when, warnings)

    def _plan(self, margins: Array) -> None:
        """Take planned margins (N, k), and the smallest from each row to the horizon."""
        self._planned = margins
        after = np.vstack([margins, np.repeat(margins[-1:], self._ahead, axis=0)])
        windows = np.lib.stride_tricks.sliding_window_view(after, self._ahead + 1, axis=0)
        # Lists, because they are read in every period.
        self._planned_rows, self._lowest_rows = margins.tolist(), windows.min(axis=-1).tolist()

    def _distances(self, wrenches: Array) -> Array:
        """Return distances (N, k); minus infinity instead of NaN."""
        found = [limits.distance(wrenches[:, i]) for i, limits in enumerate(self._limits)]
        distances = np.stack(found, axis=-1) if found else np.zeros((len(wrenches), 0))
        return np.where(np.isnan(distances), -np.inf, distances)

    def _distances_now(self, wrenches: Sequence[Sequence[float]]) -> list[float]:
        """Return the distances (k,) of one instant, as `_distances` does."""
        rows = zip(self._limits, wrenches, strict=True)
        found = [limits.distance_of_one(row) for limits, row in rows]
        return [-math.inf if math.isnan(one) else one for one in found]

    def _sentence(self, i: int, when: str, left: float) -> str:
        name = self.names[i]
        what = f"{-left:.3g} N are missing to hold" if left < 0.0 else f"{left:.3g} N are left"
        verdict = "slips" if left < 0.0 else "is near to slipping"
        return (
            f"contact {name!r} {verdict}: it falls short of its margin of {self._margin[i]:g} N "
            f"{when}; {what} at worst."
        )


class SlipWarningFilter:
    """Warns once of each contact that comes near to slipping, until its danger is over.

    Attributes:
        issued: The warnings since `forget`.

    Args:
        period: Control period [s].
    """

    def __init__(self, period: float) -> None:
        self._period = period
        self._over = round(_OVER_S / period)
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.issued: list[str] = []
        self._present: dict[int, str] = {}
        self._seen: dict[int, int] = {}  # when each of these was in danger last

    @property
    def present(self) -> tuple[str, ...]:
        """Warnings of the contacts that are in danger now."""
        return tuple(self._present.values())

    def take(self, tick: int, report: SlipReport) -> None:
        """Take the report of the monitor at a tick."""
        if report.warnings:
            short = np.flatnonzero(np.isfinite(report.when))
            for i, sentence in zip(short.tolist(), report.warnings, strict=True):
                self._seen[i] = tick
                if i not in self._present:
                    self._present[i] = f"at {tick * self._period:.3g} s: {sentence}"
                    if len(self.issued) < _MOST:
                        self.issued.append(self._present[i])
        if self._present:
            over = [i for i in self._present if tick - self._seen[i] > self._over]
            for i in over:
                del self._present[i], self._seen[i]


class SlipWatch:
    """Monitors the contacts of a task while control runs, by plan and measurement.

    Attributes:
        names: Contacts of arms that can slip, then surfaces to stick to.
        foreseen: Warnings about the plan.

    Args:
        system: Arms, object, contacts and surfaces.
        names: Of the contacts.
        options: Margins of contacts, and surfaces to stick to.
        plan: The plan.
        distribution: Sharing of forces, and internal forces.
        period: Of control [s].
    """

    def __init__(
        self,
        system: HybridSystem,
        names: Sequence[str],
        options: TaskOptions,
        plan: ObjectPlan,
        distribution: ForceDistribution,
        period: float,
    ) -> None:
        count = int(np.ceil(plan.duration / period)) + 1
        rows = np.asarray(plan.rows(np.arange(count) * period))
        self._system, self._grips = system, dict(options.grips)
        arms = list(zip(names, system.contacts, strict=True))
        limits = {name: one.limits for name, one in arms if one.limits is not None}
        # Matrix from contact forces (d,) to the wrenches of the contacts that can slip, one after
        # the other.
        self._directions = block_diag(*(contact.directions.T for contact in system.contacts))[
            :, np.repeat([contact.limits is not None for contact in system.contacts], 6)
        ]
        slipping = len(limits)
        limits |= {name: grip.cone for name, grip in self._grips.items()}
        # The margin is declared for contacts; on a surface any margin above zero suffices.
        margins = [options.margin] * slipping + [0.0] * len(self._grips)
        self._planned = SlipMonitor(limits, margins, period)
        # A streamed plan is checked before it is followed; then measurements decide.
        self._unplanned = SlipMonitor(limits, margins, period)
        self._monitor = self._planned
        self._filter = SlipWarningFilter(period)
        self.names = self._planned.names
        at = row_columns(len(system.environment.surfaces), len(distribution.names))
        wrenches = planned_wrenches(system, rows)
        forces = distribution.contact_forces(wrenches, rows[:, at["internal"]])
        self.foreseen = self._planned.expect(
            self._wrenches(forces, rows[:, at["contact"]], rows[:, at["touch"]])
        )

    @staticmethod
    def needed(system: HybridSystem, options: TaskOptions) -> bool:
        """Return whether a contact can slip, or the object must stick to a surface."""
        return bool(options.grips) or any(one.limits is not None for one in system.contacts)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about contacts in present danger, or else about the plan."""
        return self._filter.present or self.foreseen

    @property
    def recorded_warnings(self) -> list[str]:
        """Warnings for the recording: about the plan, or else the issued ones."""
        return list(self.foreseen or self._filter.issued)

    def twin(self) -> SlipWatch:
        """Return a monitor of the same plan, with warnings of its own."""
        other = copy(self)
        other._filter = copy(self._filter)
        other.begin()
        return other

    def begin(self) -> SlipReport:
        """Reset to the plan, and return the margins at its start."""
        self._monitor = self._planned
        self._filter.forget()
        return self._monitor.step(0)

    def leave_plan(self) -> None:
        """Judge slip by measurements from now on: another plan is followed."""
        self._monitor = self._unplanned

    def step(self, tick: int, row: int, measured: HybridStep | None) -> SlipReport:
        """Return the slip report of the contacts.

        Args:
            tick: Control periods since the start.
            row: Row of the plan.
            measured: Step with measured wrenches; None without.
        """
        wrenches = None
        if measured is not None:
            seen = measured.outputs
            forces = seen.measured_contact_forces
            if self._grips:
                pushes, touched = seen.contact_force, seen.touched
                wrenches = self._wrenches(forces[None], pushes[None], touched[None])[0].tolist()
            else:
                flat = (forces @ self._directions).tolist()
                wrenches = [flat[i : i + 6] for i in range(0, len(flat), 6)]
        report = self._monitor.step(row, wrenches)
        self._filter.take(tick, report)
        return report

    def _wrenches(self, forces: Array, pushes: Array, touched: Array) -> Array:
        """Return wrenches (N, w, 6) of contact forces (N, d), and of forces on surfaces (N, C).

        A surface that is not touched cannot slip: it counts as pushed with a large force.
        """
        found = (forces @ self._directions).reshape(len(forces), -1, 6)
        if not self._grips:
            return found
        held = []
        for grip in self._grips.values():
            wrenches = grip.wrenches(pushes)
            wrenches[touched[:, grip.normal] == 0.0] = [0.0, 0.0, 0.0, 0.0, 0.0, np.inf]
            held.append(wrenches)
        return np.concatenate([found, np.stack(held, axis=1)], axis=1)
