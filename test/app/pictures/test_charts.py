# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Curves of a run for the page in the browser, from the panels of its figure."""

import numpy as np

from robot_dynamics.app.pictures.charts import Chart, charts_of
from robot_dynamics.app.recordings.recording import Recording


def test_charts_have_the_numbers_of_the_recording(run):
    """Every chart has title, unit and curves, at most 240 points of the recorded columns."""
    recording = run.recording
    charts = {chart.title.partition(",")[0]: chart for chart in charts_of(recording)}
    assert list(charts) == [
        "Object position", "Object orientation", "Internal force", "Joint torques",
    ]  # fmt: skip
    stride = -(-len(recording) // 240)
    for chart in charts.values():
        assert chart.unit.startswith("[")
        assert len(chart.times) <= 240
        assert np.allclose(chart.times, recording["time"][::stride])
        assert {len(curve.values) for curve in chart.curves} == {len(chart.times)}
    position = charts["Object position"]
    true = next(curve for curve in position.curves if curve.label == "z")
    moved = recording["object_pose"][::stride, 2] - recording["reference_pose"][0, 2]
    assert np.array_equal(true.values, moved)
    # References are behind.
    assert [curve.behind for curve in position.curves] == 3 * [True] + 3 * [False]
    assert position.fixed is None
    assert charts["Joint torques"].fixed == (-110.0, 110.0)
    assert charts["Joint torques"].levels == [-100.0, 100.0]


def test_arms_that_hold_nothing_have_charts_of_their_joints(run):
    """There is no object to plot."""
    recording = Recording(run.recording.columns, {**run.recording.metadata, "holds_object": False})
    titles = [chart.title for chart in charts_of(recording)]
    assert titles == ["Joints, from their start", "Joint torques, part of their limits"]


def test_spans_are_shaded_from_their_beginning():
    """Times before the end of a span are in it."""
    chart = Chart(np.array([0.0, 1.0, 2.0, 3.0]))
    chart.axvspan(1.0, 3.0, color="#000000")
    assert chart.shaded().tolist() == [False, True, True, False]
