# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Elements common to all figures, and panels of errors: recorded and commanded values."""

import sys
import warnings

import numpy as np
import pytest

from robot_dynamics.app.pictures.figures import (
    PlotError,
    legend_above,
    require_matplotlib,
    write_figure,
)
from robot_dynamics.app.pictures.plots import Error, View, error_panel
from robot_dynamics.app.recordings.recording import Recording


def test_equal_figures_are_equal_files(tmp_path):
    """Files have no time in them, and are as large as was asked for."""
    pytest.importorskip("matplotlib")

    def draw(figure):
        figure.subplots().plot([0.0, 1.0], [1.0, 0.0])

    files = [write_figure(tmp_path / name, (4.0, 2.0), draw) for name in ("a.png", "b.png")]
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert first.startswith(b"\x89PNG")


def test_places_that_cannot_be_written(tmp_path):
    """An unknown format and a missing folder are named."""
    pytest.importorskip("matplotlib")
    for path in (tmp_path / "run.docx", tmp_path / "no" / "run.png"):
        with pytest.raises(PlotError, match=f"{path.name}: cannot be written"):
            write_figure(path, (4.0, 2.0), lambda figure: None)


def test_without_matplotlib(monkeypatch):
    """Without matplotlib the message names the package to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PlotError, match=r"pip install 'robot_dynamics\[plot\]'"):
        require_matplotlib()


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_legend_is_above_the_lines(scale):
    """The highest of them ends where the legend begins."""
    ax = pytest.importorskip("matplotlib.figure").Figure().subplots()
    ax.plot([0.0, 1.0], [1.0, 1000.0], label="line")
    ax.set_yscale(scale)
    legend_above(ax, 1)
    ax.figure.canvas.draw()
    line = ax.transData.transform((1.0, 1000.0))[1]
    assert ax.get_legend().get_window_extent().y0 > line


def panel(values, thresholds):
    """Return the axes of a run of a second whose last half is at rest."""
    more = {"period_s": 0.01, "acceptance": thresholds, "settled_intervals_s": [[0.5, 0.99]]}
    recording = Recording({"tick": np.arange(100)}, more)
    ax = pytest.importorskip("matplotlib.figure").Figure().subplots()
    error = Error(values, "force [N]", "most", "settled", 10.0)
    error_panel(ax, View(recording), "Errors", "[N]", [error])
    return ax


def test_errors_and_their_thresholds_are_drawn():
    """The error as it is; thresholds for all time and for rest, in the error's unit."""
    values = np.linspace(1.0, 2.0, 100)
    ax = panel(values, {"most": 0.3, "settled": 0.2})
    error, most, settled = (line.get_xydata() for line in ax.lines)
    np.testing.assert_array_equal(error[:, 1], values)
    np.testing.assert_allclose(most, [[0.0, 3.0], [0.99, 3.0]], rtol=1e-15)
    np.testing.assert_allclose(settled, [[0.5, 2.0], [0.99, 2.0]], rtol=1e-15)
    assert ax.get_title() + ax.get_title(loc="left") == "Errors, their thresholds dashed"


def test_without_thresholds_none_is_named():
    """A scenario that asks for nothing."""
    ax = panel(np.ones(100), {})
    assert len(ax.lines) == 1
    assert ax.get_title() + ax.get_title(loc="left") == "Errors"


def test_rounding_errors_do_not_set_the_scale():
    """Errors of rounding in half of the run leave the other half its place."""
    ax = panel(np.where(np.arange(100) < 50, 1e-11, 1.0), {})
    assert 1e-8 < ax.get_ylim()[0] < 1e-6


@pytest.mark.parametrize("values", [np.zeros(100), np.full(100, np.nan)])
def test_errors_that_are_zero_or_not_finite_are_drawn(values):
    """Errors that are all zero, or no numbers."""
    assert panel(values, {}).get_ylim()[0] > 0.0


def test_axes_without_lines_have_no_legend():
    """Nor a warning of matplotlib, as after Ctrl-C before the first period."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        legend_above(ax, 4)
    assert ax.get_legend() is None
