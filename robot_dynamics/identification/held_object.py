# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mass, centre of mass and inertia of an object that several arms hold.

The arms share the wrench of the object in an unknown way: besides the object's parameters there
is an internal force at each instant. With joint torques tau and measured wrenches w of the arms,

    (1 + e) tau - ID(q, qd, qdd) = J^T F (Y pi / k + E f) + friction + noise
    w                            =     F (Y pi / k + E f) + bias + noise

in which F Y pi / k is an equal part of the object's wrench, E f the internal force, and e the
unknown error of each drive's torque constant. The rows are whitened by their noise and projected
across the columns of f; both sides then go through one low-pass. Noise of accelerations enters
through the inertia of the arms and of the object.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.inertial_parameters import inertial_parameters, is_physical
from robot_dynamics.dynamics.regressor import PER_BODY
from robot_dynamics.identification.fitted_friction import FittedFriction
from robot_dynamics.identification.least_squares import Fit, held_out_split, solve
from robot_dynamics.identification.motion import (
    PARAMETERS,
    ArmKinematics,
    Noise,
    RecordedMotion,
    inertia_matrix,
    parameters_in,
    sensor_tools,
    wrench_in,
)
from robot_dynamics.identification.payload import Payload, nearest_physical
from robot_dynamics.identification.signals import Filters, IdentificationError

_BIAS: Array = np.array([2.0] * 3 + [20.0] * 3)  # prior deviation of a sensor's bias [N m, N]
_SIZE = 0.05  # least radius of gyration that the prior assumes [m]
_INDEPENDENT = 1e-9  # least size of an effect of internal forces, over the largest one
#: Name of the constants of drives in the names of unknowns.
TORQUE_CONSTANT = "torque constant"
#: Components of a wrench.
WRENCH_AXES = ("mx", "my", "mz", "fx", "fy", "fz")


class _Whitened(NamedTuple):
    """Equations of samples, rows of noise of variance one.

    Attributes:
        L: Factor of the covariance of the noise (N, n, n).
        U: Orthonormal basis of the effects of internal forces (N, n, c); columns beyond the rank
            are zero.
        A: Regressor (N, n, p).
        y: Left side (N, n); NaN where a sample is missing.
    """

    L: Array
    U: Array
    A: Array
    y: Array


