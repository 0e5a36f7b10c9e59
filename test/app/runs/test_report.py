# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The report is computed from the recording alone: a change there is seen here."""

import copy
import dataclasses
import json

import numpy as np
import pytest

from robot_dynamics.app.recordings.recording import Recording, RecordingError
from robot_dynamics.app.recordings.tracking import (
    orientation_error,
    position_error,
    settled,
    torque_fractions,
)
from robot_dynamics.app.runs.report import report_of, state_hash, summary
from robot_dynamics.app.runs.run import Run, simulate
from robot_dynamics.app.scenarios.acceptance import AcceptanceSettings, ThresholdSettings, failures
from robot_dynamics.app.scenarios.scenario import load_scenario

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
    "plant_step_median_us",
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
    recording.columns["internal_force"][rows_at_rest(recording)[0], 1] += 1.5  # shear along y


def spoil_moment(recording):
    recording.columns["internal_force"][rows_at_rest(recording)[-1], 4] -= 0.6  # bending about y


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


def claim_more(recording):
    recording.metadata["ticks"] = 10**12


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
        (claim_more, "of 1000000000000 control periods are missing or out of order, the first"),
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


@pytest.mark.parametrize(("whole", "said"), [(None, ""), (500, " of 1")])
def test_an_interrupted_run_states_its_length_if_it_has_one(recording, whole, said):
    """A task can take as long as it takes."""
    recording.metadata.update(ticks=whole, interrupted_s=0.25)
    sentence = f"the run was interrupted after 0.25{said} s."
    assert report_of(recording)["failures"] == [sentence]
    del recording.metadata["interrupted_s"]
    right = whole is None
    assert report_of(recording)["ok"] is right


def test_missing_numbers_after_a_fault_are_not_reported(recording):
    """A controller that stopped sees nothing any more: the fault is named, not its columns."""
    note_fault(recording)
    recording.columns["estimated_pose"][700:] = np.nan
    assert report_of(recording)["failures"] == ["the controller stopped, at 1 s: left: lost."]


def test_errors_are_those_of_the_worse_part(recording):
    """Of an object with a joint, in each row."""
    shape = (len(recording), 1)
    still = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], shape)
    names = ("object_pose", "reference_pose", "second_pose", "reference_second_pose")
    columns = {**recording.columns, **{name: still.copy() for name in names}}
    half = np.array([0.05, 0.01])  # of angles about x, in the first rows
    for name, i in (("object_pose", slice(2)), ("second_pose", slice(1, None, -1))):
        columns[name][:2, 0] = [3e-3, 1e-3][i]
        columns[name][:2, 3], columns[name][:2, 6] = np.sin(half)[i], np.cos(half)[i]
    of_parts = Recording(columns, recording.metadata)
    assert position_error(of_parts)[:3] == pytest.approx([3e-3, 3e-3, 0.0])
    assert orientation_error(of_parts)[:3] == pytest.approx([0.1, 0.1, 0.0], abs=1e-8)


def test_torques_are_compared_with_their_limits(recording):
    """A fraction of each joint's own limit, and the joint that is loaded most."""
    joints = recording.get("joints")
    recording.metadata["effort_limits"] = [50.0, None, *[80.0] * (len(joints) - 2)]
    applied = recording.columns["applied_torque"]
    applied[:] = 0.0
    applied[7, :3] = [-20.0, 300.0, 60.0]
    assert torque_fractions(recording)[7, :3] == pytest.approx([0.4, 0.0, 0.75])
    assert report_of(recording)["most_loaded_joint"] == joints[2]


def test_older_recordings_have_no_joint_units(recording):
    """The report does not state the unit of the largest motion of a joint."""
    assert report_of(recording)["joint_motion_unit"] == "rad"
    del recording.metadata["joint_units"]
    assert report_of(recording)["joint_motion_unit"] == "rad or m"


