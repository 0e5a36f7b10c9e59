# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states and wrenches of a controller: from topics into its loop, in either kind of time.

In lockstep the simulator publishes the state of tick n, stamped n times the period: a joint state
and a wrench for each arm. It steps when the commands of all arms for that tick are there, and
repeats the state when they are not after a while. The controller computes when all messages of a
tick are there, and repeats its answer when a state is repeated. Nothing depends on the wall clock
but when a message is repeated, and repetitions change nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from robot_dynamics.app import topic_names as topics
from robot_dynamics.app.topic_names import WORLD
from robot_dynamics.control.clock import stamp_of, tick_of
from robot_dynamics.control.control_loop import ControlLoop
from robot_dynamics.control.faults import Cause, State
from robot_dynamics.errors import sentence_of
from robot_dynamics.nodes.background_work import BackgroundWork
from robot_dynamics.nodes.conversions import (
    JointSample,
    OdometrySample,
    joint_state_reader,
    read_odometry,
    wrench_reader,
)
from robot_dynamics.nodes.diagnostics import Latency
from robot_dynamics.nodes.topics import STREAM, Inbox

Array = NDArray[np.float64]


class Action(Enum):
    """What the controller does when it has read all messages."""

    WAIT = "wait"
    COMPUTE = "compute"
    REPEAT = "repeat the last answer"


