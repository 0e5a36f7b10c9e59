# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A panel of errors over decades, beside the thresholds of the scenario and the time at rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.figures import BLUE, ORANGE, PALE, legend_above
from robot_dynamics.app.recording import TICK, Recording

Array = NDArray[np.float64]

_COLORS = (BLUE, ORANGE)
_NOTHING = 1e-12  # what is less is not drawn
_DECADES = 1e-6  # of the largest: what is less says nothing beside it


class Error(NamedTuple):
    """A positive quantity, and the thresholds that it is to keep.

    Attributes:
        values: In each control period (ticks,).
        label: What it is, with its unit.
        threshold_max: Name of the scenario's threshold for all time.
        threshold_settled: Name of its threshold for the time at rest.
        scale: What makes the unit of the thresholds that of the values.
    """

    values: Array
    label: str
    threshold_max: str
    threshold_settled: str
    scale: float = 1.0


def error_panel(
    ax: Any, recording: Recording, rows: slice, title: str, unit: str, errors: Sequence[Error]
) -> None:
    """Draw errors, at most two.

    Args:
        ax: Where.
        recording: The run.
        rows: Those that are drawn.
        title: What the errors are those of.
        unit: For the axis.
        errors: The errors.
    """
    time = (recording[TICK] * recording.get("period_s"))[rows]
    _resting(ax, recording)
    ax.set_yscale("log")
    lowest, highest = np.inf, 0.0
    spans: dict[str, list[Any]] = {
        "threshold_max": [[float(time[0]), float(time[-1])]] if len(time) else [],
        "threshold_settled": recording.get("settled_intervals_s"),
    }
    with_thresholds = False
    for error, color in zip(errors, _COLORS, strict=False):
        values = error.values[rows]
        if not values.any():  # as the moments of a joint that has none
            continue
        ax.plot(time, np.maximum(values, _NOTHING), color=color, linewidth=1.1, label=error.label)
        positive = values[np.isfinite(values) & (values > _NOTHING)]
        if positive.size:
            # The first instants, where everything is exact, would take up half of the height.
            lowest = min(lowest, float(np.quantile(positive, 0.03)))
            highest = max(highest, float(positive.max()))
        for kind, intervals in spans.items():
            bound = recording.get("acceptance").get(getattr(error, kind))
            if bound is None:
                continue
            for interval in intervals:
                with_thresholds = True
                height = [error.scale * bound] * 2
                ax.plot(
                    interval, height, color=color, linewidth=1.0, linestyle=(0, (5, 3)), alpha=0.8
                )
    bottom = 0.5 * max(lowest, _DECADES * highest)
    ax.set_ylim(bottom=bottom if np.isfinite(bottom) else _NOTHING)
    ax.set_title(title + (", their thresholds dashed" if with_thresholds else ""))
    ax.set_ylabel(unit)
    legend_above(ax, 3)


def _resting(ax: Any, recording: Recording) -> None:
    """Shade when the reference is at rest."""
    label: str | None = "reference at rest"
    for begin, end in recording.get("settled_intervals_s"):
        ax.axvspan(begin, end, color=PALE, zorder=0, linewidth=0.0, label=label)
        label = None
