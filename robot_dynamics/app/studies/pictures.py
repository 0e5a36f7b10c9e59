# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of a study: distributions, sensitivity, most important parameters, maps of a grid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.app.pictures.figures import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    PALE,
    VERMILION,
    write_figure,
)
from robot_dynamics.app.studies.statistics import FAILURE, Sensitivity
from robot_dynamics.app.studies.study import StudyResult
from robot_dynamics.arrays import Array

_MOST = 12  # figures that are drawn
_ACROSS = 3
_BINS = 40
_DECADE = 10.0  # between the ends of a varied number that is drawn so
_DECADES = 100.0  # of a figure that is drawn with a logarithmic axis: largest over median


def write_pictures(result: StudyResult, found: Sensitivity, folder: Path) -> dict[str, Path]:
    """Write the figures of a study, and return their paths by content.

    Args:
        result: The study.
        found: Its sensitivities.
        folder: Their folder.

    Raises:
        PlotError: If matplotlib is missing, or a file cannot be written.
    """
    names = result.figures[:_MOST]
    across = min(_ACROSS, len(names))
    size = (4.2 * across, 3.0 * -(-len(names) // across))
    pictures = {}

    def add(name: str, file: str, size: tuple[float, float], draw: Any) -> None:
        pictures[name] = write_figure(folder / file, size, draw)

    def panels(figure: Any) -> Iterator[tuple[Any, str]]:
        axes = np.ravel(figure.subplots(-(-len(names) // across), across, squeeze=False))
        for ax in axes[len(names) :]:
            ax.set_axis_off()
        yield from zip(axes, names, strict=False)

    def distributions(figure: Any) -> None:
        for ax, name in panels(figure):
            _draw_distribution(ax, result, name)

    def scatters(figure: Any) -> None:
        for ax, name in panels(figure):
            _draw_scatter(ax, result, found, name)

    def maps(figure: Any) -> None:
        axes = np.ravel(figure.subplots(-(-(len(names) + 1) // across), across, squeeze=False))
        for ax in axes[len(names) + 1 :]:
            ax.set_axis_off()
        for ax, name in zip(axes, (FAILURE, *names), strict=False):
            _draw_map(figure, ax, result, name)

    if result.study.sampling == "grid" and len(result.study.vary) == 2:
        add("Maps", "maps.png", (4.6 * across, 3.6 * -(-(len(names) + 1) // across)), maps)
        return pictures
    add("Distributions", "distributions.png", size, distributions)
    width, height = 2.6 + 0.55 * len(found.columns), 2.4 + 0.3 * len(found.rows)
    add(
        "Sensitivity",
        "sensitivity.png",
        (width + 1.5, height),
        lambda figure: _draw_sensitivity(figure, found),
    )
    add("What matters most", "scatter.png", size, scatters)
    return pictures


def words(name: str) -> str:
    """Return the name of a figure in words, its unit in brackets."""
    stem, _, unit = name.rpartition("_")
    units = {"m": "m", "deg": "degrees", "n": "N", "nm": "N m", "s": "s"}
    return f"{stem.replace('_', ' ')} [{units[unit]}]" if unit in units else name.replace("_", " ")


def _draw_distribution(ax: Any, result: StudyResult, name: str) -> None:
    values, failed = result.values(name), result.failed
    known = np.isfinite(values)
    ax.set_title(words(name), fontsize=8)
    ax.set_ylabel("samples")
    if not known.any():
        ax.text(0.5, 0.5, "no sample has a value", ha="center", transform=ax.transAxes)
        return
    low, high, middle = values[known].min(), values[known].max(), np.median(values[known])
    logarithmic = low > 0.0 and high > _DECADES * middle
    if not high > low:
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    bins = min(_BINS, 6 + round(np.sqrt(known.sum())))
    edges = np.geomspace(low, high, bins) if logarithmic else np.linspace(low, high, bins)
    ax.hist(
        [values[known & ~failed], values[known & failed]],
        edges,
        stacked=True,
        color=(BLUE, VERMILION),
        label=("good", "failed"),
    )
    if logarithmic:
        ax.set_xscale("log")
    else:
        ax.ticklabel_format(axis="x", style="sci", scilimits=(-2, 4))
        ax.locator_params(axis="x", nbins=5)
    threshold = result.threshold(name)
    if threshold is not None and low <= threshold[0] <= high:
        ax.axvline(threshold[0], color=INK, linestyle=(0, (5, 3)), linewidth=1.0)
    nominal = result.nominal["figures"].get(name)
    if nominal is not None and low <= nominal <= high:
        ax.axvline(nominal, color=ORANGE, linewidth=1.2)
    missing = int(np.sum(~known))
    if missing:
        ax.text(0.98, 0.95, f"{missing} without", ha="right", va="top", transform=ax.transAxes)


def _draw_sensitivity(figure: Any, found: Sensitivity) -> None:
    ax = figure.subplots()
    low = -1.0 if found.first is None else 0.0
    image = ax.imshow(
        found.values, cmap="RdBu_r" if low else "Blues", vmin=low, vmax=1.0, aspect="auto"
    )
    for (i, j), value in np.ndenumerate(found.values):
        if np.isfinite(value):
            bold = "bold" if abs(value) > found.noise[j] else "normal"
            color = "white" if abs(value) > 0.6 else INK
            ax.text(
                j,
                i,
                f"\u00b1 {value:.2f}" if found.distance[i, j] else f"{value:.2f}",
                ha="center",
                va="center",
                fontsize=7,
                weight=bold,
                color=color,
            )
    ax.set_xticks(range(len(found.columns)), map(words, found.columns), rotation=35, ha="right")
    ax.set_yticks(range(len(found.rows)), found.rows)
    ax.grid(False)
    ax.set_title(found.kind)
    figure.colorbar(image, ax=ax, fraction=0.05)


def _draw_scatter(ax: Any, result: StudyResult, found: Sensitivity, name: str) -> None:
    sizes = np.nan_to_num(np.abs(found.values[:, found.columns.index(name)]), nan=-1.0)
    most = int(np.argmax(sizes))
    numbers = _numbers(result, most)
    values, failed = result.values(name), result.failed
    for bad, color in ((False, BLUE), (True, VERMILION)):
        rows = failed == bad
        ax.plot(
            numbers[rows], values[rows], "o", color=color, markersize=2.5, alpha=0.5,
            markeredgewidth=0.0,
        )  # fmt: skip
    known = values[np.isfinite(values)]
    if known.size and known.min() > 0.0 and known.max() > _DECADES * np.median(known):
        ax.set_yscale("log")
    if numbers.min() > 0.0 and numbers.max() > _DECADE * numbers.min():
        ax.set_xscale("log")
    threshold = result.threshold(name)
    if threshold is not None and known.size and known.min() <= threshold[0] <= known.max():
        ax.axhline(threshold[0], color=INK, linestyle=(0, (5, 3)), linewidth=1.0)
    ax.set_title(words(name), fontsize=8)
    ax.set_xlabel(found.rows[most], fontsize=7)


def _numbers(result: StudyResult, column: int) -> Array:
    """Return a varied number in all samples (N,); for other choices the index of the choice."""
    values = [result.design.row(number)[column] for number in range(result.design.count)]
    if all(isinstance(value, (int, float)) for value in values):
        return np.array(values, dtype=float)
    return np.round(result.design.points[:, column], 3)


def _draw_map(figure: Any, ax: Any, result: StudyResult, name: str) -> None:
    (first, down), (second, along) = (
        (key, drawn.choice or ()) for key, drawn in result.study.vary.items()
    )
    shape = len(down), len(along)
    values = result.failed.astype(float) if name == FAILURE else result.values(name)
    grid = values.reshape(shape)
    ax.grid(False)
    if name == FAILURE:
        from matplotlib.colors import ListedColormap

        ax.imshow(
            grid, cmap=ListedColormap([PALE, VERMILION]), vmin=0.0, vmax=1.0, aspect="auto",
            origin="lower",
        )  # fmt: skip
        outcomes = np.reshape([sample["outcome"] for sample in result.samples], shape)
        for (i, j), outcome in np.ndenumerate(outcomes):
            text = "" if outcome == "good" else outcome
            ax.text(j, i, text, ha="center", va="center", fontsize=5.5, color="white")
        ax.set_title("which fail, and how")
    else:
        from matplotlib.colors import LogNorm

        known = grid[np.isfinite(grid) & (grid > 0.0)]
        wide = (
            known.size == np.isfinite(grid).sum()
            and known.size
            and (known.max() > _DECADES * known.min())
        )
        ax.set_facecolor(GREY)  # where there is no value
        image = ax.imshow(
            grid, cmap="viridis", aspect="auto", origin="lower", norm=LogNorm() if wide else None
        )
        figure.colorbar(image, ax=ax, fraction=0.05)
        ax.set_title(words(name), fontsize=8)
    ax.set_xticks(range(len(along)), [_short(one) for one in along], rotation=45, fontsize=7)
    ax.set_yticks(range(len(down)), [_short(one) for one in down], fontsize=7)
    ax.set_xlabel(_axis(second, along), fontsize=7)
    ax.set_ylabel(_axis(first, down), fontsize=7)


def _short(value: Any) -> str:
    if isinstance(value, dict):  # its keys are those of all of them, see `_axis`
        return " / ".join(map(_short, value.values()))
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)[:20]


def _axis(key: str, values: Sequence[Any]) -> str:
    """Return the key of an axis, with the keys of its values if these are mappings."""
    return f"{key}: {' / '.join(values[0])}" if isinstance(values[0], dict) else key
