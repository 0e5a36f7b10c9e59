# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Check of measured joint states and wrenches.

Every comparison is written so that NaN is beyond the limit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile import shared_kernel
from robot_dynamics.control.faults import Cause, Finding
from robot_dynamics.control.joint_motion import (
    DISAGREEMENT,
    MEMORY_S,
    JointMotion,
    motion_program,
)
from robot_dynamics.errors import ArgumentError
from robot_dynamics.wording import outside

_HUGE = np.finfo(float).max  # stands for no limit: infinities and NaN are still beyond it
# Allowed share of the disagreement that encoders and filters may cause, if there is another reason
# to doubt the arm: a speed beyond its limit, or another arm with false samples.
_FAST_DOUBT, _OTHERS_DOUBT = 0.05, 0.3
_NOTHING: Mapping[str, str] = MappingProxyType({})
# Positions of a false arm count again without jumps for a while, if their sum is small.
_QUIET_S = 2.0 * MEMORY_S  # [s]
_CAME_BACK = 0.1  # of the largest sum: the arm moves meanwhile,
_NEAR = 0.05  # by this at most [rad or m]
_FORCED = 0.05  # change of a torque over its limit, which moves an arm that is not held otherwise


class _Track:
    """Whether the positions of an arm with false samples have become continuous again.

    They have if they did not jump for a while, and the sum of all jumps is zero. Late, swapped or
    wrongly scaled positions jump and stay elsewhere.

    Attributes:
        why: Sentence about the false samples.
        since: Time since the last jump [s].
        largest: Largest sum of jumps so far [rad or m].

    Args:
        why: Sentence about the false samples.
        joints: Number of joints.
    """

    def __init__(self, why: str, joints: int) -> None:
        self.why, self.since = why, 0.0
        self._jumped, self.largest = np.zeros(joints), 0.0

    def is_continuous(self, change: Array, passed: float) -> bool:
        """Return whether positions count again.

        Args:
            change: Step of the positions beyond the motion until then (n,).
            passed: Duration of the step [s].
        """
        if not np.abs(change).max() <= DISAGREEMENT:
            self._jumped, self.since = self._jumped + change, 0.0
        else:
            self.since += min(max(passed, 0.0), MEMORY_S)  # silence proves nothing
        away = float(np.abs(self._jumped).max())
        self.largest = max(self.largest, away)
        most = max(DISAGREEMENT, min(_CAME_BACK * self.largest, _NEAR))
        return self.since >= _QUIET_S and away <= most


