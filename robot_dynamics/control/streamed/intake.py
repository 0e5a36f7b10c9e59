# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Intake of references while control runs: checks them, and passes good ones to the law.

A refused reference changes nothing. A path whose last point moves needs a continuation; without
one the object comes to rest, and the reference is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.control.abilities import PlanCheck, TakesReferences, TouchesSurfaces
from robot_dynamics.control.control_law import LawStep
from robot_dynamics.control.faults import Cause, Finding
from robot_dynamics.control.link_distance import Proximity
from robot_dynamics.control.reference import FORCE, Plan
from robot_dynamics.control.rotation_path import distance_between
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.control.streamed.reach_check import ReachCheck
from robot_dynamics.control.streamed.trajectory import (
    HALT_S,
    LONGEST_S,
    ObjectTrajectory,
    TrajectoryError,
    WithForces,
)
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.manipulation.system import GraspSystem

_POINTS = 2  # of a path that are looked at in a control period; each takes a few tenths of a ms


class _Candidate:
    """A trajectory under check."""

    def __init__(self, path: ObjectTrajectory, begin: float | None, number: int) -> None:
        # Its time 0 on the steady clock [s]; None for the time at which it is accepted.
        self.path, self.begin, self.number = path, begin, number
        self.checks: list[PlanCheck] = []


class _Forces:
    """Forces under check, on the path that is followed."""

    def __init__(self, changes: Array, number: int) -> None:
        self.changes = changes  # of a row's forces; NaN where nothing changes
        self.number = number
        self.checks: list[PlanCheck] = []
        self.begun = False


