# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The safety layer between a control law and the arms.

It knows neither ROS nor the law. At every control instant a caller does

    if safety.observe(now, q, qd, wrenches):      # the law may use these measurements
        step = law.update(tick, q, qd, wrenches)
        torque = safety.command(now, step, wrists=wrenches)
    else:
        torque = safety.command(now)              # the fallback, or None before the first start

and sends `torque`, except to the arms named in `safety.released`. Times are integers in the
unit of a `clock.Clock`. The layer is not a safety function in the sense of the standards: it runs
in the same process as the software that it checks, and does not replace an emergency stop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.control.arm_states import ArmStates
from robot_dynamics.control.checks import MeasurementCheck
from robot_dynamics.control.clock import Clock
from robot_dynamics.control.control_law import HeldStep, LawStep
from robot_dynamics.control.fallback import Fallback, FallbackTorque, within_rate
from robot_dynamics.control.faults import Cause, FaultLatch, Finding, Response, SafetyError, State
from robot_dynamics.control.link_distance import Proximity
from robot_dynamics.control.model_watch import ModelWatch
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.control.step_check import NEVER, CellStep, StepCheck
from robot_dynamics.control.streams import StreamError, StreamWatch
from robot_dynamics.control.wrench_residual import WrenchResidual
from robot_dynamics.errors import ArgumentError, require_length


