# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Consistency of measured joint positions and velocities.

For each joint the change of its position is compared with the integral of its velocity over the
last twentieth of a second. They differ if a velocity has the wrong sign or unit, or a position
jumps. An arm is stale if its samples stay the same to the last bit although their own velocities
tell of motion, or another arm moves the rigid object that both hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile import Program, trace
from robot_dynamics.control.rotation_path import rotated
from robot_dynamics.scalar.functions import absolute, maximum, minimum

MEMORY_S = 0.05  # in which what was seen loses its weight, but for 1 / e [s]
DISAGREEMENT = 4e-3  # of positions and velocities, that encoders and filters cause [rad or m]
_SHARE = 0.3  # of the way in that time, that the lag of a velocity filter causes
_LATE_S = 4e-3  # between the instants of a position and its velocity [s]
_STILL = 10  # samples that are the same to the last bit
_MOVED = 4e-3  # way of another arm meanwhile [rad or m]
_TOLD_S = 0.2  # longest time that counts: velocities at rest may be a little off [s]
_TOLD = 1e-3  # way meanwhile by velocities that are the same as well [rad or m]
LOOK_S = 0.02  # between two looks for arms that do not move [s]
_LOOKS = 2  # at least, after which an arm that was to move counts as still
_ASKED_M = 1e-3  # way of its grasp, which moves a joint by as much [m, rad]
_STAYS = 2e-4  # way of a joint that is no answer to that [rad or m]
_ALIKE = 0.2  # largest deviation from a common delay, and least speed, as shares of the maximum
_ANY = 1e300  # makes at least 1 of whatever is not zero
_MOST = 1e6  # a number of which no sum overflows [rad, m, rad/s or m/s]


