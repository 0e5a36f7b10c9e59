# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller answers each state once, and repeats its answer to a repeated state."""

import pytest

pytest.importorskip("builtin_interfaces", reason="ROS 2 is not installed")

from robot_dynamics.nodes.lockstep import Action, StateGate


def test_an_answer_waits_for_the_whole_state():
    """And is computed once, when the last message has come."""
    gate = StateGate(["left", "right", "joint_states"])
    for part in ("left", "right"):
        assert gate.offer(part, 0)
        assert gate.decide() is Action.WAIT
        assert gate.incomplete
    assert gate.offer("joint_states", 0)
    assert gate.decide() is Action.COMPUTE
    assert gate.decide() is Action.WAIT
    assert not gate.incomplete


def test_a_repeated_state_gets_the_same_answer_again():
    """Its messages are not taken a second time."""
    gate = StateGate(["wrench", "joint_states"])
    gate.offer("wrench", 3)
    gate.offer("joint_states", 3)
    assert gate.decide() is Action.COMPUTE
    assert not gate.offer("wrench", 3)
    assert not gate.offer("joint_states", 3)
    assert gate.decide() is Action.REPEAT


def test_a_message_that_never_comes_does_not_stop_time():
    """When the others are repeated, the answer is computed without it."""
    gate = StateGate(["wrench", "joint_states"])
    gate.offer("joint_states", 0)
    assert gate.decide() is Action.WAIT
    gate.offer("joint_states", 0)
    assert gate.decide() is Action.COMPUTE


def test_a_reset_simulator_is_answered():
    """A tick that is earlier than the last one is collected like any other."""
    gate = StateGate(["joint_states"])
    for tick in (0, 1, 2, 0):
        assert gate.offer("joint_states", tick)
        assert gate.tick == tick
        assert gate.decide() is Action.COMPUTE