class MeasurementCheck:
    """Joint states and wrenches, against position and velocity limits.

    Attributes:
        q: Last positions (na,), good or not.
        qd: Last velocities (na,), good or not.
        state: State of the check after them, a new array for all samples; good positions and
            velocities are its first numbers. See `JointMotion`.
        lower, upper: Limits of positions, velocities and wrenches in one row (2 na + 6 k,).
        slices: Slice of each arm in vectors over the joints.

    Args:
        arms: Names of the arms' joints by arm name, in the order of vectors.
        limits: "lower", "upper", "velocity", "effort" over the arm joints (na,).
        wrench_count: Number of measured wrenches.
        wrench_limits: Largest moment [N m] and force [N] along an axis that a sensor may tell.
        units: Units of the positions, "rad" or "m"; all joints turn by default.
    """

    def __init__(
        self,
        arms: Mapping[str, Sequence[str]],
        limits: Mapping[str, Array],
        wrench_count: int = 0,
        wrench_limits: tuple[float, float] = (np.inf, np.inf),
        units: Sequence[str] = (),
    ) -> None:
        self._arms = {name: tuple(joints) for name, joints in arms.items()}
        self._joints = tuple(joint for joints in arms.values() for joint in joints)
        na = len(self._joints)
        self.units = tuple(units) or ("rad",) * na
        # One vector, compared with its bounds at once.
        moment, force = wrench_limits
        free = np.tile([moment] * 3 + [force] * 3, wrench_count)
        speed = limits["velocity"]
        self.lower = np.maximum(np.concatenate([limits["lower"], -speed, -free]), -_HUGE)
        self.upper = np.minimum(np.concatenate([limits["upper"], speed, free]), _HUGE)
        self.q, self.qd, self._wrenches = np.zeros(na), np.zeros(na), np.zeros((wrench_count, 6))
        self._no_wrenches = self._wrenches
        self._passed, self._count = np.zeros(len(self._arms)), na
        ends = np.cumsum([0, *(len(names) for names in self._arms.values())]).tolist()
        self.slices = tuple(slice(a, b) for a, b in pairwise(ends))
        key = f"joint_motion {ends} {wrench_count}".encode()
        program = shared_kernel(key, lambda: motion_program(self.slices, wrench_count), lanes=1)
        self._kernel = program.bind(np.concatenate([self.lower, self.upper]))
        self.state = self._before = np.zeros(6 * na + 2 * len(self._arms) + 1)
        self._anew = set(self._arms)  # who is compared with nothing that was before
        self._unseen: dict[str, float] = {}  # time since samples of an arm were numbers [s]
        self._false: dict[str, str] = {}
        self._tracks: dict[str, _Track] = {}  # of false arms that may come back
        self._effort, self._torque_then = limits["effort"], np.full(na, np.nan)

    @property
    def false_arms(self) -> frozenset[str]:
        """Names of the arms whose samples are false."""
        return frozenset(self._false)

    @property
    def differenced_arms(self) -> frozenset[str]:
        """Names of the arms that came back; their velocities are differences of positions."""
        return frozenset(arm for arm in self._tracks if arm not in self._false)

    def step_speeds(self) -> Array:
        """Return mean speeds of the joints between the last two samples (na,); 0 if unknown."""
        count = len(self._arms)
        now, before = (JointMotion.of(one, count).q for one in (self.state, self._before))
        passed = np.repeat(self._passed, [own.stop - own.start for own in self.slices])
        known = (passed > 0.0) & np.isfinite(self.q)
        return np.divide(np.abs(now - before), passed, out=np.zeros_like(passed), where=known)

    def mean_velocity(self, arm: int, *, before: bool = False) -> Array:
        """Return the velocities of an arm (n,) by its positions, as a mean over `MEMORY_S`.

        Args:
            arm: Number of the arm.
            before: Whether to leave out the last step, which may be false.
        """
        motion = JointMotion.of(self._before if before else self.state, len(self._arms))
        # In steady motion the sum of steps v dt that fade by M / (M + dt) is v (M + dt).
        return np.asarray(motion.moved[self.slices[arm]] / (MEMORY_S + self._passed[arm]))

    @property
    def still_s(self) -> float:
        """Time since the samples of all arms stopped changing, if all are false [s]; else 0."""
        motion, count = JointMotion.of(self.state, len(self._arms)), len(self._arms)
        if len(self._false) < count or not all(motion.is_still(i) for i in range(count)):
            return 0.0
        return float(motion.per_arm[:, 0].min())

    def never_jumped(self, arm: int) -> bool:
        """Return whether only the velocities of an arm were false until now."""
        track = self._tracks.get(tuple(self._arms)[arm])
        return track is not None and track.largest == 0.0

    def velocity(self, arm: int) -> Array:
        """Return the last velocities of an arm (n,): measured, or for `differenced_arms` means."""
        if tuple(self._arms)[arm] in self.differenced_arms:
            return self.mean_velocity(arm)
        return np.asarray(self.qd[self.slices[arm]])

    def begin(self) -> None:
        """Trust all arms again, and forget their earlier measurements."""
        self._anew = set(self._arms)
        self._unseen.clear()
        self._false.clear()
        self._tracks.clear()

    def distrust(self, arm: str, why: str) -> None:
        """Take the samples of an arm for false from now on, until `begin`."""
        self._false.setdefault(arm, why)
        self._tracks.pop(arm, None)

    def begin_arm(self, arm: str) -> None:
        """Forget the earlier measurements of an arm."""
        self._anew.add(arm)

    def fits(
        self, q: Array, qd: Array, wrenches: Array | None = None, passed: Array | float = 0.0
    ) -> bool:
        """Take samples; return whether they are good. If false, `judge` decides.

        Args:
            q: Positions (na,).
            qd: Velocities (na,).
            wrenches: Measured wrenches (k, 6), as many as were announced; none is no mistake.
            passed: Time from the last samples to these, for each arm or for all [s].

        Raises:
            ArgumentError: If an array has the wrong length.
        """
        if wrenches is None:
            wrenches = self._no_wrenches
        if isinstance(passed, float):  # in a third of the time
            self._passed.fill(passed)
        else:
            self._passed[:] = passed
        before = self.state
        try:
            self.state = self._kernel(q, qd, wrenches, self._passed, before)
        except ValueError:
            self._refuse_shapes(q, qd, wrenches)
            raise
        self.q, self.qd, self._wrenches, self._before = q, qd, wrenches, before
        return self.state.item(-1) <= 0.0 and not (
            self._false or self._anew or self._unseen or self._tracks
        )

    def judge(
        self, lost: Collection[str] = (), torque: Array | None = None, *, linked: bool = True
    ) -> bool:
        """Return whether the last samples are finite, within their limits, and consistent.

        An arm whose positions and velocities contradict each other is false until `begin`, or
        until its positions have been continuous for a while; its velocities stay untrusted.

        Args:
            lost: Names of arms whose samples are not compared with earlier ones.
            torque: Torque that the law has sent last (na,); None if it does not run.
            linked: Whether all arms hold one rigid object.
        """
        self._compare(lost, torque, linked=linked)
        fits = bool(self.within(self.q, self.qd, self._wrenches))
        return fits and not (self._false or self._tracks)

    def within(self, q: Array, qd: Array, wrenches: Array) -> Any:
        """Return whether values are numbers within their limits, for one cell or for n cells.

        Args:
            q: Positions (na,), or (n, na).
            qd: Velocities (na,), or (n, na).
            wrenches: Wrenches (k, 6), or (n, k, 6).
        """
        good, at = np.ones(q.shape[:-1], dtype=bool), 0
        for values in (q, qd, wrenches.reshape(*q.shape[:-1], -1)):
            own = slice(at, at + values.shape[-1])
            inside = (self.lower[own] <= values) & (values <= self.upper[own])
            if not inside.all():
                good &= inside.all(axis=-1)
            at = own.stop
        return good

    def _refuse_shapes(self, q: Array, qd: Array, wrenches: Array) -> None:
        if len(q) != self._count or len(qd) != self._count:
            raise ArgumentError(
                f"{len(q)} positions and {len(qd)} velocities, expected {self._count} of each."
            )
        if wrenches.shape != self._wrenches.shape:
            raise ArgumentError(
                f"wrenches of shape {wrenches.shape}, expected {self._wrenches.shape}."
            )

    def findings(self) -> Iterator[Finding]:
        """Yield the findings about the samples that were taken last, and about false arms."""
        return self.findings_of(self.q, self.qd, self._wrenches, self._false)

    def findings_of(
        self, q: Array, qd: Array, wrenches: Array, false: Mapping[str, str] = _NOTHING
    ) -> Iterator[Finding]:
        """Yield the values that are not finite, or beyond their limits.

        Args:
            q: Positions (na,).
            qd: Velocities (na,).
            wrenches: Wrenches (k, 6).
            false: Sentences about arms whose numbers are false, by name.
        """
        for (arm, joints), own in zip(self._arms.items(), self.slices, strict=True):
            bad = next(_not_finite(joints, q[own], qd[own]), None) or false.get(arm)
            if bad:
                yield Finding(Cause.ARM_LOST, arm, bad)
        na, joints = len(self._joints), self._joints
        limits = self.upper[2 * na :].reshape(-1, 6)
        beyond = np.abs(wrenches) > limits
        if not np.isfinite(wrenches).all():
            yield Finding(Cause.WRENCH_LOST, "wrenches", "a number is not finite.")
        elif beyond.any():
            arm, axis = np.argwhere(beyond)[0].tolist()
            what, unit = ("moment", "N m") if axis < 3 else ("force", "N")
            sentence = (
                f"{what} {'xyz'[axis % 3]} of arm {tuple(self._arms)[arm]!r} is "
                f"{wrenches[arm, axis]:.4g} {unit}; expected at most {limits[arm, axis]:.4g} "
                f"{unit}, as a sensor can measure."
            )
            yield Finding(Cause.WRENCH_LOST, "wrenches", sentence)
        for cause, name, values, at, per in (
            (Cause.POSITION_LIMIT, "position", q, slice(0, na), ""),
            (Cause.VELOCITY_LIMIT, "velocity", qd, slice(na, 2 * na), "/s"),
        ):
            units = [f"{unit}{per}" for unit in self.units]
            bounds = zip(joints, values, self.lower[at], self.upper[at], units, strict=True)
            for joint, value, lower, upper, unit in bounds:
                if np.isfinite(value) and not lower <= value <= upper:
                    sentence = f"{name} is {outside(value, lower, upper, unit)}."
                    yield Finding(cause, joint, sentence)

    def _compare(self, lost: Collection[str], torque: Array | None, *, linked: bool) -> None:
        """Find arms whose samples contradict earlier ones, if there are any."""
        count, na = len(self._arms), self._count
        now, before = JointMotion.of(self.state, count), JointMotion.of(self._before, count)
        now.since[np.isnan(now.since)] = 0.0  # of arms beside one whose numbers are none
        # Other reasons to doubt an arm: impossible speeds, or another arm with false samples.
        doubt = np.where(np.abs(self.qd) <= self.upper[na : 2 * na], 1.0, _FAST_DOUBT)
        in_time = (self._passed >= 0.0) & (self._passed <= MEMORY_S)
        compared = []
        for i, (arm, own) in enumerate(zip(self._arms, self.slices, strict=True)):
            passed = float(self._passed[i]) + self._unseen.get(arm, 0.0)
            if not (np.isfinite(self.q[own]).all() and np.isfinite(self.qd[own]).all()):
                # The kernel takes finite numbers only.
                now.begin(i, own, before.q[own], 0.0 * before.q[own])
                self._unseen[arm] = passed
            elif arm in self._tracks:
                self._follow(i, arm, own, now, before, passed)
            elif arm in self._anew or arm in lost or arm in self._unseen or not in_time[i]:
                if passed >= 0.0 and arm not in self._anew and arm not in self._false:
                    speed = self.upper[na : 2 * na]
                    why = now.why_far(
                        self._arms, self.slices, i, self.units, before, speed, passed
                    )
                    self._note(arm, why)
                now.begin(i, own, self.q[own], self.qd[own])
                self._anew.discard(arm)
                self._unseen.pop(arm, None)
            else:
                compared.append((i, arm, own))
            if arm in self._false:  # what it tells is no motion that others must show
                now.since[own] = 0.0
        for _ in self._arms:  # once more for the others if one is found false
            found = len(self._false)
            if found:
                doubt = np.minimum(doubt, _OTHERS_DOUBT)
            # On one rigid object no arm is still if another one must have moved.
            still = (arm in self._false and now.is_still(i) for i, arm in enumerate(self._arms))
            stale = "samples of another arm are stale" if linked and any(still) else ""
            for i, arm, own in compared:
                if arm not in self._false:
                    why = now.why_false(
                        self._arms,
                        self.slices,
                        i,
                        self.units,
                        before,
                        doubt,
                        passed=float(self._passed[i]),
                        forced=self._why_moved(now, i, own, torque) or stale,
                        linked=linked,
                    )
                    if self._note(arm, why):
                        now.since[own] = 0.0
                        if not now.is_still(i):  # else positions tell nothing
                            self._tracks[arm] = _Track(why, own.stop - own.start)
                            self._follow(i, arm, own, now, before, float(self._passed[i]))
            if len(self._false) in (found, count):
                return

    def _note(self, arm: str, why: str) -> bool:
        """Trust an arm no longer if there is a reason; return whether there is one."""
        if why:
            self._false[arm] = why
        return bool(why)

    def _follow(
        self, i: int, arm: str, own: slice, now: JointMotion, before: JointMotion, passed: float
    ) -> None:
        """Follow the positions of a false arm, which counts again when they are continuous."""
        track, step = self._tracks[arm], self.q[own] - before.q[own]
        self._unseen.pop(arm, None)
        expected = passed * self.mean_velocity(i, before=True)
        if track.is_continuous(step - expected, passed):
            if not now.is_still(i):
                self._false.pop(arm, None)
            return
        if track.since == 0.0:  # a jump is no motion
            now.begin(i, own, self.q[own], 0.0 * step)
        self._false[arm] = track.why

    def _why_moved(self, now: JointMotion, arm: int, own: slice, torque: Array | None) -> str:
        """Return that torques have changed much since the samples of an arm are still; else ""."""
        if not now.is_still(arm) or torque is None:
            self._torque_then[own] = np.nan
            return ""
        then = self._torque_then[own]
        # This is not called while an arm moves: torques of an earlier rest do not count.
        if now.becomes_still(arm) or np.isnan(then).any():
            then[:] = torque[own]
        changed = (np.abs(torque[own] - then) > _FORCED * self._effort[own]).any()
        return "its torques have changed" if changed else ""


def _not_finite(joints: Sequence[str], q: Array, qd: Array) -> Iterator[str]:
    """Yield a sentence for each position and velocity of an arm that is not finite."""
    for name, values in (("position", q), ("velocity", qd)):
        for joint, value in zip(joints, values, strict=True):
            if not np.isfinite(value):
                yield f"{name} of joint {joint!r} is {value}; expected a finite number."
