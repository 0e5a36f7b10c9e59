# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mass, centre of mass and inertia of an object that several arms hold.

The arms share the wrench of the object in an unknown way: besides the object's parameters there
is an internal force at each instant. With joint torques tau and measured wrenches w of the arms,

    [tau - ID(q, qd, qdd)]   [J^T F]
    [w                   ] = [  F  ] (Y pi / k + E f) + friction, bias, noise,

in which F Y pi / k is an equal part of the object's wrench and E f the internal force. The rows are
whitened by their noise and projected across the columns of f; both sides then go through one
low-pass. Noise of accelerations enters through the inertia of the arms and of the object.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.inertial_parameters import (
    from_log_cholesky,
    inertial_parameters,
    is_physical,
    log_cholesky,
    of_pseudo_inertia,
    pseudo_inertia,
)
from robot_dynamics.dynamics.regressor import PER_BODY
from robot_dynamics.identification.least_squares import Fit, solve
from robot_dynamics.identification.motion import (
    ArmKinematics,
    Motion,
    Noise,
    parameters_in,
    wrench_in,
)
from robot_dynamics.identification.signals import Filters, IdentificationError

#: Names of a body's parameters, with units.
PARAMETERS = (
    "mass [kg]",
    *(f"first moment {axis} [kg m]" for axis in "xyz"),
    *(f"inertia {axes} [kg m^2]" for axes in ("xx", "xy", "yy", "xz", "yz", "zz")),
)
_SLOW = 0.03  # speed [rad/s or m/s] below which the direction of friction is uncertain
_STRIBECK = 0.1  # speed over which low-speed friction turns into Coulomb friction
_CHANGE = 0.5  # prior deviation of low-speed friction, over Coulomb friction
_FRICTION = 0.05  # prior deviation of friction, over the effort limit
_BIAS = np.array([2.0] * 3 + [20.0] * 3)  # prior deviation of a sensor's bias [N m, N]
_SIZE = 0.05  # least radius of gyration that the prior assumes [m]
_WRENCH_AXES = ("mx", "my", "mz", "fx", "fy", "fz")
_STRENGTH = 0.3  # of the prior that keeps constrained parameters from the boundary
_HELD_OUT = 0.25  # part of the rows that verifies


@dataclass(frozen=True)
class Payload:
    """An identified payload, in the frame of the object's root link.

    Attributes:
        parameters: Standard parameters (10,), physically consistent; see `dynamics.regressor`.
        covariance: Their covariance (10, 10).
        constrained: Whether the data alone gave parameters of no body.
        fit: The fit of all parameters: of the object, of the joints' friction, of biases.
        held_out: Residual of the rows that the fit of the others did not use, over the noise:
            with the description's payload and with the identified one.
    """

    parameters: Array
    covariance: Array
    constrained: bool
    fit: Fit
    held_out: tuple[float, float]

    @property
    def mass(self) -> float:
        """Mass [kg]."""
        return float(self.parameters[0])

    @property
    def summary(self) -> tuple[Array, Array]:
        """Mass, centre (3) and inertia about it (6), and their standard deviations, each (10,)."""
        slopes = np.empty((PER_BODY, PER_BODY))
        for i in range(PER_BODY):
            step = np.zeros(PER_BODY)
            step[i] = 1e-6 * max(abs(self.parameters[i]), 1e-3)
            difference = about_center(self.parameters + step) - about_center(
                self.parameters - step
            )
            slopes[:, i] = difference / (2.0 * step[i])
        deviations = np.sqrt(np.diag(slopes @ self.covariance @ slopes.T))
        return about_center(self.parameters), deviations


