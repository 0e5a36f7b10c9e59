# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertial parameters: as one vector, base parameters, and physical consistency.

Not every parameter acts on the joint forces, and some act in the same way: measurements identify
the base parameters, independent combinations (Gautier 1991). Parameters belong to a distribution
of positive mass in space exactly if the pseudo-inertia matrix is positive definite (Wensing, Kim
and Slotine 2018). The log-Cholesky coordinates of Rucker and Wensing (2022) represent exactly
these parameters, so that an optimiser needs no constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr, solve_triangular

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.dynamics.kinematics import body_links
from robot_dynamics.dynamics.regressor import PER_BODY
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.model import Model
from robot_dynamics.spatial import Inertia

#: Share of the largest value below which a value is rounding; far above that of regressors.
_NEGLIGIBLE = 1e-9
# Eigenvalues of pseudo-inertias are off by some roundings of the largest.
_ROUNDING = 1e-12
# Number of random states at a time, until the rank stays; largest number of repetitions.
_STATES, _LARGEST_COUNT = 40, 1000


class BaseParameters(NamedTuple):
    """The combinations of inertial parameters on which joint forces depend.

    Attributes:
        matrix: M (r, 10 N): the base parameters are `M @ pi`.
        independent: Indices of r standard parameters that represent them: `Y @ pi` is `Y[:,
            independent] @ M @ pi` at all states.
    """

    matrix: Array
    independent: NDArray[np.intp]


def inertial_parameters(model: Model) -> Array:
    """Return the standard parameters (10 N,) of all bodies, see `dynamics.regressor`."""
    values = [
        (link.placement * body.inertia).components()
        for body, link in zip(model.bodies, body_links(model), strict=True)
    ]
    return np.array(values, dtype=float).ravel()


def inertias_of(model: Model, parameters: ArrayLike) -> dict[str, Inertia]:
    """Return the inertias of all bodies in their body frames, by name: for `Model.replace`.

    Args:
        model: The mechanism.
        parameters: Standard parameters (10 N,).

    Raises:
        ArgumentError: If their number differs, or one is not finite.
    """
    values = finite_vector("parameters", parameters, PER_BODY * len(model.bodies))
    return {
        body.name: link.placement.inverse_times(Inertia.of(row))
        for body, link, row in zip(
            model.bodies, body_links(model), values.reshape(-1, PER_BODY).tolist(), strict=True
        )
    }


def base_parameters(regressor: Callable[[], Array], units: Array) -> BaseParameters:
    """Return the base parameters, by QR factorisation with pivots of regressors at random states.

    Args:
        regressor: Returns the regressor of a random state (m, p), with rows of forces along
            displacements; without rows there are no base parameters.
        units: Parameters of one size (p,), which makes the columns comparable: see
            `parameter_units`.

    Raises:
        RobotDynamicsError: If the rank keeps growing with the number of states.
    """
    parameters = len(units)
    stacked, rank = np.zeros((0, parameters)), -1
    for _ in range(_LARGEST_COUNT):
        rows = [regressor() * units for _ in range(_STATES)]
        stacked = np.vstack([stacked, *rows])
        if not stacked.size:  # nothing moves, or there is nothing
            return BaseParameters(np.zeros((0, parameters)), np.zeros(0, dtype=np.intp))
        R, order = qr(stacked, mode="r", pivoting=True)
        R = R[:parameters]
        diagonal = np.abs(np.diag(R))
        found = int(np.sum(diagonal > _NEGLIGIBLE * diagonal.max(initial=0.0)))
        if found == rank and len(diagonal) == parameters:
            break
        rank, stacked = found, R[:, np.argsort(order)]
    else:
        raise RobotDynamicsError("the rank of the regressor grows with every state.")
    kept, others = order[:rank], order[rank:]
    matrix = np.zeros((rank, parameters))
    matrix[np.arange(rank), kept] = 1.0
    matrix[:, others] = solve_triangular(R[:rank, :rank], R[:rank, rank:])
    matrix *= units[kept, None] / units
    at = np.argsort(kept)
    matrix, kept = matrix[at], kept[at]
    size = np.abs(matrix) * units / units[kept, None]
    matrix[size < _NEGLIGIBLE] = 0.0
    return BaseParameters(matrix, kept)


def parameter_units(bodies: int, length: float) -> Array:
    """Return the parameters (10 N,) of N masses of 1 kg at a length [m]: one size in all units."""
    return np.tile([1.0] + [length] * 3 + [length**2] * 6, bodies)


