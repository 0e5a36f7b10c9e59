# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Each stream reads back equal; damaged data are told from missing data."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.app.recordings.bags.messages import Messages
from robot_dynamics.app.recordings.bags.streams import (
    JointFields,
    Numbers,
    standard_streams,
    whole,
)
from robot_dynamics.app.recordings.recording import RecordingError


def test_streams_read_what_they_write(short):
    """All streams of a run, at an instant in which everything moves."""
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    make = Messages()
    row = 500
    columns = dict(short.columns)
    columns |= {f"measured_{what}": columns[f"object_{what}"] for what in ("pose", "twist")}
    columns["position_command"] = columns["joint_position"] + 0.1
    for stream in standard_streams(short.metadata):
        values = [columns[place.column][row, place.part] for place in stream.places]
        message = stream.write(make, row, 1_000_000_000, values)
        for given, found in zip(values, stream.read(message), strict=True):
            # A twist is turned into the body and back: rounding of numbers up to 1.
            np.testing.assert_allclose(found, given, rtol=0, atol=1e-15)


def test_joints_are_matched_by_name():
    """Another order, further joints and missing ones are all met by the names."""
    stream = JointFields(
        "joint_states", (whole("q", 2), whole("qd", 2)), (("a", "b"),), ("position", "velocity")
    )
    message = SimpleNamespace(name=["b", "x", "a"], position=[2.0, 9.0, 1.0], velocity=[])
    q, qd = stream.read(message)
    np.testing.assert_array_equal(q, [1.0, 2.0])
    assert np.isnan(qd).all()


def test_joints_without_drives_are_in_the_same_message(short):
    """Behind the others, and back in columns of their own."""
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    stream = standard_streams({**short.metadata, "passive_joints": ["rod"]})[0]
    columns = [place.column for place in stream.places]
    assert columns == ["joint_position", "joint_velocity", "passive_position", "passive_velocity"]
    values = [np.arange(14.0), -np.arange(14.0), np.array([3.5]), np.array([4.5])]
    message = stream.write(Messages(), 0, 0, values)
    assert [*message.name] == [*short.metadata["joints"], "rod"]
    for given, found in zip(values, stream.read(message), strict=True):
        np.testing.assert_array_equal(found, given)


def test_a_command_of_another_size():
    """It is refused with the topic; an empty one says that the arm was left to its drive."""
    stream = Numbers("left/commands", (whole("torque", 7),))
    with pytest.raises(RecordingError, match=r"left/commands: 3 numbers; expected 7"):
        stream.read(SimpleNamespace(data=[1.0, 2.0, 3.0]))
    assert np.isnan(stream.read(SimpleNamespace(data=[]))[0]).all()


def test_metadata_of_something_else():
    """A recording that does not describe its columns is refused."""
    with pytest.raises(RecordingError, match="metadata have no 'arms'"):
        standard_streams({})


def test_named_internal_forces_are_a_wrench():
    """Palms squeeze and twist: force x and torque x. Those of three arms go as numbers."""
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    metadata = {
        "arms": ["left", "right"], "tools": ["l", "r"], "object": "tray", "joints": ["a", "b"],
        "arm_joints": [1, 1], "internal_forces": ["squeeze", "twist"],
    }  # fmt: skip
    streams = {stream.topic: stream for stream in standard_streams(metadata)}
    stream = streams["object/internal_force"]
    message = stream.write(Messages(), 0, 0, [np.array([30.0, 0.5])])
    assert (message.wrench.force.x, message.wrench.torque.x) == (30.0, 0.5)
    assert stream.read(message)[0].tolist() == [30.0, 0.5]
    metadata["internal_forces"] = ["squeeze a-b", "moment x of a"]
    assert "object/internal_force" not in {s.topic for s in standard_streams(metadata)}
