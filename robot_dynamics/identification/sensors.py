# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Wrist sensors: bias, tool, and axes from arms that move free; scale from a held object.

Of an arm that moves free, the sensor measures the wrench that moves its tool:

    w = s diag(R, R) (Y pi) + b + noise

with the tool's parameters pi, the rotation R from the axes of the tool link to those in which the
sensor in fact measures, a sign s and the bias b. The scale of the sensor cannot be told from the
tool's mass there. While the arms hold an object of known parameters pi_o, the wrenches add up:

    sum over arms of a_i F_i (w_i - w_tool,i) - beta = Y pi_o + noise

with F_i from the tool's frame to the object's. This gives the scale 1 / a_i of each sensor, and of
the biases the six sums beta alone: differences of biases look like an internal force, and tools
like a part of the object.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.inertial_parameters import inertial_parameters
from robot_dynamics.dynamics.regressor import PER_BODY
from robot_dynamics.identification.held_object import WRENCH_AXES
from robot_dynamics.identification.least_squares import SURE, Fit, held_out_split, solve
from robot_dynamics.identification.motion import (
    PARAMETERS,
    ArmKinematics,
    Noise,
    RecordedMotion,
    inertia_matrix,
    parameters_in,
    sensor_tools,
    skew,
    wrench_in,
)
from robot_dynamics.identification.payload import about_center
from robot_dynamics.identification.signals import Filters, IdentificationError

_TOOL = tuple(f"tool {name}" for name in PARAMETERS)
_AXES = tuple(f"axes {axis} [rad]" for axis in "xyz")
_BIASES = tuple(f"bias {axis}" for axis in WRENCH_AXES)
# Prior deviations: mass [kg], radius [m], bias [N m, N], axes [rad], inverse scale.
_MASS, _RADIUS, _TURN, _SCALE = 3.0, 0.1, 1.0, 1.0
_BIAS: Array = np.array([5.0] * 3 + [50.0] * 3)
_ROUNDS = 6  # of the Gauss-Newton iteration
_LEAST_TURN = np.radians(1.0)  # smaller errors of axes are not corrected
_BETTER = 100.0  # decrease of the sum of squares that decides between axes
_SEEN = 3.0  # standard deviations of its mass from which a tool is there
_LEAST_ROWS = 20  # instants


class _Rows(NamedTuple):
    """Low-passed samples of an arm, with noise of the samples' variance.

    Attributes:
        Y: Regressor of its tool (M, 6, 10).
        w: Measured wrench (M, 6).
        J: Jacobian of its tool (M, 6, n).
    """

    Y: Array
    w: Array
    J: Array

    def part(self, which: slice) -> _Rows:
        """Return some of the rows."""
        return _Rows(self.Y[which], self.w[which], self.J[which])


class _Axes(NamedTuple):
    """Sign s and rotation R (3, 3) of a sensor's axes."""

    s: float
    R: Array

    @property
    def matrix(self) -> Array:
        """The matrix (6, 6) from true to measured wrenches, moment first."""
        return self.s * block_diag(self.R, self.R)


@dataclass(frozen=True)
class WristSensor:
    """An identified wrist sensor and the tool that it carries.

    Attributes:
        arm: Name of the arm.
        sign: -1 if it measures wrenches by the tool on the arm.
        turn: Rotation vector (3,) of the measuring axes relative to the described ones, in the
            tool's frame [rad]; zero if `turned` is false.
        turn_deviations: Standard deviations (3,) of a rotation of the axes [rad].
        turned: Whether the axes differ from the described ones beyond their deviations.
        fit: Fit of the tool's parameters (10), then of the bias (6).
        held_out: Residual of the last quarter over the noise: as described and as identified from
            the first three quarters.
        residuals: Measured less predicted wrenches (M, 6) of the low-passed rows, as described
            and as identified.
    """

    arm: str
    sign: float
    turn: Array
    turn_deviations: Array
    turned: bool
    fit: Fit
    held_out: tuple[float, float]
    residuals: tuple[Array, Array]

    @property
    def carries(self) -> bool:
        """Whether the sensor carries a tool, beyond the deviation of its mass."""
        return bool(self.fit.values[0] > _SEEN * self.fit.deviations[0])

    @property
    def tool(self) -> tuple[Array, Array]:
        """Mass [kg] and centre [m] of the tool (4,), and their standard deviations (4,)."""
        values = about_center(self.fit.values[:PER_BODY])[:4]
        mass = values[0]
        slopes = np.eye(4)
        slopes[1:] /= mass
        slopes[1:, 0] = -values[1:] / mass
        return values, np.sqrt(np.diag(slopes @ self.fit.covariance[:4, :4] @ slopes.T))

    @property
    def bias(self) -> tuple[Array, Array]:
        """Bias (6,), moment first [N m, N], and its standard deviations (6,)."""
        return self.fit.values[PER_BODY:], self.fit.deviations[PER_BODY:]


