# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drives of an arm that holds nothing: torque constant and sign of each joint, and the delay.

The torques that move the described links follow from the positions, those of the drives from the
commands u, of which each acts a delay D later:

    ID(q, qd, qdd) = k u(t - D) - friction(qd) - offset + noise

The constant k of a joint is 1 if its drive gives the commanded torque, and negative if the signs of
command and position differ. D is the time from the measurement of a command to its effect in
the measured positions: delays of command and measurement act alike, and only their sum shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.identification.arm_states import ArmStates
from robot_dynamics.identification.fitted_friction import is_slow
from robot_dynamics.identification.least_squares import Fit, solve
from robot_dynamics.identification.motion import Noise, RecordedMotion
from robot_dynamics.identification.signals import Filters, IdentificationError
from robot_dynamics.robot import Robot

_CONSTANT, _DELAY_S = 2.0, 0.05  # prior deviations of torque constants and of the delay
_OFFSET = 0.2  # prior deviation of the offset of a torque, over Coulomb friction
_ROUNDS = 5  # of the Gauss-Newton iteration for the delay
_LEAST_ROWS = 4  # instants
_DELAY = "delay [s]"


@dataclass(frozen=True)
class ArmDrives:
    """Identified drives of an arm.

    Attributes:
        joints: Names of the joints.
        fit: Fit of the torque constants, of viscous, Coulomb and low-speed friction, of the
            torques' offsets and of the delay.
        unexplained: Root mean square (n,) of the torque that moving joints need and the drives
            do not give: with constants of 1, and as identified [N m or N]; NaN of a joint that
            rests.
    """

    joints: tuple[str, ...]
    fit: Fit
    unexplained: tuple[Array, Array]

    @property
    def constants(self) -> tuple[Array, Array]:
        """Given over commanded torque (n,), and standard deviations (n,)."""
        return self._of("torque constant")

    @property
    def coulomb(self) -> tuple[Array, Array]:
        """Coulomb friction (n,) [N m or N], and standard deviations (n,)."""
        return self._of("Coulomb friction")

    @property
    def delay(self) -> tuple[float, float]:
        """Delay of command and measurement together [s], and its standard deviation."""
        return float(self.fit.values[-1]), float(self.fit.deviations[-1])

    def _of(self, kind: str) -> tuple[Array, Array]:
        at = [self.fit.names.index(f"{kind} of {name}") for name in self.joints]
        return self.fit.values[at], self.fit.deviations[at]


