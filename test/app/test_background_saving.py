# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings are written beside what goes on, and what goes wrong is kept for later."""

import resource
import threading

import numpy as np
import pytest

from robot_dynamics.app.output_files import OutputError
from robot_dynamics.app.recording import (
    BackgroundSaving,
    Recording,
    RecordingError,
    load_recording,
)


@pytest.fixture
def short(run):
    """Return the first periods of a run."""
    columns = {name: values[:50] for name, values in run.recording.columns.items()}
    return Recording(columns, run.recording.metadata)


@pytest.mark.parametrize("suffix", [".npz", ".mcap"])
def test_written_in_the_background(short, tmp_path, suffix):
    """The starter goes on before the recording is even made; then the file is there."""
    if suffix == ".mcap":
        pytest.importorskip("rosbags", reason="rosbags is not installed")
    path, go_on = tmp_path / f"run{suffix}", threading.Event()

    def make():
        go_on.wait()
        return short

    saving = BackgroundSaving(path)
    saving.start(make)
    assert saving.busy
    assert not path.exists()
    go_on.set()
    saving.wait()
    assert not saving.busy
    assert saving.failure == ""
    assert load_recording(path)["tick"].tolist() == short["tick"].tolist()


@pytest.mark.parametrize("suffix", [".npz", ".mcap"])
def test_a_file_that_gets_too_large(short, tmp_path, suffix):
    """As on a full disk, the failure is kept, no half file stays, and a later run may succeed."""
    if suffix == ".mcap":
        pytest.importorskip("rosbags", reason="rosbags is not installed")
    path = tmp_path / f"run{suffix}"
    saving = BackgroundSaving(path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        saving.start(lambda: short)
        saving.wait()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert f"run{suffix}: cannot be written" in saving.failure
    assert "Errno" not in saving.failure
    assert not [*tmp_path.iterdir()]
    saving.start(lambda: short)
    saving.wait()
    assert saving.failure == ""
    assert path.is_file()


def test_a_recording_that_cannot_be_made(tmp_path):
    """It is no error of the starter's either."""

    def make():
        return Recording({"tick": np.zeros(1)}, {"odd": float("nan")})

    saving = BackgroundSaving(tmp_path / "run.npz")
    saving.start(make)
    saving.wait()
    assert "no JSON" in saving.failure


def test_nothing_to_write():
    """Without a file nothing happens."""
    saving = BackgroundSaving("")
    saving.start(lambda: pytest.fail("not wanted"))
    saving.wait()
    assert not saving.busy


def test_a_place_that_cannot_be(tmp_path):
    """It is refused before the run."""
    with pytest.raises(OutputError, match="there is no folder"):
        BackgroundSaving(tmp_path / "no" / "run.npz")
    with pytest.raises(RecordingError, match="expected a recording as"):
        BackgroundSaving(tmp_path / "run.txt")
