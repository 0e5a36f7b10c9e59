# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drives of an arm that holds nothing: torque constant and sign of each joint, and the delay.

The torques that move the described links follow from the positions, those of the drives from the
commands u, of which each acts a delay D later:

    ID(q, qd, qdd) = k u(t - D) - friction(qd) - offset + noise

The constant k of a joint is 1 if its drive gives the commanded torque, and negative if command and
position have opposite signs. D is the time from a command to its effect in the measured positions:
delays of command and of measurement act alike, and only their sum shows.

Noise of the commands counts k times, beside that of ID. It would draw k to 0, most of all for
light joints, whose commands show little but friction and noise. The factor of k is
therefore the part of the commands that ID and friction explain, in a Gauss-Newton iteration of
weighted total least squares (Fuller, Measurement Error Models, 1987).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.identification.fitted_friction import is_slow
from robot_dynamics.identification.least_squares import Fit, solve
from robot_dynamics.identification.motion import Noise, RecordedMotion
from robot_dynamics.identification.signals import Filters, IdentificationError
from robot_dynamics.identification.smoothed_arm import SmoothedArm
from robot_dynamics.robot import Robot

_CONSTANT, _DELAY_S = 2.0, 0.05  # prior deviations of torque constants and of the delay
_OFFSET = 0.2  # prior deviation of the offset of a torque, over Coulomb friction
_ROUNDS = 20  # of the Gauss-Newton iteration for constants and delay
_CONVERGED = 0.03  # of the deviations
_LEAST_ROWS = 4  # instants
# Speed at which a start has gone wrong, its error [rad/s], and half the time of its difference.
_FAST, _SPEED_ERROR, _HALF_S = 0.5, 0.03, 0.005
_DELAY = "delay [s]"


@dataclass(frozen=True)
class ArmDrives:
    """Identified drives of an arm.

    Attributes:
        joints: Names of the joints.
        fit: Fit of the torque constants, of viscous, Coulomb and low-speed friction, of the
            torques' offsets and of the delay.
        least_deviations: Standard deviations (n,) that the motion leaves of constants of 1.
        unexplained: Root mean square (n,) of the torque that moving joints need and the drives
            do not give: with constants of 1, and as identified [N m or N]; NaN of a joint that
            rests.
    """

    joints: tuple[str, ...]
    fit: Fit
    least_deviations: Array
    unexplained: tuple[Array, Array]

    @property
    def constants(self) -> tuple[Array, Array]:
        """Given over commanded torque (n,), and standard deviations (n,).

        The deviation of a constant below 1 is at least that of a constant of 1: the fit of a
        smaller constant looks more certain, although the motion may not tell it from 1.
        """
        k, deviations = self._of("torque constant")
        return k, np.maximum(deviations, self.least_deviations)

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


class _Piece(NamedTuple):
    """A part of a motion.

    Attributes:
        q: Positions of the robot (N, nv).
        qd: Velocities of the joints (N, n).
        needed: Torques that move the described links (N, n).
        u: Commands (N, n), and their slope.
        unknown: Mask of the samples without a state (N,).
    """

    q: Array
    qd: Array
    needed: Array
    u: Array
    slope: Array
    unknown: NDArray[np.bool_]