def pseudo_inertia(parameters: ArrayLike) -> Array:
    """Return the pseudo-inertia matrices (..., 4, 4): integrals of x x^T dm, with x = (r, 1).

    Args:
        parameters: Standard parameters of one body (..., 10).
    """
    p = _of_body(parameters)
    J = np.empty((*p.shape[:-1], 4, 4))
    I = p[..., [[4, 5, 7], [5, 6, 8], [7, 8, 9]]]
    half_trace = 0.5 * np.trace(I, axis1=-2, axis2=-1)
    J[..., :3, :3] = half_trace[..., None, None] * np.eye(3) - I
    J[..., :3, 3] = J[..., 3, :3] = p[..., 1:4]
    J[..., 3, 3] = p[..., 0]
    return J


def of_pseudo_inertia(J: ArrayLike) -> Array:
    """Return the standard parameters (..., 10) of pseudo-inertia matrices (..., 4, 4)."""
    J = np.asarray(J, dtype=float)
    sigma = J[..., :3, :3]
    I = np.trace(sigma, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - sigma
    lower = [I[..., i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
    return np.stack([J[..., 3, 3], *np.moveaxis(J[..., :3, 3], -1, 0), *lower], axis=-1)


def is_physical(parameters: ArrayLike, length: float = 1.0) -> NDArray[np.bool_]:
    """Return whether parameters belong to a distribution of positive mass (...).

    Masses in a point, on a line or in a plane count as well: eigenvalues of the pseudo-inertia may
    be zero, to 1e-12 of the largest. False for values that are not finite.

    Args:
        parameters: Standard parameters of one body (..., 10).
        length: Size of the body [m], which makes the entries comparable.
    """
    scale = np.array([1.0 / length] * 3 + [1.0])
    J = pseudo_inertia(parameters) * np.outer(scale, scale)
    finite = np.asarray(np.isfinite(J).all(axis=(-2, -1)))
    values = np.linalg.eigvalsh(np.where(finite[..., None, None], J, 0.0))
    smallest, largest = values[..., 0], values[..., -1]
    return np.asarray((largest > 0.0) & (smallest >= -_ROUNDING * largest))


def from_log_cholesky(theta: ArrayLike) -> Array:
    """Return physical standard parameters (..., 10) from any ten numbers (..., 10).

    Args:
        theta: alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3: the pseudo-inertia is U U^T with
            U = exp(alpha) [[exp(d1), s12, s13, t1], [0, exp(d2), s23, t2], [0, 0, exp(d3), t3],
            [0, 0, 0, 1]].
    """
    x = _of_body(theta)
    U = np.zeros((*x.shape[:-1], 4, 4))
    for i in range(3):
        U[..., i, i] = np.exp(x[..., 1 + i])
        U[..., i, 3] = x[..., 7 + i]
    U[..., 0, 1], U[..., 1, 2], U[..., 0, 2] = x[..., 4], x[..., 5], x[..., 6]
    U[..., 3, 3] = 1.0
    U = U * np.exp(x[..., 0])[..., None, None]
    J = U @ np.swapaxes(U, -1, -2)
    return of_pseudo_inertia(J)


def log_cholesky(parameters: ArrayLike) -> Array:
    """Return the ten numbers (..., 10) from which `from_log_cholesky` computes these parameters.

    Args:
        parameters: Standard parameters of one body (..., 10).

    Raises:
        ArgumentError: If they are not physical, or masses are in a point, a line or a plane.
    """
    J = pseudo_inertia(parameters)
    if not np.isfinite(J).all():
        raise ArgumentError("parameters have entries that are not finite, expected numbers.")
    try:
        # Upper triangular factors: those of the matrix with reversed rows and columns.
        U = np.linalg.cholesky(J[..., ::-1, ::-1])[..., ::-1, ::-1]
    except np.linalg.LinAlgError:
        raise ArgumentError(
            "the parameters are of no distribution of positive mass; expected a positive definite "
            "pseudo-inertia."
        ) from None
    last = U[..., 3, 3]
    U = U / last[..., None, None]
    diagonal = [np.log(U[..., i, i]) for i in range(3)]
    off = [U[..., 0, 1], U[..., 1, 2], U[..., 0, 2], *(U[..., i, 3] for i in range(3))]
    return np.stack([np.log(last), *diagonal, *off], axis=-1)


def _of_body(values: ArrayLike) -> Array:
    array = np.asarray(values, dtype=float)
    if array.ndim == 0 or array.shape[-1] != PER_BODY:
        raise ArgumentError(f"parameters have shape {array.shape}, expected (..., {PER_BODY}).")
    return array
