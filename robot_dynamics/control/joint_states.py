# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joint states of all arms as one vector, from messages that hold the joints of some of them.

Controller and guard fill it and compute from it. Names decide, never the order of a message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import Clock
from robot_dynamics.control.faults import Cause, Finding, State
from robot_dynamics.control.safety import SafetyLayer
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.control.streams import StreamError, StreamWatch, of_length
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.wording import apart

_LONG_AGO = -1e12  # before any sample [s]


class UnknownJointError(UnknownNameError):
    """A joint in a message that belongs to no arm: the message says where to list it."""

    def __init__(self, name: str, joints: Sequence[str], place: str) -> None:
        super().__init__("joint", name, joints, place)

    def __str__(self) -> str:
        return f"{super().__str__()} Joints that belong to no arm are listed in ignored_joints."


class ArmSamples:
    """The last good sample of an arm.

    Attributes:
        joints: Names of the joints, in the order of the arrays.
        watch: When it came.
        position: Positions (n,), a view of those of all arms.
        velocity: Velocities (n,), likewise.
        used: The time of the sample that was used last.

    Args:
        joints: Names of the joints.
        watch: Watches its freshness; it has the arm's name.
        position: Where positions stand.
        velocity: Where velocities stand.
    """

    def __init__(
        self, joints: Sequence[str], watch: StreamWatch, position: Array, velocity: Array
    ) -> None:
        self.joints, self.watch = tuple(joints), watch
        self.position, self.velocity = position, velocity
        self.used: int | None = None

    def take(self, stamp: int, q: Array, qd: Array, now: int) -> bool:
        """Take a sample in the order of `joints`; return whether it is newer than the last one.

        Raises:
            StreamError: If a number is not finite, or its time jumped; nothing is kept then.
        """
        # Before anything else is done with them: a NaN passes through min and max.
        if not (np.isfinite(q).all() and np.isfinite(qd).all()):
            raise StreamError(self.watch.name, self._not_finite(q, qd))
        if not self.watch.advance(stamp, now):
            return False
        self.position[:], self.velocity[:] = q, qd
        return True

    def order_in(self, names: Sequence[str], known: frozenset[str]) -> NDArray[np.intp]:
        """Return where the joints stand in a message.

        Args:
            names: Names of the message's joints.
            known: Names that it may hold.

        Raises:
            StreamError: If one is missing or there twice.
            UnknownJointError: If there is a name that is not known.
        """
        arm, count = self.watch.name, Counter(names)
        for name in names:
            if name not in known:
                raise UnknownJointError(name, self.joints, arm)
        for joint in self.joints:
            if count[joint] > 1:
                raise StreamError(arm, f"joint {joint!r} is there twice; expected once.")
            if not count[joint]:
                every = ", ".join(self.joints)
                raise StreamError(arm, f"joint {joint!r} is missing; expected all of {every}.")
        return np.array([names.index(joint) for joint in self.joints], dtype=np.intp)

    def _not_finite(self, q: Array, qd: Array) -> str:
        for what, values in (("position", q), ("velocity", qd)):
            for joint, value in zip(self.joints, values, strict=True):
                if not np.isfinite(value):
                    return f"{what} of joint {joint!r} is {value}; expected a finite number."
        return "a number is not finite."


class _Layout(NamedTuple):
    """Whom messages with certain names concern.

    Attributes:
        names: The names.
        good: Arms whose joints are all there, with where they stand.
        bad: Arms that such messages say nothing good of, with the reason.
        unknown: A sentence about an unknown name, if no joint of any arm is there.
        excused: Whether an unknown name is the mistake of a bad arm, and arrays of a wrong length
            with it.
    """

    names: list[str]
    good: list[tuple[ArmSamples, NDArray[np.intp]]]
    bad: list[tuple[ArmSamples, str]]
    unknown: str
    excused: bool


