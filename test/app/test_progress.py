# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Progress of a run while it lasts."""

import io
import json
import time

import pytest

from robot_dynamics.app.progress import Progress, display, event_of, print_event


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def progress(tick, squeeze=12.5):
    """Return the progress of a tick out of ten."""
    return Progress(tick, 10, 0.1 * tick, 0.25, squeeze, 0.5)


def test_events_are_lines_of_json():
    """Events written by one process are read by another; NaN and infinity become null."""
    stream = io.StringIO()
    print_event("progress", stream, tick=3, error=float("nan"), squeeze=None)
    line = stream.getvalue()
    assert line.count("\n") == 1
    json.loads(line, parse_constant=lambda text: pytest.fail(text))  # NaN is no JSON
    assert event_of(line) == {"event": "progress", "tick": 3, "error": None, "squeeze": None}


@pytest.mark.parametrize("line", ["", "[INFO] hello", "{", '{"a": 1}', "[1, 2]", '{"event": 3}'])
def test_other_lines_are_no_events(line):
    """Log lines, also those that look like JSON, are no events."""
    assert event_of(line) is None


def test_plain_lines():
    """Without a terminal the first line is written at once, and the last one."""
    stream = io.StringIO()
    with display("box", stream) as show:
        for tick in range(1, 11):
            show(progress(tick))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    words = "servo error   0.250 mm  squeeze   12.5 N  torque  50 %"
    assert lines[-1] == f"box: 100 %    1.00 s  {words}"


@pytest.mark.parametrize(("seconds", "lines"), [(9.9, 2), (10.1, 3)])
def test_a_line_every_ten_seconds(monkeypatch, seconds, lines):
    """Logs get a line at once, one after ten seconds at the earliest, and the last one."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    with display("box", stream) as show:
        for tick, at in ((1, 100.0), (2, 100.0 + seconds), (10, 100.0 + seconds)):
            now[0] = at
            show(progress(tick))
    assert len(stream.getvalue().splitlines()) == lines


def test_bar():
    """A terminal gets a bar with the figures."""
    stream = Terminal()
    with display("box", stream) as show:
        show(progress(4))
        show(progress(10))
    assert "100 %" in stream.getvalue()
    assert "0.250" in stream.getvalue()


def test_without_a_squeeze():
    """One arm or three have no squeeze to show."""
    assert "squeeze" not in progress(1, squeeze=None).text()
