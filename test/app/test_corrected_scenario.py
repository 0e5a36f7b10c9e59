# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Corrected scenarios extend a scenario and change the requested values."""

import pytest

import robot_dynamics as rd
from robot_dynamics.app.identification.corrected_scenario import write_corrected

CHANGES = {
    "cell.arms.0.sensor_tool": {"mass": 1.5, "center": [0.01, 0.02, 1e-5]},
    "cell.arms.1.grasp": {"xyz": [0.0, -0.201, 0.0], "rpy": [-1.5, 1.5, 0.0]},
    "cell.robots.0.xyz": [0.0, 0.0, 0.001],
    "control.start.tare": True,
}
WANTED = [
    "cell.arms.0.sensor_tool={mass: 1.5, center: [0.01, 0.02, 1.0e-5]}",
    "cell.arms.1.grasp={xyz: [0.0, -0.201, 0.0], rpy: [-1.5, 1.5, 0.0]}",
    "cell.robots.0.xyz=[0.0, 0.0, 0.001]",
    "control.start.tare=true",
]


def blocks(tmp_path):
    """Return a scenario whose lists are in lines of their own."""
    place = tmp_path / "blocks.yaml"
    place.write_text(rd.load_scenario("lift_box").text())
    return place


def with_alias(tmp_path):
    """Return a scenario in which a change of one arm's grasp would change the other's."""
    place = tmp_path / "alias.yaml"
    text = rd.load_scenario("lift_box").text()
    arms = rd.load_scenario("lift_box").cell.arms
    lines = [
        f"    - {{name: {arm.name}, tool: {arm.tool}, grasp: {grasp}, "
        f"posture: {list(arm.posture)}}}"
        for arm, grasp in zip(arms, ("&same {xyz: [0.0, 0.2, 0.0]}", "*same"), strict=True)
    ]
    start, end = text.index("  arms:\n"), text.index("  object:\n")
    place.write_text(f"{text[:start]}  arms:\n" + "\n".join(lines) + f"\n{text[end:]}")
    return place


@pytest.mark.parametrize("base", ["lift_box", blocks, with_alias])
def test_changed_lists_mean_what_was_asked_for(base, tmp_path):
    """Entries are replaced or added; all else is that of the scenario."""
    base = base if isinstance(base, str) else base(tmp_path)
    (tmp_path / "new").mkdir()
    place = tmp_path / "new" / "corrected.yaml"
    write_corrected(place, base, rd.load_scenario(base), CHANGES, "Corrected.")
    assert rd.load_scenario(place) == rd.load_scenario(base, WANTED)
    assert [path.name for path in place.parent.iterdir()] == ["corrected.yaml"]
    text = place.read_text()
    shipped = "package://robot_dynamics/config/scenarios/lift_box.yaml"
    extended = shipped if base == "lift_box" else f"../{base.name}"
    assert text.startswith(f"# Corrected.\nextends: {extended}\n")
    assert ("# The tool's z axis points into the box." in text) == (base == "lift_box")


def test_a_whole_scenario_is_written_without_a_base(tmp_path):
    """It extends nothing."""
    place, scenario = tmp_path / "whole.yaml", rd.load_scenario("lift_box")
    write_corrected(place, None, scenario, CHANGES, "Corrected.")
    assert rd.load_scenario(place) == rd.load_scenario("lift_box", WANTED)
    assert "extends" not in place.read_text()