class JointMotion(NamedTuple):
    """State of the check of all arms, as views of one array for the kernel.

    The last number of the array is the largest violation of a bound by the last samples.

    Attributes:
        q: Previous positions (na,).
        qd: Previous velocities (na,).
        apart: Disagreement of positions and velocities (na,).
        way: Length of the path of each joint (na,).
        moved: Displacement of each joint (na,).
        since: Displacement since the samples of another arm stopped changing (na,).
        per_arm: Time since the sample of each arm changed [s], and number of samples since (k, 2).
    """

    q: Array
    qd: Array
    apart: Array
    way: Array
    moved: Array
    since: Array
    per_arm: Array

    @classmethod
    def of(cls, state: Array, arms: int) -> JointMotion:
        """Return views of an array (6 na + 2 k + 1,)."""
        na = (len(state) - 2 * arms) // 6
        q, qd, apart, way, moved, since = state[: 6 * na].reshape(6, na)
        return cls(q, qd, apart, way, moved, since, state[6 * na : -1].reshape(arms, 2))

    def begin(self, arm: int, own: slice, q: Array, qd: Array) -> None:
        """Forget the motion of an arm before the sample `q`, `qd` (n,)."""
        self.q[own], self.qd[own] = q, qd
        for row in (self.apart, self.way, self.moved, self.since):
            row[own] = 0.0
        self.per_arm[arm] = 0.0

    def is_still(self, arm: int) -> bool:
        """Return whether the last samples of an arm are the same."""
        return bool(self.per_arm[arm, 1] > _STILL)

    def becomes_still(self, arm: int) -> bool:
        """Return whether `is_still` has become true with the last sample."""
        return bool(_STILL < self.per_arm[arm, 1] <= _STILL + 1)

    def why_false(
        self,
        joints: Mapping[str, Sequence[str]],
        slices: Sequence[slice],
        arm: int,
        units: Sequence[str],
        before: JointMotion,
        doubt: Array,
        *,
        passed: float,
        forced: str,
        linked: bool,
    ) -> str:
        """Return a sentence about false samples of an arm; empty if they are consistent.

        Args:
            joints: Names of the joints by arm.
            slices: Slice of each arm.
            arm: Number of the arm.
            units: Units of the joints' positions, "rad" or "m".
            before: What was kept before the last sample.
            doubt: Part of what encoders and filters may cause that is allowed (na,): 1 where
                nothing else speaks against the arm.
            passed: Time between these samples and those before [s].
            forced: Why the arm must have moved, if it must.
            linked: Whether all arms hold one rigid object, so that no arm can move alone.
        """
        names = tuple(joints)
        own = slices[arm]
        # Before the last step, which may be false.
        others = [np.abs(before.since[their]).max() for their in slices if their != own]
        other_moves = linked and max(others, default=0.0) > _MOVED
        told = float(np.abs(self.qd[own]).max() * min(self.per_arm[arm, 0], _TOLD_S))
        if told > _TOLD:
            forced = "they tell of motion"
        elif other_moves:
            forced = "another arm moves"
        if self.is_still(arm) and forced:
            count = int(self.per_arm[arm, 1])
            return (
                f"its positions and velocities are the same in {count} samples while {forced}; "
                "expected new measurements, not stale data under new time stamps."
            )
        # Before the last step.
        way = np.maximum(self.way[own] - np.abs(self.q[own] - before.q[own]), 0.0)
        allowed = _SHARE * way + doubt[own] * (DISAGREEMENT + _LATE_S * np.abs(self.qd[own]))
        excess = np.abs(self.apart[own]) - allowed
        i = int(np.argmax(excess))
        if not excess[i] > 0.0:
            return ""
        joint, unit = joints[names[arm]][i], units[own][i]
        jump = self.q[own] - before.q[own]
        kept = MEMORY_S / (MEMORY_S + passed)
        if abs(jump[i]) > DISAGREEMENT and abs(before.apart[own][i]) < 0.5 * abs(
            self.apart[own][i]
        ):
            by = f"{jump[i]:.3g} {unit}"
            return self._why_jumped(names, slices, arm, joint, before, by)
        # What is false may have begun a moment ago: its kind shows in the last step.
        told = float(jump[i] - (self.apart[own][i] - kept * before.apart[own][i]))
        ratio = told / float(jump[i]) if jump[i] else math.inf
        degrees = math.degrees(1.0)
        # The first false sample counts by half, of a joint that slows down by less than half.
        if abs(ratio - 1.0) > 0.4 * (degrees - 1.0) and abs(ratio) < 2.0 * degrees:
            cause = "it seems to be in degrees per second"
        elif ratio < -0.4:
            cause = "its sign seems to be wrong"
        elif abs(ratio) < 0.4:
            cause = "it seems to stand still"
        elif late := _common_delay(self.apart[own], self.qd[own]):
            side = "ahead of" if late < 0.0 else "behind"
            cause = (
                f"all joints of the arm differ alike, as if its time stamps ran "
                f"{1e3 * abs(late):.0f} ms {side} its motion"
            )
        else:
            cause = "one of both is false"
        return (
            f"velocity of joint {joint!r} contradicts its position: in the last "
            f"{1e3 * MEMORY_S:.0f} ms it moved by {self.moved[own][i]:.3g} {unit}, by its "
            f"velocity {self.moved[own][i] - self.apart[own][i]:.3g} {unit}: {cause}."
        )

    def why_far(
        self,
        joints: Mapping[str, Sequence[str]],
        slices: Sequence[slice],
        arm: int,
        units: Sequence[str],
        before: JointMotion,
        speed: Array,
        passed: float,
    ) -> str:
        """Return a sentence about an arm that comes back too far from its last sample; else empty.

        Args:
            joints: Names of the joints by arm.
            slices: Slice of each arm.
            arm: Number of the arm.
            units: Units of the joints' positions, "rad" or "m".
            before: What was kept before the last sample.
            speed: Largest speeds (na,).
            passed: Time since its last good sample [s].
        """
        own = slices[arm]
        jump = self.q[own] - before.q[own]
        excess = np.abs(jump) - np.minimum(speed[own], _MOST) * passed - DISAGREEMENT
        i = int(np.argmax(excess))
        if not excess[i] > 0.0:
            return ""
        names, joint = tuple(joints), joints[tuple(joints)[arm]][i]
        how = f"in the {1e3 * passed:.3g} ms since its last good sample, faster than it can move"
        by = f"{jump[i]:.3g} {units[own][i]}"
        return self._why_jumped(names, slices, arm, joint, before, by, how)

    def _why_jumped(
        self,
        names: Sequence[str],
        slices: Sequence[slice],
        arm: int,
        joint: str,
        before: JointMotion,
        jump: str,
        how: str = "in one sample, and its velocity tells of no such motion",
    ) -> str:
        own = slices[arm]
        sentence = f"position of joint {joint!r} jumped by {jump} {how}"
        # A sample is close to another one if the motion of a few periods lies between them.
        close = 10.0 * DISAGREEMENT
        told, was = np.radians(self.q[own]), before.q[own]
        if np.abs(told - was).max() < close < np.abs(was).max():  # near zero nothing can be told
            return f"{sentence}: it seems to be in degrees."
        apart = self.q[own] - was
        turns = 2.0 * np.pi * np.round(apart / (2.0 * np.pi))
        if turns.any() and np.abs(apart - turns).max() < close:
            return f"{sentence}: a whole turn; expected positions that go on beyond half a turn."
        for other, their in enumerate(slices):
            same = len(before.q[their]) == len(before.q[own])
            if other != arm and same and np.abs(self.q[own] - before.q[their]).max() < close:
                return f"{sentence}: it is where arm {names[other]!r} was; names seem swapped."
        return f"{sentence}: stale, repeated or false data."


