# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The torques of the guard, without ROS."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from robot_dynamics.app.scenarios.cell import build_system, locked_joints
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array
from robot_dynamics.control.arm_model import ArmModel, with_load_in_hand
from robot_dynamics.control.clock import Clock
from robot_dynamics.control.fallback import FallbackTorque
from robot_dynamics.control.faults import Cause, Finding
from robot_dynamics.control.joint_states import JointStates
from robot_dynamics.control.safety import SafetyLayer
from robot_dynamics.errors import RobotDynamicsError


class GuardLoop:
    """The torques of the guard, without ROS: its own model holds the arms up.

    Times are integers, as in `control_loop`.

    Attributes:
        system: Model of arms and object.
        safety: Checks the measurements, and holds the fallback and its latch.
        joint_states: The streams of joint states.

    Args:
        scenario: The scenario.
        clock: The clock, which defines the times.
        ignored_joints: Further joint names that joint states can have.
        stale_after_s: Time without a sample after which an arm counts as lost [s]; 0 for the
            number of periods in the scenario.

    Raises:
        RobotDynamicsError: If the scenario is refused.
    """

    def __init__(
        self,
        scenario: Scenario,
        clock: Clock,
        *,
        ignored_joints: Iterable[str] = (),
        stale_after_s: float = 0.0,
    ) -> None:
        settings, period = scenario.safety, scenario.control.period
        self.system = system = build_system(scenario)
        self._empty, self._loaded = ArmModel(system), ArmModel(with_load_in_hand(system))
        self._effort = np.minimum(system.limits["effort"], 1e12)
        arms = {arm.name: arm.joints for arm in system.arms}
        self.safety = SafetyLayer(
            settings,
            arms,
            system.limits,
            FallbackTorque(
                settings,
                self._support,
                self._inertia,
                system.limits["effort"],
                system.arm_slices,
                scenario.control.command_delay_periods,
            ),
            period=period,
            clock=clock,
            rigid_object=system.object_joint is None,
            units=system.joint_units,
        )
        self.joint_states = JointStates(
            system,
            scenario.control,
            settings,
            self.safety,
            clock,
            ignored=(*locked_joints(scenario), *ignored_joints),
            stale_after_s=stale_after_s,
        )
        for watch in self.joint_states.watches:
            self.safety.monitor(watch, Cause.ARM_LOST)
        self._slices = dict(zip(arms, system.arm_slices, strict=True))
        self._commanded: dict[str, Array] = {}
        # Loads the kernels: a takeover must not wait for the compiler.
        for held in (True, False):
            self._support(system.posture, held)

    def take_command(self, arm: str, torque: Array) -> None:
        """Note the last commanded torques (n,) of an arm, from which a takeover starts."""
        own = self._slices[arm]
        if torque.shape == (own.stop - own.start,) and np.isfinite(torque).all():
            self._commanded[arm] = np.clip(torque, -self._effort[own], self._effort[own])

    def take_over(self, now: int, sentence: str, *, held: bool) -> None:
        """Command the arms; there must have been a sample of every arm.

        Args:
            now: The present time.
            sentence: Cause of the takeover, with the expected behaviour of the controller.
            held: Whether the object is assumed to be held.
        """
        self.joint_states.now = now
        q, qd = self.joint_states.state()
        self.safety.observe(now, q, qd, sampled=self.joint_states.sampled)
        try:
            torque = self._support(q, held)
        except RobotDynamicsError:  # false positions, at which loops of an arm stay open
            torque = np.zeros(len(q))
        for arm, commanded in self._commanded.items():
            torque[self._slices[arm]] = commanded
        found = Finding(Cause.CONTROLLER_LOST, "controller", sentence)
        grips = any(arm.contact.limits is not None for arm in self.system.arms)
        self.safety.take_over(now, torque, found, held=held, grips=grips)

    def cycle(self, now: int) -> Array | None:
        """Return the torque (na,) to send at a control instant; None if not in charge.

        No command must be sent to the arms in `safety.released`.
        """
        q, qd = self.joint_states.use(now)
        self.safety.observe(now, q, qd, sampled=self.joint_states.sampled)
        return self.safety.command(now)

    def reset(self, now: int) -> None:
        """Clear faults; the fallback stays in charge until `release`.

        Raises:
            SafetyError: If a stream of joint states is stale.
        """
        self.safety.reset(now)
        self.joint_states.complaints.clear()

    def release(self) -> None:
        """Stop commanding: a controller commands the arms again."""
        self.safety.release()

    def _inertia(self, q: Array, held: bool) -> Array:
        return (self._loaded if held else self._empty).inertia(q)

    def _support(self, q: Array, held: bool) -> Array:
        return (self._loaded if held else self._empty).support(q)
