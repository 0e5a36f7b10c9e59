# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Corrected scenarios extend a scenario and change the requested values."""

import pytest

import robot_dynamics as rd
from robot_dynamics.app.identification.corrected_scenario import write_corrected
from robot_dynamics.app.identification.report_parts import IdentificationReport, ScenarioCorrection
from robot_dynamics.app.identification.urdf_values import UrdfText
from robot_dynamics.app.output_files import OutputError
from robot_dynamics.errors import UnknownNameError

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


def test_a_scenario_does_not_extend_itself(tmp_path):
    """It would be lost."""
    place = blocks(tmp_path)
    text = place.read_text()
    with pytest.raises(OutputError, match="is the scenario itself"):
        write_corrected(place, place, rd.load_scenario(place), CHANGES, "Corrected.")
    assert place.read_text() == text


URDF = """<?xml version="1.0"?>
<!-- was <robot name="old"> -->
<robot name="new"><!-- inside --><link name="l"/></robot>
<!-- after -->
"""


class Report(IdentificationReport):
    """A result that corrects a description beside the scenario."""

    cell = warnings = json = lines = plot = None
    subject = "The object"

    def correction(self, place):
        """Return the same text under a name that belongs to the place."""
        source = place.with_name("box_object.urdf")
        return ScenarioCorrection(
            {}, {place.with_name(f"{place.stem}_object.urdf"): UrdfText(source)}
        )


def test_comments_around_a_description_are_kept(tmp_path):
    """Before and after its root, whatever they say."""
    source = tmp_path / "box_object.urdf"
    source.write_text(URDF)
    UrdfText(source).write(tmp_path / "new.urdf")
    assert (tmp_path / "new.urdf").read_text() == URDF


def test_a_description_is_not_overwritten(tmp_path):
    """A scenario whose name leads to that of the description is refused."""
    source = tmp_path / "box_object.urdf"
    source.write_text(URDF)
    with pytest.raises(OutputError, match=r"box_object\.urdf: is the description itself"):
        Report().write_scenario(tmp_path / "box.yaml", "lift_box")
    with pytest.raises(UnknownNameError):
        Report().write_scenario(tmp_path / "new.yaml", "no_such_scenario")
    assert [path.name for path in tmp_path.iterdir()] == ["box_object.urdf"]
