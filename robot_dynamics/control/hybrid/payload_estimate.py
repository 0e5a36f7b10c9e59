# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recursive estimate of mass and centre of the held object, from its wrench and motion; traceable.

With m0 the stated mass and C the stated centre of mass, theta = [mu, eta] has the relative error
mu of the mass, m = m0 (1 + mu), and the first moment m0 eta of the object about C; its inertia is
taken to be in proportion to the mass. By Newton and Euler the wrench of the arms about C is

    F = d/dt (Y_p (e_0 + theta)) + Y_s (e_0 + theta),            e_0 = [1, 0, 0, 0],

where Y_p (e_0 + theta) is the object's momentum and Y_s has weight and transport. Both sides are
filtered by G(s) = c / (s + c), which needs no acceleration (Slotine and Li, Applied Nonlinear
Control, 9.1.3): with G d/dt = c (1 - G),

    y = G F - Phi e_0 = Phi theta,            Phi = c Y_p + G (Y_s - c Y_p).

theta is the least-squares solution over all samples that count, near zero by Lambda_0:

    Lambda = Lambda_0 + sum of Phi^T R^-1 Phi,    Lambda theta = sum of Phi^T R^-1 y.

It is bounded, and the law follows it at a bounded rate. `docs/payload_adaptation.md` has the
stability argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.hybrid.surface_forces import positive
from robot_dynamics.manipulation.hybrid.grasp_kinematics import Matrix
from robot_dynamics.scalar.functions import maximum, minimum, sqrt
from robot_dynamics.scalar.linear_algebra import dot, factor, subtract, times, transposed
from robot_dynamics.spatial import Motion, Rotation, Scalar, Symmetric3, Vector3

_CUTOFF = 30.0  # c [1/s]
_WAIT_S = 0.3  # without other forces, until the filters have forgotten them [s]
_NOISE_N, _NOISE_NM = 0.5, 0.1  # assumed white noise of the arms' wrench: R
# A residual above a share of the weight means another object, or forces of something else: older
# data are then forgotten in that time. Residuals are averaged over the same time.
_UNEXPLAINED, _LEAST_MISFIT, _FORGET_S = 0.01, 9.0, 0.5
_TINY = 1e-30  # [m^2]
_COLUMNS = 4
_USED, _FILTERS = _COLUMNS, 6 * (1 + _COLUMNS)
_INFORMATION = _COLUMNS * (_COLUMNS + 1) // 2
#: Numbers that a step of the estimate leaves to the next; all are zero at the start.
PAYLOAD_STATE = _USED + _FILTERS + _INFORMATION + _COLUMNS + 2


class PayloadBounds(NamedTuple):
    """Bounds of the estimate; see `settings.PayloadBoundSettings`.

    Attributes:
        mass_share: Largest change of the mass, as a share of the stated one.
        center_m: Largest displacement of the centre of mass from the stated one [m].
        change_s: Time in which the estimate that the law uses can go from zero to its bounds [s].
    """

    mass_share: Any
    center_m: Any
    change_s: Any


class AdaptedPayload(NamedTuple):
    """Mass and centre that the law uses.

    Attributes:
        ratio: Mass over the stated mass.
        offset: Centre of mass from the stated one, in the object's axes [m].
    """

    ratio: Scalar
    offset: Vector3

    @classmethod
    def of(cls, state: Sequence[Scalar]) -> AdaptedPayload:
        """Return the payload of a state (`PAYLOAD_STATE`,)."""
        mu, *offset = state[:_USED]
        return cls(1.0 + mu, Vector3.of(offset))


def kept_at_start(state: Array, *, same_object: bool) -> Array:
    """Return the state (`PAYLOAD_STATE`,) for a start; what was learned of another object is lost.

    Args:
        state: State at the end of the last run.
        same_object: Whether the arms still hold the object of that run.
    """
    kept = state.copy()
    if same_object:  # how it moved since is not known
        kept[_USED : _USED + _FILTERS] = 0.0
        kept[-2:] = 0.0
    else:
        kept[:] = 0.0
    return kept


