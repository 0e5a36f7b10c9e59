# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Grippers of a task."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.control.task.free_phases import SqueezeWrenches
from robot_dynamics.control.task.gripper_grasp import GripperGrasp
from robot_dynamics.control.task.grippers import Grippers
from robot_dynamics.control.task.phases import Now, PhaseFailed
from robot_dynamics.control.task_settings import GraspSettings


def test_a_load_that_no_command_explains_is_known():
    """A gripper that holds something before it was closed holds it from an earlier run."""
    grippers = Grippers(["left", "right"])
    assert grippers.unknown_loads == []
    grippers.report("left", holds=True)
    assert grippers.unknown_loads == ["left"]
    grippers.close()
    grippers.report("left", holds=True)
    assert grippers.unknown_loads == []


def test_grippers_that_do_not_answer_are_not_blamed_on_the_object():
    """They have as long to close as the settings say."""
    grippers = Grippers(["left", "right"])
    arms = SimpleNamespace(
        system=SimpleNamespace(arms=[SimpleNamespace(name=arm) for arm in grippers.arms]),
        begin_lines=lambda: None,
        advance_tools=lambda speeds: None,
    )
    squeeze = SqueezeWrenches(np.zeros(1), np.zeros((2, 6)))
    phase = GripperGrasp(arms, GraspSettings(close_s=0.1), squeeze, grippers)

    def now(after):
        nothing = np.zeros(2)
        return Now(phase._along.duration + after, nothing, nothing, np.zeros((2, 6)), nothing)

    phase.begin(Now(0.0, *np.zeros((2, 2)), None, np.zeros(2)))
    assert not phase.advance(now(0.0))
    assert grippers.closed
    assert not phase.advance(now(0.099))
    with pytest.raises(PhaseFailed, match=r"arm 'left' and 'right' has not answered for 0\.1 s"):
        phase.advance(now(0.101))
    grippers.report("left", holds=False)
    with pytest.raises(PhaseFailed, match="the gripper of arm 'right' has not answered"):
        phase.advance(now(0.101))
    grippers.report("right", holds=True)
    with pytest.raises(PhaseFailed, match="arm 'left' gripped nothing"):
        phase.advance(now(0.101))
    grippers.report("left", holds=True)
    assert not phase.advance(now(0.101))
    assert phase._touching == [True, True]
