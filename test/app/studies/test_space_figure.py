# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The figure of the space robot."""

from dataclasses import replace

import pytest

from robot_dynamics.app.studies import space


@pytest.mark.parametrize("run", [space.run, space.run_with_thrusters])
def test_it_is_drawn(run, tmp_path):
    """Six parts, each with something in it."""
    pytest.importorskip("matplotlib")
    outcome = run(True, lambda done, doing: None)
    seen = []

    def draw(figure):
        outcome.draw(figure)
        seen.append(figure)

    path = replace(outcome, draw=draw).plot(tmp_path / "space.png")
    assert path.stat().st_size > 50_000
    axes = seen[0].axes
    assert len(axes) == 6
    assert all(ax.get_lines() and ax.get_title(loc="left") for ax in axes)
