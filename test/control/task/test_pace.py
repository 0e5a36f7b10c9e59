# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The pace of a task stops and goes on smoothly, as long as the halt of a held object takes."""

import numpy as np
import pytest

from robot_dynamics.control.halt import Halt
from robot_dynamics.control.task.pace import Pace

PERIOD = 0.002


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_pace_changes_smoothly(value):
    """Its rate is its derivative, and the ends are exact."""
    pace = Pace(PERIOD)
    pace.value = 1.0 - value
    pace.change(value)
    values, rates = [pace.value], [pace.rate]
    while pace.changing:
        pace.advance()
        values.append(pace.value)
        rates.append(pace.rate)
    slopes = np.diff(values) / PERIOD
    np.testing.assert_allclose(slopes, (np.array(rates)[1:] + rates[:-1]) / 2.0, atol=2e-3)
    assert (pace.value, abs(pace.rate) < 1e-9) == (value, True)
    pace.advance()
    assert pace.value == value


def test_time_stands_still_when_a_held_object_does():
    """It passes as much of the time of a phase as a halt passes of its path."""

    class Line:
        duration = 9.0

        def rows(self, times):
            rows = np.zeros((len(times), 20))
            rows[:, 0] = times
            return rows

    pace, passed = Pace(PERIOD), 0.0
    pace.change(0.0)
    while pace.changing:
        pace.advance()
        passed += pace.value * PERIOD
    way = Halt(Line(), 1.0).rows([5.0])[0, 0] - 1.0
    assert passed == pytest.approx(way, abs=PERIOD)
