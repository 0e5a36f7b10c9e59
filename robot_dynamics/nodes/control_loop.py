# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A scenario's controller with its streams: samples go in, torques come out.

This is the controller node without ROS. Times are integers: control ticks in lockstep,
nanoseconds of a steady clock otherwise (see `control.streams`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.laws import supervised_law
from robot_dynamics.app.scenario import Scenario, build_system
from robot_dynamics.control.control_law import LawStep
from robot_dynamics.control.faults import Cause, Finding, StaleStreamError, State
from robot_dynamics.control.safety import SafetyLayer
from robot_dynamics.control.streams import StreamError, VectorStream
from robot_dynamics.errors import sentence_of
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.nodes.arm_streams import ArmStreams
from robot_dynamics.nodes.joint_samples import follow_time

Array = NDArray[np.float64]

_PAUSED = "deactivated on request."


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
    step: LawStep | None
    elapsed_s: float


class ControlLoop:
    """The supervised controller of a scenario, and the streams that feed it.

    Attributes:
        system: Arms and object, as they are believed to be.
        supervised: The law behind its safety layer.
        arms: The streams of joint states.
        wrenches: The streams of wrist sensors, by arm; empty if there are none.
        began: Tick at which control was started last, None before the first start.

    Args:
        scenario: The scenario.
        unit_s: Unit of times [s]: the control period in lockstep, 1e-9 otherwise.
        use_wrenches: Whether there are wrist sensors.
        ignored_joints: Names that joint states may hold besides those of the arms.
        stale_after_s: Time without a sample after which a stream counts as lost [s]; 0 for the
            number of periods that the scenario states.
        rate_tolerance: Part of the control rate by which samples of an arm may come more slowly.

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
        rate_tolerance: float = 0.2,
    ) -> None:
        self.system: GraspSystem = build_system(scenario)
        self.supervised = supervised_law(
            scenario, self.system, unit_s=unit_s, wrist_sensors=use_wrenches
        )
        self.arms = ArmStreams(
            scenario,
            self.system,
            self.safety,
            unit_s,
            ignored_joints,
            stale_after_s,
            rate_tolerance,
        )
        self.wrenches = {
            arm.name: VectorStream(f"{arm.name}/wrench", 6, self.arms.stale_after_s, unit_s)
            for arm in (self.system.arms if use_wrenches else ())
        }
        self._watches = self.arms.watches
        for wrench in self.wrenches.values():
            self.safety.monitor(wrench, Cause.WRENCH_LOST)
            self._watches.append(wrench.watch)
        self.began: int | None = None

    @property
    def safety(self) -> SafetyLayer:
        """What decides whether the law's torques are sent."""
        return self.supervised.safety

    @property
    def complaint(self) -> str:
        """A sentence about samples that are refused at present; empty if none is."""
        return self.arms.complaint

    @property
    def complete(self) -> bool:
        """Whether every stream has brought a sample of late."""
        return not any(watch.is_stale(self.arms.now) for watch in self._watches)

    def take_wrench(self, arm: str, stamp: int, wrench: Array, now: int) -> None:
        """Take the wrench (6,) of an arm's wrist sensor, by the arm on the object."""
        self.arms.now = now
        stream = self.wrenches[arm]
        if self.safety.state is State.INACTIVE:
            follow_time(stamp, (stream.watch,))
        try:
            stream.accept(stamp, wrench, now)
            self.arms.complaints.pop(stream.name, None)
        except StreamError as error:
            self.arms.complaints[stream.name] = f"{stream.name}: {error.cause}"
            self.safety.rejected(now, error, Cause.WRENCH_LOST)
            # The fault is latched; the next sample is the first of a new time.
            follow_time(stamp, (stream.watch,))

    def require_samples(self, now: int) -> None:
        """Refuse a start while a stream is silent.

        Raises:
            StaleStreamError: If one is; why is of more use than that it is.
        """
        self.arms.now = now
        for watch in self._watches:
            if watch.is_stale(now):
                reason = self.complaint or f"{watch.name}: {watch.staleness(now)}"
                raise StaleStreamError(f"start refused: {reason}")

    def prepare(self, now: int) -> Callable[[], None]:
        """Check the state before a start, and return the check of the path from there.

        That takes a tenth of a second, and may be done by another thread; see
        `SupervisedController.check_path`.

        Args:
            now: The present time.

        Raises:
            RobotDynamicsError: If the state is refused; one sentence says why.
        """
        self.require_samples(now)
        q, qd = self.arms.state()
        self.supervised.check_state(q, qd)
        return partial(self.supervised.check_path, q)

    def start(self, now: int, tick: int) -> None:
        """Start control from where the arms are, near to where it was prepared.

        Args:
            now: The present time.
            tick: The control tick, from which the reference is counted.

        Raises:
            RobotDynamicsError: If that is refused; one sentence says why.
        """
        self.require_samples(now)
        ran = self.safety.law_runs
        try:
            self.supervised.start(now, *self.arms.state(), self._wrenches_seen())
        except Exception as error:
            if (
                self.safety.law_runs and not ran
            ):  # it had begun: nobody knows what the law has learned
                self.began = tick
                self.fall_back(now, Cause.CONTROLLER_FAILED, "controller", sentence_of(error))
            raise
        self.began = tick

    def require_startable(self) -> None:
        """Refuse a start while control runs, or a fault is latched that is no mere pause.

        Raises:
            SafetyError: If that is so.
        """
        if not self._paused:
            self.safety.require_inactive()

    def pause(self, now: int) -> None:
        """Hand over to the fallback until the next start, if control runs."""
        if self.safety.law_runs:
            self.safety.stop(now, _PAUSED)

    def forget_pause(self, now: int) -> None:
        """Forget that control was paused: who asks for a start wants it to go on.

        Raises:
            SafetyError: If a stream is stale.
        """
        if self._paused:
            self.reset(now)

    @property
    def _paused(self) -> bool:
        """Whether control rests for no other reason than that it was asked to."""
        faults = self.safety.faults
        return bool(faults) and all(found.sentence == _PAUSED for _, found in faults)

    def stop(self, now: int) -> None:
        """Hand over to the fallback until `reset`."""
        self.safety.stop(now)

    def let_go(self) -> None:
        """Command nothing until the next start, unless the law runs: brakes hold the arms.

        What is latched stays so.
        """
        if not self.safety.law_runs:
            self.safety.in_charge = False

    def reset(self, now: int) -> None:
        """Forget faults and become inactive; the fallback goes on until the next start.

        Raises:
            SafetyError: If control runs, or a stream is still stale.
        """
        self.safety.reset(now)
        self.arms.complaints.clear()

    def cycle(self, now: int, tick: int) -> Outcome:
        """Return what to send at a control instant.

        Whatever goes wrong in it ends in the fallback. If that goes wrong as well, nothing can be
        said of the arms any more: the error is raised, and who watches for silence takes over.

        Args:
            now: The present time.
            tick: The control tick.
        """
        begin = time.perf_counter()
        step = None
        try:
            q, qd = self.arms.use(now)
            wrenches = self._wrenches_seen()
            if self.began is None:
                self.safety.observe(now, q, qd, wrenches)
                return Outcome(None, (), None, 0.0)
            torque, step = self.supervised.update(now, tick - self.began, q, qd, wrenches)
        except Exception as error:
            if not self.safety.in_charge:
                raise  # nothing hangs on it
            found = Finding(Cause.CONTROLLER_FAILED, "controller", sentence_of(error))
            self.safety.trip(now, found)
            torque = self.safety.command(now)
        return Outcome(torque, self.safety.released, step, time.perf_counter() - begin)

    def cycle_without_samples(self, now: int) -> Outcome:
        """Return what to send when nothing new has come: the fallback, once a stream is stale."""
        self.arms.now = now
        self.safety.observe(now, *self.arms.state(), self._wrenches_seen())
        return Outcome(self.safety.command(now), self.safety.released, None, 0.0)

    def fall_back(self, now: int, cause: Cause, subject: str, sentence: str) -> Outcome:
        """Take up a fault that was found outside, and return what to send."""
        self.safety.trip(now, Finding(cause, subject, sentence))
        return Outcome(self.safety.command(now), self.safety.released, None, 0.0)

    def _wrenches_seen(self) -> Array | None:
        """Return the last good wrenches (k, 6); None if they are not to be used."""
        if not self.wrenches or not self.safety.wrenches_usable:
            return None
        return np.stack([stream.values for stream in self.wrenches.values()])
