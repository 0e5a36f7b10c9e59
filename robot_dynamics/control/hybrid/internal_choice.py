# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Correction of the desired internal force in every control period.

The desired internal force is not changed while every contact keeps its margin to its friction
cone. If a contact does not, because the object is heavier than modelled or is pushed, the nearest
internal force with which all contacts do is used at once. If torque limits scale the task, the
internal force moves, at a bounded rate, to the nearest one with which they do not. A correction
stays as long as limits would scale the task without it, and then decays exponentially, so that it
neither chatters nor ends with a jump.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile.routine import routine
from robot_dynamics.control.hybrid.law_inputs import Layout
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.control.reference import HasRows
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.manipulation.hybrid import ForceDistribution, HybridSystem, Squeeze
from robot_dynamics.manipulation.hybrid.squeeze import CorrectionLimit, SqueezeInputs

_RELEASE_S = 0.3  # time constant with which a correction that is not needed decays
_CHANGE_S = 0.1  # time of a correction of the largest size for the sake of torque limits
_NONE = 1e-9  # corrections below this are zero [N]


class InternalChoice:
    """Corrects internal forces, period by period.

    Attributes:
        added: The present correction (m,).

    Args:
        squeeze: Contacts, their margin, and the sharing of forces.
        layout: Positions of the forces in a row of the reference, and of a step's outputs.
        most: Largest component of a contact force of the correction [N]; see `Squeeze.size`.
        period: Control period [s].
        late: Control periods between a desired force and its measurement.
    """

    def __init__(
        self, squeeze: Squeeze, layout: Layout, most: float, period: float, late: int
    ) -> None:
        self._squeeze, self._most = squeeze, most
        self._change = most * period / _CHANGE_S
        of_row, at = layout.reference, layout.outputs
        self._own, self._compared = of_row["internal"], of_row["compared_internal"]
        self._keep, self._late = math.exp(-period / _RELEASE_S), late
        # The correction is zero most of the time; identity with this array shows it.
        self._nothing = none = np.zeros(self._own.stop - self._own.start)
        self._addition = np.zeros(Layout.size(of_row))  # to a row
        # Inputs of the compiled parts: most of them are views of the outputs of a step.
        self._values = values = np.zeros(Layout.size(at))
        least, largest = values[at["torque_range"]].reshape(2, -1)
        self._given = SqueezeInputs(
            wrench=values[at["desired_wrench"]],
            desired=np.zeros_like(none),
            around=np.zeros_like(none),
            size=np.array([most]),
            grip=values[at["internal_force_torques"]].reshape(len(least), -1),
            least=least,
            most=largest,
            limits=np.zeros_like(least),
        )
        self._are_within = are_within.bind(self._given)
        self._program = squeeze.bounded(self._given)
        self._program.nearest()  # loads the solver now, not when a contact slips
        self.begin()

    @classmethod
    def of(
        cls,
        system: HybridSystem,
        distribution: ForceDistribution,
        settings: ControlSettings,
        layout: Layout,
    ) -> InternalChoice | None:
        """Return the correction of the settings; None if they have none."""
        force = settings.internal_force
        if force.may_slip or not (force.max_internal_force_correction_n > 0.0 and layout.internal):
            return None
        squeeze = Squeeze(
            system.contacts, distribution, force.margin_n, names=system.tools, length=system.length
        )
        late = 1 + settings.command_delay_periods
        return cls(squeeze, layout, force.max_internal_force_correction_n, settings.period, late)

    def begin(self) -> None:
        """Begin without a correction."""
        self.added = self._nothing
        self._before: deque[Array] = deque([self.added] * self._late, maxlen=self._late)
        self._last: tuple[HybridStep, Array] | None = None  # with a correction, and efforts
        self._idle = not self._squeeze.slips

    @property
    def idle(self) -> bool:
        """Whether the correction is zero and no contact can slip: rows stay as they are."""
        return self._idle

    def firmest(self, planned: Array) -> Array:
        """Return the largest multiple of an internal force (m,) that corrections may reach."""
        size = self._squeeze.size(planned)
        return planned * (1.0 + self._most / size) if size > _NONE else planned

    def row(self, row: Array, wrench: Array) -> Array:
        """Return a row (w,) with the internal force that contacts need to exert a wrench (6,)."""
        if self.added is not self._nothing or self._squeeze.slips:
            planned = row[self._own]
            self.added = self._within_cones(wrench, planned, self._decayed(planned))
        return self._with_added(row)

    def row_within(self, row: Array, step: HybridStep, effort: Array) -> Array | None:
        """Return a row with which efforts (na,) scale a step less.

        None if they do not scale it, or if they would with any internal force within the
        correction limit: then the correction stays. The correction changes at a bounded rate.

        Args:
            row: Planned row (w,).
            step: Step of the corrected row.
            effort: Largest torques.
        """
        if step.fits:
            return None
        planned, given = row[self._own], self._given
        self._take(step, effort, planned + self.added)
        given.around[:] = planned
        part = self._program.approach(self._change)
        if part is None:
            return None
        added = given.desired - planned
        # Cones are convex: if contacts hold with two internal forces, they hold between them.
        self.added = added if part == 1.0 else self._within_cones(given.wrench, planned, added)
        return self._with_added(row)

    def remember(self, step: HybridStep, effort: Array) -> None:
        """Store the correction of this period and the step that was sent.

        Args:
            step: The step that is sent.
            effort: Largest torques (na,).
        """
        self._before.append(self.added)
        self._last = None if self.added is self._nothing else (step, effort)
        self._idle = not self._squeeze.slips and all(one is self._nothing for one in self._before)

    def _decayed(self, planned: Array) -> Array:
        """Return the correction, decayed by a period unless limits would scale the task then."""
        if self.added is self._nothing:
            return self.added
        decayed = self._keep * self.added
        if self._last is not None and not self._fits(*self._last, planned + decayed):
            return self.added
        return decayed if self._squeeze.size(decayed) > _NONE else self._nothing

    def _fits(self, step: HybridStep, effort: Array, internal_force: Array) -> bool:
        """Return whether efforts (na,) do not scale the task of a step with an internal force."""
        self._take(step, effort, internal_force)
        return bool(self._are_within())

    def _take(self, step: HybridStep, effort: Array, internal_force: Array) -> None:
        """Write the inputs of the compiled parts."""
        self._values[:] = step.values
        self._given.limits[:], self._given.desired[:] = effort, internal_force

    def _within_cones(self, wrench: Array, planned: Array, target: Array) -> Array:
        """Return the correction nearest to a target with which contacts can exert a wrench."""
        if not self._squeeze.slips:
            return target
        target_force = planned if target is self._nothing else planned + target
        found = self._squeeze.in_loop(
            wrench, target_force, None, CorrectionLimit(planned, self._most)
        )
        if found is target_force:
            return target
        if found is not None:
            return found - planned
        found = self._squeeze.in_loop(wrench, planned + self.added)
        if found is None:
            return self.added
        # More than the limit is needed: use the limit.
        change = found - planned - self.added
        return self.added + change * self._squeeze.part_within(self.added, change, self._most)

    def _with_added(self, row: Array) -> Array:
        if self.added is self._nothing and self._before[0] is self._nothing:
            return row
        self._addition[self._own] = self.added
        self._addition[self._compared] = self._before[0]
        return row + self._addition


@routine
def are_within(given: SqueezeInputs) -> bool:
    """Return whether all torques with the desired internal force are within their limits."""
    for i in range(len(given.limits)):
        x = 0.0
        for k in range(len(given.desired)):
            x += given.grip[i, k] * given.desired[k]
        if not (
            abs(given.least[i] + x) <= given.limits[i]
            and abs(given.most[i] + x) <= given.limits[i]
        ):
            return False
    return True


def holding_force(plan: HasRows, system: HybridSystem, at: Mapping[str, slice]) -> Array:
    """Return the internal force (m,) at the start of contacts that only push; else zero.

    Args:
        plan: The reference.
        system: Arms, object, contacts and surfaces.
        at: Positions of the forces in a row; see `Layout.reference`.
    """
    wanted = np.asarray(plan.rows(np.zeros(1))[0, at["internal"]])
    pushing = any(contact.limits is not None for contact in system.contacts)
    return wanted if pushing else np.zeros_like(wanted)