def _common_delay(apart: Array, qd: Array) -> float:
    """Return the delay that explains how far all joints of an arm are apart [s]; 0 if none does.

    Time that a driver or a simulator drops, or repeats, moves each joint by its velocity times
    that time. One false velocity does not.

    Args:
        apart: Disagreement of positions and velocities (n,).
        qd: Velocities (n,).
    """
    moving = np.abs(qd) > _ALIKE * np.abs(qd).max()
    if np.count_nonzero(moving) < 2:
        return 0.0
    late = float(apart @ qd / (qd @ qd))
    alike = np.abs(apart - late * qd).max() <= _ALIKE * np.abs(apart).max()
    return late if alike else 0.0


class StillArms:
    """Finds arms that do not move although the object that they hold must move.

    Their data are old, or they are blocked: both look the same. The drives must hold such an arm,
    because torques computed from old data can be wrong.

    Args:
        slices: Slice of each arm in vectors over the arm joints.
        grasps: Place of each arm's grasp on the object, in its axes (k, 3) [m].
        bandwidth: Bandwidth of the object's servo [rad/s]; it gives the time in which an arm must
            respond to a jump of the reference.
    """

    def __init__(
        self, slices: Sequence[slice], grasps: Array, bandwidth: float = math.inf
    ) -> None:
        self._slices, self._grasps = tuple(slices), grasps
        self._reaches = np.linalg.norm(grasps, axis=1).tolist()
        self._most = max(_LOOKS, math.ceil(1.0 / (bandwidth * LOOK_S)))
        self.begin()

    def begin(self) -> None:
        """Forget everything: control begins."""
        count = len(self._slices)
        self._q: list[list[float]] = [[math.nan]] * count  # where each arm was seen to move last
        self._poses: list[list[float]] = [[0.0] * 7] * count  # of the reference then
        self._looks = [0] * count

    def look(self, q: Array, pose: Array) -> list[int]:
        """Return the numbers of the arms that do not move; must be called every `LOOK_S`.

        Args:
            q: Positions of the arm joints (na,).
            pose: Of the reference, x y z qx qy qz qw (7,).
        """
        found, joints, reference = [], q.tolist(), pose.tolist()
        for i, own in enumerate(self._slices):
            mine = joints[own]
            # Floats: the first joint of an arm mostly tells, and arrays would take longer.
            if not all(abs(a - b) <= _STAYS for a, b in zip(mine, self._q[i], strict=False)):
                self._q[i], self._poses[i], self._looks[i] = mine, reference, 0
            elif self._is_asked(i, reference):
                self._looks[i] += 1
                if self._looks[i] > self._most:
                    found.append(i)
        return found

    def _is_asked(self, arm: int, pose: list[float]) -> bool:
        """Return whether the grasp of an arm should have moved since the arm did."""
        then = self._poses[arm]
        # Quaternions at a distance d turn a vector by 2 d of its length at most.
        most = 2.0 * math.dist(pose[3:], then[3:]) * self._reaches[arm]
        if math.dist(pose[:3], then[:3]) + most <= _ASKED_M:
            return False
        now, before = np.array([pose, then])
        turned = [rotated(one[3:], self._grasps[arm]) for one in (now, before)]
        return bool(np.linalg.norm(now[:3] - before[:3] + turned[0] - turned[1]) > _ASKED_M)