class StateGate:
    """The controller's side: collects the messages of a tick.

    Attributes:
        tick: The tick that is being collected.

    Args:
        parts: Names of the messages that make a state.
    """

    def __init__(self, parts: Sequence[str]) -> None:
        self._parts = frozenset(parts)
        self.forget()

    def forget(self) -> None:
        """Begin anew: a state that is repeated is taken and answered as if it were new."""
        self.tick = -1
        self._missing = set(self._parts)
        self._answered = self._again = False

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the messages that are awaited."""
        return tuple(sorted(self._missing))

    @property
    def incomplete(self) -> bool:
        """Whether some messages of the tick have come and others have not."""
        return bool(self._missing) and not self._answered and self.tick >= 0

    def offer(self, part: str, tick: int) -> bool:
        """Note a message of a tick; return whether it is the first of its kind for this tick."""
        if tick != self.tick:  # also an earlier one: the simulator was reset
            self.tick = tick
            self._missing = set(self._parts)
            self._answered = self._again = False
        if part in self._missing:
            self._missing.discard(part)
            return True
        self._again = True
        return False

    def decide(self) -> Action:
        """Return what to do now that all messages have been read.

        A message that comes again before the others have come was repeated: those were lost, or
        do not exist, and the answer is computed without them.
        """
        again, self._again = self._again, False
        if self._answered:
            return Action.REPEAT if again else Action.WAIT
        if self._missing and not again:
            return Action.WAIT
        self._answered = True
        return Action.COMPUTE


class SampleIntake:
    """Reads samples for a control loop.

    Attributes:
        tick: That of the last joint states, in lockstep of the last message; -1 before them.
        heard_at: When they came, by the steady clock [s].
        latency: How old samples are when they are answered.

    Args:
        inbox: The node's subscriptions.
        loop: What takes the samples.
        joint_state_topics: Where joint states come from.
        background_work: Tells of messages that could not be read.
    """

    def __init__(
        self,
        inbox: Inbox,
        loop: ControlLoop,
        joint_state_topics: Sequence[str],
        background_work: BackgroundWork,
    ) -> None:
        self._inbox, self._loop, self._clock = inbox, loop, loop.clock
        self._background = background_work
        self._joint_state_topics = tuple(joint_state_topics)
        self._gate: StateGate | None = None
        if loop.clock.lockstep:
            sensed = [] if loop.object_pose is None else [topics.MEASURED_ODOMETRY]
            self._gate = StateGate([*joint_state_topics, *loop.wrenches, *sensed])
        self.tick, self.heard_at, self.latency = -1, time.monotonic(), Latency()

    @property
    def incomplete(self) -> bool:
        """Whether some messages of a state have come that is answered as a whole."""
        return self._gate is not None and self._gate.incomplete

    def forget(self) -> None:
        """Answer a state that comes again as if it were new: it may have been refused."""
        if self._gate is not None:
            self._gate.forget()

    def decide(self) -> Action:
        """Return what to do now that all messages have been read.

        In lockstep that is for `StateGate` to say. On the wall clock an answer is computed once
        every arm has something new, and not twice in a control period; before the start, time may
        go back.
        """
        if self._gate is not None:
            return self._gate.decide()
        loop = self._loop
        later = self.tick > self._clock.tick or loop.safety.state is State.INACTIVE
        return Action.COMPUTE if later and loop.joint_states.all_newer else Action.WAIT

    def subscribe_to_sensors(self) -> None:
        """Subscribe to wrist sensors and the measured object pose, before joint states.

        Topics are read in the order of their subscriptions.
        """
        if self._loop.object_pose is not None:
            topic = topics.MEASURED_ODOMETRY
            self._subscribe(
                Odometry, topic, self._on_odometry, topic, read_odometry, awaited=False
            )
        for arm in self._loop.wrenches:
            self._subscribe(
                WrenchStamped,
                topics.wrench(arm),
                self._on_wrench,
                arm,
                wrench_reader(),
                awaited=False,
            )

    def subscribe_to_joint_states(self) -> None:
        """Listen to joint states, which come last in a period."""
        for topic in self._joint_state_topics:
            self._subscribe(
                JointState, topic, self._on_joints, topic, joint_state_reader(), awaited=True
            )

    def _subscribe(
        self,
        kind: Any,
        topic: str,
        take: Callable[[str, Any], None],
        source: str,
        reader: Callable[[bytes], Any],
        *,
        awaited: bool,
    ) -> None:
        take_own = partial(self._shielded, take, source)
        self._inbox.subscribe(kind, topic, take_own, STREAM, awaited=awaited, reader=reader)

    def _shielded(self, take: Callable[[str, Any], None], source: str, message: Any) -> None:
        """Take a message; what nobody expected of one is answered by the fallback."""
        try:
            take(source, message)
        except Exception as error:
            self._background.add_error(f"samples of {source!r}", error)
            sentence = f"a sample could not be read: {sentence_of(error)}"
            now = self._clock.times_of(stamp_of(self.tick, self._clock.period))[1]
            self._loop.fall_back(now, Cause.CONTROLLER_FAILED, source, sentence)

    def _on_wrench(self, arm: str, sample: tuple[int, Array]) -> None:
        message_stamp, wrench = sample
        stamp, now = self._clock.times_of(message_stamp)
        if self._is_new(arm, stamp):
            self._loop.take_wrench(arm, stamp, wrench, now)

    def _on_odometry(self, topic: str, sample: OdometrySample) -> None:
        message_stamp, frame, body, pose, twist = sample
        stamp, now = self._clock.times_of(message_stamp)
        system = self._loop.system
        own = system.model.bodies[system.object_body].name
        for given, expected in ((frame, WORLD), (body, own)):
            if given not in ("", expected):
                self._loop.reject_object_pose(
                    f"its frame is {given!r}; expected {expected!r}.", now
                )
                return
        if self._is_new(topic, stamp):
            self._loop.take_object_pose(stamp, pose, twist, now)

    def _on_joints(self, topic: str, sample: JointSample) -> None:
        self.heard_at = time.monotonic()
        self.latency.sampled(topic, self._inbox.published)
        message_stamp, names, position, velocity = sample
        stamp, now = self._clock.times_of(message_stamp)
        self.tick = tick_of(message_stamp, self._clock.period)
        if self._is_new(topic, stamp):
            self._loop.joint_states.take(topic, stamp, names, position, velocity, now)

    def _is_new(self, part: str, stamp: int) -> bool:
        """Return whether a message is no repetition of one of the same tick."""
        if self._gate is None:
            return True
        self.tick = stamp
        return self._gate.offer(part, stamp)
