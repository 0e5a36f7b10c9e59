# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether contacts and surfaces bear a plan that comes while control runs, a little at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.hybrid.planned_forces import (
    Columns,
    object_motion,
    planned_wrenches,
)
from robot_dynamics.control.hybrid.surface_check import (
    Grip,
    SurfaceRow,
    slipping_pushes,
    surface_problems,
)
from robot_dynamics.control.hybrid.task_check import Plan, slipping_contacts
from robot_dynamics.control.preflight import PreflightError, Problem
from robot_dynamics.manipulation.hybrid import ForceDistribution, HybridSystem, contact_margins

Array = NDArray[np.float64]

_SPACING_S = 0.05  # between points that are looked at, or more on a long path
_FEWEST, _MOST = 2, 40


class ContactCheck:
    """Looks for slip, and for what a plan wants of surfaces that they cannot give.

    Reach and joints are looked at elsewhere; see `streamed.reach_check`.

    Args:
        system: Arms, object, contacts and surfaces.
        distribution: Sharing of forces, and internal forces.
        plan: What is to be done.
        margin: Distance to its cone that each contact is to keep [N]; -infinity if it may slip.
        surfaces: What the surfaces' functions are called, and which are pushed on.
        grips: Where the object is to stick to surfaces, by name.
    """

    def __init__(
        self,
        system: HybridSystem,
        distribution: ForceDistribution,
        plan: Plan,
        *,
        margin: float,
        surfaces: Sequence[SurfaceRow],
        grips: Mapping[str, Grip],
    ) -> None:
        self._system, self._distribution, self._margin = system, distribution, margin
        self._surfaces, self._grips = surfaces, grips
        count = min(_MOST, max(_FEWEST, int(np.ceil(plan.duration / _SPACING_S)) + 1))
        self._times = np.linspace(0.0, plan.duration, count)
        self._rows = plan.rows(self._times)
        self._next, self._placed = 0, False

    @property
    def done(self) -> bool:
        """Whether all points, and the path's place by the surfaces, have been looked at."""
        return self._placed

    def advance(self, points: int) -> None:
        """Look at some more points; at last at the path's place by the surfaces.

        Raises:
            PreflightError: If contacts would slip, or surfaces do not give what is wanted.
        """
        if self._next < len(self._times):
            part = slice(self._next, self._next + points)
            self._refuse(self._slips(part))
            self._next += points
            return
        motion = object_motion(self._rows, self._system.held.center)
        self._refuse(
            surface_problems(
                self._system.environment, self._times, self._rows, motion, self._surfaces
            )
        )
        self._placed = True

    def _slips(self, part: slice) -> Iterator[Problem]:
        system, times, rows = self._system, self._times[part], self._rows[part]
        C = len(system.environment.surfaces)
        wrenches = planned_wrenches(system, rows)
        forces = self._distribution.contact_forces(wrenches, rows[:, Columns.of(C).internal])
        margins = contact_margins(system.contacts, forces)
        yield from slipping_contacts(system, times, margins, self._margin)
        if np.isfinite(self._margin):
            yield from slipping_pushes(self._grips, times, rows, C)

    @staticmethod
    def _refuse(problems: Iterator[Problem]) -> None:
        found = list(problems)
        if found:
            raise PreflightError(found)
