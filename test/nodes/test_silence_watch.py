# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulator that falls silent is noticed once, by the wall clock."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="the nodes' modules are not importable without ROS 2")

from robot_dynamics.control.faults import Cause
from robot_dynamics.nodes.process import RunError
from robot_dynamics.nodes.silence_watch import SilenceWatch


class Loop:
    """A loop that writes down what it is told."""

    def __init__(self, began):
        self.began, self.told = began, []
        self.system = SimpleNamespace(arms=[SimpleNamespace(name=n) for n in ("left", "right")])

    def fall_back(self, now, cause, subject, sentence):
        """Write it down."""
        self.told.append((now, cause, subject))
        return "outcome"


def test_in_lockstep_both_arms_are_lost():
    """Once for each silence."""
    loop, now = Loop(began=0), time.monotonic()
    watch = SilenceWatch(loop, 5.0, None, in_lockstep=True)
    watch._since = 0.0
    assert watch.check(now, 7) is None
    for _ in range(2):
        assert watch.check(now - 10.0, 7) == "outcome"
        assert watch.sentence.endswith("of wall-clock time; the simulator is gone.")
        assert watch.check(now - 10.0, 7) is None
        assert watch.check(time.monotonic(), 8) is None
        assert watch.sentence == ""
    assert loop.told == 2 * [(7, Cause.ARM_LOST, "left"), (7, Cause.ARM_LOST, "right")]
    watch.forget()
    assert watch.check(now - 10.0, 7) is None


def test_on_the_wall_clock_streams_are_watched_by_themselves():
    """Nothing is to be done here."""
    loop = Loop(began=0)
    watch = SilenceWatch(loop, 0.5, None, in_lockstep=False)
    watch._since = 0.0
    assert watch.check(time.monotonic() - 10.0, 7) is None
    assert loop.told == []


def test_one_that_never_appears():
    """A launcher does not wait for ever; without one nobody minds."""
    now = time.monotonic()
    for patience in (5.0, None):
        watch = SilenceWatch(Loop(began=None), 0.5, patience, in_lockstep=True)
        watch._since = 0.0
        assert watch.check(now, -1) is None
        if patience:
            with pytest.raises(RunError, match="no joint states for 5 s; expected a simulator"):
                watch.check(now - 10.0, -1)
        else:
            assert watch.check(now - 10.0, -1) is None
