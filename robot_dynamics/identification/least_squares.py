# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Weighted least squares with a prior, and statistics of the residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robot_dynamics.arrays import Array

#: A parameter is observable if the data reduce its prior standard deviation to this part.
OBSERVED = 0.3
#: Standard deviations by which a value that is corrected or warned of differs from the described.
SURE = 5.0
_REJECTED = 5.0  # standard deviations of a residual row
_ROUNDS = 3  # of rejection
_HELD_OUT = 0.25  # part of the rows that verifies
_CORRELATED = 0.1  # correlation that matters, beyond that of chance


@dataclass(frozen=True)
class Fit:
    """Solution of a least-squares problem with a normal prior.

    Attributes:
        names: Names of the parameters.
        values: Estimates (p,).
        covariance: Their covariance (p, p): of the assumed noise, or of a larger one if the
            residuals show it. Small residuals do not make it smaller: errors that stay the same
            through the recording are not in them.
        prior_deviations: Standard deviations of the prior (p,); infinite without one.
        factor: Measured over assumed standard deviation of the noise.
        correlation: Correlation of successive residuals beyond that of filtered white noise.
        rows: Number of rows used, less the dimensions that were eliminated.
        rejected: Number of instants left out, whose residuals were outliers.
        condition: Condition number of the columns, each scaled to length one.
    """

    names: tuple[str, ...]
    values: Array
    covariance: Array
    prior_deviations: Array
    factor: float
    correlation: float
    rows: float
    rejected: int
    condition: float

    @cached_property
    def deviations(self) -> Array:
        """Standard deviations (p,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def unobserved(self) -> tuple[str, ...]:
        """Names of the parameters that the data say little or nothing about."""
        poor = self.deviations > OBSERVED * self.prior_deviations
        return tuple(name for name, one in zip(self.names, poor, strict=True) if one)

    @property
    def white(self) -> bool:
        """Whether the residuals are those of white noise: the equations explain the data."""
        return bool(self.correlation < 3.0 / np.sqrt(max(self.rows, 1.0)) + _CORRELATED)


def held_out_split(rows: int) -> int:
    """Return the index of the first row that a fit leaves out, to be verified by it."""
    return round((1.0 - _HELD_OUT) * rows)


def solve(
    A: Array,
    y: Array,
    freedom: Array,
    names: Sequence[str],
    prior: Array,
    deviations: Array,
    correlation: float = 0.0,
) -> Fit:
    """Return the fit of rows with noise of variance 1, instants with outliers left out.

    Args:
        A: Whitened regressor (M, n, p) of M instants.
        y: Whitened measurements (M, n).
        freedom: Number of dimensions (M,) of each instant's n rows that were not eliminated.
        names: Names of the parameters.
        prior: Prior estimates (p,).
        deviations: Their standard deviations (p,); infinite without a prior.
        correlation: Correlation of the noise of successive instants.
    """
    weights = 1.0 / np.asarray(deviations)
    kept = np.ones(len(y), dtype=bool)
    for _ in range(_ROUNDS):
        rows = A[kept].reshape(-1, A.shape[2])
        information = rows.T @ rows
        right = rows.T @ (y[kept].ravel() - rows @ prior)
        scale = np.sqrt(np.diag(information) + weights**2)
        scale[scale == 0.0] = 1.0
        scaled = (information + np.diag(weights**2)) / np.outer(scale, scale)
        inverse = np.linalg.pinv(scaled, rcond=1e-14, hermitian=True) / np.outer(scale, scale)
        values = prior + inverse @ right
        residuals = y - A @ values
        squares = np.sum(residuals**2, axis=1)
        count = float(freedom[kept].sum())
        used = float(np.trace(inverse @ information))
        factor = float(np.sqrt(squares[kept].sum() / max(count - used, 1.0)))
        # Rows within the assumed noise are no outliers, however small the others' residuals are.
        usual = np.maximum(np.median(squares[kept] / np.maximum(freedom[kept], 1.0)), 1.0)
        still = squares <= _REJECTED**2 * usual * np.maximum(freedom, 1.0)
        if (still == kept).all():
            break
        kept = still
    lengths = np.sqrt(np.diag(information))
    own = lengths > 0.0
    columns = information[np.ix_(own, own)] / np.outer(lengths[own], lengths[own])
    condition = float(np.sqrt(np.linalg.cond(columns))) if own.any() else np.inf
    both = kept[1:] & kept[:-1]
    size = max(float(squares[kept].sum()), np.finfo(float).tiny)
    successive = np.sum((residuals[1:] * residuals[:-1])[both]) / size
    next_to = A[1:][both].reshape(-1, A.shape[2]).T @ A[:-1][both].reshape(-1, A.shape[2])
    spread = information + correlation * (next_to + next_to.T) + np.diag(weights**2)
    return Fit(
        tuple(names),
        values,
        max(factor, 1.0) ** 2 * inverse @ spread @ inverse,
        np.asarray(deviations),
        factor,
        float(successive - correlation),
        count,
        int((~kept).sum()),
        condition,
    )
