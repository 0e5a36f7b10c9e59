# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Places for the results of a run: a file, or a folder, told apart before anything is run."""

from pathlib import Path

import pytest

from robot_dynamics.app.figures import PlotError
from robot_dynamics.app.output_files import OutputError
from robot_dynamics.app.run_outputs import RunOutputs, is_recording


def test_a_folder_gets_everything(tmp_path):
    """Report, figure and recording; what is asked for by name comes besides."""
    place, report = tmp_path / "run.1", tmp_path / "mine.json"
    with RunOutputs(place, report, None) as outputs:
        assert place.is_dir()
        assert outputs.reports == [place / "report.json", report]
        assert outputs.plots in ([place / "run.png"], [])  # without matplotlib none
        assert outputs.recording == place / "recording.npz"


def test_a_run_that_fails_leaves_no_empty_folder(tmp_path):
    """Folders that were made are taken away again; those that were there stay."""
    with pytest.raises(ZeroDivisionError), RunOutputs(tmp_path / "a" / "b", None, None):
        raise ZeroDivisionError
    assert not (tmp_path / "a").exists()
    assert tmp_path.is_dir()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("run.npz", True), ("run.mcap", True), ("run", False), ("run.1", False), ("v1.25", False)],
)
def test_files_and_folders_are_told_apart(name, expected):
    """By their suffixes; one with a digit first is a part of a folder's name."""
    assert is_recording(Path(name)) is expected


def test_a_name_that_is_only_a_suffix_is_refused(tmp_path):
    """No hidden folder is made of it."""
    with pytest.raises(OutputError, match=r"expected a name before \.mcap"):
        RunOutputs(tmp_path / ".mcap", None, None)
    assert not list(tmp_path.iterdir())


def test_a_figure_that_cannot_be_written_is_refused_before_the_run(tmp_path):
    """Its format follows from the suffix."""
    pytest.importorskip("matplotlib")
    with pytest.raises(PlotError, match=r"x\.txt: expected a figure as .*\.png"):
        RunOutputs(None, None, tmp_path / "x.txt")
    RunOutputs(None, None, tmp_path / "x.PNG")


def test_other_files_are_refused(tmp_path):
    """Nobody wants a folder named run.csv, unless it is there."""
    place = tmp_path / "run.csv"
    with pytest.raises(OutputError, match=r"run\.csv: expected a recording as \.npz or \.mcap"):
        is_recording(place)
    assert not place.exists()
    place.mkdir()
    assert not is_recording(place)