class FreeArm:
    """Equations of the wrist sensor of an arm that moves free.

    Args:
        kinematics: The arms.
        arm: Index of the arm.
        noise: Noise of the samples.
        cutoff: Cut-off frequency of the low-pass [Hz].
    """

    def __init__(self, kinematics: ArmKinematics, arm: int, noise: Noise, cutoff: float) -> None:
        self._kinematics, self._arm = kinematics, arm
        self._noise, self._cutoff = noise, cutoff
        described = sensor_tools(kinematics.system)[arm]
        self._described: Array = np.concatenate([described, np.zeros(6)])
        r = _RADIUS
        tool = _MASS * np.array([1.0] + [r] * 3 + [r**2] * 6)
        self._deviations: Array = np.concatenate([[_TURN] * 3, tool, _BIAS])

    def identify(self, motions: list[RecordedMotion]) -> WristSensor:
        """Return the sensor that explains motions of the arm.

        Raises:
            IdentificationError: If the motions have too few samples.
        """
        filters = Filters(motions[0].period, self._cutoff)
        parts = [self._rows(piece) for motion in motions for piece in motion.pieces()]
        rows = _Rows(*(np.concatenate(values) for values in zip(*parts, strict=True)))
        name = self._kinematics.system.arms[self._arm].name
        if len(rows.w) < _LEAST_ROWS:
            raise IdentificationError(
                f"arm {name!r} has {len(rows.w)} instants to fit, each 1/{2 * self._cutoff:g} s; "
                "expected some seconds without gaps in which it moves free."
            )
        guess = _likely_axes(rows.Y[:, 3:, 0], rows.w[:, 3:], self._noise.force)
        axes, free = self._fit(rows, guess, filters, turning=True)
        turn = -Rotation.from_matrix(axes.R).as_rotvec()  # of the axes: R^T
        deviations = free.deviations[:3]
        turned = bool(
            np.linalg.norm(turn) > _LEAST_TURN and (np.abs(turn) > SURE * deviations).any()
        )
        if not turned:
            axes, turn = _Axes(axes.s, np.eye(3)), np.zeros(3)
        _, fit = self._fit(rows, axes, filters, turning=turned)
        first = rows.part(slice(held_out_split(len(rows.w))))
        last = rows.part(slice(len(first.w), None))
        other, early = self._fit(first, axes, filters, turning=turned)
        plain, x0 = _Axes(1.0, np.eye(3)), self._described
        held_out = (
            self._size(last, plain, x0, filters),
            self._size(last, other, early.values[-len(x0) :], filters),
        )
        if turned:
            fit = replace(
                fit,
                names=fit.names[3:],
                values=fit.values[3:],
                covariance=fit.covariance[3:, 3:],
                prior_deviations=fit.prior_deviations[3:],
            )
        one = 1.0 / np.sqrt(filters.noise)
        residuals = (
            _residuals(rows, plain, x0, one) / one,
            _residuals(rows, axes, fit.values, one) / one,
        )
        return WristSensor(name, axes.s, turn, deviations, turned, fit, held_out, residuals)

    def _rows(self, motion: RecordedMotion) -> _Rows:
        filters = Filters(motion.period, self._cutoff)
        q, qd, qdd, unknown = self._kinematics.differentiate(motion.q, filters)
        tool = self._kinematics.of_tool(self._arm, q, qd, qdd)
        assert motion.wrenches is not None
        w = motion.wrenches[:, self._arm, :, None]
        rows = np.concatenate([tool.Y, w, tool.J], axis=2)
        rows[unknown] = np.nan
        rows = filters.reduce(rows)
        rows = rows[np.isfinite(rows).all(axis=(1, 2))]
        scale = np.sqrt(filters.noise)  # of Y and w alone: white noise keeps its variance
        return _Rows(
            rows[..., :PER_BODY] / scale, rows[..., PER_BODY] / scale, rows[..., PER_BODY + 1 :]
        )

    def _fit(
        self, rows: _Rows, axes: _Axes, filters: Filters, *, turning: bool
    ) -> tuple[_Axes, Fit]:
        """Return axes and the fit of tool and bias, with a rotation before them if it is free."""
        names = (*_AXES, *_TOOL, *_BIASES)
        one = 1.0 / np.sqrt(filters.noise)  # of a constant, scaled like the rows
        x, own = self._described, slice(0 if turning else 3, None)
        for _ in range(_ROUNDS):
            moved = rows.Y @ x[:PER_BODY] @ axes.matrix.T
            A = np.concatenate(
                [
                    -np.concatenate([skew(moved[:, :3]), skew(moved[:, 3:])], axis=1),
                    axes.matrix @ rows.Y,
                    np.broadcast_to(one * np.eye(6), (len(moved), 6, 6)),
                ],
                axis=2,
            )
            L: Any = self._factor(rows, x, filters)
            prior = np.concatenate([np.zeros(3), self._described])
            fit = solve(
                np.linalg.solve(L, A[..., own]),
                np.linalg.solve(L, rows.w[..., None])[..., 0],
                np.full(len(moved), 6.0),
                names[own],
                prior[own],
                self._deviations[own],
                filters.correlation,
            )
            x = fit.values[-len(x) :]
            if turning:
                axes = _Axes(axes.s, Rotation.from_rotvec(fit.values[:3]).as_matrix() @ axes.R)
        return axes, fit

    def _factor(self, rows: _Rows, x: Array, filters: Filters) -> Array:
        """Return the factor L (M, 6, 6) of the covariance of the rows' noise."""
        D = inertia_matrix(x[:PER_BODY]) @ rows.J
        ratio = filters.noise_of_derivative(2) / filters.noise
        covariance = self._noise.position**2 * ratio * (D @ np.swapaxes(D, 1, 2))
        return np.asarray(np.linalg.cholesky(covariance + np.diag(self._noise.wrench**2)))

    def _size(self, rows: _Rows, axes: _Axes, x: Array, filters: Filters) -> float:
        """Return the residual over the noise of rows that tool and bias `x` (16,) predict."""
        residual = _residuals(rows, axes, x, 1.0 / np.sqrt(filters.noise))
        L: Any = self._factor(rows, x, filters)
        whitened = np.linalg.solve(L, residual[..., None])
        return float(np.sqrt(np.mean(whitened**2)))


