# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The figure of a run."""

import numpy as np
import pytest

from robot_dynamics.app.figures import PlotError
from robot_dynamics.app.plots import _continuous, plot_run


def test_figure(run, tmp_path):
    """A run is drawn into an image of some size, and equal runs into equal files."""
    pytest.importorskip("matplotlib")
    path = plot_run(run.recording, tmp_path / "run.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 50_000  # an empty figure is far smaller
    again = plot_run(run.recording, tmp_path / "again.png")
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("asked", [True, False])
def test_thresholds_are_named_where_there_are_some(run, asked, tmp_path):
    """A title tells of dashed thresholds only if the scenario asks for any."""
    pytest.importorskip("matplotlib")
    thresholds = run.recording.get("acceptance") if asked else {}
    recording = type(run.recording)(
        run.recording.columns, {**run.recording.metadata, "acceptance": thresholds}
    )
    text = plot_run(recording, tmp_path / "run.svg").read_text()
    assert ("their thresholds dashed" in text) is asked


def test_a_run_that_went_wrong_is_drawn(run, tmp_path):
    """What is not finite leaves a gap and does not keep the rest from being seen."""
    pytest.importorskip("matplotlib")
    columns = {name: values[:300].copy() for name, values in run.recording.columns.items()}
    for name in ("object_pose", "internal_force", "applied_torque"):
        columns[name][100:] = np.nan
    spoilt = type(run.recording)(columns, run.recording.metadata)
    assert plot_run(spoilt, tmp_path / "run.png").stat().st_size > 50_000


def test_a_file_that_cannot_be_written(run, tmp_path):
    """An unknown format and a missing folder are named."""
    pytest.importorskip("matplotlib")
    with pytest.raises(PlotError, match=r"run\.docx: the figure cannot be written"):
        plot_run(run.recording, tmp_path / "run.docx")
    with pytest.raises(PlotError, match="cannot be written"):
        plot_run(run.recording, tmp_path / "no" / "run.png")


def test_arms_that_hold_nothing(run, tmp_path):
    """Their joints and torques are all that is drawn: no object, no force within it."""
    pytest.importorskip("matplotlib")
    recording = type(run.recording)(
        run.recording.columns, {**run.recording.metadata, "law": "gravity"}
    )
    text = plot_run(recording, tmp_path / "run.svg").read_text()
    assert "Joints, from their start" in text
    assert "Joint torques" in text
    assert "Object position" not in text


def test_rotation_vectors_stay_continuous():
    """Beyond half a turn a rotation vector grows on and does not jump to the other side."""
    angles = np.radians([150.0, 170.0, 190.0, 210.0])
    wrapped = np.where(angles > np.pi, angles - 2 * np.pi, angles)
    vectors = np.outer(wrapped, [0.0, 0.6, 0.8])
    np.testing.assert_allclose(np.linalg.norm(_continuous(vectors), axis=1), angles, rtol=1e-14)
