# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions of a controller: joint states, wrenches, measured poses, and references.

In lockstep the simulator publishes the state of tick n, stamped n times the period: a joint state
and a wrench for each arm. It steps when the commands of all arms for this tick have arrived, and
repeats the state if they are late. The controller computes when all messages of a tick have
arrived, and repeats its answer when a state is repeated. Only the time of repetitions depends on
the wall clock, and repetitions have no effect.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import MultiDOFJointTrajectory

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.recordings.bags.messages import wrench_of
from robot_dynamics.app.recordings.topic_names import WORLD
from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import SECOND, stamp_of, tick_of
from robot_dynamics.control.control_loop import ControlLoop
from robot_dynamics.control.faults import Cause, State
from robot_dynamics.control.streamed.trajectory import (
    MOST_POINTS,
    ObjectTrajectory,
    TrajectoryError,
)
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, sentence_of
from robot_dynamics.nodes.background_work import BackgroundWork
from robot_dynamics.nodes.conversions import (
    JointSample,
    OdometrySample,
    WrenchSample,
    command_reader,
    joint_state_reader,
    read_odometry,
    read_trajectory,
    wrench_reader,
)
from robot_dynamics.nodes.diagnostics import WARN, Latency, SentenceLog
from robot_dynamics.nodes.task_topics import flag_of
from robot_dynamics.nodes.topics import STREAM, Inbox, sample_quality

_PHASE_GAIN = 1.0 / 64.0  # weight of a sample in the filtered phase of the samples
_EDGE = 0.4  # distance from the phase beyond which a sample is close to another tick [periods]
_SAMPLES_AT_EDGE = 4  # consecutive samples close to another tick that reset the phase
LARGEST_TRAJECTORY_BYTES = 256 * MOST_POINTS  # a point with all its fields has 180


class Action(Enum):
    """The action of the controller after all messages have been read."""

    WAIT = "wait"
    COMPUTE = "compute"
    REPEAT = "repeat the last answer"


class StateGate:
    """Collects the messages of a tick, in lockstep.

    Attributes:
        tick: The tick that is being collected.

    Args:
        parts: Names of the messages that form a state.
    """

    def __init__(self, parts: Sequence[str]) -> None:
        self._parts = frozenset(parts)
        self.reset()

    def reset(self) -> None:
        """Treat the next state as new, even if it is repeated."""
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
        """Take a message of a tick; return whether it is the first of its kind for this tick."""
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
        """Return the action after all messages have been read.

        If a message is repeated before the others have arrived, these were lost or do not exist:
        the answer is computed without them.
        """
        again, self._again = self._again, False
        if self._answered:
            return Action.REPEAT if again else Action.WAIT
        if self._missing and not again:
            return Action.WAIT
        self._answered = True
        return Action.COMPUTE