def payload_at_rest(
    residual: Array, gravity: Array, mass: float, bounds: PayloadBounds
) -> Array | None:
    """Return the payload (4,) of an object at rest, as a state begins with it.

    Args:
        residual: Its moment and force about the stated centre (6,) less its stated weight.
        gravity: Acceleration of gravity, in the same axes (3,).
        mass: Stated mass.
        bounds: Bounds of the estimate.

    Returns:
        The least change that explains the residual; None if it is not within the bounds.
    """
    g2 = float(gravity @ gravity)
    if not (g2 > 0.0 and np.isfinite(residual).all()):
        return None
    mu = -float(residual[3:] @ gravity) / (mass * g2)  # F = -m g
    if not abs(mu) < bounds.mass_share:
        return None
    d = np.cross(residual[:3], gravity) / (mass * (1.0 + mu) * g2)  # M = -m d x g, d across g
    if not np.linalg.norm(d) < bounds.center_m:
        return None
    return np.array([mu, *d])


@dataclass(frozen=True)
class HeldWrench:
    """Wrench of the arms on the object and the motion that belongs to it, about the stated centre.

    Attributes:
        wrench: Moment and force (6,), in the object's axes.
        to_object: Turns world axes into the object's.
        twist: Of the object, in its axes.
        mass: Stated mass.
        inertia: Stated rotational inertia.
        gravity: Acceleration of gravity, in world axes.
    """

    wrench: Sequence[Scalar]
    to_object: Rotation
    twist: Motion
    mass: Scalar
    inertia: Symmetric3
    gravity: Vector3

    def world_wrench(self) -> list[Scalar]:
        """Return F (6,) in world axes."""
        moment, force = Vector3.of(self.wrench[:3]), Vector3.of(self.wrench[3:])
        return [*self.to_object.inverse_times(moment), *self.to_object.inverse_times(force)]

    def columns(self) -> list[tuple[list[Scalar], list[Scalar]]]:
        """Return the columns of Y_p and Y_s (6, 6), in world axes: of the mass, then of eta."""
        E, m, g = self.to_object, self.mass, self.gravity
        omega, v = E.inverse_times(self.twist.angular), E.inverse_times(self.twist.linear)
        spin = E.inverse_times(self.inertia * self.twist.angular)
        found: list[tuple[list[Scalar], list[Scalar]]] = [
            ([*spin, *(v * m)], [0.0, 0.0, 0.0, *(g * -m)])
        ]
        for axis in E.transpose().columns():  # the object's axes in the world
            velocity = omega.cross(axis)
            momentum = [*(axis.cross(v) * m), *(velocity * m)]
            found.append((momentum, [*((v.cross(velocity) - axis.cross(g)) * m), 0.0, 0.0, 0.0]))
        return found


