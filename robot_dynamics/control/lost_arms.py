# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms whose state is not known, and their predicted motion."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from robot_dynamics.arrays import Array


class LostArms:
    """Numbers of the arms that are lost.

    An arm whose samples are good again is no longer lost, and the fallback can damp its motion. An
    arm that was given up before stays lost: its drive holds it, and a torque would be unexpected.

    Attributes:
        ended: Numbers of the arms that were given up.

    Args:
        end_after: Time after which a lost arm is given up, in the unit of all times of this class.
    """

    def __init__(self, end_after: int) -> None:
        self._end_after = end_after
        self._since: dict[int, int] = {}
        self._bad_at: dict[int, int] = {}
        self.ended: tuple[int, ...] = ()

    def __contains__(self, arm: object) -> bool:
        return arm in self._since

    def __iter__(self) -> Iterator[int]:
        return iter(self._since)

    def __len__(self) -> int:
        return len(self._since)

    def lose(self, arm: int, now: int) -> None:
        """Mark an arm as lost at time `now`."""
        self._since.setdefault(arm, now)
        self._bad_at[arm] = now

    def take_back(self, arm: int, heard: int) -> None:
        """Remove an arm whose last sample came at time `heard` and was good."""
        if arm in self._since and arm not in self.ended and heard > self._bad_at[arm]:
            del self._since[arm]

    def give_up(
        self,
        now: int,
        arms: Collection[int],
        hopeless: Collection[int] = (),
        settling: int = 0,
    ) -> None:
        """Give up arms that have been lost for too long without interruption.

        Args:
            now: Current time.
            arms: Arms that may be given up.
            hopeless: Arms that will not come back.
            settling: Shorter time for these.
        """
        for arm, since in self._since.items():
            short = settling if arm in hopeless else self._end_after
            long = now - since >= min(short, self._end_after)
            if long and arm in arms and arm not in self.ended:
                self.ended += (arm,)


def solved(matrix: Array, right: Array) -> Array:
    """Return `matrix^-1 right`; zero for a singular matrix, of a model that has failed."""
    try:
        return np.asarray(np.linalg.solve(matrix, right), dtype=float)
    except np.linalg.LinAlgError:
        return np.zeros_like(right)


class LostMotion:
    """Predicted motion of lost arms: that of the model under the torques that act.

    If all arms are lost while they hold one object, they are predicted as one mechanism, linear
    about the last good positions. A lost arm beside others that are seen is predicted alone.

    Args:
        arms: Slice of each arm in vectors over the arm joints.
        delay: Control periods from a command to its effect.
        inverse_inertia: Returns the joint accelerations (na, na) for unit torques of arms that
            hold one object, at positions (na,); None if they are unknown.
    """

    def __init__(
        self, arms: Sequence[slice], delay: int, inverse_inertia: Callable[[Array], Array | None]
    ) -> None:
        self._arms, self._delay, self._inverse_inertia = tuple(arms), delay, inverse_inertia
        self._states: dict[int, tuple[Array, Array]] = {}
        self._as_one: Array | None = None

    def __contains__(self, arm: int) -> bool:
        return arm in self._states

    def __getitem__(self, arm: int) -> tuple[Array, Array]:
        """Displacements of an arm from its held positions (n,), and velocities (n,)."""
        return self._states[arm]

    def follow(
        self, lost: Collection[int], q: Array, hold: Array, qd: Array, *, held: bool
    ) -> bool:
        """Begin with the last good state of the arms that are newly lost, and end with the others.

        Args:
            lost: Numbers of the lost arms.
            q: Last good positions (na,).
            hold: Held positions (na,).
            qd: Last good velocities (na,).
            held: Whether all arms hold one object.

        Returns:
            Whether all arms have become lost at once.
        """
        known, everyone = set(self._states), len(lost) == len(self._arms)
        speed, error = np.where(np.isfinite(qd), qd, 0.0), q - hold
        self._states = {
            i: self._states.get(i) or (error[own].copy(), speed[own].copy())
            for i, own in enumerate(self._arms)
            if i in lost
        }
        if not (everyone and held):
            self._as_one = None
        elif len(known) < len(self._arms):
            found = self._inverse_inertia(q)
            self._as_one = found if found is not None and np.isfinite(found).all() else None
        return everyone and not known

    def catch_up(self, torques: Sequence[Array], rest: Array, period: float, count: int) -> None:
        """Predict the motion since the last good sample of arms that move as one.

        Args:
            torques: Torques that were sent (na,), until now.
            rest: Torque of rest (na,).
            period: Control period [s].
            count: Number of periods since the last good sample.
        """
        if self._as_one is not None:
            until = len(torques) - self._delay
            for torque in list(torques)[max(until - count, 0) : max(until, 0)]:
                self._accelerate(self._as_one @ (torque - rest), period)

    def advance(
        self, torques: Sequence[Array], new: Array, rest: Array, inertia: Array, period: float
    ) -> None:
        """Predict the motion of a control period.

        Args:
            torques: Torques that were sent (na,), until now.
            new: Torque that is sent now (na,).
            rest: Torque of rest (na,).
            inertia: Inertia matrix of the arms (na, na).
            period: Control period [s].
        """
        late = 0 < self._delay <= len(torques)
        excess = (torques[-self._delay] if late else new) - rest
        if self._as_one is not None:
            change = self._as_one @ excess
        else:
            change = np.zeros_like(excess)
            for i in self._states:
                own = self._arms[i]
                change[own] = solved(inertia[own, own], excess[own])
        self._accelerate(change, period)

    def _accelerate(self, acceleration: Array, period: float) -> None:
        for i, (away, speed) in self._states.items():
            speed += period * acceleration[self._arms[i]]
            away += period * speed

    def moved_hold(self, hold: Array, lost: Collection[int]) -> Array:
        """Return held positions (na,) with the predicted positions of lost arms.

        Displacements count from there.
        """
        found = hold.copy()
        for i in lost:
            if i in self._states:
                away = self._states[i][0]
                found[self._arms[i]] += away
                away[:] = 0.0
        return found
