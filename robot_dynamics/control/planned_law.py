# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Base class of laws for a held object: plan, streamed references, start check, gain changes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.abilities import FollowsPlan, TakesReferences, TunesGains
from robot_dynamics.control.control_law import ObjectPlan
from robot_dynamics.control.followed import FollowedRows
from robot_dynamics.control.gain_ramp import RAMP_S, GainRamp, with_gains
from robot_dynamics.control.gains import check_gains
from robot_dynamics.control.path_check import PathCheck, path_times
from robot_dynamics.control.reference import FORCE
from robot_dynamics.control.resume import Resumed, ResumeError, Way, nearest_time
from robot_dynamics.control.rollout import Rollout
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.control.start_check import check_start
from robot_dynamics.manipulation.system import GraspSystem


class PlannedLaw(TakesReferences, FollowsPlan, TunesGains):
    """A control law that follows a plan, and references that take over from it.

    Args:
        system: Arms and object according to the model.
        settings: Rate, servos and start.
        safety: Limits of torque and of its rate.
        reference: Plan of the object.
        row_columns: Columns of its rows; see `reference.row_columns`.
        ahead: Time from a measurement to the middle of the action of its command [s].

    Attributes:
        plan: Plan of the object; `reference` is another one after `choose_start`.
        settings: Settings with the present gains.
        safety: Limits of torque and of its rate.
        period: Control period [s].
        ramp_ticks: Number of control periods over which the task ramps in.
        row_columns: Columns of a row of the reference.

    Raises:
        GainError: If the sampled loop with its delay is unstable with the gains.
    """

    def __init__(
        self,
        system: GraspSystem,
        settings: ControlSettings,
        safety: SafetySettings,
        reference: ObjectPlan,
        row_columns: Mapping[str, slice],
        ahead: float,
    ) -> None:
        check_gains(settings)
        self.system, self.settings, self.safety = system, settings, safety
        self.plan = self.reference = self._ran = reference
        self.row_columns = row_columns
        self.period = settings.period
        self.ramp_ticks = settings.ramp_ticks
        self._followed = FollowedRows(
            self.bodies(reference, 0),
            row_columns,
            self.period,
            begin=self.ramp_ticks,
            delay=settings.command_delay_periods,
            ahead=ahead,
            blend_s=settings.blend_s,
        )
        self._retuning: GainRamp | None = None

    @property
    def ticks(self) -> int:
        """Number of control periods of start and reference together."""
        return self._followed.last

    @property
    def internal_columns(self) -> slice:
        """Columns of the internal force in a row of the plan."""
        return self.row_columns["internal"]

    @property
    def force_columns(self) -> dict[str, slice]:
        """Columns of forces among a row's columns of `FORCE`."""
        at, first = self.row_columns, FORCE.start
        return {
            name: slice(at[name].start - first, at[name].stop - first)
            for name in ("contact", "touch", "internal")
            if at[name].stop > at[name].start
        }

    def check_start(self, q: Array, qd: Array) -> None:
        """Refuse a start from afar or from motion; see `start_check.check_start`."""
        check_start(self.system, self.settings.start, self.reference.start, q, qd)

    def check_path(self, q: Array) -> Rollout:
        """Refuse a plan that cannot be followed from positions `q` (na,); return the motion."""
        return self.checked_path(q).rollout

    @abstractmethod
    def checked_path(self, q: Array, terms: Any = None) -> PathCheck:
        """Return the margins of the plan to each limit, from positions `q` (na,).

        Args:
            q: Positions of the arm joints at the start (na,).
            terms: `Robot.constraint_terms` of the system, if the caller has it already.

        Raises:
            PreflightError: If grasp, surfaces or arms cannot follow the plan.
        """

    def choose_start(self, way: Way, q: Array, tick: int) -> None:
        """Choose how the next start begins; see `FollowsPlan.choose_start`."""
        reference = self.plan
        if way != "start":
            reference = self._resumed(way, q, max(tick - self.ramp_ticks, 0) * self.period)
        if reference is not self.reference:
            self._begin_with(reference)

    def _resumed(self, way: Way, q: Array, ran_for: float) -> Resumed:
        """Return the plan, taken up from where arms at `q` (na,) hold the object."""
        plan, ran, backwards = self.plan, self._ran, way == "put_down"
        near = float(ran.path_time(ran_for)) if isinstance(ran, Resumed) else ran_for
        poses = np.array(self._poses(q))
        start, bodies = self.settings.start, self.bodies(plan, 0)
        time = nearest_time(bodies, plan.duration, poses, start, near)
        if backwards:
            times = path_times(time)
            touches = plan.rows(times)[:, self.row_columns["touch"]]
            changes = np.flatnonzero((touches != touches[:1]).any(axis=1))
            if len(changes):  # hinges and lines, which hold the object throughout, do not count
                raise ResumeError(
                    "put_down refused: on the way back the object would touch or leave a surface, "
                    f"as the reference does at {times[changes[0]]:.3g} s; expected a resume, or a "
                    "reference from a topic."
                )
        return Resumed(plan, poses[0], time, self.settings.resume, backwards=backwards)

    @abstractmethod
    def _poses(self, q: Array) -> Sequence[Array]:
        """Return the poses (7,) of the object's bodies where arms at `q` (na,) hold it."""

    def _near_posture(self, q: Array) -> Array:
        """Return the posture (na,) that arms which start at `q` (na,) stay near.

        It is that at the beginning of the plan: from another one arms with freedom left go
        through the plan in other ways than in a run without a stop.
        """
        return q if self.reference is self.plan else self.system.posture

    def begin_with(self, plan: ObjectPlan) -> None:
        """Follow another plan from the next start on, instead of the law's own.

        Args:
            plan: The plan, with rows as wide as those of the law's own.
        """
        self.plan = plan
        self._begin_with(plan)

    def _begin_with(self, reference: ObjectPlan) -> None:
        """Set the plan of the next start."""
        self.reference = reference
        self._followed.begin_with(self.bodies(reference, 0))

    def hold(self, tick: int) -> None:
        """Come to rest on the path from a tick on; forces stay as they are then.

        `start` follows the reference again.

        Args:
            tick: Control periods since the start.
        """
        self._followed.hold(tick)

    def follow(self, plan: ObjectPlan, tick: int, *, leave: bool = False) -> None:
        """Follow another plan from a tick on, without a jump; see `FollowedRows.follow`.

        `start` follows the first one again.

        Args:
            plan: The plan; its time 0 is at the tick.
            tick: Control periods since the start.
            leave: Whether surfaces that the plan does not touch are left at once.

        Raises:
            ArgumentError: If its rows are not as wide as the rows of the law's reference.
        """
        self._followed.follow(self.bodies(plan, tick), tick, leave=leave)

    @property
    def requested_settings(self) -> ControlSettings:
        """The settings with the last requested gains, which the next start uses."""
        return self.settings if self._retuning is None else self._retuning.end

    def check_gains(self, settings: ControlSettings) -> None:
        """Refuse gains that the sampled loop does not bear; see `retune`."""
        check_gains(with_gains(self.settings, settings))

    def retune(self, settings: ControlSettings) -> None:
        """Change to other gains within a quarter of a second, before or while control runs.

        Only servos and the share of friction are taken from the settings.

        Args:
            settings: The new settings.

        Raises:
            GainError: If the sampled loop with its delay is unstable with them; no gain changes
                then.
        """
        self.check_gains(settings)
        end = with_gains(self.settings, settings)
        self._retuning = GainRamp(self.settings, end, round(RAMP_S / self.period))

    def _restart(self) -> None:
        """Follow the plan from its beginning, with the last requested gains."""
        self._followed.restart()
        self._ran = self.reference
        self.settings, self._retuning = self.requested_settings, None

    def _retune(self, ramp: GainRamp) -> None:
        """Take one step towards other gains; the contribution of integrals to the torque stays."""
        self.settings = ramp.advance()
        self._take_gains(ramp.end)
        if ramp.over:
            self._retuning = None

    @abstractmethod
    def _take_gains(self, end: ControlSettings) -> None:
        """Use the gains of intermediate settings on the way to others."""
