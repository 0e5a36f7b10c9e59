# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A scenario's controller behind its safety layer: samples go in, torques come out.

This is the controller node without ROS. Times are integers: control ticks in lockstep,
nanoseconds of a steady clock otherwise (see `control.streams`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.scenario import Scenario, build_system
from robot_dynamics.control.coordinated import ControlStep, CoordinatedController
from robot_dynamics.control.fallback import FallbackTorque
from robot_dynamics.control.faults import Cause, Finding, State
from robot_dynamics.control.gains import check_gains
from robot_dynamics.control.preflight import check_reference
from robot_dynamics.control.safety import SafetyLayer
from robot_dynamics.control.start_check import check_start
from robot_dynamics.control.streams import StreamError, VectorStream
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.joint_samples import JointSamples, stacked
from robot_dynamics.robot import Robot

Array = NDArray[np.float64]

_SUPPORT_LOAD = 3  # in ControlStep.scales: the largest support over its limit
_SAME_PLACE = 1e-3  # [rad or m] within which a rehearsed motion is the one that will be made


class Outcome(NamedTuple):
    """What a control instant came to.

    Attributes:
        torque: What to send (na,); None if the arms have never relied on torques from here.
        released: Arms to which no command must be sent: their drives hold them.
        step: What the law saw and wanted; its torque need not be what is sent.
        elapsed_s: Time that the law and the safety layer took [s].
    """

    torque: Array | None
    released: tuple[str, ...]
    step: ControlStep | None
    elapsed_s: float


class ControlLoop:
    """Controller, safety layer and streams of a scenario.

    Attributes:
        system: Arms and object, as they are believed to be.
        controller: The law.
        safety: What decides whether its torques are sent.
        joints: The streams of joint states.
        wrenches: The streams of wrist sensors, by arm; empty if there are none.
        complaint: The last sentence about a sample that was refused; empty without one.
        began: Tick at which control was started last, None before the first start.

    Args:
        scenario: The scenario.
        unit_s: Unit of times [s]: the control period in lockstep, 1e-9 otherwise.
        use_wrenches: Whether there are wrist sensors.
        ignored_joints: Names that joint states may hold besides those of the arms.

    Raises:
        RobotDynamicsError: If the scenario is refused.
    """

    def __init__(
        self,
        scenario: Scenario,
        unit_s: float,
        *,
        use_wrenches: bool = True,
        ignored_joints: Iterable[str] = (),
    ) -> None:
        control, settings = scenario.control, scenario.safety
        self._scenario, self._unit = scenario, unit_s
        self.system = system = build_system(scenario)
        check_gains(control)
        self.reference = scenario.plan()
        self.controller = CoordinatedController(
            system,
            control,
            settings,
            self.reference,
            friction_velocity=scenario.plant.friction_velocity,
        )
        self._terms = Robot(system.model).constraint_terms
        arms = {arm.name: arm.joints for arm in system.arms}
        self.safety = SafetyLayer(
            settings,
            arms,
            system.limits,
            self._fallback(),
            period=control.period,
            unit_s=unit_s,
            ramp_s=control.start.ramp_s,
            wrench_count=len(system.arms) if use_wrenches else 0,
        )
        stale_after = settings.stale_after_periods * control.period
        self.complaint = ""
        locked = {r.prefix + name for r in scenario.cell.robots for name in r.locked}
        ignored = {*locked, *ignored_joints}
        self.joints = JointSamples(arms, stale_after, unit_s, ignored, self._lose_arm)
        self.wrenches = {
            arm: VectorStream(f"{arm}/wrench", 6, stale_after, unit_s)
            for arm in (arms if use_wrenches else ())
        }
        for stream in self.joints.streams.values():
            self.safety.monitor(stream, Cause.ARM_LOST)
        for wrench in self.wrenches.values():
            self.safety.monitor(wrench, Cause.WRENCH_LOST)
        self._now = 0
        self._used: dict[str, int | None] = {}
        self._rehearsed: Array | None = None
        self.began: int | None = None

    @property
    def complete(self) -> bool:
        """Whether every stream has brought a sample of late."""
        watches = [stream.watch for stream in self.joints.streams.values()]
        watches += [wrench.watch for wrench in self.wrenches.values()]
        return not any(watch.is_stale(self._now) for watch in watches)

    def complete_at(self, now: int) -> bool:
        """Return whether no arm has been silent for too long."""
        return not any(s.watch.is_stale(now) for s in self.joints.streams.values())

    @property
    def all_newer(self) -> bool:
        """Whether every arm has a sample newer than the last one used."""
        used = self._used
        return all(
            s.watch.stamp is not None and s.watch.stamp != used.get(name)
            for name, s in self.joints.streams.items()
        )

    def take_joints(
        self,
        topic: str,
        stamp: int,
        names: list[str],
        position: NDArray[np.float64],
        velocity: NDArray[np.float64],
        now: int,
    ) -> bool:
        """Take a message of joint states; see `JointSamples.accept`."""
        self._now = now
        return self.joints.accept(topic, stamp, names, position, velocity, now)

    def take_wrench(self, arm: str, stamp: int, wrench: Array, now: int) -> None:
        """Take the wrench (6,) of an arm's wrist sensor, by the arm on the object."""
        self._now = now
        stream = self.wrenches[arm]
        try:
            stream.accept(stamp, wrench, now)
        except StreamError as error:
            self._note(f"{stream.name}: {error.cause}")
            self.safety.trip(now, Finding(Cause.WRENCH_LOST, stream.name, error.cause))
            watch = stream.watch
            if watch.stamp is not None and abs(stamp - watch.stamp) > watch.stale_after:
                watch.forget()

    def prepare(self, now: int) -> bool:
        """Check state and reference before a start; that takes a tenth of a second.

        Returns:
            Whether there was anything to check: `start` says what is missing if not.

        Raises:
            RobotDynamicsError: If they are refused; one sentence says why.
        """
        self._now, self._rehearsed = now, None
        if not self.complete:
            return False
        q, qd = stacked(self.joints.streams.values())
        check_start(self.system, self._scenario.control.start, self.reference.start, q, qd)
        check_reference(self.controller, self._scenario.safety, q, terms=self._terms)
        self._rehearsed = q
        return True

    def start(self, now: int, tick: int) -> None:
        """Start control from where the arms are, near to where it was prepared.

        Args:
            now: The present time.
            tick: The control tick, from which the reference is counted.

        Raises:
            RobotDynamicsError: If that is refused; one sentence says why.
        """
        self._now = now
        q, qd, wrenches = self._seen()
        support = None
        if self.complete:
            if self._rehearsed is None or np.max(np.abs(q - self._rehearsed)) > _SAME_PLACE:
                raise RobotDynamicsError(
                    "start refused: the arms have moved since the reference was checked; "
                    "expected them at rest."
                )
            check_start(self.system, self._scenario.control.start, self.reference.start, q, qd)
            support = self.controller.start(q, qd).support
        self.safety.observe(now, q, qd, wrenches)
        try:
            self.safety.start(now, support)
        except RobotDynamicsError as error:
            # Why a stream is silent is of more use than that it is.
            more = self.complaint or self.joints.strangers
            if not self.complete and more:
                raise RobotDynamicsError(f"{error} {more}") from error
            raise
        self.began = tick

    def stop(self, now: int) -> None:
        """Hand over to the fallback until `reset`."""
        self.safety.stop(now)

    def reset(self, now: int) -> None:
        """Forget faults and become inactive; the fallback goes on until the next start.

        Raises:
            SafetyError: If control runs, or a stream is still stale.
        """
        self.safety.reset(now)
        self.complaint = ""

    def cycle(self, now: int, tick: int) -> Outcome:
        """Return what to send at a control instant.

        Args:
            now: The present time.
            tick: The control tick.
        """
        self._now = now
        safety = self.safety
        self._used = {name: s.watch.stamp for name, s in self.joints.streams.items()}
        q, qd, wrenches = self._seen()
        begin = time.perf_counter()
        fit = safety.observe(now, q, qd, wrenches)
        if self.began is None:
            return Outcome(None, (), None, 0.0)
        if fit and safety.reference_held:
            # The law knows no way to come to rest where its reference moves.
            sentence = "the object cannot be held in mid-motion."
            safety.trip(now, Finding(Cause.CONTROLLER_FAILED, "reference", sentence))
            fit = False
        try:
            step = self.controller.update(tick - self.began, q, qd, wrenches)
        except RobotDynamicsError as error:
            safety.trip(now, Finding(Cause.CONTROLLER_FAILED, "controller", str(error)))
            return Outcome(safety.command(now), safety.released, None, 0.0)
        if fit:
            # Named only where it is too large; the comparison is false for what is no number.
            support = None if step.scales[_SUPPORT_LOAD] <= 1.0 else step.support
            torque = safety.command(now, step.torque, closure=step.closure, support=support)
        else:
            torque = safety.command(now)
        return Outcome(torque, safety.released, step, time.perf_counter() - begin)

    def cycle_without_samples(self, now: int) -> Outcome:
        """Return what to send when nothing new has come: the fallback, once a stream is stale."""
        self._now = now
        self.safety.observe(now, *self._seen())
        return Outcome(self.safety.command(now), self.safety.released, None, 0.0)

    def fall_back(self, now: int, cause: Cause, subject: str, sentence: str) -> Outcome:
        """Take up a fault that was found outside, and return what to send."""
        self.safety.trip(now, Finding(cause, subject, sentence))
        return Outcome(self.safety.command(now), self.safety.released, None, 0.0)

    def _seen(self) -> tuple[Array, Array, Array | None]:
        """Return last good positions, velocities and wrenches."""
        q, qd = stacked(self.joints.streams.values())
        if not self.wrenches or not self.safety.wrenches_usable:
            return q, qd, None
        return q, qd, np.stack([stream.values for stream in self.wrenches.values()])

    def _lose_arm(self, arm: str, sentence: str, jumped: bool) -> None:
        self._note(f"{arm}: {sentence}")
        self.safety.trip(self._now, Finding(Cause.ARM_LOST, arm, sentence))
        if jumped:
            # The fault is latched; the next sample is the first of a new time.
            self.joints.streams[arm].watch.forget()

    def _note(self, sentence: str) -> None:
        self.complaint = sentence

    def _fallback(self) -> FallbackTorque:
        system = self.system
        at = system.model.neutral()
        at[system.q_index] = system.posture
        H = self._terms(at, np.zeros(system.model.nv))[0]
        return FallbackTorque(
            self._scenario.safety,
            self._support,
            np.asarray(np.diagonal(H)[system.v_index]),
            system.limits["effort"],
            system.arm_slices,
        )

    def _support(self, q: Array, held: bool) -> Array:
        """Return what holds the arms up at rest (na,), with the object or without it."""
        if held:
            return self.controller.hold_support(q)
        system = self.system
        at = system.model.neutral()
        at[system.q_index] = q
        return np.asarray(self._terms(at, np.zeros(system.model.nv))[1][system.v_index])

    @property
    def state(self) -> State:
        """Where the safety layer stands."""
        return self.safety.state
