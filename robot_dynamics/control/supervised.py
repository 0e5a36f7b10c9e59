# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A control law behind its safety layer, for any source of samples."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.arm_model import ArmModel
from robot_dynamics.control.control_law import ControlLaw, LawStep, ObjectPlan
from robot_dynamics.control.fallback import FallbackTorque
from robot_dynamics.control.faults import Cause, Finding, SafetyError
from robot_dynamics.control.proximity import Proximity
from robot_dynamics.control.safety import SafetyLayer
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.control.start_check import StartError
from robot_dynamics.control.streamed.intake import ReferenceIntake
from robot_dynamics.control.streamed.trajectory import TrajectoryError
from robot_dynamics.control.wrench_residual import GraspSum, WrenchResidual, watched_bodies
from robot_dynamics.errors import RobotDynamicsError, sentence_of

Array = NDArray[np.float64]

_TRIALS = 5
_STEP_SHARE = 0.5  # part of the control period that the law may take on a clock
_SAME_PLACE = 1e-3  # how far joints may move between check and start [rad or m]


class SupervisedController:
    """A law and its safety layer: what may be sent, whatever comes in.

    Everything that is needed in a fault is compiled here, before arms move.

    Attributes:
        system: Arms and object as they are believed to be.
        controller: The law.
        safety: What decides whether its torques are sent.
        step_time: Time that one step of the law took when it was tried [s].
        intake: Takes references while control runs; None if the law follows none.

    Args:
        law: What makes the torques.
        control: Rate and start.
        settings: Limits and fallback.
        unit_s: Unit of the safety layer's times [s]: the control period in lockstep, less on a
            clock.
        wrist_sensors: Whether the arms have sensors of the grasp wrenches.
        object_box: Lower and upper corner of the object's box in its own frame (2, 3) [m], which
            links keep away from.
        friction: Of the surfaces that the object pushes on, at most.
        holds_object: Whether the arms hold the object.

    Raises:
        RobotDynamicsError: If the settings do not fit the system.
    """

    def __init__(
        self,
        law: ControlLaw,
        control: ControlSettings,
        settings: SafetySettings,
        *,
        unit_s: float,
        wrist_sensors: bool = True,
        object_box: ArrayLike | None = None,
        friction: float = 0.0,
        holds_object: bool = True,
    ) -> None:
        self.controller = law
        self.system = system = law.system
        self._control = control
        self._arms = ArmModel(system)
        self.safety = SafetyLayer(
            settings,
            {arm.name: arm.joints for arm in system.arms},
            system.limits,
            FallbackTorque(
                settings,
                self._support,
                self._arms.inertia,
                system.limits["effort"],
                system.arm_slices,
            ),
            period=control.period,
            unit_s=unit_s,
            ramp_s=control.start.ramp_s,
            wrench_count=len(system.arms) if wrist_sensors else 0,
            holds_object=holds_object,
        )
        # Everything that is needed in a fault is loaded now: nothing may be compiled then.
        self._support(system.posture, True)
        self._support(system.posture, False)
        # The shortest of some trials: one alone may have been held up by another process.
        self.step_time = np.inf
        for _ in range(_TRIALS):
            begin = time.perf_counter()
            self.controller.hold_support(system.posture)
            self.step_time = min(self.step_time, time.perf_counter() - begin)
        self._on_a_clock = unit_s != control.period
        self._proximity = Proximity(system, settings, object_box)
        self._bodies: tuple[WrenchResidual, ...] = ()
        if wrist_sensors and holds_object:
            self._bodies = watched_bodies(system, settings, control.period, friction)
            if law.held_bodies != len(self._bodies):
                raise RobotDynamicsError(
                    f"the law estimates the wrench of {law.held_bodies} body, expected a law that "
                    f"estimates it for each of the {len(self._bodies)} parts that are held."
                )
        self._sum = GraspSum(system)  # for laws that do not estimate it
        self.intake: ReferenceIntake | None = None
        if law.follows:
            self.intake = ReferenceIntake(
                law, system, settings, self._arms.terms, self._proximity, control.period
            )
        self._unit_s = unit_s
        self._step: LawStep | None = None
        self._holding = False
        self._checked_start: Array | None = None

    @property
    def reference(self) -> ObjectPlan:
        """What the object is to do."""
        return self.controller.reference

    def check(self, q: Array, qd: Array) -> None:
        """Check state and reference before a start; that takes a tenth of a second.

        Args:
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).

        Raises:
            RobotDynamicsError: As `check_state` and `check_path` do.
        """
        self.check_state(q, qd)
        self.check_path(q)

    def check_state(self, q: Array, qd: Array) -> None:
        """Check in a moment whether control may start from a state.

        Args:
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).

        Raises:
            StartError: If the arms are not at their grasps, or not at rest.
            SafetyError: If a fault is latched, control runs already, or a step takes too long for
                the control rate on a clock.
        """
        self.safety.require_inactive()
        if self._on_a_clock and self.step_time > _STEP_SHARE * self._control.period:
            raise SafetyError(
                f"start refused: a step of the law takes {1e3 * self.step_time:.2g} ms of the "
                f"period of {1e3 * self._control.period:.2g} ms; expected at most "
                f"{100 * _STEP_SHARE:.0f} %: install llvmlite, or lower control.rate_hz."
            )
        self.controller.check_start(q, qd)

    def check_path(self, q: Array) -> None:
        """Check the reference from a state on, and note that `start` may begin near to it.

        Another thread may do this while the fallback runs in this one: nothing is changed that
        the fallback uses.

        Args:
            q: Positions of the arm joints (na,).

        Raises:
            PreflightError: If the arms cannot follow the reference from there.
        """
        self._checked_start = None
        self.controller.check_path(q)
        self._checked_start = np.array(q, dtype=float)

    def start(self, now: int, q: Array, qd: Array, wrenches: Array | None) -> LawStep:
        """Begin, near to where the reference was checked, and return what the law sees.

        Args:
            now: The present time, in units of the safety layer.
            q: Positions of the arm joints (na,).
            qd: Their velocities (na,).
            wrenches: Grasp wrenches (k, 6), if they are measured.

        Raises:
            StartError: If the arms have moved since the check.
            SafetyError: If a fault is latched, a stream is stale, or control runs already.
        """
        moved = np.inf if self._checked_start is None else np.abs(q - self._checked_start)
        worst = int(np.argmax(moved))
        if not np.all(moved <= _SAME_PLACE):
            name, far = self.system.joint_names[worst], float(np.atleast_1d(moved)[worst])
            raise StartError(
                name,
                far,
                _SAME_PLACE,
                f"joint {name!r} has moved since the reference was checked.",
            )
        self.controller.check_start(q, qd)
        self.safety.observe(now, q, qd, wrenches)
        # Safety is asked first: a refused start must not touch a law that runs.
        self.safety.start(now, self.controller.hold_support(q))
        self._holding = False
        seen = self.controller.start(q, qd, self.safety.last)
        self._proximity.begin(q, seen.pose)
        if self.intake is not None:
            self.intake.begin()
        for body in self._bodies:
            body.begin()
        return seen

    def update(
        self, now: int, tick: int, q: Array, qd: Array, wrenches: Array | None
    ) -> tuple[Array | None, LawStep | None]:
        """Return what to send (na,) and what the law saw.

        The first is None while the arms do not rely on torques from here, the second while the
        law does not run: it is given no numbers that were found bad.

        Args:
            now: The present time, in units of the safety layer.
            tick: Control periods since the start.
            q: Positions of the arm joints (na,); unchecked.
            qd: Their velocities (na,); unchecked.
            wrenches: Grasp wrenches (k, 6), by the arms on the object, in tool frames.
        """
        safety = self.safety
        fit = safety.observe(now, q, qd, wrenches)
        if not fit:
            return safety.command(now), None
        if not safety.wrenches_usable:
            wrenches = None
        try:
            if safety.reference_held and not self._holding:
                self._holding = True
                self.controller.hold(tick)
            step = self.controller.update(tick, q, qd, wrenches)
        except Exception as error:  # arms hang on this: no error whatever may end the control
            found = Finding(Cause.CONTROLLER_FAILED, "controller", sentence_of(error))
            safety.trip(now, found)
            return safety.command(now), None
        for found in self._watch(now, q, wrenches, step):
            safety.trip(now, found)
        # Named only where it is too large; the comparison is false for what is no number.
        support = None if step.support_torque_ratio <= 1.0 else step.support
        torque = safety.command(
            now,
            step.torque,
            closure=step.closure,
            support=support,
            error=step.error,
            task_scale=step.task_scale if tick >= self.controller.ramp_ticks else 1.0,
        )
        self._step = step
        if self.intake is not None and safety.law_runs and not safety.reference_held:
            self.intake.advance(now * self._unit_s, tick, q, step)
        return torque, step

    def follow_path(
        self,
        now: int,
        times: ArrayLike,
        poses: ArrayLike,
        twists: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        *,
        late: float | None = None,
    ) -> None:
        """Let the object follow a trajectory from outside; see `ReferenceIntake.take_path`.

        Raises:
            TrajectoryError: If it is refused.
        """
        intake, _ = self._following()
        when = now * self._unit_s
        intake.take_path(when, times, poses, twists, accelerations, late=late)

    def follow_internal_force(self, values: ArrayLike) -> None:
        """Let the internal force be this from now on; see `ReferenceIntake.take_internal_force`.

        Raises:
            TrajectoryError: If it is refused.
        """
        intake, _ = self._following()
        intake.take_internal_force(values)

    def follow_contact_force(self, surface: str, wrench: ArrayLike) -> None:
        """Let the force on a surface be this; see `ReferenceIntake.take_contact_force`.

        Raises:
            RobotDynamicsError: If it is refused.
        """
        intake, step = self._following()
        intake.take_contact_force(surface, wrench, step)

    def follow_surfaces(self, names: Iterable[str]) -> None:
        """Let the object touch these surfaces alone; see `ReferenceIntake.take_surfaces`.

        Raises:
            RobotDynamicsError: If it is refused.
        """
        intake, step = self._following()
        intake.take_surfaces(names, step)

    def _following(self) -> tuple[ReferenceIntake, LawStep]:
        """Return what takes references, and the last step of the law that runs.

        Raises:
            TrajectoryError: If there is none.
        """
        if self.intake is None:
            raise TrajectoryError("the control law follows the scenario alone.")
        if self._step is None or not self.safety.law_runs or self.safety.reference_held:
            raise TrajectoryError("control does not run; expected a start before it.")
        return self.intake, self._step

    def _watch(
        self, now: int, q: Array, wrenches: Array | None, step: LawStep
    ) -> Iterator[Finding]:
        """Yield what is wrong around arms and object, and with references that were to come."""
        if self.intake is not None:
            found = self.intake.lost(now * self._unit_s)
            if found is not None:
                yield found
        found = self._proximity.finding(q, step.pose)
        if found is not None:
            yield found
        if self._bodies and wrenches is not None:
            measured = step.held_body_wrenches()
            if measured is None:
                measured = (
                    self._sum.held_body_wrench(wrenches, step.pose, step.twist, step.reference),
                )
            for body, what in zip(self._bodies, measured, strict=True):
                found = body.finding(what)
                if found is not None:
                    yield found

    def _support(self, q: Array, held: bool) -> Array:
        """Return what holds the arms up at rest (na,), with the object or without it."""
        return self.controller.hold_support(q) if held else self._arms.support(q)
