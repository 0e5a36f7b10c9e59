# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults are switched by a text, and told of once they show."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("rclpy", reason="the nodes' modules are not importable without ROS 2")

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.simulator import FaultSwitch
from robot_dynamics.simulation.faults import Faults


def test_it_is_told_once_that_a_fault_shows():
    """By the tick of the first message with it; a second one is told anew, no fault is not."""
    faults = Faults(["left", "right"], [], 0.002)
    switch = FaultSwitch(faults, in_lockstep=True)
    switch.switch("")
    switch.note(1)
    assert not switch.untold
    assert switch.figures() == {}
    switch.switch("silent left 1.0, wrench_nan right")
    faults.move(6)
    for tick in (7, 8):
        switch.note(tick)
    assert switch.active
    assert switch.untold
    assert switch.figures() == {"simulated fault since": 7, "simulated fault is on": True}
    assert not switch.untold
    switch.switch(" , ")
    faults.move(9)
    switch.note(9)
    assert switch.figures() == {"simulated fault since": 7, "simulated fault is on": False}
    with pytest.raises(RobotDynamicsError, match="did you mean 'silent'"):
        switch.switch("silence")
    switch.forget()
    assert switch.figures() == {}


def test_on_the_wall_clock_it_is_the_steady_clock():
    """Which other processes of the machine have as well."""
    faults = Faults(["left"], [], 0.002)
    switch = FaultSwitch(faults, in_lockstep=False)
    switch.switch("silent")
    faults.move(3)
    before = time.monotonic_ns()
    switch.note(3)
    assert before <= switch.figures()["simulated fault since"] <= time.monotonic_ns()
