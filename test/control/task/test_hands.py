# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loads of hands at the start of a task."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.control.start_check import StartError
from robot_dynamics.control.task.free_phases import Move
from robot_dynamics.control.task.law import TaskLaw
from robot_dynamics.control.task.phases import Wait


def test_arms_that_only_wait_at_the_end_must_be_free():
    """Arms that hold an object would let it fall in the last `wait`."""
    law, move = TaskLaw.__new__(TaskLaw), Move.__new__(Move)
    move.touch_n = 20.0
    law._phases, law._at, law._resumes, law._anew = (move, Wait(1.0)), 1, True, True
    law._safety, law.grippers = SimpleNamespace(closure_limit_m=0.01), None
    law.system = SimpleNamespace(arms=[SimpleNamespace(name="left")])
    law.check_hands(np.zeros(7), np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 20.0]]))
    with pytest.raises(StartError, match="arm 'left' touches something with 20.1 N"):
        law.check_hands(np.zeros(7), np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 20.1]]))
