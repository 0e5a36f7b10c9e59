# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The lockstep protocol loses nothing, repeats nothing, and takes no bad command."""

import numpy as np
import pytest

pytest.importorskip("builtin_interfaces", reason="ROS 2 is not installed")

from robot_dynamics.nodes.lockstep import Action, CommandError, CommandGate, StateGate

LEFT, RIGHT = np.array([1.0, 2.0]), np.array([3.0])


@pytest.fixture
def gate():
    """Return the simulator's side for arms of two joints and of one."""
    return CommandGate(["left", "right"], [slice(0, 2), slice(2, 3)])


def test_a_step_waits_for_all_arms(gate):
    """In whatever order their commands come."""
    assert not gate.complete
    assert not gate.incomplete
    gate.offer("right", 0, RIGHT)
    assert not gate.complete
    assert gate.incomplete
    assert gate.missing == ("left",)
    assert gate.arrived == (1,)
    gate.offer("left", 0, LEFT)
    assert gate.complete
    assert gate.torque.tolist() == [1.0, 2.0, 3.0]


def test_only_commands_of_the_tick_count(gate):
    """Late repetitions of an earlier answer change nothing; numbers wrap at 2^32."""
    gate.expect(1)
    gate.offer("left", 0, LEFT)
    assert gate.missing == ("left", "right")
    assert not gate.torque.any()
    gate.expect(2**32 + 5)
    gate.offer("left", 5, LEFT)
    assert gate.missing == ("right",)


def test_an_empty_command_leaves_the_arm_to_its_drive(gate):
    """The step does not wait for it, and its last torque stays."""
    gate.offer("left", 0, LEFT)
    gate.expect(1)
    gate.offer("left", 1, np.zeros(0))
    gate.offer("right", 1, RIGHT)
    assert gate.complete
    assert gate.torque.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("torque", "words"),
    [
        (np.ones(3), "left/commands: 3 torques, expected 2 or none."),
        (np.array([1.0, np.nan]), "left/commands: torque 1 is nan; expected a finite number."),
        (np.array([np.inf, 0.0]), "left/commands: torque 0 is inf; expected a finite number."),
    ],
)
def test_a_bad_command_is_refused_as_a_whole(gate, torque, words):
    """One sentence says what was wrong, and nothing of the command is taken."""
    with pytest.raises(CommandError) as caught:
        gate.offer("left", 0, torque)
    assert str(caught.value) == words
    assert not gate.torque.any()
    assert gate.missing == ("left", "right")


def test_forgetting_goes_back_to_the_start(gate):
    """After a reset of the simulator the commands of tick 0 are awaited."""
    gate.offer("left", 0, LEFT)
    gate.expect(1)
    gate.forget()
    assert gate.tick == 0
    assert gate.missing == ("left", "right")
    assert not gate.torque.any()


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