@pytest.mark.parametrize(
    ("commanded", "applied", "right"),
    [
        (20.0, 20.0, True),
        (20.0, 20.0 + 40e-9, True),
        (20.0, 20.0 + 60e-9, False),
        (50.5, 50.0, True),
        (50.5, 50.5, False),
        (-50.5, -50.0, True),
    ],
)
def test_torques_are_those_that_were_commanded(recording, commanded, applied, right):
    """To a billionth of the limit, 50 N m, at which drives cut them off."""
    recording.metadata["effort_limits"] = [50.0] * len(recording.get("joints"))
    recording.columns["commanded_torque"][:], recording.columns["applied_torque"][:] = 0.0, 0.0
    recording.columns["commanded_torque"][500, 2] = commanded
    later = recording.get("plant_delay_periods") + 1
    recording.columns["applied_torque"][500 + later, 2] = applied
    sentences = [one for one in report_of(recording)["failures"] if "was commanded" in one]
    assert len(sentences) == (0 if right else 1)


@pytest.mark.parametrize(("late", "right"), [(0.9e-9, True), (1.1e-9, False)])
def test_time_is_that_of_the_periods(recording, late, right):
    """To a nanosecond; 1e-16 s is rounding."""
    recording.columns["time"] = recording["tick"] * recording.get("period_s")
    recording.columns["time"][4] += late
    sentences = [one for one in report_of(recording)["failures"] if "column 'time'" in one]
    assert len(sentences) == (0 if right else 1)


def test_rest_is_rounded_to_periods(recording):
    """A row counts from half a period before an interval to half a period after it."""
    period = recording.get("period_s")
    for outside, rows in ((0.495, [100, 101, 102]), (0.505, [101])):
        interval = [(100 + outside) * period, (102 - outside) * period]
        recording.metadata["settled_intervals_s"] = [interval]
        assert list(np.flatnonzero(settled(recording))) == rows


def test_drift_is_between_the_ends_of_a_rest(recording):
    """Of the longest way in any of them; before and after the object may move."""
    period = recording.get("period_s")
    recording.metadata["settled_intervals_s"] = [
        [99.75 * period, 200.25 * period],
        [300.0 * period, 300.1 * period],
    ]
    reference, pose = recording["reference_pose"], recording["object_pose"]
    pose[:, :3] = reference[:, :3]
    pose[:, 0] += 1e-5 * np.arange(len(pose))
    assert report_of(recording)["object_drift_settled_m"] == pytest.approx(1e-3, rel=1e-6)


def test_figures_of_spread(recording):
    """Quantiles of the control step, the least and the largest squeeze."""
    recording.columns["step_time"] = np.linspace(0.0, 10.0, len(recording))
    recording.columns["internal_force"][:, 0] = np.linspace(-30.0, 50.0, len(recording))
    report = report_of(recording)
    assert report["control_step_median_us"] == pytest.approx(5.0)
    assert report["control_step_p99_us"] == pytest.approx(9.9)
    assert report["squeeze_range_n"] == pytest.approx([-30.0, 50.0])


@pytest.mark.parametrize(
    ("value", "text"),
    [(999.4, "999"), (1001.0, "1001"), (999900.0, "999900"), (1.01e6, "1.01e+06")],
)
def test_digits_of_figures(run, value, text):
    """Three of them, without a power of ten where that is shorter."""
    lines = "\n".join(summary(run.report | {"control_step_p99_us": value}))
    assert f"99 % within {text} us" in lines


def test_speed_is_one_line(run):
    """Times real time, and the time of control and plant in a period; of nodes only control's."""
    figures = {"real_time_factor": 6.0, "control_step_median_us": 90.0}
    figures |= {"control_step_p99_us": 120.0, "plant_step_median_us": 210.0}
    (line,) = (one for one in summary(run.report | figures) if one.startswith("  speed "))
    assert all(part in line for part in ("6 times", "2 ms", "90 us", "120 us", "plant 210 us"))
    (line,) = (
        one
        for one in summary(run.report | figures | {"plant_step_median_us": None})
        if one.startswith("  speed ")
    )
    assert "plant" not in line