@dataclass(frozen=True)
class PayloadEstimate:
    """A step of the estimate.

    Attributes:
        state: State for the next step (`PAYLOAD_STATE`,).
        deviation: Standard deviations of mass [kg] and centre [m] (4,).
        learned: 1 if the sample counts, 0 while the estimate is frozen.
    """

    state: list[Scalar]
    deviation: list[Scalar]
    learned: Scalar

    @classmethod
    def of(
        cls,
        held: HeldWrench,
        state: Sequence[Scalar],
        bounds: PayloadBounds,
        period: Scalar,
        *,
        known: Scalar,
        gate: Scalar,
    ) -> PayloadEstimate:
        """Return the estimate after a sample.

        Args:
            held: Wrench and motion of the object.
            state: State that the last step left (`PAYLOAD_STATE`,).
            bounds: Bounds of the estimate.
            period: Control period [s].
            known: 1 if the wrench is known and nothing but the arms and gravity acts.
            gate: 0 to freeze the estimate although the wrench is known.
        """
        values = iter(state)
        used, filters, packed, moment, (misfit, free_s) = (
            [next(values) for _ in range(count)]
            for count in (_USED, _FILTERS, _INFORMATION, _COLUMNS, 2)
        )

        # --- y and Phi, each row over its noise.
        half = 0.5 * _CUTOFF * period
        share = half / (1.0 + half)  # b of the filter: it leaves this part of white noise's power
        inputs = [([0.0] * 6, held.world_wrench()), *held.columns()]
        passed, filters = _filtered(inputs, filters, share)
        noise = [_NOISE_NM] * 3 + [_NOISE_N] * 3
        F, mass, *first_moment = [
            [value / s for value, s in zip(column, noise, strict=True)] for column in passed
        ]
        y, Phi = subtract(F, mass), transposed([mass, *first_moment], 6)

        # --- Which samples count, and which are forgotten.
        free_s = known * minimum(free_s + period, _WAIT_S)
        learned = gate * positive(free_s + 0.5 * period - _WAIT_S)
        weight = held.mass * sqrt(held.gravity.dot(held.gravity))
        unexplained = _UNEXPLAINED * weight / _NOISE_N
        most = maximum(_LEAST_MISFIT, unexplained * unexplained / (6.0 * share))
        forgotten = minimum(maximum(misfit / most - 1.0, 0.0), 1.0)
        keep = 1.0 - learned * forgotten * minimum(period / _FORGET_S, 1.0)

        # --- Least squares.
        S = [[keep * value for value in row] for row in _lower(packed)]
        for i in range(_COLUMNS):
            for j in range(i + 1):
                S[i][j] = S[i][j] + learned * dot(_column(Phi, i), _column(Phi, j))
        moment = [
            keep * value + learned * dot(_column(Phi, i), y) for i, value in enumerate(moment)
        ]
        prior = [bounds.mass_share, *[bounds.center_m] * 3]
        Lambda = [[*row] for row in S]
        for i, size in enumerate(prior):
            Lambda[i][i] = Lambda[i][i] + 1.0 / (size * size)
        P = factor(Lambda).inverse()
        theta = times(P, moment)
        residual = subtract(y, times(Phi, theta))
        now = dot(residual, residual) / (6.0 * share)
        misfit = misfit + learned * minimum(period / _FORGET_S, 1.0) * (now - misfit)

        # --- Bounded and followed at a bounded rate.
        change = learned * period / bounds.change_s
        mu = _within(theta[0], bounds.mass_share)
        wanted = Vector3.of(theta[1:]) * (1.0 / (1.0 + mu))
        wanted = wanted * (1.0 / maximum(1.0, _length(wanted) / bounds.center_m))
        last = AdaptedPayload.of(used)
        away = wanted - last.offset  # a straight way stays within the bound
        part = minimum(1.0, change * bounds.center_m / _length(away))
        d = last.offset + away * part
        mu = used[0] + _within(mu - used[0], change * bounds.mass_share)

        # --- Standard deviations of m and d = eta / (1 + mu).
        ratio = 1.0 + mu
        spread = sqrt(maximum(1.0, misfit))
        variance = [P[0][0] * held.mass * held.mass] + [
            (P[i][i] - 2.0 * c * P[i][0] + c * c * P[0][0]) / (ratio * ratio)
            for i, c in enumerate(d, start=1)
        ]
        deviation = [spread * sqrt(maximum(value, 0.0)) for value in variance]
        information = [value for row in S for value in row]
        return cls([mu, *d, *filters, *information, *moment, misfit, free_s], deviation, learned)


def _length(vector: Vector3) -> Scalar:
    """Return the length of a vector [m]; more than zero."""
    return sqrt(vector.dot(vector) + _TINY)


def _within(value: Scalar, bound: Scalar) -> Scalar:
    """Return a value within plus and minus a bound."""
    return minimum(maximum(value, -bound), bound)


def _column(matrix: Matrix, i: int) -> list[Scalar]:
    return [row[i] for row in matrix]


def _lower(packed: Sequence[Scalar]) -> list[list[Scalar]]:
    """Return the rows of a lower triangle."""
    values = iter(packed)
    return [[next(values) for _ in range(i + 1)] for i in range(_COLUMNS)]


def _filtered(
    inputs: Sequence[tuple[Sequence[Scalar], Sequence[Scalar]]],
    state: Sequence[Scalar],
    share: Scalar,
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Return c p + G (s - c p) for pairs of momentum p and force s (6,), and the next state.

    G is the filter by Tustin's rule, b (1 + z^-1) / (1 - (1 - 2 b) z^-1).
    """
    passed, after, before = [], [], iter(state)
    for momentum, force in inputs:
        column = []
        for p, s in zip(momentum, force, strict=True):
            u = s - _CUTOFF * p
            filtered = share * u + next(before)
            after.append(share * u + (1.0 - 2.0 * share) * filtered)
            column.append(_CUTOFF * p + filtered)
        passed.append(column)
    return passed, after
