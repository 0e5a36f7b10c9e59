# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Plans of moves from rest to rest that make parameters observable.

Each move is the one of many that adds most information a second, the logarithm of its determinant
(D-optimal), within all limits and without collisions; its end and speed are then optimised. Moves
are added until the standard deviations are as wanted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize

from robot_dynamics.app.scenarios.clearances import Clearances
from robot_dynamics.app.scenarios.laws import box_around_object
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array
from robot_dynamics.control.link_distance import Proximity
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.system import GraspSystem

#: Share of the allowed torque that a plan uses.
EFFORT = 0.8
#: Share of the velocity limits on the way home.
HOME_SPEED = 0.3
_CANDIDATES = 24  # moves of which the best is taken
_SLOWEST = 0.1  # share of the velocity limits
_POLISH = 40  # evaluations of the optimiser
_KEPT = ("torque_fraction_of_limit_max",)  # thresholds that do not depend on the task


class MovePlanner(ABC):
    """Adds moves to a motion.

    Attributes:
        known: Inverse covariance of the unknowns (u, u) after the moves so far.
        wanted: Mask of the unknowns that are wanted (u,).

    Args:
        scenario: Name of the scenario, for errors.
        moved: The arm or the object, for errors.
        lower: Least coordinates of the end of a move (n,).
        upper: Largest ones (n,).
        fastest: Largest share of the velocity limits.
        before: Standard deviations of the unknowns before the motion (u,).
        wanted: Which of them are wanted (u,).
        seed: Of the candidates.
    """

    def __init__(
        self,
        scenario: str,
        moved: str,
        lower: Array,
        upper: Array,
        fastest: float,
        before: Array,
        wanted: Sequence[bool],
        seed: int,
    ) -> None:
        self._refusal = (
            f"{scenario}: none of {_CANDIDATES} moves of {moved} is free of collisions and within "
            "the limits"
        )
        self._problems = Counter[str]()  # for which moves were refused
        self._lower, self._upper, self._fastest = lower, upper, fastest
        self._before, self.wanted = before, np.array(wanted)
        self.known = np.diag(1.0 / before**2)
        self._rng = np.random.default_rng(seed)

    @property
    @abstractmethod
    def duration(self) -> float:
        """Duration of the motion so far, with the way home [s]."""

    @abstractmethod
    def _told(self, end: Array, speed: float) -> tuple[Array, float] | None:
        """Return the information (u, u) of a move and its duration [s].

        The result is None for a move beyond a limit.
        """

    @abstractmethod
    def _possible(self, end: Array, speed: float) -> bool:
        """Return whether a move within the limits, and the way home, are free of collisions."""

    @abstractmethod
    def _take(self, end: Array, speed: float, told: Array) -> None:
        """Add a move that is possible, and its information (u, u)."""

    @property
    def shares(self) -> Array:
        """Expected standard deviations of the wanted unknowns, over those before."""
        covariance = np.linalg.inv(self._scaled(self.known))
        return np.asarray(np.sqrt(np.diag(covariance))[self.wanted])

    def add_moves(self, share: float, longest_s: float) -> None:
        """Add moves until all shares are as wanted, or the motion is too long.

        Args:
            share: Largest share that is wanted.
            longest_s: Duration after which no move is added [s].

        Raises:
            ArgumentError: If none is possible.
        """
        while self.shares.max() > share and self.duration < longest_s:
            self._add_move()

    def _add_move(self) -> None:
        n = len(self._lower)
        found = []
        self._problems.clear()
        for _ in range(_CANDIDATES):
            end, speed = self._candidate()
            found.append((self._gain(end, speed), end, speed))
        found.sort(key=lambda one: -one[0])
        for gain, end, speed in found:
            if not gain > 0.0 or not self._possible(end, speed):
                continue
            size = np.append(0.2 * (self._upper - self._lower), 0.2)
            origin = np.append(end, speed)

            def loss(x: Array, origin: Array = origin, size: Array = size) -> float:
                z = origin + size * x
                return -self._gain(z[:n], float(z[n]))

            simplex = np.vstack([np.zeros(n + 1), np.eye(n + 1)])
            options = {"maxfev": _POLISH, "initial_simplex": simplex}
            x = minimize(loss, np.zeros(n + 1), method="Nelder-Mead", options=options).x
            z = origin + size * x
            if self._possible(z[:n], float(z[n])):
                end, speed = z[:n], float(z[n])
            told = self._told(end, speed)
            assert told is not None
            self._take(end, speed, told[0])
            return
        if self._problems:
            ((problem, _),) = self._problems.most_common(1)
            raise ArgumentError(f"{self._refusal}; most often {problem}")
        raise ArgumentError(f"{self._refusal}; expected more room around the start.")

    def _candidate(self) -> tuple[Array, float]:
        """Return the end of a random move, and its speed as a share of the limits."""
        end = self._rng.uniform(self._lower, self._upper)
        return end, float(self._rng.uniform(_SLOWEST, self._fastest))

    def _gain(self, end: Array, speed: float) -> float:
        """Return the growth of the information's logarithm a second; -inf if not allowed."""
        inside = (end >= self._lower).all() and (end <= self._upper).all()
        if not (inside and _SLOWEST <= speed <= self._fastest):
            return -np.inf
        told = self._told(end, speed)
        if told is None:
            return -np.inf
        return (self._content(self.known + told[0]) - self._content(self.known)) / told[1]

    def _content(self, known: Array) -> float:
        """Return the logarithm of the determinant of an inverse covariance (u, u)."""
        return float(np.linalg.slogdet(self._scaled(known))[1])

    def _scaled(self, known: Array) -> Array:
        return known * np.outer(self._before, self._before)