class SafetyLayer(FaultLatch):
    """Checks every input and output of a control law, and answers faults by their cause.

    Attributes:
        settings: Limits, and kind of the fallback.
        arms: Joint states of the arms as far as they are known.
        model: Rules for joint velocities that prove a model wrong.
        step_check: Rules for the steps of the law.
        fallback: Fallback, and the arms that are lost or left to their drives.
        object_held: Whether the object counts as held, so that its weight counts.
        rate_limited: Number of torques of the law that were held back to the torque rate.
        closure_warning: Whether the arms disagree about the object's pose beyond the warning
            limit.
        wrench_warning: Current warning about wrist sensors; empty without.
        warnings: Warnings about wrist sensors since the last reset, each with its first time.

    Args:
        settings: Limits, and kind of the fallback.
        arms: Names of the arms' joints, base to tip, by arm name and in the order of vectors.
        limits: "lower", "upper", "velocity" and "effort" over the arm joints (na,).
        fallback: Torques when the law may not run.
        period: Control period [s].
        clock: Meaning of times.
        ramp_s: Time from start to active [s].
        start_speed: Joint velocity in that time that proves the model wrong [rad/s or m/s].
        wrench_count: Number of measured wrenches.
        held_bodies: Number of bodies that the arms hold while the law runs.
        rigid_object: Whether the object is rigid, so that no arm can move alone.
        proximity: Distances of links; they are not checked without.
        bodies: Limits of the wrench residual of each held body.
        soft_fingers: Names of the arms whose tilt on the object is limited.
        units: Units of the joints' positions, "rad" or "m"; all of them turn by default.
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
        held_bodies: int = 1,
        rigid_object: bool = True,
        proximity: Proximity | None = None,
        bodies: Sequence[WrenchResidual] = (),
        soft_fingers: Sequence[str] = (),
        units: Sequence[str] = (),
    ) -> None:
        self.settings, self._clock = settings, clock
        self._joints = tuple(joint for joints in arms.values() for joint in joints)
        wrench_limits = settings.wrench_limit_nm, settings.wrench_limit_n
        self.arms = ArmStates(
            arms,
            MeasurementCheck(arms, limits, wrench_count, wrench_limits, units),
            rigid_object=rigid_object,
        )
        self.model = ModelWatch(
            self._joints, limits["velocity"], clock, ramp_s, start_speed, units
        )
        self.step_check = StepCheck(
            arms,
            limits["effort"],
            settings,
            proximity=proximity,
            bodies=bodies,
            soft_fingers=soft_fingers,
            held_bodies=held_bodies,
            period=period,
            scaled_for=clock.count(settings.scaled_for_s),
            units=units,
        )
        self.fallback = Fallback(
            fallback, self.arms.names, self.arms.slices, settings, clock, period
        )
        self._last = np.zeros(len(self._joints))  # torque that was sent last
        self._holding = self.object_held = held_bodies > 0
        self._scaled_since = NEVER
        self.rate_limited = 0
        self.closure_warning = False
        super().__init__()

    def _clear(self) -> None:
        super()._clear()
        self.fallback.forget()
        self.arms.forget()
        self.model.restart_damping()
        self._departs = False  # whether the last torque is known although this is not in charge
        self.wrench_warning = ""
        self.warnings: tuple[tuple[int, str], ...] = ()

    @property
    def released(self) -> tuple[str, ...]:
        """Names of arms that must not get commands any more: their drives hold them."""
        return self.fallback.released

    @property
    def lost_arms(self) -> tuple[str, ...]:
        """Names of arms whose state is not known."""
        return tuple(self.arms.names[i] for i in self.fallback.lost)

    @property
    def saturated(self) -> tuple[str, ...]:
        """Names of joints whose fallback torque met its limit."""
        return tuple(self._joints[i] for i in self.fallback.torques.saturated)

    @property
    def last(self) -> Array:
        """The torque that was sent last (na,)."""
        return self._last.copy()

    def monitor(self, watch: StreamWatch, cause: Cause) -> None:
        """Make `observe` check a stream for silence.

        Args:
            watch: Freshness of the stream; a stream of joint states has the name of its arm.
            cause: Cause of the fault if the stream is silent.

        Raises:
            ArgumentError: If a stream of joint states does not have the name of an arm.
        """
        if cause is Cause.ARM_LOST and watch.name not in self.arms.names:
            raise ArgumentError(
                f"stream {watch.name!r} of joint states: expected the name of an arm, one of "
                f"{', '.join(self.arms.names)}."
            )
        self.arms.watches.append((watch, cause))

    def start(self, now: int, torque: ArrayLike | None = None) -> None:
        """Start control; the ramp begins.

        Args:
            now: Current time.
            torque: Torque that holds the arms up at this instant (na,); first torque of control if
                the arms have not relied on torques from here.

        Raises:
            SafetyError: If a fault is latched, control runs already, a stream is silent, or the
                last sample was beyond its limits.
        """
        if self.state is State.INACTIVE:
            self.arms.require_fresh(now, "start")
            if self.arms.unfit:
                raise SafetyError(f"start refused: {self.arms.unfit}")
        relied = self.in_charge or self._departs
        if not self.in_charge:  # others have moved the arms
            self.fallback.torques.sent.clear()
        super().start(now)
        self._departs = False
        if torque is not None:
            values = np.array(torque, dtype=float)
            require_length("torque", values.tolist(), len(self._last), "one for each arm joint")
            self.fallback.torques.seed(values)
            if not relied:
                self._last[:] = values
        self._scaled_since = NEVER
        self.object_held = self._holding
        self.model.begin()
        self.fallback.trust_model()
        if self.model.proved:
            self.state = State.ACTIVE

    def begin_checks(self, q: Array, pose: Array) -> None:
        """Reset the checks of the law's steps for a start.

        Pairs of links that touch by construction at the start are excluded.

        Args:
            q: Positions of the arm joints (na,).
            pose: Pose of the object in the world, x y z qx qy qz qw (7,).
        """
        if self.step_check.proximity:
            self.step_check.proximity.begin(q, pose)
        self.step_check.begin()

    def take_over(
        self, now: int, torque: Array, found: Finding, *, held: bool, grips: bool = False
    ) -> None:
        """Take over arms from a process that has failed, in the fallback and latched.

        It refuses nothing, because no other process can take the arms.

        Args:
            now: Current time.
            torque: Torque that acts at this instant (na,), from which the fallback begins.
            found: Reason.
            held: Whether the object is still held, so that its weight counts.
            grips: Whether the object falls without an internal force, which this layer does not
                know: a fallback that holds the joints then begins from the acting torque.
        """
        self.in_charge = True
        self.fallback.torques.sent.clear()
        self._last[:] = torque
        self.object_held = held
        self.trip(now, found)
        if held and grips and self.settings.fallback == "hold":
            self.fallback.torques.hold_joints(self.arms.q, self._last, held=held)

    def depart_from(self, torque: Array) -> None:
        """Set the torque from which the torque rate counts.

        Must be called while torques are withheld, and before a start that takes the arms over.

        Args:
            torque: Acting joint torques (na,); entries that are not finite are ignored.
        """
        known = np.isfinite(torque)
        self._last[known] = torque[known]
        self.model.restart_damping()
        self._departs = not self.in_charge

    def observe(
        self,
        now: int,
        q: Array,
        qd: Array,
        wrenches: Array | None = None,
        sampled: Array | None = None,
    ) -> bool:
        """Check measurements; return whether the law may run on them.

        Args:
            now: Current time.
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).
            wrenches: Measured wrenches (k, 6), as many as were announced.
            sampled: When each arm was sampled [s]; now by default.

        Raises:
            ArgumentError: If an array has the wrong length.
        """
        arms, lost = self.arms, self.fallback.lost
        at = self._clock.seconds(now) if sampled is None else sampled
        passed, arms.sampled = at - arms.sampled, at
        fit = arms.measurement.fits(q, qd, wrenches, passed)
        # No arm is lost while the law runs.
        if (fit and (self.law_runs or not lost)) or arms.are_good(
            lost, self._last if self.law_runs else None, held=self.object_held
        ):
            arms.take()
        else:
            found, back = arms.take_good(now, lost)
            if back:
                self.fallback.take_back(back, arms.q)
            if not self.in_charge:  # whoever moves the arms may give them other sensors
                arms.measurement.begin()
            for one in found:
                self.trip(now, one, judged=True)
        if arms.watches:
            for one in arms.stale(now):
                self.trip(now, one)
        if self.in_charge and not (self.law_runs and self.model.proved):
            self._watch_model(now)
        return self.law_runs

    def _watch_model(self, now: int) -> None:
        """End the start after its ramp; trip if arms move as no correct model lets them."""
        if self.state is State.STARTING and now - self._began >= self.model.ramp_periods:
            self.state, self.model.proved = State.ACTIVE, True
            return
        arms, fallback = self.arms, self.fallback
        wrong = self.model.moved(now - self._began, arms.qd, arms.measurement)
        if wrong is not None:
            self.trip(now, wrong)
        if not self.law_runs:
            held = fallback.disproved is not Response.NONE
            driven = self.model.runaway(now, arms.qd, held=held, lost=bool(fallback.lost))
            if driven is not None:
                self.trip(now, driven)

    def command(
        self,
        now: int,
        step: LawStep | None = None,
        *,
        wrists: Array | None = None,
        ramped: bool = True,
    ) -> Array | None:
        """Return the torque (na,) to send; None if arms have never relied on it.

        Args:
            now: Current time.
            step: Step of the law, if it ran.
            wrists: Measured grasp wrenches (k, 6); None if they are not measured, and the step's
                `held_body_wrenches` have no meaning.
            ramped: Whether the law has ramped in; its task is scaled until then.
        """
        if not self.in_charge:
            return None
        if self.law_runs:
            wanted = None if step is None else step.torque
            if wanted is None or wanted.shape != self._last.shape:
                self.trip(now, self.step_check.torque_missing(wanted))
                wanted = self._last
            if step is not None:
                sent = self._checked(now, step, wanted, wrists, ramped)
                if self.law_runs:
                    self._note(sent)
                    return sent
        arms = self.arms
        torque = self.fallback.torque(
            now,
            arms.q,
            arms.qd,
            self._last,
            held=self.object_held,
            false=arms.measurement.false_arms,
            lagging=arms.measurement.differenced_arms,
            still_s=arms.measurement.still_s,
        )
        self._note(torque)
        return torque

    def _note(self, torque: Array) -> None:
        """Keep a torque that is sent (na,)."""
        self._last = torque.copy()
        self.fallback.torques.sent.append(self._last)

    def _checked(
        self, now: int, step: LawStep, torque: Array, wrists: Array | None, ramped: bool
    ) -> Array:
        """Trip if a step breaks a rule; return its torque within the torque rate."""
        check, q = self.step_check, self.arms.q
        measured, warned = wrists is not None, bool(self.wrench_warning)
        if check.passes(step, torque, self._last, q, measured=measured, warned=warned):
            self._scaled_since = NEVER
            self.closure_warning = False
            if warned and not check.doubtful:
                self.wrench_warning = ""
            return torque
        low = ramped and not step.task_scale >= self.settings.least_task_scale
        self._scaled_since = min(self._scaled_since, now) if low else NEVER
        doubtful = check.doubtful and measured
        if not doubtful:
            self.wrench_warning = ""
        figures = check.figures(now - self._scaled_since)
        held = cast(HeldStep, step)  # only steps of held objects are read as such
        cell = CellStep(held, torque, q, figures, check.residuals, wrists)
        self.closure_warning = not check.arms_agree(figures)
        for found in check.findings(cell):
            self.trip(now, found)
        if not self.law_runs:  # what ends control is no mere warning
            self.wrench_warning = ""
            return torque
        if doubtful and not self.wrench_warning:
            self._warn_of_sensors(now, cell)
        if figures.change <= check.largest_change:
            return torque
        self.rate_limited += 1
        return within_rate(torque, self._last, check.largest_change)

    def _warn_of_sensors(self, now: int, cell: CellStep) -> None:
        """Store the first warning about each wrist sensor."""
        known = {sentence.partition(":")[0] for _, sentence in self.warnings}
        for sentence in self.step_check.warnings(cell):
            self.wrench_warning = self.wrench_warning or sentence
            subject = sentence.partition(":")[0]
            if subject not in known:
                known.add(subject)
                self.warnings += ((now, sentence),)

    def trip(self, now: int, found: Finding, *, judged: bool = False) -> bool:
        """Begin the response to a fault; see `FaultLatch.trip`.

        Args:
            now: Current time.
            found: The fault.
            judged: Whether it is the check's finding about the last samples.
        """
        fallback, arms = self.fallback, self.arms
        ran = self.law_runs or self.state is State.INACTIVE
        new = super().trip(now, found)
        if found.cause is Cause.ARM_LOST and found.subject in arms.names and self.in_charge:
            lost = arms.names.index(found.subject)
            if lost not in fallback.lost:
                arms.lose(lost, judged=judged)
            fallback.lost.lose(lost, now)  # anew by every bad sample
        if not new:
            return False
        if ran and not self.law_runs:
            fallback.hold_next()
        if found.cause is Cause.GRASP_LOST:
            self.object_held = False
        if self.in_charge and self.response >= Response.HOLD_JOINTS:
            if fallback.disproved is Response.NONE:
                self.model.begin_hold()
            fallback.distrust_model(self.response, arms.q, self._last, held=self.object_held)
        return True

    def rejected(self, now: int, error: StreamError, cause: Cause) -> None:
        """Report a refused sample of a stream."""
        self.trip(now, Finding(cause, error.stream, error.cause))

    def time_jumped(self, arm: str) -> None:
        """Report a jump of time: an arm's clock was set, or its simulator reset."""
        self.arms.time_jumped(arm)
        self.fallback.doubt_hold(self.arms.names.index(arm))

    def stop(self, now: int, sentence: str = "stopped on request.") -> None:
        """Hand over to the fallback and stay there until `reset`; also before a start."""
        self.trip(now, Finding(Cause.STOP_REQUESTED, "stop", sentence))

    def reset(self, now: int | None = None) -> None:
        """Clear faults and become inactive; the fallback continues to carry the arms.

        Raises:
            SafetyError: If control runs, a watched stream is still silent at time `now` (if
                given), or a lost arm is far beyond its limits.
        """
        arms, lost = self.arms, tuple(self.fallback.lost)
        if now is not None and self.state is not State.INACTIVE:
            arms.require_fresh(now, "reset")
            arms.require_near(lost if self.in_charge else (), self._joints)
        if self.law_runs:  # it held the pose; from now on the fallback does
            self.fallback.hold(arms.q)
        super().reset()
        if lost:
            self.fallback.move_hold(arms.measurement.q)
        arms.measurement.begin()

    def count_object(self) -> None:
        """Count the object's weight again, because it is in its grasps."""
        self.object_held = self._holding

    def release(self) -> None:
        """Stop commanding the arms: brakes or drives hold them."""
        self.reset()
        self.in_charge = False
        self.fallback.trust_model()
