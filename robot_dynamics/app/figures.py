# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What all figures share: matplotlib if it is there, style, files, and the panel of errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.output_files import whole_file
from robot_dynamics.app.recording import TICK, Recording
from robot_dynamics.errors import RobotDynamicsError

Array = NDArray[np.float64]

# Okabe and Ito's colours, which people with impaired colour vision can tell apart.
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
XYZ = (VERMILION, GREEN, BLUE)
GREY, INK, BAND, PALE = "#9A9A9A", "#222222", "#C9D3DC", "#E4ECF3"
# As many as there are forces on surfaces at most, and two more.
MANY = (BLUE, ORANGE, GREEN, VERMILION, "#CC79A7", "#56B4E9", INK, GREY)
_STYLE = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "lines.linewidth": 1.4,
    "lines.solid_capstyle": "round",
    "svg.hashsalt": "robot_dynamics",  # equal figures give equal files
}


class PlotError(RobotDynamicsError):
    """A figure that cannot be made."""


def legend_above(ax: Any, columns: int, rows: int = 1) -> None:
    """Put a legend above the lines, and make room for it.

    Args:
        ax: The axes, with all their lines.
        columns: Of the legend.
        rows: Of the legend.
    """
    low, high = ax.get_ylim()
    room = 0.08 + 0.12 * rows
    top = high * (high / low) ** room if ax.get_yscale() == "log" else high + room * (high - low)
    ax.set_ylim(low, top)
    ax.legend(ncols=columns, loc="upper right", handlelength=1.6, columnspacing=1.2)


def require_matplotlib() -> Any:
    """Return matplotlib.

    Raises:
        PlotError: If it is missing; says how to install it.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise PlotError(
            "figures need matplotlib, which is not installed; "
            "expected `pip install 'robot_dynamics[plot]'`."
        ) from error
    return matplotlib


def require_figure(path: Path) -> None:
    """Check that matplotlib is there and writes figures of a file's suffix.

    Raises:
        PlotError: If not.
    """
    require_matplotlib()
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    if path.suffix[1:].lower() not in known:
        raise PlotError(f"{path}: expected a figure as .{', .'.join(sorted(known))}.")


def write_figure(
    path: str | Path, size: tuple[float, float], draw: Callable[[Any], None], dpi: float = 150.0
) -> Path:
    """Write a figure, and return where it is; it appears whole or not at all.

    Args:
        path: The file; .png, .pdf, .svg and what else matplotlib writes.
        size: Width and height [inch].
        draw: Fills the empty figure.
        dpi: Pixels per inch.

    Raises:
        PlotError: If matplotlib is missing, or the file cannot be written.
    """
    path = Path(path)
    with require_matplotlib().rc_context(_STYLE):
        # Not pyplot: it keeps figures alive and picks a window system.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        try:
            with whole_file(path) as part:
                figure.savefig(part, dpi=dpi, bbox_inches="tight")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise PlotError(f"{path}: the figure cannot be written ({reason}).") from error
    return path


_COLORS = (BLUE, ORANGE)
_NOTHING = 1e-12  # what is less is not drawn
_DECADES = 1e-6  # of the largest: what is less is below the axis


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
