# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Statistics of the samples of a study: failure rate, quantiles, and sensitivities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, rankdata, sobol_indices

from robot_dynamics.app.studies.settings import Plan
from robot_dynamics.app.studies.study import StudyResult
from robot_dynamics.arrays import Array

#: Name of the figure that states whether a sample failed.
FAILURE = "failure"
_CONFIDENCE = 0.95
# Standard deviations within which 95 % of the larger of two normally distributed numbers are.
_LIKELY = 2.24


@dataclass(frozen=True)
class Rate:
    """Failure rate of samples.

    Attributes:
        failed: Number of failed samples.
        count: Number of samples.
        interval: Wilson's 95 % confidence interval of the rate, from the independent samples; None
            without random samples, as in a grid.
    """

    failed: int
    count: int
    interval: tuple[float, float] | None

    @property
    def value(self) -> float:
        """The part of the samples that failed."""
        return self.failed / self.count

    def __str__(self) -> str:
        if self.interval is None:
            return f"{self.failed} of {self.count} combinations failed"
        low, high = (100.0 * end for end in self.interval)
        return (
            f"{self.failed} of {self.count} failed: {100.0 * self.value:.3g} % "
            f"(95 % confidence: {low:.3g} to {high:.3g} %)"
        )


def failure_rate(failed: NDArray[np.bool_], sampling: Plan = "plain", saltelli: int = 0) -> Rate:
    """Return the failure rate of samples (N,) with Wilson's confidence interval.

    Args:
        failed: Mask of failed samples (N,).
        sampling: Their sampling.
        saltelli: Number of samples of a block, if there are such blocks (see `Design`). All blocks
            except the first two repeat numbers of these, and do not change the interval.
    """
    if sampling == "grid":
        return Rate(int(np.sum(failed)), len(failed), None)
    first = failed[: 2 * saltelli or None]
    interval = binomtest(int(np.sum(first)), len(first)).proportion_ci(
        _CONFIDENCE, method="wilson"
    )
    ends = float(interval.low), float(interval.high)
    return Rate(int(np.sum(failed)), len(failed), ends)


@dataclass(frozen=True)
class Sensitivity:
    """Sensitivity of each figure to each varied number.

    Attributes:
        kind: "rank correlation", from -1 to 1: with the number or with its distance from the
            middle of its distribution, whichever is larger; or "total Sobol index", from 0 to 1:
            the share of the figure's variance that would remain if all others were known.
        rows: Names of the varied numbers (d,).
        columns: Names of the figures (k,), `FAILURE` the first if any sample failed.
        values: (d, k); NaN where a figure does not vary.
        distance: Whether the distance counts (d, k): errors to either side have the same effect.
        first: First-order Sobol indices (d, k), the share explained by the number alone; None with
            rank correlations.
        noise: Value of each figure that chance alone rarely exceeds (k,); 0 without correlations.
    """

    kind: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Array
    distance: NDArray[np.bool_]
    first: Array | None
    noise: Array


def sensitivity(result: StudyResult) -> Sensitivity:
    """Return Sobol indices where the sampling allows them, else Spearman's rank correlations.

    Of a figure that some samples do not have, Sobol indices do not exist; samples without it are
    left out of its rank correlations.
    """
    design, failed = result.design, result.failed
    outputs = {FAILURE: failed.astype(float)} if failed.any() and not failed.all() else {}
    outputs |= {name: result.values(name) for name in result.figures}
    rows, columns = design.columns, tuple(outputs)
    values = np.full((len(rows), len(columns)), np.nan)
    distance, noise = np.zeros(values.shape, dtype=bool), np.zeros(len(columns))
    if design.saltelli and all(np.isfinite(output).all() for output in outputs.values()):
        first = values.copy()
        for j, output in enumerate(outputs.values()):
            if np.ptp(output) > 0.0:
                first[:, j], values[:, j] = _sobol(output, design.saltelli)
        return Sensitivity("total Sobol index", rows, columns, values, distance, first, noise)
    if design.saltelli:  # the other blocks are not independent of these two
        rest = slice(0, 2 * design.saltelli)
    else:
        rest = slice(None)
    points = design.points[rest]
    for j, output in enumerate(outputs.values()):
        known = np.isfinite(output[rest])
        if known.sum() > 2 and np.ptp(output[rest][known]) > 0.0:
            noise[j] = _LIKELY / np.sqrt(known.sum() - 1)
            x, y = points[known], output[rest][known]
            straight = _rank_correlations(x, y)
            folded = _rank_correlations(np.abs(x - 0.5), y)
            distance[:, j] = np.abs(folded) > np.abs(straight)
            values[:, j] = np.where(distance[:, j], folded, straight)
    return Sensitivity("rank correlation", rows, columns, values, distance, None, noise)


def _rank_correlations(points: Array, output: Array) -> Array:
    """Return Spearman's correlation (d,) of each column of points (N, d) with an output (N,)."""
    x, y = rankdata(points, axis=0), rankdata(output)
    x, y = x - x.mean(axis=0), y - y.mean()
    size = np.linalg.norm(x, axis=0) * np.linalg.norm(y)
    found = np.full(points.shape[1], np.nan)
    np.divide(x.T @ y, size, out=found, where=size > 0.0)
    return found


def _sobol(output: Array, block: int) -> tuple[Array, Array]:
    """Return first-order and total Sobol indices (d,) of the blocks of a Saltelli design."""
    blocks = output.reshape(-1, 1, block)
    given = {"f_A": blocks[0], "f_B": blocks[1], "f_AB": blocks[2:]}
    found = sobol_indices(func=given, n=block)
    return np.ravel(found.first_order), np.ravel(found.total_order)
