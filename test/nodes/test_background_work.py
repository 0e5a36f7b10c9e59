# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Work beside control, such as writing a recording, does not end the node."""

from __future__ import annotations

from threading import Event

import numpy as np
import pytest
from waiting import PATIENCE_S

pytest.importorskip("rclpy", reason="the nodes' modules are not importable without ROS 2")

from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.errors import ArgumentError
from robot_dynamics.nodes.background_work import BackgroundWork, RecordingFile
from robot_dynamics.nodes.process import RunError


def failing(error):
    """Return work that raises an error."""

    def work():
        raise error

    return work


def test_the_first_error_of_each_task_is_reported():
    """In its own words if they are meant for people."""
    told = []
    side = BackgroundWork(told.append)
    done = []
    side.do("good", lambda: done.append(1))
    for _ in range(3):
        side.do("markers", failing(KeyError("odd")))
        side.do("file", failing(ArgumentError("too long.")))
    assert done == [1]
    assert told == ["markers: unexpected KeyError: 'odd'", "file: too long."]
    assert side.warning == told[0]
    side.reset()
    assert side.warning == ""
    side.add_error("file", OSError("full"))
    assert told[-1] == side.warning == "file: unexpected OSError: full"


def test_run_errors_of_a_task_are_raised():
    """At the place at which a launcher waits for it."""
    with pytest.raises(RunError):
        BackgroundWork(pytest.fail).do("file", failing(RunError("the disk is full.")))


class Launcher:
    """Remembers its messages."""

    def __init__(self, enabled):
        self.enabled, self.heard = enabled, []

    def report(self, event, **figures):
        """Take a report."""
        self.heard.append({"event": event, **figures})


def good():
    """Return a recording."""
    return Recording({"tick": np.arange(3.0)}, {})


def bad():
    """Return a recording that cannot be written."""
    return Recording({"tick": np.arange(3.0)}, {"odd": float("nan")})


def test_a_written_file_is_reported_once(tmp_path):
    """With the figures of the run."""
    launcher, path = Launcher(True), tmp_path / "run.npz"
    file = RecordingFile(str(path), launcher)
    file.poll()
    assert launcher.heard == []
    file.save(good, state_hash="ab")
    file.close(None)
    file.poll()
    file.poll()
    assert launcher.heard == [{"event": "done", "output": str(path), "state_hash": "ab"}]
    assert Recording.load(path)["tick"].tolist() == [0, 1, 2]


def test_a_run_without_a_file_is_reported():
    """Nothing is made, nothing is written."""
    launcher = Launcher(True)
    file = RecordingFile("", launcher)
    file.save(None)
    file.poll()
    assert launcher.heard == [{"event": "done", "output": ""}]
    file.close(None)


@pytest.mark.parametrize("waited_for", [False, True])
def test_a_file_that_cannot_be_written(tmp_path, waited_for):
    """Control goes on with a warning, unless a launcher waits; in the end it is an error."""
    launcher = Launcher(waited_for)
    file = RecordingFile(str(tmp_path / "run.npz"), launcher)
    file.save(bad)
    file.wait()
    if waited_for:
        with pytest.raises(RunError, match=r"no recording: .*no JSON"):
            file.poll()
    else:
        file.poll()
    assert launcher.heard == []
    assert file.warning.startswith("no recording: ")
    with pytest.raises(RunError):
        file.close(None)


def test_the_end_of_a_run_does_not_wait_for_the_file_of_the_last_one(tmp_path):
    """Control would stand still; the files are written one after the other."""
    file, go, made = RecordingFile(str(tmp_path / "run.npz"), Launcher(False)), Event(), []

    def slow():
        go.wait(PATIENCE_S)
        made.append("first")
        return bad()

    def fast():
        made.append("second")
        return good()

    file.save(slow)
    file.save(fast)
    assert made == []
    assert file.busy
    go.set()
    file.close(None)
    assert made == ["first", "second"]
    assert len(Recording.load(tmp_path / "run.npz")) == 3


def test_a_recording_that_cannot_be_made(tmp_path):
    """No error makes a file seem to be written."""
    launcher = Launcher(True)
    file = RecordingFile(str(tmp_path / "run.npz"), launcher)
    file.save(failing(KeyError("odd")))
    file.wait()
    with pytest.raises(RunError, match=r"no recording: .*run\.npz: unexpected KeyError: 'odd'\."):
        file.poll()
    assert launcher.heard == []


def test_the_recording_of_an_interrupted_run_is_written(tmp_path):
    """The rows recorded so far."""
    file = RecordingFile(str(tmp_path / "run.npz"), Launcher(False))
    file.close(good)
    assert len(Recording.load(tmp_path / "run.npz")) == 3
