# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The report is computed from the recording alone: what is changed there is seen here."""

import copy
import json

import numpy as np
import pytest

from robot_dynamics.app.recording import Recording, RecordingError
from robot_dynamics.app.report import report_of, state_hash, write_report
from robot_dynamics.app.run import simulate

# What whoever reads a report may rely on.
FIGURES = {
    "object_position_error_max_m",
    "object_position_error_settled_m",
    "object_orientation_error_settled_deg",
    "internal_force_error_settled_n",
    "internal_moment_error_settled_nm",
    "closure_error_max",
    "control_step_median_us",
    "control_step_p99_us",
    "real_time_factor",
    "torque_fraction_of_limit_max",
    "state_hash",
    "ok",
    "delay_margin_s",
    "squeeze_range_n",
    "added_internal_force_max_n",
    "correction_max",
    "most_loaded_joint",
    "failures",
}


@pytest.fixture
def recording(run):
    """Return a copy of a good recording, to be spoilt."""
    copied = copy.deepcopy(run.recording)
    # The thresholds are what is tested here, and must not depend on how good the controller is.
    copied.metadata["acceptance"] = {
        "object_position_error_max_m": 1e-3,
        "object_orientation_error_settled_deg": 0.1,
        "internal_force_error_settled_n": 1.0,
        "internal_moment_error_settled_nm": 0.5,
        "closure_error_max": 1e-9,
        "torque_fraction_of_limit_max": 0.95,
    }
    return copied


def test_figures(recording):
    """A good run is ok, and its report has all figures as JSON."""
    report = report_of(recording)
    assert report["failures"] == []
    assert report["ok"] is True
    assert set(report) >= FIGURES
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert report["control_step_median_us"] <= report["control_step_p99_us"]
    assert report["delay_margin_s"] > 0.0
    assert report["most_loaded_joint"] in recording.get("joints")


def rows_at_rest(recording):
    """Return rows in which the reference has settled."""
    begin, end = recording.get("settled_intervals_s")[-1]
    times = recording["tick"] * recording.get("period_s")
    return np.flatnonzero((times >= begin) & (times <= end))


def spoil_position(recording):
    recording.columns["object_pose"][100, 2] += 0.002


def spoil_orientation(recording):
    row = rows_at_rest(recording)[5]
    recording.columns["object_pose"][row, 3:] = [1.0, 0.0, 0.0, 0.0]


def spoil_force(recording):
    recording.columns["internal_force"][rows_at_rest(recording)[0], 4] += 1.5


def spoil_moment(recording):
    recording.columns["internal_force"][rows_at_rest(recording)[-1], 1] -= 0.6


def spoil_closure(recording):
    recording.columns["closure_rotation"][7] = 1e-6


def spoil_torque(recording):
    recording.columns["applied_torque"][1000, 3] *= -40.0


def spoil_torque_a_little(recording):
    recording.columns["applied_torque"][1000, 3] += 1e-3


def spoil_command(recording):
    recording.columns["commanded_torque"][500, 0] += 1.0


def spoil_with_nan(recording):
    recording.columns["object_pose"][-1, 0] = np.nan


def spoil_with_infinity(recording):
    recording.columns["step_time"][3] = np.inf


def spoil_measurement(recording):
    recording.columns["grasp_wrench"][9, 2] = np.nan


def drop_rows(recording):
    for name in recording.columns:
        recording.columns[name] = np.delete(recording.columns[name], slice(200, 203), axis=0)


def drop_end(recording):
    for name in recording.columns:
        recording.columns[name] = recording.columns[name][:-100]


def drop_everything(recording):
    for name in recording.columns:
        recording.columns[name] = recording.columns[name][:0]


def swap_rows(recording):
    for values in recording.columns.values():
        values[[50, 51]] = values[[51, 50]]


