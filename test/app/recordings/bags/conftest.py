# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One bag that the tests of this folder share."""

import pytest

from robot_dynamics.app.recordings.recording import Recording


@pytest.fixture(scope="session")
def short(run):
    """Return the first 1.2 s of the shipped scenario."""
    columns = {name: values[:600] for name, values in run.recording.columns.items()}
    return Recording(columns, run.recording.metadata)


@pytest.fixture(scope="session")
def bag(short, tmp_path_factory):
    """Return it as a file."""
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    from robot_dynamics.app.recordings.bags.writer import write_bag

    return write_bag(short, tmp_path_factory.mktemp("bag") / "run.mcap")


@pytest.fixture(scope="session")
def messages(bag):
    """Return the messages by topic as (time [ns], message), read by those who define MCAP."""
    reader = pytest.importorskip("mcap_ros2.reader", reason="mcap-ros2-support is not installed")
    found: dict[str, list] = {}
    for item in reader.read_ros2_messages(str(bag)):
        found.setdefault(item.channel.topic, []).append((item.log_time_ns, item.ros_msg))
    return found