def _residuals(rows: _Rows, axes: _Axes, x: Array, one: float) -> Array:
    """Return measured less predicted wrenches (M, 6) of rows in which a constant is `one`."""
    return rows.w - rows.Y @ x[:PER_BODY] @ axes.matrix.T - one * x[PER_BODY:]


def _likely_axes(u: Array, f: Array, noise: float) -> _Axes:
    """Return axes that explain the forces on a tool about as well as any (Kabsch 1976).

    Those that are described come first, then their opposite, then rotated ones: with few
    directions of gravity several explain the forces.

    Args:
        u: Specific forces (M, 3) of the tool's origin, in its axes.
        f: Measured forces (M, 3).
        noise: Their standard deviation [N].
    """
    u, f = u - u.mean(axis=0), f - f.mean(axis=0)
    H = f.T @ u
    U, _, Vt = np.linalg.svd(H)
    candidates = [_Axes(1.0, np.eye(3)), _Axes(-1.0, np.eye(3))]
    for s in (1.0, -1.0):
        proper = np.diag([1.0, 1.0, s * np.linalg.det(U @ Vt)])
        candidates.append(_Axes(s, s * U @ proper @ Vt))
    # The decrease of the sum of squares by the best mass, which is positive.
    gains = np.array([max(axes.s * np.sum(axes.R * H), 0.0) for axes in candidates]) ** 2
    gains /= max(np.sum(u**2), 1e-300) * noise**2
    return candidates[int(np.flatnonzero(gains > gains.max() - _BETTER)[0])]


