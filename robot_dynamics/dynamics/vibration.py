# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Small vibrations about an equilibrium: its search, natural frequencies, modes and poles.

Near an equilibrium the equation of motion is H x'' + D x' + S x = 0. Stiffness S is the derivative
of the unbalanced force, C - tau - K^T lambda, by the positions: springs, gravity, and the forces
of closed loops, which turn with the links. It is exact: the derivatives come from dual numbers,
not from differences. With loops, x are only the motions that keep them closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.dynamics.closed_loop import closed_loop_terms
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.dynamics.scaling import constraint_scales, model_length
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.scalar.derivatives import directional_derivative

# Unbalanced force, as a share of the largest; the displacement from equilibrium is of this order.
_BALANCED = 1e-9
_ITERATIONS = 50


@dataclass(frozen=True)
class Vibrations:
    """The linear model at an equilibrium, its natural frequencies and modes.

    Attributes:
        frequencies: Natural frequencies (m,) [Hz], without damping, lowest first; negative for
            motions that grow instead (of a rate of 2 pi times as much [1/s]), 0.0 for free ones.
        modes: Velocities (nv, m) of the modes, each with x^T H x = 1.
        poles: Exponents (2 m,) of the damped motions [1/s], nearest to the real axis first.
        inertia: H (nv, nv).
        damping: D (nv, nv).
        stiffness: S (nv, nv).
        out_of_balance: The largest force that is not in balance, as a part of those that act, or
            would act at a displacement of one.
    """

    frequencies: Array
    modes: Array
    poles: NDArray[np.complex128]
    inertia: Array
    damping: Array
    stiffness: Array
    out_of_balance: float

    @property
    def damping_ratios(self) -> Array:
        """Damping ratio of each of `poles` (2 m,); 1.0 at rest."""
        size = np.abs(self.poles)
        return np.divide(-self.poles.real, size, out=np.ones_like(size), where=size > 0.0)


def vibrations(
    model: Model, q: ArrayLike, tau: ArrayLike | None = None, *, damping: bool = True
) -> Vibrations:
    """Return the small vibrations about an equilibrium.

    Args:
        model: The mechanism.
        q: Positions (nq,) of the equilibrium, loops closed.
        tau: Constant joint forces (nv,) of the equilibrium; zero by default.
        damping: Whether viscous friction of tree joints is part of D; dampers of loop joints
            always are.

    Raises:
        ArgumentError: If an argument does not fit.
        RobotDynamicsError: If forces are not balanced at `q`; use `equilibrium` to find positions.
    """
    model = model.replace(joint_friction=False)  # D has it; Coulomb friction is not linear
    at, force = _state(model, q, tau)
    balance = _Balance(model, at, force)
    if not balance.part <= _BALANCED:
        raise RobotDynamicsError(
            f"{model.name}: forces are out of balance by {balance.part:.1e} of the largest, "
            "expected an equilibrium, as `equilibrium` finds it."
        )
    H, S, D = balance.H, balance.stiffness, balance.damping()
    if damping:
        D = D + np.diag(model.damping)
    N = balance.free_motions()
    H_y, S_y, D_y = (N.T @ matrix @ N for matrix in (H, S, D))
    # Forces of closed loops do no work: the remaining S is symmetric.
    squares, shapes = eigh(0.5 * (S_y + S_y.T), H_y)
    rates = np.sign(squares) * np.sqrt(np.abs(squares))
    m = N.shape[1]
    first_order = np.block(
        [[np.zeros((m, m)), np.eye(m)], [-np.linalg.solve(H_y, np.hstack([S_y, D_y]))]]
    )
    poles = np.linalg.eigvals(first_order)
    order = np.lexsort((poles.imag, np.round(np.abs(poles.imag), 9)))
    return Vibrations(rates / (2.0 * np.pi), N @ shapes, poles[order], H, D, S, balance.part)


