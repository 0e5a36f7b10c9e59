# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bags are read back as recordings, ours to the last bit but those of turned twists."""

import json
import resource
import shutil
import struct
from dataclasses import replace

import numpy as np
import pytest
from support.memory import answers

pytest.importorskip("rosbags", reason="rosbags is not installed")

from rosbags.rosbag2 import StoragePlugin, Writer

from robot_dynamics.app.recordings.bags.messages import Messages, full_name, header
from robot_dynamics.app.recordings.bags.reader import read_bag
from robot_dynamics.app.recordings.bags.streams import standard_streams
from robot_dynamics.app.recordings.recording import RecordingError
from robot_dynamics.app.runs.report import state_hash

PERIOD = 0.002
START = 1_700_000_000.0  # of real arms the time is that of the day [s]


def test_a_written_bag_is_read(bag, short):
    """All columns and metadata come back; only twists, turned twice, differ by rounding."""
    again = read_bag(bag)
    assert again.metadata == short.metadata
    assert again.columns.keys() == short.columns.keys()
    for name, values in short.columns.items():
        if name.endswith("_twist"):
            np.testing.assert_allclose(again[name], values, rtol=0, atol=2e-15)
        else:
            np.testing.assert_array_equal(again[name], values, name)
            assert again[name].shape == values.shape
    assert state_hash(again) != state_hash(short)  # which the twists are part of


def recorded(folder, short, kind, *, namespace="/", begin=START, runs=1, only=None, frame=None):
    """Return a bag as `ros2 bag record` would make it of the nodes' topics.

    What the plant alone knows is not in it; joint states come on two topics, and the recorder
    starts when the run has begun.
    """
    make, metadata = Messages(), {**short.metadata, "format": 1}
    joints = namespace + "left/joint_states", namespace + "right/joint_states"
    metadata["topics"] = {"joint_states": joints}
    with Writer(folder, version=9, storage_plugin=kind) as writer:
        known = {}

        def write(topic, at, name, message):
            if topic not in known:
                known[topic] = writer.add_connection(topic, full_name(name), typestore=make.store)
            writer.write(known[topic], at, make.bytes_of(name, message))

        for run in range(runs):
            wall = int(2e18 + run * 1e10)
            metadata["reference_start_tick"] = run
            text = make.make("std_msgs/String", json.dumps(metadata))
            write(namespace + "run_metadata", wall, "std_msgs/String", text)
            for row in range(50):
                stamp = round((begin + row * PERIOD) * 1e9)
                tick = round(stamp / (PERIOD * 1e9))
                at = wall + row * 1_700_000 + 1
                for stream in standard_streams(short.metadata):
                    if stream.topic.startswith("true") or (only and stream.topic not in only):
                        continue
                    if not all(place.column in short for place in stream.places):
                        continue
                    values = [short[p.column][row + run, p.part] for p in stream.places]
                    if frame is not None and stream.topic == "left/wrench":
                        stream = replace(stream, frame=frame)
                    message = stream.write(make, tick, stamp, values)
                    if stream.topic != "joint_states":
                        write(namespace + stream.topic, at, stream.kind, message)
                        continue
                    for i, topic in enumerate(joints):
                        own = slice(7 * i, 7 * i + 7)
                        names = [*metadata["joints"][own]]
                        numbers = (*(v[own] for v in values), np.zeros(0))
                        part = make.make(stream.kind, header(stamp), names, *numbers)
                        write(topic, at, stream.kind, part)
    return folder


@pytest.mark.parametrize("kind", list(StoragePlugin), ids=lambda kind: kind.name.lower())
def test_recorded_by_ros(short, tmp_path, kind):
    """A folder of `ros2 bag`, in either storage, with a namespace and the time of the day."""
    again = read_bag(recorded(tmp_path / "bag", short, kind, namespace="/cell/"))
    assert len(again) == 50
    assert again["tick"][0] == pytest.approx(START / PERIOD, abs=0.6)
    np.testing.assert_array_equal(np.diff(again["tick"]), 1.0)
    for name in ("joint_position", "joint_velocity", "grasp_wrench", "commanded_torque"):
        np.testing.assert_array_equal(again[name], short[name][:50], name)
    assert "object_pose" not in again
    assert again.get("arms") == ["left", "right"]


@pytest.mark.parametrize("frame", ["left_link7", "left_link6", ""])
def test_wrenches_are_moved_to_the_tool(short, tmp_path, frame):
    """From the frame of the message, if it is fixed to the tool; an empty one is the tool's."""
    again = read_bag(recorded(tmp_path / "bag", short, StoragePlugin.MCAP, frame=frame))
    expected = short["grasp_wrench"][:50].copy()
    if frame == "left_link7":  # 0.1 m behind the tool, with its axes
        expected[:, :3] += np.cross([0.0, 0.0, -0.1], expected[:, 3:6])
    elif frame:
        expected[:, :6] = np.nan
    np.testing.assert_allclose(again["grasp_wrench"], expected, atol=1e-12)


def test_the_last_run_counts(short, tmp_path):
    """After a reset time begins again: the periods of both runs must not be mixed."""
    again = read_bag(recorded(tmp_path / "bag", short, StoragePlugin.MCAP, begin=0.0, runs=2))
    assert again.get("reference_start_tick") == 1
    np.testing.assert_array_equal(again["joint_position"], short["joint_position"][1:51])


