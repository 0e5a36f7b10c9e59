# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a guard commands: arms that their controller has left, held up by a model of its own.

This is the guard node without ROS. Times are integers, as in `control_loop`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.app.scenario import Scenario, build_system
from robot_dynamics.control.arm_model import ArmModel, with_load_in_hand
from robot_dynamics.control.fallback import FallbackTorque
from robot_dynamics.control.faults import Cause, Finding, State
from robot_dynamics.control.safety import SafetyLayer
from robot_dynamics.nodes.joint_samples import JointSamples, follow_time, stacked

Array = NDArray[np.float64]


class GuardLoop:
    """The fallback of a scenario's safety settings, and the streams of joint states it needs.

    Attributes:
        system: Arms and object, as they are believed to be.
        safety: Checks what is measured, and holds the fallback and its latch.
        joints: The streams of joint states.

    Args:
        scenario: The scenario.
        unit_s: Unit of times [s]: the control period in lockstep, 1e-9 otherwise.
        ignored_joints: Names that joint states may hold besides those of the arms.
        stale_after_s: Time without a sample after which an arm counts as lost [s]; 0 for the
            number of periods that the scenario states.

    Raises:
        RobotDynamicsError: If the scenario is refused.
    """

    def __init__(
        self,
        scenario: Scenario,
        unit_s: float,
        *,
        ignored_joints: Iterable[str] = (),
        stale_after_s: float = 0.0,
    ) -> None:
        settings, period = scenario.safety, scenario.control.period
        self.system = system = build_system(scenario)
        self._alone, self._laden = ArmModel(system), ArmModel(with_load_in_hand(system))
        self._effort = np.minimum(system.limits["effort"], 1e12)
        arms = {arm.name: arm.joints for arm in system.arms}
        self.safety = SafetyLayer(
            settings,
            arms,
            system.limits,
            FallbackTorque(
                settings,
                self._support,
                self._alone.inertia,
                system.limits["effort"],
                system.arm_slices,
            ),
            period=period,
            unit_s=unit_s,
        )
        locked = {r.prefix + name for r in scenario.cell.robots for name in r.locked}
        stale_after = stale_after_s or settings.stale_after_periods * period
        self.joints = JointSamples(
            arms, stale_after, unit_s, {*locked, *ignored_joints}, self._lose_arm
        )
        for stream in self.joints.streams.values():
            self.safety.monitor(stream, Cause.ARM_LOST)
        self._slices = dict(zip(arms, system.arm_slices, strict=True))
        self._commanded: dict[str, Array] = {}
        self._used: dict[str, int | None] = {}
        self._now = 0
        self._complaints: dict[str, str] = {}
        # Loaded now: nothing may be compiled when it is needed.
        for held in (True, False):
            self._support(system.posture, held)

    @property
    def able(self) -> bool:
        """Whether every arm has brought a sample, so that there is a state to hold it up at."""
        return all(s.watch.arrival is not None for s in self.joints.streams.values())

    @property
    def complaint(self) -> str:
        """A sentence about samples that are refused at present; empty if none is."""
        return next(iter(self._complaints.values()), self.joints.strangers)

    @property
    def all_newer(self) -> bool:
        """Whether every arm has a sample newer than the last one used."""
        return all(
            s.watch.stamp is not None and s.watch.stamp != self._used.get(name)
            for name, s in self.joints.streams.items()
        )

    def take_joints(
        self,
        topic: str,
        stamp: int,
        names: list[str],
        position: ArrayLike,
        velocity: ArrayLike,
        now: int,
    ) -> None:
        """Take a message of joint states; see `JointSamples.accept`."""
        self._now = now
        if self.safety.state is State.INACTIVE:
            follow_time(stamp, (s.watch for s in self.joints.streams.values()))
        self.joints.accept(topic, stamp, names, position, velocity, now)
        for name in list(self._complaints):
            if self.joints.streams[name].watch.arrival == now:
                del self._complaints[name]

    def take_command(self, arm: str, torque: Array) -> None:
        """Note what an arm's drive was told to do (n,): a takeover departs from there."""
        own = self._slices[arm]
        if torque.shape == (own.stop - own.start,) and np.isfinite(torque).all():
            self._commanded[arm] = np.clip(torque, -self._effort[own], self._effort[own])

    def take_over(self, now: int, sentence: str, *, held: bool) -> None:
        """Be in charge from now on; every arm must have brought a sample.

        Args:
            now: The present time.
            sentence: What happened to the controller and what was expected.
            held: Whether the object is taken to be held.
        """
        self._now = now
        q, qd = stacked(self.joints.streams.values())
        self.safety.observe(now, q, qd)
        torque = self._support(q, held)
        for arm, commanded in self._commanded.items():
            torque[self._slices[arm]] = commanded
        found = Finding(Cause.CONTROLLER_LOST, "controller", sentence)
        self.safety.take_over(now, torque, found, held=held)

    def cycle(self, now: int) -> Array | None:
        """Return the torque (na,) to send at a control instant; None if not in charge.

        Nothing must be sent to the arms in `safety.released`.
        """
        self._now = now
        self._used = {name: s.watch.stamp for name, s in self.joints.streams.items()}
        self.safety.observe(now, *stacked(self.joints.streams.values()))
        return self.safety.command(now)

    def reset(self, now: int) -> None:
        """Forget faults; the fallback goes on until `release`.

        Raises:
            SafetyError: If a stream of joint states is stale.
        """
        self.safety.reset(now)
        self._complaints.clear()

    def release(self) -> None:
        """Let go of the arms: somebody else commands them."""
        self.safety.release()

    def _support(self, q: Array, held: bool) -> Array:
        return (self._laden if held else self._alone).support(q).copy()

    def _lose_arm(self, arm: str, sentence: str, jumped: bool) -> None:
        self._complaints[arm] = f"{arm}: {sentence}"
        self.safety.trip(self._now, Finding(Cause.ARM_LOST, arm, sentence))
        if jumped:
            self.joints.streams[arm].watch.forget()
