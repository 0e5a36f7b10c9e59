# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of the phases of a task, from a recording of a few rows."""

import numpy as np
import pytest

from robot_dynamics.app.recordings.phases import phase_figures, recorded_phases
from robot_dynamics.app.recordings.recording import Recording

UNTURNED = [0.0, 0.0, 0.0, 1.0]
NAMES = ("grasp", "lift", "put_down", "release", "wait")
#: Each figure with a column, a row and a component on which it depends.
DEPENDS = {
    "grasp_displacement_max_m": ("object_pose", 1, 0),
    "release_displacement_max_m": ("object_pose", 7, 1),
    "put_down_force_max_n": ("contact_force", 5, 0),
    "phase_torque_rate_max_fraction": ("commanded_torque", 6, 1),
    "drop_height_max_m": ("object_twist", 3, 5),
    "place_error_m": ("object_pose", 9, 2),
    "place_error_deg": ("object_pose", 9, 3),
}


def recording(change=None):
    """Return a task of five phases with two rows each, one number of which is changed."""
    rng = np.random.default_rng(3)
    columns = {
        "phase": np.repeat(np.arange(5.0), 2)[:, None],
        "object_pose": np.hstack([0.01 * rng.random((10, 3)), np.tile(UNTURNED, (10, 1))]),
        "object_twist": np.vstack([rng.random((3, 6)), np.full(6, -1.0), rng.random((6, 6))]),
        "contact_force": 10.0 * rng.random((10, 1)),
        "commanded_torque": rng.random((10, 2)),
    }  # fmt: skip
    if change is not None:
        (name, row, component), value = change
        columns[name][row, component] += value
    columns["tick"] = np.arange(10.0)
    place = [0.0, 0.0, 0.0, 0.0, 0.0, np.sin(0.05), np.cos(0.05)]
    facts = {"phases": NAMES, "places": [place], "torque_rate": 1000.0, "period_s": 0.002}
    facts |= {"surface_rows": [0], "holding_rows": []}
    return Recording(columns, facts)


def test_figures_of_phases():
    """Each as it is defined, written out for two rows a phase."""
    kept = recording()
    found, x = phase_figures(kept), kept["object_pose"]
    for name, row in (("grasp", 0), ("release", 6)):
        moved = np.linalg.norm(x[row + 1, :3] - x[row, :3])
        assert found[f"{name}_displacement_max_m"] == pytest.approx(moved)
    assert found["put_down_force_max_n"] == kept["contact_force"][4:6].max()
    jumps = np.abs(np.diff(kept["commanded_torque"], axis=0))[1::2]
    assert found["phase_torque_rate_max_fraction"] == pytest.approx(jumps.max() / 2.0)
    assert found["drop_height_max_m"] == pytest.approx(1.0 / (2.0 * 9.80665))
    assert found["place_error_m"] == pytest.approx(np.linalg.norm(x[9, :3]))
    assert found["place_error_deg"] == pytest.approx(np.degrees(0.1))


@pytest.mark.parametrize("name", DEPENDS)
def test_a_figure_without_a_number_is_missing(name):
    """It changes with the number on which it depends, and is None if that is none."""
    before = phase_figures(recording())[name]
    assert phase_figures(recording((DEPENDS[name], 20.0)))[name] != before
    assert phase_figures(recording((DEPENDS[name], np.nan)))[name] is None


def test_a_task_that_ended_early_has_no_place():
    """Figures of phases that were not reached are None."""
    whole = recording()
    cut = Recording({name: values[:4] for name, values in whole.columns.items()}, whole.metadata)
    found = phase_figures(cut)
    assert found["grasp_displacement_max_m"] is not None
    for name in ("release_displacement_max_m", "put_down_force_max_n", "place_error_m"):
        assert found[name] is None


@pytest.mark.parametrize(
    ("lost", "ends"), [(slice(7, None), [2, 4, 6, 10]), (slice(0, 1), [2, 4])]
)
def test_rows_without_the_law_belong_to_the_phase_before(lost, ends):
    """As a controller node records them after a fault; before its first step it is the first."""
    kept = recording()
    kept.columns["phase"][lost] = np.nan
    found = recorded_phases(kept)
    assert [one.end for one in found][: len(ends)] == ends
    assert [one.name for one in found][: len(ends)] == [*NAMES][: len(ends)]
