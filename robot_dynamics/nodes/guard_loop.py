# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a guard commands: arms that their controller has left, held up by a model of its own.

This is the guard node without ROS. Times are integers, as in `control_loop`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.scenario import Scenario, build_system
from robot_dynamics.control.arm_model import ArmModel, with_load_in_hand
from robot_dynamics.control.fallback import FallbackTorque
from robot_dynamics.control.faults import Cause, Finding
from robot_dynamics.control.safety import SafetyLayer
from robot_dynamics.nodes.arm_streams import ArmStreams

Array = NDArray[np.float64]


class GuardLoop:
    """The fallback of a scenario's safety settings, and the streams of joint states it needs.

    Attributes:
        system: Arms and object, as they are believed to be.
        safety: Checks what is measured, and holds the fallback and its latch.
        arms: The streams of joint states.

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
        self.arms = ArmStreams(
            scenario, system, self.safety, unit_s, ignored_joints, stale_after_s
        )
        self._slices = dict(zip(arms, system.arm_slices, strict=True))
        self._commanded: dict[str, Array] = {}
        # Loaded now: nothing may be compiled when it is needed.
        for held in (True, False):
            self._support(system.posture, held)

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
        self.arms.now = now
        q, qd = self.arms.state()
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
        self.safety.observe(now, *self.arms.use(now))
        return self.safety.command(now)

    def reset(self, now: int) -> None:
        """Forget faults; the fallback goes on until `release`.

        Raises:
            SafetyError: If a stream of joint states is stale.
        """
        self.safety.reset(now)
        self.arms.complaints.clear()

    def release(self) -> None:
        """Let go of the arms: somebody else commands them."""
        self.safety.release()

    def _support(self, q: Array, held: bool) -> Array:
        return (self._laden if held else self._alone).support(q)
