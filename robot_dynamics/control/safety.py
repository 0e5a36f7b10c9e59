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

import math
from collections.abc import Callable, Collection, Mapping, Sequence
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
    Response,
    SafetyError,
    StaleStreamError,
    State,
)
from robot_dynamics.control.link_distance import Proximity
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.control.streams import StreamError, StreamWatch
from robot_dynamics.control.wrench_residual import WrenchResidual
from robot_dynamics.errors import ArgumentError, require_length
from robot_dynamics.wording import apart

Array = NDArray[np.float64]

_PROOF_S = 0.3  # after the ramp, for which a fault in it may still show a wrong model
_RUNAWAY = 3.0  # times its velocity limit, beyond which a joint is not damped by the fallback,
_GROWTH = 1.2  # unless it was as fast, but for this factor, when the fallback had its effect,
_DAMPING_S = 0.1  # this long after it began
_SETTLING_S = 0.05  # in which the torque rate leads from the law's torque to the fallback's
_BEYOND_LIMITS = 0.1  # where a lost arm may be at a reset [rad or m]
_HELD = 500  # control periods for which speeds are kept to tell the two apart
_CONVEX = 0.02  # of a speed, by which a hold that drives a joint bends its growth upwards


class SafetyLayer(FaultLatch):
    """Checks every input and output of a control law, and answers faults by their cause.

    Attributes:
        released: Names of arms that no command must be sent to any more: their drives hold them.
        rate_limited: How often the law wanted torques to change faster than they may.
        closure_warning: Whether the arms disagree more than is good about the object's pose.
        wrench_warning: What wrist sensors measure at present that should not be there; empty if
            that is little.
        warnings: Such sentences since the last reset, each with the time of the first.
        settings: Limits and what the fallback is.
        measurement: Check of what is measured.
        step_check: Check of a step of the law.
        ramp_periods: Time from start to active, in units of the clock, as `scaled_for`.
        scaled_for: Time for which limits may scale the task.
        start_speed: Speed of a joint from the start until then that proves the model wrong.
        largest_change: Of a torque in a control period.

    Args:
        settings: Limits and what the fallback is.
        arms: Names of the arms' joints, base to tip, by arm name and in the order of vectors.
        limits: "lower", "upper", "velocity" and "effort" over the arm joints (na,).
        fallback: Computes the torque when the law may not.
        period: Control period [s].
        clock: What times mean.
        ramp_s: Time from start to active [s].
        start_speed: Speed of a joint from the start until then that proves the model wrong
            [rad/s or m/s].
        wrench_count: Number of measured wrenches.
        holds_object: Whether the arms hold the object while the law runs.
        rigid_object: Whether that moves all arms if one of them moves.
        proximity: Distances of links; they are not checked without.
        bodies: Limits of what wrist sensors measure of each held body.
        soft_fingers: Names of the arms whose tilt on the object is limited.
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
        start_speed: float = np.inf,
        wrench_count: int = 0,
        holds_object: bool = True,
        rigid_object: bool = True,
        proximity: Proximity | None = None,
        bodies: Sequence[WrenchResidual] = (),
        soft_fingers: Sequence[str] = (),
    ) -> None:
        self._arms = tuple(arms)
        joints = [joint for names in arms.values() for joint in names]
        ends = np.cumsum([0, *(len(names) for names in arms.values())]).tolist()
        self._slices = tuple(slice(a, b) for a, b in pairwise(ends))
        self._fallback, self._period = fallback, period
        self.ramp_periods = clock.count(ramp_s)
        self.start_speed, self._proof = start_speed, clock.count(ramp_s + _PROOF_S)
        self._limit_speed, self._damping_time = limits["velocity"], clock.count(_DAMPING_S)
        self._damped_share = 0.0  # of a velocity limit, when the fallback had its effect
        # Speeds over their limits while joints are held without the model, from its beginning on.
        self._held_shares: list[Array] = []
        self._end_after = clock.count(settings.lost_arm_end_after_s)
        self._settling = clock.count(_SETTLING_S)
        self._drives_hold = settings.lost_arm_end == "drive_hold"
        self._joints, self._soft_fingers = tuple(joints), tuple(soft_fingers)
        self._braking: frozenset[int] = frozenset()
        self.settings = settings
        self._largest_tilt = math.radians(settings.tilt_limit_deg)
        self.scaled_for = clock.count(settings.scaled_for_s)
        self._scaled_since: int | None = None
        self.measurement = MeasurementCheck(
            arms, limits, wrench_count, (settings.wrench_limit_nm, settings.wrench_limit_n)
        )
        # What the law has limited itself may exceed the limit by its rounding.
        self.largest_change = settings.torque_rate * period * (1.0 + 1e-9)
        self.step_check = StepCheck(
            arms, limits["effort"], settings, proximity, bodies, self.largest_change
        )
        self._clock = clock
        self._sampled: Array | float = 0.0
        self.rate_limited = 0
        self.closure_warning = False
        self._watches: list[tuple[StreamWatch, Cause]] = []
        # What the fallback works with: numbers that were good, and the last torque sent.
        self._q, self._qd, self._last = (np.zeros(len(joints)) for _ in range(3))
        self._hold, self._holds_here = self._q.copy(), False
        self._holding = self._object_held = holds_object
        self._rigid_object = rigid_object
        self._model_proved = True
        self._disproved = Response.NONE  # the response to a wrong model; a reset keeps it
        super().__init__()

    def _clear(self) -> None:
        super()._clear()
        self._lost = LostArms(self._end_after)
        self._jumped: set[int] = set()  # lost arms whose time jumped
        self._damped_from: int | None = None  # since when the fallback damps all arms
        self._departs = False  # whether the last torque is known although this is not in charge
        self._unfit = "nothing was measured yet."
        self.wrench_warning = ""
        self.warnings: tuple[tuple[int, str], ...] = ()
        self.released: tuple[str, ...] = ()

    def note_drives(self, added: Callable[[Array], Array], braking: Collection[str] = ()) -> None:
        """Take note of what the drives do by themselves.

        Args:
            added: Returns what they add to commands at positions (na,).
            braking: Names of the arms whose drives brake when commands stop.
        """
        self._fallback.drives_add = added
        self._braking = frozenset(i for i, arm in enumerate(self._arms) if arm in braking)

    @property
    def object_held(self) -> bool:
        """Whether the object is taken to be held, so that its weight counts."""
        return self._object_held

    @property
    def lost_arms(self) -> tuple[str, ...]:
        """Names of arms whose state is not known."""
        return tuple(self._arms[i] for i in self._lost)

    @property
    def saturated(self) -> tuple[str, ...]:
        """Names of joints whose fallback torque met its limit."""
        return tuple(self._joints[i] for i in self._fallback.saturated)

    def ramp(self, now: int) -> float:
        """Return how much of the task is let through after the start, from 0 to 1."""
        return min(1.0, (now - self._began) / self.ramp_periods) if self.ramp_periods else 1.0

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
        relied = self.in_charge or self._departs
        super().start(now)
        self._departs = False
        if torque is not None:
            values = np.array(torque, dtype=float)
            require_length("torque", values.tolist(), len(self._last), "one for each arm joint")
            self._fallback.seed(values)
            if not relied:
                self._last[:] = values
        self._scaled_since = None
        self._object_held = self._holding
        self._model_proved, self._disproved = not self.ramp_periods, Response.NONE
        self._damped_from = None
        self._fallback.trust_model()
        if not self.ramp_periods:
            self.state = State.ACTIVE

    def model_finding(self, qd: Array) -> Finding:
        """Return that a joint moves before control has ramped in, by velocities (na,)."""
        i = int(np.argmax(np.abs(qd)))
        sentence = (
            f"it moves at {abs(qd[i]):.3g} rad/s or m/s under the torque that is to hold it "
            f"at rest; expected at most {self.start_speed:g} until control has ramped "
            "in. Signs, gravity of the drives, payload and description are to be checked."
        )
        return Finding(Cause.MODEL_WRONG, self._joints[i], sentence)

    def begin_checks(self, q: Array, pose: Array) -> None:
        """Begin the checks of the law's steps anew, for a start from here.

        Pairs of links that touch by construction here are left out from now on.

        Args:
            q: Positions of the arm joints (na,).
            pose: Of the object in the world, x y z qx qy qz qw (7,).
        """
        if self.step_check.proximity:
            self.step_check.proximity.begin(q, pose)
        self.step_check.begin()

    def take_over(
        self, now: int, torque: Array, found: Finding, *, held: bool, grips: bool = False
    ) -> None:
        """Be in charge of arms that somebody else has left, in the fallback and latched.

        Nothing is refused here: whoever asks has nobody else who could.

        Args:
            now: The present time.
            torque: The torque that acts at this instant (na,), from which the fallback departs.
            found: Why.
            held: Whether the object is still held, so that its weight counts.
            grips: Whether the object falls without an internal force, which this layer does not
                know: a fallback that holds the joints departs from the torque that acts then.
        """
        self.in_charge = True
        self._last[:] = torque
        self._object_held = held
        self.trip(now, found)
        if held and grips and self.settings.fallback == "hold":
            self._fallback.hold_joints(self._q, self._last, held=held)

    def depart_from(self, torque: Array) -> None:
        """Let the torque rate count from what the drives got last, not from what was computed.

        To be called while torques are withheld, and before a start that takes the arms over.

        Args:
            torque: Joint torques (na,) that act; numbers that are not finite change nothing.
        """
        known = np.isfinite(torque)
        self._last[known] = torque[known]
        self._damped_from = None
        self._departs = not self.in_charge

    def observe(
        self,
        now: int,
        q: Array,
        qd: Array,
        wrenches: Array | None = None,
        sampled: Array | None = None,
    ) -> bool:
        """Check what was measured; return whether the law may run on it.

        Args:
            now: The present time.
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).
            wrenches: Measured wrenches (k, 6), as many as were announced.
            sampled: When each arm was sampled [s]; now by default.

        Raises:
            ArgumentError: If an array has the wrong length.
        """
        at = self._clock.seconds(now) if sampled is None else sampled
        passed, self._sampled = at - self._sampled, at
        fits = self.measurement.fits(q, qd, wrenches, passed) and not self._lost
        if fits or (self._are_good() and not self._lost):
            self._q[:] = q
            self._qd[:] = qd
            self._unfit = ""
        else:
            self._use_what_is_good(now)
        for watch, cause in self._watches:
            if watch.is_stale(now):
                self.trip(now, Finding(cause, watch.name, watch.staleness(now)))
        if self.state is State.STARTING and now - self._began >= self.ramp_periods:
            self.state, self._model_proved = State.ACTIVE, True
        if self.in_charge and not (self.law_runs and self._model_proved):
            self._watch_model(now)
        return self.law_runs

    def _are_good(self) -> bool:
        """Return whether the samples that were taken last are good, by all that is known."""
        lost = [self._arms[i] for i in self._lost]
        sent = self._last if self.law_runs else None
        linked = self._object_held and self._rigid_object
        return self.measurement.judge(lost, sent, linked=linked)

    def _watch_model(self, now: int) -> None:
        """Trip if arms move as they cannot if the model is right.

        From the start on arms are at rest until control has ramped in: gravity or signs that are
        wrong show in the first hundredths of a second, by accelerations. The fallback damps: who
        is beyond all limits in it is driven by it.
        """
        speed = np.abs(self._qd)
        if not self._model_proved and now - self._began <= self._proof:
            # A velocity alone may be false; the check of samples finds that a little later.
            moving = np.where(self.measurement.step_speeds() > self.start_speed, speed, 0.0)
            if moving.max() > self.start_speed:
                self.trip(now, self.model_finding(moving))
        if self.law_runs:
            return
        share = speed / self._limit_speed
        i = int(np.argmax(share))
        most = _RUNAWAY
        if self._disproved is Response.NONE:
            # Arms may be fast when the fallback begins, as after a suspension.
            if self._lost or self._damped_from is None:
                self._damped_from = now
            if now - self._damped_from <= self._damping_time:
                self._damped_share = share[i]
            most = max(_RUNAWAY, _GROWTH * self._damped_share)
        elif self._drives(i, share):
            most = 1.0
        if share[i] > most:
            sentence = (
                f"it moves at {speed[i]:.3g} rad/s or m/s in the fallback, which damps it; "
                f"expected at most {most * self._limit_speed[i]:.3g}. Signs of the torques are to "
                "be checked."
            )
            self.trip(now, Finding(Cause.RUNAWAY, self._joints[i], sentence))

    def _drives(self, i: int, share: Array) -> bool:
        """Return whether the hold drives joint `i` instead of braking it.

        A load that the model lacks accelerates a joint less and less, until the hold has found
        it; a torque of the wrong sign accelerates it more and more. The speed over its limit
        (na,) was between its first and its last value above the chord, or below.
        """
        held = self._held_shares
        if len(held) < _HELD:
            held.append(share)
        first, middle, last = held[0][i], held[len(held) // 2][i], share[i]
        return bool(middle < 0.5 * (first + last) - _CONVEX * last)

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
        tilts: Array | None = None,
        wrists: Array | None = None,
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
            tilts: Of each soft finger from its grasp (s,) [rad].
            wrists: Measured grasp wrenches (k, 6), by which a sensor that is wrong is named.
        """
        if not self.in_charge:
            return None
        if self.law_runs:
            found = self.step_check.torque_missing(torque)
            if found is not None:
                self.trip(now, found)
            good = self._last if torque is None or found is not None else torque
            check, figures = self.step_check, None
            if check.passes(good, self._last, error, closure, self._q, pose, wrenches):
                self.closure_warning = False
            else:
                figures = check.figures()
                self._take_up(now, figures, good, closure, pose, wrenches, wrists)
            # What ends control is no mere warning.
            if check.doubtful and wrenches is not None and self.law_runs:
                if not self.wrench_warning:
                    self._warn_of_sensors(now, wrenches, wrists)
            elif self.wrench_warning:
                self.wrench_warning = ""
            if task_scale >= self.settings.least_task_scale:
                self._scaled_since = None
            elif self._scaled_since is None:
                self._scaled_since = now
            elif now - self._scaled_since > self.scaled_for:
                self.trip(now, check.scaled_finding(task_scale))
            if tilts is not None:
                self._watch_tilts(now, tilts)
            if support is not None:
                lacking = self.step_check.support_finding(support)
                if lacking:
                    self.trip(now, lacking)
            if self.law_runs:
                sent = good
                if figures and not figures.change <= self.largest_change:
                    sent = within_rate(good, self._last, self.largest_change)
                    self.rate_limited += 1
                self._last[:] = sent
                return sent
        return self._fall_back(now)

    @property
    def last(self) -> Array:
        """The torque that was sent last (na,)."""
        return self._last.copy()

    def _take_up(
        self,
        now: int,
        figures: StepFigures,
        torque: Array,
        closure: Array | None,
        pose: Array | None,
        wrenches: Array | None,
        wrists: Array | None,
    ) -> None:
        """Trip by the figures of a step that are beyond their limits."""
        settings, check = self.settings, self.step_check
        if not figures.link_margin >= 0.0 and check.proximity and pose is not None:
            too_close = check.proximity.finding(self._q, pose)
            if too_close is not None:
                self.trip(now, too_close)
        if not figures.wrench_excess <= 0.0 and wrenches is not None:
            for unexplained in check.wrench_findings(wrenches, wrists):
                self.trip(now, unexplained)
        if not figures.excess <= 0.0:
            self.trip(now, check.torque_finding(torque))
        _, _, turned, moved, angle, distance, _, _ = figures
        self.closure_warning = not (
            distance <= settings.closure_warning_m and angle <= settings.closure_warning_rad
        )
        if self.closure_warning and closure is not None:
            for found in check.closure_findings(closure):
                self.trip(now, found)
        astray = check.tracking_finding(turned, moved)
        if astray is not None:
            self.trip(now, astray)

    def _warn_of_sensors(self, now: int, wrenches: Array, wrists: Array | None) -> None:
        """Keep a sentence about wrist sensors; of each sensor the first alone."""
        known = {sentence.partition(":")[0] for _, sentence in self.warnings}
        for sentence in self.step_check.wrench_warnings(wrenches, wrists):
            self.wrench_warning = self.wrench_warning or sentence
            subject = sentence.partition(":")[0]
            if subject not in known:
                known.add(subject)
                self.warnings += ((now, sentence),)

    def _watch_tilts(self, now: int, tilts: Array) -> None:
        """Trip if a soft finger tilts on the object."""
        for arm, tilt in zip(self._soft_fingers, tilts.tolist(), strict=True):
            if not tilt <= self._largest_tilt:
                angle, most = apart(math.degrees(tilt), self.settings.tilt_limit_deg)
                sentence = (
                    f"its soft finger tilts by {angle} degrees on the object; expected at most "
                    f"{most} degrees."
                )
                self.trip(now, Finding(Cause.GRASP_TILTED, arm, sentence))

    def trip(self, now: int, found: Finding) -> bool:
        """Take up the response to a fault; see `FaultLatch.trip`."""
        ran = self.law_runs or self.state is State.INACTIVE
        new = super().trip(now, found)
        if found.cause is Cause.ARM_LOST and found.subject in self._arms and self.in_charge:
            self._lost.lose(self._arms.index(found.subject), now)  # anew by every bad sample
        if not new:
            return False
        if ran and not self.law_runs:
            self._holds_here = True
        if found.cause is Cause.GRASP_LOST:
            self._object_held = False
        if self.in_charge and self.response >= Response.HOLD_JOINTS:
            if self._disproved is Response.NONE:
                self._hold = self._q.copy()
                self._fallback.hold_joints(self._q, self._last, held=self._object_held)
                self._held_shares.clear()
            self._disproved = self.response
        return True

    def rejected(self, now: int, error: StreamError, cause: Cause) -> None:
        """Note that a stream brought a sample that must not be used."""
        self.trip(now, Finding(cause, error.stream, error.cause))

    def time_jumped(self, arm: str) -> None:
        """Note that an arm's clock was set, or its simulator: it is held where it comes back."""
        self._jumped.add(self._arms.index(arm))
        self.measurement.begin_arm(arm)

    def stop(self, now: int, sentence: str = "stopped on request.") -> None:
        """Hand over to the fallback and stay there until `reset`; also before a start."""
        self.trip(now, Finding(Cause.STOP_REQUESTED, "stop", sentence))

    def reset(self, now: int | None = None) -> None:
        """Forget faults and become inactive; the fallback goes on to carry the arms.

        Raises:
            SafetyError: If control runs, or at a time `now` that is given a watched stream is
                still stale, or a lost arm is far beyond its limits.
        """
        if now is not None and self.state is not State.INACTIVE:
            self._refuse_if_stale(now, "reset")
            self._refuse_if_far()
        if self.law_runs:  # it held the pose; from now on the fallback does
            self._hold = self._q.copy()
        lost = tuple(self._lost)
        super().reset()
        for i in lost:
            self._hold_where_it_is(i)
        self.measurement.begin()

    def count_object(self) -> None:
        """Count the object's weight again, because it is in its grasps."""
        self._object_held = self._holding

    def release(self) -> None:
        """Cease to be in charge: brakes or drives hold the arms from now on."""
        self.reset()
        self.in_charge, self._disproved = False, Response.NONE
        self._fallback.trust_model()

    def _refuse_if_stale(self, now: int, what: str) -> None:
        for watch, _ in self._watches:
            if watch.is_stale(now):
                raise StaleStreamError(f"{what} refused: {watch.name}: {watch.staleness(now)}")

    def _refuse_if_far(self) -> None:
        """Refuse to trust a lost arm again where it cannot be, as by positions in degrees."""
        q, na = self.measurement.q, len(self._q)
        beyond = np.maximum(self.measurement.lower[:na] - q, q - self.measurement.upper[:na])
        for i in self._lost if self.in_charge else ():
            for j in range(self._slices[i].start, self._slices[i].stop):
                if beyond[j] > _BEYOND_LIMITS:
                    raise SafetyError(
                        f"reset refused: position {q[j]:.4g} of {self._joints[j]} is beyond its "
                        f"limits by {beyond[j]:.3g} rad or m; expected at most "
                        f"{_BEYOND_LIMITS:g} of a lost arm. Its data are still false."
                    )

    def _hold_where_it_is(self, i: int) -> None:
        """Hold an arm where it comes back, if that is known."""
        own = self._slices[i]
        if np.isfinite(self.measurement.q[own]).all():
            self._hold[own] = self.measurement.q[own]
            self._fallback.move_hold(i, self._hold[own])

    def _use_what_is_good(self, now: int) -> None:
        """Keep the finite numbers of arms that are not lost, and note what is wrong."""
        found = list(self.measurement.findings())
        lost = {one.subject for one in found if one.cause is Cause.ARM_LOST}
        for i, (arm, own) in enumerate(zip(self._arms, self._slices, strict=True)):
            if arm in lost:
                continue
            heard = self._heard(arm, now)
            if heard is not None:
                self._lost.take_back(i, heard)
            if i not in self._lost:
                if i in self._jumped:
                    self._jumped.remove(i)
                    self._hold_where_it_is(i)
                self._q[own] = self.measurement.q[own]
                self._qd[own] = self.measurement.qd[own]
        self._unfit = str(found[0]) if found else ""
        if not self.in_charge:  # whoever moves the arms meanwhile may give them other sensors
            self.measurement.begin()
        for one in found:
            self.trip(now, one)

    def _heard(self, arm: str, now: int) -> int | None:
        """Return when an arm's last good sample came; None if that was too long ago."""
        own = [w for w, cause in self._watches if cause is Cause.ARM_LOST and w.name == arm]
        if any(watch.is_stale(now) for watch in own):
            return None
        # Without a stream, the numbers that were observed are of this instant.
        return min((w.arrival for w in own if w.arrival is not None), default=now)

    def _leave_to_drives(self, ended: Collection[int]) -> Collection[int]:
        """Release the arms that their drives hold by their own means; return who gets zero.

        Brakes need no model. Without them joints are held by what is measured; if that drives
        them, the commands are zero, and cease then: a drive may hold its last torque.
        """
        left = set(self._braking)
        if self._disproved is Response.GIVE_UP:
            ended = range(len(self._arms))
            if self._drives_hold and self._fallback.is_zero(self._last, self._q):
                left.update(ended)
        self.released = tuple(
            arm for i, arm in enumerate(self._arms) if i in left or arm in self.released
        )
        return ended

    def _fall_back(self, now: int) -> Array:
        # A fault may be found before the samples of this instant are.
        if self._holds_here:
            self._hold, self._holds_here = self._q.copy(), False
        # An arm that will not be trusted again before a reset can be braked by its drive alone: as
        # soon as the last torque that it got is the fallback's.
        false = self.measurement.false_arms if self._drives_hold else ()
        hopeless = [i for i, arm in enumerate(self._arms) if arm in false]
        self._lost.give_up(now, hopeless, self._settling)
        ended: Collection[int] = self._lost.ended
        if self._drives_hold:
            self.released = tuple(self._arms[i] for i in ended)
        if self._disproved is not Response.NONE:
            ended = self._leave_to_drives(ended)
        torque = self._fallback.torque(
            self._q,
            self._qd,
            self._hold,
            self._last,
            self._period,
            held=self._object_held,
            lost=self._lost,
            ended=ended,
        )
        self._last[:] = torque
        return torque
