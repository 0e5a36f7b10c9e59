# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What all figures share."""

import sys

import pytest

from robot_dynamics.app.figures import PlotError, legend_above, require_matplotlib, write_figure


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
        with pytest.raises(PlotError, match=f"{path.name}: the figure cannot be written"):
            write_figure(path, (4.0, 2.0), lambda figure: None)


def test_without_matplotlib(monkeypatch):
    """Without matplotlib the sentence says what to install."""
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
