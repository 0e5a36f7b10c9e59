# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states of the arms as far as they are known to the safety layer."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.checks import MeasurementCheck
from robot_dynamics.control.faults import Cause, Finding, SafetyError, StaleStreamError
from robot_dynamics.control.lost_arms import LostArms
from robot_dynamics.control.streams import StreamWatch

_BEYOND_LIMITS = 0.1  # of a lost arm at a reset [rad or m]
_LAG = 0.3  # of a velocity, by which its mean is behind it


class ArmStates:
    """The last good joint states of the arms, and the streams that bring them.

    Attributes:
        names: Names of the arms.
        slices: Slice of each arm in vectors over the arm joints.
        measurement: Check of the samples.
        watches: Watched streams, each with the cause of the fault when it is silent.
        sampled: Time of each arm's last sample, or of all [s].
        unfit: Finding about the last samples, which prevents a start; empty without.

    Args:
        arms: Names of the arms' joints by arm name, in the order of vectors.
        measurement: Check of the samples.
        rigid_object: Whether the arms hold one rigid object, so that no arm can move alone.
    """

    def __init__(
        self,
        arms: Mapping[str, Sequence[str]],
        measurement: MeasurementCheck,
        *,
        rigid_object: bool,
    ) -> None:
        self.names, self.slices = tuple(arms), measurement.slices
        self.measurement, self._rigid_object = measurement, rigid_object
        self.watches: list[tuple[StreamWatch, Cause]] = []
        self._count = len(measurement.q)
        self._good = measurement.state  # begins with the last good positions and velocities
        self.sampled: Array | float = 0.0
        self.forget()

    @property
    def q(self) -> Array:
        """Last good positions (na,)."""
        return self._good[: self._count]

    @property
    def qd(self) -> Array:
        """Last good velocities (na,)."""
        return self._good[self._count : 2 * self._count]

    def forget(self) -> None:
        """Require new samples before a start."""
        self._jumped: set[int] = set()  # lost arms whose time jumped
        self.unfit = "nothing was measured yet."

    def are_good(self, lost: LostArms, sent: Array | None, *, held: bool) -> bool:
        """Return whether the last samples are good after all, and no arm is lost.

        Args:
            lost: Arms whose state is not known.
            sent: Torque of the law that was sent last (na,); None if it does not run.
            held: Whether the arms hold the object.
        """
        names, linked = [self.names[i] for i in lost], held and self._rigid_object
        return self.measurement.judge(names, sent, linked=linked) and not lost

    def take(self) -> None:
        """Take the samples of all arms, which are good."""
        self._good, self.unfit = self.measurement.state, ""

    def take_good(self, now: int, lost: LostArms) -> tuple[list[Finding], list[int]]:
        """Take the samples of arms that are not lost.

        Args:
            now: Current time.
            lost: Arms whose state is not known; those with good samples are taken back.

        Returns:
            The findings about the samples, and the lost arms that are back.
        """
        found, back = list(self.measurement.findings()), []
        self._good = self._good.copy()
        bad = {one.subject for one in found if one.cause is Cause.ARM_LOST}
        for i, (arm, own) in enumerate(zip(self.names, self.slices, strict=True)):
            if arm in bad:
                continue
            heard = self._heard(arm, now)
            was_lost = i in lost
            if heard is not None:
                lost.take_back(i, heard)
            if i not in lost:
                if was_lost or i in self._jumped:
                    self._jumped.discard(i)
                    back.append(i)
                self.q[own] = self.measurement.q[own]
                self.qd[own] = self.measurement.velocity(i)
        self.unfit = str(found[0]) if found else ""
        return found, back

    def lose(self, arm: int, *, judged: bool) -> None:
        """Keep the velocities of an arm that are probably right, for its prediction.

        If velocities contradict continuous positions, means over these count. Otherwise velocities
        count that are near the means, else the lesser of both, or zero if their signs differ.

        Args:
            arm: Number of the arm.
            judged: Whether the check refused its last sample, which does not count then. A sample
                that was refused as a message never came to the check.
        """
        own, samples = self.slices[arm], self.measurement
        seen = samples.mean_velocity(arm, before=judged)
        told = seen if samples.never_jumped(arm) else self.qd[own]
        least = np.minimum(np.abs(told), np.abs(seen))
        self._good = self._good.copy()  # it can be the state of the check
        self.qd[own] = np.where(told * seen > 0.0, np.sign(told) * least, 0.0)
        near = np.abs(told - seen) <= _LAG * np.abs(told)
        self.qd[own][near] = told[near]

    def time_jumped(self, arm: str) -> None:
        """Mark a jump of an arm's time: the arm is held at the positions of its next sample."""
        self._jumped.add(self.names.index(arm))
        self.measurement.begin_arm(arm)

    def stale(self, now: int) -> Iterator[Finding]:
        """Yield the streams that are silent."""
        for watch, cause in self.watches:
            if watch.is_stale(now):
                yield Finding(cause, watch.name, watch.staleness(now))

    def require_fresh(self, now: int, refused: str) -> None:
        """Refuse a start or a reset while a stream is silent.

        Raises:
            StaleStreamError: If one is.
        """
        for found in self.stale(now):
            raise StaleStreamError(f"{refused} refused: {found}")

    def require_near(self, lost: Collection[int], joints: Sequence[str]) -> None:
        """Refuse a lost arm with impossible positions, such as positions in degrees.

        Raises:
            SafetyError: If a joint is far beyond its limits.
        """
        check = self.measurement
        q, na = check.q, len(self.q)
        beyond = np.maximum(check.lower[:na] - q, q - check.upper[:na])
        for i in lost:
            for j in range(self.slices[i].start, self.slices[i].stop):
                if beyond[j] > _BEYOND_LIMITS:
                    raise SafetyError(
                        f"reset refused: position {q[j]:.4g} of {joints[j]} is beyond its "
                        f"limits by {beyond[j]:.3g} {check.units[j]}; expected at most "
                        f"{_BEYOND_LIMITS:g} {check.units[j]} of a lost arm. Its data are still "
                        "false."
                    )

    def _heard(self, arm: str, now: int) -> int | None:
        """Return the time of an arm's last good sample; None if a stream of it is silent."""
        own = [w for w, cause in self.watches if cause is Cause.ARM_LOST and w.name == arm]
        if any(watch.is_stale(now) for watch in own):
            return None
        # Without a stream, the observed samples are of this instant.
        return min((w.arrival for w in own if w.arrival is not None), default=now)
