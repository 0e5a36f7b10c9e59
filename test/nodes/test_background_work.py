# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Errors beside control are told once, and control goes on."""

import pytest

pytest.importorskip("rclpy", reason="the nodes' modules are not importable without ROS 2")

from robot_dynamics.errors import ArgumentError
from robot_dynamics.nodes.background_work import BackgroundWork
from robot_dynamics.nodes.process import RunError


def failing(error):
    """Return work that raises an error."""

    def work():
        raise error

    return work


def test_an_error_is_told_once_for_each_work():
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
    side.forget()
    assert side.warning == ""
    side.note("file", OSError("full"))
    assert told[-1] == side.warning == "file: unexpected OSError: full"


def test_work_may_find_that_the_run_cannot_go_on():
    """Where a launcher waits for it."""
    with pytest.raises(RunError):
        BackgroundWork(pytest.fail).do("file", failing(RunError("the disk is full.")))
