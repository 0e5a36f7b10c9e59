# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Slip is told when it comes, and not in every period."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.hybrid.slip_monitor import SlipReport, SlipWarningFilter

WELL = SlipReport(np.ones(2), np.ones(2), np.full(2, np.inf), ())


def short(*which):
    """Return a report of contacts that will fall short of their margins."""
    when = np.full(2, np.inf)
    when[list(which)] = 0.1
    return SlipReport(np.ones(2), np.ones(2), when, tuple(f"contact {i} slips" for i in which))


def test_each_danger_is_told_once():
    """Both contacts, each at its time; crossing a threshold back and forth is one danger."""
    news = SlipWarningFilter(0.002)
    for tick in range(0, 100, 2):
        news.take(tick, short(1))
        news.take(tick + 1, WELL)
    assert news.issued == ["at 0 s: contact 1 slips"]
    news.take(100, short(0, 1))
    assert news.issued == ["at 0 s: contact 1 slips", "at 0.2 s: contact 0 slips"]
    assert news.present == ("at 0 s: contact 1 slips", "at 0.2 s: contact 0 slips")


def test_a_danger_that_is_over_may_come_again():
    """After half a second without it nothing is told; then it is news."""
    news = SlipWarningFilter(0.002)
    news.take(0, short(0))
    news.take(250, WELL)
    assert news.present == ("at 0 s: contact 0 slips",)
    news.take(251, WELL)
    assert news.present == ()
    news.take(500, short(0))
    assert news.present == ("at 1 s: contact 0 slips",)
    assert len(news.issued) == 2
    news.forget()
    assert (news.present, news.issued) == ((), [])


def test_the_number_of_stored_warnings_is_bounded():
    """A law that runs for a day does not fill the memory."""
    news = SlipWarningFilter(0.002)
    for k in range(100):
        news.take(1000 * k, short(0))
        news.take(1000 * k + 500, WELL)
    assert len(news.issued) == 20
    news.take(10**6, short(1))
    assert len(news.present) == 1
