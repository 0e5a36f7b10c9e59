# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The law (32) to (37) and its servos (41) to (43) in NumPy, as in the paper.

Motion, contact force and internal force are decoupled. The compiled law is tested against it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.hybrid.force_distribution import ForceDistribution
from robot_dynamics.manipulation.hybrid.system import HybridTerms

_SINGULAR = 1e-9


@dataclass(frozen=True)
class HybridTorque:
    """Torques of the law and their intended effect.

    Attributes:
        torque: tau (n,) (32).
        qdd: Joint accelerations (n,) (34).
        object_acceleration: Rate of the object's twist (6,) (35).
        contact_forces: F_hS (d,) (37).
    """

    torque: Array
    qdd: Array
    object_acceleration: Array
    contact_forces: Array


def hybrid_torque(
    terms: HybridTerms,
    distribution: ForceDistribution,
    motion: Array,
    contact_force: Array,
    internal_force: Array,
    joint_motion: Array | None = None,
    hand_motion: Array | None = None,
    inverse: Literal["inertia", "plain"] = "inertia",
) -> HybridTorque:
    """Return the torques for which s accelerates at u1, f_F = u2 and f_IS = u3, model permitting.

    Args:
        terms: The system at its state.
        distribution: Sharing of forces, in the object's axes.
        motion: u1 (6 - C,).
        contact_force: u2 (C,).
        internal_force: u3 (m,).
        joint_motion: Accelerations (n,) that redundant arms follow (the paper's d_q); zero by
            default.
        hand_motion: Accelerations (6k,) of the arms' contact points, world axes, followed where
            contacts leave them free (the paper's d_ah); by default these are left to d_q.
        inverse: Generalised inverse of (34): in the metric of the arms' inertia, or the plain one.

    Raises:
        ArgumentError: If an argument has the wrong shape or is not finite.
        RobotDynamicsError: If an arm cannot make all velocities that its contact blocks.
    """
    n, touched = len(terms.h), len(terms.environment.E_F)
    motion = finite_vector("motion", motion, 6 - touched)
    contact_force = finite_vector("contact_force", contact_force, touched)
    internal_force = finite_vector(
        "internal_force", internal_force, distribution.internal.shape[1]
    )
    if hand_motion is not None:
        hand_motion = finite_vector("hand_motion", hand_motion, len(terms.J))
    d_q = np.zeros(n) if joint_motion is None else finite_vector("joint_motion", joint_motion, n)
    wanted = terms.environment.acceleration(motion)
    if hand_motion is None:
        # The general form of (34): only S^T J needs full row rank, not J, so that it also holds
        # for fingers with three joints.
        J, task = terms.J_S, terms.W_S.T @ wanted + terms.drift
    else:  # (34) as it is printed
        S_T = terms.S.T
        blocked = terms.W_S.T @ wanted + terms.W_S_dot_v - terms.S_dot.T @ (terms.J @ terms.qd)
        free = hand_motion - np.linalg.pinv(S_T) @ (S_T @ hand_motion)
        J, task = terms.J, np.linalg.pinv(S_T) @ blocked + free - terms.J_dot_qd
    lower = np.linalg.cholesky(terms.M) if inverse == "inertia" else np.eye(len(terms.M))
    half = np.linalg.solve(lower, J.T)  # L^-1 J^T
    A = half.T @ half
    sizes = np.linalg.eigvalsh(A)
    if not sizes[0] > _SINGULAR**2 * sizes[-1]:
        raise RobotDynamicsError(
            "an arm is at a singularity and cannot move in all directions that its contact "
            "blocks; expected other positions."
        )
    qdd = d_q + np.linalg.solve(lower.T, half @ np.linalg.solve(A, task - J @ d_q))
    # (37), in the object's axes
    needed = terms.I_B @ wanted + terms.Q_B + terms.environment.E_F.T @ contact_force
    own = (needed.reshape(2, 3) @ terms.rotation).ravel()
    forces = distribution.contact_forces(own, internal_force)
    torque = terms.M @ qdd + terms.h + terms.J_S.T @ forces  # (32), (33), (36)
    return HybridTorque(torque, qdd, wanted, forces)


@dataclass(frozen=True)
class CoordinateServoSettings:
    """A servo of the coordinates along surfaces (41), with an optional integral.

    With w_i the errors of a perfect model obey (s + w_i)(s^2 + K_V s + K_P) = 0: a pole is added
    and the others do not change. Constant disturbances then cause no error, and disturbances
    slower than w_i a smaller error. The gains of position and velocity grow with w_i.

    Attributes:
        velocity_gain: K_V (n,) [1/s].
        position_gain: K_P (n,) [1/s^2].
        period: Control period [s].
        integral: w_i [1/s]; 0 is the printed law.
        limit: Bound of the integral term (n,) [m/s^2, rad/s^2].
    """

    velocity_gain: ArrayLike
    position_gain: ArrayLike
    period: float
    integral: float = 0.0
    limit: ArrayLike = np.inf

    def __post_init__(self) -> None:
        if not (
            self.period > 0.0 and self.integral >= 0.0 and np.all(np.asarray(self.limit) >= 0)
        ):
            raise ArgumentError(
                f"the motion servo has period {self.period:g} s, integral {self.integral:g} 1/s "
                f"and limit {np.asarray(self.limit)}, expected a positive period, integral and "
                "limit from 0 up."
            )