class JointStates:
    """Joint states of arms; bad samples are reported to a safety layer.

    A message may hold further joints only if they were announced: an unknown name counts as a
    typing error, of the arm that lacks a joint, or of all arms of the message if none does. A bad
    sample changes nothing but the safety layer's faults.

    Arms on topics of their own are not sampled at the same instants. Where one arm's sample is
    older than another's, its positions are carried on with its velocity, for one control period
    at most: what is older still is told, and in the end it is stale.

    Attributes:
        arms: The samples of each arm, by its name.
        now: The time of the last message or control instant.
        sampled: Of which time on the samples' own clock the last `state` was, by arm (k,) [s];
            long ago for an arm without a sample.
        skew_s: How far apart the samples were that were used last [s].
        stale_after_s: Time without a sample after which an arm counts as lost [s].
        complaints: What is wrong with samples that are refused at present, by stream.

    Args:
        system: The arms.
        control: Control rate.
        settings: When a stream is stale.
        safety: Is told of bad samples.
        clock: What times mean.
        ignored: Names that messages may hold besides those of the arms.
        stale_after_s: Time without a sample after which an arm counts as lost [s]; 0 for the
            number of periods that the settings state.
        rate_tolerance: Part of the control rate by which samples of an arm may come more slowly.
    """

    def __init__(
        self,
        system: GraspSystem,
        control: ControlSettings,
        settings: SafetySettings,
        safety: SafetyLayer,
        clock: Clock,
        *,
        ignored: Iterable[str] = (),
        stale_after_s: float = 0.0,
        rate_tolerance: float = 0.2,
    ) -> None:
        self._safety, self._clock, self._period = safety, clock, control.period
        self.stale_after_s = stale_after_s or settings.stale_after_periods * control.period
        self._q, self._qd = np.zeros((2, len(system.joint_names)))
        self.arms = {
            arm.name: ArmSamples(
                arm.joints,
                StreamWatch(arm.name, self.stale_after_s, clock),
                self._q[own],
                self._qd[own],
            )
            for arm, own in zip(system.arms, system.arm_slices, strict=True)
        }
        self.watches = [arm.watch for arm in self.arms.values()]
        own_joints = system.joint_names
        self._known = frozenset((*own_joints, *system.passive_joint_names, *ignored))
        self._layouts: dict[str, _Layout] = {}
        self.now, self.skew_s = 0, 0.0
        self.sampled = np.full(len(self.watches), _LONG_AGO)
        self._control_hz = control.rate_hz
        self._least_hz = (1.0 - rate_tolerance) * control.rate_hz
        self.complaints: dict[str, str] = {}

    @property
    def complaint(self) -> str:
        """A sentence about samples that are refused at present; empty if none is."""
        for sentence in self.complaints.values():
            return sentence
        return next((layout.unknown for layout in self._layouts.values() if layout.unknown), "")

    @property
    def skew_warning(self) -> str:
        """A sentence about arms that are sampled too far apart; empty if they are not."""
        if self.skew_s <= 0.5 * self._period:
            return ""
        skew, most = apart(1e3 * self.skew_s, 500.0 * self._period)
        return (
            f"joint states of the arms are {skew} ms apart; expected at most half a control "
            f"period, {most} ms."
        )

    @property
    def rates_known(self) -> bool:
        """Whether it has been measured how often each arm brings a sample."""
        return all(watch.hz is not None for watch in self.watches)

    @property
    def rate_warning(self) -> str:
        """A sentence about an arm whose samples come too slowly for the control rate, if any."""
        for watch in self.watches:
            if watch.hz is not None and watch.hz < self._least_hz:
                return (
                    f"joint states of arm {watch.name!r} come {watch.hz:.3g} times a second, the "
                    f"control rate is {self._control_hz:g} Hz; expected at least "
                    f"{self._least_hz:g} a second."
                )
        return ""

    @property
    def all_newer(self) -> bool:
        """Whether every arm has a sample newer than the last one used."""
        return all(a.watch.stamp not in (None, a.used) for a in self.arms.values())

    @property
    def all_heard(self) -> bool:
        """Whether every arm has brought a sample, so that there is a state to hold it up at."""
        return all(watch.arrival is not None for watch in self.watches)

    def known(self, now: int) -> bool:
        """Return whether no arm has been silent for too long."""
        return not any(watch.is_stale(now) for watch in self.watches)

    def take(
        self,
        topic: str,
        stamp: int,
        names: list[str],
        position: ArrayLike,
        velocity: ArrayLike,
        now: int,
    ) -> bool:
        """Take a message; return whether any arm has a newer sample because of it.

        Args:
            topic: Where it came from.
            stamp: Its own time.
            names: Names of its joints.
            position: Their positions [rad or m].
            velocity: Their velocities [rad/s or m/s].
            now: The time of its arrival.
        """
        self.now = now
        layout = self._layouts.get(topic)
        if layout is None or layout.names != names:
            layout = self._layouts[topic] = self._layout(topic, names)
        if self._safety.state is State.INACTIVE:  # nothing depends on the time before
            for arm, _ in (*layout.good, *layout.bad):
                arm.watch.follow(stamp)
        for arm, sentence in layout.bad:
            self._lose(arm.watch, sentence)
        newer, count = False, len(names)
        of_names = np.shape(position) == np.shape(velocity) == (count,)
        for arm, order in layout.good if of_names or not layout.excused else ():
            numbers = False
            try:
                q = of_length(arm.watch.name, "position", position, count)[order]
                qd = of_length(arm.watch.name, "velocity", velocity, count)[order]
                numbers = bool(np.isfinite(q).all() and np.isfinite(qd).all())
                newer |= arm.take(stamp, q, qd, now)
            except StreamError as error:
                self._lose(arm.watch, error.cause)
                if arm.watch.jumps(stamp):  # the next sample is the first
                    arm.watch.forget()
                    if numbers:  # else it is a gap, and the time of the arm goes on
                        self._safety.time_jumped(arm.watch.name)
        if self.complaints:  # forget those about streams that have brought something good since
            for watch in self.watches:
                if watch.arrival == now:
                    self.complaints.pop(watch.name, None)
        return newer

    def use(self, now: int) -> tuple[Array, Array]:
        """Return `state` for a control instant, and note that its samples have been used."""
        self.now = now
        for arm in self.arms.values():
            arm.used = arm.watch.stamp
        return self.state()

    def state(self) -> tuple[Array, Array]:
        """Return positions and velocities (na,) of all arms at the time of the newest sample.

        They are the last good ones, those of the other arms carried on by up to a period.
        """
        q, qd = self._q.copy(), self._qd.copy()
        stamps = [watch.stamp for watch in self.watches if watch.stamp is not None]
        self.sampled = np.array([self._sampled_at(watch) for watch in self.watches])
        if len(stamps) < 2 or max(stamps) == min(stamps):
            self.skew_s = 0.0
            return q, qd
        newest, at = max(stamps), 0
        self.skew_s = self._clock.seconds(newest - min(stamps))
        for i, arm in enumerate(self.arms.values()):
            own = slice(at, at := at + len(arm.joints))
            # What is stale is left where it was: nothing is computed from a stale velocity.
            if arm.watch.stamp is not None and not arm.watch.is_stale(self.now):
                age = self._clock.seconds(newest - arm.watch.stamp)
                carried = min(age, self._period)
                q[own] += qd[own] * carried
                self.sampled[i] += carried
        return q, qd

    def _sampled_at(self, watch: StreamWatch) -> float:
        return _LONG_AGO if watch.stamp is None else self._clock.seconds(watch.stamp)

    def _lose(self, watch: StreamWatch, sentence: str) -> None:
        """Report a bad sample."""
        self.complaints[watch.name] = f"{watch.name}: {sentence}"
        self._safety.trip(self.now, Finding(Cause.ARM_LOST, watch.name, sentence))

    def _layout(self, topic: str, names: list[str]) -> _Layout:
        """Decide whom messages with these names concern."""
        inside = set(names)
        concerned = [arm for arm in self.arms.values() if not inside.isdisjoint(arm.joints)]
        unknown = [name for name in names if name not in self._known]
        incomplete = [arm for arm in concerned if not inside.issuperset(arm.joints)]
        layout = _Layout(list(names), [], [], "", bool(unknown and incomplete))
        if unknown and not concerned:
            own = [joint for arm in self.arms.values() for joint in arm.joints]
            return layout._replace(unknown=str(UnknownJointError(unknown[0], own, topic)))
        for arm in concerned:
            # An unknown name is blamed on the arm that lacks a joint; the others are unaffected.
            blamed = not incomplete or arm in incomplete
            known = self._known if blamed else self._known | set(unknown)
            try:
                layout.good.append((arm, arm.order_in(names, known)))
            except StreamError as error:
                layout.bad.append((arm, error.cause))
            except UnknownJointError as error:
                layout.bad.append((arm, str(error).removeprefix(f"{arm.watch.name}: ")))
        return layout