def held_scales(
    kinematics: ArmKinematics,
    grasps: list[Array],
    motions: list[RecordedMotion],
    tools: list[Array],
    noise: Noise,
    cutoff: float,
) -> Fit:
    """Return inverse scales (k) of wrist sensors, then the sums (6) of their biases.

    Args:
        kinematics: Arms and object, whose inertia is known.
        grasps: Pose (4, 4) of each arm's tool in the object.
        motions: Motions in which the arms hold the object.
        tools: Parameters (10,) of the tools that the sensors carry, as they measure them.
        noise: Noise of the samples.
        cutoff: Cut-off frequency of the low-pass [Hz].

    Raises:
        IdentificationError: If the motions have too few samples.
    """
    system, k = kinematics.system, len(grasps)
    at = slice(PER_BODY * system.object_body, PER_BODY * (system.object_body + 1))
    of_object = inertial_parameters(system.model)[at]
    filters = Filters(motions[0].period, cutoff)
    one, ratio = 1.0 / np.sqrt(filters.noise), filters.noise_of_derivative(2) / filters.noise
    found = []
    for motion in (piece for whole in motions for piece in whole.pieces()):
        q, qd, qdd, unknown = kinematics.differentiate(motion.q, filters)
        assert motion.wrenches is not None
        columns, wrench, effects = [], np.zeros((len(q), 6)), []
        for i, (grasp, carried) in enumerate(zip(grasps, tools, strict=True)):
            tool, F = kinematics.of_tool(i, q, qd, qdd), wrench_in(grasp)
            to_tool: Any = np.linalg.inv(grasp)
            moved = parameters_in(to_tool) @ of_object
            columns.append((motion.wrenches[:, i] - tool.Y @ carried) @ F.T)
            wrench += tool.Y @ moved @ F.T / k
            effects.append(F @ inertia_matrix(moved) @ tool.J / k)
        rows = np.concatenate([np.stack([*columns, wrench], axis=2), *effects], axis=2)
        rows[unknown] = np.nan
        rows = filters.reduce(rows)
        found.append(rows[np.isfinite(rows).all(axis=(1, 2))])
    rows = np.concatenate(found)
    if len(rows) < _LEAST_ROWS:
        raise IdentificationError(
            f"the arms hold the object in {len(rows)} instants to fit, each 1/{2 * cutoff:g} s; "
            "expected some seconds without gaps."
        )
    D = rows[..., k + 1 :]
    covariance = noise.position**2 * ratio * (D @ np.swapaxes(D, 1, 2))
    for grasp in grasps:
        F = wrench_in(grasp)
        covariance += F @ np.diag(noise.wrench**2) @ F.T
    constant = np.broadcast_to(-one * np.eye(6), (len(rows), 6, 6))
    A = np.concatenate([rows[..., :k] * one, constant], axis=2)
    L: Any = np.linalg.cholesky(covariance)
    return solve(
        np.linalg.solve(L, A),
        np.linalg.solve(L, rows[..., k, None] * one)[..., 0],
        np.full(len(rows), 6.0),
        [*(f"inverse scale of {arm.name}" for arm in system.arms), *_BIASES],
        np.concatenate([np.ones(k), np.zeros(6)]),
        np.concatenate([[_SCALE] * k, np.sqrt(k) * _BIAS]),
        filters.correlation,
    )
