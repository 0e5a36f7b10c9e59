# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A report in a few lines."""

from robot_dynamics.app.summary import summary


def test_a_good_run(run):
    """The lines say what ran, how it went, and the figures with their units."""
    lines = list(summary(run.report | {"ok": True}))
    assert lines[0] == "lift_box with the plant 'engine': good"
    assert any("mm from the reference" in line for line in lines)
    assert max(map(len, lines)) <= 130


def test_figures_that_are_missing(run):
    """A figure that could not be computed is a question mark, not an error."""
    empty = dict.fromkeys(run.report) | {"ok": False, "scenario": "x", "plant": "engine"}
    lines = list(summary(empty))
    assert "NOT GOOD" in lines[0]
    assert "? mm" in lines[1]
