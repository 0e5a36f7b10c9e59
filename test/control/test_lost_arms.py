# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Lost arms: who is lost, who is back, and for whom it is too late."""

from __future__ import annotations

from robot_dynamics.control.lost_arms import LostArms


def test_only_something_newer_brings_an_arm_back():
    """What was heard before the last bad sample, or with it, says nothing."""
    lost = LostArms(10)
    lost.lose(1, 5)
    lost.lose(1, 7)
    for heard in (4, 6, 7):
        lost.take_back(1, heard)
        assert list(lost) == [1]
    lost.take_back(1, 8)
    assert not lost
    lost.take_back(0, 9)  # never lost
    assert 0 not in lost


def test_time_counts_without_a_break():
    """An arm that comes and goes is never given up; one that stays away is, and for good."""
    lost = LostArms(10)
    for now in range(0, 40, 8):
        lost.lose(0, now)
        lost.give_up(now + 4)
        lost.take_back(0, now + 5)
    assert lost.ended == ()
    lost.lose(0, 50)
    lost.lose(1, 55)
    lost.give_up(59)
    assert lost.ended == ()
    lost.give_up(60)
    assert lost.ended == (0,)
    lost.give_up(65)
    assert lost.ended == (0, 1)
    lost.take_back(0, 66)
    assert list(lost) == [0, 1]