class CoordinateServo:
    """The servo of motion, with its integral.

    Args:
        settings: Gains and limits.
    """

    def __init__(self, settings: CoordinateServoSettings) -> None:
        self._settings = settings
        K_V, K_P, w = settings.velocity_gain, settings.position_gain, settings.integral
        self._derivative = np.asarray(K_V, dtype=float) + w
        self._proportional = np.asarray(K_P, dtype=float) + w * np.asarray(K_V, dtype=float)
        self._integral_gain = w * np.asarray(K_P, dtype=float)
        self._integral = np.zeros_like(self._derivative)

    def step(
        self,
        acceleration: ArrayLike,
        velocity_error: ArrayLike,
        position_error: ArrayLike,
        gate: ArrayLike = True,
    ) -> Array:
        """Return u1 = r''_d + (K_V + w) e' + (K_P + w K_V) e + w K_P int(e), e = r_d - r (41).

        Args:
            acceleration: r''_d (n,).
            velocity_error: e' (n,).
            position_error: e (n,).
            gate: Whether coordinates are controlled, one value for all or one for each; the
                integrals of the others are reset.
        """
        e = np.asarray(position_error, dtype=float)
        added = self._settings.period * self._integral_gain * e
        limit = np.asarray(self._settings.limit, dtype=float)
        self._integral = np.where(gate, np.clip(self._integral + added, -limit, limit), 0.0)
        u1 = (
            np.asarray(acceleration, dtype=float)
            + self._derivative * np.asarray(velocity_error)
            + self._proportional * e
            + self._integral
        )
        return np.asarray(u1)


@dataclass(frozen=True)
class ForceServoParameters:
    """A servo u = f_d + K int(f_d - f) of forces (42), (43).

    Attributes:
        gain: K [1/s]; the error decays with this rate, and by 1 - K period a sample.
        period: Control period [s].
        error_limit: Bound of the error in the integral [N or N m].
        integral_limit: Bound of the integral term [N or N m].
        late: Number of samples from a desired force to the measured force with which it is
            compared: 1, plus the samples of delay. A step of f_d is then not an error that the
            integral would keep. The printed law has 0.
    """

    gain: float
    period: float
    error_limit: float = np.inf
    integral_limit: float = np.inf
    late: int = 0

    def __post_init__(self) -> None:
        if not (self.gain >= 0.0 and self.period > 0.0):
            raise ArgumentError(
                f"the force servo has gain {self.gain:g} 1/s and period {self.period:g} s, "
                "expected a gain from 0 up and a positive period."
            )
        if not (self.error_limit > 0.0 and self.integral_limit >= 0.0):
            raise ArgumentError(
                f"the force servo has error_limit {self.error_limit:g} and integral_limit "
                f"{self.integral_limit:g}, expected a positive error_limit and an integral_limit "
                "from 0 up."
            )
        if self.late < 0:
            raise ArgumentError(
                f"the force servo is late by {self.late} samples, expected 0 or more."
            )


class ForceServo:
    """The servo of forces, with its integral.

    Args:
        settings: Gain and limits.
        size: Number of forces.
    """

    def __init__(self, settings: ForceServoParameters, size: int) -> None:
        self._settings, self._size = settings, size
        self.reset()

    def reset(self) -> None:
        """Reset the integral when a mode of control starts."""
        self._integral = np.zeros(self._size)
        self._desired: deque[Array] = deque(maxlen=self._settings.late + 1)

    @property
    def integral(self) -> Array:
        """Integral term (size,) [N or N m]."""
        return self._integral.copy()

    def step(self, desired: ArrayLike, measured: ArrayLike, gate: ArrayLike = True) -> Array:
        """Return u (size,) of one sample.

        Args:
            desired: f_d (size,).
            measured: f (size,).
            gate: Whether to integrate, one value for all or one for each. It must be 0 without
                contact and while torques are limited: the force does not respond then.
        """
        settings = self._settings
        wanted = np.asarray(desired, dtype=float)
        self._desired.append(wanted.copy())
        compared = self._desired[0]  # the oldest: at first, what is desired now
        limit, bound = settings.error_limit, settings.integral_limit
        error = np.clip(compared - np.asarray(measured, dtype=float), -limit, limit)
        added = settings.gain * settings.period * np.where(gate, error, 0.0)
        self._integral = np.clip(self._integral + added, -bound, bound)
        return np.asarray(wanted + self._integral)
