# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A description and its loop joints from files."""

from dataclasses import replace

import pytest
from description.urdf_texts import ARM

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.load import load_description
from robot_dynamics.description.model_file import SavedModel, write_model
from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.robot import load

LOOPS = (
    "loops: [{name: l, type: fixed, predecessor: {link: base}, "
    "successor: {link: tool, xyz: [0, 0, 1]}}]\n"
)


def test_loops_join_the_mechanism_of_the_urdf(tmp_path):
    """The URDF stays a tree that other programs read; the loop comes from beside it."""
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "loops.yaml").write_text(LOOPS)
    description = load_description(tmp_path / "arm.urdf", tmp_path / "loops.yaml")
    assert [loop.name for loop in description.mechanism.loops] == ["l"]
    assert load_description(ARM).mechanism.loops == ()


def test_loops_must_name_links_of_the_urdf(tmp_path):
    """A loop on an unknown link names the line of the YAML file and the link that was meant."""
    (tmp_path / "loops.yaml").write_text(LOOPS.replace("link: tool", "link: tol"))
    with pytest.raises(DescriptionError, match=r"loops\.yaml:1.*'tool'"):
        load_description(ARM, tmp_path / "loops.yaml")


def test_a_yaml_file_adds_gears_and_drives_to_a_urdf(tmp_path):
    """Gears and drives of the YAML file join the mechanism; ends must be able to move."""
    (tmp_path / "l.yaml").write_text(
        "couplings: [{name: g, joint: shoulder, driver: elbow}]\nactuated: [elbow]\n"
    )
    description = load_description(ARM, tmp_path / "l.yaml")
    assert [c.name for c in description.mechanism.couplings] == ["g"]
    assert [joint.active for joint in description.mechanism.joints] == [False, True, None]
    (tmp_path / "l.yaml").write_text(LOOPS.replace("base", "lower"))
    with pytest.raises(DescriptionError, match=r"l\.yaml:1.*'lower'.*'tool'"):
        load_description(ARM, tmp_path / "l.yaml")


def test_a_model_file_states_its_gravity(tmp_path):
    """It reaches the robot, unless the caller says otherwise."""
    write_model(tmp_path / "moon.json", read_urdf(ARM), gravity=(0.0, 0.0, -1.62))
    assert load(tmp_path / "moon.json").model.gravity == (0.0, 0.0, -1.62)
    assert load(tmp_path / "moon.json", gravity=(0, 0, 0)).model.gravity == (0.0, 0.0, 0.0)
    assert load(tmp_path / "moon.json", locked={"elbow": 0.0}).model.nv == 1


def test_missing_files_and_other_formats_are_one_sentence(tmp_path):
    """Messages about unreadable files tell the remedy."""
    with pytest.raises(DescriptionError, match="URDF"):
        load_description(tmp_path / "arm.urdf")
    with pytest.raises(DescriptionError, match="YAML"):
        load_description(ARM, tmp_path / "loops.yaml")
    with pytest.raises(DescriptionError, match="xacro"):
        load_description("arm.urdf.xacro")
    with pytest.raises(DescriptionError, match=r"\.sdf.*URDF"):
        load_description("arm.sdf")
    with pytest.raises(DescriptionError, match=r"only \.xacro files take arguments"):
        load_description(tmp_path / "arm.urdf", arguments={"x": 1})


def test_strict_reaches_the_reader():
    """Warnings refuse the file when asked."""
    with pytest.raises(DescriptionError):
        load_description(ARM.replace('effort="4"', 'effort="0"'), strict=True)


def test_every_element_has_its_place(tmp_path):
    """Links and joints in the URDF, loops and gears in the file that states them."""
    (tmp_path / "l.yaml").write_text(
        "loops:\n- {name: l, type: point, predecessor: {link: base}, successor: {link: tool}}\n"
        "couplings:\n- {name: g, joint: shoulder, driver: elbow}\n"
    )
    pin = (
        '<loop_joint name="p" type="point"><link1 link="base"/><link2 link="lower"/></loop_joint>'
    )
    (tmp_path / "arm.urdf").write_text(ARM.replace("</robot>", pin + "</robot>"))
    places = load_description(tmp_path / "arm.urdf", tmp_path / "l.yaml").places
    assert places.link("upper") == "arm.urdf:3"
    assert places.joint("elbow") == "arm.urdf:11"
    assert places.loop("p") == "arm.urdf:15"
    assert places.loop("l") == f"{tmp_path / 'l.yaml'}:2"
    assert places.loop("g") == f"{tmp_path / 'l.yaml'}:4"
    write_model(tmp_path / "m.yaml", load_description(tmp_path / "arm.urdf"))
    saved = load_description(tmp_path / "m.yaml").places
    assert saved.loop("p").startswith(str(tmp_path / "m.yaml:"))