class SampleIntake:
    """Subscribes to samples and passes them to a control loop.

    Attributes:
        tick: Tick of the last joint states, in lockstep of the last message; -1 before them.
        received_at: Time of arrival of these joint states, by the steady clock [s].
        latency: Age of samples at their answer.

    Args:
        inbox: The node's subscriptions.
        loop: The control loop.
        joint_state_topics: Topics of joint states.
        background_work: Reports messages that could not be read.
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
            sensed += map(topics.gripper_state, self._grippers)
            self._gate = StateGate([*joint_state_topics, *loop.wrenches, *sensed])
        self.tick, self.received_at, self.latency = -1, time.monotonic(), Latency()
        self._to_tool: dict[tuple[str, str], Array | None] = {}
        self._phase = 0.0  # phase of samples within a control period [ns], on the wall clock
        self._near_edge = 0  # consecutive samples close to another tick

    @property
    def incomplete(self) -> bool:
        """Whether some messages of a state have come and others are awaited."""
        return self._gate is not None and self._gate.incomplete

    def reset(self) -> None:
        """Treat a repeated state as new: it can have been refused before."""
        if self._gate is not None:
            self._gate.reset()

    def decide(self) -> Action:
        """Return the action after all messages have been read.

        In lockstep `StateGate` decides. On the wall clock an answer is computed when every arm
        has a new sample, at most once in a control period. Before the start time can go back.
        """
        if self._gate is not None:
            return self._gate.decide()
        loop = self._loop
        later = self.tick > self._clock.tick or loop.safety.state is State.INACTIVE
        return Action.COMPUTE if later and loop.joint_states.ready else Action.WAIT

    @property
    def _grippers(self) -> Sequence[str]:
        """Names of the arms with grippers."""
        task = self._loop.task
        return () if task is None or task.grippers is None else task.grippers.arms

    def subscribe_to_sensors(self) -> None:
        """Subscribe to wrist sensors, grippers and the object's pose, before joint states.

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

        for arm in self._grippers:
            self._subscribe(
                Float64MultiArray,
                topics.gripper_state(arm),
                self._on_gripper,
                arm,
                command_reader(),
                awaited=False,
            )

    def subscribe_to_joint_states(self) -> None:
        """Subscribe to joint states, which arrive last in a period."""
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
        quality = sample_quality(lockstep=self._clock.lockstep)
        self._inbox.subscribe(
            kind, topic, take_own, quality, awaited=awaited, reader=reader, overridable=True
        )

    def _shielded(self, take: Callable[[str, Any], None], source: str, message: Any) -> None:
        """Take a message; an unexpected error hands over to the fallback."""
        try:
            take(source, message)
        except Exception as error:
            self._background.add_error(f"samples of {source!r}", error)
            sentence = f"a sample could not be read: {sentence_of(error)}"
            now = self._clock.times_of(stamp_of(self.tick, self._clock.period))[1]
            self._loop.fall_back(now, Cause.CONTROLLER_FAILED, source, sentence)

    def _on_gripper(self, arm: str, sample: tuple[int, Array]) -> None:
        number, values = sample
        task, holds = self._loop.task, flag_of(values)
        new = self._is_new(topics.gripper_state(arm), number)
        if new and holds is not None and task is not None and task.grippers is not None:
            task.grippers.report(arm, holds=holds)

    def _on_wrench(self, arm: str, sample: WrenchSample) -> None:
        message_stamp, wrench, frame = sample
        stamp, now = self._clock.times_of(message_stamp)
        if not self._is_new(arm, stamp):
            return
        try:
            to_tool = self._to_tool[arm, frame]
        except KeyError:
            try:
                to_tool = self._to_tool[arm, frame] = self._matrix_to_tool(arm, frame)
            except ArgumentError as error:
                self._loop.reject_wrench(arm, str(error), now)
                return
        self._loop.take_wrench(arm, stamp, wrench if to_tool is None else to_tool @ wrench, now)

    def _matrix_to_tool(self, arm: str, frame: str) -> Array | None:
        """Return the matrix from sensor to tool frame; warn if no frame is named."""
        frames = self._loop.wrist_sensors.frames
        to_tool = frames.to_tool(arm, frame)
        if not frame:
            default = frames.default(arm)
            self._background.add_error(
                topics.wrench(arm),
                ArgumentError(f"frame_id is empty; expected a frame: {default!r} is assumed."),
            )
        return to_tool

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
        message_stamp, names, position, velocity, _ = sample
        stamp, now = self._clock.times_of(message_stamp)
        arms = self._loop.joint_states
        if self._gate is not None:
            self._note(topic)
            if self._is_new(topic, stamp):
                arms.take(topic, stamp, names, position, velocity, now)
        # Other devices can publish on the topic, with clocks of their own.
        elif arms.take(topic, stamp, names, position, velocity, now):
            self._note(topic)
            self.tick = self._tick_of(stamp)

    def _note(self, topic: str) -> None:
        self.received_at = time.monotonic()
        self.latency.sampled(topic, self._inbox.published)

    def _tick_of(self, stamp: int) -> int:
        """Return the tick of an accepted sample, on the wall clock.

        Samples have a phase relative to multiples of the period. Ticks are counted from this
        phase, so that jitter of the stamps doubles or drops no tick. The phase is filtered,
        because the clock of the arms drifts.
        """
        period = self._clock.period
        if self._loop.safety.state is State.INACTIVE:  # nothing depends on the ticks before
            tick = tick_of(stamp, period)
            self._phase = float(stamp - stamp_of(tick, period))
            return tick
        tick = tick_of(stamp - round(self._phase), period)
        residual = stamp - stamp_of(tick, period) - self._phase
        near_edge = abs(residual) > _EDGE * period * SECOND
        self._near_edge = self._near_edge + 1 if near_edge else 0
        # Samples with jitter at the edge of a tick fall on both sides: their mean is meaningless.
        lost = self._near_edge >= _SAMPLES_AT_EDGE
        self._phase += residual if lost else _PHASE_GAIN * residual
        return tick

    def _is_new(self, part: str, stamp: int) -> bool:
        """Return whether a message is not a repetition within its tick."""
        if self._gate is None:
            return True
        self.tick = stamp
        return self._gate.offer(part, stamp)


