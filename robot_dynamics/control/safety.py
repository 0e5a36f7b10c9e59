# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The layer between a control law and the arms: torque is never sent on faith.

It knows neither ROS nor the law. At every control instant a caller does

    if safety.observe(now, q, qd, wrenches):      # the law may run on these numbers
        step = law(safety.elapsed(now), q, qd, ...)
        torque = safety.command(now, step.torque, closure=step.closure, support=step.support)
    else:
        torque = safety.command(now)              # the fallback, or None before the first start

and sends `torque`, except to the arms named in `safety.released`. Times are integers in the
unit of a `clock.Clock`. The layer is no safety function in the sense of the standards: it is
software beside the software it watches, and does not replace an emergency stop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.checks import MeasurementCheck, StepCheck, StepFigures
from robot_dynamics.control.clock import Clock
from robot_dynamics.control.fallback import FallbackTorque, LostArms, within_rate
from robot_dynamics.control.faults import (
    Cause,
    FaultLatch,
    Finding,
    SafetyError,
    StaleStreamError,
    State,
)
from robot_dynamics.control.link_distance import Proximity
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.control.streams import StreamError, StreamWatch
from robot_dynamics.control.wrench_residual import WrenchResidual
from robot_dynamics.errors import ArgumentError, require_length

Array = NDArray[np.float64]