def test_lines_of_a_task(run):
    """Durations of phases, displacements in millimetres, the torque rate as a percentage."""
    figures = {
        "phases": [
            {"name": "grasp", "from_s": 0.5, "to_s": 2.0},
            {"name": "put_down", "from_s": 2.0, "to_s": 2.25},
        ],
        "grasp_displacement_max_m": 1e-3,
        "put_down_force_max_n": 50.0,
        "place_error_m": 2e-3,
        "place_error_deg": 0.3,
        "phase_torque_rate_max_fraction": 0.04,
    }
    lines = [
        one for one in summary(run.report | figures) if one.startswith(("  phases", "  task"))
    ]
    assert lines == [
        "  phases         grasp 1.5 s, put_down 0.25 s",
        "  task           object moves by 1 mm as it is grasped at most; put down with 50 N at "
        "most; 2 mm and 0.3 degrees from its place at the end; torques change between phases by "
        "4 % of the largest rate at most",
    ]


def test_how_long_a_run_has_to_be(recording):
    """The first rest and a period, in whole hundredths of a second."""
    recording.metadata.update(settled_intervals_s=[], first_settled_s=51.234)
    (sentence,) = (s for s in report_of(recording)["failures"] if "ends before" in s)
    assert "expected at least 51.24 s" in sentence


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
    run = Run(recording, report)
    path = run.write_report(tmp_path / "report.json")
    assert json.loads(path.read_text()) == report
    assert [file.name for file in tmp_path.iterdir()] == ["report.json"]
    with pytest.raises(RecordingError, match="cannot be written"):
        run.write_report(tmp_path / "no" / "report.json")


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


def test_a_good_run(run):
    """The lines have the scenario, the verdict, and the figures with their units."""
    lines = list(summary(run.report | {"ok": True}))
    assert lines[0] == "lift_box with the plant 'engine': good"
    assert any("mm from the reference" in line for line in lines)
    assert max(map(len, lines)) <= 130


def test_figures_that_are_missing(run):
    """A figure that could not be computed is a question mark, not an error."""
    empty = dict.fromkeys(run.report) | {"ok": False, "scenario": "x", "plant": "engine"}
    lines = list(summary(empty))
    assert "NOT GOOD" in lines[0]
    assert "? mm" in lines[1]


def test_a_run_on_surfaces(run):
    """Forces on surfaces, and how long before it began a slip was foreseen, have their lines."""
    figures = {
        "contact_force_max_n": 43.9,
        "contact_force_error_settled_fraction": 0.001,
        "contact_force_error_moving_fraction": 0.058,
        "touch_settling_max_s": 0.17,
        "slip_warning_lead_s": 0.56,
        "surface_slip_max_m": 0.0664,
        "delay_margin_s": None,
        "added_internal_force_max_n": 24.31,
    }
    text = "\n".join(summary(run.report | figures))
    assert (
        "43.9 N at most; off by 0.1 % at rest and 5.8 % moving; touches settle in 0.17 s" in text
    )
    assert "; control added 24.3 N at most" in text
    assert "foreseen 0.56 s before it began; 66.4 mm on surfaces at most" in text
    late = "\n".join(summary(run.report | figures | {"slip_warning_lead_s": -0.106}))
    assert "noticed 0.106 s after it began; 66.4 mm" in late
    assert "limit of stability" not in text  # without a servo
    assert "limit of stability" in "\n".join(summary(run.report))
    assert "on surfaces" not in "\n".join(summary(run.report))


def test_a_reference_that_is_never_at_rest(run):
    """Figures of the time at rest are left out together where there was none."""
    missing = ("object_position_error_settled_m", "internal_force_error_settled_n")
    figures = {"contact_force_max_n": 0.0, "control_step_p99_us": 8172.3}
    text = "\n".join(summary(run.report | dict.fromkeys(missing) | figures))
    assert text.count("never at rest") == 2
    assert "?" not in text
    assert "on surfaces    0 N at most\n" in text
    assert "99 % within 8172 us" in text


