# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Common parts of figures: import of Matplotlib, colours, style, files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from robot_dynamics.app.output_files import whole_file
from robot_dynamics.errors import RobotDynamicsError, optional_package

# Okabe and Ito's colours, which people with impaired colour vision can tell apart.
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
XYZ = (VERMILION, GREEN, BLUE)
GREY, INK, BAND, PALE = "#9A9A9A", "#222222", "#C9D3DC", "#E4ECF3"
# The largest number of forces on surfaces, and two more.
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
    """Put a legend above the lines, if there are any, and make room for it.

    Args:
        ax: The axes, with all their lines.
        columns: Of the legend.
        rows: Of the legend.
    """
    if not ax.get_legend_handles_labels()[0]:  # a run that was interrupted before its first period
        return
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
    return optional_package("matplotlib", "figures", "plot", PlotError)


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


def write_figure(path: str | Path, size: tuple[float, float], draw: Callable[[Any], None]) -> Path:
    """Write a figure completely or not at all, and return its path.

    Args:
        path: The file: .png, .pdf, .svg or another format of Matplotlib.
        size: Width and height [inch].
        draw: Fills the empty figure.

    Raises:
        PlotError: If matplotlib is missing, or the file cannot be written.
    """
    path = Path(path)
    with require_matplotlib().rc_context(_STYLE):
        # Not pyplot, which keeps figures alive and selects a window system.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        with whole_file(path, PlotError) as part:
            figure.savefig(part, dpi=150.0, bbox_inches="tight")
    return path