class FreeWay:
    """Tells whether a way of arms is free of collisions.

    Args:
        scenario: The scenario: with a task, as `with_free_arms` returns it, for free arms.
        system: Its arms and object.
    """

    def __init__(self, scenario: Scenario, system: GraspSystem) -> None:
        self._pose, self._home = scenario.object_pose, scenario.home
        self._clearances = Clearances(scenario, system)
        self._proximity = Proximity(system, scenario.safety, box_around_object(scenario))

    def __call__(self, q: Array) -> bool:
        """Return whether free arms at positions (N, na) keep all distances."""
        q = np.vstack([self._home, q])  # pairs that are close at home do not count
        return self._is_free(q, np.tile(self._pose, (len(q), 1)), ["move"] * len(q))

    def with_object(self, q: Array, poses: Array, phases: Sequence[str]) -> bool:
        """Return whether arms and the object that they hold keep all distances.

        Args:
            q: Positions of the arm joints (N, na), from the start on.
            poses: Poses of the object (N, 7).
            phases: Phases of the task (N,); empty without one.
        """
        return self._is_free(q, poses, phases)

    def _is_free(self, q: Array, poses: Array, phases: Sequence[str]) -> bool:
        if self._proximity.first_too_close(q, poses) is not None:
            return False
        return self._clearances.first_too_close(q, poses, phases) is None


def require_wanted(share: float, longest_s: float) -> None:
    """Check the wanted share of the standard deviations before, and the longest duration [s].

    Raises:
        ArgumentError: If one is not a number in its range.
    """
    if not 0.0 < share < 1.0:
        raise ArgumentError(f"share is {share!r}; expected a number between 0 and 1.")
    if not 0.0 < longest_s < float("inf"):
        raise ArgumentError(f"longest_s is {longest_s!r}; expected a positive number.")


def without_thresholds(scenario: Scenario) -> dict[str, Any]:
    """Return changes that take the thresholds of a scenario's task out of it."""
    return {
        f"acceptance.{engine}.{key}": None
        for engine in ("engine", "mujoco")
        for key, value in vars(getattr(scenario.acceptance, engine)).items()
        if value is not None and key not in _KEPT
    }


def percent(share: float) -> str:
    """Return a share in percent, with two digits and without an exponent."""
    value = 100.0 * share
    return f"{value:.0f} %" if value >= 10.0 else f"{value:.2g} %"


def missed(shares: Array, wanted: float) -> list[str]:
    """Return a line about the standard deviations that are larger than wanted, if there are any.

    Args:
        shares: Standard deviations over those before.
        wanted: Largest share that was wanted.
    """
    count = int(np.sum(shares > wanted))
    if not count:
        return []
    return [
        f"  longest duration reached: {count} of {len(shares)} standard deviations are above the "
        f"wanted {percent(wanted)} of those before"
    ]