def test_names_of_the_urdf_are_taken(tmp_path):
    """A gear of the name of a mimic joint is refused with its line."""
    mimic = ARM.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="elbow"/>')
    (tmp_path / "l.yaml").write_text(
        "couplings: [{name: shoulder, joint: shoulder, driver: elbow}]"
    )
    with pytest.raises(DescriptionError, match=r"l\.yaml:1.*'shoulder'"):
        load_description(mimic, tmp_path / "l.yaml")


def test_warnings_of_loops_are_kept_and_may_refuse(tmp_path):
    """They join those of the URDF; `strict` counts them."""
    (tmp_path / "l.yaml").write_text(LOOPS.replace("xyz: [0, 0, 1]", "rpy: [0, 0, 90]"))
    (warning,) = load_description(ARM, tmp_path / "l.yaml").diagnosis.warnings
    assert "were degrees meant?" in warning.hint
    with pytest.raises(DescriptionError, match=r"l\.yaml:1"):
        load_description(ARM, tmp_path / "l.yaml", strict=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rows:\n- {name: a}\n", r"m\.yaml:1.*\bdh\b"),
        (LOOPS, r"m\.yaml:1.*--loops"),
        ("closed_loop: [[a, b]]\n", "this is a file of loop joints"),
        ("cell: {}\n", r"m\.yaml:1.*simulate"),
        ("scenario: a\nvary: {}\n", "this is a study, expected a robot; .*study"),
    ],
)
def test_files_in_the_wrong_place_are_recognised(tmp_path, text, message):
    """A table without its convention, and loops without their robot, name the missing argument."""
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(DescriptionError, match=message):
        load_description(tmp_path / "m.yaml")


def test_objects_of_this_package_are_loaded_as_their_files_are(tmp_path):
    """Descriptions, mechanisms and saved models, with loops, locks and strictness."""
    (tmp_path / "loops.yaml").write_text(LOOPS)
    description = read_urdf(ARM)
    saved = SavedModel(description, (0.0, 0.0, -1.62), ("upper",))
    for given in (description, description.mechanism, saved):
        assert load_description(given).mechanism == description.mechanism
        closed = load_description(given, tmp_path / "loops.yaml")
        assert closed == replace(
            load_description(ARM, tmp_path / "loops.yaml"), source=closed.source
        )
        assert load(given, locked={"elbow": 0.1}).model.nv == 1
    assert load_description(description) == description
    assert load(saved).model == saved.model()
    assert load(saved, gravity=(0, 0, 0)).model.gravity == (0.0, 0.0, 0.0)
    with pytest.raises(UnknownNameError, match="'elbow'"):
        load(description.mechanism, locked={"elbw": 0.1})
    with pytest.raises(DescriptionError):
        load(read_urdf(ARM.replace('effort="4"', 'effort="0"')), strict=True)
    with pytest.raises(RobotDynamicsError, match=r"float.*URDF"):
        load(3.0)


@pytest.mark.parametrize(
    ("suffix", "converter"),
    [
        (".sdf", "sdf2urdf"),
        (".world", "sdf2urdf"),
        (".mjb", "XML that it was compiled from"),
        (".usd", "usd_to_urdf"),
        (".usda", "usd_to_urdf"),
        (".USDZ", "usd_to_urdf"),
    ],
)
def test_formats_that_are_not_read_have_a_converter(suffix, converter):
    """The message names the file, the format and a converter to URDF."""
    with pytest.raises(DescriptionError, match=rf"^arm\{suffix}: \{suffix.lower()} .*{converter}"):
        load_description(f"arm{suffix}")
