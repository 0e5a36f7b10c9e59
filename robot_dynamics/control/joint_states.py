# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joint states of all arms as one vector, from messages that hold the joints of some of them.

Controller and guard fill it and compute from it. Names decide, never the order of a message.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import Clock
from robot_dynamics.control.faults import Cause, Finding, State
from robot_dynamics.control.safety import SafetyLayer
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.control.streams import WINDOW_S, StreamError, StreamWatch, of_length
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.wording import apart

_LONG_AGO = -1e12  # before any sample [s]
_MOST_SKEW = 0.75  # largest skew without a warning [control periods]
_LARGEST_AGE_S = 1.0  # a larger age is the offset of a clock, or a stamp of simulated time [s]
_WARNING_S = 1.0  # duration of a warning about the skew after its last cause [s]


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
        watch: Freshness of its stream.
        position: Positions (n,), a view of the vector of all arms.
        velocity: Velocities (n,), a view of the vector of all arms.
        unused: Number of samples since the last use.

    Args:
        joints: Names of the joints.
        watch: Freshness of its stream, which has the arm's name.
        position: View for the positions (n,).
        velocity: View for the velocities (n,).
    """

    def __init__(
        self, joints: Sequence[str], watch: StreamWatch, position: Array, velocity: Array
    ) -> None:
        self.joints, self.watch = tuple(joints), watch
        self.position, self.velocity = position, velocity
        self.unused = 0

    def take(self, stamp: int, q: Array, qd: Array, now: int) -> bool:
        """Take a sample in the order of `joints`; return whether it is newer than the last one.

        Raises:
            StreamError: If a number is not finite, or its time jumped; the last sample stays then.
        """
        # Check this first: a NaN passes through min and max.
        if not (np.isfinite(q).all() and np.isfinite(qd).all()):
            raise StreamError(self.watch.name, self._not_finite(q, qd))
        if not self.watch.advance(stamp, now):
            return False
        self.position[:], self.velocity[:] = q, qd
        self.unused += 1
        return True

    def order_in(self, names: Sequence[str], known: frozenset[str]) -> NDArray[np.intp]:
        """Return the indices of the joints in a message.

        Args:
            names: Names of the message's joints.
            known: Names that it may hold.

        Raises:
            StreamError: If a joint is missing or occurs twice.
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
    """Arms concerned by messages with given joint names.

    Attributes:
        names: The names.
        good: Arms with all joints, and the indices of these.
        bad: Arms for which such messages are an error, with the reason.
        unknown: Sentence about an unknown name, if the message has no joint of any arm.
        excused: Whether an unknown name, and arrays of a wrong length with it, are attributed to a
            bad arm.
    """

    names: list[str]
    good: list[tuple[ArmSamples, NDArray[np.intp]]]
    bad: list[tuple[ArmSamples, str]]
    unknown: str
    excused: bool


