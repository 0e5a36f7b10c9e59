# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The internal force, chosen anew in every control period: inside cones, and within torques.

What is asked for is granted where every contact is its margin inside what it bears. Where one is
not, because the object is heavier than believed or is pushed, the nearest internal force is taken
for which all are, at once; where torque limits rule, it goes to the nearest with which they let
the task through as well, at a bounded rate. What was added stays as long as limits would rule
without it, and then fades, so that it neither chatters nor leaves with a jump.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.hybrid.law_inputs import Layout
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.control.reference import HasRows
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.manipulation.hybrid import ForceDistribution, HybridSystem, Squeeze
from robot_dynamics.manipulation.hybrid.squeeze import CorrectionLimit, GripRoom

Array = NDArray[np.float64]

_RELEASE_S = 0.3  # time constant with which what was added fades where it is not needed
_CHANGE_S = 0.1  # time that all of the correction limit takes for the sake of torque limits
_NONE = 1e-9  # internal force that is none [N]


class InternalChoice:
    """Chooses internal forces, period by period.

    Attributes:
        added: To what is asked for (m,).

    Args:
        squeeze: Contacts, their margin, and the sharing of forces.
        at: Where forces stand in a row that is followed; see `Layout.reference`.
        most: Largest component of a contact force of what is added [N]; see `Squeeze.size`.
        period: Of control [s].
        late: Control periods after which measured forces answer what was asked for.
    """

    def __init__(
        self, squeeze: Squeeze, at: Mapping[str, slice], most: float, period: float, late: int
    ) -> None:
        self._squeeze, self._most = squeeze, most
        self._change = most * period / _CHANGE_S
        self._own, self._compared = at["internal"], at["compared_internal"]
        self._keep, self._late = math.exp(-period / _RELEASE_S), late
        # Nothing is added most of the time: that it is this very array is told without computing.
        self._nothing = none = np.zeros(self._own.stop - self._own.start)
        # Solvers are loaded now, not when something slips.
        squeeze.in_loop(np.zeros(6), none, GripRoom(none[None], np.full(1, -1.0), np.full(1, 1.0)))
        self.begin()

    @classmethod
    def of(
        cls,
        system: HybridSystem,
        distribution: ForceDistribution,
        settings: ControlSettings,
        layout: Layout,
    ) -> InternalChoice | None:
        """Return what settings ask for; None where there is nothing to choose."""
        force = settings.internal_force
        if force.may_slip or not (force.max_internal_force_correction_n > 0.0 and layout.internal):
            return None
        squeeze = Squeeze(
            system.contacts, distribution, force.margin_n, names=system.tools, length=system.length
        )
        late = 1 + settings.command_delay_periods
        return cls(
            squeeze, layout.reference, force.max_internal_force_correction_n, settings.period, late
        )

    def begin(self) -> None:
        """Forget what was added."""
        self.added = self._nothing
        self._before: deque[Array] = deque([self.added] * self._late, maxlen=self._late)
        self._room: GripRoom | None = None
        self._idle = not self._squeeze.slips

    @property
    def idle(self) -> bool:
        """Whether nothing was added, and no contact asks for anything: rows stay as they are."""
        return self._idle

    def row(self, row: Array, asked: Array) -> Array:
        """Return a row (w,) with the internal force that contacts need for a wrench (6,)."""
        if self.added is not self._nothing or self._squeeze.slips:
            planned = row[self._own]
            self.added = self._held(asked, planned, self._faded(planned))
        return self._with_added(row)

    def row_within(self, row: Array, step: HybridStep, effort: Array) -> Array | None:
        """Return a row with which efforts (na,) let through more of what a step holds back.

        None if they let through all of it, or if no internal force within the correction limit
        lets through all of it: what was added stays then. What it takes comes at a bounded rate.

        Args:
            row: As planned (w,).
            step: Of the row that was made of it.
            effort: Largest torques.
        """
        if step.fits:
            return None
        planned, correction_limit = row[self._own], CorrectionLimit(row[self._own], self._most)
        room = self._left(step, effort)
        found = self._squeeze.in_loop(
            step.desired_wrench, planned + self.added, room, correction_limit
        )
        if found is None:
            return None
        change = found - planned - self.added
        part = self._squeeze.part_within(np.zeros_like(change), change, self._change)
        added = self.added + part * change
        # On the way contacts hold as at both of its ends, if they do at the first for this wrench.
        self.added = added if part == 1.0 else self._held(step.desired_wrench, planned, added)
        return self._with_added(row)

    def remember(self, step: HybridStep, effort: Array) -> None:
        """Keep what was added in this period, and what efforts (na,) left for it.

        Args:
            step: That is sent, with the row that it was made of.
            effort: Largest torques.
        """
        self._before.append(self.added)
        self._room = None if self.added is self._nothing else self._left(step, effort)
        self._idle = not self._squeeze.slips and all(one is self._nothing for one in self._before)

    def _left(self, step: HybridStep, effort: Array) -> GripRoom:
        """Return what efforts leave for internal forces if all of a step's task is let through."""
        least, most = step.torque_range
        return GripRoom(step.internal_force_torques, -effort - least, effort - most)

    def _faded(self, planned: Array) -> Array:
        """Return what was added, less what goes in a period if limits did not rule without it."""
        if self.added is self._nothing:
            return self.added
        faded = self._keep * self.added
        if self._room is not None and not self._room.allows(planned + faded):
            return self.added
        return faded if self._squeeze.size(faded) > _NONE else self._nothing

    def _held(self, asked: Array, planned: Array, wish: Array) -> Array:
        """Return what is to be added, nearest to a wish, so that contacts hold for a wrench."""
        if not self._squeeze.slips:
            return wish
        wished = planned if wish is self._nothing else planned + wish
        found = self._squeeze.in_loop(asked, wished, None, CorrectionLimit(planned, self._most))
        if found is wished:
            return wish
        if found is not None:
            return found - planned
        found = self._squeeze.in_loop(asked, planned + self.added)
        if found is None:
            return self.added
        # More than the correction limit is needed. Towards what holds no contact loses what it
        # has.
        change = found - planned - self.added
        return self.added + change * self._squeeze.part_within(self.added, change, self._most)

    def _with_added(self, row: Array) -> Array:
        if self.added is self._nothing and self._before[0] is self._nothing:
            return row
        row = row.copy()
        row[self._own] += self.added
        row[self._compared] += self._before[0]
        return row


def holding_force(plan: HasRows, system: HybridSystem, at: Mapping[str, slice]) -> Array:
    """Return the internal force (m,) that contacts which only push need from the start.

    Args:
        plan: What is to be done.
        system: Arms, object, contacts and surfaces.
        at: Where forces stand in a row; see `Layout.reference`.
    """
    wanted = np.asarray(plan.rows(np.zeros(1))[0, at["internal"]])
    pushing = any(contact.limits is not None for contact in system.contacts)
    return wanted if pushing else np.zeros_like(wanted)
