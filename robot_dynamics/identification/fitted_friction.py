# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction of joints and noise of their torques, in equations for identification.

The friction of a joint is `v qd + (c + l exp(-|qd| / 0.1) + m exp(-|qd| / 0.03)) sign(qd)`:
viscous, Coulomb and low-speed friction, which is negative where friction sets in smoothly. At rest
it is unknown: as large as Coulomb friction, and the same as long as the joint rests.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.identification.motion import Noise
from robot_dynamics.identification.signals import Filters
from robot_dynamics.model import Model

_SLOW = 0.03  # speed [rad/s or m/s] below which the direction of friction is uncertain
# Speeds over which low-speed friction turns into Coulomb friction: two tell Stribeck's curve and a
# smooth onset, such as v / sqrt(v^2 + 0.05^2), to a hundredth of it.
_ONSETS = (0.1, 0.03)
_CHANGE = 0.5  # prior deviation of low-speed friction, over Coulomb friction
_WIDE = 0.05  # prior deviation of friction, over the effort limit
_LEAST = 0.01  # Coulomb friction that is assumed at least, over the effort limit
_KEPT = 0.2  # of the friction that was assumed, if less is found
_SATURATED = 0.98  # of the effort limit
_USUAL_EFFORT = 100.0  # of drives without a limit [N m or N]


class FittedFriction:
    """Friction of joints, as unknowns: viscous (n), Coulomb (n), low-speed friction (2 n).

    Args:
        model: The model of the joints.
        joints: Their names, of one degree of freedom each.

    Attributes:
        names: Names of the unknowns.
        damping: Viscous friction of the description (n,).
        coulomb: Coulomb friction of the description (n,).
        effort: Effort limits (n,), of usual drives where there are none.
    """

    def __init__(self, model: Model, joints: Sequence[str]) -> None:
        of = [model.bodies[model.joint_index(name)].joint for name in joints]
        self.damping = np.array([joint.damping for joint in of], dtype=float)
        self.coulomb = np.array([joint.friction for joint in of], dtype=float)
        index = [model.v_slices[model.joint_index(name)].start for name in joints]
        self._limits = model.limits()["effort"][index]
        self.effort = np.where(np.isfinite(self._limits), self._limits, _USUAL_EFFORT)
        self.names = tuple(
            f"{kind} friction of {name}"
            for kind in ("viscous", "Coulomb", *(f"low-speed ({one:g})" for one in _ONSETS))
            for name in joints
        )

    def first_guess(self) -> Array:
        """Return Coulomb friction (n,) to assume before anything is identified."""
        return np.maximum(self.coulomb, _LEAST * self.effort)

    def next_guess(self, guess: Array, found: Array) -> Array:
        """Return Coulomb friction (n,) to assume after a guess and its result."""
        return np.maximum(np.abs(found), _KEPT * guess)

    def prior(self, guess: Array) -> tuple[Array, Array]:
        """Return estimates (4 n,) before the recording and their deviations.

        Args:
            guess: Coulomb friction (n,) that is assumed.
        """
        wide = _WIDE * self.effort
        mean = np.concatenate([self.damping, self.coulomb, np.zeros(len(_ONSETS) * len(wide))])
        deviations = [np.maximum(wide, self.damping), np.maximum(wide, self.coulomb)]
        return mean, np.concatenate([*deviations, *[_CHANGE * guess] * len(_ONSETS)])

    def columns(self, speeds: Array) -> Array:
        """Return the factors (N, n, 4 n) of the unknowns in the torques at speeds (N, n)."""
        n = speeds.shape[1]
        direction = np.where(is_slow(speeds), 0.0, np.sign(speeds))
        found, joint = np.zeros((len(speeds), n, len(self.names))), np.arange(n)
        found[:, joint, joint] = speeds
        found[:, joint, n + joint] = direction
        for i, onset in enumerate(_ONSETS, start=2):
            found[:, joint, i * n + joint] = direction * np.exp(-np.abs(speeds) / onset)
        return found

    def variance(
        self, torque: Array, speeds: Array, guess: Array, noise: Noise, filters: Filters
    ) -> Array:
        """Return the variance of the noise of torques (N, n): the sum of `variances`."""
        measured, unknown = self.variances(torque, speeds, guess, noise, filters)
        return measured + unknown

    def variances(
        self, torque: Array, speeds: Array, guess: Array, noise: Noise, filters: Filters
    ) -> tuple[Array, Array]:
        """Return the variances of the measured torques and of unknown friction, each (N, n).

        In saturated drives and slow joints they are those of an unknown force of up to the effort
        or the friction, which stays the same in the whole episode, as white noise with the same
        effect on its mean.

        Args:
            torque: The torques (N, n).
            speeds: Speeds of the joints (N, n).
            guess: Coulomb friction (n,) that is assumed.
            noise: Noise of the samples.
            filters: Filters of the samples.
        """
        smooth = filters.differentiate(torque)[0]
        saturated = np.abs(smooth) > _SATURATED * self._limits
        measured = noise.torque**2 + (noise.torque_fraction * smooth) ** 2
        measured += _of_episodes(self.effort, saturated, filters)
        return measured, _of_episodes(guess, is_slow(speeds), filters)


def _of_episodes(size: Array, where: NDArray[np.bool_], filters: Filters) -> Array:
    """Return the variance (N, n) of forces of up to a size (n,) that stay the same meanwhile."""
    length = _episodes(where) / filters.stride
    return np.where(where, size**2 / 3.0 * length, 0.0) / filters.noise


def is_slow(speeds: Array) -> NDArray[np.bool_]:
    """Return a mask of the speeds of joints at which friction is unknown."""
    return np.asarray(np.abs(speeds) <= _SLOW)


def _episodes(which: NDArray[np.bool_]) -> Array:
    """Return for each sample (N, n) the length of the run of equal values it belongs to."""
    lengths = np.zeros(which.shape)
    for j, column in enumerate(which.T):
        edges = np.flatnonzero(np.diff(column)) + 1
        bounds = np.concatenate([[0], edges, [len(column)]])
        lengths[:, j] = np.repeat(np.diff(bounds), np.diff(bounds))
    return lengths
