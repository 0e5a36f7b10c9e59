# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states and wrenches of a controller: from topics into its loop, in either kind of time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from robot_dynamics.app import topic_names as topics
from robot_dynamics.app.topic_names import tick_of
from robot_dynamics.control.faults import Cause
from robot_dynamics.errors import sentence_of
from robot_dynamics.nodes.background_work import BackgroundWork
from robot_dynamics.nodes.control_loop import ControlLoop
from robot_dynamics.nodes.conversions import JointSample, joint_state_reader, wrench_reader
from robot_dynamics.nodes.diagnostics import Latency
from robot_dynamics.nodes.lockstep import StateGate
from robot_dynamics.nodes.topics import STREAM, Inbox

Array = NDArray[np.float64]


class SampleIntake:
    """Reads samples for a control loop.

    Attributes:
        gate: In lockstep, which messages of a state have come.
        tick: That of the last joint states; -1 before them.
        heard_at: When they came, by the steady clock [s].
        latency: How old samples are when they are answered.

    Args:
        inbox: The node's subscriptions.
        loop: What takes the samples.
        joint_state_topics: Where joint states come from.
        period: Control period [s].
        background_work: Tells of messages that could not be read.
        in_lockstep: Whether times are ticks.
    """

    def __init__(
        self,
        inbox: Inbox,
        loop: ControlLoop,
        joint_state_topics: Sequence[str],
        period: float,
        background_work: BackgroundWork,
        *,
        in_lockstep: bool,
    ) -> None:
        self._inbox, self._loop, self._period = inbox, loop, period
        self._background = background_work
        self._joint_state_topics, self._in_lockstep = tuple(joint_state_topics), in_lockstep
        self.gate = StateGate([*joint_state_topics, *loop.wrenches])
        self.tick, self.heard_at, self.latency = -1, time.monotonic(), Latency()

    def subscribe_to_wrenches(self) -> None:
        """Listen to wrist sensors, before anything that is awaited: topics are read in order."""
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
            now = self.tick if self._in_lockstep else time.monotonic_ns()
            sentence = f"a sample could not be read: {sentence_of(error)}"
            self._loop.fall_back(now, Cause.CONTROLLER_FAILED, source, sentence)

    def _on_wrench(self, arm: str, sample: tuple[int, Array]) -> None:
        stamp, wrench = sample
        if not self._in_lockstep:
            self._loop.take_wrench(arm, stamp, wrench, time.monotonic_ns())
            return
        tick = tick_of(stamp, self._period)
        if self.gate.offer(arm, tick):
            self._loop.take_wrench(arm, tick, wrench, tick)

    def _on_joints(self, topic: str, sample: JointSample) -> None:
        self.heard_at = time.monotonic()
        self.latency.sampled(topic, self._inbox.published)
        stamp, names, position, velocity = sample
        now = time.monotonic_ns()
        self.tick = tick_of(stamp, self._period)
        if self._in_lockstep:
            stamp = now = self.tick
            if not self.gate.offer(topic, stamp):
                return
        self._loop.arms.take(topic, stamp, names, position, velocity, now)
