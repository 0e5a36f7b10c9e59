# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The figure of the space robot."""

from dataclasses import replace

import pytest


@pytest.mark.parametrize("base", ["floating", "flying"])
def test_it_is_drawn(base, request, tmp_path):
    """Six parts, each with something in it."""
    pytest.importorskip("matplotlib")
    outcome = request.getfixturevalue(base)
    seen = []

    def draw(figure):
        outcome.draw(figure)
        seen.append(figure)

    path = replace(outcome, draw=draw).plot(tmp_path / "space.png")
    assert path.stat().st_size > 50_000
    axes = seen[0].axes
    assert len(axes) == 6
    assert all(ax.get_lines() and ax.get_title(loc="left") for ax in axes)
