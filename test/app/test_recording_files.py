# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings are saved and loaded in the format of their suffix."""

import numpy as np
import pytest

from robot_dynamics.app.recording import (
    Recording,
    RecordingError,
    load_merged,
    load_recording,
    require_suffix,
    save_recording,
)


@pytest.fixture
def short(run):
    """Return the first periods of a run."""
    columns = {name: values[:20] for name, values in run.recording.columns.items()}
    return Recording(columns, run.recording.metadata)


@pytest.mark.parametrize("suffix", [".npz", ".mcap"])
def test_saved_and_loaded(short, tmp_path, suffix):
    """Either format gives the run back."""
    if suffix == ".mcap":
        pytest.importorskip("rosbags", reason="rosbags is not installed")
    again = load_recording(save_recording(short, tmp_path / f"run{suffix}"))
    assert again.metadata == short.metadata
    assert again["joint_position"].tobytes() == short["joint_position"].tobytes()


def test_other_formats_are_refused(short, tmp_path):
    """Before anything is written."""
    with pytest.raises(RecordingError, match=r"run\.csv: expected a recording as .npz or .mcap"):
        save_recording(short, tmp_path / "run.csv")
    assert not [*tmp_path.iterdir()]
    assert require_suffix("run.npz").name == "run.npz"


def test_two_sides_in_two_formats(short, tmp_path):
    """The simulator's file and the controller's are one run, whatever their formats."""
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    plant = {"tick", "time", "joint_position", "object_pose"}
    sides = [
        Recording({n: v for n, v in short.columns.items() if n in plant}, short.metadata),
        Recording(
            {n: v for n, v in short.columns.items() if n == "tick" or n not in plant},
            short.metadata,
        ),
    ]
    paths = [tmp_path / "plant.npz", tmp_path / "control.npz"]
    for side, path in zip(sides, paths, strict=True):
        save_recording(side, path)
    assert load_merged(paths).columns.keys() == short.columns.keys()
    bag = save_recording(short, tmp_path / "both.mcap")
    assert load_merged([bag]).columns.keys() == short.columns.keys()


def test_the_folder_of_a_run(short, tmp_path):
    """What `--output FOLDER` wrote is read by the name of the folder."""
    save_recording(short, tmp_path / "recording.npz")
    np.testing.assert_array_equal(load_recording(tmp_path)["tick"], short["tick"])