def about_center(parameters: Array) -> Array:
    """Return mass, centre of mass, and the inertia about it (10,) of standard parameters (10,)."""
    centre = parameters[1:4] / parameters[0]
    back = np.eye(4)
    back[:3, 3] = -centre
    inertia = (parameters_in(back) @ parameters)[4:]
    return np.concatenate([parameters[:1], centre, inertia])


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
        self._to_tools = [np.linalg.inv(grasp) for grasp in grasps]
        na, k = len(system.joint_names), len(system.arms)
        self._joints = system.joint_names
        at = slice(PER_BODY * system.object_body, PER_BODY * (system.object_body + 1))
        self.prior = inertial_parameters(system.model)[at]
        bodies = [
            system.model.bodies[system.model.joint_index(name)].joint for name in self._joints
        ]
        self._damping = np.array([joint.damping for joint in bodies])
        self._friction = np.array([joint.friction for joint in bodies])
        effort = system.limits["effort"]
        self._effort = np.where(np.isfinite(effort), effort, 100.0)
        self.names = (
            *PARAMETERS,
            *(f"viscous friction of {name}" for name in self._joints),
            *(f"Coulomb friction of {name}" for name in self._joints),
            *(f"low-speed friction of {name}" for name in self._joints),
            *(f"bias {axis} of {arm.name}" for arm in system.arms for axis in _WRENCH_AXES),
        )
        # Internal forces: an arm's wrench against that of the last one, in the object's frame.
        E = np.vstack([np.eye(6 * (k - 1)), np.tile(-np.eye(6), k - 1)])
        self._internal = E.reshape(k, 6, 6 * (k - 1))
        self._na, self._k = na, k

    def identify(self, motions: list[Motion]) -> Payload:
        """Return the payload that explains recorded motions.

        Raises:
            IdentificationError: If the motions have too few samples.
        """
        friction = np.maximum(self._friction, 0.01 * self._effort)
        correlation = Filters(motions[0].period, self._cutoff).correlation
        for _ in range(2):  # the second time with the friction that was found
            mean, deviations = self._prior(friction)
            rows = [self._rows(motion, friction) for motion in motions]
            A, y, freedom = (np.concatenate(parts) for parts in zip(*rows, strict=True))
            if freedom.sum() < 4 * A.shape[2]:
                raise IdentificationError(
                    f"the recording has {len(y)} instants to fit, each 1/{2 * self._cutoff:g} s; "
                    f"expected samples of some seconds without gaps, as arms move an object."
                )
            fit = self._solve(A, y, freedom, mean, deviations, correlation)
            na, x = self._na, self._every(fit, mean)
            found = x[PER_BODY + na : PER_BODY + 2 * na]
            friction = np.maximum(np.abs(found), 0.2 * friction)
        split = round((1.0 - _HELD_OUT) * len(y))
        first = self._solve(
            A[:split], y[:split], freedom[:split], mean, deviations, correlation
        )
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
            parameters = self._constrained(parameters, covariance)
        return Payload(
            parameters, covariance, not consistent, fit, (held_out[0], held_out[1])
        )

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
        used = A.any(axis=(0, 1))
        used[:PER_BODY] = True
        names = [name for name, one in zip(self.names, used, strict=True) if one]
        return solve(
            A[..., used], y, freedom, names, mean[used], deviations[used], correlation
        )

    def _every(self, fit: Fit, mean: Array) -> Array:
        """Return the values of all parameters, as before the recording if they had no part."""
        found = dict(zip(self.names, mean, strict=True))
        found.update(zip(fit.names, fit.values, strict=True))
        return np.array([found[name] for name in self.names])

    def values(self, payload: Payload) -> Array:
        """Return all parameters in the order of `names`, the payload's as identified."""
        mean, _ = self._prior(self._friction)
        found = self._every(payload.fit, mean)
        found[:PER_BODY] = payload.parameters
        return found

    def residuals(self, motion: Motion, values: Array) -> Array:
        """Return torques (N, na) less their predictions; internal forces are fitted.

        Args:
            motion: A motion with torques.
            values: Parameters in the order of `names`.
        """
        L, U, A, y = self._equations(motion, self._friction)
        residual = (y - A @ values)[..., None]
        residual -= U @ (np.swapaxes(U, 1, 2) @ residual)
        found: Array = (L @ residual)[:, : self._na, 0]
        return found

    @property
    def _radius(self) -> float:
        m, h, I = self.prior[0], self.prior[1:4], self.prior[4:]
        gyration = np.sqrt(max(0.5 * (I[0] + I[2] + I[5]) / m, 0.0))
        return float(max(gyration, np.linalg.norm(h) / m, _SIZE))

    def _prior(self, friction: Array) -> tuple[Array, Array]:
        """Return estimates before the recording and their deviations, with Coulomb friction."""
        m, r = self.prior[0], self._radius
        wide = _FRICTION * self._effort
        mean = np.concatenate(
            [self.prior, self._damping, self._friction, np.zeros(self._na + 6 * self._k)]
        )
        deviations = np.concatenate(
            [
                m * np.array([1.0] + [r] * 3 + [r**2] * 6),
                np.maximum(wide, self._damping),
                np.maximum(wide, self._friction),
                _CHANGE * friction,
                np.tile(_BIAS, self._k),
            ]
        )
        return mean, deviations

    def _constrained(self, parameters: Array, covariance: Array) -> Array:
        """Return the physical parameters that explain the data best."""
        m, r = self.prior[0], self._radius
        scale = m * np.array([1.0] + [r] * 3 + [r**2] * 6)
        L = np.linalg.cholesky(
            np.linalg.inv(covariance / np.outer(scale, scale) + 1e-12 * np.eye(PER_BODY))
        )
        # Of a ball of that size about the description's centre: a point or a rod has no such theta.
        ball = pseudo_inertia(self.prior) + np.diag([0.1 * m * r**2] * 3 + [0.0])
        theta = log_cholesky(of_pseudo_inertia(ball))

        def distance(x: Array) -> Array:
            data = L.T @ ((from_log_cholesky(x) - parameters) / scale)
            return np.concatenate([data, _STRENGTH * (x - theta)])

        return from_log_cholesky(least_squares(distance, theta).x)

    def _rows(self, motion: Motion, friction: Array) -> tuple[Array, Array, Array]:
        """Return the low-passed whitened regressor, measurements and freedom of a motion."""
        filters = Filters(motion.period, self._cutoff)
        _, U, A, y = self._equations(motion, friction)
        rows = np.concatenate([A, y[..., None]], axis=2)
        rows -= U @ (np.swapaxes(U, 1, 2) @ rows)
        rows = filters.reduce(rows) / np.sqrt(filters.noise)
        rows = rows[np.isfinite(rows).all(axis=(1, 2))]
        freedom = np.full(len(rows), float(rows.shape[1] - U.shape[2]))
        return rows[..., :-1], rows[..., -1], freedom

    def _equations(self, motion: Motion, friction: Array) -> tuple[Array, Array, Array, Array]:
        """Return the factor of the noise, the basis of internal forces, regressor and left side.

        The last three are whitened.
        """
        na, k, p = self._na, self._k, len(self.names)
        filters = Filters(motion.period, self._cutoff)
        q, qd, qdd, unknown = self.kinematics.differentiate(motion.q, filters)
        count = len(q)
        n = na + 6 * k
        A, B, D = np.zeros((count, n, p)), np.zeros((count, n, 6 * (k - 1))), np.zeros((count, n, na))
        y, variance = np.zeros((count, n)), np.full((count, n), np.inf)
        robot, index = self.kinematics.robot, self.kinematics.index
        speeds = qd[:, index]
        for i, own in enumerate(self.kinematics.own):
            tool, to_tool = self.kinematics.of_tool(i, q, qd, qdd), self._to_tools[i]
            of_wrench = slice(na + 6 * i, na + 6 * (i + 1))
            Jt = np.swapaxes(tool.J, 1, 2)
            share = tool.Y @ parameters_in(to_tool) / k
            A[:, own, :PER_BODY], A[:, of_wrench, :PER_BODY] = Jt @ share, share
            F = wrench_in(to_tool) @ self._internal[i]
            B[:, own], B[:, of_wrench] = Jt @ F, F
            inertia = _spatial_inertia(parameters_in(to_tool) @ self.prior) / k
            D[:, of_wrench, own] = inertia @ tool.J
            D[:, own, own] = Jt @ inertia @ tool.J
            at = PER_BODY + 3 * na + 6 * i
            A[:, of_wrench, at : at + 6] = np.eye(6)
        fast = np.abs(speeds) > _SLOW
        for j in range(na):
            A[:, j, PER_BODY + j] = speeds[:, j]
            direction = np.sign(speeds[:, j]) * fast[:, j]
            A[:, j, PER_BODY + na + j] = direction
            A[:, j, PER_BODY + 2 * na + j] = direction * np.exp(-np.abs(speeds[:, j]) / _STRIBECK)
        D[:, :na] += robot.inertia_matrix(q)[:, index[:, None], index]
        if motion.torque is not None:
            y[:, :na] = motion.torque - robot.inverse_dynamics(q, qd, qdd)[:, index]
            smooth = filters.differentiate(motion.torque)[0]
            variance[:, :na] = self._noise.torque**2 + (self._noise.torque_fraction * smooth) ** 2
            saturated = np.abs(smooth) > 0.98 * self._effort
            # Slow joints, and saturated drives: an unknown force of up to that size that stays the
            # same in the whole episode, as white noise with the same effect on its mean.
            for size, which in ((friction, ~fast), (self._effort, saturated)):
                length = _episodes(which) / filters.stride
                unknown_force = np.where(which, size**2 / 3.0 * length, 0.0)
                variance[:, :na] += unknown_force / filters.noise
        if motion.wrenches is not None:
            y[:, na:] = motion.wrenches.reshape(count, -1)
            variance[:, na:] = np.tile(self._noise.wrench**2, k)
        used = np.isfinite(variance).any(axis=0) if count else np.zeros(n, bool)
        A, B, D, y, variance = A[:, used], B[:, used], D[:, used], y[:, used], variance[:, used]
        ratio = filters.noise_of_derivative(2) / filters.noise
        covariance = self._noise.position**2 * ratio * (D @ np.swapaxes(D, 1, 2))
        diagonal = np.arange(y.shape[1])
        covariance[:, diagonal, diagonal] += variance
        missing = unknown | ~(
            np.isfinite(covariance).all(axis=(1, 2)) & np.isfinite(y).all(axis=1)
        )
        covariance[missing] = np.eye(len(diagonal))
        for values in (A, B, y):
            values[missing] = 0.0
        L = np.linalg.cholesky(covariance)
        columns = np.linalg.solve(L, np.concatenate([A, B, y[..., None]], axis=2))
        U, _ = np.linalg.qr(columns[..., p:-1])
        A, y = columns[..., :p], columns[..., -1]
        y[missing] = np.nan
        U[missing] = 0.0
        return L, U, A, y


def _spatial_inertia(parameters: Array) -> Array:
    """Return the spatial inertia (6, 6) of standard parameters (10,) (Eq 2.63)."""
    m, h, I = parameters[0], parameters[1:4], parameters[4:]
    x, y, z = h
    H = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotational = np.array([[I[0], I[1], I[3]], [I[1], I[2], I[4]], [I[3], I[4], I[5]]])
    return np.block([[rotational, H], [H.T, m * np.eye(3)]])


def _episodes(which: Array) -> Array:
    """Return for each sample (N, n) the length of the run of equal values it belongs to."""
    lengths = np.zeros(which.shape)
    for j, column in enumerate(which.T):
        edges = np.flatnonzero(np.diff(column)) + 1
        bounds = np.concatenate([[0], edges, [len(column)]])
        lengths[:, j] = np.repeat(np.diff(bounds), np.diff(bounds))
    return lengths
