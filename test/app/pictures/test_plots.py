# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The figure of a run, and its panels of contacts."""

import numpy as np
import pytest

from robot_dynamics.app.pictures.figures import PlotError
from robot_dynamics.app.pictures.plots import (
    View,
    _continuous,
    contact_force,
    contact_panels,
    draw_phases,
    holding_force,
    plot_run,
    slip,
)
from robot_dynamics.app.recordings.recording import Recording


def test_figure(run, tmp_path):
    """A run is drawn into an image of some size, and equal runs into equal files."""
    pytest.importorskip("matplotlib")
    path = plot_run(run.recording, tmp_path / "run.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 50_000  # an empty figure is far smaller
    again = plot_run(run.recording, tmp_path / "again.png")
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("stop", [None, 0.4])
def test_thresholds_and_a_stop_are_named(run, stop, tmp_path):
    """Dashed thresholds if the scenario asks for any; a dotted line in every panel for a stop."""
    pytest.importorskip("matplotlib")
    stopped = {"fault_time_s": stop, "acceptance": {}}
    metadata = run.recording.metadata | ({} if stop is None else stopped)
    recording = type(run.recording)(run.recording.columns, metadata)
    text = plot_run(recording, tmp_path / "run.svg").read_text()
    assert ("their thresholds dashed" in text) is (stop is None)
    assert text.count('id="stop"') == (0 if stop is None else 6)
    assert ("stopped at 0.4 s" in text) is (stop is not None)


def test_a_run_that_went_wrong_is_drawn(run, tmp_path):
    """Values that are not finite leave a gap; the others are drawn."""
    pytest.importorskip("matplotlib")
    columns = {name: values[:300].copy() for name, values in run.recording.columns.items()}
    for name in ("object_pose", "internal_force", "applied_torque"):
        columns[name][100:] = np.nan
    spoilt = type(run.recording)(columns, run.recording.metadata)
    assert plot_run(spoilt, tmp_path / "run.png").stat().st_size > 50_000


def test_a_file_that_cannot_be_written(run, tmp_path):
    """An unknown format and a missing folder are named."""
    pytest.importorskip("matplotlib")
    with pytest.raises(PlotError, match=r"run\.docx: cannot be written"):
        plot_run(run.recording, tmp_path / "run.docx")
    with pytest.raises(PlotError, match="cannot be written"):
        plot_run(run.recording, tmp_path / "no" / "run.png")


def test_arms_that_hold_nothing(run, tmp_path):
    """Their joints and torques are all that is drawn: no object, no force within it."""
    pytest.importorskip("matplotlib")
    recording = type(run.recording)(
        run.recording.columns, {**run.recording.metadata, "holds_object": False}
    )
    text = plot_run(recording, tmp_path / "run.svg").read_text()
    assert "Joints, from their start" in text
    assert "Joint torques" in text
    assert "Object position" not in text


def test_rotation_vectors_stay_continuous():
    """Beyond half a turn a rotation vector grows on and does not jump to the other side."""
    angles = np.radians([150.0, 170.0, 190.0, 210.0])
    wrapped = np.where(angles > np.pi, angles - 2 * np.pi, angles)
    vectors = np.outer(wrapped, [0.0, 0.6, 0.8])
    np.testing.assert_allclose(np.linalg.norm(_continuous(vectors), axis=1), angles, rtol=1e-14)


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
    one, other = pytest.importorskip("matplotlib.figure").Figure().subplots(1, 2)
    contact_force(one, View(recording))
    slip(other, View(recording))
    true = next(line for line in one.lines if line.get_label() == "wall")
    np.testing.assert_array_equal(true.get_ydata(), recording["contact_force"][:, 0])
    assert true.get_xdata()[-1] == pytest.approx(0.99)
    assert len(one.patches) == 1
    slid = next(line for line in other.lines if line.get_label() == "slid [mm]")
    assert np.nanmax(slid.get_ydata()) == pytest.approx(2.0)


def test_phases_are_bands_with_names(recording):
    """Every other one is shaded; the last ends at the end of the run."""
    ax = pytest.importorskip("matplotlib.figure").Figure().subplots()
    index = np.repeat([0.0, 1.0, 3.0], [20, 50, 30])
    columns = {**recording.columns, "phase": index[:, None]}
    names = {"phases": ["approach", "grasp", "lift", "hold"]}
    of_task = Recording(columns, {**recording.metadata, **names})
    draw_phases(ax, View(of_task), named=True)
    (band,) = ax.patches
    np.testing.assert_allclose([band.get_x(), band.get_x() + band.get_width()], [0.2, 0.7])
    assert [text.get_text() for text in ax.texts] == ["approach", "grasp", "hold"]
    assert ax.texts[-1].get_position()[0] == pytest.approx(0.85)


def test_forces_on_a_hinge_have_a_panel_of_their_own(recording):
    """Each true force and moment, beside its reference; the hinge is no touched surface."""
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
    one, other = pytest.importorskip("matplotlib.figure").Figure().subplots(1, 2)
    contact_force(one, View(recording))
    assert [line.get_label() for line in one.lines] == ["wanted", "wall"]
    holding_force(other, View(recording))
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
    """Objects that touch nothing, or cannot slip, get no panel of contacts."""
    assert contact_panels(recording) == [contact_force, slip]
    for missing, left in (("contact_force", slip), ("slip_margin", contact_force)):
        columns = {k: v for k, v in recording.columns.items() if k != missing}
        assert contact_panels(Recording(columns, recording.metadata)) == [left]


def test_margins_are_named(recording):
    """Each by the contact that it is of, which need not be that of the first arm."""
    recording.metadata["slip_contacts"] = ["wall"]
    ax = pytest.importorskip("matplotlib.figure").Figure().subplots()
    slip(ax, View(recording))
    assert "margin wall [N]" in [line.get_label() for line in ax.lines]
