# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Takes references while control runs: checks them, and hands them to the law when they are good.

What is refused changes nothing: the object goes on with what it was doing. A path whose last point
moves asks for a continuation; if none comes, it comes to rest, and the reference is lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.faults import Cause, Finding
from robot_dynamics.control.protocol import FollowingLaw, LawStep
from robot_dynamics.control.proximity import Proximity
from robot_dynamics.control.reference import FORCE
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.control.streamed.reach_check import ReachCheck
from robot_dynamics.control.streamed.trajectory import (
    HALT_S,
    LONGEST_S,
    ObjectTrajectory,
    TrajectoryError,
)
from robot_dynamics.control.streamed.transition import Plan, WithForces, distance_between
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.manipulation.system import GraspSystem

Array = NDArray[np.float64]

_POINTS = 2  # of a path that are looked at in a control period; each takes a few tenths of a ms


class _Candidate:
    """A trajectory that has come, and is being looked at."""

    def __init__(self, path: ObjectTrajectory, begin: float | None) -> None:
        # When its time 0 is, on the steady clock [s]; None for when it is found good.
        self.path, self.begin = path, begin
        self.check: ReachCheck | None = None


class ReferenceIntake:
    """What comes for a law while it runs.

    Attributes:
        refusal: Why the last one was refused; empty if it was not.
        taken: Number of references that are followed or were.

    Args:
        law: The law.
        system: Arms and object.
        settings: Limits.
        terms: `Robot.constraint_terms` of the system's model.
        proximity: Watches the links.
        period: Control period [s].
    """

    def __init__(
        self,
        law: FollowingLaw,
        system: GraspSystem,
        settings: SafetySettings,
        terms: Any,
        proximity: Proximity,
        period: float,
    ) -> None:
        self._period = period
        self._law, self._system, self._settings = law, system, settings
        self._terms, self._proximity = terms, proximity
        self.begin()

    def begin(self) -> None:
        """Forget everything: control starts, with the reference of its own."""
        self.refusal = ""
        self.taken = 0
        self._candidate: _Candidate | None = None
        self._waiting: _Candidate | None = None
        self._path: Plan | None = None  # what is followed; None for the law's own reference
        self._path_began = 0.0
        self._forces: Array | None = None  # what is wanted; None for those that are followed
        self._forces_new = False
        self._lost_at: float | None = None

    def take_path(
        self,
        now: float,
        times: ArrayLike,
        poses: ArrayLike,
        twists: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        *,
        late: float | None = None,
    ) -> None:
        """Take a trajectory of the object; it is followed when it has been looked at.

        One that comes while another is looked at waits for it, in the place of others that wait.

        Args:
            now: The present time on a steady clock [s].
            times: See `ObjectTrajectory`, as are the others.
            poses: Poses.
            twists: Twists.
            accelerations: Accelerations.
            late: How long ago its time 0 was [s], negative if it has yet to come; it is when the
                trajectory begins to be followed by default.

        Raises:
            TrajectoryError: If it is refused at once.
        """
        try:
            path = ObjectTrajectory(times, poses, twists, accelerations)
            stale = self._settings.reference_stale_after_s
            if late is not None and not -LONGEST_S <= late <= max(stale, path.duration):
                raise TrajectoryError(
                    f"its time is {late:.3g} s ago, expected at most {stale:g} s, or less than "
                    "it takes."
                )
        except TrajectoryError as error:
            self.refusal = str(error)
            raise
        candidate = _Candidate(path, None if late is None else now - late)
        if self._candidate is None:
            self._candidate = candidate
        else:
            self._waiting = candidate

    def take_internal_force(self, values: ArrayLike, step: LawStep) -> None:
        """Take an internal force, as a row of the law's reference has it (m,) [N m, N].

        Raises:
            TrajectoryError: If it is refused.
        """
        self._take_force("internal", np.asarray(values, dtype=float), step)

    def take_contact_force(self, surface: str, force: float, step: LawStep) -> None:
        """Take the force by the object on a surface [N]; pressing only.

        Raises:
            TrajectoryError: If it is refused.
            UnknownNameError: If there is no such surface.
        """
        surfaces = self._law.surfaces
        if surface not in surfaces:
            self.refusal = str(UnknownNameError("surface", surface, surfaces))
            raise UnknownNameError("surface", surface, surfaces)
        values = self._wanted(step)[self._law.force_columns["contact"]].copy()
        values[surfaces.index(surface)] = force
        if force < 0.0:
            self._refuse(f"a force of {force:g} N pulls at a surface; expected at least 0 N.")
        self._take_force("contact", values, step)

    def advance(self, now: float, tick: int, q: Array, step: LawStep) -> None:
        """Look at what has come, and let the law follow it when it is good.

        Args:
            now: The present time on a steady clock [s].
            tick: Control periods since the start.
            q: Positions of the arm joints (na,).
            step: What the law has just done.
        """
        candidate = self._candidate
        if candidate is not None:
            try:
                self._look_at(candidate, now, q, step)
            except TrajectoryError as error:
                self.refusal = str(error)
                self._go_on()
                candidate = None
        good = candidate is not None and candidate.check is not None and candidate.check.done
        if candidate is not None and good:
            self._go_on()
            self._path = candidate.path
            self._path_began = now if candidate.begin is None else candidate.begin
            self._lost_at = None
            if candidate.path.moving_end:
                end = self._path_began + candidate.path.duration - HALT_S
                self._lost_at = max(end, now) + self._settings.reference_stale_after_s
        if good or self._forces_new:
            self._forces_new = False
            self._law.follow(self._plan(now, tick, step), tick)
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

    def _look_at(self, candidate: _Candidate, now: float, q: Array, step: LawStep) -> None:
        settings = self._settings
        if candidate.check is None:
            delay = 0.0 if candidate.begin is None else candidate.begin - now
            plan = WithForces(candidate.path, (), delay)
            moved, turned = distance_between(plan.rows([0.0])[0], step.reference)
            if not (moved <= settings.tracking_limit_m and turned <= settings.tracking_limit_rad):
                raise TrajectoryError(
                    f"it begins {moved:.3g} m and {turned:.3g} rad from where the object is to be "
                    f"now, expected at most {settings.tracking_limit_m:g} m and "
                    f"{settings.tracking_limit_rad:g} rad."
                )
            candidate.check = ReachCheck(
                self._system, settings, self._terms, self._proximity, plan, q
            )
        candidate.check.advance(_POINTS)

    def _go_on(self) -> None:
        """Look at what has come meanwhile, next time."""
        self._candidate, self._waiting = self._waiting, None

    def _plan(self, now: float, tick: int, step: LawStep) -> Plan:
        """Return path and forces that are wanted, from now on."""
        if self._path is not None:
            return WithForces(self._path, self._wanted(step), self._path_began - now)
        gone = max(tick - self._law.ramp_ticks, 0) * self._period
        return WithForces(self._law.reference, self._wanted(step), -gone)

    def _wanted(self, step: LawStep) -> Array:
        """Return the forces that are wanted: the last ones given, else those that are followed."""
        return step.reference[FORCE] if self._forces is None else self._forces

    def _take_force(self, kind: str, values: Array, step: LawStep) -> None:
        own = self._law.force_columns[kind]
        wanted = self._wanted(step).copy()
        if values.shape != wanted[own].shape:
            self._refuse(f"{values.size} components, expected {wanted[own].size}.")
        largest = self._settings.wrench_limit_n
        if not (np.abs(values) <= largest).all():
            self._refuse(
                f"a force of {values.tolist()}; expected finite ones up to {largest:g} N."
            )
        wanted[own] = values
        touched = self._law.force_columns.get("wanted")
        if kind == "contact" and touched is not None:
            wanted[touched] = values > 0.0
        self._forces, self._forces_new = wanted, True

    def _refuse(self, sentence: str) -> None:
        self.refusal = str(TrajectoryError(sentence))
        raise TrajectoryError(sentence)
