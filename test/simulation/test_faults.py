# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults come on and go when they should, for whom they should."""

from __future__ import annotations

import math

import pytest

from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.simulation.faults import KINDS, Faults, FaultSettings, fault_of

ARMS = {"left": slice(0, 2), "right": slice(2, 5)}
JOINTS = ("left_1", "left_2", "right_1", "right_2", "right_3")


def when(faults, kind, arm, ticks=20):
    """Return the control periods in which an arm has a fault."""
    found = []
    for tick in range(ticks):
        faults.move(tick)
        if faults.is_on(kind, arm):
            found.append(tick)
    return found


def test_planned_faults_last_as_long_as_stated():
    """Times are rounded to control periods; one that lasts less than a period lasts one."""
    planned = [
        FaultSettings("silent", 0.01, "left", 0.006),
        FaultSettings("drive_gain", 0.0, "right", 1e-6, value=0.5),
        FaultSettings("frozen", 0.036),
    ]
    for _ in range(2):
        faults = Faults(ARMS, planned, 0.002)
        assert when(faults, "silent", "left") == [5, 6, 7]
        faults.reset()
        assert when(faults, "silent", "right") == []
        faults.reset()
        assert when(faults, "drive_gain", "right") == [0]
        faults.reset()
        assert when(faults, "frozen", "left") == when(faults, "frozen", "right") == [18, 19]
        faults.reset()


def test_switching_counts_from_now_and_replaces_what_was_on():
    """An empty list ends all; a reset brings back what is planned and nothing else."""
    faults = Faults(ARMS, [FaultSettings("silent", duration_s=0.002)], 0.002)
    assert faults.active
    assert faults.began == 0
    faults.move(7)
    assert not faults.active
    faults.switch([fault_of("dropped left 0.004"), fault_of("frozen right")])
    assert not faults.active
    faults.move(8)
    assert faults.is_on("dropped", "left")
    assert not faults.is_on("dropped", "right")
    assert faults.began == 8
    faults.move(10)
    assert not faults.is_on("dropped", "left")
    assert faults.is_on("frozen", "right")
    faults.switch([])
    assert not faults.active
    faults.reset()
    assert faults.is_on("silent", "left")


def test_texts():
    """A kind alone, with an arm, with seconds, with both."""
    assert fault_of("silent") == FaultSettings("silent")
    assert fault_of("silent right") == FaultSettings("silent", arm="right")
    assert fault_of("silent 0.25") == FaultSettings("silent", duration_s=0.25)
    assert fault_of(" silent  left 1e-1 ") == FaultSettings("silent", arm="left", duration_s=0.1)
    assert fault_of("silent").duration_s == math.inf
    assert len(set(KINDS)) == len(KINDS)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", UnknownNameError, "unknown fault ''"),
        ("silence", UnknownNameError, "did you mean 'silent'"),
        ("silent left right", ArgumentError, "KIND"),
        ("silent left 0", ArgumentError, "more than 0 s"),
        ("silent nan", ArgumentError, "more than 0 s"),
    ],
)
def test_texts_that_are_none(text, error, words):
    """One sentence says what is expected."""
    with pytest.raises(error, match=words):
        fault_of(text)


def test_unknown_arms_are_refused():
    """Planned or switched on; what was on stays on."""
    with pytest.raises(RobotDynamicsError, match="unknown arm 'middle'"):
        Faults(ARMS, [FaultSettings("silent", arm="middle")], 0.002)
    faults = Faults(ARMS, [FaultSettings("silent")], 0.002)
    with pytest.raises(RobotDynamicsError, match="did you mean 'left'"):
        faults.switch([fault_of("frozen lefd")])
    assert faults.is_on("silent", "left")