class SafetyLayer(FaultLatch):
    """Checks every input and output of a control law, and answers faults by their cause.

    Attributes:
        released: Names of arms that no command must be sent to any more: their drives hold them.
        rate_limited: How often the law wanted torques to change faster than they may.
        closure_warning: Whether the arms disagree more than is good about the object's pose.

    Args:
        settings: Limits and what the fallback is.
        arms: Names of the arms' joints, base to tip, by arm name and in the order of vectors.
        limits: "lower", "upper", "velocity" and "effort" over the arm joints (na,).
        fallback: Computes the torque when the law may not.
        period: Control period [s].
        clock: What times mean.
        ramp_s: Time from start to active [s].
        wrench_count: Number of measured wrenches.
        holds_object: Whether the arms hold the object while the law runs.
        proximity: Distances of links; they are not checked without.
        bodies: Limits of what wrist sensors measure of each held body.
    """

    def __init__(
        self,
        settings: SafetySettings,
        arms: Mapping[str, Sequence[str]],
        limits: Mapping[str, Array],
        fallback: FallbackTorque,
        *,
        period: float,
        clock: Clock,
        ramp_s: float = 0.0,
        wrench_count: int = 0,
        holds_object: bool = True,
        proximity: Proximity | None = None,
        bodies: Sequence[WrenchResidual] = (),
    ) -> None:
        self._arms = tuple(arms)
        joints = [joint for names in arms.values() for joint in names]
        ends = np.cumsum([0, *(len(names) for names in arms.values())]).tolist()
        self._slices = tuple(slice(a, b) for a, b in pairwise(ends))
        self._fallback, self._period = fallback, period
        self._ramp = clock.count(ramp_s)
        self._end_after = clock.count(settings.lost_arm_end_after_s)
        self._drives_hold = settings.lost_arm_end == "drive_hold"
        self._joints = tuple(joints)
        self._settings = settings
        self._scaled_for = clock.count(settings.scaled_for_s)
        self._scaled_since: int | None = None
        self._measurement = MeasurementCheck(
            arms, limits, wrench_count, (settings.wrench_limit_nm, settings.wrench_limit_n)
        )
        self._check = StepCheck(arms, limits["effort"], settings, proximity, bodies)
        # What the law has limited itself may exceed the limit by its rounding.
        self._largest_change = settings.torque_rate * period * (1.0 + 1e-9)
        self.rate_limited = 0
        self.closure_warning = False
        self._watches: list[tuple[StreamWatch, Cause]] = []
        # What the fallback works with: numbers that were good, and the last torque sent.
        self._q, self._qd, self._last = (np.zeros(len(joints)) for _ in range(3))
        self._hold = self._q.copy()
        self._holding = self._object_held = holds_object
        super().__init__()

    def _clear(self) -> None:
        super()._clear()
        self._lost = LostArms(self._end_after)
        self._unfit = "nothing was measured yet."
        self.released: tuple[str, ...] = ()

    def note_drives(self, added: Callable[[Array], Array]) -> None:
        """Take note of what the drives add to commands by themselves, at positions (na,)."""
        self._fallback.drives_add = added

    @property
    def object_held(self) -> bool:
        """Whether the object is taken to be held, so that its weight counts."""
        return self._object_held

    @property
    def saturated(self) -> tuple[str, ...]:
        """Names of joints whose fallback torque met its limit."""
        return tuple(self._joints[i] for i in self._fallback.saturated)

    def ramp(self, now: int) -> float:
        """Return how much of the task is let through after the start, from 0 to 1."""
        return min(1.0, (now - self._began) / self._ramp) if self._ramp else 1.0

    def monitor(self, watch: StreamWatch, cause: Cause) -> None:
        """Let `observe` watch a stream for staleness.

        Args:
            watch: Of the stream; that of joint states has the name of its arm.
            cause: What it means if the stream is lost.

        Raises:
            ArgumentError: If the stream of an arm has the name of none.
        """
        if cause is Cause.ARM_LOST and watch.name not in self._arms:
            raise ArgumentError(
                f"stream {watch.name!r} of joint states: expected the name of an arm, one of "
                f"{', '.join(self._arms)}."
            )
        self._watches.append((watch, cause))

    def start(self, now: int, torque: ArrayLike | None = None) -> None:
        """Begin: the ramp runs from now on.

        Args:
            now: The present time.
            torque: What holds the arms up at this instant (na,), from which control departs if
                the arms have not relied on torques from here so far.

        Raises:
            SafetyError: If a fault is latched, control runs already, a stream is stale, or what
                was last observed is beyond its limits.
        """
        if self.state is State.INACTIVE:
            self._refuse_if_stale(now, "start")
            if self._unfit:
                raise SafetyError(f"start refused: {self._unfit}")
        relied = self.in_charge
        super().start(now)
        if torque is not None:
            values = np.array(torque, dtype=float)
            require_length("torque", values.tolist(), len(self._last), "one for each arm joint")
            self._fallback.seed(values)
            if not relied:
                self._last[:] = values
        self._scaled_since = None
        self._object_held = self._holding
        if not self._ramp:
            self.state = State.ACTIVE

    def begin_checks(self, q: Array, pose: Array) -> None:
        """Begin the checks of the law's steps anew, for a start from here.

        Pairs of links that touch by construction here are left out from now on.

        Args:
            q: Positions of the arm joints (na,).
            pose: Of the object in the world, x y z qx qy qz qw (7,).
        """
        if self._check.proximity:
            self._check.proximity.begin(q, pose)
        self._check.begin()

    def take_over(self, now: int, torque: Array, found: Finding, *, held: bool) -> None:
        """Be in charge of arms that somebody else has left, in the fallback and latched.

        Nothing is refused here: whoever asks has nobody else who could.

        Args:
            now: The present time.
            torque: The torque that acts at this instant (na,), from which the fallback departs.
            found: Why.
            held: Whether the object is still held, so that its weight counts.
        """
        self.in_charge = True
        self._last[:] = torque
        self._object_held = held
        self.trip(now, found)

    def observe(self, now: int, q: Array, qd: Array, wrenches: Array | None = None) -> bool:
        """Check what was measured; return whether the law may run on it.

        Args:
            now: The present time.
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).
            wrenches: Measured wrenches (k, 6), as many as were announced.

        Raises:
            ArgumentError: If an array has the wrong length.
        """
        if self._measurement.passes(q, qd, wrenches) and not self._lost:
            self._q[:] = q
            self._qd[:] = qd
            self._unfit = ""
        else:
            self._use_what_is_good(now)
        for watch, cause in self._watches:
            if watch.is_stale(now):
                self.trip(now, Finding(cause, watch.name, watch.staleness(now)))
        if self.state is State.STARTING and now - self._began >= self._ramp:
            self.state = State.ACTIVE
        return self.law_runs

    def command(
        self,
        now: int,
        torque: Array | None = None,
        *,
        closure: Array | None = None,
        support: Array | None = None,
        error: Array | None = None,
        task_scale: float = 1.0,
        pose: Array | None = None,
        wrenches: Array | None = None,
    ) -> Array | None:
        """Return the torque (na,) to send; None if arms have never relied on it.

        Args:
            now: The present time.
            torque: The law's torque (na,), if it ran.
            closure: Disagreement with the first arm about the object's pose, rotation vector and
                displacement, of every other arm (6(k-1),) [rad, m].
            support: The part of the torque that holds arms and object up (na,). It need not be
                given where the law says that it is within the limits.
            error: Rotation vector and displacement from the object's pose to its reference (6,).
            task_scale: The smallest part of the task, or of its change, that limits let through.
            pose: Of the object in the world, x y z qx qy qz qw (7,); without it distances of links
                are not checked.
            wrenches: Of held bodies (b, 18); see `LawStep.held_body_wrenches`. None if they are
                not measured.
        """
        if not self.in_charge:
            return None
        if self.law_runs:
            found = self._check.torque_missing(torque)
            if found is not None:
                self.trip(now, found)
            good = self._last if torque is None or found is not None else torque
            check = self._check
            figures = check.figures(good, self._last, error, closure, self._q, pose, wrenches)
            if not figures.link_margin >= 0.0 and check.proximity and pose is not None:
                too_close = check.proximity.finding(self._q, pose)
                if too_close is not None:
                    self.trip(now, too_close)
            if not figures.wrench_excess <= 0.0 and wrenches is not None:
                for unexplained in check.wrench_findings(wrenches):
                    self.trip(now, unexplained)
            if not figures.excess <= 0.0:
                self.trip(now, self._check.torque_finding(good))
            self._watch_object(now, figures, closure, task_scale)
            if support is not None:
                lacking = self._check.support_finding(support)
                if lacking:
                    self.trip(now, lacking)
            if self.law_runs:
                sent = good
                if not figures.change <= self._largest_change:
                    sent = within_rate(good, self._last, self._largest_change)
                    self.rate_limited += 1
                self._last[:] = sent
                return sent
        return self._fall_back(now)

    @property
    def last(self) -> Array:
        """The torque that was sent last (na,)."""
        return self._last.copy()

    def _watch_object(
        self, now: int, figures: StepFigures, closure: Array | None, task_scale: float
    ) -> None:
        """Trip if a grasp is lost, the object is far from its reference, or limits rule long."""
        settings, (_, _, turned, moved, angle, distance, _, _) = self._settings, figures
        self.closure_warning = not (
            distance <= settings.closure_warning_m and angle <= settings.closure_warning_rad
        )
        if self.closure_warning and closure is not None:
            for found in self._check.closure_findings(closure):
                self.trip(now, found)
        if not (turned <= settings.tracking_limit_rad and moved <= settings.tracking_limit_m):
            sentence = (
                f"{moved:.3g} m and {turned:.3g} rad from its reference, expected at most "
                f"{settings.tracking_limit_m:g} m and {settings.tracking_limit_rad:g} rad."
            )
            self.trip(now, Finding(Cause.TRACKING_LOST, "object", sentence))
        if task_scale >= settings.least_task_scale:
            self._scaled_since = None
        elif self._scaled_since is None:
            self._scaled_since = now
        elif now - self._scaled_since > self._scaled_for:
            sentence = (
                f"torque limits let no more than {100 * task_scale:.0f} % of it through for "
                f"{settings.scaled_for_s:g} s."
            )
            self.trip(now, Finding(Cause.TRACKING_LOST, "task", sentence))

    def trip(self, now: int, found: Finding) -> bool:
        """Take up the response to a fault; see `FaultLatch.trip`."""
        ran = self.law_runs or self.state is State.INACTIVE
        new = super().trip(now, found)
        if found.cause is Cause.ARM_LOST and found.subject in self._arms and self.in_charge:
            self._lost.lose(self._arms.index(found.subject), now)  # anew by every bad sample
        if not new:
            return False
        if ran and not self.law_runs:
            self._hold = self._q.copy()
        if found.cause is Cause.GRASP_LOST:
            self._object_held = False
        return True

    def rejected(self, now: int, error: StreamError, cause: Cause) -> None:
        """Note that a stream brought a sample that must not be used."""
        self.trip(now, Finding(cause, error.stream, error.cause))

    def stop(self, now: int, sentence: str = "stopped on request.") -> None:
        """Hand over to the fallback and stay there until `reset`; also before a start."""
        self.trip(now, Finding(Cause.STOP_REQUESTED, "stop", sentence))

    def reset(self, now: int | None = None) -> None:
        """Forget faults and become inactive; the fallback goes on to carry the arms.

        Raises:
            SafetyError: If control runs, or a watched stream is still stale at time `now`.
        """
        if now is not None and self.state is not State.INACTIVE:
            self._refuse_if_stale(now, "reset")
        if self.law_runs:  # it held the pose; from now on the fallback does
            self._hold = self._q.copy()
        super().reset()

    def release(self) -> None:
        """Cease to be in charge: brakes or drives hold the arms from now on."""
        self.reset()
        self.in_charge = False

    def _refuse_if_stale(self, now: int, what: str) -> None:
        for watch, _ in self._watches:
            if watch.is_stale(now):
                raise StaleStreamError(f"{what} refused: {watch.name}: {watch.staleness(now)}")

    def _use_what_is_good(self, now: int) -> None:
        """Keep the finite numbers of arms that are not lost, and note what is wrong."""
        found = list(self._measurement.findings())
        lost = {one.subject for one in found if one.cause is Cause.ARM_LOST}
        for i, (arm, own) in enumerate(zip(self._arms, self._slices, strict=True)):
            if arm in lost:
                continue
            heard = self._heard(arm, now)
            if heard is not None:
                self._lost.take_back(i, heard)
            if i not in self._lost:
                self._q[own] = self._measurement.q[own]
                self._qd[own] = self._measurement.qd[own]
        self._unfit = str(found[0]) if found else ""
        for one in found:
            self.trip(now, one)

    def _heard(self, arm: str, now: int) -> int | None:
        """Return when an arm's last good sample came; None if that was too long ago."""
        own = [w for w, cause in self._watches if cause is Cause.ARM_LOST and w.name == arm]
        if any(watch.is_stale(now) for watch in own):
            return None
        # Without a stream, the numbers that were observed are of this instant.
        return min((w.arrival for w in own if w.arrival is not None), default=now)

    def _fall_back(self, now: int) -> Array:
        self._lost.give_up(now)
        if self._drives_hold:
            self.released = tuple(self._arms[i] for i in self._lost.ended)
        torque = self._fallback.torque(
            self._q,
            self._qd,
            self._hold,
            self._last,
            self._period,
            held=self._object_held,
            lost=self._lost,
            ended=self._lost.ended,
        )
        self._last[:] = torque
        return torque