class ReferenceIntake:
    """References for a law that runs.

    Attributes:
        refusal: Reason for which the last one was refused; empty if it was not.
        taken: Number of references that are followed or were.
        came: Number of references that came.

    Args:
        law: The law.
        system: Arms and object.
        settings: Limits.
        terms: `Robot.constraint_terms` of the system's model.
        proximity: Watches the links.
        control: Control period and start ramp.
    """

    def __init__(
        self,
        law: TakesReferences,
        system: GraspSystem,
        settings: SafetySettings,
        terms: Any,
        proximity: Proximity,
        control: ControlSettings,
    ) -> None:
        self._period, self._ramp_ticks = control.period, control.ramp_ticks
        self._law, self._system, self._settings = law, system, settings
        self._surfaces = law.surfaces if isinstance(law, TouchesSurfaces) else {}
        self._width = max((part.stop for part in law.force_columns.values()), default=0)
        self._terms, self._proximity = terms, proximity
        self.begin()

    def begin(self) -> None:
        """Forget everything: control starts, with the law's own reference."""
        self.refusal = ""
        self.taken = 0
        self.came = self._refused = 0  # numbers of the last reference, and of the last refused one
        # Either a path or forces are checked at a time; others wait.
        self._looked_at: _Candidate | _Forces | None = None
        self._waiting_path: _Candidate | None = None
        self._waiting_forces: Array | None = None  # changes, as of `_Forces`
        self._forces_number = 0  # of the last of them
        self._path_was_last = False
        self._path: Plan | None = None  # followed path; None for the law's own reference
        self._path_began = 0.0
        self._forces = np.full(self._width, np.nan)  # given forces of a row; NaN for others
        self._held = np.full(self._width, np.nan)  # other forces, on a path without forces
        self._lost_at: float | None = None

    def take_path(self, now: float, path: ObjectTrajectory, *, late: float | None = None) -> None:
        """Take a trajectory of the object; it is followed when it has been checked.

        A trajectory that comes during the check of another one replaces any that waits.

        Args:
            now: Current time on a steady clock [s].
            path: The trajectory.
            late: Time since its time 0 [s], negative if that is in the future; by default its time
                0 is when the law begins to follow it.

        Raises:
            TrajectoryError: If it is refused at once.
        """
        stale = self._settings.reference_stale_after_s
        if late is not None and not -LONGEST_S <= late <= max(stale, path.duration):
            self._refuse(
                f"its time is {late:.3g} s ago, expected at most {stale:g} s, or less than it "
                "takes."
            )
        self.came += 1
        self._waiting_path = _Candidate(path, None if late is None else now - late, self.came)

    def refuse(self, sentence: str) -> None:
        """Note that the last reference was refused, and the reason."""
        self.came += 1
        self._refused, self.refusal = self.came, sentence

    def take_internal_force(self, wrench: ArrayLike) -> None:
        """Take an internal force.

        Args:
            wrench: In the middle between the grasps (6,) [N m, N]; see
                `TakesReferences.internal_forces`.

        Raises:
            TrajectoryError: If it is refused.
        """
        given = np.asarray(wrench, dtype=float)
        self._require_fit(given, 6)
        forces = self._named(self._law.internal_forces, given)
        self._take({"internal": (slice(None), forces)})

    def take_contact_force(self, surface: str, wrench: ArrayLike, step: LawStep) -> None:
        """Take the force by the object on a surface that it touches.

        Args:
            surface: The surface's name.
            wrench: Moment and force on it, in its frame (6,).
            step: The last step of the law.

        Raises:
            RobotDynamicsError: If it is refused.
        """
        law, own = self._law, self._on(surface)
        assert isinstance(law, TouchesSurfaces)  # it has the surface
        values = np.asarray(wrench, dtype=float)
        self._require_fit(values, 6)
        if not self._wanted(step)[law.force_columns["touch"]][own].any():
            self._refuse(
                f"a force on {surface!r}, which is not to be touched; expected it among the "
                "surfaces to be touched first."
            )
        forces = self._named(lambda given: law.contact_forces(surface, given), values)
        self._take({"contact": (own, forces)})

    def take_surfaces(self, names: Iterable[str], step: LawStep) -> None:
        """Take the surfaces to touch from now on; all others are left.

        A new surface begins without force.

        Args:
            names: Of the surfaces.
            step: The last step of the law.

        Raises:
            RobotDynamicsError: If there is no such surface.
        """
        law, slices = self._law, [self._on(name) for name in names]
        if not self._surfaces:
            self._refuse("surfaces to be touched; the control law knows of none.")
        wanted = self._wanted(step)
        before = wanted[law.force_columns["touch"]] > 0.0
        after = np.zeros(len(before), dtype=bool)
        for own in slices:
            after[own] = True
        forces = np.where(after & before, wanted[law.force_columns["contact"]], 0.0)
        every = slice(None)
        self._take({"touch": (every, after.astype(float)), "contact": (every, forces)})

    def advance(self, now: float, tick: int, q: Array, step: LawStep) -> None:
        """Check a part of a reference, and let the law follow it when all of it is good.

        Args:
            now: Current time on a steady clock [s].
            tick: Control periods since the start.
            q: Positions of the arm joints (na,).
            step: The last step of the law.
        """
        if self._looked_at is None:
            self._looked_at = self._next()
        candidate = self._looked_at
        if candidate is None:
            return
        try:
            if isinstance(candidate, _Forces):
                self._begin_forces(candidate, now, tick)
            else:
                self._begin_path(candidate, now, tick, q, step)
            _look_further(candidate.checks)
        except RobotDynamicsError as error:
            if candidate.number > self._refused:
                self._refused, self.refusal = candidate.number, str(error)
            self._looked_at = None
            return
        if not all(check.done for check in candidate.checks):
            return
        self._looked_at = None
        if isinstance(candidate, _Forces):
            self._forces = _changed(self._forces, candidate.changes)
        else:
            self._path = candidate.path
            self._path_began = now if candidate.begin is None else candidate.begin
            self._held = self._followed(step)
            self._lost_at = None
            if candidate.path.moving_end:
                end = self._path_began + candidate.path.duration - HALT_S
                self._lost_at = max(end, now) + self._settings.reference_stale_after_s
        self._law.follow(self._plan(now, tick, self._forces), tick)
        if candidate.number > self._refused:  # a later one may have been refused before
            self.refusal = ""
        self.taken += 1

    def lost(self, now: float) -> Finding | None:
        """Return that the stream of trajectories has ended in motion, if it has."""
        if self._lost_at is None or now <= self._lost_at:
            return None
        return Finding(
            Cause.REFERENCE_LOST,
            "object/reference_trajectory",
            "the last trajectory ended in motion, and none has come that continues it; expected "
            f"one within {self._settings.reference_stale_after_s:g} s.",
        )

    def _next(self) -> _Candidate | _Forces | None:
        """Return the next reference to check; path and forces take turns."""
        path, forces = self._waiting_path, self._waiting_forces
        if path is not None and (forces is None or not self._path_was_last):
            self._waiting_path, self._path_was_last = None, True
            return path
        if forces is None:
            return None
        self._waiting_forces, self._path_was_last = None, False
        return _Forces(forces, self._forces_number)

    def _begin_forces(self, new: _Forces, now: float, tick: int) -> None:
        if not new.begun:
            new.begun = True
            plan = self._plan(now, tick, _changed(self._forces, new.changes))
            new.checks = list(self._law.plan_checks(plan))

    def _begin_path(self, new: _Candidate, now: float, tick: int, q: Array, step: LawStep) -> None:
        if new.checks:
            return
        settings = self._settings
        delay = 0.0 if new.begin is None else new.begin - now
        plan = WithForces(new.path, _changed(self._followed(step), self._forces), delay)
        moved, turned = distance_between(plan.rows([0.0])[0], step.reference)
        if not (moved <= settings.tracking_limit_m and turned <= settings.tracking_limit_rad):
            raise TrajectoryError(
                f"it begins {moved:.3g} m and {turned:.3g} rad from where the object is to be "
                f"now, expected at most {settings.tracking_limit_m:g} m and "
                f"{settings.tracking_limit_rad:g} rad."
            )
        new.checks = [
            ReachCheck(
                self._system,
                settings,
                self._terms,
                self._proximity,
                self._law.bodies(plan, tick),
                q,
                self._law.grasp.contacts,
            ),
            *self._law.plan_checks(plan),
        ]

    def _plan(self, now: float, tick: int, forces: Array) -> Plan:
        """Return path and forces that are wanted, from now on."""
        if self._path is not None:
            forces = _changed(self._held, forces)
            return WithForces(self._path, forces, self._path_began - now)
        gone = max(tick - self._ramp_ticks, 0) * self._period
        return WithForces(self._law.reference, forces, -gone)

    def _followed(self, step: LawStep) -> Array:
        """Return the forces that are followed, or were to be held."""
        return _changed(step.reference[FORCE][: self._width], self._held)

    def _wanted(self, step: LawStep) -> Array:
        """Return the requested forces: the last ones received, else the followed ones."""
        wanted = _changed(self._followed(step), self._forces)
        if isinstance(self._looked_at, _Forces):
            wanted = _changed(wanted, self._looked_at.changes)
        return wanted if self._waiting_forces is None else _changed(wanted, self._waiting_forces)

    def _on(self, surface: str) -> slice:
        """Return the slice of the forces on a surface."""
        slices = self._surfaces
        if surface not in slices:
            error = UnknownNameError("surface", surface, slices)
            self.refuse(str(error))
            raise error
        return slices[surface]

    def _require_fit(self, values: Array, size: int) -> None:
        if values.shape != (size,):
            self._refuse(f"{values.size} components, expected {size}.")
        largest = self._settings.wrench_limit_n
        if not (np.abs(values) <= largest).all():
            self._refuse(
                f"a force of {values.tolist()}; expected finite ones up to {largest:g} N."
            )

    def _named(self, forces: Callable[[Array], Array], wrench: Array) -> Array:
        try:
            return forces(wrench)
        except RobotDynamicsError as error:
            self._refuse(str(error))

    def _take(self, parts: Mapping[str, tuple[slice, Array]]) -> None:
        """Take parts of a row's forces; they are checked with those that already wait."""
        self.came += 1
        self._forces_number = self.came
        if self._waiting_forces is None:
            self._waiting_forces = np.full(self._width, np.nan)
        for kind, (own, given) in parts.items():
            self._waiting_forces[self._law.force_columns[kind]][own] = given

    def _refuse(self, sentence: str) -> NoReturn:
        error = TrajectoryError(sentence)
        self.refuse(str(error))
        raise error


def _look_further(checks: Iterable[PlanCheck]) -> None:
    """Look at some more points of the first of the checks that are not done."""
    for check in checks:
        if not check.done:
            check.advance(_POINTS)
            return


def _changed(forces: Array, changes: Array) -> Array:
    """Return forces with changes; a NaN in the changes keeps the old value."""
    return np.where(np.isnan(changes), forces, changes)
