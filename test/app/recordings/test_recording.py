# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings: written fast, saved whole in either format and in the background, merged by tick."""

import resource
import struct
import threading
import timeit
import zipfile

import numpy as np
import pytest
from support.memory import answers

from robot_dynamics.app.output_files import OutputError
from robot_dynamics.app.recordings import recording
from robot_dynamics.app.recordings.recording import Recorder, Recording, RecordingError
from robot_dynamics.app.recordings.recording_files import (
    BackgroundSaving,
    load_merged,
    load_recording,
    require_suffix,
    save_recording,
)
from robot_dynamics.errors import UnknownNameError


def made(ticks, metadata=None, **columns):
    """Return a recording of some ticks."""
    ticks = np.asarray(ticks, dtype=float)
    return Recording({"tick": ticks, **columns}, metadata or {})


def test_rows_become_columns():
    """Rows are found again as named columns; values never written are NaN."""
    recorder = Recorder({"tick": 0, "q": 3}, 10)
    for tick in range(4):
        recorder.write((tick,), (np.full(3, 0.5 * tick),))
    recording = recorder.recording({"period_s": 0.1})
    assert len(recording) == 4
    np.testing.assert_array_equal(recording["q"][3], [1.5, 1.5, 1.5])
    assert recording.get("period_s") == 0.1


@pytest.mark.parametrize("capacity", [0, 1, 2, 3, 9, 10_000_000_000])
def test_any_number_of_rows(capacity):
    """A run that lasts longer or shorter than was foreseen is recorded all the same."""
    recorder = Recorder({"tick": 0, "q": 2}, capacity)
    for tick in range(9):
        recorder.write((tick,), ([tick, -tick],))
        assert recorder.count == tick + 1
    recording = recorder.recording({})
    np.testing.assert_array_equal(recording["tick"], np.arange(9))
    np.testing.assert_array_equal(recording["q"][8], [8, -8])


def test_a_row_must_be_complete():
    """A row with a value too few or too many is an error, not a shifted column."""
    recorder = Recorder({"tick": 0, "q": 2}, 2)
    with pytest.raises(ValueError):
        recorder.write((0,), ())
    with pytest.raises(ValueError):
        recorder.write((0,), ([1, 2, 3],))
    with pytest.raises(ValueError):
        recorder.write((0, 3), ([1, 2],))
    with pytest.raises(ValueError):
        Recorder({"tick": 0, "time": 0, "q": 2}, 2).write((0,), ([1, 2],))


def test_writing_is_fast():
    """A row of twelve columns takes less than twelve assignments, one for each column.

    Both are timed in turn in the same run, so that the pace of the machine cancels: the ratio is
    about 0.7, and 4 leaves room for a machine that is busy with something else.
    """
    widths = {"a": 0, "b": 0, "c": 0} | {f"c{i}": 14 for i in range(9)}
    recorder = Recorder(widths, 20_000)
    vectors, numbers = [np.zeros(14)] * 9, [0.0, 1.0, 2.0]
    columns = [np.zeros((1, size) if size else 1) for size in widths.values()]

    def assign():
        for column, value in zip(columns, [*numbers, *vectors], strict=True):
            column[0] = value

    written, assigned = [], []
    for _ in range(8):
        written.append(timeit.timeit(lambda: recorder.write(numbers, vectors), number=1000))
        assigned.append(timeit.timeit(assign, number=1000))
    assert min(written) < 4.0 * min(assigned)


def test_saved_and_loaded(tmp_path):
    """A file gives back the same bits and the same metadata, and leaves no other file behind."""
    q = np.array([[0.1, np.nan], [np.inf, -0.0]])
    metadata = {"names": ["a", "b"], "seed": 3, "scenario": "name: x\n"}
    path = made([0, 1], metadata, q=q).save(tmp_path / "run.npz")
    again = Recording.load(path)
    assert again["q"].tobytes() == q.tobytes()
    assert again.metadata == metadata
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_a_file_that_is_none(tmp_path):
    """Missing, damaged and foreign files are refused with a sentence that names them."""
    path = tmp_path / "run.npz"
    with pytest.raises(RecordingError, match=r"run\.npz: cannot be read \(No such file"):
        Recording.load(path)
    path.write_bytes(b"PK\x03\x04 not a zip file")
    with pytest.raises(RecordingError, match="is not a recording"):
        Recording.load(path)
    np.savez(path, a=np.zeros(3))
    with pytest.raises(RecordingError, match="is not a recording"):
        Recording.load(path)
    np.savez(path, metadata=np.array([{}], dtype=object))  # would run code to be read
    with pytest.raises(RecordingError, match="is not a recording"):
        Recording.load(path)
    made([0, 1]).save(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(RecordingError, match="is not a recording"):
        Recording.load(path)


def test_small_files_that_stand_for_much_data_are_refused(tmp_path):
    """An array of 10^12 rows, and an archive that unpacks to 300 MiB, within 100 MiB of memory."""
    column = "column/tick.npy"
    shape = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d,)}"

    def write(name, rows, mebibytes):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
            with z.open("metadata.npy", "w") as member:
                np.save(member, np.array('{"format": 1}'))
            header = (shape % rows).ljust(117).encode() + b"\n"
            with z.open(column, "w") as member:
                member.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
                for _ in range(mebibytes):
                    member.write(bytes(2**20))
        return tmp_path / name

    files = [write("rows.npz", 10**12, 1), write("zeros.npz", 300 * 2**17, 300)]
    files.append(tmp_path / "rows.npy")
    header = (shape % 10**12).ljust(117).encode() + b"\n"
    files[-1].write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    found = answers(
        "from robot_dynamics.app.recordings.recording import Recording",
        "Recording.load(given)",
        files,
        mib=100,
    )
    for file, line in zip(files, found, strict=True):
        assert line.startswith(f"RecordingError: {file}: "), line
    assert "expected at most 100 times" in found[1]


