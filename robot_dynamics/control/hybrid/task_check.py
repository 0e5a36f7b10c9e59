# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Check of a plan against contacts and surfaces; each problem has its place and time.

How the arms follow the plan is checked by `control.path_check`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.hybrid.planned_forces import (
    object_motion,
    planned_wrenches,
)
from robot_dynamics.control.hybrid.surface_check import (
    Grip,
    SurfaceRow,
    SurfaceTolerances,
    coordinate_problems,
    slipping_pushes,
    surface_problems,
)
from robot_dynamics.control.path_check import PathProblem, PreflightError
from robot_dynamics.control.reference import Plan, row_columns
from robot_dynamics.manipulation.hybrid import (
    ForceDistribution,
    HybridSystem,
    contact_margins,
    require_closure,
)
from robot_dynamics.wording import apart

_ROUNDING = 1e-6  # of margins [N]
_SPACING_S = 0.05  # between points of a plan that comes while control runs, more on a long one
_FEWEST, _MOST = 2, 40


class TaskOptions(NamedTuple):
    """Limits of an acceptable task.

    Attributes:
        margin: Distance to its cone that each contact must keep on the plan [N].
        may_slip: Whether contacts that will slip only give a warning.
        surfaces: Names and kinds of the surfaces' functions; all pushed and numbered by default.
        grips: Surfaces to which the object must stick, by name.
        closure: Whether the contacts alone must be able to hold the object against any wrench.
            They need not if a surface holds it as well; then the plan decides.
        tolerances: Tolerances of the path's distance from surfaces.
    """

    margin: float = 0.0
    may_slip: bool = False
    surfaces: Sequence[SurfaceRow] = ()
    grips: Mapping[str, Grip] = MappingProxyType({})
    closure: bool = True
    tolerances: SurfaceTolerances = SurfaceTolerances()


class TaskCheck(NamedTuple):
    """Result of the check of a task.

    Attributes:
        problems: Parts that contacts and surfaces cannot do.
        margins: Margin of each contact to its cone (N, k) [N].
        warnings: Sentences about contacts that slip, if they may.
    """

    problems: tuple[PathProblem, ...]
    margins: Array
    warnings: tuple[str, ...]


def check_task(
    system: HybridSystem,
    distribution: ForceDistribution,
    times: Array,
    rows: Array,
    options: TaskOptions | None = None,
) -> TaskCheck:
    """Return the parts of a plan that contacts and surfaces cannot do.

    Args:
        system: Arms, object, contacts and surfaces.
        distribution: Sharing of forces, and internal forces.
        times: Checked times (N,) [s].
        rows: Rows of the plan (N, 19 + 2 C + m).
        options: Limits.

    Raises:
        RobotDynamicsError: If the grasp cannot hold the object at all.
        PreflightError: If the plan has values that are not finite.
    """
    chosen = options or TaskOptions()
    if chosen.closure:
        require_closure(system.contacts, system.length, system.tools)
    else:
        system.require_force_closure()
    if not np.all(np.isfinite(rows)):
        k = int(np.argmax(~np.isfinite(rows).all(axis=1)))
        sentence = "the reference has values that are not finite, expected numbers."
        raise PreflightError([PathProblem(float(times[k]), "", sentence)])
    motion = object_motion(rows, system.held.center)
    problems = [
        *surface_problems(
            system.environment, times, rows, motion, chosen.surfaces, chosen.tolerances
        ),
        *coordinate_problems(system.environment, times, motion),
    ]
    margins = _planned_margins(system, distribution, rows)
    slipping = [
        *slipping_contacts(system, times, margins, chosen.margin),
        *slipping_pushes(chosen.grips, times, rows, len(system.environment.surfaces)),
    ]
    if not chosen.may_slip:
        return TaskCheck((*problems, *slipping), margins, ())
    warnings = tuple(f"at {one.time:.2f} s: {one.sentence}" for one in slipping)
    return TaskCheck(tuple(problems), margins, warnings)


def _planned_margins(system: HybridSystem, distribution: ForceDistribution, rows: Array) -> Array:
    """Return the margin of each contact to its cone on a plan (N, k) [N]."""
    inside = rows[
        :, row_columns(len(system.environment.surfaces), len(distribution.names))["internal"]
    ]
    forces = distribution.contact_forces(planned_wrenches(system, rows), inside)
    return contact_margins(system.contacts, forces)


def slipping_contacts(
    system: HybridSystem, times: Array, margins: Array, least: float
) -> Iterator[PathProblem]:
    """Yield contacts of arms whose margins (N, k) come down below the least that is expected."""
    for i, tool in enumerate(system.tools):
        # Written so that a NaN counts as slip.
        short = ~(margins[:, i] >= least - _ROUNDING)
        if short.any():
            k, margin = int(np.argmax(short)), float(margins[:, i].min())
            left, expected = apart(margin, least)
            does = "would slip or open" if margin < 0.0 else "would be near to slipping"
            yield PathProblem(
                float(times[k]),
                tool,
                f"the contact of {tool!r} {does}: its margin comes down to {left} N, expected "
                f"at least {expected} N; squeeze harder or move more gently.",
            )


class ContactCheck:
    """Checks a streamed plan for slip and surfaces, a few points at a time.

    Reach and joints are checked elsewhere; see `streamed.reach_check`.

    Args:
        system: Arms, object, contacts and surfaces.
        distribution: Sharing of forces, and internal forces.
        plan: Plan of the object.
        options: Limits.
    """

    def __init__(
        self,
        system: HybridSystem,
        distribution: ForceDistribution,
        plan: Plan,
        options: TaskOptions,
    ) -> None:
        self._system, self._distribution, self._options = system, distribution, options
        count = min(_MOST, max(_FEWEST, int(np.ceil(plan.duration / _SPACING_S)) + 1))
        self._times = np.linspace(0.0, plan.duration, count)
        self._rows = plan.rows(self._times)
        self._next, self._placed = 0, False

    @property
    def done(self) -> bool:
        """Whether all points, and the path's place by the surfaces, have been looked at."""
        return self._placed

    def advance(self, points: int) -> None:
        """Check the next block of points; at the end, the path against the surfaces.

        Raises:
            PreflightError: If contacts would slip, or surfaces cannot meet the plan.
        """
        if self._next < len(self._times):
            part = slice(self._next, self._next + points)
            self._refuse(self._slips(part))
            self._next += points
            return
        motion = object_motion(self._rows, self._system.held.center)
        self._refuse(
            surface_problems(
                self._system.environment, self._times, self._rows, motion, self._options.surfaces
            )
        )
        self._placed = True

    def _slips(self, part: slice) -> Iterator[PathProblem]:
        if self._options.may_slip:
            return
        system, times, rows = self._system, self._times[part], self._rows[part]
        margins = _planned_margins(system, self._distribution, rows)
        yield from slipping_contacts(system, times, margins, self._options.margin)
        C = len(system.environment.surfaces)
        yield from slipping_pushes(self._options.grips, times, rows, C)

    @staticmethod
    def _refuse(problems: Iterator[PathProblem]) -> None:
        found = list(problems)
        if found:
            raise PreflightError(found)
