# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A scenario's controller with its streams: samples go in, torques come out.

This is the controller node without ROS. Times are integers: control ticks in lockstep,
nanoseconds of a steady clock otherwise (see `control.streams`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.app.scenario import Scenario, build_system
from robot_dynamics.control.coordinated import ControlStep
from robot_dynamics.control.faults import Cause, Finding, SafetyError, State
from robot_dynamics.control.safety import SafetyLayer
from robot_dynamics.control.streams import StreamError, StreamWatch, VectorStream
from robot_dynamics.control.supervised import SupervisedController
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.nodes.joint_samples import JointSamples, follow_time, stacked

Array = NDArray[np.float64]


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
    """The supervised controller of a scenario, and the streams that feed it.

    Attributes:
        system: Arms and object, as they are believed to be.
        supervised: The law behind its safety layer.
        joints: The streams of joint states.
        wrenches: The streams of wrist sensors, by arm; empty if there are none.
        began: Tick at which control was started last, None before the first start.

    Args:
        scenario: The scenario.
        unit_s: Unit of times [s]: the control period in lockstep, 1e-9 otherwise.
        use_wrenches: Whether there are wrist sensors.
        ignored_joints: Names that joint states may hold besides those of the arms.
        stale_after_s: Time without a sample after which a stream counts as lost [s]; 0 for the
            number of periods that the scenario states.

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
        stale_after_s: float = 0.0,
    ) -> None:
        control, settings = scenario.control, scenario.safety
        self.system: GraspSystem = build_system(scenario)
        self.supervised = SupervisedController(
            self.system,
            control,
            settings,
            scenario.plan(),
            unit_s=unit_s,
            wrist_sensors=use_wrenches,
        )
        stale_after = stale_after_s or settings.stale_after_periods * control.period
        arms = {arm.name: arm.joints for arm in self.system.arms}
        locked = {r.prefix + name for r in scenario.cell.robots for name in r.locked}
        self.joints = JointSamples(
            arms, stale_after, unit_s, {*locked, *ignored_joints}, self._lose_arm
        )
        self.wrenches = {
            arm: VectorStream(f"{arm}/wrench", 6, stale_after, unit_s)
            for arm in (arms if use_wrenches else ())
        }
        self._watches: list[StreamWatch] = []
        for stream in self.joints.streams.values():
            self.safety.monitor(stream, Cause.ARM_LOST)
            self._watches.append(stream.watch)
        for wrench in self.wrenches.values():
            self.safety.monitor(wrench, Cause.WRENCH_LOST)
            self._watches.append(wrench.watch)
        self._now = 0
        self._used: dict[str, int | None] = {}
        self._complaints: dict[str, str] = {}
        self.began: int | None = None

    @property
    def safety(self) -> SafetyLayer:
        """What decides whether the law's torques are sent."""
        return self.supervised.safety

    @property
    def complaint(self) -> str:
        """A sentence about samples that are refused at present; empty if none is."""
        return next(iter(self._complaints.values()), self.joints.strangers)

    @property
    def complete(self) -> bool:
        """Whether every stream has brought a sample of late."""
        return not any(watch.is_stale(self._now) for watch in self._watches)

    @property
    def all_newer(self) -> bool:
        """Whether every arm has a sample newer than the last one used."""
        used = self._used
        return all(
            s.watch.stamp is not None and s.watch.stamp != used.get(name)
            for name, s in self.joints.streams.items()
        )

    def arms_known(self, now: int) -> bool:
        """Return whether no arm has been silent for too long."""
        return not any(s.watch.is_stale(now) for s in self.joints.streams.values())

    def take_joints(
        self,
        topic: str,
        stamp: int,
        names: list[str],
        position: ArrayLike,
        velocity: ArrayLike,
        now: int,
    ) -> bool:
        """Take a message of joint states; see `JointSamples.accept`."""
        self._now = now
        if self.safety.state is State.INACTIVE:
            follow_time(stamp, (s.watch for s in self.joints.streams.values()))
        newer = self.joints.accept(topic, stamp, names, position, velocity, now)
        if self._complaints:
            self._drop_complaints()
        return newer

    def take_wrench(self, arm: str, stamp: int, wrench: Array, now: int) -> None:
        """Take the wrench (6,) of an arm's wrist sensor, by the arm on the object."""
        self._now = now
        stream = self.wrenches[arm]
        if self.safety.state is State.INACTIVE:
            follow_time(stamp, (stream.watch,))
        try:
            stream.accept(stamp, wrench, now)
        except StreamError as error:
            self._complaints[stream.name] = f"{stream.name}: {error.cause}"
            self.safety.rejected(now, error, Cause.WRENCH_LOST)
            # The fault is latched; the next sample is the first of a new time.
            follow_time(stamp, (stream.watch,))

    def prepare(self, now: int) -> bool:
        """Check state and reference before a start; that takes a tenth of a second.

        Args:
            now: The present time.

        Returns:
            Whether there was anything to check: `start` says what is missing if not.

        Raises:
            RobotDynamicsError: If they are refused; one sentence says why.
        """
        self._now = now
        if not self.complete:
            return False
        self.supervised.check(*stacked(self.joints.streams.values()))
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
        silent = [watch for watch in self._watches if watch.is_stale(now)]
        if silent:
            # Why a stream is silent is of more use than that it is.
            reason = self.complaint or f"{silent[0].name}: {silent[0].staleness(now)}"
            raise SafetyError(f"start refused: {reason}")
        self.supervised.start(now, *self._seen())
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
        self._complaints.clear()

    def cycle(self, now: int, tick: int) -> Outcome:
        """Return what to send at a control instant.

        Args:
            now: The present time.
            tick: The control tick.
        """
        self._now = now
        self._used = {name: s.watch.stamp for name, s in self.joints.streams.items()}
        q, qd, wrenches = self._seen()
        if self.began is None:
            self.safety.observe(now, q, qd, wrenches)
            return Outcome(None, (), None, 0.0)
        begin = time.perf_counter()
        torque, step = self.supervised.update(now, tick - self.began, q, qd, wrenches)
        return Outcome(torque, self.safety.released, step, time.perf_counter() - begin)

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
        self._complaints[arm] = f"{arm}: {sentence}"
        self.safety.trip(self._now, Finding(Cause.ARM_LOST, arm, sentence))
        if jumped:
            self.joints.streams[arm].watch.forget()

    def _drop_complaints(self) -> None:
        """Forget complaints about streams that have brought something good since."""
        good = {watch.name for watch in self._watches if watch.arrival == self._now}
        self._complaints = {n: s for n, s in self._complaints.items() if n not in good}
