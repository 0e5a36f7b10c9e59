# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of controlled arms, the responses to them, and the latch that keeps both."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import NamedTuple

from robot_dynamics.errors import RobotDynamicsError


class State(Enum):
    """State of a controller."""

    INACTIVE = "inactive"
    STARTING = "starting"
    ACTIVE = "active"
    FALLBACK = "fallback"
    STOPPED = "stopped"


class Response(IntEnum):
    """Response to a fault; a larger one is more drastic."""

    NONE = 0
    HOLD_POSE = 1  # the law goes on at rest, with the last safe squeeze
    SUPPORT = 2  # the configured fallback, with the object
    SUPPORT_WITHOUT_OBJECT = 3  # the configured fallback, without the object
    HOLD_JOINTS = 4  # by what is measured alone, without gravity of the model
    GIVE_UP = 5  # zero commands, and then what is configured for lost arms


class Cause(Enum):
    """Cause of a fault."""

    REFERENCE_LOST = "reference lost"
    WRENCH_LOST = "wrench lost"
    WRENCH_WRONG = "wrench wrong"
    ARM_LOST = "arm lost"
    OBJECT_POSE_LOST = "object pose lost"
    GRASP_LOST = "grasp lost"
    GRASP_TILTED = "grasp tilted"
    UNEXPECTED_CONTACT = "unexpected contact"
    JAMMED = "jammed"
    TOO_CLOSE = "too close"
    SUPPORT_LIMIT = "support beyond limit"
    POSITION_LIMIT = "position limit"
    VELOCITY_LIMIT = "velocity limit"
    TRACKING_LOST = "tracking lost"
    TORQUE_INVALID = "torque invalid"
    CONTROLLER_FAILED = "controller failed"
    CONTROLLER_LOST = "controller lost"
    MODEL_WRONG = "model wrong"
    RUNAWAY = "runaway"
    TAKEN_OVER = "taken over"
    STOP_REQUESTED = "stop requested"

    @property
    def response(self) -> Response:
        """Response to a fault with this cause."""
        if self in (Cause.REFERENCE_LOST, Cause.WRENCH_LOST):
            return Response.HOLD_POSE
        if self is Cause.GRASP_LOST:
            return Response.SUPPORT_WITHOUT_OBJECT
        if self is Cause.MODEL_WRONG:
            return Response.HOLD_JOINTS
        if self is Cause.RUNAWAY:
            return Response.GIVE_UP
        return Response.SUPPORT


class Finding(NamedTuple):
    """A fault that a check has found.

    Attributes:
        cause: Its cause.
        subject: Name of the joint, arm or stream.
        sentence: Observation and expectation, without the subject's name.
    """

    cause: Cause
    subject: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.sentence}"


class SafetyError(RobotDynamicsError):
    """A start or reset that is refused in the present state."""


class StaleStreamError(SafetyError):
    """A start or reset that is refused while a stream is silent, which may pass."""


class FaultLatch:
    """State of a controller, and the faults since the last reset, which alone clears them.

    Attributes:
        state: State of the controller.
        faults: Faults since the last reset, in order, with the time of each.
        response: The most drastic response to them.
        law_runs: Whether the law's torque is sent.
        wrenches_usable: Whether force feedback may go on; a lost wrench taken as zero makes it
            push harder.
        reference_held: Whether the law must come to rest and stay there.
        in_charge: Whether arms rely on the torques that are sent. True from the first start on,
            also after a reset: who lets go of arms that hang on torques drops them.
    """

    def __init__(self) -> None:
        self.in_charge = False
        self._clear()

    def _clear(self) -> None:
        self.state = State.INACTIVE
        self.response = Response.NONE
        self.law_runs = False
        self.wrenches_usable = True
        self.faults: tuple[tuple[int, Finding], ...] = ()
        self._began = 0
        self.reference_held = False

    @property
    def cause(self) -> str:
        """The sentence of the first fault; empty without one."""
        return str(self.faults[0][1]) if self.faults else ""

    def require_inactive(self, way: str = "start") -> None:
        """Refuse a start in any other state; must be called before all other steps of a start.

        Args:
            way: The kind of start that was requested, for the message.

        Raises:
            SafetyError: If a fault is latched or control runs already.
        """
        if self.state is not State.INACTIVE:
            why = f" ({self.cause.rstrip('.')})" if self.cause else ""
            do = ": call the service controller/reset, or ControlLoop.reset" if self.faults else ""
            raise SafetyError(f"{way} refused: {self.state.value}{why}; expected inactive{do}.")

    def start(self, now: int) -> None:
        """Begin.

        Raises:
            SafetyError: If a fault is latched or control runs already.
        """
        self.require_inactive()
        self._began = now
        self.in_charge = self.law_runs = True
        self.state = State.STARTING

    def trip(self, now: int, found: Finding) -> bool:
        """Take up the response to a fault; a lesser one never replaces a more drastic one.

        Args:
            now: Current time.
            found: The fault.

        Returns:
            Whether it is new. A controller that is not in charge takes note of stops alone.
        """
        if not self.in_charge and found.cause is not Cause.STOP_REQUESTED:
            return False
        if any(f.cause is found.cause and f.subject == found.subject for _, f in self.faults):
            return False
        self.faults += ((now, found),)
        self.response = max(self.response, found.cause.response)
        self.wrenches_usable &= found.cause not in (Cause.WRENCH_LOST, Cause.WRENCH_WRONG)
        self.reference_held = True
        if self.state is not State.STOPPED:
            stop = found.cause is Cause.STOP_REQUESTED
            self.state = State.STOPPED if stop else State.FALLBACK
        if self.response is not Response.HOLD_POSE:
            self.law_runs = False
        return True

    def reset(self) -> None:
        """Forget faults and become inactive; the next start is checked as the first one was.

        Raises:
            SafetyError: If control runs.
        """
        if self.state in (State.STARTING, State.ACTIVE):
            raise SafetyError(f"reset refused: {self.state.value}; expected a stop before it.")
        self._clear()
