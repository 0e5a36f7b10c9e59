# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that are later than drives wait for, and a simulator that falls silent."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="the nodes' modules are not importable without ROS 2")

from robot_dynamics.control.clock import LockstepClock, WallClock
from robot_dynamics.control.faults import Cause
from robot_dynamics.nodes import timeouts
from robot_dynamics.nodes.process import RunError
from robot_dynamics.nodes.timeouts import CommandTimeout, SilenceMonitor


class Loop:
    """A loop that writes down why it has to fall back."""

    def __init__(self):
        self.safety, self.told = SimpleNamespace(law_runs=True), []

    def fall_back(self, now, cause, subject, sentence):
        """Write it down."""
        self.told.append((now, cause, subject, sentence))


@pytest.fixture
def clock(monkeypatch):
    """Return the steady clock's time [s]."""
    clock = [5.0]
    monkeypatch.setattr(timeouts, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    return clock


def test_late_commands(clock):
    """From the first one on, while the law runs; those who begin anew are not late."""
    loop = Loop()
    pace = CommandTimeout(loop, {"left": "brake", "middle": "hold", "right": "zero"}, 0.05)

    def told_after(seconds):
        clock[0] += seconds
        pace.check(7)
        return loop.told

    assert told_after(1.0) == []
    pace.command_sent()
    assert told_after(0.04) == []
    pace.command_sent()
    assert told_after(0.04) == []
    pace.reset()
    assert told_after(1.0) == []
    pace.command_sent()
    loop.safety.law_runs = False
    assert told_after(0.06) == []
    loop.safety.law_runs = True
    assert told_after(0.0) == [
        (
            7,
            Cause.CONTROLLER_FAILED,
            "controller",
            "no command was sent for 0.06 s; expected one within 0.05 s, the timeout of the "
            "drives of left, right.",
        )
    ]


def test_drives_that_hold_their_torque_have_no_timeout(clock):
    """Nothing changes by itself; a guard watches there."""
    loop = Loop()
    pace = CommandTimeout(loop, {"left": "hold", "right": "hold"}, 0.05)
    pace.command_sent()
    clock[0] += 1.0
    pace.check(7)
    assert loop.told == []


class LockstepLoop:
    """A loop that writes down its calls."""

    def __init__(self, began, tick=7):
        self.began, self.told = began, []
        self.clock = LockstepClock(0.002)
        self.clock.tick = tick
        self.system = SimpleNamespace(arms=[SimpleNamespace(name=n) for n in ("left", "right")])

    def fall_back(self, now, cause, subject, sentence):
        """Write it down."""
        self.told.append((now, cause, subject))
        return "outcome"


def test_in_lockstep_both_arms_are_lost():
    """Once for each silence."""
    loop, now = LockstepLoop(began=0), time.monotonic()
    watch = SilenceMonitor(loop, 5.0, None)
    watch._since = 0.0
    assert watch.check(now) is None
    for _ in range(2):
        assert watch.check(now - 10.0) == "outcome"
        assert watch.sentence.endswith("expected some within 5 s: the simulator was lost.")
        assert watch.check(now - 10.0) is None
        assert watch.check(time.monotonic()) is None
        assert watch.sentence == ""
    assert loop.told == 2 * [(7, Cause.ARM_LOST, "left"), (7, Cause.ARM_LOST, "right")]
    watch.reset()
    assert watch.check(now - 10.0) is None


def test_on_the_wall_clock_stale_streams_end_control():
    """Nothing is to be done here."""
    loop = LockstepLoop(began=0)
    loop.clock = WallClock(0.002)
    watch = SilenceMonitor(loop, 0.5, None)
    watch._since = 0.0
    assert watch.check(time.monotonic() - 10.0) is None
    assert loop.told == []


def test_a_simulator_that_never_appears():
    """A launcher does not wait for ever; without one nobody minds."""
    now = time.monotonic()
    for patience in (5.0, None):
        watch = SilenceMonitor(LockstepLoop(began=None), 0.5, patience)
        watch._since = 0.0
        assert watch.check(now) is None
        if patience:
            with pytest.raises(RunError, match="no joint states for 5 s; expected a simulator"):
                watch.check(now - 10.0)
        else:
            assert watch.check(now - 10.0) is None
