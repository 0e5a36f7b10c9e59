# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loads of hands at the start of a task."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.control.start_check import StartError
from robot_dynamics.control.task import hands
from robot_dynamics.control.task.free_phases import Move
from robot_dynamics.control.task.grippers import Grippers
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
    with pytest.raises(StartError, match=r"arm 'left' touches something with 20\.1 N"):
        law.check_hands(np.zeros(7), np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 20.1]]))


@pytest.mark.parametrize("apart", [0.009, 0.011])
def test_silent_grippers_without_wrist_sensors(monkeypatch, apart):
    """They may hold the object where the arms are as far apart as on it."""
    monkeypatch.setattr(hands, "disagreements", lambda system, q: (apart, 0.0))
    grippers = Grippers(["left"])

    def require():
        hands.require_free_hands(None, np.zeros(7), None, 20.0, 0.01, grippers)

    if apart < 0.01:
        with pytest.raises(StartError, match="no sensor tells whether they do"):
            require()
        grippers.report("left", holds=False)
    require()