class ReferenceTopics:
    """Subscriptions of references, which the control loop follows.

    A refused message is logged and has no effect.

    Args:
        node: The node that subscribes.
        inbox: Its subscriptions.
        loop: The control loop.
        message_time: Returns the present time of messages [ns].
    """

    def __init__(
        self, node: Node, inbox: Inbox, loop: ControlLoop, message_time: Callable[[], int]
    ) -> None:
        self._log, self._loop, self._message_time = SentenceLog(node), loop, message_time
        self._body = loop.system.model.bodies[loop.system.object_body].name
        for kind, topic, take in (
            (WrenchStamped, topics.REFERENCE_INTERNAL_FORCE, self._take_internal_force),
            # Before the forces: only a surface to be touched bears a force.
            (String, topics.REFERENCE_SURFACES, self._take_surfaces),
            (WrenchStamped, topics.REFERENCE_CONTACT_FORCE, self._take_contact_force),
        ):
            inbox.subscribe(kind, topic, self._logged(take), STREAM, awaited=False)
        # A trajectory of many points takes longer to read than a control period; in lockstep
        # simulated time waits for it.
        inbox.subscribe(
            MultiDOFJointTrajectory,
            topics.REFERENCE_TRAJECTORY,
            self._logged(self._take_path),
            STREAM,
            awaited=False,
            reader=self._read_path,
            largest=LARGEST_TRAJECTORY_BYTES,
            in_thread=not loop.clock.lockstep,
        )

    def _logged(self, take: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return a callback that logs why a message was refused."""

        def callback(message: Any) -> None:
            try:
                take(message)
            except RobotDynamicsError as error:
                if self._loop.intake is not None:  # for the diagnostics
                    self._loop.intake.refuse(str(error))
                self._log(WARN, str(error))

        return callback

    def _read_path(self, text: bytes) -> tuple[int, ObjectTrajectory] | TrajectoryError:
        """Return the stamp [ns] and the path of a serialized trajectory, or its error."""
        try:
            sample = read_trajectory(text)
            _require("frame", sample.frame, ("", WORLD))
            for name in sample.bodies:
                _require("body", name, (self._body,))
            path = ObjectTrajectory(
                sample.times, sample.poses, sample.twists, sample.accelerations
            )
        except TrajectoryError as error:
            return error
        return sample.stamp, path

    def _take_path(self, read: tuple[int, ObjectTrajectory] | TrajectoryError) -> None:
        if isinstance(read, TrajectoryError):
            raise read
        (stamp, path), clock = read, self._loop.clock
        intake, _ = self._loop.following()
        late = None if stamp == 0 else (self._message_time() - stamp) / SECOND
        intake.take_path(clock.seconds(clock.now()), path, late=late)

    def _take_internal_force(self, message: WrenchStamped) -> None:
        # The force in an object's joint has the axes of its components in the scenario.
        jointed = self._loop.system.object_loop_joint is not None
        frames = ("",) if jointed else ("", topics.middle_frame(self._body))
        _require("frame", message.header.frame_id, frames)
        intake, _ = self._loop.following()
        intake.take_internal_force(wrench_of(message.wrench))

    def _take_contact_force(self, message: WrenchStamped) -> None:
        intake, step = self._loop.following()
        intake.take_contact_force(message.header.frame_id, wrench_of(message.wrench), step)

    def _take_surfaces(self, message: String) -> None:
        names = (name.strip() for name in message.data.split(","))
        intake, step = self._loop.following()
        intake.take_surfaces([name for name in names if name], step)


def _require(what: str, given: str, expected: Sequence[str]) -> None:
    if given not in expected:
        raise TrajectoryError(f"its {what} is {given!r}; expected {expected[-1]!r}.")