def equilibrium(model: Model, q: ArrayLike, tau: ArrayLike | None = None) -> Array:
    """Return equilibrium positions (nq,) near `q`, with loops closed.

    It uses Newton's method with the exact stiffness; motions that change no force stay zero.

    Args:
        model: The mechanism.
        q: Initial guess (nq,), with loops closed or nearly closed.
        tau: Constant joint forces (nv,); zero by default.

    Raises:
        ArgumentError: If an argument does not fit.
        RobotDynamicsError: If none is found.
    """
    at, force = _state(model, q, tau)
    length = model_length(model)
    for _ in range(_ITERATIONS):
        balance = _Balance(model, at, force)
        if balance.part <= 1e-3 * _BALANCED and balance.opening <= 1e-12 * length:
            return at
        K = balance.K
        zero = np.zeros((len(K), len(K)))
        newton = np.block([[balance.stiffness, -K.T], [K, zero]])
        wanted = -np.concatenate([balance.rest, balance.gap])
        step = np.linalg.lstsq(newton, wanted, rcond=1e-12)[0][: model.nv]
        # Half a radian, or half of the mechanism: linear models are not valid beyond.
        largest = np.max(np.abs(step), initial=0.0) / (0.5 * max(1.0, length))
        step /= max(1.0, largest)
        at = np.array(model.normalized(model.integrate(at.tolist(), step.tolist())))
        if np.max(np.abs(step), initial=0.0) <= 1e-14 and balance.part <= _BALANCED:
            return at
    raise RobotDynamicsError(
        f"{model.name}: no equilibrium was found near these positions: after {_ITERATIONS} steps "
        f"forces are out of balance by {balance.part:.1e} of the largest."
    )


class _Balance:
    """The forces at rest, and the multipliers that balance them best."""

    def __init__(self, model: Model, q: Array, tau: Array) -> None:
        self.model, self.q, self.tau = model, q, tau
        self._parameters = parameters_of(model)
        terms = closed_loop_terms(model, q.tolist(), [0.0] * model.nv, self._parameters)
        self.H, self.C = np.array(terms.H, dtype=float), np.array(terms.C, dtype=float)
        self.K = np.array(terms.loops.K, dtype=float).reshape(-1, model.nv)
        error = np.array(terms.loops.position_error, dtype=float)
        self.gap: Array = np.multiply(error, model.holonomic)
        scales = constraint_scales(model, model_length(model))
        self.opening = float(np.max(np.abs(scales * self.gap), initial=0.0))
        self.multipliers = np.linalg.lstsq(self.K.T, self.C - tau, rcond=None)[0]
        self.rest = self.C - tau - self.K.T @ self.multipliers
        self.stiffness = self._stiffness()
        # Forces are compared with those that a displacement of one causes.
        acting = [np.max(np.abs(part), initial=0.0) for part in (self.C, tau, self.stiffness)]
        size = max(*acting, np.finfo(float).tiny)
        self.part = float(np.max(np.abs(self.rest), initial=0.0) / size)

    def _stiffness(self) -> Array:
        """Return S (nv, nv): derivative of C - K^T lambda by positions at constant lambda."""
        model, parameters = self.model, self._parameters
        multipliers, still = self.multipliers.tolist(), [0.0] * model.nv

        def out_of_balance(q: Sequence[Any]) -> list[Any]:
            terms = closed_loop_terms(model, q, still, parameters)
            rest = list(terms.C)
            for row, multiplier in zip(terms.loops.K, multipliers, strict=True):
                rest = [r - k * multiplier for r, k in zip(rest, row, strict=True)]
            return rest

        columns = []
        for unit in np.eye(model.nv).tolist():
            rate = model.position_rate(self.q.tolist(), unit)
            columns.append(directional_derivative(out_of_balance, self.q.tolist(), rate)[1])
        return np.array(columns, dtype=float).reshape(model.nv, model.nv).T

    def damping(self) -> Array:
        """Return the derivative of C by velocities (nv, nv): dampers of loop joints."""
        model, q = self.model, self.q.tolist()

        def bias(qd: Sequence[Any]) -> list[Any]:
            return closed_loop_terms(model, q, qd, self._parameters).C

        still, units = [0.0] * model.nv, np.eye(model.nv).tolist()
        columns = [directional_derivative(bias, still, unit)[1] for unit in units]
        return np.array(columns, dtype=float).reshape(model.nv, model.nv).T

    def free_motions(self) -> Array:
        """Return a basis (nv, m) of velocities that keep loops closed."""
        ranked = constraint_rank(self.model, self.K, self.gap, self.q)
        return ranked.motions / ranked.column_scales[:, None]


def _state(model: Model, q: ArrayLike, tau: ArrayLike | None) -> tuple[Array, Array]:
    at = finite_vector("q", q, model.nq)
    force = np.zeros(model.nv) if tau is None else finite_vector("tau", tau, model.nv)
    return np.array(model.normalized(at.tolist())), force