class DriveEquations:
    """Equations of the drives of an arm that holds nothing.

    Args:
        robot: The arm, or several, with the links of the description.
        joints: Names of the arm's joints, base to tip.
        noise: Noise of the samples.
        cutoff: Cut-off frequency of the low-pass [Hz].
        delay: Expected delay of command and measurement [s].
    """

    def __init__(
        self, robot: Robot, joints: Sequence[str], noise: Noise, cutoff: float, delay: float
    ) -> None:
        self._states, self._cutoff, self._delay = ArmStates(robot, joints, noise), cutoff, delay
        self.names = (
            *(f"torque constant of {name}" for name in joints),
            *self._states.friction.names,
            *(f"torque offset of {name}" for name in joints),
            _DELAY,
        )

    def identify(self, motions: list[RecordedMotion]) -> ArmDrives:
        """Return the drives that explain motions of the arm.

        Args:
            motions: Positions of the arm's joints, and commands as they would act without delay.

        Raises:
            IdentificationError: If the motions have too few samples.
        """
        n, friction = len(self._states.joints), self._states.friction
        guess = friction.first_guess()
        mean, deviations = friction.prior(guess)
        prior = np.concatenate([np.ones(n), mean, np.zeros(n), [self._delay]])
        wide = np.concatenate([np.full(n, _CONSTANT), deviations, _OFFSET * guess, [_DELAY_S]])
        x, filters = prior, Filters(motions[0].period, self._cutoff)
        for _ in range(_ROUNDS):
            rows = [self._rows(piece, x, guess) for one in motions for piece in one.pieces()]
            A, y = (np.concatenate(parts) for parts in zip(*rows, strict=True))
            if len(y) < _LEAST_ROWS:
                raise IdentificationError(
                    f"the recording has {len(y)} instants of the arm of {self._states.joints[0]!r} "
                    f"to fit, each 1/{2 * self._cutoff:g} s; expected at least {_LEAST_ROWS} "
                    "without gaps."
                )
            freedom = np.full(len(y), float(n))
            fit = solve(A, y, freedom, self.names, prior, wide, filters.correlation)
            x = fit.values
            guess = friction.next_guess(guess, x[2 * n : 3 * n])
        described = x.copy()
        described[:n] = 1.0
        unexplained = [self._unexplained(motions, values) for values in (described, x)]
        return ArmDrives(self._states.joints, fit, (unexplained[0], unexplained[1]))

    def residuals(self, motion: RecordedMotion, x: Array) -> tuple[Array, Array]:
        """Return needed less given torques (N, n), and velocities (N, n); NaN where unknown.

        Args:
            motion: A motion with commands.
            x: Unknowns in the order of `names`.
        """
        A, y, qd, _, unknown = self._equations(motion, x)
        # The column of the delay is the slope there: its part is in the delayed commands.
        residual = y - A[..., :-1] @ x[:-1]
        residual[unknown], qd[unknown] = np.nan, np.nan
        return residual, qd

    def _unexplained(self, motions: list[RecordedMotion], x: Array) -> Array:
        """Return the root mean square (n,) of residuals of joints that move."""
        parts = [self.residuals(piece, x) for one in motions for piece in one.pieces()]
        residual, qd = (np.concatenate(one) for one in zip(*parts, strict=True))
        used = np.isfinite(residual) & ~is_slow(qd)
        squares = np.where(used, residual, 0.0) ** 2
        count = used.sum(axis=0)
        return np.where(count > 0, np.sqrt(squares.sum(axis=0) / np.maximum(count, 1)), np.nan)

    def _rows(self, motion: RecordedMotion, x: Array, guess: Array) -> tuple[Array, Array]:
        """Return low-passed whitened equations (M, n, u) and (M, n), linear about `x`."""
        filters = Filters(motion.period, self._cutoff)
        A, y, qd, q, unknown = self._equations(motion, x)
        assert motion.torque is not None
        variance = self._states.friction.variance(
            motion.torque, qd, guess, self._states.noise, filters
        )
        covariance = self._states.covariance(q, variance, filters)
        unknown |= ~np.isfinite(covariance).all(axis=(1, 2)) | ~np.isfinite(A).all(axis=(1, 2))
        return self._states.reduced(A, y + A[..., -1] * x[-1], covariance, unknown, filters)

    def _equations(
        self, motion: RecordedMotion, x: Array
    ) -> tuple[Array, Array, Array, Array, NDArray[np.bool_]]:
        """Return factors of the unknowns, needed torques, velocities, positions, unknown rows.

        Needed are those of the described links; the factors are those at the unknowns `x`.
        """
        filters, n = Filters(motion.period, self._cutoff), len(self._states.joints)
        q, qd, qdd, unknown = self._states.of(motion, filters)
        index = self._states.index
        y = self._states.robot.inverse_dynamics(q, qd, qdd)[:, index]
        assert motion.torque is not None
        u = _delayed(motion.torque, x[-1] / motion.period)
        slope = _delayed(filters.slope(motion.torque), x[-1] / motion.period)
        joint = np.arange(n)
        A = np.zeros((len(q), n, len(self.names)))
        A[:, joint, joint] = u
        A[:, :, n : 4 * n] = -self._states.friction.columns(qd[:, index])
        A[:, joint, 4 * n + joint] = -1.0
        A[:, :, -1] = -x[:n] * slope
        unknown |= ~np.isfinite(u).all(axis=1)
        return A, y, qd[:, index], q, unknown


def _delayed(values: Array, periods: float) -> Array:
    """Return signals (N, n) a number of periods later; NaN where they are unknown."""
    at = np.arange(len(values)) - periods
    first = np.floor(at).astype(int)
    inside = (first >= 0) & (first + 1 < len(values))
    found = np.full(values.shape, np.nan)
    share = (at - first)[inside, None]
    before, after = values[first[inside]], values[first[inside] + 1]
    found[inside] = (1.0 - share) * before + share * after
    return found