class StillJoints:
    """Finds single joints of free arms that do not move although their references do.

    A sensor that repeats its position tells of a joint at rest. The servo then drives the joint
    away, and nothing else measures that.

    Args:
        most: Growth of the tracking error of each joint from which it must have moved (na,)
            [rad or m].
    """

    def __init__(self, most: Array) -> None:
        self._most = most
        self.begin()

    def begin(self) -> None:
        """Forget everything: control begins."""
        count = len(self._most)
        self._q = np.full(count, np.nan)  # where each joint was seen to move last
        self._errors = np.zeros(count)  # least one of tracking since
        self._looks = np.zeros(count, dtype=int)

    def look(self, q: Array, reference: Array) -> list[int]:
        """Return the numbers of the joints that do not move; must be called every `LOOK_S`.

        Args:
            q: Measured positions of the joints (na,).
            reference: Their references (na,).
        """
        errors = np.abs(reference - q)
        moved = ~(np.abs(q - self._q) <= _STAYS)
        before = np.minimum(self._errors, errors)  # a reference may come back to a still joint
        self._q, self._errors = np.where(moved, (q, errors), (self._q, before))
        asked = ~moved & (errors - self._errors > self._most)
        self._looks = np.where(asked, self._looks + 1, 0)
        return [int(j) for j in np.flatnonzero(self._looks >= _LOOKS)]


def motion_program(arms: Sequence[slice], wrenches: int) -> Program:
    """Return the program of the check of a sample; NaN is beyond all bounds.

    Inputs: positions and velocities (na,), wrenches (k, 6), the time since the last sample of each
    arm (arms,); state, a `JointMotion` (6 na + 2 arms + 1,).
    Parameters: lower and upper bounds (2 na + 6 k, each).
    Output: the next state.
    """
    na = arms[-1].stop
    count = 2 * na + 6 * wrenches

    def run(q: Any, qd: Any, wrenches: Any, times: Any, state: Any, bounds: Any) -> dict[str, Any]:
        values = [*q, *qd, *(value for wrench in wrenches for value in wrench)]
        beyond = [values[i] - bounds[count + i] for i in range(count)]
        beyond += [bounds[i] - values[i] for i in range(count)]
        rows = [[state[row * na + j] for j in range(na)] for row in range(6)]
        q_before, qd_before, apart, way, moved, since = rows
        q, qd = [_bounded(one) for one in q], [_bounded(one) for one in qd]
        steps = [q[j] - q_before[j] for j in range(na)]
        changes = [maximum(absolute(steps[j]), absolute(qd[j] - qd_before[j])) for j in range(na)]
        new = [minimum(reduce(maximum, changes[own]) * _ANY, 1.0) for own in arms]
        per_arm: list[Any] = []
        for i, own in enumerate(arms):
            at, passed = 6 * na + 2 * i, times[i]
            waited = state[at] + passed
            samples = (state[at + 1] + minimum(passed * _ANY, 1.0)) * (1.0 - new[i])
            per_arm += [waited * (1.0 - new[i]), samples]
            beyond.append(samples - _STILL)  # looked into only then
            dt = waited * new[i]
            kept = MEMORY_S / (MEMORY_S + dt)
            others_new = reduce(minimum, new[:i] + new[i + 1 :], 1.0)
            for j in range(own.start, own.stop):
                differ = steps[j] - 0.5 * dt * (qd[j] + qd_before[j])
                apart[j] = kept * apart[j] + differ
                moved[j] = kept * moved[j] + steps[j]
                since[j] = (since[j] + steps[j]) * (1.0 - others_new)
                way[j] = kept * way[j]
                allowed = DISAGREEMENT + _SHARE * way[j] + _LATE_S * absolute(qd[j])
                beyond.append(absolute(apart[j]) - allowed)
                way[j] = way[j] + absolute(steps[j])
        return {
            "state": [*q, *qd, *apart, *way, *moved, *since, *per_arm, reduce(maximum, beyond)]
        }

    inputs = {
        "q": na,
        "qd": na,
        "wrenches": (wrenches, 6),
        "times": len(arms),
        "state": 6 * na + 2 * len(arms) + 1,
    }
    return trace(run, name="joint_motion", inputs=inputs, parameters=2 * count)


def _bounded(value: Any) -> Any:
    return maximum(minimum(value, _MOST), -_MOST)
