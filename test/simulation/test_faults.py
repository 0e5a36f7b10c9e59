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
    """An empty list ends all; a reset brings back the planned faults and nothing else."""
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
    half = FaultSettings("drive_gain", joint="left_1", value=0.5, duration_s=2.0)
    assert fault_of("drive_gain=0.5 left_1 2", JOINTS) == half
    assert fault_of("wrench_scale=-1") == FaultSettings("wrench_scale", value=-1.0)
    assert len(set(KINDS)) == len(KINDS)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", UnknownNameError, "unknown fault ''"),
        ("silence", UnknownNameError, "did you mean 'silent'"),
        ("silent left right", ArgumentError, "KIND"),
        ("silent left 0", ArgumentError, "more than 0 s"),
        ("silent nan", ArgumentError, "more than 0 s"),
        ("drive_gain=x left", ArgumentError, "VALUE"),
        ("drive_gain= left", ArgumentError, "VALUE"),
        ("drive_gain=nan left", ArgumentError, "finite number"),
        ("drive_gain left 0.1", ArgumentError, "has no value"),
        ("silent=1 left", ArgumentError, "expected none"),
    ],
)
def test_texts_that_are_none(text, error, words):
    """One sentence has the expected value."""
    with pytest.raises(error, match=words):
        fault_of(text)


def test_a_fault_has_its_joints_and_its_value():
    """Those of its joint, of its arm or of all arms; several of a kind act together."""
    planned = [
        FaultSettings("drive_gain", joint="right_2", value=0.5),
        FaultSettings("drive_gain", arm="left", value=0.25, time_s=0.002),
        FaultSettings("joint_stuck"),
    ]
    faults = Faults(ARMS, planned, 0.002, JOINTS)
    assert faults.values("drive_gain", "right") == [(slice(3, 4), 0.5)]
    assert faults.values("drive_gain", "left") == []
    faults.move(1)
    assert faults.values("drive_gain", "left") == [(slice(0, 2), 0.25)]
    assert [faults.values("joint_stuck", arm) for arm in ARMS] == [
        [(own, 0.0)] for own in ARMS.values()
    ]
    assert faults.is_on("drive_gain", "right")


@pytest.mark.parametrize(
    "fault", [FaultSettings("joint_stuck"), FaultSettings("late_joints", value=0.1)]
)
def test_some_faults_can_only_be_planned(fault):
    """The engine, or the memory of sensors, is made for them."""
    faults = Faults(ARMS, [fault], 0.002, JOINTS)
    assert faults.is_on(fault.kind, "left")
    with pytest.raises(ArgumentError, match="expected it in plant"):
        faults.switch([fault])


def test_unknown_arms_and_joints_are_refused():
    """Planned or switched on; faults that were on stay on."""
    with pytest.raises(RobotDynamicsError, match="unknown arm 'middle'"):
        Faults(ARMS, [FaultSettings("silent", arm="middle")], 0.002)
    faults = Faults(ARMS, [FaultSettings("silent")], 0.002)
    with pytest.raises(RobotDynamicsError, match="did you mean 'left'"):
        faults.switch([fault_of("frozen lefd")])
    with pytest.raises(RobotDynamicsError, match="did you mean 'left_1'"):
        Faults(ARMS, [FaultSettings("joint_stuck", joint="lefd_1")], 0.002, JOINTS)
    assert faults.is_on("silent", "left")
