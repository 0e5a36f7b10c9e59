# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of joints that arrive while control runs, and the goals that they serve.

A trajectory begins at the present reference of its joints, whatever that does, so that another
trajectory replaces it without a jump, and a cancelled one comes to rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.control.streamed.curve import hermite
from robot_dynamics.control.streamed.trajectory import HALT_S, LONGEST_S
from robot_dynamics.errors import RobotDynamicsError

MOST_POINTS = 2_000
END_TOLERANCE = 0.05  # default deviation at the end of a goal [rad or m]
END_S = 5.0  # default time for it after the planned end [s]
_BEGINS_WITHIN = 0.05  # of a point at time 0 to the present reference [rad or m]
_PARTS = 8  # of a piece, at whose ends limits are checked
_AT_REST = 1e-6  # velocity at the end [rad/s or m/s]
_ROUNDING = 1e-9  # excess over a limit that is no error [rad, m, rad/s or m/s]
_SHORTEST_HALT_S = 0.02
# Change of velocity and of position on the way to rest in 1 s, for an acceleration of 1, and less.
_HALT_RATE, _HALT_WAY = 0.07, 0.02
_OPEN = 2  # pieces at the beginning that depend on the motion before
Motion = tuple[Array, Array, Array]


class Code(IntEnum):
    """Results of a goal, with the numbers of `control_msgs/action/FollowJointTrajectory`."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class JointTrajectoryError(RobotDynamicsError):
    """A trajectory of joints is refused.

    Attributes:
        code: Result of its goal.
    """

    def __init__(self, sentence: str, code: Code = Code.INVALID_GOAL) -> None:
        self.code = code
        super().__init__(f"trajectory refused: {sentence}")


@dataclass(frozen=True)
class JointLimits:
    """Limits of the joints of a trajectory (n,), in its order.

    Attributes:
        lower: Least positions [rad or m].
        upper: Largest positions [rad or m].
        velocity: Largest velocities [rad/s or m/s].
        units: Units of the positions, "rad" or "m".
    """

    lower: Array
    upper: Array
    velocity: Array
    units: Sequence[str]


class Polynomials(NamedTuple):
    """Polynomials of time, one after the other; importing SciPy's `PPoly` would delay every start.

    Attributes:
        times: Times at which they begin, and the end of the last one (N + 1,) [s].
        coefficients: Of the powers of the time since the beginning of each (k, N, n).
    """

    times: Array
    coefficients: Array

    def __call__(self, time: float) -> Array:
        """Return the values (n,) at a time; the first and the last one have no bounds."""
        piece = int(np.searchsorted(self.times[1:-1], time, side="right"))
        return np.asarray(polyval(time - self.times[piece], self.coefficients[:, piece]))


class Curve(NamedTuple):
    """Positions over time, and their derivatives (n,)."""

    position: Polynomials
    velocity: Polynomials
    acceleration: Polynomials


class JointTrajectory:
    """Points of a trajectory of some joints, which ends at rest.

    Quintic polynomials with continuous acceleration connect the points. Omitted velocities follow
    from the neighbouring points, and are zero at the last; omitted accelerations are zero.

    Attributes:
        joints: Names of the joints (n,).
        times: Times of the points (N,) [s].

    Args:
        joints: Names of the joints (n,).
        times: Times of the points (N,) [s], increasing, from 0 on.
        positions: Positions (N, n) [rad or m].
        velocities: Velocities (N, n); None to choose them.
        accelerations: Accelerations (N, n); None for zero.

    Raises:
        JointTrajectoryError: With the wrong point.
    """

    def __init__(
        self,
        joints: Sequence[str],
        times: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
    ) -> None:
        self.joints, self.times = tuple(joints), np.atleast_1d(np.asarray(times, dtype=float))
        count = len(self.times)
        if not 1 <= count <= MOST_POINTS:
            raise JointTrajectoryError(f"{count} points; expected 1 to {MOST_POINTS}.")
        later = np.diff(self.times, prepend=-1.0) > 0.0
        wrong = ~(later & (self.times >= 0.0) & (self.times <= LONGEST_S))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise JointTrajectoryError(
                f"time of point {at} is {self.times[at]:g} s; expected times from 0 to "
                f"{LONGEST_S:g} s, each later than the one before."
            )
        self._positions = self._checked("position", positions)
        self._velocities = None if velocities is None else self._checked("velocity", velocities)
        if self._velocities is not None and np.abs(self._velocities[-1]).max() > _AT_REST:
            raise JointTrajectoryError("its last point moves; expected velocity 0 at the end.")
        self._accelerations = (
            np.zeros_like(self._positions)
            if accelerations is None
            else self._checked("acceleration", accelerations)
        )

    def _checked(self, what: str, values: ArrayLike) -> Array:
        found, shape = np.array(values, dtype=float), (len(self.times), len(self.joints))
        if found.shape != shape:
            raise JointTrajectoryError(f"{what} of shape {found.shape}; expected {shape}.")
        if not np.isfinite(found).all():
            point, joint = np.argwhere(~np.isfinite(found))[0].tolist()
            raise JointTrajectoryError(
                f"{what} of joint {self.joints[joint]!r} at point {point} is "
                f"{found[point, joint]}; expected a finite number."
            )
        return found

    def part(self, joints: Sequence[str]) -> JointTrajectory:
        """Return the trajectory of some of its joints, in their order."""
        order = [self.joints.index(joint) for joint in joints]
        rates = self._velocities
        return JointTrajectory(
            joints,
            self.times,
            self._positions[:, order],
            None if rates is None else rates[:, order],
            self._accelerations[:, order],
        )

    def begun(self, now: float, present: Motion, limits: JointLimits) -> JointPath:
        """Return the path from the present motion through the points.

        A point at time 0 states where the joints are now; the path begins at the reference.

        Args:
            now: The present time [s].
            present: Positions, velocities and accelerations of the reference (n,) each.
            limits: Limits of the joints.

        Raises:
            JointTrajectoryError: If the path leaves the limits, or a point at time 0 is elsewhere.
        """
        first = self._first
        if first:
            self._require_near(present[0], limits.units)
        if len(self.times) == first:  # where the joints are
            return halted(now, present, limits)
        p, v, a = (
            np.concatenate([one[None], values[first : first + _OPEN]])
            for one, values in zip(present, self._motion, strict=True)
        )
        times = np.concatenate([[0.0], self.times[first : first + _OPEN]])
        if self._velocities is None and len(self.times) > first + 1:
            v[1] = (p[2] - p[0]) / times[2]
        with np.errstate(all="ignore"):  # numbers of any size are refused below
            curve, samples = _joined((p, v, a), times)
            curves = [curve]
            if self._rest is not None:
                curves.append(self._rest[0])
                samples = np.concatenate([samples, self._rest[1]], axis=1)
            self._check_limits(samples, limits)
        return JointPath(now, *curves)

    def prepare(self) -> JointTrajectory:
        """Compute now all that does not depend on the beginning; return the trajectory.

        `begun` then takes as long for 2000 points as for three.
        """
        _ = self._rest
        return self

    @property
    def _first(self) -> int:
        """Index of the first point after the beginning."""
        return int(self.times[0] == 0.0)

    @cached_property
    def _motion(self) -> Motion:
        """Positions, velocities and accelerations of the points (N, n) each."""
        p, times = self._positions, self.times
        v = np.zeros_like(p) if self._velocities is None else self._velocities
        if self._velocities is None:
            with np.errstate(all="ignore"):
                v[1:-1] = (p[2:] - p[:-2]) / (times[2:] - times[:-2])[:, None]
        return p, v, self._accelerations

    @cached_property
    def _rest(self) -> tuple[Curve, Array] | None:
        """Curve after the open pieces, and its least and largest motion (3, 2, n); or None."""
        begin = self._first + _OPEN - 1
        if len(self.times) <= begin + 1:
            return None
        with np.errstate(all="ignore"):
            curve, samples = _joined([x[begin:] for x in self._motion], self.times[begin:])
            return curve, np.stack([samples.min(axis=1), samples.max(axis=1)], axis=1)

    def _require_near(self, q: Array, units: Sequence[str]) -> None:
        distance = np.abs(self._positions[0] - q)
        worst = int(np.argmax(distance))
        if distance[worst] > _BEGINS_WITHIN:
            raise JointTrajectoryError(
                f"joint {self.joints[worst]!r} begins {distance[worst]:.3g} {units[worst]} from "
                f"its present reference, expected at most {_BEGINS_WITHIN:g} {units[worst]}."
            )

    def _check_limits(self, motion: Array, limits: JointLimits) -> None:
        """Refuse samples of positions, velocities and accelerations (3, M, n)."""
        free = np.full(len(self.joints), np.finfo(float).max)
        for what, per, found, least, most in (
            ("position", "", motion[0], limits.lower, limits.upper),
            ("velocity", "/s", motion[1], -limits.velocity, limits.velocity),
            ("acceleration", "/s²", motion[2], -free, free),
        ):
            inside = (found >= least - _ROUNDING) & (found <= most + _ROUNDING)  # false for NaN
            if inside.all():
                continue
            excess = np.where(inside, 0.0, np.fmax(least - found, found - most))
            excess[np.isnan(found)] = np.inf
            sample, joint = np.unravel_index(int(np.argmax(excess)), excess.shape)
            raise JointTrajectoryError(
                f"{what} of joint {self.joints[joint]!r} would be "
                f"{found[sample, joint]:.4g}; expected {least[joint]:.4g} to "
                f"{most[joint]:.4g} {limits.units[int(joint)]}{per}."
            )


def _joined(motion: Sequence[Array], times: Array) -> tuple[Curve, Array]:
    """Return the curve through points, and its motion at several times of each piece (3, M, n).

    Args:
        motion: Positions, velocities and accelerations of the points (N, n) each.
        times: Their times (N,) [s].
    """
    T, (p, v, a) = np.diff(times)[:, None], motion
    pieces = hermite((p[:-1], v[:-1], a[:-1]), (p[1:], v[1:], a[1:]), T)
    curve = Curve(*(Polynomials(times, coefficients) for coefficients in pieces))
    return curve, np.array([_sampled(coefficients, T) for coefficients in pieces])


def _sampled(coefficients: Array, duration: Array) -> Array:
    """Return values (M, n) at several times of each piece of a curve.

    Args:
        coefficients: Of the powers of time in each piece (k, N, n).
        duration: Of each piece (N, 1) [s].
    """
    power = np.arange(len(coefficients))
    parts = np.linspace(0.0, 1.0, _PARTS + 1)[:, None] ** power
    scaled = coefficients * duration ** power[:, None, None]
    return np.einsum("sk,kpn->spn", parts, scaled).reshape(-1, coefficients.shape[-1])


class JointPath:
    """Motion of joints over time, at rest after its end.

    Attributes:
        duration: Time from its beginning to its end [s].

    Args:
        begin: Time of its beginning [s].
        curves: Motion over the time from then on, each from the end of the one before.
    """

    def __init__(self, begin: float, *curves: Curve) -> None:
        self._begin, self._curves = begin, curves
        self.duration = float(curves[-1].position.times[-1])

    def since(self, time: float) -> float:
        """Return the time since its beginning [s]."""
        return time - self._begin

    def at(self, time: float, ahead: float = 0.0) -> Motion:
        """Return positions and velocities (n,) at a time, and accelerations (n,) after it.

        Args:
            time: The time [s].
            ahead: Time from a measurement to the middle of the action of its command [s].
        """
        t, later = self.since(time), self.since(time) + ahead
        at = min(max(t, 0.0), self.duration)
        curve = self._curve(at)
        found = curve.position(at)
        rate = second = np.zeros_like(found)
        if 0.0 <= t < self.duration:
            rate = curve.velocity(at)
        if later < self.duration:
            second = self._curve(later).acceleration(later)
        return found, rate, second

    def _curve(self, t: float) -> Curve:
        """Return the curve at a time from the beginning on."""
        begun = [curve for curve in self._curves if t >= curve.position.times[0]]
        return begun[-1] if begun else self._curves[0]


def halted(now: float, present: Motion, limits: JointLimits) -> JointPath:
    """Return the path to rest from a present motion, within the limits of positions.

    It takes less than `HALT_S` where a joint would go beyond its limit. An acceleration that would
    carry a joint far is not continued.
    """
    q, qd, qdd = present
    room = np.maximum(np.where(qd > 0.0, limits.upper - q, q - limits.lower), 0.0)
    fast = np.abs(qd) > _AT_REST
    shortest = float(np.min(2.0 * room[fast] / np.abs(qd[fast]), initial=HALT_S))
    T = max(shortest, _SHORTEST_HALT_S)
    end = np.clip(q + 0.5 * T * qd, limits.lower, limits.upper)
    V, rate, way, still = limits.velocity, _HALT_RATE * T, _HALT_WAY * T**2, np.zeros_like(q)
    least = np.maximum(
        (limits.lower - np.minimum(q, end)) / way, (-V - np.minimum(qd, 0.0)) / rate
    )
    most = np.minimum((limits.upper - np.maximum(q, end)) / way, (V - np.maximum(qd, 0.0)) / rate)
    qdd = np.clip(qdd, np.minimum(least, 0.0), np.maximum(most, 0.0))
    motion = [np.array(pair) for pair in ((q, end), (qd, still), (qdd, still))]
    return JointPath(now, _joined(motion, np.array([0.0, T]))[0])


@dataclass(eq=False)
class JointGoal:
    """A trajectory that somebody wants to be followed, with tolerances, and its course.

    Attributes:
        trajectory: The trajectory.
        path: Largest deviations on the way (n,) [rad or m].
        end: Largest deviations at the end (n,) [rad or m].
        end_s: Time after the planned end within which the joints must be there [s].
        code: The result; None while it is under way.
        sentence: Why it ended; empty after success.
        cancelled: Whether it was ended by a request, or by a trajectory that replaced it.
        deviation: Present deviations (n,) [rad or m].
        desired: Present reference: positions and velocities (n,) each.
    """

    trajectory: JointTrajectory
    path: Array | float = np.inf
    end: Array | float = END_TOLERANCE
    end_s: float = END_S
    code: Code | None = None
    sentence: str = ""
    cancelled: bool = False
    deviation: Array = field(default_factory=lambda: np.zeros(0))
    desired: tuple[Array, Array] = field(default_factory=lambda: (np.zeros(0), np.zeros(0)))

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.code is not None or self.cancelled

    def cancel(self, sentence: str) -> None:
        """End it; its joints come to rest, or follow the trajectory that replaces it."""
        if not self.ended:
            self.cancelled, self.sentence = True, sentence

    def judge(self, since_end: float, desired: Motion, q: Array, units: Sequence[str]) -> None:
        """Compare measured positions with the reference, and end the goal if it is decided.

        Args:
            since_end: Time since the planned end [s]; negative on the way.
            desired: The reference.
            q: Measured positions (n,).
            units: Their units.
        """
        self.desired, self.deviation = desired[:2], q - desired[0]
        size = np.abs(self.deviation)
        if since_end < 0.0:
            self._require(size, self.path, units, "on the way", Code.PATH_TOLERANCE_VIOLATED)
        elif (size <= self.end).all():
            self.code = Code.SUCCESSFUL
        elif since_end > self.end_s:
            self._require(size, self.end, units, "at the end", Code.GOAL_TOLERANCE_VIOLATED)

    def _require(
        self, size: Array, most: Array | float, units: Sequence[str], where: str, code: Code
    ) -> None:
        excess = size - most
        worst = int(np.argmax(excess))
        if not excess[worst] <= 0.0:
            allowed = np.broadcast_to(most, size.shape)[worst]
            name = self.trajectory.joints[worst]
            self.code = code
            self.sentence = (
                f"joint {name!r} deviates by {size[worst]:.3g} {units[worst]} {where}, expected "
                f"at most {allowed:.3g} {units[worst]}."
            )