def test_part_of_the_topics(short, tmp_path):
    """Missing topics are left out; without commands the joint states give the periods."""
    folder = recorded(tmp_path / "bag", short, StoragePlugin.MCAP, only=("joint_states",))
    again = read_bag(folder)
    assert set(again.columns) == {"tick", "time", "joint_position", "joint_velocity"}
    only = ("object/odometry",)
    other = recorded(tmp_path / "other", short, StoragePlugin.MCAP, only=only)
    with pytest.raises(RecordingError, match="no joint states and no commands"):
        read_bag(other)


def test_files_that_are_no_bags(bag, tmp_path):
    """Missing, damaged and foreign files are refused with a sentence that names them."""
    with pytest.raises(RecordingError, match=r"none\.mcap: cannot be read"):
        read_bag(tmp_path / "none.mcap")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordingError, match="empty: is a folder without a recording"):
        read_bag(tmp_path / "empty")
    damaged = tmp_path / "damaged.mcap"
    damaged.write_bytes(bag.read_bytes()[: bag.stat().st_size // 2])
    with pytest.raises(RecordingError, match=r"damaged\.mcap: is not a bag, or damaged"):
        read_bag(damaged)
    with pytest.raises(RecordingError, match=r"code\.py: expected a recording as \.npz or \.mcap"):
        read_bag(shutil.copy(__file__, tmp_path / "code.py"))
    make = Messages()
    with Writer(tmp_path / "foreign", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        of = writer.add_connection("/chatter", "std_msgs/msg/String", typestore=make.store)
        writer.write(
            of, 1, make.bytes_of("std_msgs/String", make.make("std_msgs/String", "hello"))
        )
    with pytest.raises(RecordingError, match="has nothing of the topic run_metadata; expected"):
        read_bag(tmp_path / "foreign")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 99}'])
def test_metadata_of_another_format(tmp_path, text):
    """A bag of a later version, or a topic of the same name, is not misread."""
    make = Messages()
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        of = writer.add_connection("/run_metadata", "std_msgs/msg/String", typestore=make.store)
        writer.write(of, 1, make.bytes_of("std_msgs/String", make.make("std_msgs/String", text)))
    with pytest.raises(RecordingError, match="expected metadata of format 1"):
        read_bag(tmp_path / "bag")


def test_two_controllers_in_one_bag(tmp_path):
    """Which run is meant cannot be known."""
    make = Messages()
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for name in ("/a/run_metadata", "/b/run_metadata"):
            of = writer.add_connection(name, "std_msgs/msg/String", typestore=make.store)
            writer.write(
                of, 1, make.bytes_of("std_msgs/String", make.make("std_msgs/String", "{}"))
            )
    with pytest.raises(RecordingError, match="several controllers"):
        read_bag(tmp_path / "bag")


def mcap(path, mebibytes, claimed=None):
    """Write a bag with one compressed chunk of zeros."""
    from rosbags.rosbag2.storage_mcap import zstd

    compressor = zstd.ZstdCompressor()
    packed = b"".join(compressor.compress(bytes(2**20)) for _ in range(mebibytes))
    packed += compressor.flush()
    size = mebibytes * 2**20 if claimed is None else claimed

    def text(word):
        return struct.pack("<I", len(word)) + word

    def record(kind, body):
        return struct.pack("<BQ", kind, len(body)) + body

    chunk = struct.pack("<QQQI", 0, 1, size, 0) + text(b"zstd") + struct.pack("<Q", len(packed))
    magic = b"\x89MCAP0\r\n"
    path.write_bytes(
        magic
        + record(1, text(b"ros2") + text(b""))
        + record(6, chunk + packed)
        + record(2, struct.pack("<QQI", 0, 0, 0))
        + magic
    )
    return path


def test_small_bags_that_unpack_to_much_data_are_refused(tmp_path):
    """Within the memory that reading a bag may take, whatever the size that they state."""
    files = [
        mcap(tmp_path / "big.mcap", 200),
        mcap(tmp_path / "liar.mcap", 200, claimed=100),
    ]
    assert all(file.stat().st_size < 100_000 for file in files)
    found = answers(
        "import rosbags.highlevel, rosbags.typesys\n"
        "from robot_dynamics.app.recordings.bags import reader\n"
        "reader._LEAST_MEMORY = 2**26",
        "reader.read_bag(given)",
        files,
        mib=150,
    )
    for file, line in zip(files, found, strict=True):
        assert line.startswith(f"RecordingError: {file}: has "), line
        assert "MiB of memory" in line


def test_the_limit_of_memory_is_that_of_the_reading(bag, monkeypatch):
    """It is there while a bag is read, stricter ones stay, and afterwards it is gone."""
    before = resource.getrlimit(resource.RLIMIT_AS), resource.getrlimit(resource.RLIMIT_FSIZE)
    seen = []

    def read(*_):
        seen.append(resource.getrlimit(resource.RLIMIT_FSIZE)[0])
        raise MemoryError

    monkeypatch.setattr("robot_dynamics.app.recordings.bags.reader._read", read)
    with pytest.raises(RecordingError, match=r"needs more than \d+ MiB"):
        read_bag(bag)
    assert seen == [2**29 + 100 * bag.stat().st_size]
    after = resource.getrlimit(resource.RLIMIT_AS), resource.getrlimit(resource.RLIMIT_FSIZE)
    assert after == before
