# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joint states of all arms as one vector: watched, complained about, and brought to one time.

What controller and guard both do with the samples of their arms.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.app.scenario import Scenario
from robot_dynamics.control.faults import Cause, Finding, State
from robot_dynamics.control.safety import SafetyLayer
from robot_dynamics.control.streams import JointStream, StreamWatch
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.nodes.joint_samples import JointSamples, stacked
from robot_dynamics.nodes.sample_rate import SampleRate

Array = NDArray[np.float64]


class ArmStreams:
    """Streams of joint states that a safety layer watches.

    Arms on topics of their own are not sampled at the same instants. Where one arm's sample is
    older than another's, its positions are carried on with its velocity, for one control period
    at most: what is older still is told, and in the end it is stale.

    Attributes:
        safety: What a bad sample is reported to.
        now: The time of the last message or control instant.
        skew_s: How far apart the samples were that were used last [s].

    Args:
        scenario: The scenario.
        system: Its arms.
        safety: What watches the streams, and is told of bad samples.
        unit_s: Unit of times [s]: the control period in lockstep, 1e-9 otherwise.
        ignored_joints: Names that joint states may hold besides those of the arms.
        stale_after_s: Time without a sample after which an arm counts as lost [s]; 0 for the
            number of periods that the scenario states.
        rate_tolerance: Part of the control rate by which samples of an arm may come more slowly.
    """

    def __init__(
        self,
        scenario: Scenario,
        system: GraspSystem,
        safety: SafetyLayer,
        unit_s: float,
        ignored_joints: Iterable[str] = (),
        stale_after_s: float = 0.0,
        rate_tolerance: float = 0.2,
    ) -> None:
        self.safety, self.now, self.skew_s = safety, 0, 0.0
        self._unit_s, self._period = unit_s, scenario.control.period
        self.stale_after_s = stale_after_s or scenario.safety.stale_after_periods * self._period
        locked = {r.prefix + name for r in scenario.cell.robots for name in r.locked}
        self._samples = JointSamples(
            {arm.name: arm.joints for arm in system.arms},
            self.stale_after_s,
            unit_s,
            {*locked, *system.passive_joint_names, *ignored_joints},
            self._lose,
        )
        for stream in self.streams.values():
            safety.monitor(stream, Cause.ARM_LOST)
        self._rates = {name: SampleRate(unit_s) for name in self.streams}
        self._least_hz = (1.0 - rate_tolerance) * scenario.control.rate_hz
        self._control_hz = scenario.control.rate_hz
        self._used: dict[str, int | None] = {}
        self.complaints: dict[str, str] = {}

    @property
    def streams(self) -> dict[str, JointStream]:
        """The stream of each arm, by its name."""
        return self._samples.streams

    @property
    def watches(self) -> list[StreamWatch]:
        """The watches of the streams."""
        return [stream.watch for stream in self.streams.values()]

    @property
    def complaint(self) -> str:
        """A sentence about samples that are refused at present; empty if none is."""
        return next(iter(self.complaints.values()), self._samples.unknown_joints)

    @property
    def skew_warning(self) -> str:
        """A sentence about arms that are sampled too far apart; empty if they are not."""
        if self.skew_s <= 0.5 * self._period:
            return ""
        return (
            f"joint states of the arms are {1e3 * self.skew_s:.3g} ms apart; expected at most "
            f"half a control period, {500.0 * self._period:.3g} ms."
        )

    @property
    def rates_known(self) -> bool:
        """Whether it has been measured how often each arm brings a sample."""
        return all(rate.hz is not None for rate in self._rates.values())

    @property
    def rate_warning(self) -> str:
        """A sentence about an arm whose samples come too slowly for the control rate, if any."""
        for name, rate in self._rates.items():
            if rate.hz is not None and rate.hz < self._least_hz:
                return (
                    f"joint states of arm {name!r} come {rate.hz:.3g} times a second, the control "
                    f"rate is {self._control_hz:g} Hz; expected at least {self._least_hz:g} a "
                    "second."
                )
        return ""

    @property
    def all_newer(self) -> bool:
        """Whether every arm has a sample newer than the last one used."""
        used = self._used
        return all(
            s.watch.stamp is not None and s.watch.stamp != used.get(name)
            for name, s in self.streams.items()
        )

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
        """Take a message of joint states; see `JointSamples.accept`."""
        self.now = now
        before = self.safety.state is State.INACTIVE
        newer = self._samples.accept(topic, stamp, names, position, velocity, now, follow=before)
        if newer:
            for name, stream in self.streams.items():
                if stream.watch.arrival == now:
                    self._rates[name].note(now)
        if self.complaints:  # forget those about streams that have brought something good since
            good = {watch.name for watch in self.watches if watch.arrival == now}
            self.complaints = {n: s for n, s in self.complaints.items() if n not in good}
        return newer

    def use(self, now: int) -> tuple[Array, Array]:
        """Return `state` for a control instant, and note that its samples have been used."""
        self.now = now
        self._used = {name: s.watch.stamp for name, s in self.streams.items()}
        return self.state()

    def state(self) -> tuple[Array, Array]:
        """Return positions and velocities (na,) of all arms at the time of the newest sample.

        They are the last good ones, those of the other arms carried on by up to a period.
        """
        q, qd = stacked(self.streams.values())
        stamps = [watch.stamp for watch in self.watches if watch.stamp is not None]
        if len(stamps) < 2 or max(stamps) == min(stamps):
            self.skew_s = 0.0
            return q, qd
        newest, at = max(stamps), 0
        self.skew_s = (newest - min(stamps)) * self._unit_s
        for stream in self.streams.values():
            own = slice(at, at := at + len(stream.joints))
            stamp, arrival = stream.watch.stamp, stream.watch.arrival
            # What is stale is left where it was: nothing is computed from a stale velocity.
            if stamp is None or arrival is None or stream.watch.is_stale(self.now):
                continue
            q[own] += qd[own] * min((newest - stamp) * self._unit_s, self._period)
        return q, qd

    def _lose(self, arm: str, sentence: str, jumped: bool) -> None:
        self.complaints[arm] = f"{arm}: {sentence}"
        self.safety.trip(self.now, Finding(Cause.ARM_LOST, arm, sentence))
        if jumped:
            self.streams[arm].watch.forget()
