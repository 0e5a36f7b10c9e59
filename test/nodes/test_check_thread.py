# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A thread that does one check at a time, and is never in the way."""

from __future__ import annotations

import threading

import pytest
from waiting import PATIENCE_S

pytest.importorskip("rclpy", reason="the nodes' modules are not importable without ROS 2")

from robot_dynamics.nodes.check_thread import CheckThread, NotYetError


def test_outcomes():
    """What a check finds is raised, in whatever thread asks for it."""
    thread = CheckThread()
    thread.submit(lambda: None).result(PATIENCE_S)

    def check():
        raise ValueError("found")

    with pytest.raises(ValueError, match="found"):
        thread.submit(check).result(PATIENCE_S)
    thread.close(0.0)


def test_a_check_that_goes_on():
    """Nothing waits for it for ever, not even the process; another one has to."""
    thread, begun, over = CheckThread(), threading.Event(), threading.Event()
    thread.close(PATIENCE_S)  # none has begun

    def check():
        begun.set()
        over.wait(PATIENCE_S)

    outcome = thread.submit(check)
    assert begun.wait(PATIENCE_S)
    thread.close(0.01)
    assert not outcome.done()
    assert all(t.daemon for t in threading.enumerate() if t.name == "start check")
    with pytest.raises(NotYetError, match="an earlier start is still checked"):
        thread.submit(check)
    over.set()
    outcome.result(PATIENCE_S)
    thread.submit(lambda: None).result(PATIENCE_S)