class JointStates:
    """Joint states of arms; bad samples are reported to a safety layer.

    A message may contain other joints only if they were announced. An unknown name counts as a
    typing error of the arm that lacks a joint, or of all arms of the message if none does. A bad
    sample only changes the faults of the safety layer.

    Arms on topics of their own are not sampled at the same instants. `ready` matches their samples
    by stamp. Where one arm's sample is older than another's, its positions are carried on with its
    velocity, for one control period at most: older samples are reported, and become stale.

    Attributes:
        arms: The samples of each arm, by its name.
        now: The time of the last message or control instant.
        sampled: Time of the last `state` on the clock of the samples, by arm (k,) [s]; long ago
            for an arm without a sample.
        skew_s: Time between the oldest and the newest of the last used samples [s].
        stale_after_s: Time without a sample after which an arm counts as lost [s].
        complaints: Errors of currently refused samples, by stream.

    Args:
        system: The arms.
        control: Control rate.
        settings: Limit of stale streams.
        safety: Safety layer to which bad samples are reported.
        clock: Meaning of times.
        ignored: Names of other joints that messages may contain.
        stale_after_s: Time without a sample after which an arm counts as lost [s]; 0 for the
            number of periods that the settings state.
        rate_tolerance: Share of the control rate by which the samples of an arm may be slower.
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
        self._skewed_at: int | None = None  # time of the last skew that is worth a warning
        self._last_skew_s = 0.0  # that skew [s]
        self.sampled = np.full(len(self.watches), _LONG_AGO)
        # Ages of the samples at control instants, by arm (k,) [s].
        self._ages: deque[Array] = deque(maxlen=round(WINDOW_S * control.rate_hz) or 1)
        self._control_hz = control.rate_hz
        self._least_hz = (1.0 - rate_tolerance) * control.rate_hz
        self.complaints: dict[str, str] = {}

    @property
    def complaint(self) -> str:
        """Sentence about currently refused samples; empty without any."""
        for sentence in self.complaints.values():
            return sentence
        return next((layout.unknown for layout in self._layouts.values() if layout.unknown), "")

    @property
    def skew_warning(self) -> str:
        """Warning of arms sampled too far apart in the last second; empty if there were none."""
        at = self._skewed_at
        if at is None or self._clock.seconds(self.now - at) > _WARNING_S:
            return ""
        found, most = apart(1e3 * self._last_skew_s, 1e3 * _MOST_SKEW * self._period)
        return (
            f"joint states of the arms are {found} ms apart; expected at most {most} ms, three "
            "quarters of a control period."
        )

    @property
    def rates_known(self) -> bool:
        """Whether the sample rate of each arm has been measured."""
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

    def age_warning(self, largest_s: float) -> str:
        """Return a sentence about the arm whose samples are older than a limit, if any.

        The age is the mean over the control instants of the last half second of the present time
        minus the stamp. Ages beyond 1 s, and negative means, come from clocks that differ, or from
        simulated time, and say nothing about the delay.

        Args:
            largest_s: Limit of the age [s].
        """
        if not self._ages:
            return ""
        every = np.array(self._ages)
        plausible = np.abs(every) <= _LARGEST_AGE_S
        ages = np.where(plausible, every, 0.0).sum(axis=0) / np.maximum(plausible.sum(axis=0), 1)
        oldest = int(np.argmax(ages))
        if ages[oldest] <= largest_s:
            return ""
        found, most = apart(1e3 * ages[oldest], 1e3 * largest_s)
        return (
            f"joint states of arm {self.watches[oldest].name!r} are {found} ms old when they are "
            f"used; expected at most {most} ms"
        )

    @property
    def ready(self) -> bool:
        """Whether every arm has an unused sample, and none of a closer stamp is about to come.

        Without the second condition, arms that are sampled at the same instants stay paired one
        period apart once a sample of one of them was late.
        """
        if any(a.watch.stamp is None or not a.unused for a in self.arms.values()):
            return False
        return not self._closer_pair_is_near()

    def _closer_pair_is_near(self) -> bool:
        """Return whether the next samples of the arms that are behind at least halve the skew.

        They are awaited until the arm that is ahead brings more samples than it has in a control
        period, and only if they come before that: an arm whose messages take longer than a period
        always stays behind.
        """
        watches, stamps = self.watches, [watch.stamp or 0 for watch in self.watches]
        newest, skew = max(stamps), max(stamps) - min(stamps)
        if not skew:
            return False
        ahead = stamps.index(newest)
        in_period = round(self._clock.count(self._period) / self._step(watches[ahead]))
        if list(self.arms.values())[ahead].unused > max(1, in_period):
            return False
        for i, watch in enumerate(watches):
            step = self._step(watch)
            if newest - stamps[i] > 0.5 * step:
                if (watch.arrival or 0) >= (watches[ahead].arrival or 0):
                    return False
                stamps[i] += step
        return 2 * (max(stamps) - min(stamps)) <= skew

    def _step(self, watch: StreamWatch) -> int:
        """Return the time between two samples of an arm, until it is measured the period."""
        return self._clock.count(1.0 / watch.hz if watch.hz else self._period)

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
            topic: Its topic.
            stamp: Its time stamp.
            names: Names of its joints.
            position: Their positions [rad or m].
            velocity: Their velocities [rad/s or m/s].
            now: Time of its arrival.
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
            arm.unused = 0
        stamps = [watch.stamp for watch in self.watches if watch.stamp is not None]
        self.skew_s = self._clock.seconds(max(stamps) - min(stamps)) if stamps else 0.0
        if self.skew_s > _MOST_SKEW * self._period:
            self._skewed_at, self._last_skew_s = now, self.skew_s
        q, qd = self.state()
        self._ages.append(self._clock.stamp_seconds(now) - self.sampled)
        return q, qd

    def state(self) -> tuple[Array, Array]:
        """Return positions and velocities (na,) of all arms at the time of the newest sample.

        They are the last good ones; those of the other arms are extrapolated by up to a period.
        """
        q, qd = self._q.copy(), self._qd.copy()
        stamps = [watch.stamp for watch in self.watches if watch.stamp is not None]
        self.sampled = np.array([self._sampled_at(watch) for watch in self.watches])
        if len(stamps) < 2 or max(stamps) == min(stamps):
            return q, qd
        newest, at = max(stamps), 0
        for i, arm in enumerate(self.arms.values()):
            own = slice(at, at := at + len(arm.joints))
            # Stale positions are not extrapolated: a stale velocity is not used.
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
