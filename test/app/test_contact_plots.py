# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Panels of contacts show what was recorded."""

import numpy as np
import pytest

from robot_dynamics.app.plots import (
    contact_force,
    contact_panels,
    holding_force,
    slip,
)
from robot_dynamics.app.recording import Recording

figure = pytest.importorskip("matplotlib.figure")


@pytest.fixture
def recording():
    """Return a run of 100 rows that touches a wall from row 20 to row 70, and slips after 80."""
    rows = np.arange(100)
    inside = (rows >= 20) & (rows < 70)
    columns = {
        "tick": rows,
        "contact_force": np.where(inside, 11.0, 0.0)[:, None],
        "reference_contact_force": np.where(inside, 10.0, 0.0)[:, None],
        "touched": inside.astype(float)[:, None],
        "grasp_slip": np.where(rows > 80, 2e-3, 0.0)[:, None],
        "slip_margin": np.linspace(5.0, -1.0, 100)[:, None],
    }
    more = {"period_s": 0.01, "surfaces": ["wall"], "surface_rows": [0], "slip_contacts": ["left"]}
    return Recording(columns, more)


def test_force_and_slip_are_drawn_as_recorded(recording):
    """Lines have the recorded numbers, in N and mm, over seconds; the touch is shaded."""
    one, other = figure.Figure().subplots(1, 2)
    contact_force(one, recording, slice(None))
    slip(other, recording, slice(None))
    true = next(line for line in one.lines if line.get_label() == "wall")
    np.testing.assert_array_equal(true.get_ydata(), recording["contact_force"][:, 0])
    assert true.get_xdata()[-1] == pytest.approx(0.99)
    assert len(one.patches) == 1
    slid = next(line for line in other.lines if line.get_label() == "slid [mm]")
    assert np.nanmax(slid.get_ydata()) == pytest.approx(2.0)


def test_forces_on_a_hinge_have_a_panel_of_their_own(recording):
    """Each true force and moment, beside what was wanted; the hinge is no touched surface."""
    rows = np.arange(100)
    recording.columns["contact_force"] = np.zeros((100, 2))
    recording.columns["reference_contact_force"] = np.tile([10.0, 20.0, 0.0], (100, 1))
    recording.columns["touched"] = np.ones((100, 3))
    recording.columns["holding_force"] = np.column_stack([rows * 1.0, -rows])
    recording.metadata.update(
        surfaces=["wall", "door"],
        surface_rows=[0, 1],
        holding_rows=[["door", 1, "N"], ["door", 2, "N m"]],
        holding_axes=["x", "-x"],
    )
    assert [draw.__name__ for draw in contact_panels(recording)] == [
        "contact_force", "holding_force", "holding_errors", "slip",
    ]  # fmt: skip
    one, other = figure.Figure().subplots(1, 2)
    contact_force(one, recording, slice(None))
    assert [line.get_label() for line in one.lines] == ["wanted", "wall"]
    holding_force(other, recording, slice(None))
    drawn = {line.get_label(): line.get_ydata() for line in other.lines}
    np.testing.assert_array_equal(drawn["wanted"], 20.0)
    np.testing.assert_array_equal(drawn["door x [N]"], rows)
    np.testing.assert_array_equal(drawn["door -x [N m]"], -rows)
    recording.metadata.update(surfaces=["door"], surface_rows=[1])
    assert contact_force not in contact_panels(recording)


def test_runs_without_contacts_have_no_panels(run):
    """Free motion is drawn as before."""
    assert contact_panels(run.recording) == []


def test_only_panels_with_something_in_them(recording):
    """What touches nothing, or cannot slip, has no panel for it."""
    assert contact_panels(recording) == [contact_force, slip]
    for missing, left in (("contact_force", slip), ("slip_margin", contact_force)):
        columns = {k: v for k, v in recording.columns.items() if k != missing}
        assert contact_panels(Recording(columns, recording.metadata)) == [left]


def test_margins_are_named(recording):
    """Each by the contact that it is of, which need not be that of the first arm."""
    recording.metadata["slip_contacts"] = ["wall"]
    ax = figure.Figure().subplots()
    slip(ax, recording, slice(None))
    assert "margin wall [N]" in [line.get_label() for line in ax.lines]