def test_zero_has_no_sign(run):
    """A squeeze that rounds to zero from below."""
    text = "\n".join(summary(run.report | {"squeeze_range_n": [-0.02, 20.04]}))
    assert "squeeze 0.0 to 20.0 N" in text


def test_arms_that_hold_nothing(run):
    """Nothing is said of an object, of a force within it and of grasps."""
    text = "\n".join(summary(run.report | {"holds_object": False}))
    assert "torques" in text
    assert not any(f"\n  {word}" in text for word in ("object", "internal", "grasps"))


def test_moments_on_a_hinge(run):
    """Beside the forces; a line bears none."""
    names = ("max", "error_max", "error_settled")
    forces = {f"holding_force_{name}_n": 20.1 for name in names}
    moments = {f"holding_moment_{name}_nm": 0.25 for name in names}
    line = "\n".join(summary(run.report | forces))
    assert "20.1 N at most; off by 20.1 N at most and 20.1 N at rest" in line
    assert "20.1 N and 0.25 N m at most" in "\n".join(summary(run.report | forces | moments))
    uncontrolled = "\n".join(summary(run.report | {"holding_force_max_n": 20.1}))
    assert "  held in place  20.1 N at most\n" in uncontrolled


def test_only_thresholds_that_are_asked_for():
    """Thresholds that a scenario leaves out are not asked for; each engine has its own."""
    acceptance = AcceptanceSettings(
        engine=ThresholdSettings(object_position_error_max_m=1e-3),
        mujoco=ThresholdSettings(correction_max=1.0),
    )
    assert acceptance.thresholds("engine") == {"object_position_error_max_m": 1e-3}
    assert acceptance.thresholds("mujoco") == {"correction_max": 1.0}


@pytest.mark.parametrize(
    ("value", "threshold", "sentence"),
    [
        (0.5, {"object_position_error_max_m": 1.0}, None),
        (1.0, {"object_position_error_max_m": 1.0}, None),
        (1.0 + 0.9e-9, {"object_position_error_max_m": 1.0}, None),
        (
            1.0 + 1.1e-9,
            {"object_position_error_max_m": 1.0},
            "object position error max [m] is 1.000000001, expected at most 1.",
        ),
        (
            2.0,
            {"object_position_error_max_m": 1.0},
            "object position error max [m] is 2, expected at most 1.",
        ),
        (
            None,
            {"object_position_error_max_m": 1.0},
            "object position error max [m] could not be computed; expected at most 1.",
        ),
        (
            float("nan"),
            {"object_position_error_max_m": 1.0},
            "object position error max [m] is nan, expected at most 1.",
        ),
    ],
)
def test_missed_thresholds(value, threshold, sentence):
    """A threshold is missed by a larger value, by no value, and by NaN."""
    found = failures({"object_position_error_max_m": value}, threshold)
    assert found == ([] if sentence is None else [sentence])


def test_lower_bounds():
    """Thresholds that end in `least` are lower bounds of the figure of that name."""
    figures = {"torque_fraction_of_limit_max": 0.4, "real_time_factor": 3.0}
    thresholds = {"torque_fraction_of_limit_least": 0.5, "real_time_factor_least": 2.0}
    assert failures(figures, thresholds) == [
        "torque fraction of limit max is 0.4, expected at least 0.5."
    ]


def test_missing_figures_with_a_reason():
    """Figures that are missing for one reason share a sentence that says it."""
    thresholds = {"object_position_error_settled_m": 1.0, "internal_force_error_settled_n": 2.0}
    found = failures(dict.fromkeys(thresholds), thresholds, lambda name: "the run is too short")
    assert found == [
        "object position error settled [m], internal force error settled [N] could not be "
        "computed: the run is too short."
    ]