class DriveEquations:
    """Equations of the drives of an arm that holds nothing.

    Args:
        robot: The arm, or several, with the links of the description.
        joints: Names of the arm's joints, base to tip.
        noise: Noise of the samples.
        cutoff: Cut-off frequency of the low-pass [Hz].
        delay: Expected delay of command and measurement [s].
        weightless: Whether the drives add the torque that holds the links, so that commands leave
            it out.
    """

    def __init__(
        self,
        robot: Robot,
        joints: Sequence[str],
        noise: Noise,
        cutoff: float,
        delay: float,
        *,
        weightless: bool = False,
    ) -> None:
        self._states, self._cutoff, self._delay = SmoothedArm(robot, joints, noise), cutoff, delay
        self._weightless = weightless
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
        filters = Filters(motions[0].period, self._cutoff)
        pieces = [self._piece(one, filters) for motion in motions for one in motion.pieces()]

        def fit_about(x: Array, *, noisy: bool) -> Fit:
            rows = [self._rows(piece, x, guess, filters, noisy=noisy) for piece in pieces]
            A, y = (np.concatenate(parts) for parts in zip(*rows, strict=True))
            if len(y) < _LEAST_ROWS:
                raise IdentificationError(
                    f"the recording has {len(y)} instants of an arm to fit, each "
                    f"1/{2 * self._cutoff:g} s; expected at least {_LEAST_ROWS} without gaps."
                )
            freedom = np.full(len(y), float(n))
            return solve(A, y, freedom, self.names, prior, wide, filters.correlation)

        x = fit_about(prior, noisy=True).values
        for _ in range(_ROUNDS):
            guess = friction.next_guess(guess, x[2 * n : 3 * n])
            fit = fit_about(x, noisy=False)
            step, x = fit.values - x, fit.values
            if (np.abs(step) < _CONVERGED * fit.deviations).all():
                break
        described = x.copy()
        described[:n] = 1.0
        # Deviations that constants of 1 would have in this motion, with the residuals of the fit.
        least = fit_about(described, noisy=False)
        least_deviations = least.deviations[:n] * max(fit.factor, 1.0) / max(least.factor, 1.0)
        unexplained = [self._unexplained(pieces, one, filters.period) for one in (described, x)]
        parts = unexplained[0], unexplained[1]
        return ArmDrives(self._states.joints, fit, least_deviations, parts)

    def _piece(self, motion: RecordedMotion, filters: Filters) -> _Piece:
        """Return the parts of the equations of a motion that do not depend on the unknowns."""
        states, index = self._states, self._states.index
        q, qd, qdd, unknown = states.of(motion, filters)
        assert motion.torque is not None
        needed = states.robot.inverse_dynamics(q, qd, qdd)[:, index]
        if self._weightless:
            still = np.zeros_like(qd)
            needed = needed - states.robot.inverse_dynamics(q, still, still)[:, index]
        slope = filters.slope(motion.torque)
        return _Piece(q, qd[:, index], needed, motion.torque, slope, unknown)

    def _unexplained(self, pieces: list[_Piece], x: Array, period: float) -> Array:
        """Return the root mean square (n,) of needed less given torques of joints that move."""
        squares, count = np.zeros((2, len(self._states.joints)))
        for piece in pieces:
            A = self._factors(piece, x, period)
            # The column of the delay is the slope there: its part is in the delayed commands.
            residual = piece.needed - A[..., :-1] @ x[:-1]
            used = np.isfinite(residual) & ~piece.unknown[:, None] & ~is_slow(piece.qd)
            squares += np.sum(np.where(used, residual, 0.0) ** 2, axis=0)
            count += used.sum(axis=0)
        return np.where(count > 0, np.sqrt(squares / np.maximum(count, 1)), np.nan)

    def _rows(
        self, piece: _Piece, x: Array, guess: Array, filters: Filters, *, noisy: bool
    ) -> tuple[Array, Array]:
        """Return low-passed whitened equations (M, n, u) and (M, n), linear about `x`.

        The factors of the constants are the commands, if `noisy`, or the part of them that is
        explained at `x`.
        """
        A, states = self._factors(piece, x, filters.period), self._states
        n = len(states.joints)
        of_command, of_friction = states.friction.variances(
            piece.u, piece.qd, guess, states.noise, filters
        )
        k = np.ones(n) if noisy else x[:n]
        covariance = states.covariance(piece.q, k**2 * of_command + of_friction, filters)
        finite = [np.isfinite(one).all(axis=(1, 2)) for one in (covariance, A)]
        unknown = piece.unknown | ~finite[0] | ~finite[1]
        y = piece.needed + A[..., -1] * x[-1]
        if not noisy:
            covariance[unknown], A[unknown], y[unknown] = np.eye(n), 0.0, 0.0
            residual = y - A @ x
            change = k * of_command * np.linalg.solve(covariance, residual[..., None])[..., 0]
            joint = np.arange(n)
            A[:, joint, joint] += change
            y += k * change
        return states.reduced(A, y, covariance, unknown, filters)

    def _factors(self, piece: _Piece, x: Array, period: float) -> Array:
        """Return the factors (N, n, u) of the unknowns in the needed torques at `x`."""
        n, joint = len(self._states.joints), np.arange(len(self._states.joints))
        periods = x[-1] / period
        A = np.zeros((len(piece.q), n, len(self.names)))
        A[:, joint, joint] = _delayed(piece.u, periods)
        friction = self._states.friction.columns(piece.qd)
        offset = n + friction.shape[2]
        A[:, :, n:offset] = -friction
        A[:, joint, offset + joint] = -1.0
        A[:, :, -1] = -x[:n] * _delayed(piece.slope, periods)
        return A


def constants_at_start(
    robot: Robot, joints: Sequence[str], q: Array, u: Array, period: float, delay: int
) -> tuple[Array, Array] | None:
    """Return torque constants (n,) and their deviations by a start from rest that goes wrong.

    The momentum that the joints gain is the impulse of torques and gravity. Of joints that are
    hardly loaded the deviation is large. The result is None if no joint becomes fast.

    Args:
        robot: The arm, or several, with the links of the description.
        joints: Names of the arm's joints.
        q: Measured positions (N, n) from the start on.
        u: Commands (N, n), from the same measurements.
        period: Time between samples [s].
        delay: Periods until a command acts; brakes hold the arm before.
    """
    states, half = SmoothedArm(robot, joints, Noise()), max(1, round(_HALF_S / period))
    qd = np.zeros_like(q)
    qd[half:-half] = (q[2 * half :] - q[: -2 * half]) / (2.0 * half * period)
    fast = np.abs(qd).max(axis=1) > _FAST
    if not fast.any():
        return None
    end = max(int(np.argmax(fast)), delay + 1)
    every = np.zeros((3, robot.model.nv))
    middle = (delay + end) // 2
    for row, values in zip(every, (q[middle], qd[middle], qd[end]), strict=True):
        row[states.index] = values
    H = robot.inertia_matrix(every[0])[np.ix_(states.index, states.index)]
    lasts, impulse = (end - delay) * period, period * u[: end - delay].sum(axis=0)
    bias = robot.bias_forces(every[0], every[1])[states.index]
    # Friction is between none and the Coulomb friction, against the motion if there is one.
    friction = states.friction.first_guess()
    moves = np.abs(qd[end]) > _SPEED_ERROR
    brakes = np.where(moves, 0.5 * friction * np.sign(qd[end]), 0.0)
    unknown = friction / np.where(moves, np.sqrt(12.0), np.sqrt(3.0))
    size = np.maximum(np.abs(impulse), 1e-12)
    error = lasts * unknown + np.abs(H).sum(axis=1) * _SPEED_ERROR
    constants = (H @ qd[end] + lasts * (bias + brakes)) / np.copysign(size, impulse)
    return constants, error / size


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
