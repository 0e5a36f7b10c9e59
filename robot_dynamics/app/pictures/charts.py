# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Curves of a run as numbers, for the page in the browser: the panels of its figure.

Panels are drawn into Matplotlib's axes or into a `Chart`, which has the methods that they call.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.app.pictures.plots import View, draw_phases, panels_of
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.arrays import Array

_MOST_POINTS = 240  # of a curve: about as many as a chart has pixels across
_BEHIND = 2.0  # zorder of Matplotlib's lines; curves of less are behind the others


class ChartCurve(NamedTuple):
    """A curve of a chart.

    Attributes:
        label: Name; empty if another curve of the same colour has one.
        values: At the times of the chart (N,).
        color: As "#0072B2".
        width: Width [pixels].
        dash: Lengths of strokes and gaps [pixels]; empty for a solid curve.
        behind: Whether other curves cover it.
    """

    label: str
    values: Array
    color: str
    width: float
    dash: tuple[float, ...]
    behind: bool


class Chart:
    """A panel of the figure of a run.

    Attributes:
        title: Quantity.
        unit: Unit of the vertical axis.
        times: Times of the curves (N,) [s].
        curves: The curves, those behind others first.
        spans: Beginning and end of times that are shaded [s].
        levels: Heights of limits.
        fixed: Ends of the vertical axis; None if they follow from the curves.

    Args:
        times: Times of the curves (N,) [s].
    """

    def __init__(self, times: Array) -> None:
        self.title, self.unit, self.times = "", "", times
        self.curves: list[ChartCurve] = []
        self.spans: list[tuple[float, float]] = []
        self.levels: list[float] = []
        self.fixed: tuple[float, float] | None = None

    def shaded(self) -> Array:
        """Return whether each time is within a span (N,)."""
        inside = [(self.times >= begin) & (self.times < end) for begin, end in self.spans]
        return np.any([np.zeros(len(self.times), bool), *inside], axis=0)

    # Methods of Matplotlib's axes that panels call.

    def plot(
        self,
        times: ArrayLike,
        values: ArrayLike,
        *,
        color: str,
        label: str | None = None,
        linewidth: float = 1.4,
        linestyle: Any = "-",
        alpha: float = 1.0,
        zorder: float = _BEHIND,
        solid_capstyle: str = "",
    ) -> None:
        """Add a curve over the times of the chart."""
        dash = () if linestyle == "-" else tuple(linewidth * one for one in linestyle[1])
        opaque = color if alpha == 1.0 else f"{color}{round(255.0 * alpha):02X}"
        curve = ChartCurve(
            label or "", np.asarray(values, float), opaque, linewidth, dash, zorder < _BEHIND
        )
        at = sum(one.behind for one in self.curves) if curve.behind else len(self.curves)
        self.curves.insert(at, curve)

    def axvspan(self, begin: float, end: float, **_: Any) -> None:
        """Shade a span of time [s]."""
        self.spans.append((float(begin), float(end)))

    def axhline(self, height: float, **_: Any) -> None:
        """Add a limit."""
        self.levels.append(float(height))

    def set_title(self, title: str) -> None:
        """Set the title."""
        self.title = title

    def set_ylabel(self, unit: str) -> None:
        """Set the unit of the vertical axis."""
        self.unit = unit

    def set_ylim(self, low: float, high: float) -> None:
        """Set the ends of the vertical axis."""
        self.fixed = low, high

    def get_legend_handles_labels(self) -> tuple[list[Any], list[str]]:
        """Return nothing: the page draws its own legend."""
        return [], []


def charts_of(recording: Recording) -> list[Chart]:
    """Return the charts of a run, with its phases shaded.

    Args:
        recording: The recording; see `with_estimates` if it is a controller's alone.
    """
    view, charts = View(recording, _MOST_POINTS), []
    for draw in panels_of(recording):
        chart = Chart(view.time)
        draw(chart, view)
        draw_phases(chart, view, named=False)
        charts.append(chart)
    return charts