def note_fault(recording):
    recording.metadata["fault"] = "at 1 s: left: lost."


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (spoil_position, "object position error max [m] is 0.00"),
        (spoil_orientation, "object orientation error settled [degrees] is"),
        (spoil_force, "internal force error settled [N] is"),
        (spoil_moment, "internal moment error settled [N m] is"),
        (spoil_closure, "closure error max is 1e-06"),
        (spoil_torque, "torque fraction of limit max is"),
        (spoil_torque_a_little, "N m was commanded"),
        (spoil_command, "N m was commanded"),
        (spoil_with_nan, "column 'object_pose' has a value that is not finite in row"),
        (spoil_with_infinity, "column 'step_time' has a value that is not finite in row 3"),
        (spoil_measurement, "column 'grasp_wrench' has a value that is not finite in row 9"),
        (drop_rows, "control periods are missing or out of order, the first of them 200."),
        (drop_end, "100 of"),
        (drop_everything, "control periods are missing"),
        (swap_rows, "out of order"),
        (note_fault, "the controller stopped, at 1 s: left: lost."),
    ],
)
def test_a_spoilt_recording_is_not_ok(recording, spoil, sentence):
    """Each way to corrupt a recording turns `ok` false and is named, and the report stays JSON."""
    before = report_of(recording)
    spoil(recording)
    report = report_of(recording)
    assert before["ok"] is True
    assert report["ok"] is False
    assert any(sentence in failure for failure in report["failures"]), report["failures"]
    json.dumps(report, allow_nan=False)


def test_figures_follow_the_recording(recording):
    """A displacement of the object shows in the figure with its size, not only in `ok`."""
    row = rows_at_rest(recording)[3]
    pose, reference = recording["object_pose"], recording["reference_pose"]
    pose[row, :3] = reference[row, :3] + [0.003, 0.0, -0.004]
    report = report_of(recording)
    assert report["object_position_error_max_m"] == pytest.approx(0.005, rel=1e-9)
    assert report["object_position_error_settled_m"] == pytest.approx(0.005, rel=1e-9)
    angle = np.radians(0.5)
    pose[row, 3:] = reference[row, 3:]
    x, y, z, w = pose[row, 3:]
    s, c = np.sin(angle / 2), np.cos(angle / 2)
    # turned by half a degree about z
    pose[row, 3:] = -np.array([c * x - s * y, c * y + s * x, c * z + s * w, c * w - s * z])
    report = report_of(recording)
    # -q is the same orientation as q; the rest is rounding
    assert report["object_orientation_error_settled_deg"] == pytest.approx(0.5, rel=1e-6)


def test_after_a_fault_missing_numbers_are_no_news(recording):
    """A controller that stopped sees nothing any more: the fault is named, not its columns."""
    note_fault(recording)
    recording.columns["estimated_pose"][700:] = np.nan
    assert report_of(recording)["failures"] == ["the controller stopped, at 1 s: left: lost."]


def test_a_run_too_short_to_settle():
    """Thresholds that ask for a reference at rest say how long the run had to be."""
    report = simulate("lift_box", duration=1.0).report
    (sentence,) = (s for s in report["failures"] if "could not be computed" in s)
    assert "the run ends before the reference has been at rest for 0.5 s; expected" in sentence
    least = float(sentence.rstrip(" s.").rpartition(" ")[2])
    again = simulate("lift_box", duration=least).report
    assert not any("could not be computed" in s for s in again["failures"])


def test_the_hash_sees_every_bit(recording):
    """One bit in one state of the run makes another hash."""
    before = state_hash(recording)
    values = recording["joint_position"]
    values[1234, 5] = np.nextafter(values[1234, 5], 10.0)
    assert state_hash(recording) != before


def test_torques_without_limits(recording):
    """Joints without an effort limit count as unloaded."""
    recording.metadata["effort_limits"] = [None] * len(recording.get("joints"))
    report = report_of(recording)
    assert report["torque_fraction_of_limit_max"] == 0.0


def test_one_side_alone(recording):
    """The recording of one side has no report; the missing column is named."""
    columns = {k: v for k, v in recording.columns.items() if not k.startswith("reference")}
    with pytest.raises(RecordingError, match="no column 'reference_pose'"):
        report_of(Recording(columns, recording.metadata))


def test_written(recording, tmp_path):
    """A report is written whole; a folder that is not there is named."""
    report = report_of(recording)
    path = write_report(report, tmp_path / "report.json")
    assert json.loads(path.read_text()) == report
    assert [file.name for file in tmp_path.iterdir()] == ["report.json"]
    with pytest.raises(RecordingError, match="cannot be written"):
        write_report(report, tmp_path / "no" / "report.json")


def test_a_stop_that_is_expected(recording):
    """A scenario about a fault is good if control stops with its words, and no good otherwise."""
    recording.metadata["expected_stop"] = "disagree"
    assert report_of(recording)["failures"] == [
        "the controller did not stop; expected 'disagree'."
    ]
    recording.metadata["fault"] = "at 1 s: right: it and arm 'left' disagree."
    assert report_of(recording)["ok"]
    recording.metadata["fault"] = "at 1 s: left: lost."
    assert report_of(recording)["failures"] == ["the controller stopped, at 1 s: left: lost."]
