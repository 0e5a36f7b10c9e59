# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of hinges and lines, from recordings whose figures are known beforehand."""

import numpy as np
import pytest

from robot_dynamics.app.metrics import contact_figures, holding_figures, holdings
from robot_dynamics.app.recording import Recording


@pytest.fixture
def recording():
    """A door with two forces and a moment, a rail with one force, and a wall."""
    force = np.tile([3.0, 4.0, 0.5, 10.0], (10, 1))
    wanted = np.tile([7.0, 3.0, 4.0, 0.5, 10.0], (10, 1))  # of the wall first
    columns = {
        "tick": np.arange(10),
        "holding_force": force,
        "contact_force": np.tile([7.0, 5.0, 10.0], (10, 1)),
        "reference_contact_force": wanted,
        "object_twist": np.zeros((10, 6)),
        "reference_twist": np.zeros((10, 6)),
    }
    rows = [
        ["door", 1, "N"],
        ["door", 2, "N"],
        ["door", 3, "N m"],
        ["rail", 4, "N"],
    ]
    return Recording(
        columns,
        {
            "period_s": 0.01,
            "surface_rows": [0, 1, 4],
            "holding_rows": rows,
            "holding_axes": ["x", "y", "-x", "x"],
        },
    )


SETTLED = np.arange(10) >= 5


def test_errors_appear_where_they_belong(recording):
    """Those of a force in both of its components, those of a moment, those of another one."""
    figures = holding_figures(recording, SETTLED)
    assert figures["holding_force_max_n"] == 10.0
    assert figures["holding_moment_max_nm"] == 0.5
    assert {value for name, value in figures.items() if "error" in name} == {0.0}
    recording.columns["holding_force"][2, :2] += [0.3, 0.4]  # moving
    recording.columns["holding_force"][7, 3] -= 0.2  # at rest
    recording.columns["holding_force"][8, 2] += 0.1
    figures = holding_figures(recording, SETTLED)
    assert figures["holding_force_error_max_n"] == pytest.approx(0.5)
    assert figures["holding_force_error_settled_n"] == pytest.approx(0.2)
    assert figures["holding_moment_error_settled_nm"] == pytest.approx(0.1)
    recording.columns["holding_force"][0, 0] = np.nan
    assert holding_figures(recording, SETTLED)["holding_force_max_n"] is None


def test_what_holds_is_not_touched(recording):
    """Figures of touches are those of the wall; each hinge and line stands by itself."""
    assert contact_figures(recording)["contact_force_max_n"] == 7.0
    found = [(one.name, one.unit, one.axes, one.force.shape[1]) for one in holdings(recording)]
    assert found == [
        ("door", "N", ("x", "y"), 2),
        ("door", "N m", ("-x",), 1),
        ("rail", "N", ("x",), 1),
    ]
    del recording.metadata["holding_axes"]  # as in recordings of before
    assert [one.axes for one in holdings(recording)] == [("1", "2"), ("1",), ("1",)]


def test_without_hinges_there_are_no_figures(recording):
    """Nor of lines."""
    del recording.columns["holding_force"]
    assert holding_figures(recording, SETTLED) == {}
