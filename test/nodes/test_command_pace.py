# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that were later than drives wait for are noticed, where drives do anything then."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="the nodes' modules are not importable without ROS 2")

from robot_dynamics.control.faults import Cause
from robot_dynamics.nodes import command_pace
from robot_dynamics.nodes.command_pace import CommandPace


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
    monkeypatch.setattr(command_pace, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    return clock


def test_late_commands(clock):
    """From the first one on, while the law runs; those who begin anew are not late."""
    loop = Loop()
    pace = CommandPace(loop, {"left": "brake", "middle": "hold", "right": "zero"}, 0.05)

    def told_after(seconds):
        clock[0] += seconds
        pace.watch(7)
        return loop.told

    assert told_after(1.0) == []
    pace.note_command()
    assert told_after(0.04) == []
    pace.note_command()
    assert told_after(0.04) == []
    pace.forget()
    assert told_after(1.0) == []
    pace.note_command()
    loop.safety.law_runs = False
    assert told_after(0.06) == []
    loop.safety.law_runs = True
    assert told_after(0.0) == [
        (
            7,
            Cause.CONTROLLER_FAILED,
            "controller",
            "no command was sent for 0.06 s; expected one within 0.05 s, after which the drives "
            "of left, right act on their own.",
        )
    ]


def test_drives_that_hold_their_torque(clock):
    """Nothing changes by itself; a guard watches there."""
    loop = Loop()
    pace = CommandPace(loop, {"left": "hold", "right": "hold"}, 0.05)
    pace.note_command()
    clock[0] += 1.0
    pace.watch(7)
    assert loop.told == []