@pytest.mark.parametrize(("ratio", "refused"), [(75, False), (60, True)])
def test_a_compressed_recording_is_loaded(tmp_path, monkeypatch, ratio, refused):
    """One that a user has compressed, up to a ratio."""
    monkeypatch.setattr(recording, "_SMALL", 0)
    monkeypatch.setattr(recording, "_MOST_COMPRESSED", ratio)
    arrays = {"metadata": np.array('{"format": 1}'), "column/tick": np.tile(np.arange(64.0), 100)}
    np.savez_compressed(tmp_path / "run.npz", **arrays)
    if refused:
        with pytest.raises(RecordingError, match=r"run\.npz: unpacks \d+ bytes to \d+"):
            Recording.load(tmp_path / "run.npz")
    else:
        assert len(Recording.load(tmp_path / "run.npz").columns["tick"]) == 6400


def test_metadata_must_be_json(tmp_path):
    """Metadata that JSON cannot hold are refused, and no file is left."""
    with pytest.raises(RecordingError, match="no JSON"):
        made([0], {"limit": float("inf")}).save(tmp_path / "run.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_missing(tmp_path):
    """A file that cannot be written is named."""
    with pytest.raises(RecordingError, match=r"no/run\.npz: cannot be written"):
        made([0]).save(tmp_path / "no" / "run.npz")


def test_merged_by_tick():
    """Rows are matched by their tick; those that one side lacks are left out."""
    a = made([0, 1, 2, 3], {"period_s": 0.1, "a": 1}, q=np.array([0.0, 1.0, 2.0, 3.0]))
    b = made([1, 3, 4], {"period_s": 0.1, "b": 2}, tau=np.array([10.0, 30.0, 40.0]))
    both = a.merged(b)
    np.testing.assert_array_equal(both["tick"], [1, 3])
    np.testing.assert_array_equal(both["q"], [1, 3])
    np.testing.assert_array_equal(both["tau"], [10, 30])
    assert both.metadata == {"period_s": 0.1, "a": 1, "b": 2}


def test_recordings_of_different_runs():
    """Two recordings that contradict each other are not merged."""
    a = made([0], {"period_s": 0.1}, q=np.zeros(1))
    with pytest.raises(RecordingError, match=r"period_s = 0.1, the other 0.2"):
        a.merged(made([0], {"period_s": 0.2}))
    with pytest.raises(RecordingError, match="both have a column 'q'"):
        a.merged(made([0], {"period_s": 0.1}, q=np.zeros(1)))


def test_missing_columns_and_metadata():
    """An unknown column is named, with the one that was probably meant."""
    with pytest.raises(UnknownNameError, match="did you mean 'tick'"):
        made([0])["tik"]
    with pytest.raises(RecordingError, match="no 'seed'"):
        made([0]).get("seed")


@pytest.fixture
def short(run):
    """Return the first periods of a run."""
    columns = {name: values[:20] for name, values in run.recording.columns.items()}
    return Recording(columns, run.recording.metadata)


@pytest.mark.parametrize("suffix", [".npz", ".mcap"])
def test_each_format_gives_the_run_back(short, tmp_path, suffix):
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
    """A recording of `--output FOLDER` is read by the name of the folder."""
    save_recording(short, tmp_path / "recording.npz")
    np.testing.assert_array_equal(load_recording(tmp_path)["tick"], short["tick"])


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


def test_a_path_that_cannot_be_written(tmp_path):
    """It is refused before the run."""
    with pytest.raises(OutputError, match="there is no folder"):
        BackgroundSaving(tmp_path / "no" / "run.npz")
    with pytest.raises(RecordingError, match="expected a recording as"):
        BackgroundSaving(tmp_path / "run.txt")


@pytest.mark.parametrize("plant_first", [True, False])
def test_merged_measurements_come_from_the_plant(plant_first):
    """The controller's samples may be late; two recordings of one side do not merge."""
    ticks = np.arange(3.0)
    plant = Recording({"tick": ticks, "joint_position": ticks, "applied_torque": ticks}, {})
    control = Recording({"tick": ticks, "joint_position": ticks - 1.0}, {})
    sides = (plant, control) if plant_first else (control, plant)
    merged = sides[0].merged(sides[1])
    np.testing.assert_array_equal(merged["joint_position"], ticks)
    with pytest.raises(RecordingError, match="both have a column 'joint_position'"):
        control.merged(control)