class HeldObject:
    """Equations of an object that arms hold rigidly.

    Args:
        kinematics: Arms and object.
        grasps: Pose (4, 4) of each arm's tool in the object.
        noise: Noise of the samples.
        cutoff: Cut-off frequency of the low-pass [Hz].

    Raises:
        IdentificationError: If the object has a joint.
    """

    def __init__(
        self, kinematics: ArmKinematics, grasps: list[Array], noise: Noise, cutoff: float
    ) -> None:
        system = kinematics.system
        if system.object_loop_joint is not None:
            raise IdentificationError(
                "the object has a joint; expected a rigid object, whose parameters are identified."
            )
        self._noise, self._cutoff = noise, cutoff
        self.kinematics = kinematics
        self._to_tools: list[Any] = [np.linalg.inv(grasp) for grasp in grasps]
        self._sensor_tools = sensor_tools(system)
        na, k = len(system.joint_names), len(system.arms)
        self._joints = system.joint_names
        at = slice(PER_BODY * system.object_body, PER_BODY * (system.object_body + 1))
        self.prior = inertial_parameters(system.model)[at]
        self._friction = FittedFriction(system.model, self._joints)
        self.names = (
            *PARAMETERS,
            *self._friction.names,
            *(f"error of {TORQUE_CONSTANT} of {name}" for name in self._joints),
            *(f"bias {axis} of {arm.name}" for arm in system.arms for axis in WRENCH_AXES),
        )
        # Internal forces: an arm's wrench against that of the last one, in the object's frame.
        E = np.vstack([np.eye(6 * (k - 1)), np.tile(-np.eye(6), k - 1)])
        self._internal = E.reshape(k, 6, 6 * (k - 1))
        self._na, self._k = na, k
        self._gains = PER_BODY + len(self._friction.names)  # index of the first drive's error

    def identify(self, motions: list[RecordedMotion]) -> Payload:
        """Return the payload that explains recorded motions.

        Raises:
            IdentificationError: If the motions have too few samples.
        """
        friction = self._friction.first_guess()
        correlation = Filters(motions[0].period, self._cutoff).correlation
        for _ in range(2):  # the second time with the friction that was found
            mean, deviations = self._prior(friction)
            rows = [self._rows(one, friction) for motion in motions for one in motion.pieces()]
            # Pieces in which nothing is held have no instants, or fewer rows.
            most = max(one[1].shape[1] for one in rows)
            parts = zip(*(one for one in rows if one[1].shape[1] == most), strict=True)
            A, y, freedom = map(np.concatenate, parts)
            if freedom.sum() <= 3 * A.any(axis=(0, 1)).sum():
                raise IdentificationError(
                    f"the recording has {len(y)} instants to fit, each 1/{2 * self._cutoff:g} s; "
                    f"expected samples of some seconds without gaps, as arms move an object."
                )
            fit = self._solve(A, y, freedom, mean, deviations, correlation)
            na, x = self._na, self._every(fit, mean)
            found = x[PER_BODY + na : PER_BODY + 2 * na]
            friction = self._friction.next_guess(friction, found)
        split = held_out_split(len(y))
        first = self._solve(A[:split], y[:split], freedom[:split], mean, deviations, correlation)
        before = x.copy()
        before[:PER_BODY] = self.prior
        held_out = tuple(
            float(np.sqrt(np.sum((y[split:] - A[split:] @ x) ** 2) / freedom[split:].sum()))
            for x in (before, self._every(first, mean))
        )
        covariance = fit.covariance[:PER_BODY, :PER_BODY]
        parameters = fit.values[:PER_BODY]
        consistent = bool(parameters[0] > 0.0 and is_physical(parameters, self._radius))
        if not consistent:
            parameters = nearest_physical(parameters, covariance, self.prior, self._radius)
        return Payload(parameters, covariance, not consistent, fit, (held_out[0], held_out[1]))

    def _solve(
        self,
        A: Array,
        y: Array,
        freedom: Array,
        mean: Array,
        deviations: Array,
        correlation: float,
    ) -> Fit:
        """Return the fit of the parameters that have a part in the rows."""
        used = np.asarray(A.any(axis=(0, 1)))
        used[:PER_BODY] = True
        names = [name for name, one in zip(self.names, used, strict=True) if one]
        return solve(A[..., used], y, freedom, names, mean[used], deviations[used], correlation)

    def _every(self, fit: Fit, mean: Array) -> Array:
        """Return the values of all parameters, as before the recording if they had no part."""
        found = dict(zip(self.names, mean, strict=True))
        found.update(zip(fit.names, fit.values, strict=True))
        return np.array([found[name] for name in self.names])

    def values(self, payload: Payload) -> Array:
        """Return all parameters in the order of `names`, the payload's as identified."""
        mean, _ = self._prior(self._friction.coulomb)
        found = self._every(payload.fit, mean)
        found[:PER_BODY] = payload.parameters
        return found

    def residuals(self, motion: RecordedMotion, values: Array) -> Array:
        """Return torques (N, na) less their predictions; internal forces are fitted.

        Args:
            motion: A motion with torques.
            values: Parameters in the order of `names`.
        """
        L, U, A, y = self._equations(motion, self._friction.coulomb)
        residual = (y - A @ values)[..., None]
        residual -= U @ (np.swapaxes(U, 1, 2) @ residual)
        found: Array = (L @ residual)[:, : self._na, 0]
        return found

    def information(self, motion: RecordedMotion) -> Array:
        """Return the information matrix (u, u) of a motion: inverse covariance without a prior."""
        A, _, _ = self._rows(motion, self._friction.first_guess())
        rows = A.reshape(-1, A.shape[2])
        return np.asarray(rows.T @ rows)

    def deviations_before(self) -> Array:
        """Standard deviations of all unknowns before a recording (u,)."""
        return self._prior(self._friction.first_guess())[1]

    @property
    def _radius(self) -> float:
        m, h, I = self.prior[0], self.prior[1:4], self.prior[4:]
        gyration = np.sqrt(max(0.5 * (I[0] + I[2] + I[5]) / m, 0.0))
        return float(max(gyration, np.linalg.norm(h) / m, _SIZE))

    def _prior(self, friction: Array) -> tuple[Array, Array]:
        """Return estimates before the recording and their deviations, with Coulomb friction."""
        m, r = self.prior[0], self._radius
        of_friction, wide = self._friction.prior(friction)
        mean = np.concatenate([self.prior, of_friction, np.zeros(self._na + 6 * self._k)])
        of_body = m * np.array([1.0] + [r] * 3 + [r**2] * 6)
        gains = np.full(self._na, self._noise.torque_gain or 1.0)  # known ones have no part
        return mean, np.concatenate([of_body, wide, gains, np.tile(_BIAS, self._k)])

    def _rows(self, motion: RecordedMotion, friction: Array) -> tuple[Array, Array, Array]:
        """Return the low-passed whitened regressor, measurements and freedom of a motion."""
        filters = Filters(motion.period, self._cutoff)
        _, U, A, y = self._equations(motion, friction)
        rows = np.concatenate([A, y[..., None]], axis=2)
        rows -= U @ (np.swapaxes(U, 1, 2) @ rows)
        rows = filters.reduce(rows) / np.sqrt(filters.noise)
        rows = rows[np.isfinite(rows).all(axis=(1, 2))]
        eliminated = U.any(axis=1).sum(axis=1).max()  # less than all for arms of few joints
        freedom = np.full(len(rows), float(rows.shape[1] - eliminated))
        return rows[..., :-1], rows[..., -1], freedom

    def _equations(self, motion: RecordedMotion, friction: Array) -> _Whitened:
        """Return the equations of all samples; `friction` is Coulomb friction (na,)."""
        filters = Filters(motion.period, self._cutoff)
        q, qd, qdd, unknown = self.kinematics.differentiate(motion.q, filters)
        A, B, D, known = self._columns(q, qd, qdd)
        speeds = qd[:, self.kinematics.index]
        y, variance = self._measurements(motion, filters, friction, speeds)
        if self._noise.torque_gain > 0.0:
            joint = np.arange(self._na)
            A[:, joint, self._gains + joint] = -y[:, joint]
        y -= known
        used = np.isfinite(variance).any(axis=0)
        A, B, D, y, variance = A[:, used], B[:, used], D[:, used], y[:, used], variance[:, used]
        ratio = filters.noise_of_derivative(2) / filters.noise
        covariance = self._noise.position**2 * ratio * (D @ np.swapaxes(D, 1, 2))
        diagonal = np.arange(y.shape[1])
        covariance[:, diagonal, diagonal] += variance
        unknown |= ~np.isfinite(covariance).all(axis=(1, 2)) | ~np.isfinite(y).all(axis=1)
        covariance[unknown] = np.eye(len(diagonal))
        for values in (A, B, y):
            values[unknown] = 0.0
        L: Any = np.linalg.cholesky(covariance)
        columns = np.linalg.solve(L, np.concatenate([A, B, y[..., None]], axis=2))
        p = len(self.names)
        U = _column_space(columns[..., p:-1])
        A, y = columns[..., :p], columns[..., -1]
        y[unknown], U[unknown] = np.nan, 0.0
        return _Whitened(L, U, A, y)

    def _columns(self, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array, Array]:
        """Return factors of all parameters, of internal forces, and of the joints' accelerations.

        The last result has the torques of the arms alone, and the wrenches of the tools that the
        sensors carry. Rows are torques (na), then wrenches (6 k).
        """
        na, k, count = self._na, self._k, len(q)
        rows = na + 6 * k
        A = np.zeros((count, rows, len(self.names)))
        B, D = np.zeros((count, rows, 6 * (k - 1))), np.zeros((count, rows, na))
        robot, index = self.kinematics.robot, self.kinematics.index
        known = np.zeros((count, rows))
        known[:, :na] = robot.inverse_dynamics(q, qd, qdd)[:, index]
        D[:, :na] = robot.inertia_matrix(q)[:, index[:, None], index]
        for i, own in enumerate(self.kinematics.own):
            tool, moved = self.kinematics.of_tool(i, q, qd, qdd), parameters_in(self._to_tools[i])
            of_wrench = slice(na + 6 * i, na + 6 * (i + 1))
            F = wrench_in(self._to_tools[i]) @ self._internal[i]
            share = tool.Y @ moved / k
            inertia = inertia_matrix(moved @ self.prior) / k
            Jt = np.swapaxes(tool.J, 1, 2)
            A[:, own, :PER_BODY], A[:, of_wrench, :PER_BODY] = Jt @ share, share
            B[:, own], B[:, of_wrench] = Jt @ F, F
            D[:, own, own] += Jt @ inertia @ tool.J
            D[:, of_wrench, own] = inertia @ tool.J
            at = self._gains + na + 6 * i
            A[:, of_wrench, at : at + 6] = np.eye(6)
            known[:, of_wrench] = tool.Y @ self._sensor_tools[i]
        A[:, :na, PER_BODY : self._gains] = self._friction.columns(qd[:, index])
        return A, B, D, known

    def _measurements(
        self,
        motion: RecordedMotion,
        filters: Filters,
        friction: Array,
        speeds: Array,
    ) -> tuple[Array, Array]:
        """Return torques and wrenches, and the variance of their noise (N, na + 6 k).

        The variance of rows that are not measured is infinite.
        """
        na, count = self._na, len(speeds)
        y = np.zeros((count, na + 6 * self._k))
        variance = np.full(y.shape, np.inf)
        if motion.torque is not None:
            y[:, :na] = motion.torque
            variance[:, :na] = self._friction.variance(
                motion.torque, speeds, friction, self._noise, filters
            )
        if motion.wrenches is not None:
            y[:, na:] = motion.wrenches.reshape(count, -1)
            variance[:, na:] = np.tile(self._noise.wrench**2, self._k)
        return y, variance


def _column_space(B: Array) -> Array:
    """Return orthonormal bases (N, n, c) of matrices (N, n, m), zero beyond their ranks."""
    U, s, _ = np.linalg.svd(B, full_matrices=False)
    independent = s > _INDEPENDENT * s.max(axis=1, initial=0.0)[:, None]
    return np.asarray(U * independent[:, None])