def test_blocked_motion_does_not_count_as_error(run):
    """A path that leads into a wall is followed along it; the blocked part is reported apart."""
    # Here the box's origin is a point that touches the wall.
    wall = "{name: wall, kind: plane, xyz: [0.62, 0, 0], rpy: [0, -1.5707963267948966, 0]}"
    scenario = load_scenario("lift_box", [f"cell.surfaces=[{wall}]"])
    metadata = {**run.recording.metadata, "scenario_text": scenario.text(), "surfaces": ["wall"]}
    recording = Recording(copy.deepcopy(run.recording.columns), metadata)
    true, wanted = recording["object_pose"], recording["reference_pose"]
    true[:, :3], wanted[:, :3] = [0.62, 0.0, 0.75], [0.63, 3e-4, 0.7504]
    figures = report_of(recording)
    assert figures["object_position_error_max_m"] == pytest.approx(5e-4)
    assert figures["object_blocked_error_max_m"] == pytest.approx(0.01)
    assert figures["object_blocked_error_max_deg"] == 0.0
    first, second = list(summary({**figures, "ok": True}))[:2]
    assert first.endswith("no threshold is stated for what surfaces block")
    assert "surfaces block 10 mm and 0 degrees more at most" in second
    metadata["acceptance"] = {"object_blocked_error_max_m": 9.9e-3}
    assert [one for one in report_of(recording)["failures"] if "blocked" in one]
    metadata["acceptance"] = {"object_blocked_error_max_m": 10.1e-3}
    assert not [one for one in report_of(recording)["failures"] if "blocked" in one]
    assert report_of(run.recording)["object_blocked_error_max_m"] is None


@pytest.mark.parametrize(
    ("force", "wanted", "reason"),
    [
        (0.0, 20.0, "no surface was touched."),
        (113.0, None, "the law 'hybrid' controls no forces on surfaces."),
        (113.0, 0.0, "no surface was touched while a force on it was desired."),
    ],
)
def test_why_there_are_no_errors_of_contact_forces(recording, force, wanted, reason):
    """Because of the true force, not of the controller's estimate."""
    one = np.ones((len(recording), 1))
    recording.columns["contact_force"] = force * one
    if wanted is not None:
        recording.columns["reference_contact_force"] = wanted * one
    recording.metadata["acceptance"] = {"contact_force_error_settled_fraction": 0.02}
    (sentence,) = report_of(recording)["failures"]
    assert sentence.endswith(f"could not be computed: {reason}")
    assert report_of(recording)["contact_force_max_n"] == force


def test_a_run_without_thresholds_for_the_object_says_so(run):
    """It is not simply good, and without any thresholds not good at all."""
    report = report_of(run.recording)
    for acceptance, said in (
        ({}, "no thresholds set"),
        ({"closure_error_max": 1.0}, "good, but no threshold is stated for the object's motion"),
        ({"object_position_error_max_m": 1.0}, "good"),
    ):
        first = next(summary({**report, "ok": True, "acceptance": acceptance}))
        assert first.endswith(f": {said}")
    first = next(summary({**report, "ok": False, "acceptance": {}}))
    assert first.endswith(": NOT GOOD")


def test_every_threshold_has_a_figure(run):
    """A threshold bounds a figure of free motion, contacts or hinges, on either side."""
    recording = run.recording
    two = np.zeros((len(recording), 2))
    columns = dict.fromkeys(("contact_force", "grasp_slip", "grasp_tilt", "holding_force"), two)
    four = np.zeros((len(recording), 4))
    more = {"surface_slip": two, "slip_margin": two, "reference_contact_force": four}
    held = [["hinge", 2, "N"], ["hinge", 3, "N m"]]
    task = {"phases": ["grasp"], "places": [], "torque_rate": 1.0}
    more["phase"] = np.zeros(len(recording))
    contacts = Recording(
        {**recording.columns, **columns, **more},
        {**recording.metadata, "slip_tolerance_m": 1.0, "holding_rows": held, **task},
    )
    figures = report_of(contacts)
    for threshold in dataclasses.fields(ThresholdSettings):
        name = threshold.name.removesuffix("_least")
        assert name in figures or f"{name}_max" in figures
