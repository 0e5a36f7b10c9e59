# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Common parts of reports: values with their standard deviations, quality of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.identification.least_squares import Fit

#: Residuals over noise above which a report warns, and above which nothing is identified.
LARGE_FACTOR, LARGEST_FACTOR = 2.0, 20.0


def entry(value: float, deviation: float, before: float) -> dict[str, float]:
    """Return a value, its standard deviation and the described value as JSON values."""
    return {
        "value": float(value),
        "standard_deviation": float(deviation),
        "before": float(before),
    }


def line(name: str, one: dict[str, float], unit: str, scale: float = 1.0) -> str:
    """Return an `entry` as text, in a unit that is 1 / `scale` of its own."""
    return (
        f"  {name:<22}{scale * one['value']:11.4f} "
        f"+- {scale * one['standard_deviation']:.4f} {unit}"
        f"   (before: {scale * one['before']:.4f})"
    )


def quality(fit: Fit) -> dict[str, Any]:
    """Return residuals and conditioning of a fit as JSON values."""
    return {
        "residual_over_noise": fit.factor,
        "residual_correlation": fit.correlation,
        "condition": fit.condition if np.isfinite(fit.condition) else None,
        "rejected_instants": fit.rejected,
    }


def quality_words(fit: Fit, outliers: int) -> str:
    """Return residuals and conditioning of a fit as text."""
    white = "white" if fit.white else "not white"
    return (
        f"residuals {fit.factor:.2f} times the assumed noise, {white}; condition "
        f"{fit.condition:.3g}; {fit.rejected} instants and {outliers} values left out"
    )


def doubts(fit: Fit, what: str, causes: str) -> list[str]:
    """Return reasons to doubt a fit, one sentence each.

    Args:
        fit: The fit.
        what: Whose residuals they are, with a blank before it, or empty.
        causes: Likely causes of large residuals.
    """
    found = []
    if fit.factor > LARGE_FACTOR:
        found.append(
            f"residuals{what} are {fit.factor:.1f} times the assumed noise: {causes}, or the "
            "noise differ from the assumptions; deviations are enlarged."
        )
    # Deviations of a mean under correlated noise are larger by sqrt((1 + c) / (1 - c)).
    share = (1.0 + fit.correlation) / max(1.0 - fit.correlation, 1e-9)
    if not fit.white and fit.factor**2 * share > 1.0:
        found.append(
            f"successive residuals{what} are correlated ({fit.correlation:.2f}): something acts "
            "that is not in the equations, and deviations are too small."
        )
    return found
